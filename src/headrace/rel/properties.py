"""Which columns tell the lines of a node apart: keys by which its changes can be applied.

A set of columns is a key if at any time no two lines of the node's table are equal in it, and all
changes of a key pass the same subtask, in order.  The empty key means that there is one line.

In: a node.  Out: its keys.  Next: changelog.py asks them whether `-U` can be left out.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from headrace.common.data_types import VarCharType
from headrace.rel import nodes as n
from headrace.scalars.nodes import Cast, Ref
from headrace.scalars.types import INTEGER_BITS, MAX_LENGTH, is_integral, same_type

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from headrace.scalars.nodes import Scalar

Key = frozenset[int]
Keys = frozenset[Key]

NONE: Keys = frozenset()
_MOST_KEYS = 16  # of one node: combinations of keys of joins grow without bound


def keys_of(node: n.Rel) -> Keys:
    """The keys of a node's lines, each a set of columns; smaller ones include larger ones."""
    rule = _RULES.get(type(node))
    found = NONE if rule is None else rule(node)
    least = [key for key in found if not any(other < key for other in found)]
    return frozenset(sorted(least, key=lambda key: (len(key), sorted(key)))[:_MOST_KEYS])


def is_key(node: n.Rel, columns: Iterable[int]) -> bool:
    """Whether some columns tell the lines of a node apart."""
    given = frozenset(columns)
    return any(key <= given for key in keys_of(node))


def _scan(node: n.Scan) -> Keys:
    return _one(node.table.primary_key) if node.table.primary_key else NONE


def _calc(node: n.Calc) -> Keys:
    places: dict[int, list[int]] = {}
    for place, scalar in enumerate(node.projections):
        column = _told_apart(scalar)
        if column is not None:
            places.setdefault(column, []).append(place)
    return _moved(keys_of(node.input), places)


def _told_apart(scalar: Scalar) -> int | None:
    """The column whose values a scalar keeps apart: itself, or as a wider type."""
    if isinstance(scalar, Cast) and not scalar.lenient and isinstance(scalar.argument, Ref):
        given, wanted = scalar.argument.type, scalar.type
        if same_type(given, wanted) or (
            is_integral(given)
            and (
                (is_integral(wanted) and INTEGER_BITS[type(given)] <= INTEGER_BITS[type(wanted)])
                or (isinstance(wanted, VarCharType) and wanted.length == MAX_LENGTH)
            )
        ):
            return scalar.argument.index
    return scalar.index if isinstance(scalar, Ref) else None


def _moved(keys: Keys, places: dict[int, list[int]]) -> Keys:
    """Keys after a projection; a column that is there twice makes two keys."""
    return frozenset(
        frozenset(chosen)
        for key in keys
        if all(column in places for column in key)
        for chosen in product(*(places[column] for column in key))
    )


def _aggregate(node: n.GroupAggregate) -> Keys:
    return _one(range(len(node.keys)))


def _window_aggregate(node: n.WindowAggregate) -> Keys:
    first = len(node.keys) + len(node.calls)
    return frozenset(
        frozenset((*range(len(node.keys)), first + place)) for place in range(len(node.properties))
    )


def _rank(node: n.Rank) -> Keys:
    partition = frozenset(node.partition)
    found = {key for key in keys_of(node.input) if partition <= key}
    if node.window is not None:
        found = set(keys_of(node.input))
    if node.with_number and node.function == "ROW_NUMBER":
        found.add(partition | {len(node.schema) - 1})
    if node.first == node.last == 1 and node.function == "ROW_NUMBER":
        found.add(partition | set(node.window or ()))
    return frozenset(found)


def _deduplicate(node: n.Deduplicate) -> Keys:
    return _one((*node.keys, *(node.window or ())))


def _join(node: n.Join) -> Keys:
    left, right = keys_of(node.left), keys_of(node.right)
    left_join, right_join = frozenset(node.left_keys), frozenset(node.right_keys)
    # changes are spread by the join's key: a key that lacks it may be found in two subtasks
    left = frozenset(key for key in left if left_join <= key)
    right = frozenset(key for key in right if right_join <= key)
    if node.kind in (n.JoinKind.SEMI, n.JoinKind.ANTI):
        return left
    width = len(node.left.schema)
    shifted = frozenset(frozenset(column + width for column in key) for key in right)
    left_once, right_once = is_key(node.left, left_join), is_key(node.right, right_join)
    found = {one | other for one in left for other in shifted}
    if right_once and node.kind in (n.JoinKind.INNER, n.JoinKind.LEFT):
        found |= left
    if left_once and node.kind in (n.JoinKind.INNER, n.JoinKind.RIGHT):
        found |= shifted
    return frozenset(found)


def _temporal_join(node: n.TemporalJoin) -> Keys:
    return keys_of(node.left)


def _lookup_join(node: n.LookupJoin) -> Keys:
    asked = {column for column, _ in node.keys}
    width = len(node.input.schema)
    primary = {node.schema[width + place].name for place in node.table.primary_key}
    return keys_of(node.input) if primary and primary <= asked else NONE


def _over(node: n.OverAggregate) -> Keys:
    partition = frozenset(node.partition)
    return frozenset(key for key in keys_of(node.input) if partition <= key)


def _normalize(node: n.ChangelogNormalize) -> Keys:
    return _one(node.keys)


def _window_tvf(node: n.WindowTvf) -> Keys:
    return _same(node) if node.window.kind is n.WindowKind.TUMBLE else NONE


def _set_operation(node: n.SetOperation) -> Keys:
    return NONE if node.all else _one(range(len(node.schema)))


def _sort(node: n.Sort) -> Keys:
    return frozenset({frozenset[int]()}) if node.fetch == 1 else keys_of(node.input)


def _same(node: n.Unary) -> Keys:
    return keys_of(node.input)


def _one(columns: Iterable[int]) -> Keys:
    return frozenset({frozenset(columns)})


_RULES: dict[type[n.Rel], Callable[..., Keys]] = {
    n.Scan: _scan,
    n.Calc: _calc,
    n.GroupAggregate: _aggregate,
    n.WindowAggregate: _window_aggregate,
    n.Rank: _rank,
    n.Deduplicate: _deduplicate,
    n.Join: _join,
    n.TimeIntervalJoin: _join,
    n.WindowJoin: _join,
    n.TemporalJoin: _temporal_join,
    n.LookupJoin: _lookup_join,
    n.OverAggregate: _over,
    n.ChangelogNormalize: _normalize,
    n.DropUpdateBefore: _same,
    n.EnforceConstraints: _same,
    n.WatermarkAssigner: _same,
    n.WindowTvf: _window_tvf,
    n.SetOperation: _set_operation,
    n.Sort: _sort,
}
