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
    of("nested_star_of_subquery", "SELECT x, s FROM (SELECT boxes.r.*, boxes.r.y.* FROM boxes) WHERE x > 3"),
    of("nested_star_of_nothing", "SELECT t.r.* FROM (SELECT id, CAST(NULL AS ROW<x INT, y STRING>) AS r FROM orders) AS t"),
    of("nested_star_of_number", "SELECT boxes.id.* FROM boxes", refused=True),
    of("nested_star_of_array", "SELECT boxes.l.* FROM boxes", refused=True),
    of("nested_star_unknown", "SELECT boxes.r.nope.* FROM boxes", refused=True),
    of("nested_star_ungrouped", "SELECT boxes.r.* FROM boxes GROUP BY id", refused=True),
    over("nested_changes_star", "SELECT id, shops.r.* FROM shops"),
    over("nested_changes_group", "SELECT CAST(r AS STRING), c FROM (SELECT r, COUNT(*) AS c FROM shops GROUP BY r)"),
    over("nested_changes_unnest", "SELECT id, e FROM shops CROSS JOIN UNNEST(l) AS u (e)"),
]  # fmt: skip
