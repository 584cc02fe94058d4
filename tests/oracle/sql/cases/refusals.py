"""What both engines must refuse."""

# ruff: noqa: E501

from __future__ import annotations

from oracle.sql.model import SqlCase

STREAM = ("streaming",)
FILES = (
    "CREATE TEMPORARY TABLE files (k STRING, c BIGINT) WITH ('connector' = 'filesystem', "
    "'path' = '/tmp/headrace-never-written', 'format' = 'csv')",
)


def refused(name: str, sql: str, *tables: str, **more: object) -> SqlCase:
    """A query that cannot be planned."""
    more.setdefault("modes", STREAM)
    return SqlCase(name, sql, tables or ("orders",), refused=True, **more)  # type: ignore[arg-type]


CASES = [
    refused("sort_unbounded", "SELECT id FROM orders ORDER BY a"),
    refused("sort_rowtime_descending", "SELECT ts FROM bids ORDER BY ts DESC", "bids"),
    refused("updates_into_files", "INSERT INTO files SELECT k, COUNT(*) FROM orders GROUP BY k",
        setup=FILES),
    refused("window_without_watermark", "SELECT COUNT(*) FROM TABLE(TUMBLE(TABLE typed, "
        "DESCRIPTOR(ts), INTERVAL '1' MINUTE)) GROUP BY window_start, window_end", "typed"),
    refused("group_window_without_watermark", "SELECT COUNT(*) FROM typed GROUP BY TUMBLE(ts, "
        "INTERVAL '1' MINUTE)", "typed"),
    refused("over_updates", "SELECT SUM(v) OVER (ORDER BY pt) FROM (SELECT id, v, PROCTIME() AS pt "
        "FROM changes)", "changes"),
    refused("over_following", "SELECT SUM(price) OVER (ORDER BY ts ROWS BETWEEN CURRENT ROW AND 1 "
        "FOLLOWING) FROM bids", "bids"),
    refused("two_over_windows", "SELECT SUM(price) OVER (ORDER BY ts), SUM(price) OVER (PARTITION BY "
        "item ORDER BY ts) FROM bids", "bids"),
    refused("interval_join_updates", "SELECT 1 FROM asks JOIN rates ON item = cur AND valid BETWEEN "
        "at_ AND at_ + INTERVAL '1' SECOND", "asks", "rates"),
    refused("temporal_without_key", "SELECT 1 FROM asks JOIN bids FOR SYSTEM_TIME AS OF asks.at_ ON "
        "asks.amount = bids.price", "asks", "bids"),
    refused("unknown_column", "SELECT nope FROM orders"),
    refused("unknown_table", "SELECT 1 FROM nope"),
    refused("unknown_function", "SELECT NOPE(a) FROM orders"),
    refused("ambiguous_column", "SELECT id FROM orders x JOIN orders y ON x.id = y.id"),
    refused("not_grouped", "SELECT k, a FROM orders GROUP BY k"),
    refused("nested_aggregate", "SELECT SUM(COUNT(*)) FROM orders"),
    refused("aggregate_in_where", "SELECT k FROM orders WHERE COUNT(*) > 1"),
    refused("text_plus_number", "SELECT f + 1 FROM orders"),
    refused("condition_is_number", "SELECT id FROM orders WHERE a"),
    refused("union_widths", "SELECT a FROM orders UNION ALL SELECT a, b FROM orders"),
    refused("union_kinds", "SELECT f FROM orders UNION ALL SELECT id FROM orders"),
    refused("syntax", "SELEC id FROM orders"),
    refused("insert_widths", "INSERT INTO files SELECT k FROM orders", setup=FILES),
    refused("bad_cast", "SELECT CAST(f AS DATE) FROM orders"),
    refused("failing_cast", "SELECT CAST(k AS INT) FROM orders WHERE k IS NOT NULL"),
    refused("number_equals_word", "SELECT id FROM orders WHERE a = 'abc'", modes=("streaming", "batch")),
    refused("number_after_word", "SELECT id, a > 'abc' FROM orders", modes=("batch",)),
    refused("number_in_words", "SELECT id FROM orders WHERE a IN ('5', 'abc')", modes=("batch",)),
    refused("number_between_words", "SELECT id FROM orders WHERE a BETWEEN 'a' AND 'b'",
        modes=("batch",)),
    refused("number_when_word", "SELECT id, CASE a WHEN 'abc' THEN 1 ELSE 0 END FROM orders",
        modes=("batch",)),
    refused("number_equals_digits", "SELECT id FROM orders WHERE a = '5'", modes=("batch",)),
    refused("date_equals_word", "SELECT id FROM typed WHERE dt = 'abc'", "typed", modes=("batch",)),
    refused("time_after_word", "SELECT id FROM typed WHERE ts > 'abc'", "typed", modes=("batch",)),
    refused("scalar_of_many", "SELECT id, (SELECT id FROM orders) FROM orders", modes=("batch",)),
    refused("top_unknown_bound", "SELECT id, n FROM (SELECT *, ROW_NUMBER() OVER (ORDER BY a) AS n "
        "FROM orders) WHERE n > 2"),
]  # fmt: skip
