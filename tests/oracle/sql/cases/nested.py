"""Rows, arrays and maps through joins, groups, aggregates and UNNEST."""

# ruff: noqa: E501

from __future__ import annotations

from oracle.sql.model import SqlCase

STREAM = ("streaming",)
BOXES = (
    "CREATE TEMPORARY VIEW boxes AS SELECT id, k, CAST(ROW(a, ROW(k, p)) AS ROW<x INT, y ROW<s STRING, p DECIMAL(10, 2)>>) AS r, "
    "ARRAY[a, id, CAST(NULL AS INT)] AS l, MAP[COALESCE(k, 'none'), a, 'id', id] AS m, ARRAY[ROW(k, a), ROW('id', id)] AS lr, "
    "ARRAY[ARRAY[a], ARRAY[id, 0]] AS ll, CASE WHEN f THEN ARRAY[k, 'f'] END AS maybe FROM orders",
)
SHOPS = (
    "CREATE TEMPORARY VIEW shops AS SELECT id, team, ROW(team, points) AS r, ARRAY[team, CAST(points AS STRING)] AS l, MAP['p', points] AS m "
    "FROM scores",
)


def of(name: str, sql: str, *tables: str, **more: object) -> SqlCase:
    """A query over boxes."""
    more.setdefault("modes", STREAM)
    more.setdefault("setup", BOXES)
    return SqlCase(name, sql, tables or ("orders",), **more)  # type: ignore[arg-type]


def over(name: str, sql: str, **more: object) -> SqlCase:
    """A query over shops, which change."""
    return of(name, sql, "scores", setup=SHOPS, **more)


CASES = [
    of("nested_group_row", "SELECT CAST(r AS STRING), c FROM (SELECT r, COUNT(*) AS c FROM boxes GROUP BY r)"),
    of("nested_unnest_rows", "SELECT id, u1, u2 FROM boxes CROSS JOIN UNNEST(lr) AS u (u1, u2)"),
    of("nested_casts", "SELECT CAST(r AS STRING), CAST(l AS STRING), CAST(m AS STRING), CAST(lr AS STRING), CAST(CAST(l AS ARRAY<BIGINT>) AS "
        "STRING), CAST(CAST(r AS ROW<a BIGINT, b ROW<c STRING, d STRING>>) AS STRING) FROM boxes"),
    over("nested_changes_group", "SELECT CAST(r AS STRING), c FROM (SELECT r, COUNT(*) AS c FROM shops GROUP BY r)"),
    over("nested_changes_unnest", "SELECT id, e FROM shops CROSS JOIN UNNEST(l) AS u (e)"),
]  # fmt: skip
