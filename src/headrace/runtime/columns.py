"""How the values of one type become one Arrow column, and back.

In: a list of Python values (runtime/codec.py cuts records into such lists).  Out: a pyarrow Array.
Next: runtime/codec.py

Everything here works on whole columns: nested rows, lists and maps are flattened into child
columns, so Python code runs per column and not per value. ``set(map(type, values))`` checks a
column of the expected Python type at 20 ns a value; only a column that fails the check is looked
at value by value.
"""

from __future__ import annotations

import datetime
import decimal
import math
import numbers
import pickle
from itertools import accumulate, chain, pairwise
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from headrace.common.time import Instant

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = [
    "BytesColumn",
    "Column",
    "Fault",
    "FloatColumn",
    "IntColumn",
    "ListColumn",
    "MapColumn",
    "RecordColumn",
    "RecordShape",
    "Unfit",
    "big_int_column",
    "bool_column",
    "char_column",
    "date_column",
    "decimal_column",
    "instant_column",
    "pickled_column",
    "string_column",
    "time_column",
    "timestamp_column",
    "zoned_timestamp_column",
]

_NoneType = type(None)


class Fault(NamedTuple):
    """Why a value does not fit: the path to the part, that part, what was expected."""

    field: str
    value: Any
    expected: str


class Unfit(Exception):
    """A column holds a value that does not fit; the codec then finds out which."""


class Column:
    """One type's conversion in both directions."""

    arrow: pa.DataType
    expected: str

    def to_arrow(self, values: list[Any]) -> pa.Array:
        """The values as an Arrow array; raises Unfit or an Arrow error if one does not fit."""
        raise NotImplementedError

    def to_python(self, array: pa.Array) -> list[Any]:
        """The values of an Arrow array that ``to_arrow`` made."""
        raise NotImplementedError

    def fault(self, value: Any, path: str) -> Fault | None:
        """What is wrong with a value, None if it fits."""
        raise NotImplementedError

    def _check(self, values: list[Any], path: str = "") -> None:
        """Raise Unfit if any value has a fault: the slow look after a failed type check."""
        if any(self.fault(value, path) for value in values):
            raise Unfit


class _ScalarColumn(Column):
    """A column of indivisible values.

    ``exact`` are the Python types Arrow may convert unseen; other values are checked by ``accepts``
    and normalised by ``convert`` one by one.
    """

    exact: frozenset[type]
    must_convert = False

    def accepts(self, value: Any) -> bool:
        raise NotImplementedError

    def convert(self, value: Any) -> Any:
        return value

    def revert(self, values: list[Any]) -> list[Any]:
        return values

    def to_arrow(self, values: list[Any]) -> pa.Array:
        if not self.exact.issuperset(map(type, values)):
            self._check(values)
            convert = self.convert
            values = [None if value is None else convert(value) for value in values]
        elif self.must_convert:
            convert = self.convert
            values = [None if value is None else convert(value) for value in values]
        return pa.array(values, self.arrow)

    def to_python(self, array: pa.Array) -> list[Any]:
        return _plain_values(array)

    def fault(self, value: Any, path: str) -> Fault | None:
        if value is None or self.accepts(value):
            return None
        return Fault(path, value, self.expected)


def _plain_values(array: pa.Array) -> list[Any]:
    """An Arrow array of numbers, texts, bytes or times as Python values, by way of numpy.

    Numpy's tolist is 3-8 times as fast as to_pylist. Nulls would turn numbers into floats there,
    so they are filled first and put back after.
    """
    if array.null_count == 0 or not _is_numeric(array.type):
        values: list[Any] = array.to_numpy(zero_copy_only=False).tolist()
        return values
    if array.null_count == len(array):
        return [None] * len(array)
    zero = pa.scalar(False if pa.types.is_boolean(array.type) else 0, array.type)
    values = array.fill_null(zero).to_numpy(zero_copy_only=False).tolist()
    for position in _null_positions(array):
        values[position] = None
    return values


def _null_positions(array: pa.Array) -> list[int]:
    positions: list[int] = array.is_null().to_numpy(zero_copy_only=False).nonzero()[0].tolist()
    return positions


def _is_numeric(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)
    )


class IntColumn(_ScalarColumn):
    """Whole numbers of a fixed width. bool is not a number here, numpy's integers are."""

    exact = frozenset({int, _NoneType})

    def __init__(self, arrow: pa.DataType) -> None:
        self.arrow = arrow
        self._limit = 1 << (arrow.bit_width - 1)
        self.expected = f"int from {-self._limit} to {self._limit - 1}"

    def accepts(self, value: Any) -> bool:
        return (
            isinstance(value, numbers.Integral)
            and not isinstance(value, bool)
            and -self._limit <= int(value) < self._limit
        )

    def convert(self, value: Any) -> Any:
        return int(value)


class FloatColumn(_ScalarColumn):
    """Floating-point numbers; whole numbers are taken and become floats."""

    exact = frozenset({float, _NoneType})
    _largest_single = 3.4028235677973366e38  # beyond it a 32-bit float rounds to infinity

    def __init__(self, arrow: pa.DataType) -> None:
        self.arrow = arrow
        self._single = arrow.bit_width == 32
        self.expected = "float of 32 bits" if self._single else "float"

    def to_arrow(self, values: list[Any]) -> pa.Array:
        array = super().to_arrow(values)
        if self._single and pc.any(pc.is_inf(array)).as_py():
            self._check(values)  # Arrow turns 1e300 into infinity without a word
        return array

    def accepts(self, value: Any) -> bool:
        if not isinstance(value, numbers.Real) or isinstance(value, bool):
            return False
        try:
            number = float(value)
        except OverflowError:
            return False
        return not (self._single and math.isfinite(number) and abs(number) >= self._largest_single)

    def convert(self, value: Any) -> Any:
        return float(value)


class _TypedColumn(_ScalarColumn):
    """Values of one Python class and its subclasses, with optional conversions."""

    def __init__(
        self,
        arrow: pa.DataType,
        kind: type | tuple[type, ...],
        expected: str,
        *,
        exact: Iterable[type] | None = None,
        accepts: Callable[[Any], bool] | None = None,
        convert: Callable[[Any], Any] | None = None,
        revert: Callable[[pa.Array], list[Any]] | None = None,
        always_convert: bool = False,
    ) -> None:
        self.arrow = arrow
        self.expected = expected
        self.must_convert = always_convert
        kinds = kind if isinstance(kind, tuple) else (kind,)
        self.exact = frozenset({*(kinds if exact is None else exact), _NoneType})
        self._kinds = kinds
        self._accepts = accepts
        self._convert = convert
        self._revert = revert

    def accepts(self, value: Any) -> bool:
        return isinstance(value, self._kinds) and (self._accepts is None or self._accepts(value))

    def convert(self, value: Any) -> Any:
        return value if self._convert is None else self._convert(value)

    def to_python(self, array: pa.Array) -> list[Any]:
        return super().to_python(array) if self._revert is None else self._revert(array)


def bool_column() -> Column:
    """True and False."""
    return _TypedColumn(
        pa.bool_(),
        bool,
        "bool",
    )


def _is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:  # a lone surrogate
        return False
    return True


def string_column() -> Column:
    """Text; lone surrogates do not fit, since Arrow keeps UTF-8."""
    return _TypedColumn(pa.string(), str, "str", accepts=_is_encodable, convert=str.__str__)


def char_column() -> Column:
    """Text of one character: checked value by value."""
    return _TypedColumn(
        pa.string(),
        str,
        "str of one character",
        exact=(),
        accepts=lambda value: len(value) == 1 and _is_encodable(value),
        convert=str.__str__,
    )


def big_int_column() -> Column:
    """Whole numbers of any size, kept as decimal text."""
    return _TypedColumn(
        pa.string(),
        int,
        "int",
        accepts=lambda value: not isinstance(value, bool),
        convert=_int_text,
        revert=lambda array: _each(_text_int, _plain_values(array)),
        always_convert=True,
    )


# Hexadecimal: int() refuses decimal texts beyond 4300 digits, and hex is linear in length.
def _int_text(value: int) -> str:
    return str(value) if -(10**18) < value < 10**18 else hex(value)


def _text_int(text: str) -> int:
    return int(text, 16) if "x" in text else int(text)


def decimal_column() -> Column:
    """``Decimal`` of any precision, kept as text so that no digit and no exponent is lost."""
    return _TypedColumn(
        pa.string(),
        decimal.Decimal,
        "decimal.Decimal",
        convert=str,
        revert=lambda array: _each(decimal.Decimal, _plain_values(array)),
        always_convert=True,
    )


def _each(convert: Callable[[Any], Any], values: list[Any]) -> list[Any]:
    return [None if value is None else convert(value) for value in values]


def date_column() -> Column:
    """``date``; a ``datetime`` does not fit, since its time of day would be lost."""
    return _TypedColumn(
        pa.date32(),
        datetime.date,
        "datetime.date (not a datetime)",
        accepts=lambda value: not isinstance(value, datetime.datetime),
    )


def time_column() -> Column:
    """``time`` without a zone."""
    return _TypedColumn(
        pa.time64("ns"),
        datetime.time,
        "datetime.time without tzinfo",
        exact=(),
        accepts=lambda value: value.tzinfo is None,
        revert=lambda array: _each(_time_of, _plain_values(array.cast(pa.int64()))),
    )


def _time_of(nanos: int) -> datetime.time:
    seconds, rest = divmod(nanos, 1_000_000_000)
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    return datetime.time(hour, minute, second, rest // 1000)


_EPOCH = datetime.datetime(1970, 1, 1)
_EPOCH_UTC = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_MICROSECOND = datetime.timedelta(microseconds=1)


def timestamp_column() -> Column:
    """``datetime`` without a zone; one with a zone does not fit, it would come back without."""
    return _TypedColumn(
        pa.timestamp("us"),
        datetime.datetime,
        "datetime.datetime without tzinfo (with one: Types.TIMESTAMP_LTZ())",
        exact=(),
        accepts=lambda value: value.tzinfo is None,
    )


def zoned_timestamp_column() -> Column:
    """``datetime`` with a zone, as a point in time."""
    return _TypedColumn(
        pa.timestamp("us", tz="UTC"),
        datetime.datetime,
        "datetime.datetime with tzinfo",
        exact=(),
        accepts=lambda value: value.tzinfo is not None,
        convert=lambda value: (value - _EPOCH_UTC) // _MICROSECOND,
        revert=lambda array: _each(
            lambda micros: _EPOCH_UTC + datetime.timedelta(microseconds=micros),
            _plain_values(array.cast(pa.int64())),
        ),
    )


def instant_column() -> Column:
    """``Instant``, cut to the microsecond."""
    return _TypedColumn(
        pa.timestamp("us", tz="UTC"),
        Instant,
        "headrace.common.Instant",
        accepts=lambda value: abs(value.seconds) < 1 << 43,
        convert=lambda value: value.seconds * 1_000_000 + value.nanos // 1000,
        revert=lambda array: _each(_instant_of, _plain_values(array.cast(pa.int64()))),
        exact=(),
    )


def _instant_of(micros: int) -> Instant:
    seconds, rest = divmod(micros, 1_000_000)
    return Instant(seconds, rest * 1000)


class BytesColumn(_ScalarColumn):
    """``bytes``; bytearray and memoryview are taken and come back as bytes."""

    arrow = pa.binary()
    expected = "bytes"
    exact = frozenset({bytes, _NoneType})

    def accepts(self, value: Any) -> bool:
        return isinstance(value, bytes | bytearray | memoryview)

    def convert(self, value: Any) -> Any:
        return bytes(value)


def pickled_column() -> Column:
    """Any object, each as its own pickle."""
    return _PickledColumn()


class _PickledColumn(Column):
    arrow = pa.binary()
    expected = "object that can be pickled"

    def to_arrow(self, values: list[Any]) -> pa.Array:
        dumps = pickle.dumps
        try:
            cells = [None if value is None else dumps(value, 5) for value in values]
        except Exception as error:  # pickling runs user code, which may raise anything
            raise Unfit from error
        return pa.array(cells, self.arrow)

    def to_python(self, array: pa.Array) -> list[Any]:
        return _each(pickle.loads, _plain_values(array))

    def fault(self, value: Any, path: str) -> Fault | None:
        try:
            pickle.dumps(value, 5)
        except Exception:
            return Fault(path, value, self.expected)
        return None


_SEQUENCES = frozenset({list, tuple, _NoneType})
_MAPPINGS = frozenset({dict, _NoneType})


class ListColumn(Column):
    """Lists (or tuples) of one type; they come back as lists."""

    def __init__(self, element: Column, *, nullable: bool = True) -> None:
        self.element = element
        self.arrow = pa.list_(element.arrow)
        self.expected = f"list of {element.expected}"
        self._nullable = nullable

    def to_arrow(self, values: list[Any]) -> pa.Array:
        if not _SEQUENCES.issuperset(map(type, values)):
            self._check(values)
            values = [None if value is None else list(value) for value in values]
        offsets, mask = _offsets(values)
        children = list(chain.from_iterable(filter(None, values)))
        if not self._nullable and None in map(_none_marker, children):
            raise Unfit
        return pa.ListArray.from_arrays(offsets, self.element.to_arrow(children), mask=mask)

    def to_python(self, array: pa.Array) -> list[Any]:
        cuts = _cuts(array)
        children = self.element.to_python(array.values.slice(cuts[0], cuts[-1] - cuts[0]))
        return _cut(array, children, cuts)

    def fault(self, value: Any, path: str) -> Fault | None:
        if value is None:
            return None
        if isinstance(value, str | bytes | dict) or not hasattr(value, "__getitem__"):
            return Fault(path, value, self.expected)
        for index, item in enumerate(value):
            if item is None and not self._nullable:
                return Fault(f"{path}[{index}]", item, self.element.expected)
            found = self.element.fault(item, f"{path}[{index}]")
            if found:
                return found
        return None


def _none_marker(value: Any) -> Any:
    # Compare by identity only: `None in children` would call user-defined __eq__.
    return None if value is None else 0


class MapColumn(Column):
    """Dicts; keys cannot be None."""

    def __init__(self, key: Column, value: Column) -> None:
        self.key = key
        self.value = value
        self.arrow = pa.map_(key.arrow, value.arrow)
        self.expected = f"dict from {key.expected} to {value.expected}"

    def to_arrow(self, values: list[Any]) -> pa.Array:
        if not _MAPPINGS.issuperset(map(type, values)):
            self._check(values)
        offsets, mask = _offsets(values)
        present = list(filter(None, values))
        keys = self.key.to_arrow(list(chain.from_iterable(present)))
        if keys.null_count:
            raise Unfit
        items = self.value.to_arrow(list(chain.from_iterable(map(dict.values, present))))
        entries = pa.StructArray.from_arrays(
            [keys, items], fields=[self.arrow.key_field, self.arrow.item_field]
        )
        # MapArray.from_arrays has no mask argument that keeps the offsets: go by way of a list.
        as_list = pa.ListArray.from_arrays(offsets, entries, mask=mask)
        return pa.MapArray.from_buffers(
            self.arrow, len(as_list), as_list.buffers()[:2], children=[entries]
        )

    def to_python(self, array: pa.Array) -> list[Any]:
        cuts = _cuts(array)
        size = cuts[-1] - cuts[0]
        keys = self.key.to_python(array.keys.slice(cuts[0], size))
        items = self.value.to_python(array.items.slice(cuts[0], size))
        pairs = list(zip(keys, items, strict=True))
        return _each(dict, _cut(array, pairs, cuts))

    def fault(self, value: Any, path: str) -> Fault | None:
        if value is None:
            return None
        if not isinstance(value, dict):
            return Fault(path, value, self.expected)
        for key, item in value.items():
            if key is None:
                return Fault(f"{path} key", key, self.key.expected)
            found = self.key.fault(key, f"{path} key") or self.value.fault(item, f"{path}[{key!r}]")
            if found:
                return found
        return None


def _offsets(values: list[Any]) -> tuple[pa.Array, pa.Array | None]:
    """Where each list begins among all elements, and which lists are null."""
    if None in map(_none_marker, values):
        mask = [value is None for value in values]
        lengths: Iterable[int] = (0 if value is None else len(value) for value in values)
        return pa.array(accumulate(lengths, initial=0), pa.int32()), pa.array(mask, pa.bool_())
    return pa.array(list(accumulate(map(len, values), initial=0)), pa.int32()), None


def _cuts(array: pa.Array) -> list[int]:
    cuts: list[int] = array.offsets.to_numpy(zero_copy_only=False).tolist()
    return cuts


def _cut(array: pa.Array, children: list[Any], cuts: list[int]) -> list[Any]:
    first = cuts[0]
    lists: list[Any] = [children[begin - first : end - first] for begin, end in pairwise(cuts)]
    if array.null_count:
        for position in _null_positions(array):
            lists[position] = None
    return lists


class RecordShape(Protocol):
    """How records of one kind (tuple, Row, dataclass, ...) are taken apart and put together.

    Implemented in runtime/record_shapes.py.
    """

    expected: str

    def take_apart(self, records: list[Any], arity: int) -> list[list[Any]]:
        """One list of values for each field; raises Unfit if a record has another shape."""

    def put_together(self, columns: list[list[Any]], count: int) -> list[Any]:
        """The records whose fields are the given columns."""

    def fault(self, record: Any, path: str) -> Fault | None:
        """What is wrong with the record's shape, without looking at its values."""

    def values_of(self, record: Any) -> Iterable[Any]:
        """The values of one well-shaped record, in order of the fields."""


class RecordColumn(Column):
    """Records inside another record: an Arrow struct."""

    def __init__(self, names: list[str], columns: list[Column], shape: RecordShape) -> None:
        self.names = names
        self.columns = columns
        self.shape = shape
        self.expected = shape.expected
        self.arrow = pa.struct(
            [pa.field(name, column.arrow) for name, column in zip(names, columns, strict=True)]
        )

    def to_arrow(self, values: list[Any]) -> pa.Array:
        if None not in map(_none_marker, values):
            return self._struct(values, None)
        present = [value for value in values if value is not None]
        if not present:
            return pa.nulls(len(values), self.arrow)
        # Build the present records only, then spread them: take with a null index gives null.
        numbering = iter(range(len(present)))
        index = [None if value is None else next(numbering) for value in values]
        return self._struct(present, None).take(pa.array(index, pa.int32()))

    def _struct(self, records: list[Any], mask: pa.Array | None) -> pa.Array:
        arrays = self.columns_of(records)
        return pa.StructArray.from_arrays(arrays, fields=list(self.arrow), mask=mask)

    def columns_of(self, records: list[Any]) -> list[pa.Array]:
        """One Arrow array for each field of the records; none may be None."""
        parts = self.shape.take_apart(records, len(self.columns))
        return [column.to_arrow(part) for column, part in zip(self.columns, parts, strict=True)]

    def records_of(self, arrays: list[pa.Array], count: int) -> list[Any]:
        """The records whose fields are the given Arrow arrays."""
        parts = [c.to_python(array) for c, array in zip(self.columns, arrays, strict=True)]
        return self.shape.put_together(parts, count)

    def to_python(self, array: pa.Array) -> list[Any]:
        records = self.records_of([array.field(i) for i in range(len(self.columns))], len(array))
        if array.null_count:
            for position in _null_positions(array):
                records[position] = None
        return records

    def fault(self, value: Any, path: str) -> Fault | None:
        return None if value is None else self.record_fault(value, path)

    def record_fault(self, record: Any, path: str) -> Fault | None:
        """Like ``fault``, but None does not pass for a record."""
        found = self.shape.fault(record, path)
        if found:
            return found
        prefix = f"{path}." if path else ""
        parts = zip(self.names, self.columns, self.shape.values_of(record), strict=True)
        for name, column, value in parts:
            found = column.fault(value, prefix + name)
            if found:
                return found
        return None


def column_lists(records: list[Any], arity: int) -> list[list[Any]]:
    """Transpose a list of tuples or lists, field by field.

    ``zip(*records)`` would pass 100,000 arguments, which measured far slower.
    """
    return [list(map(itemgetter(i), records)) for i in range(arity)]
