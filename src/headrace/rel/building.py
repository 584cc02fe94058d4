"""Makes relational nodes with their schemas: projections, filters, joins, aggregates, windows.

In: scalars over the columns of inputs.  Out: nodes; adjacent projections are one, conditions of
inner joins are where they need least.  SQL (resolve/) and the Table API use the same.
Next: nodes.py
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from headrace.common import data_types as t
from headrace.rel import nodes as n
from headrace.rel.conditions import conjunction, conjuncts, equal_sides, moved
from headrace.rel.joins import recognised, without_time
from headrace.scalars.compile import is_deterministic
from headrace.scalars.nodes import Call, Ref, Scalar, columns_of, rewrite, walk

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def ref(rel: n.Rel, index: int) -> Ref:
    """A column of a node as a scalar."""
    return Ref(index, rel.schema[index].type)


def refs(rel: n.Rel) -> tuple[Ref, ...]:
    """All columns of a node."""
    return tuple(ref(rel, index) for index in range(len(rel.schema)))


def project(rel: n.Rel, scalars: Iterable[Scalar], names: Sequence[str]) -> n.Rel:
    """The values of some scalars for every line."""
    projections = tuple(scalars)
    schema = tuple(
        field_of(rel, scalar, name) for scalar, name in zip(projections, names, strict=True)
    )
    if isinstance(rel, n.Calc) and _may_merge(rel, projections):
        merged = tuple(substitute(scalar, rel.projections) for scalar in projections)
        return n.Calc(rel.input, merged, rel.condition, schema=schema)
    if projections == refs(rel) and schema == rel.schema:
        return rel
    return n.Calc(rel, projections, schema=schema)


def filtered(rel: n.Rel, condition: Scalar | None) -> n.Rel:
    """The lines for which a condition is true."""
    if condition is None:
        return rel
    if isinstance(rel, n.Calc) and _may_merge(rel, (condition,)):
        below = substitute(condition, rel.projections)
        both = below if rel.condition is None else conjunction((rel.condition, below))
        return replace(rel, condition=both)
    return n.Calc(rel, refs(rel), condition, schema=rel.schema)


def field_of(rel: n.Rel, scalar: Scalar, name: str) -> n.Field:
    """The column that a scalar makes; a column that is only renamed stays a time attribute."""
    if isinstance(scalar, Ref):
        return rel.schema[scalar.index]._replace(name=name)
    if isinstance(scalar, Call) and scalar.function == "PROCTIME":
        return n.Field(name, scalar.type, n.TimeAttribute.PROCTIME)
    return n.Field(name, scalar.type)


def substitute(scalar: Scalar, columns: Sequence[Scalar]) -> Scalar:
    """A scalar over a projection as one over its input."""
    return rewrite(scalar, lambda part: columns[part.index] if isinstance(part, Ref) else None)


def _may_merge(calc: n.Calc, scalars: Sequence[Scalar]) -> bool:
    """Whether nothing that is worth keeping would be computed twice, or not as often."""
    used: dict[int, int] = {}
    for scalar in scalars:
        for part in walk(scalar):
            if isinstance(part, Ref):
                used[part.index] = used.get(part.index, 0) + 1
    return all(
        isinstance(calc.projections[index], Ref)
        or (count <= 1 and is_deterministic(calc.projections[index]))
        for index, count in used.items()
    )


def narrowed(rel: n.Rel, width: int) -> n.Rel:
    """Only the first columns: those behind them were there for something below."""
    names = [field.name for field in rel.schema[:width]]
    return project(rel, [ref(rel, place) for place in range(width)], names)


# --- joins ---------------------------------------------------------------------------------------


def joined(
    left: n.Rel,
    right: n.Rel,
    kind: n.JoinKind,
    condition: Scalar | None,
    *,
    regular: bool = False,
) -> n.Rel:
    """A join by a condition over the columns of both; what must be equal becomes its key.

    Args:
        left, right: the sides.
        kind: how lines without a partner are treated.
        condition: over the columns of both.
        regular: whether it stays a regular join, although its condition may bound times.
    """
    width = len(left.schema)
    left_keys: list[Scalar] = []
    right_keys: list[Scalar] = []
    null_safe: list[bool] = []
    rest: list[Scalar] = []
    for part in conjuncts(condition):
        sides = equal_sides(part, width)
        if sides is None:
            rest.append(part)
        else:
            left_keys.append(sides.left)
            right_keys.append(sides.right)
            null_safe.append(sides.null_safe)
    below_left, left_places = with_columns(left, left_keys)
    below_right, right_places = with_columns(right, right_keys)
    extra = len(below_left.schema) - width
    others = conjunction([moved(part, lambda i: i if i < width else i + extra) for part in rest])
    schema = join_schema(below_left, below_right, kind)
    join = n.Join(
        below_left,
        below_right,
        kind,
        left_places,
        right_places,
        others,
        tuple(null_safe),
        schema=without_time(schema),
    )
    if not regular:
        join = recognised(replace(join, schema=schema))
    return _without_extras(join, width, len(right.schema), extra)


def with_columns(rel: n.Rel, scalars: Sequence[Scalar]) -> tuple[n.Rel, tuple[int, ...]]:
    """The node with one more column for each scalar that is no column, and their places."""
    added: list[Scalar] = []
    places: list[int] = []
    width = len(rel.schema)
    for scalar in scalars:
        if isinstance(scalar, Ref):
            places.append(scalar.index)
        elif scalar in added:
            places.append(width + added.index(scalar))
        else:
            places.append(width + len(added))
            added.append(scalar)
    if not added:
        return rel, tuple(places)
    names = [field.name for field in rel.schema] + [f"$f{width + i}" for i in range(len(added))]
    return project(rel, (*refs(rel), *added), names), tuple(places)


def join_schema(left: n.Rel, right: n.Rel, kind: n.JoinKind) -> n.Schema:
    """The columns of a join: a side that may lack a partner may be NULL."""
    if kind in (n.JoinKind.SEMI, n.JoinKind.ANTI):
        return left.schema
    left_null = kind in (n.JoinKind.RIGHT, n.JoinKind.FULL)
    right_null = kind in (n.JoinKind.LEFT, n.JoinKind.FULL)
    return (
        *(as_nullable(field) if left_null else field for field in left.schema),
        *(as_nullable(field) if right_null else field for field in right.schema),
    )


def as_nullable(field: n.Field) -> n.Field:
    """The column, which may now be NULL."""
    return field._replace(type=field.type.nullable())


def _without_extras(join: n.Join, left: int, right: int, extra: int) -> n.Rel:
    """Without the columns that only were there to be compared."""
    if len(join.schema) == left or (not extra and len(join.schema) == left + right):
        return join
    if join.kind in (n.JoinKind.SEMI, n.JoinKind.ANTI):
        wanted = list(range(left))
    else:
        wanted = [*range(left), *range(left + extra, left + extra + right)]
    return project(join, [ref(join, i) for i in wanted], [join.schema[i].name for i in wanted])


# --- the rest ------------------------------------------------------------------------------------


def union(parts: Sequence[n.Rel]) -> n.Rel:
    """UNION ALL of parts whose columns have equal types; the names are those of the first."""
    flat = [
        inner for part in parts for inner in (part.parts if isinstance(part, n.Union) else (part,))
    ]
    first = parts[0].schema
    schema = tuple(
        n.Field(
            field.name,
            field.type.nullable()
            if any(p.schema[i].type.is_nullable for p in parts)
            else field.type,
            field.time if all(p.schema[i].time == field.time for p in parts) else None,
        )
        for i, field in enumerate(first)
    )
    return n.Union(tuple(flat), schema=schema)


def window_tvf(rel: n.Rel, window: n.WindowSpec) -> n.WindowTvf:
    """Adds window_start, window_end and window_time."""
    stamp = t.TimestampType(3).not_null()
    time = rel.schema[window.time]
    attribute = n.TimeAttribute.ROWTIME if window.event_time else n.TimeAttribute.PROCTIME
    schema = (
        *rel.schema,
        n.Field("window_start", stamp),
        n.Field("window_end", stamp),
        n.Field("window_time", time.type.not_null(), attribute),
    )
    return n.WindowTvf(rel, window, schema=schema)


def used_columns(scalars: Iterable[Scalar | None]) -> set[int]:
    """The places of all columns that some scalars read."""
    return {index for scalar in scalars if scalar is not None for index in columns_of(scalar)}
