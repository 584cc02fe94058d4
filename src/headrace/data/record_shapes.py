"""How tuples, Rows and instances of user classes are taken apart into columns and put together.

In: a list of records.  Out: one list for each field, and back.  Next: data/columns.py
"""

from __future__ import annotations

from itertools import repeat
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Any

from headrace.common.types import Row, RowKind
from headrace.data.columns import Fault, Unfit, column_lists

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from headrace.common.typeinfo import ClassTypeInfo

__all__ = ["ClassShape", "RowShape", "TupleShape", "row_kinds", "with_row_kinds"]

_values_of_row = attrgetter("_values")
_fields_of_row = attrgetter("_names")
_kind_of_row = attrgetter("_row_kind")


def _check_arity(records: list[Any], arity: int) -> None:
    if set(map(len, records)) - {arity}:
        raise Unfit


class TupleShape:
    """Plain tuples of a fixed length. Lists are taken and come back as tuples."""

    def __init__(self, arity: int) -> None:
        self.arity = arity
        self.expected = f"tuple of {arity} items"

    def take_apart(self, records: list[Any], arity: int) -> list[list[Any]]:
        """See RecordShape."""
        if not {tuple, list}.issuperset(map(type, records)) and any(
            not isinstance(record, tuple | list) for record in records
        ):
            raise Unfit
        _check_arity(records, arity)
        return column_lists(records, arity)

    def put_together(self, columns: list[list[Any]], count: int) -> list[Any]:
        """See RecordShape."""
        return list(zip(*columns, strict=True)) if columns else [()] * count

    def fault(self, record: Any, path: str) -> Fault | None:
        """See RecordShape."""
        fits = isinstance(record, tuple | list) and len(record) == self.arity
        return None if fits else Fault(path, record, self.expected)

    def values_of(self, record: Any) -> Iterable[Any]:
        """See RecordShape."""
        return record  # type: ignore[no-any-return]


class RowShape:
    """``Row``; tuples, lists, dicts and objects with such attributes are taken, as in PyFlink."""

    def __init__(self, names: list[str], *, named: bool, with_kinds: bool = False) -> None:
        self.names = names
        self.named = named
        self.with_kinds = with_kinds
        self.expected = f"Row with fields {names}" if named else f"Row of {len(names)} values"

    def take_apart(self, records: list[Any], arity: int) -> list[list[Any]]:
        """See RecordShape."""
        if not {Row}.issuperset(map(type, records)):
            records = list(map(self._as_row, records))
        if not self.with_kinds and not _all_insert(records):
            raise Unfit
        values = list(map(_values_of_row, records))
        if self.named:
            fields = list(map(_fields_of_row, records))
            # list.count compares identical lists in C: no Python code for rows in our order.
            if fields.count(self.names) + fields.count(None) < len(records):
                values = list(map(self._in_order, records))
        _check_arity(values, arity)
        return column_lists(values, arity)

    def _in_order(self, row: Row) -> list[Any]:
        try:
            return row.get_fields_by_names(self.names)
        except KeyError:
            raise Unfit from None

    def _as_row(self, record: Any) -> Row:
        if isinstance(record, Row):
            return record
        if isinstance(record, tuple | list):
            return Row.of_values(tuple(record))
        if not isinstance(record, dict):
            record = getattr(record, "__dict__", None)
            if not record:
                raise Unfit
        return Row.of_values(tuple(record.get(name) for name in self.names))

    def put_together(self, columns: list[list[Any]], count: int) -> list[Any]:
        """See RecordShape."""
        values = zip(*columns, strict=True) if columns else repeat((), count)
        return list(map(Row.of_values, values, repeat(self.names)))

    def fault(self, record: Any, path: str) -> Fault | None:
        """See RecordShape."""
        try:
            row = self._as_row(record)
            values = self._in_order(row) if self.named else row._values
        except Unfit:
            return Fault(path, record, self.expected)
        if len(values) != len(self.names):
            return Fault(path, record, self.expected)
        if not self.with_kinds and row.get_row_kind() is not RowKind.INSERT:
            field = f"{path} row kind".strip()
            return Fault(
                field,
                row.get_row_kind(),
                "RowKind.INSERT (only whole records of a "
                "changelog have other kinds, not rows inside them)",
            )
        return None

    def values_of(self, record: Any) -> Iterable[Any]:
        """See RecordShape."""
        row = self._as_row(record)
        return self._in_order(row) if self.named else row._values


class ClassShape:
    """Instances of a dataclass, NamedTuple or TypedDict.

    Dataclass instances are rebuilt the way pickle does it, without running ``__init__`` or
    ``__post_init__`` a second time. Only instances of exactly the class fit: a subclass has fields
    that would be lost.
    """

    def __init__(self, info: ClassTypeInfo) -> None:
        self.names = info.get_field_names()
        self.cls = info.record_class
        self.exact: type = dict if info.flavour == "typeddict" else self.cls
        self.by_position = info.flavour == "namedtuple"
        self.expected = f"{self.cls.__name__} with fields {self.names}"
        self._getters = [_getter(info.flavour, i, name) for i, name in enumerate(self.names)]
        if not self.by_position:
            self._build = _builder(info.flavour, self.cls, self.names)

    def take_apart(self, records: list[Any], arity: int) -> list[list[Any]]:
        """See RecordShape."""
        if not {self.exact}.issuperset(map(type, records)):
            raise Unfit
        if self.exact is dict:
            _check_arity(records, arity)
        try:
            return [list(map(getter, records)) for getter in self._getters]
        except (AttributeError, KeyError):
            raise Unfit from None

    def put_together(self, columns: list[list[Any]], count: int) -> list[Any]:
        """See RecordShape."""
        values = zip(*columns, strict=True)
        if self.by_position:  # what cls._make does, without a Python call for each record
            return list(map(tuple.__new__, repeat(self.cls), values))
        return list(map(self._build, values))

    def fault(self, record: Any, path: str) -> Fault | None:
        """See RecordShape."""
        kind: type = type(record)
        fits = kind is self.exact and (self.exact is not dict or len(record) == len(self.names))
        try:
            if fits:
                self.values_of(record)
                return None
        except (AttributeError, KeyError):
            pass
        return Fault(path, record, self.expected)

    def values_of(self, record: Any) -> Iterable[Any]:
        """See RecordShape."""
        return [getter(record) for getter in self._getters]


def _getter(flavour: str, position: int, name: str) -> Callable[[Any], Any]:
    if flavour == "namedtuple":
        return itemgetter(position)
    return itemgetter(name) if flavour == "typeddict" else attrgetter(name)


def _builder(flavour: str, cls: type, names: list[str]) -> Callable[[tuple[Any, ...]], Any]:
    if flavour == "typeddict":
        return lambda values: dict(zip(names, values, strict=True))
    return _dataclass_builder(cls, names)


def _dataclass_builder(cls: type, names: list[str]) -> Callable[[tuple[Any, ...]], Any]:
    """A function that makes an instance from a tuple of field values.

    Written for the class at hand, as dataclasses writes __init__: 3 times as fast as a loop.
    """
    plain: Any = object.__setattr__
    if cls.__setattr__ is plain:
        targets = ", ".join(f"instance.{name}" for name in names)
        body = f"    {targets}{',' if len(names) == 1 else ''} = values"
    else:  # frozen, or with a __setattr__ of the user's, which pickle would not call either
        body = "\n".join(
            f"    put(instance, {name!r}, values[{i}])" for i, name in enumerate(names)
        )
    source = f"def build(values):\n    instance = new(cls)\n{body}\n    return instance"
    scope = {"new": cls.__new__, "cls": cls, "put": object.__setattr__}
    exec(source, scope)
    build: Callable[[tuple[Any, ...]], Any] = scope["build"]  # type: ignore[assignment]
    return build


def _all_insert(rows: list[Row]) -> bool:
    # list.count compares by identity in C; a set would call Enum's __hash__, which is Python.
    return list(map(_kind_of_row, rows)).count(RowKind.INSERT) == len(rows)


def row_kinds(records: list[Any]) -> bytes | None:
    """The change kinds of a list of records, one byte each; None if all are INSERT."""
    if {Row}.issuperset(map(type, records)):
        if _all_insert(records):
            return None
        return bytes(record.get_row_kind().value for record in records)
    found = [record.get_row_kind().value if isinstance(record, Row) else 0 for record in records]
    return bytes(found) if any(found) else None


_KINDS = (RowKind.INSERT, RowKind.UPDATE_BEFORE, RowKind.UPDATE_AFTER, RowKind.DELETE)


def with_row_kinds(rows: list[Row], kinds: bytes) -> list[Row]:
    """The same rows, each with its change kind set."""
    for row, kind in zip(rows, kinds, strict=True):
        row.set_row_kind(_KINDS[kind])
    return rows
