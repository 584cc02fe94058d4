"""Top-N, dedup, OVER, ORDER BY and LIMIT."""

# ruff: noqa: E501

from __future__ import annotations

from oracle.sql.model import SqlCase

BIDS = ("bids",)


def top(name: str, columns: str, over: str, condition: str, **more: object) -> SqlCase:
    """Numbered rows, of which some are kept."""
    tables = more.pop("tables", ("orders",))
    source = more.pop("source", tables[0])  # type: ignore[index]
    sql = (
        f"SELECT {columns} FROM (SELECT *, ROW_NUMBER() OVER ({over}) AS n FROM {source}) t "
        f"WHERE {condition}"
    )
    return SqlCase(name, sql, tables, **more)  # type: ignore[arg-type]


SUMS = "(SELECT k, f, SUM(a) AS s FROM orders GROUP BY k, f)"

CASES = [
    top("top_two", "k, a, id", "PARTITION BY k ORDER BY a DESC, id", "n <= 2"),
    top("top_two_number", "k, a, id, n", "PARTITION BY k ORDER BY a DESC, id", "n <= 2"),
    top("top_one", "k, a, id", "PARTITION BY k ORDER BY a, id DESC", "n = 1"),
    top("top_global", "id, b, n", "ORDER BY b DESC, id", "n <= 3"),
    top("top_range", "id, b, n", "ORDER BY b, id", "n >= 2 AND n < 4"),
    top("top_nulls_first", "id, a", "ORDER BY a NULLS FIRST, id", "n <= 2"),
    top("top_nulls_last", "id, a", "ORDER BY a DESC NULLS LAST, id", "n <= 2"),
    top("top_of_sums", "k, f, s", "PARTITION BY k ORDER BY s DESC, f", "n <= 1", source=SUMS),
    top("top_of_sums_number", "k, f, s, n", "ORDER BY s DESC, k, f", "n <= 3", source=SUMS),
    top("top_then_group", "COUNT(*), SUM(a)", "PARTITION BY k ORDER BY a DESC, id", "n <= 2"),
    SqlCase("rank_top", "SELECT id, a, n FROM (SELECT *, RANK() OVER (ORDER BY a DESC) AS n "
        "FROM orders) WHERE n <= 3", modes=("batch",)),
    top("dedup_first_proctime", "item, price", "PARTITION BY item ORDER BY pt", "n = 1",
        tables=BIDS, modes=("streaming",)),
    top("dedup_last_proctime", "item, price", "PARTITION BY item ORDER BY pt DESC", "n = 1",
        tables=BIDS, modes=("streaming",)),
    top("dedup_first_rowtime", "item, price, ts", "PARTITION BY item ORDER BY ts", "n = 1",
        tables=BIDS),
    top("dedup_last_rowtime", "item, price, ts", "PARTITION BY item ORDER BY ts DESC", "n = 1",
        tables=BIDS),
    top("dedup_then_count", "COUNT(*), SUM(price)", "PARTITION BY item ORDER BY ts DESC", "n = 1",
        tables=BIDS),
    SqlCase("over_range", "SELECT item, price, SUM(price) OVER (PARTITION BY item ORDER BY ts) "
        "FROM bids", BIDS, compare="bag", modes=("streaming",)),
    SqlCase("over_rows", "SELECT item, price, COUNT(*) OVER w, AVG(price) OVER w FROM bids WINDOW w "
        "AS (PARTITION BY item ORDER BY ts ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)", BIDS,
        compare="bag", modes=("streaming",)),
    SqlCase("over_range_bounded", "SELECT item, ts, MAX(price) OVER (PARTITION BY item ORDER BY ts "
        "RANGE BETWEEN INTERVAL '6' SECOND PRECEDING AND CURRENT ROW) FROM bids", BIDS,
        compare="bag", modes=("streaming",)),
    SqlCase("over_global", "SELECT item, COUNT(*) OVER (ORDER BY ts) FROM bids", BIDS,
        modes=("streaming",)),
    SqlCase("over_proctime", "SELECT item, SUM(price) OVER (PARTITION BY item ORDER BY pt ROWS "
        "BETWEEN 2 PRECEDING AND CURRENT ROW) FROM bids", BIDS, modes=("streaming",)),
    SqlCase("over_lag", "SELECT item, price, LAG(price) OVER (PARTITION BY item ORDER BY ts) "
        "FROM bids", BIDS, compare="bag", modes=("streaming",)),
    SqlCase("over_distinct", "SELECT item, COUNT(DISTINCT bidder) OVER (PARTITION BY item "
        "ORDER BY ts) FROM bids", BIDS, compare="bag", modes=("streaming",)),
    SqlCase("over_row_number", "SELECT item, ROW_NUMBER() OVER (PARTITION BY item ORDER BY ts) "
        "FROM bids", BIDS, compare="bag", modes=("streaming",)),
    SqlCase("over_batch", "SELECT id, k, SUM(b) OVER (PARTITION BY k ORDER BY id), "
        "RANK() OVER (ORDER BY a, id), LEAD(id) OVER (ORDER BY id), COUNT(*) OVER () FROM orders",
        modes=("batch",)),
    SqlCase("over_batch_frames", "SELECT id, SUM(a) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND 1 "
        "FOLLOWING), FIRST_VALUE(a) OVER (PARTITION BY k ORDER BY id), NTILE(3) OVER (ORDER BY id), "
        "DENSE_RANK() OVER (ORDER BY k) FROM orders", modes=("batch",)),
    SqlCase("order_by_rowtime", "SELECT ts, item, price FROM bids ORDER BY ts", BIDS, ordered=True),
    SqlCase("order_by_rowtime_more", "SELECT item, price FROM bids ORDER BY ts, price DESC", BIDS,
        ordered=True),
    SqlCase("order_by_batch", "SELECT id, a, k FROM orders ORDER BY a DESC, k, id",
        modes=("batch",), ordered=True),
    SqlCase("order_by_expression", "SELECT id FROM orders ORDER BY a * -1 NULLS LAST, id DESC",
        modes=("batch",), ordered=True),
    SqlCase("order_limit", "SELECT id, a FROM orders ORDER BY a DESC, id LIMIT 3", ordered=True),
    SqlCase("order_limit_offset", "SELECT id, a FROM orders ORDER BY a, id LIMIT 2 OFFSET 2",
        ordered=True),
    SqlCase("order_fetch", "SELECT id FROM orders ORDER BY b DESC, id FETCH FIRST 2 ROWS ONLY",
        ordered=True),
    SqlCase("limit", "SELECT id FROM orders LIMIT 4"),
    SqlCase("limit_over_group", "SELECT k, COUNT(*) FROM orders GROUP BY k LIMIT 2",
        modes=("streaming",)),
    SqlCase("order_limit_group", "SELECT k, COUNT(*) AS c FROM orders GROUP BY k ORDER BY c DESC, k "
        "LIMIT 2", ordered=True),
    SqlCase("sorted_groups", "SELECT k, SUM(a) AS s FROM orders GROUP BY k ORDER BY s, k",
        modes=("batch",), ordered=True),
]  # fmt: skip
