"""Joins with the version of a table at a time: FOR SYSTEM_TIME AS OF.

    orders JOIN rates FOR SYSTEM_TIME AS OF orders.ts ON ...     a versioned table   TemporalJoin
    orders JOIN users FOR SYSTEM_TIME AS OF orders.proctime ...  a table outside     LookupJoin

In: a join of the syntax tree.  Out: nodes.  Next: from_clause.py
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from headrace.rel import nodes as n
from headrace.rel.building import join_schema, joined
from headrace.rel.conditions import conjunction, conjuncts, equal_sides
from headrace.rel.properties import keys_of
from headrace.rel.resolve.expressions import ExpressionResolver
from headrace.rel.resolve.problems import problem
from headrace.rel.resolve.scope import NameScope
from headrace.scalars.nodes import Literal, Ref

if TYPE_CHECKING:
    from headrace.rel.resolve.from_clause import From
    from headrace.rel.resolve.queries import QueryResolver
    from headrace.scalars.nodes import Scalar
    from headrace.sql import query_ast as q


def temporal_join(
    resolver: QueryResolver,
    left: From,
    node: q.JoinedTable,
    right: q.SystemTimeTable,
    alias: q.AliasedTable | None,
) -> From:
    """A join with a table as it was, or is."""
    from headrace.rel.resolve.from_clause import From as Joined
    from headrace.rel.resolve.from_clause import from_clause, renamed

    if node.kind not in ("INNER", "CROSS", "LEFT"):
        raise problem(f"{node.kind} JOIN with FOR SYSTEM_TIME AS OF is not possible", node)
    kind = n.JoinKind.LEFT if node.kind == "LEFT" else n.JoinKind.INNER
    left_rel = left.rel()
    time = ExpressionResolver(left.scope, resolver.catalogs).scalar(right.time)
    if not isinstance(time, Ref) or left_rel.schema[time.index].time is None:
        raise problem(
            "FOR SYSTEM_TIME AS OF takes a time attribute of the left table",
            right.time,
            "a column with a WATERMARK, or one AS PROCTIME()",
        )
    table = from_clause(resolver, right.table, left.scope.around)
    right_rel = table.rel()
    name = table.scope.tables[0].path if alias is None else (alias.alias,)
    if alias is not None:
        right_rel = renamed(right_rel, alias)
    scope = left.scope.beside(NameScope().with_table(name, right_rel.schema))
    if node.condition is None:
        raise problem("a join FOR SYSTEM_TIME AS OF has an ON with the table's key", node)
    condition = ExpressionResolver(scope, resolver.catalogs).condition(node.condition)
    made = _join(left_rel, right_rel, kind, condition, time.index, node)
    retries = resolver.hints.retries_of(name[-1])
    if retries is not None:
        if not isinstance(made, n.LookupJoin):
            raise problem(f"LOOKUP names {name[-1]}, which is no table that is asked", node)
        made = replace(made, retries=retries)
    return Joined([made], scope.retyped(made.schema))


def _join(
    left: n.Rel,
    right: n.Rel,
    kind: n.JoinKind,
    condition: Scalar,
    time: int,
    node: q.JoinedTable,
) -> n.Rel:
    event_time = left.schema[time].time is n.TimeAttribute.ROWTIME
    scan = _looked_up(right)
    if not event_time and scan is not None and scan.table.lookup is not None:
        return _lookup_join(left, right, scan, kind, condition, node)
    regular = joined(left, right, kind, condition)
    join = _inner_join(regular)
    if not isinstance(join, n.Join) or not join.left_keys:
        raise problem("a join FOR SYSTEM_TIME AS OF compares the table's key with =", node)
    version = _version_time(right) if event_time else None
    if event_time:
        _check_versions(right, join.right_keys, version, node)
    schema = join_schema(join.left, join.right, kind)
    temporal = n.TemporalJoin(
        join.left,
        join.right,
        kind,
        join.left_keys,
        join.right_keys,
        join.condition,
        join.null_safe,
        left_time=time,
        right_time=version,
        schema=schema,
    )
    return replace(regular, input=temporal) if isinstance(regular, n.Calc) else temporal


def _inner_join(rel: n.Rel) -> n.Rel:
    return rel.input if isinstance(rel, n.Calc) else rel


def _version_time(right: n.Rel) -> int | None:
    for place, field in enumerate(right.schema):
        if field.time is n.TimeAttribute.ROWTIME:
            return place
    return None


def _check_versions(
    right: n.Rel, keys: tuple[int, ...], version: int | None, node: q.JoinedTable
) -> None:
    from headrace.rel.rules.find_top_n import find_top_n

    if version is None:
        raise problem(
            "a temporal join in event time needs a table with a WATERMARK on the right",
            node.right,
            "declare WATERMARK FOR in the table, or join in processing time",
        )
    # the latest row of each key, by ROW_NUMBER, is a versioned table too
    if not any(key <= frozenset(keys) for key in keys_of(find_top_n(right))):
        raise problem(
            "a temporal join needs the primary key of the right table in its ON clause",
            node.right,
            "declare PRIMARY KEY (...) NOT ENFORCED, and compare all of its columns with =",
        )


# --- tables outside ------------------------------------------------------------------------------


def _looked_up(right: n.Rel) -> n.Scan | None:
    while isinstance(right, n.Calc | n.WatermarkAssigner):
        right = right.input
    return right if isinstance(right, n.Scan) else None


def _lookup_join(
    left: n.Rel,
    right: n.Rel,
    scan: n.Scan,
    kind: n.JoinKind,
    condition: Scalar,
    node: q.JoinedTable,
) -> n.Rel:
    if right is not scan:
        raise problem(
            "a lookup join takes a table with plain columns only, this one has others",
            node.right,
            "look up a table without computed columns, and compute behind the join",
        )
    assert kind in (n.JoinKind.INNER, n.JoinKind.LEFT)
    width = len(left.schema)
    keys: list[tuple[str, Scalar]] = []
    rest: list[Scalar] = []
    for part in conjuncts(condition):
        sides = equal_sides(part, width)
        constant = _constant_key(part, width)
        if sides is not None and isinstance(sides.right, Ref):
            keys.append((scan.schema[sides.right.index].name, sides.left))
        elif constant is not None:
            keys.append((scan.schema[constant[0]].name, constant[1]))
        else:
            rest.append(part)
    if not keys:
        raise problem("a lookup join compares a column of the table with =", node)
    schema = join_schema(left, scan, kind)
    return n.LookupJoin(
        left,
        scan.table,
        kind,
        tuple(keys),
        conjunction(rest),
        schema=schema,
    )


def _constant_key(part: Scalar, width: int) -> tuple[int, Scalar] | None:
    from headrace.scalars.nodes import Call

    if not isinstance(part, Call) or part.function != "=":
        return None
    for one, other in (part.arguments, part.arguments[::-1]):
        if isinstance(one, Ref) and one.index >= width and isinstance(other, Literal):
            return one.index - width, other
    return None
