"""The record type ``Row`` and its change kind ``RowKind``.

In: values from user functions or the codec.  Out: records.  Next: common/typeinfo.py (their types),
data/codec.py (how rows become Arrow columns).
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["Row", "RowKind"]


class RowKind(Enum):
    """What a row does to the table its stream describes."""

    INSERT = 0
    UPDATE_BEFORE = 1
    UPDATE_AFTER = 2
    DELETE = 3

    def __str__(self) -> str:
        return _KIND_SIGNS[self._value_]


_KIND_SIGNS = ("+I", "-U", "+U", "-D")
_INSERT = RowKind.INSERT


class NoSuchFieldError(KeyError, ValueError):
    """A row was asked for a field name it does not have.

    Both a KeyError (what mapping access means) and a ValueError (what PyFlink raises).
    """

    def __str__(self) -> str:
        return ValueError.__str__(self)


class Row:
    """A record of values with optional field names and a change kind.

    Values are reached by position or by name, and can be replaced through items.

    Example:
        >>> row = Row(name="Alice", age=11)
        >>> row["name"], row.age, row[1]
        ('Alice', 11, 11)
        >>> Person = Row("name", "age")   # a row of names makes further rows
        >>> Person("Bob", 7)
        Row(name='Bob', age=7)
    """

    __slots__ = ("_names", "_row_kind", "_values")

    _names: list[str] | None
    _row_kind: RowKind
    _values: tuple[Any, ...]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if kwargs:
            if args:
                msg = "a Row takes either positional values or named values, not both"
                raise ValueError(msg)
            self._names = list(kwargs)
            self._values = tuple(kwargs.values())
        else:
            self._names = None
            self._values = args
        self._row_kind = _INSERT

    @staticmethod
    def of_values(values: tuple[Any, ...], fields: list[str] | None = None) -> Row:
        """A row of ``values`` that shares ``fields`` with the other rows of its stream.

        The engine's way to build rows: about half the cost of ``Row(*values)``. Callers pass the
        same ``fields`` list for all rows of a stream and never change it.
        """
        row = _new_row(Row)
        row._values = values
        row._names = fields
        row._row_kind = _INSERT
        return row

    @staticmethod
    def of_kind(row_kind: RowKind, *args: Any, **kwargs: Any) -> Row:
        """A row like ``Row(*args, **kwargs)`` with the given change kind."""
        row = Row(*args, **kwargs)
        row._row_kind = row_kind
        return row

    def get_row_kind(self) -> RowKind:
        """The change kind, INSERT unless set."""
        return self._row_kind

    def set_row_kind(self, row_kind: RowKind) -> None:
        """Replace the change kind."""
        self._row_kind = row_kind

    def set_field_names(self, field_names: list[str]) -> None:
        """Name the fields, in order of the values."""
        self._names = field_names

    def get_fields_by_names(self, names: Sequence[str]) -> list[Any]:
        """The values in the order of ``names``; all values, as they are, if the row is unnamed."""
        fields = self._names
        if fields is None or fields == names:
            return list(self._values)
        missing = [name for name in names if name not in fields]
        if missing:
            msg = f"the row has no field {missing}; its fields are {fields}"
            raise NoSuchFieldError(msg)
        return [self._values[fields.index(name)] for name in names]

    def as_dict(self, recursive: bool = False) -> dict[str, Any]:
        """The row as a dict from field name to value.

        Args:
            recursive: also convert rows inside the values (in rows, lists and dicts).
        """
        if self._names is None:
            msg = "a Row without field names cannot become a dict; name its fields first"
            raise TypeError(msg)
        values = map(_without_rows, self._values) if recursive else self._values
        return dict(zip(self._names, values, strict=False))

    @property
    def _fields(self) -> list[str]:
        # As in PyFlink, a row without names has no such attribute: programs ask with hasattr.
        if self._names is None:
            raise AttributeError("_fields")
        return self._names

    @_fields.setter
    def _fields(self, names: list[str]) -> None:
        self._names = names

    def _position(self, name: object) -> int:
        try:
            return self._names.index(name)  # type: ignore[union-attr, arg-type]
        except (ValueError, AttributeError):
            raise NoSuchFieldError(self._no_field(name)) from None

    def __call__(self, *args: Any) -> Row:
        """A row whose field names are this row's values."""
        if len(args) > len(self._values):
            msg = f"{self!r} names {len(self._values)} fields, but {len(args)} values were given"
            raise ValueError(msg)
        row = Row.of_values(args, list(self._values))
        row._row_kind = self._row_kind
        return row

    def __getitem__(self, item: Any) -> Any:
        if item.__class__ is int:  # the usual case, and the cheapest test there is for it
            return self._values[item]
        if isinstance(item, str):
            return self._values[self._position(item)]
        return list(self._values)[item]

    def __setitem__(self, key: Any, value: Any) -> None:
        values = list(self._values)
        values[key if isinstance(key, int | slice) else self._position(key)] = value
        self._values = tuple(values)

    def __getattr__(self, item: str) -> Any:
        # Called only for names that are not slots or methods. Names with an underscore are
        # refused first: copy and pickle probe for them before the slots are set.
        if not item.startswith("_"):
            fields = self._names
            if fields is not None and item in fields:
                return self._values[fields.index(item)]
            raise AttributeError(self._no_field(item))
        raise AttributeError(item)

    def _no_field(self, name: object) -> str:
        """What to tell somebody who asked for a field that is not there."""
        from difflib import get_close_matches  # workers need it for nothing else

        wanted, names = f"the row has no field {name!r}", self._names
        if names is None:
            return f"{wanted}: its fields have no names, only positions, such as row[0]"
        near = get_close_matches(str(name), names, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        return f"{wanted}, only {', '.join(map(repr, names))}{hint}"

    def __contains__(self, item: object) -> bool:
        return item in (self._values if self._names is None else self._names)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Row):
            return False
        if self._row_kind is not other._row_kind:
            return False
        mine, theirs = self._names, other._names
        if mine is theirs or mine == theirs:
            return self._values == other._values
        if mine is None or theirs is None or sorted(mine) != sorted(theirs):
            return False
        return self._values == tuple(other._values[theirs.index(name)] for name in mine)

    def __hash__(self) -> int:
        fields, values = self._names, self._values
        if fields is None:
            return hash(values)
        # rows with the same fields in another order are equal, so they must hash alike
        order = sorted(range(len(values)), key=fields.__getitem__)
        return hash(tuple(values[position] for position in order))

    def __copy__(self) -> Row:
        return _restore_row(self._values, self._names, self._row_kind._value_)

    def __repr__(self) -> str:
        if self._names is None:
            return f"<Row({', '.join(map(repr, self._values))})>"
        pairs = zip(self._names, self._values, strict=False)
        return f"Row({', '.join(f'{name}={value!r}' for name, value in pairs)})"

    def __reduce__(self) -> tuple[Any, ...]:
        # Rows of one stream share their fields list, which pickle then writes only once.
        if self._row_kind is _INSERT:
            if self._names is None:
                return _restore_row, (self._values,)
            return _restore_row, (self._values, self._names)
        return _restore_row, (self._values, self._names, self._row_kind._value_)


_new_row = Row.__new__


def _restore_row(values: tuple[Any, ...], fields: list[str] | None = None, kind: int = 0) -> Row:
    row = Row.of_values(values, fields)
    if kind:
        row._row_kind = RowKind(kind)
    return row


def _without_rows(value: Any) -> Any:
    if isinstance(value, Row):
        return value.as_dict(recursive=True)
    if isinstance(value, list):
        return [_without_rows(item) for item in value]
    if isinstance(value, dict):
        return {key: _without_rows(item) for key, item in value.items()}
    return value
