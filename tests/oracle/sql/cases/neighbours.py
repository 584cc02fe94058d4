"""LAG and LEAD with defaults, and FIRST_VALUE, LAST_VALUE, NTILE: where values are NULL."""

# ruff: noqa: E501

from __future__ import annotations

from oracle.sql.model import SqlCase

BIDS = ("bids",)
BATCH = ("batch",)


def over(name: str, calls: str, window: str = "ORDER BY id", **more: object) -> SqlCase:
    """Calls over orders, of which b, d, p, f and a have NULLs: of a stream, too."""
    more.setdefault("compare", "table")
    return SqlCase(name, f"SELECT id, {calls} FROM orders WINDOW w AS ({window})", **more)  # type: ignore[arg-type]


def timed(
    name: str, calls: str, window: str = "PARTITION BY item ORDER BY ts", **more: object
) -> SqlCase:
    """Calls over bids in the order of time; price has a NULL."""
    sql = f"SELECT item, price, ts, {calls} FROM bids WINDOW w AS ({window})"
    return SqlCase(name, sql, BIDS, modes=("streaming",), compare="bag", **more)  # type: ignore[arg-type]


def both(calls: str) -> str:
    """The calls of LAG, and the same of LEAD."""
    return f"{calls}, {calls.replace('LAG', 'LEAD')}"


CASES = [
    # a default that may be NULL: a NULL that is there stays NULL
    over("near_nullable_default", "LAG(b, 1, CAST(id AS BIGINT) * 100) OVER w"),
    over("near_nullable_default_batch", both("LAG(b, 1, CAST(id AS BIGINT) * 100) OVER w"), modes=BATCH),
    over("near_nullable_two", "LAG(p, 2, d * 0 + 7.5) OVER w", modes=BATCH),
    over("near_nullable_text", both("LAG(k, 1, CAST(id AS STRING)) OVER w"), modes=BATCH),
    over("near_nullable_parts", both("LAG(b, 1, CAST(a AS BIGINT)) OVER w"), "PARTITION BY k ORDER BY id", modes=BATCH),
    # a default that is never NULL
    over("near_default", "LAG(b, 1, CAST(-5 AS BIGINT)) OVER w"),
    over("near_default_batch", both("LAG(b, 1, CAST(-5 AS BIGINT)) OVER w"), modes=BATCH),
    over("near_default_int", both("LAG(a, 1, 77) OVER w"), modes=BATCH),
    over("near_default_text", both("LAG(k, 1, 'none') OVER w"), modes=BATCH),
    over("near_default_double", both("LAG(d, 1, CAST(0.25 AS DOUBLE)) OVER w"), modes=BATCH),
    over("near_default_decimal", both("LAG(p, 1, CAST(7 AS DECIMAL(10, 2))) OVER w"), modes=BATCH, refused=True),
    over("near_default_boolean", both("LAG(f, 1, TRUE) OVER w"), modes=BATCH),
    # none
    over("near_plain", "LAG(b) OVER w, LAG(b, 2) OVER w"),
    over("near_plain_batch", both("LAG(b) OVER w, LAG(b, 2) OVER w, LAG(b, 0) OVER w"), modes=BATCH),
    over("near_column_offset", both("LAG(b, id) OVER w"), modes=BATCH, refused=True),
    over("near_negative", both("LAG(b, -1) OVER w"), modes=BATCH),
    over("near_far", both("LAG(b, 50, CAST(id AS BIGINT)) OVER w"), modes=BATCH),
    over("near_ignore_nulls", both("LAG(b) IGNORE NULLS OVER w"), modes=BATCH),
    over("near_respect_nulls", both("LAG(b) RESPECT NULLS OVER w"), modes=BATCH),
    # in the order of time
    timed("near_timed_nullable", "LAG(price, 1, CHAR_LENGTH(bidder) * 1000) OVER w"),
    timed("near_timed_default", "LAG(price, 1, 77) OVER w", refused=True),
    timed("near_timed_text", "LAG(bidder, 1, item) OVER w, LAG(bidder, 2) OVER w"),
    timed("near_timed_everyone", "LAG(price, 1, CHAR_LENGTH(bidder)) OVER w", "ORDER BY ts"),
    # the ends of a frame
    over("ends_first_last", "FIRST_VALUE(b) OVER w, LAST_VALUE(b) OVER w"),
    over("ends_last_first", "FIRST_VALUE(b) OVER w, LAST_VALUE(b) OVER w", "PARTITION BY k ORDER BY id DESC", modes=BATCH),
    over("ends_rows", "FIRST_VALUE(b) OVER w, LAST_VALUE(b) OVER w", "ORDER BY id ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING", modes=BATCH),
    over("ends_rows_behind", "FIRST_VALUE(b) OVER w, LAST_VALUE(b) OVER w", "ORDER BY id ROWS BETWEEN 2 PRECEDING AND 1 PRECEDING", modes=BATCH),
    over("ends_whole", "FIRST_VALUE(b) OVER w, LAST_VALUE(b) OVER w", "ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING", modes=BATCH),
    over("ends_leading_null", "FIRST_VALUE(b) OVER w, LAST_VALUE(b) OVER w", "PARTITION BY b ORDER BY id", modes=BATCH),
    over("ends_ignore_nulls", "FIRST_VALUE(b) IGNORE NULLS OVER w, LAST_VALUE(b) IGNORE NULLS OVER w", modes=BATCH, refused=True),
    over("ends_respect_nulls", "FIRST_VALUE(b) RESPECT NULLS OVER w", modes=BATCH, refused=True),
    over("sum_ignore_nulls", "SUM(b) IGNORE NULLS OVER w", modes=BATCH, refused=True),
    over("ends_nth", "NTH_VALUE(b, 2) OVER w", modes=BATCH, refused=True),
    timed("ends_timed", "FIRST_VALUE(price) OVER w, LAST_VALUE(price) OVER w"),
    timed("ends_timed_rows", "FIRST_VALUE(price) OVER w, LAST_VALUE(price) OVER w", "PARTITION BY item ORDER BY ts ROWS BETWEEN 1 PRECEDING AND CURRENT ROW"),
    SqlCase("ends_groups", "SELECT k, FIRST_VALUE(b), LAST_VALUE(b) FROM orders GROUP BY k", compare="table"),
    # tiles
    over("tiles_four", "NTILE(4) OVER w, NTILE(5) OVER w, NTILE(1) OVER w, NTILE(20) OVER w", modes=BATCH),
    over("tiles_parts", "NTILE(2) OVER w", "PARTITION BY k ORDER BY id", modes=BATCH),
]  # fmt: skip
