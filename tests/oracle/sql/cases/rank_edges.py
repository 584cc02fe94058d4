"""Top-N with ties and updates, dedup, OVER with NULLs, LIMIT over changes."""

# ruff: noqa: E501

from __future__ import annotations

from typing import Any

from oracle.sql.model import SqlCase

STREAM = ("streaming",)
BIDS = ("bids",)


def top(
    name: str, columns: str, over: str, condition: str, source: str = "scores", **more: Any
) -> SqlCase:
    """Numbered rows of which some are kept."""
    more.setdefault("modes", STREAM)
    function = more.pop("function", "ROW_NUMBER()")
    tables = more.pop("tables", ("scores",))
    sql = f"SELECT {columns} FROM (SELECT *, {function} OVER ({over}) AS n FROM {source}) t WHERE {condition}"
    return SqlCase(name, sql, tables, **more)


def over(name: str, calls: str, window: str, **more: Any) -> SqlCase:
    """Aggregates over bids."""
    more.setdefault("modes", STREAM)
    more.setdefault("compare", "bag")
    return SqlCase(
        name, f"SELECT item, price, ts, {calls} FROM bids WINDOW w AS ({window})", BIDS, **more
    )


SUMS = "(SELECT team, SUM(points) AS s, COUNT(*) AS c FROM scores GROUP BY team)"
MAXIMA = "(SELECT k, MAX(a) AS m FROM orders GROUP BY k)"
ALL_CALLS = (
    "COUNT(*) OVER w, COUNT(price) OVER w, SUM(price) OVER w, AVG(price) OVER w, MIN(price) OVER w, "
    "MAX(price) OVER w, FIRST_VALUE(price) OVER w, LAST_VALUE(price) OVER w"
)

CASES = [
    top("ties_keep_arrival", "id, team, points", "PARTITION BY team ORDER BY points DESC", "n <= 2"),
    top("ties_numbered", "id, team, points, n", "PARTITION BY team ORDER BY points DESC", "n <= 2"),
    top("ties_ascending", "id, team, points", "PARTITION BY team ORDER BY points", "n <= 1"),
    top("ties_ascending_number", "id, points, n", "ORDER BY points", "n <= 3"),
    top("ties_global", "id, points", "ORDER BY points DESC", "n <= 3"),
    top("top_nulls_updates", "id, points, n", "ORDER BY points NULLS FIRST, id", "n <= 3"),
    top("top_middle", "id, points, n", "ORDER BY points DESC, id", "n BETWEEN 2 AND 3"),
    top("top_middle_unnumbered", "id, points", "ORDER BY points DESC, id", "n > 1 AND n <= 3"),
    top("top_second", "id, points", "ORDER BY points DESC, id", "n = 2"),
    top("top_of_changing_sums", "team, s, n", "ORDER BY s DESC, team", "n <= 2", SUMS),
    top("top_of_changing_counts", "team, c", "ORDER BY c DESC, team", "n <= 1", SUMS),
    top("top_of_maxima", "k, m, n", "ORDER BY m DESC", "n <= 2", MAXIMA, tables=("orders",)),
    top("top_of_maxima_unnumbered", "k, m", "ORDER BY m DESC", "n <= 2", MAXIMA, tables=("orders",)),
    top("top_variable", "id, k, a, n", "PARTITION BY k ORDER BY id", "n <= a", "orders", tables=("orders",)),
    top("top_rank", "id, points, n", "ORDER BY points DESC", "n <= 3", function="RANK()", modes=("streaming",), refused=True),
    top("top_then_count", "team, COUNT(*)", "PARTITION BY team ORDER BY points DESC, id", "n <= 2 GROUP BY team"),
    top("top_of_top", "id, n", "ORDER BY points DESC, id", "n <= 1", "(SELECT id, team, points FROM (SELECT *, ROW_NUMBER() OVER (PARTITION "
        "BY team ORDER BY points DESC, id) AS m FROM scores) WHERE m <= 1)"),
    top("top_partition_null", "id, k, a", "PARTITION BY k, f ORDER BY a DESC", "n <= 1", "orders", tables=("orders",)),
    top("top_constant_partition", "id, a", "PARTITION BY 1 ORDER BY a DESC, id", "n <= 2", "orders", tables=("orders",)),
    top("top_with_filter", "id, points", "ORDER BY points DESC, id", "n <= 3 AND points > 4"),
    top("top_inner_filter", "id, points", "ORDER BY points DESC, id", "n <= 2", "(SELECT * FROM scores WHERE points <> 7)"),
    top("top_first_only", "id, k, a", "PARTITION BY k ORDER BY a DESC", "n = 1", "orders", tables=("orders",)),
    top("dedup_first_of_top", "item, price, ts", "PARTITION BY item ORDER BY ts", "n = 1 AND price > 1", "bids", tables=BIDS),
    top("dedup_last_two_keys", "item, bidder, price", "PARTITION BY item, bidder ORDER BY ts DESC", "n = 1", "bids", tables=BIDS),
    top("dedup_last_grouped", "item, SUM(price)", "PARTITION BY item, bidder ORDER BY ts DESC", "n = 1 GROUP BY item", "bids", tables=BIDS),
    top("dedup_mini_batch", "item, price, ts", "PARTITION BY item ORDER BY ts DESC", "n = 1", "bids", tables=BIDS, compare="table",
        options={"table.exec.mini-batch.enabled": "true", "table.exec.mini-batch.allow-latency": "1 s", "table.exec.mini-batch.size": "3"}),
    SqlCase("limit_changing", "SELECT id, points FROM scores ORDER BY points DESC, id LIMIT 3", ("scores",), modes=STREAM),
    SqlCase("limit_offset_changing", "SELECT id, points FROM scores ORDER BY points, id LIMIT 2 OFFSET 1", ("scores",), modes=STREAM),
    SqlCase("limit_no_order", "SELECT id, points FROM scores LIMIT 3", ("scores",), modes=STREAM),
    SqlCase("limit_zero", "SELECT id FROM orders ORDER BY id LIMIT 0"),
    SqlCase("order_limit_expression", "SELECT id, a + id AS c FROM orders ORDER BY c DESC NULLS LAST, id LIMIT 3", ordered=True),
    SqlCase("order_nulls_batch", "SELECT id, a, b FROM orders ORDER BY a NULLS FIRST, b DESC NULLS LAST, id", modes=("batch",), ordered=True),
    SqlCase("order_booleans", "SELECT id, f FROM orders ORDER BY f DESC, id", modes=("batch",), ordered=True),
    over("over_range_all", ALL_CALLS, "PARTITION BY item ORDER BY ts"),
    over("over_rows_all", ALL_CALLS, "PARTITION BY item ORDER BY ts ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"),
    over("over_rows_two", ALL_CALLS, "PARTITION BY item ORDER BY ts ROWS BETWEEN 2 PRECEDING AND CURRENT ROW"),
    over("over_range_five", ALL_CALLS, "PARTITION BY item ORDER BY ts RANGE BETWEEN INTERVAL '5' SECOND PRECEDING AND CURRENT ROW"),
    over("over_rows_everyone", ALL_CALLS, "ORDER BY ts ROWS BETWEEN 3 PRECEDING AND CURRENT ROW"),
    over("over_range_everyone", "COUNT(DISTINCT bidder) OVER w, SUM(DISTINCT price) OVER w", "ORDER BY ts RANGE BETWEEN INTERVAL '4' SECOND "
        "PRECEDING AND CURRENT ROW"),
    over("over_filter", "COUNT(*) FILTER (WHERE price > 3) OVER w", "PARTITION BY item ORDER BY ts", refused=True),
    over("over_listagg", "LISTAGG(bidder) OVER w", "PARTITION BY item ORDER BY ts ROWS BETWEEN 1 PRECEDING AND CURRENT ROW"),
    over("over_lag_two", "LAG(price, 2) OVER w, LAG(CAST(ts AS STRING), 1, 'none') OVER w", "PARTITION BY item ORDER BY ts"),
    over("over_collect", "COLLECT(price) OVER w, CAST(ARRAY_AGG(bidder) OVER w AS STRING)", "ORDER BY ts ROWS BETWEEN 2 PRECEDING AND CURRENT ROW"),
    over("over_two_partition", "COUNT(*) OVER w", "PARTITION BY item, bidder ORDER BY ts"),
    over("over_expression", "SUM(price * 2) OVER w + 1", "PARTITION BY UPPER(item) ORDER BY ts"),
    *(SqlCase(f"over_batch_doubles_{name}", f"SELECT a, SUM(z) OVER w, AVG(z) OVER w, STDDEV_POP(z) OVER w, COUNT(z) OVER w, MAX(z) OVER w FROM (VALUES "
        "(1, 1E20), (2, 1E0), (3, 2E0), (4, 3E0), (5, -1E0), (6, 2E0)) AS t (a, z) "
        f"WINDOW w AS (ORDER BY a ROWS BETWEEN {frame})", modes=("batch",), compare="bag") for name, frame in (
            ("slide", "1 PRECEDING AND CURRENT ROW"), ("end", "CURRENT ROW AND UNBOUNDED FOLLOWING"))),
    SqlCase("over_proctime_range", "SELECT item, COUNT(*) OVER (PARTITION BY item ORDER BY pt) FROM bids", BIDS, modes=STREAM),
    SqlCase("over_proctime_everyone", "SELECT item, SUM(price) OVER (ORDER BY pt ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM bids", BIDS,
        modes=STREAM),
    SqlCase("over_then_group", "SELECT item, MAX(c) FROM (SELECT item, COUNT(*) OVER (PARTITION BY item ORDER BY ts) AS c FROM bids) GROUP BY "
        "item", BIDS, modes=STREAM, compare="table"),
    SqlCase("over_then_filter", "SELECT item, c FROM (SELECT item, COUNT(*) OVER (PARTITION BY item ORDER BY ts) AS c FROM bids) WHERE c > 1",
        BIDS, modes=STREAM, compare="bag"),
    SqlCase("over_not_time", "SELECT id, a, SUM(b) OVER (PARTITION BY k ORDER BY id) FROM orders", modes=STREAM, compare="table"),
    SqlCase("over_not_time_ties", "SELECT id, a, SUM(b) OVER (ORDER BY a) FROM orders", modes=STREAM, compare="table"),
    SqlCase("over_of_changes", "SELECT id, points, SUM(points) OVER (PARTITION BY team ORDER BY id) FROM scores", ("scores",), modes=STREAM,
        compare="table"),
    SqlCase("over_batch_nulls", "SELECT id, SUM(b) OVER (PARTITION BY k ORDER BY a), COUNT(b) OVER (ORDER BY b DESC), RANK() OVER (PARTITION BY k "
        "ORDER BY a DESC), FIRST_VALUE(b) OVER (PARTITION BY k ORDER BY id), LAST_VALUE(b) OVER (PARTITION BY k ORDER BY id), "
        "LAG(b, 1) OVER (ORDER BY id), PERCENT_RANK() OVER (ORDER BY a) FROM orders", modes=("batch",)),
    SqlCase("over_batch_range", "SELECT id, SUM(a) OVER (ORDER BY id RANGE BETWEEN 2 PRECEDING AND 1 FOLLOWING), AVG(d) OVER (ORDER BY id ROWS BETWEEN "
        "UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING), MAX(a) OVER (PARTITION BY f ORDER BY id ROWS BETWEEN 2 PRECEDING AND 1 PRECEDING), "
        "MIN(a) OVER (ORDER BY id ROWS BETWEEN 1 FOLLOWING AND 2 FOLLOWING) FROM orders", modes=("batch",)),
    *(SqlCase(f"over_batch_{name.lower()}_ties", f"SELECT id, k, a, {name}() OVER (ORDER BY a), {name}() OVER (PARTITION BY k ORDER BY a "
        f"DESC), {name}() OVER (PARTITION BY a ORDER BY k) FROM orders", modes=("batch",))
      for name in ("PERCENT_RANK", "CUME_DIST", "RANK", "DENSE_RANK")),
    SqlCase("over_batch_ranks_together", "SELECT a, PERCENT_RANK() OVER (ORDER BY a), CUME_DIST() OVER (ORDER BY a), RANK() OVER (ORDER BY a) "
        "FROM orders", modes=("batch",)),
    SqlCase("over_batch_ranks_first", "SELECT a, CUME_DIST() OVER (ORDER BY a), RANK() OVER (ORDER BY a), PERCENT_RANK() OVER (ORDER BY a) FROM "
        "orders", modes=("batch",)),
    SqlCase("rank_batch", "SELECT id, a, n FROM (SELECT *, RANK() OVER (PARTITION BY k ORDER BY a DESC) AS n FROM orders) WHERE n <= 1",
        modes=("batch",)),
]  # fmt: skip
