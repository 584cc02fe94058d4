"""Values of state as bytes that outlive this version of headrace: msgpack with a few extensions.

In: any value that a user keeps in state, a key, a window.  Out: bytes for a savepoint, and back.
Savepoints must be readable by later versions and by other programs, so nothing of headrace's own is
pickled: rows, windows and instants have forms of their own here, and instances of dataclasses and
named tuples are stored as fields by name, so that a class may gain or lose fields.  Only instances
of other classes of the user's are pickled, by reference to their class (pickled.py reads them).
"""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import pickle
from typing import TYPE_CHECKING, Any

import msgpack

from headrace.api.window.windows import CountWindow, GlobalWindow, TimeWindow
from headrace.common.class_names import class_of_name, default_of_field, name_of_class
from headrace.common.time import Instant
from headrace.common.types import Row, RowKind
from headrace.errors import StateError
from headrace.runtime.savepoint.pickled import load_pickle

if TYPE_CHECKING:
    from collections.abc import Callable

FORMAT = 1

# Extension numbers are part of the format: never reuse one.
_TUPLE, _ROW, _INTEGER, _DECIMAL, _DATETIME, _DATE, _TIME, _DURATION = range(1, 9)
_INSTANT, _SET, _FROZENSET, _DATACLASS, _NAMEDTUPLE, _PICKLED = range(9, 15)
_TIME_WINDOW, _COUNT_WINDOW, _GLOBAL_WINDOW = range(15, 18)


def encode(value: Any) -> bytes:
    """A value as bytes.

    Raises:
        StateError: it holds something that cannot be stored, such as an open file.
    """
    return bytes(msgpack.packb(value, default=_extension, strict_types=True))


def decode(content: bytes) -> Any:
    """The value that `encode` made the bytes from."""
    return msgpack.unpackb(content, ext_hook=_value, strict_map_key=False, use_list=True)


def _extension(value: Any) -> msgpack.ExtType:
    kind = type(value)
    writer = _WRITERS.get(kind)
    if writer is not None:
        number, parts = writer(value)
        return msgpack.ExtType(number, encode(parts))
    if dataclasses.is_dataclass(kind):
        names = [field.name for field in dataclasses.fields(kind)]
        fields = {name: getattr(value, name) for name in names}
        return msgpack.ExtType(_DATACLASS, encode([name_of_class(kind), fields]))
    if isinstance(value, tuple) and hasattr(kind, "_fields"):
        return msgpack.ExtType(
            _NAMEDTUPLE, encode([name_of_class(kind), dict(zip(kind._fields, value, strict=True))])
        )
    if isinstance(value, int):  # beyond 64 bits
        return msgpack.ExtType(_INTEGER, str(int(value)).encode())
    try:
        return msgpack.ExtType(_PICKLED, pickle.dumps(value, 5))
    except Exception as error:
        raise StateError(
            f"a value of type {kind.__name__} cannot be written to a savepoint: {error}",
            fix="keep plain values, rows, dataclasses or picklable objects in state",
        ) from error


_WRITERS: dict[type, Callable[[Any], tuple[int, Any]]] = {
    tuple: lambda v: (_TUPLE, list(v)),
    Row: lambda v: (_ROW, [list(v), v._names, v.get_row_kind().value]),
    decimal.Decimal: lambda v: (_DECIMAL, str(v)),
    datetime.datetime: lambda v: (_DATETIME, v.isoformat()),
    datetime.date: lambda v: (_DATE, v.isoformat()),
    datetime.time: lambda v: (_TIME, v.isoformat()),
    datetime.timedelta: lambda v: (_DURATION, [v.days, v.seconds, v.microseconds]),
    Instant: lambda v: (_INSTANT, [v.seconds, v.nanos]),
    set: lambda v: (_SET, list(v)),
    frozenset: lambda v: (_FROZENSET, list(v)),
    TimeWindow: lambda v: (_TIME_WINDOW, [v.start, v.end]),
    CountWindow: lambda v: (_COUNT_WINDOW, v.id),
    GlobalWindow: lambda v: (_GLOBAL_WINDOW, None),
}


def _value(number: int, content: bytes) -> Any:
    if number == _INTEGER:
        return int(content)
    if number == _PICKLED:
        return load_pickle(content)
    reader = _READERS.get(number)
    if reader is None:
        raise StateError(
            f"the savepoint holds a value of kind {number}, which this version does not know",
            fix="restore it with the version of headrace that wrote it, or a later one",
        )
    return reader(decode(content))


def _row(parts: list[Any]) -> Row:
    row = Row.of_values(tuple(parts[0]), parts[1])
    if parts[2]:
        row.set_row_kind(RowKind(parts[2]))
    return row


def _dataclass(parts: list[Any]) -> Any:
    """An instance without running __init__; new fields get their defaults, old ones go."""
    path, fields = parts
    cls = class_of_name(path)
    instance = cls.__new__(cls)
    for field in dataclasses.fields(cls):
        object.__setattr__(instance, field.name, _field_value(cls, field.name, fields))
    return instance


def _namedtuple(parts: list[Any]) -> Any:
    path, fields = parts
    cls = class_of_name(path)
    return cls(**{name: _field_value(cls, name, fields) for name in cls._fields})


def _field_value(cls: type, name: str, fields: dict[str, Any]) -> Any:
    if name in fields:
        return fields[name]
    make = default_of_field(cls, name)
    if make is None:
        raise StateError(
            f"{name_of_class(cls)} has a new field {name!r} without a default, which stored "
            "values lack",
            fix=f"give {name} a default value",
        )
    return make()


_READERS: dict[int, Callable[[Any], Any]] = {
    _TUPLE: tuple,
    _ROW: _row,
    _DECIMAL: decimal.Decimal,
    _DATETIME: datetime.datetime.fromisoformat,
    _DATE: datetime.date.fromisoformat,
    _TIME: datetime.time.fromisoformat,
    _DURATION: lambda v: datetime.timedelta(*v),
    _INSTANT: lambda v: Instant(*v),
    _SET: set,
    _FROZENSET: frozenset,
    _DATACLASS: _dataclass,
    _NAMEDTUPLE: _namedtuple,
    _TIME_WINDOW: lambda v: TimeWindow(*v),
    _COUNT_WINDOW: CountWindow,
    _GLOBAL_WINDOW: lambda _: GlobalWindow(),
}
