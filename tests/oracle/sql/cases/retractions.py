"""Aggregates that take lines back, sets with ALL, grouping sets, upserts, and mini-batches."""

# ruff: noqa: E501

from __future__ import annotations

from dataclasses import replace

from oracle.sql.model import SqlCase

STREAM = ("streaming",)
MINI = {
    "table.exec.mini-batch.enabled": "true",
    "table.exec.mini-batch.allow-latency": "1 s",
    "table.exec.mini-batch.size": "4",
}


def over(name: str, sql: str, *tables: str, **more: object) -> SqlCase:
    """A query over tables that change."""
    more.setdefault("modes", STREAM)
    return SqlCase(name, sql, tables or ("scores",), **more)  # type: ignore[arg-type]


def grouped(name: str, calls: str, **more: object) -> SqlCase:
    """A GROUP BY of scores."""
    return over(name, f"SELECT team, {calls} FROM scores GROUP BY team", **more)


GROUPS = [
    grouped("retract_listagg", "LISTAGG(CAST(points AS STRING), '|')"),
    grouped("retract_listagg_distinct", "LISTAGG(DISTINCT CAST(points AS STRING))"),
    grouped("retract_first_last", "FIRST_VALUE(points), LAST_VALUE(points), FIRST_VALUE(id), LAST_VALUE(id)"),
    grouped("retract_min_max", "MIN(points), MAX(points), MIN(id), MAX(id)"),
    grouped("retract_deviation", "STDDEV_POP(points), STDDEV_SAMP(points), VAR_POP(points), VAR_SAMP(points), VARIANCE(points)"),
    grouped("retract_avg", "AVG(points), AVG(CAST(points AS DOUBLE)), AVG(CAST(points AS DECIMAL(6, 2))), SUM(CAST(points AS DECIMAL(6, 2)))"),
    grouped("retract_sums", "SUM(points), SUM(CAST(points AS DOUBLE)), COUNT(points), COUNT(*)"),
    grouped("retract_distinct", "COUNT(DISTINCT points), SUM(DISTINCT points), AVG(DISTINCT points), COUNT(DISTINCT id)"),
    grouped("retract_filters", "COUNT(*) FILTER (WHERE points > 5), COUNT(DISTINCT points) FILTER (WHERE id > 2), SUM(points) FILTER (WHERE "
        "points < 9)"),
    grouped("retract_collect", "COLLECT(points)"),
    grouped("retract_array_agg", "CAST(ARRAY_AGG(points) AS STRING), CAST(ARRAY_AGG(DISTINCT points) AS STRING)"),
    grouped("retract_json_array", "JSON_ARRAYAGG(points), JSON_ARRAYAGG(points NULL ON NULL)"),
    # in which order the keys stand depends on the state backend
    grouped("retract_json_object", "JSON_VALUE(JSON_OBJECTAGG(KEY CAST(id AS STRING) VALUE points), '$.4'), CHAR_LENGTH(JSON_OBJECTAGG(KEY "
        "CAST(id AS STRING) VALUE points)), CHAR_LENGTH(JSON_OBJECTAGG(KEY CAST(id AS STRING) VALUE points ABSENT ON NULL))"),
    over("retract_single", "SELECT id FROM scores WHERE points = (SELECT MAX(points) FROM scores)", compare="table"),
    over("retract_having", "SELECT team, COUNT(*) FROM scores GROUP BY team HAVING SUM(points) > 10"),
    over("retract_chain", "SELECT s, COUNT(*), MIN(team), LISTAGG(team) FROM (SELECT team, SUM(points) AS s FROM scores GROUP BY team) GROUP BY s"),
    over("retract_chain_max", "SELECT MAX(c), MIN(c), SUM(c) FROM (SELECT team, points, COUNT(*) AS c FROM scores GROUP BY team, points)"),
    over("retract_global", "SELECT COUNT(*), SUM(points), MAX(team), COUNT(DISTINCT team) FROM scores"),
    over("retract_global_empty", "SELECT COUNT(*), SUM(points) FROM scores WHERE id = 3"),
    over("retract_group_empty", "SELECT team, COUNT(*), SUM(points) FROM scores WHERE id = 3 GROUP BY team"),
    over("retract_distinct_rows", "SELECT DISTINCT team, points FROM scores"),
    over("retract_rollup", "SELECT team, points, COUNT(*), GROUPING(team), GROUPING(points) FROM scores GROUP BY ROLLUP (team, points)",
        compare="bag"),
    over("retract_cube", "SELECT team, points, SUM(id), GROUPING_ID(team, points), GROUPING_ID(points, team) FROM scores GROUP BY CUBE (team, "
        "points)", compare="bag"),
    over("retract_sets", "SELECT team, points, COUNT(DISTINCT id) FROM scores GROUP BY GROUPING SETS ((team), (points), (team, points), ())",
        compare="bag"),
    over("sets_having", "SELECT k, f, COUNT(*) AS c, GROUP_ID() FROM orders GROUP BY GROUPING SETS ((k), (f), ()) HAVING GROUPING(k) = 0 OR "
        "COUNT(*) > 4", "orders", compare="bag"),
    over("sets_mixed", "SELECT k, f, a, COUNT(*), GROUPING_ID(k, f, a) FROM orders GROUP BY k, ROLLUP (f, a)", "orders", compare="bag",
        modes=("streaming", "batch")),
    over("sets_distinct", "SELECT k, f, COUNT(DISTINCT a), COUNT(DISTINCT b), SUM(a) FROM orders GROUP BY GROUPING SETS ((k), (f))", "orders",
        compare="bag", modes=("streaming", "batch")),
    over("sets_of_nothing", "SELECT k, COUNT(*) FROM orders WHERE id > 100 GROUP BY GROUPING SETS ((k), ())", "orders", compare="bag",
        modes=("streaming", "batch")),
    *(over(f"changing_{name.lower().replace(' ', '_')}", f"SELECT team, points FROM scores {name} SELECT k, v FROM changes", "scores", "changes",
        compare="table") for name in ("UNION", "UNION ALL", "INTERSECT", "INTERSECT ALL", "EXCEPT", "EXCEPT ALL")),
    over("sets_nested", "SELECT k FROM orders EXCEPT ALL (SELECT k FROM orders WHERE f INTERSECT ALL SELECT k FROM orders WHERE a > 3)", "orders",
        compare="table", modes=("streaming", "batch")),
    over("sets_order", "SELECT k, a FROM orders WHERE f UNION ALL SELECT k, a FROM orders WHERE a > 4 ORDER BY a DESC, k LIMIT 3", "orders",
        compare="table", modes=("streaming", "batch")),
    over("sets_nulls", "SELECT k, b FROM orders INTERSECT SELECT k, b FROM orders WHERE id > 3", "orders", compare="table",
        modes=("streaming", "batch")),
    over("upsert_min_max", "SELECT w, MIN(v), MAX(v), COUNT(*) FROM latest GROUP BY w", "latest"),
    over("upsert_of_upsert", "SELECT k, COUNT(*), LAST_VALUE(v) FROM latest GROUP BY k", "latest"),
    over("upsert_projected", "SELECT w, v + 1 FROM latest", "latest"),
    over("upsert_filtered_key", "SELECT k, v FROM latest WHERE k <> 'x'", "latest"),
    over("upsert_union", "SELECT k, v FROM latest UNION ALL SELECT team, points FROM scores", "latest", "scores", compare="table"),
    over("upsert_dedup", "SELECT k, v FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY w ORDER BY v DESC) AS n FROM latest) WHERE n = 1", "latest"),
    over("upsert_distinct", "SELECT DISTINCT w FROM latest", "latest"),
    over("upsert_semi", "SELECT k FROM latest WHERE k IN (SELECT team FROM scores)", "latest", "scores", compare="table"),
]  # fmt: skip
# The same with mini-batches: what is left counts, since batches are cut by the clock.
_MINI = {
    "retract_min_max", "retract_distinct", "retract_filters", "retract_having", "retract_global", "retract_rollup", "changing_except_all",
    "upsert_min_max", "upsert_dedup", "retract_distinct_rows", "changing_union",
}  # fmt: skip
SPLIT = {**MINI, "table.optimizer.distinct-agg.split.enabled": "true"}
CASES = [
    *GROUPS,
    *(replace(case, name=f"mini_{case.name}", options=MINI, compare="table") for case in GROUPS if case.name in _MINI),
    over("mini_join", "SELECT s.id, c.w FROM scores s FULL JOIN changes c ON s.team = c.k", "scores", "changes", options=MINI, compare="table"),
    over("mini_top", "SELECT id, points, n FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY team ORDER BY points DESC, id) AS n FROM scores) WHERE n "
        "<= 2", options=MINI, compare="table"),
    over("mini_window", "SELECT item, window_end, COUNT(*), COUNT(DISTINCT bidder) FROM TABLE(TUMBLE(TABLE bids, DESCRIPTOR(ts), INTERVAL '5' "
        "SECOND)) GROUP BY item, window_start, window_end", "bids", options=MINI, compare="bag"),
    over("mini_split", "SELECT k, COUNT(DISTINCT a), SUM(DISTINCT b), COUNT(*) FROM orders GROUP BY k", "orders", options=SPLIT, compare="table"),
    over("mini_two_phase", "SELECT k, SUM(a), MAX(b), AVG(d), COUNT(DISTINCT f) FROM orders GROUP BY k", "orders", compare="table",
        options={**MINI, "table.optimizer.agg-phase-strategy": "TWO_PHASE"}),
]  # fmt: skip
