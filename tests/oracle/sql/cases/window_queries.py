"""Window table functions over queries, which stand in parentheses where a table would."""

# ruff: noqa: E501

from __future__ import annotations

from oracle.sql.model import SqlCase

_COLUMNS = "item, price, window_start, window_end"
_TEN = "DESCRIPTOR(ts), INTERVAL '10' SECOND"
_STREAM = ("streaming",)


def over(
    name: str, call: str, columns: str = _COLUMNS, behind: str = "", **more: object
) -> SqlCase:
    """A window table function behind FROM."""
    more.setdefault("modes", _STREAM)
    sql = f"SELECT {columns} FROM {call}{behind}"
    return SqlCase(name, sql, ("bids",), "bag", **more)  # type: ignore[arg-type]


CASES = [
    over("tumble_of_query", f"TABLE(TUMBLE((SELECT * FROM bids), {_TEN}))",
        modes=("streaming", "batch")),
    over("tumble_of_filter", f"TABLE(TUMBLE((SELECT ts, item, price FROM bids WHERE price > 3), {_TEN}))"),
    over("tumble_of_named_query", "TABLE(TUMBLE(DATA => (SELECT * FROM bids), TIMECOL => "
        "DESCRIPTOR(ts), SIZE => INTERVAL '10' SECOND))"),
    over("tumble_of_query_bare", f"TUMBLE((SELECT * FROM bids), {_TEN})"),
    over("tumble_of_query_grouped", f"TABLE(TUMBLE((SELECT * FROM bids), {_TEN}))",
        "window_start, window_end, COUNT(*)", " GROUP BY window_start, window_end",
        modes=("streaming", "batch")),
    over("session_of_query", "TABLE(SESSION((SELECT * FROM bids) PARTITION BY item, "
        "DESCRIPTOR(ts), INTERVAL '3' SECOND))"),
    over("session_of_query_whole", "TABLE(SESSION((SELECT * FROM bids), "
        "DESCRIPTOR(ts), INTERVAL '3' SECOND))"),
    over("hop_of_query", "TABLE(HOP((SELECT * FROM bids), DESCRIPTOR(ts), INTERVAL '5' SECOND, "
        "INTERVAL '10' SECOND))"),
    over("cumulate_of_query", "TABLE(CUMULATE((SELECT * FROM bids), DESCRIPTOR(ts), "
        "INTERVAL '5' SECOND, INTERVAL '10' SECOND))"),
    over("tumble_of_table_query", f"TABLE(TUMBLE(TABLE (SELECT * FROM bids), {_TEN}))", refused=True),
    over("tumble_of_query_partitioned", "TABLE(TUMBLE((SELECT * FROM bids) PARTITION BY item, "
        f"{_TEN}))", refused=True),
]  # fmt: skip
