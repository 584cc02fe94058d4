"""GROUP BY, DISTINCT, FILTER, HAVING, grouping sets."""

# ruff: noqa: E501

from __future__ import annotations

from oracle.sql.model import SqlCase

AGGREGATES = {
    "count": "COUNT(*), COUNT(a), COUNT(b)",
    "sum": "SUM(a), SUM(b), SUM(d), SUM(p)",
    "avg": "AVG(a), AVG(b), AVG(d), AVG(p)",
    "min_max": "MIN(a), MAX(b), MIN(k), MAX(p), MIN(f)",
    "deviation": "VAR_POP(a), STDDEV_SAMP(a)",
    "first_last": "FIRST_VALUE(a), LAST_VALUE(b)",
    "listagg": "LISTAGG(k), LISTAGG(CAST(a AS STRING), '-')",
    "collect": "COLLECT(a)",
    "distinct_counts": "COUNT(DISTINCT a), COUNT(DISTINCT k), SUM(DISTINCT a)",
    "filters": "COUNT(*) FILTER (WHERE f), SUM(a) FILTER (WHERE b > 15), "
    "COUNT(DISTINCT a) FILTER (WHERE f)",
    "sum0": "SUM(a) + COUNT(*), SUM(a) * 2",
    "or_zero": "$SUM0(a), `$SUM0`(b), $SUM0(d), $SUM0(p), $SUM0(DISTINCT a), $SUM0(a) FILTER (WHERE f)",
}

CASES = [
    *(SqlCase(f"group_{name}", f"SELECT k, {calls} FROM orders GROUP BY k")
      for name, calls in AGGREGATES.items()),
    *(SqlCase(f"global_{name}", f"SELECT {AGGREGATES[name]} FROM orders")
      for name in ("count", "sum", "avg", "min_max", "distinct_counts", "filters")),
    SqlCase("global_nothing", "SELECT COUNT(*), SUM(a), MAX(k) FROM orders WHERE id > 100"),
    SqlCase("global_or_zero", f"SELECT {AGGREGATES['or_zero']} FROM orders"),
    SqlCase("global_or_zero_nothing", "SELECT $SUM0(a), $SUM0(d), $SUM0(p) FROM orders WHERE id > 100", modes=("batch",)),
    SqlCase("or_zero_types", "SELECT $SUM0(CAST(a AS TINYINT)), $SUM0(CAST(a AS SMALLINT)), $SUM0(CAST(a AS FLOAT)) FROM orders",
        modes=("streaming",)),
    SqlCase("or_zero_no_such_name", "SELECT SUM0(a) FROM orders", refused=True),
    SqlCase("or_zero_of_text", "SELECT $SUM0(k) FROM orders", refused=True),
    SqlCase("group_nothing", "SELECT k, COUNT(*) FROM orders WHERE id > 100 GROUP BY k"),
    SqlCase("distinct", "SELECT DISTINCT k, a FROM orders"),
    SqlCase("distinct_one", "SELECT DISTINCT k FROM orders"),
    SqlCase("group_only", "SELECT k FROM orders GROUP BY k"),
    SqlCase("having", "SELECT k, SUM(a) AS s FROM orders GROUP BY k HAVING SUM(a) > 6"),
    SqlCase("having_count", "SELECT k FROM orders GROUP BY k HAVING COUNT(*) = 2"),
    SqlCase("group_expression", "SELECT a / 3 AS g, COUNT(*), MAX(id) FROM orders GROUP BY a / 3"),
    SqlCase("group_two", "SELECT k, f, COUNT(*), SUM(b) FROM orders GROUP BY k, f"),
    SqlCase("group_unused_key", "SELECT SUM(a) FROM orders GROUP BY k"),
    SqlCase("expression_over", "SELECT k, 2 * SUM(a) + 1, MAX(a) - MIN(a) FROM orders GROUP BY k"),
    SqlCase("case_in_sum", "SELECT k, SUM(CASE WHEN f THEN a ELSE 0 END) FROM orders GROUP BY k"),
    SqlCase("count_distinct_two", "SELECT COUNT(DISTINCT k), COUNT(DISTINCT f) FROM orders"),
    SqlCase("group_constant", "SELECT 'all', COUNT(*) FROM orders GROUP BY 'all'"),
    SqlCase("grouping_sets",
        "SELECT k, f, COUNT(*), GROUPING(k), GROUPING_ID(k, f) FROM orders "
        "GROUP BY GROUPING SETS ((k, f), (k), ())", compare="bag"),
    SqlCase("rollup", "SELECT k, f, SUM(a) FROM orders GROUP BY ROLLUP (k, f)", compare="bag"),
    SqlCase("cube", "SELECT k, f, SUM(a) FROM orders GROUP BY CUBE (k, f)", compare="bag"),
    SqlCase("aggregate_of_aggregate",
        "SELECT s, COUNT(*) FROM (SELECT k, SUM(a) AS s FROM orders GROUP BY k) GROUP BY s"),
    SqlCase("max_of_sums",
        "SELECT MAX(s), MIN(s), COUNT(s) FROM (SELECT k, SUM(a) AS s FROM orders GROUP BY k)"),
    SqlCase("average_of_counts",
        "SELECT AVG(c), SUM(c), COUNT(DISTINCT c) FROM "
        "(SELECT k, COUNT(*) AS c FROM orders GROUP BY k)"),
    SqlCase("listagg_of_groups",
        "SELECT LISTAGG(k) FROM (SELECT k, COUNT(*) AS c FROM orders GROUP BY k) WHERE c > 1",
        modes=("streaming",)),
    SqlCase("filter_over_group",
        "SELECT k, c FROM (SELECT k, COUNT(*) AS c FROM orders GROUP BY k) WHERE c < 3"),
    SqlCase("project_over_group",
        "SELECT c * 10 FROM (SELECT k, COUNT(*) AS c FROM orders GROUP BY k)"),
    SqlCase("group_timestamp",
        "SELECT FLOOR(ts TO MINUTE) AS m, COUNT(*), MAX(ts) FROM typed GROUP BY FLOOR(ts TO MINUTE)",
        ("typed",)),
    SqlCase("group_decimal", "SELECT q, SUM(p), AVG(p) FROM typed GROUP BY q", ("typed",)),
]  # fmt: skip
