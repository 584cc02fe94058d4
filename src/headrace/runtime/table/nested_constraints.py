"""NOT NULL and lengths within rows, arrays and maps of a column.

    ROW<name VARCHAR(3), at TIMESTAMP(3) NOT NULL>   each field as if it were a column
    ARRAY<INT NOT NULL>, MAP<STRING, CHAR(2)>        each element, key and value

In: `table.exec.sink.nested-constraint-enforcer`, and values as Arrow gives them to Python.
Out: values that fit.  Next: runtime/table/constraints.py asks for whole columns
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headrace.common import data_types as t
from headrace.scalars.types import MAX_LENGTH

if TYPE_CHECKING:
    from headrace.common.data_types import DataType

Fit = Callable[[Any], Any]


class UnfitValueError(Exception):
    """A value that breaks a promise of its column; the operator says what becomes of its line.

    Attributes:
        path: of the field, such as ``address.city``.
        length: it should have; None if it is NULL where there is none.
        fixed: whether it should have exactly this length.
        value: that was found.
    """

    def __init__(
        self, path: str, value: object = None, length: int | None = None, *, fixed: bool = False
    ) -> None:
        super().__init__(path)
        self.path = path
        self.value = value
        self.length = length
        self.fixed = fixed


@dataclass(frozen=True, slots=True)
class NestedPolicy:
    """What is looked at.

    Attributes:
        collections: elements of arrays and entries of maps, too.
        lengths: whether texts and bytes have to have theirs.
        trim: whether they are cut and padded.
    """

    collections: bool = False
    lengths: bool = False
    trim: bool = False


def nested_fit(kind: DataType, path: str, policy: NestedPolicy) -> Fit | None:
    """What makes the values of a column fit; None if nothing within them can be wrong."""
    match kind:
        case t.RowType():
            return _row_fit(kind, path, policy)
        case t.ArrayType() if policy.collections:
            return _array_fit(kind, path, policy)
        case t.MapType() if policy.collections:
            return _map_fit(kind, path, policy)
        case _:
            return None


def _part_fit(kind: DataType, path: str, policy: NestedPolicy) -> Fit | None:
    """The same for a part of a column, which is held to its own type as well."""
    within = nested_fit(kind, path, policy)
    length = _length_fit(kind, path, trim=policy.trim) if policy.lengths else None
    if within is None and length is None and kind.is_nullable:
        return None

    def fit(value: Any) -> Any:
        if value is None:
            if not kind.is_nullable:
                raise UnfitValueError(path)
            return None
        if length is not None:
            value = length(value)
        return value if within is None else within(value)

    return fit


def _length_fit(kind: DataType, path: str, *, trim: bool) -> Fit | None:
    fixed = isinstance(kind, t.CharType | t.BinaryType)
    if not isinstance(kind, t.CharType | t.BinaryType | t.VarCharType | t.VarBinaryType):
        return None
    size = kind.length
    if size >= MAX_LENGTH:
        return None

    def fit(value: Any) -> Any:
        if len(value) == size or (len(value) < size and not fixed):
            return value
        if not trim:
            raise UnfitValueError(path, value, size, fixed=fixed)
        padding = " " if isinstance(value, str) else b"\0"
        return value[:size].ljust(size, padding) if fixed else value[:size]

    return fit


def _row_fit(kind: t.RowType, path: str, policy: NestedPolicy) -> Fit | None:
    parts = {
        field.name: fit
        for field in kind.fields
        if (fit := _part_fit(field.data_type, f"{path}.{field.name}", policy)) is not None
    }
    if not parts:
        return None
    return lambda row: row | {name: fit(row[name]) for name, fit in parts.items()}


def _array_fit(kind: t.ArrayType, path: str, policy: NestedPolicy) -> Fit | None:
    element = _part_fit(kind.element_type, f"{path}[element]", policy)
    return element and (lambda values: [element(value) for value in values])


def _map_fit(kind: t.MapType, path: str, policy: NestedPolicy) -> Fit | None:
    key = _part_fit(kind.key_type, f"{path}[key]", policy) or _same
    value = _part_fit(kind.value_type, f"{path}[value]", policy) or _same
    if key is _same and value is _same:
        return None
    return lambda entries: [(key(k), value(v)) for k, v in entries]


def _same(value: Any) -> Any:
    return value
