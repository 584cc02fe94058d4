"""Tables give the columns that somebody reads, and of rows the fields that somebody reads.

    Calc(bid.price)(Scan(bid ROW<auction, price, url>, …))   ──▶   Calc(p)(Scan(bid.price AS p))

In: all plans of a job, whose equal nodes are one.  Out: the same with narrow scans: one for each
table, which gives what any of its readers wants.  Next: rel/tables.py (`TableOrigin.narrowed`)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from headrace.common.data_types import IntType, RowType
from headrace.rel import nodes as n
from headrace.rel.resolve.select import unique_names
from headrace.rel.rules.rewriting import Visited, with_inputs
from headrace.scalars.nodes import Call, Literal, Ref, children, rewrite

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from headrace.common.data_types import DataType
    from headrace.scalars.nodes import Scalar

# the place of a column, then those of fields in it
FieldPath = tuple[int, ...]


def narrow_scans(roots: Sequence[n.Rel]) -> list[n.Rel]:
    """The rule."""
    ordered = _readers_first(roots)
    wants = {id(node): _Wants() for node in ordered}
    for root in roots:
        wants[id(root)].everything = True
    for node in ordered:
        _tell_inputs(node, wants)
    return _Narrowing(wants, ordered).roots(roots)


def _readers_first(roots: Sequence[n.Rel]) -> list[n.Rel]:
    seen: set[int] = set()
    found: list[n.Rel] = []

    def visit(node: n.Rel) -> None:
        if id(node) not in seen:
            seen.add(id(node))
            for part in node.inputs:
                visit(part)
            found.append(node)

    for root in roots:
        visit(root)
    return found[::-1]


class _Wants:
    """What readers want of a node: everything, or these paths, each with its type."""

    def __init__(self) -> None:
        self.everything = False
        self.paths: dict[FieldPath, DataType] = {}

    def least(self) -> list[FieldPath]:
        """The paths without those that stand in others."""
        kept = [p for p in self.paths if not any(p[:k] in self.paths for k in range(1, len(p)))]
        return sorted(kept)

    def add_all_of(self, scalar: Scalar | None) -> None:
        """Whatever a scalar reads."""
        if scalar is None:
            return
        path = _path_of(scalar)
        if path is not None:
            self.paths[path] = scalar.type
            return
        for part in children(scalar):
            self.add_all_of(part)


def _path_of(scalar: Scalar) -> FieldPath | None:
    """The path of a column or of a field in one; None for anything else."""
    match scalar:
        case Ref():
            return (scalar.index,)
        case Call("$FIELD", (row, Literal(place))):
            below = _path_of(row)
            return None if below is None else (*below, place)
        case _:
            return None


def _tell_inputs(node: n.Rel, wants: Mapping[int, _Wants]) -> None:
    own = wants[id(node)]
    match node:
        case n.Calc():
            _calc_wants(node, own, wants[id(node.input)])
        case n.WatermarkAssigner() if not own.everything:
            below = wants[id(node.input)]
            below.paths.update(own.paths)
            below.paths[(node.column,)] = node.schema[node.column].type
            below.add_all_of(node.expression)
        case _:
            for part in node.inputs:
                wants[id(part)].everything = True


def _calc_wants(node: n.Calc, own: _Wants, below: _Wants) -> None:
    below.add_all_of(node.condition)
    for place, projection in enumerate(node.projections):
        origin = _path_of(projection)
        for path, kind in own.paths.items():
            if path[0] != place or own.everything:
                continue
            if origin is None:
                below.add_all_of(projection)
            else:
                below.paths[origin + path[1:]] = kind
        if own.everything:
            below.add_all_of(projection)


@dataclass(frozen=True)
class _Narrowed:
    """A node, and where the paths of the wider one are; None if all is where it was."""

    node: n.Rel
    places: Mapping[FieldPath, int] | None = None


class _Narrowing:
    """Makes the narrow plans."""

    def __init__(self, wants: Mapping[int, _Wants], kept: Sequence[n.Rel]) -> None:
        self._wants = wants
        self._kept = kept  # ids are those of nodes that are there
        self._visit = Visited(self._made)

    def roots(self, roots: Iterable[n.Rel]) -> list[n.Rel]:
        return [self._visit(root).node for root in roots]

    def _made(self, node: n.Rel) -> _Narrowed:
        wants = self._wants[id(node)]
        match node:
            case n.Scan() if not wants.everything:
                return _scan(node, wants)
            case n.WatermarkAssigner():
                return _watermark(node, self._visit(node.input))
            case n.Calc():
                return _calc(node, wants, self._visit(node.input))
        return _Narrowed(with_inputs(node, [self._visit(part).node for part in node.inputs]))


def _scan(node: n.Scan, wants: _Wants) -> _Narrowed:
    # a stream of lines needs a column to be counted by
    paths = wants.least() or [(0,)]
    whole = [(place,) for place in range(len(node.schema))]
    if node.table.narrowed is None or paths == whole:
        return _Narrowed(node)
    names = [_names(node.schema, path) for path in paths]
    flat = unique_names([".".join(each) for each in names])
    schema = tuple(
        node.schema[path[0]] if len(path) == 1 else n.Field(name, wants.paths[path])
        for path, name in zip(paths, flat, strict=True)
    )
    made = n.Scan(node.table.narrowed(tuple(names)), schema=schema)
    return _Narrowed(made, {path: place for place, path in enumerate(paths)})


def _names(schema: n.Schema, path: FieldPath) -> tuple[str, ...]:
    field = schema[path[0]]
    found, kind = [field.name], field.type
    for place in path[1:]:
        assert isinstance(kind, RowType)
        found.append(kind.fields[place].name)
        kind = kind.fields[place].data_type
    return tuple(found)


def _watermark(node: n.WatermarkAssigner, below: _Narrowed) -> _Narrowed:
    if below.places is None:
        return _Narrowed(with_inputs(node, [below.node]))
    column = below.places[(node.column,)]
    schema = tuple(
        node.schema[node.column] if place == column else field
        for place, field in enumerate(below.node.schema)
    )
    expression = _moved(node.expression, below.places)
    made = replace(node, input=below.node, column=column, expression=expression, schema=schema)
    return _Narrowed(made, below.places)


def _calc(node: n.Calc, wants: _Wants, below: _Narrowed) -> _Narrowed:
    if below.places is None:
        return _Narrowed(with_inputs(node, [below.node]))
    whole = [(place,) for place in range(len(node.projections))]
    paths = whole if wants.everything else wants.least() or whole[:1]
    taken = [_taken(node, path, wants) for path in paths]
    projections = tuple(_moved(scalar, below.places) for scalar, _ in taken)
    names = unique_names([field.name for _, field in taken])
    schema = tuple(field._replace(name=name) for (_, field), name in zip(taken, names, strict=True))
    condition = None if node.condition is None else _moved(node.condition, below.places)
    made = n.Calc(below.node, projections, condition, schema=schema)
    places = None if wants.everything else {path: place for place, path in enumerate(paths)}
    return _Narrowed(made, places)


def _taken(node: n.Calc, path: FieldPath, wants: _Wants) -> tuple[Scalar, n.Field]:
    """What a narrow Calc gives for a path of the wide one."""
    scalar, field = node.projections[path[0]], node.schema[path[0]]
    if len(path) == 1:
        return scalar, field
    names = _names(node.schema, path)
    for depth, place in enumerate(path[1:], 2):
        kind = scalar.type
        assert isinstance(kind, RowType)
        found = kind.fields[place].data_type
        found = found.nullable() if kind.is_nullable else found
        found = wants.paths[path] if depth == len(path) else found
        scalar = Call("$FIELD", (scalar, Literal(place, IntType().not_null())), found)
    return scalar, n.Field(".".join(names), scalar.type)


def _moved(scalar: Scalar, places: Mapping[FieldPath, int]) -> Scalar:
    """The scalar over columns that are elsewhere now."""

    def change(part: Scalar) -> Scalar | None:
        path = _path_of(part)
        place = None if path is None else places.get(path)
        return None if place is None else Ref(place, part.type)

    return rewrite(scalar, change)
