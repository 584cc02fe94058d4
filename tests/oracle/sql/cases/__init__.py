"""All cases, by group: each module here is one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oracle.sql.cases import (
    aggregates,
    calc,
    changelogs,
    join_edges,
    joins,
    match_refusals,
    matches,
    names,
    neighbours,
    nested,
    rank_edges,
    ranks,
    refusals,
    retractions,
    sets,
    subqueries,
    subquery_edges,
    types,
    window_edges,
    window_queries,
    windows,
    zones,
)

if TYPE_CHECKING:
    from oracle.sql.model import SqlCase

GROUPS: dict[str, dict[str, SqlCase]] = {
    module.__name__.rsplit(".", 1)[-1]: {case.name: case for case in module.CASES}
    for module in (
        aggregates,
        calc,
        changelogs,
        join_edges,
        joins,
        match_refusals,
        matches,
        neighbours,
        names,
        nested,
        rank_edges,
        ranks,
        refusals,
        retractions,
        sets,
        subqueries,
        subquery_edges,
        types,
        window_edges,
        window_queries,
        windows,
        zones,
    )
}
CASES: dict[str, SqlCase] = {
    name: case for members in GROUPS.values() for name, case in members.items()
}
assert len(CASES) == sum(map(len, GROUPS.values())), "two cases have one name"
