"""Queries over tables that change."""

from __future__ import annotations

from oracle.sql.model import SqlCase

STREAM = ("streaming",)


def over(name: str, sql: str, *tables: str, **more: object) -> SqlCase:
    """A case over the changing table; BATCH mode has none."""
    return SqlCase(name, sql, tables or ("changes",), modes=STREAM, **more)  # type: ignore[arg-type]


CASES = [
    over("changes_as_they_are", "SELECT * FROM changes"),
    over("changes_filtered", "SELECT id, v FROM changes WHERE v > 3"),
    over("changes_projected", "SELECT k, v * 2 FROM changes"),
    over("changes_grouped", "SELECT k, COUNT(*), SUM(v), COUNT(v) FROM changes GROUP BY k"),
    over("changes_min_max", "SELECT k, MIN(v), MAX(v) FROM changes GROUP BY k"),
    over("changes_avg", "SELECT k, AVG(v), COUNT(DISTINCT v) FROM changes GROUP BY k"),
    over("changes_first_last", "SELECT FIRST_VALUE(w), LAST_VALUE(w) FROM changes"),
    over("changes_listagg", "SELECT k, LISTAGG(w) FROM changes GROUP BY k"),
    over("changes_global", "SELECT COUNT(*), SUM(v), MAX(w) FROM changes"),
    over("changes_distinct", "SELECT DISTINCT k FROM changes"),
    over("changes_having", "SELECT k, SUM(v) FROM changes GROUP BY k HAVING COUNT(*) > 1"),
    over("changes_filter_aggregate", "SELECT COUNT(*) FILTER (WHERE v > 3), "
        "SUM(DISTINCT v) FILTER (WHERE k = 'x') FROM changes"),
    over("changes_twice", "SELECT c, COUNT(*) FROM (SELECT k, COUNT(*) AS c FROM changes "
        "GROUP BY k) GROUP BY c"),
    over("changes_collect", "SELECT COLLECT(v) FROM changes"),
    over("changes_top", "SELECT k, v FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v "
        "DESC) AS n FROM changes) WHERE n <= 1"),
    over("changes_top_number", "SELECT id, v, n FROM (SELECT *, ROW_NUMBER() OVER (ORDER BY v "
        "DESC, id) AS n FROM changes) WHERE n <= 3"),
    over("changes_order_limit", "SELECT id, v FROM changes ORDER BY v DESC, id LIMIT 2"),
    over("changes_union_all", "SELECT k FROM changes UNION ALL SELECT w FROM changes",
        compare="table"),
    over("changes_unnest", "SELECT id, x FROM changes CROSS JOIN UNNEST(ARRAY[k, w]) AS u (x)"),
    over("changes_join", "SELECT id, v, city FROM changes JOIN cities ON changes.k = cities.k",
        "changes", "cities", compare="table"),
    over("changes_left_join", "SELECT id, v, city FROM changes LEFT JOIN cities "
        "ON changes.k = cities.k", "changes", "cities", compare="table"),
    over("changes_full_join", "SELECT id, v, city FROM changes FULL JOIN cities "
        "ON changes.k = cities.k AND v > 2", "changes", "cities", compare="table"),
    over("changes_semi", "SELECT id, k FROM changes WHERE k IN (SELECT k FROM cities)",
        "changes", "cities", compare="table"),
    over("changes_anti", "SELECT id, k FROM changes c WHERE NOT EXISTS "
        "(SELECT * FROM cities WHERE cities.k = c.k)", "changes", "cities", compare="table"),
    over("changes_join_group", "SELECT city, SUM(v) FROM changes JOIN cities "
        "ON changes.k = cities.k GROUP BY city", "changes", "cities", compare="table"),
    over("changes_self_join", "SELECT a.id, b.id FROM changes a JOIN changes b ON a.v = b.v "
        "AND a.id < b.id", compare="table"),
    over("keyed_as_it_is", "SELECT * FROM cities", "cities"),
    over("keyed_grouped", "SELECT size > 1, COUNT(*) FROM cities GROUP BY size > 1", "cities"),
    over("upsert_as_it_is", "SELECT * FROM latest", "latest"),
    over("upsert_filtered", "SELECT k, w FROM latest WHERE v > 4", "latest"),
    over("upsert_grouped", "SELECT w, SUM(v), COUNT(*) FROM latest GROUP BY w", "latest"),
    over("upsert_join", "SELECT l.k, v, city FROM latest l JOIN cities c ON l.k = c.k",
        "latest", "cities", compare="table"),
    over("upsert_top", "SELECT k, v FROM latest ORDER BY v DESC LIMIT 2", "latest"),
]  # fmt: skip
