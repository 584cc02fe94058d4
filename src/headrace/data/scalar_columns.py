"""How numbers, texts, times, bytes and pickled objects become Arrow columns, and back.

In: a list of Python values.  Out: a pyarrow Array.  Next: data/columns.py (lists, maps, records)
"""

from __future__ import annotations

import datetime
import decimal
import math
import numbers
import pickle
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from headrace.common.time import Instant
from headrace.data.columns import ColumnCodec, Fault, Unfit, each, null_positions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = [
    "BytesColumn",
    "FloatColumn",
    "IntColumn",
    "WrappingIntColumn",
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


class _ScalarColumn(ColumnCodec):
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
    for position in null_positions(array):
        values[position] = None
    return values


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
            not isinstance(value, bool)
            and isinstance(value, numbers.Integral)
            and -self._limit <= int(value) < self._limit
        )

    def convert(self, value: Any) -> Any:
        return int(value)


class WrappingIntColumn(IntColumn):
    """Whole numbers of 64 bits; a narrower column keeps the lower ones, as Java's casts do."""

    def __init__(self, arrow: pa.DataType) -> None:
        super().__init__(arrow)
        self._wide = IntColumn(pa.int64())
        self.expected = self._wide.expected

    def to_arrow(self, values: list[Any]) -> pa.Array:
        try:
            return super().to_arrow(values)
        except pa.ArrowInvalid:
            self._check(values)
            return pa.array(each(self.convert, values), self.arrow)

    def accepts(self, value: Any) -> bool:
        return self._wide.accepts(value)

    def convert(self, value: Any) -> Any:
        return (int(value) + self._limit) % (2 * self._limit) - self._limit


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
        if isinstance(value, bool) or not isinstance(value, numbers.Real):
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


def bool_column() -> ColumnCodec:
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


def string_column() -> ColumnCodec:
    """Text; lone surrogates do not fit, since Arrow keeps UTF-8."""
    return _TypedColumn(pa.string(), str, "str", accepts=_is_encodable, convert=str.__str__)


def char_column() -> ColumnCodec:
    """Text of one character: checked value by value."""
    return _TypedColumn(
        pa.string(),
        str,
        "str of one character",
        exact=(),
        accepts=lambda value: len(value) == 1 and _is_encodable(value),
        convert=str.__str__,
    )


def big_int_column() -> ColumnCodec:
    """Whole numbers of any size, kept as decimal text."""
    return _TypedColumn(
        pa.string(),
        int,
        "int",
        accepts=lambda value: not isinstance(value, bool),
        convert=_int_text,
        revert=lambda array: each(_text_int, _plain_values(array)),
        always_convert=True,
    )


# Hexadecimal: int() refuses decimal texts beyond 4300 digits, and hex is linear in length.
def _int_text(value: int) -> str:
    return str(value) if -(10**18) < value < 10**18 else hex(value)


def _text_int(text: str) -> int:
    return int(text, 16) if "x" in text else int(text)


def decimal_column() -> ColumnCodec:
    """``Decimal`` of any precision, kept as text so that no digit and no exponent is lost."""
    return _TypedColumn(
        pa.string(),
        decimal.Decimal,
        "decimal.Decimal",
        convert=str,
        revert=lambda array: each(decimal.Decimal, _plain_values(array)),
        always_convert=True,
    )


def date_column() -> ColumnCodec:
    """``date``; a ``datetime`` does not fit, since its time of day would be lost."""
    return _TypedColumn(
        pa.date32(),
        datetime.date,
        "datetime.date (not a datetime)",
        accepts=lambda value: not isinstance(value, datetime.datetime),
    )


def time_column() -> ColumnCodec:
    """``time`` without a zone."""
    return _TypedColumn(
        pa.time64("ns"),
        datetime.time,
        "datetime.time without tzinfo",
        exact=(),
        accepts=lambda value: value.tzinfo is None,
        revert=lambda array: each(_time_of, _plain_values(array.cast(pa.int64()))),
    )


def _time_of(nanos: int) -> datetime.time:
    seconds, rest = divmod(nanos, 1_000_000_000)
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    return datetime.time(hour, minute, second, rest // 1000)


_EPOCH = datetime.datetime(1970, 1, 1)
_EPOCH_UTC = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_MICROSECOND = datetime.timedelta(microseconds=1)


def timestamp_column() -> ColumnCodec:
    """``datetime`` without a zone; one with a zone does not fit, it would come back without."""
    return _TypedColumn(
        pa.timestamp("us"),
        datetime.datetime,
        "datetime.datetime without tzinfo (with one: Types.TIMESTAMP_LTZ())",
        exact=(),
        accepts=lambda value: value.tzinfo is None,
    )


def zoned_timestamp_column() -> ColumnCodec:
    """``datetime`` with a zone, as a point in time."""
    return _TypedColumn(
        pa.timestamp("us", tz="UTC"),
        datetime.datetime,
        "datetime.datetime with tzinfo",
        exact=(),
        accepts=lambda value: value.tzinfo is not None,
        convert=lambda value: (value - _EPOCH_UTC) // _MICROSECOND,
        revert=lambda array: each(
            lambda micros: _EPOCH_UTC + datetime.timedelta(microseconds=micros),
            _plain_values(array.cast(pa.int64())),
        ),
    )


def instant_column() -> ColumnCodec:
    """``Instant``, cut to the microsecond."""
    return _TypedColumn(
        pa.timestamp("us", tz="UTC"),
        Instant,
        "headrace.common.Instant",
        accepts=lambda value: abs(value.seconds) < 1 << 43,
        convert=lambda value: value.seconds * 1_000_000 + value.nanos // 1000,
        revert=lambda array: each(_instant_of, _plain_values(array.cast(pa.int64()))),
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


def pickled_column() -> ColumnCodec:
    """Any object, each as its own pickle."""
    return _PickledColumn()


class _PickledColumn(ColumnCodec):
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
        return each(pickle.loads, _plain_values(array))

    def fault(self, value: Any, path: str) -> Fault | None:
        try:
            pickle.dumps(value, 5)
        except Exception:
            return Fault(path, value, self.expected)
        return None
