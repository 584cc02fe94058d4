"""Columns of made-up values, by the type of each: random ones, or a sequence.

In: a `DataType` and Flink's options of a field.  Out: a `MadeUpColumn`, which makes an Arrow
array for an array of line numbers.  Next: table.py

Random values of a line are a function of its number, the column's name, and nothing else.
"""

from __future__ import annotations

import datetime as dt
import decimal
import random
import zlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from headrace.common import data_types as d
from headrace.common.config_options import ConfigOption
from headrace.data.line_values import decimal_fitting
from headrace.data.row_data import column_of
from headrace.errors import ConfigurationError, UnsupportedStepError

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.common.opaque import OptionValue

    # a value of a line, from its own random numbers
    Make = Callable[[random.Random], Any]

_LONGEST = 100  # of texts and bytes without a length
_ELEMENTS = 3  # of arrays and maps
_HEX = "0123456789abcdef"


@dataclass
class FieldOptions:
    """The options ``fields.#.…`` of a table, and which of them were asked for.

    Attributes:
        table: its name, for messages.
        given: without ``fields.``.
    """

    table: str
    given: dict[str, str]
    _asked: set[str] = field(default_factory=set)

    def get(self, name: str, what: str, kind: str, default: OptionValue = None) -> OptionValue:
        """An option of a field."""
        key = f"{name}.{what}"
        self._asked.add(key)
        text = self.given.get(key)
        known: ConfigOption[OptionValue] = ConfigOption(f"fields.{key}", kind, default)  # type: ignore[arg-type]
        return default if text is None else known.parse(text, f"table {self.table}")

    def need(self, name: str, what: str) -> int:
        """A whole number that has to be there."""
        found = self.get(name, what, "int")
        if found is None:
            raise ConfigurationError(
                f"the sequence of field {name!r} needs the option 'fields.{name}.{what}'",
                where=f"table {self.table}",
                fix=f"add 'fields.{name}.{what}' = '1' to WITH",
            )
        return int(found)

    def unused(self) -> list[str]:
        """Options of no field."""
        return sorted(set(self.given) - self._asked)

    def asked(self) -> list[str]:
        """Options that fields have."""
        return sorted(self._asked)


@dataclass(frozen=True)
class MadeUpColumn:
    """A column of made-up values.

    Attributes:
        make: the values of some line numbers.
        count: how many there are, of a sequence.
    """

    make: Callable[[Any], pa.Array]
    count: int | None = None


def column_for(name: str, data_type: d.DataType, options: FieldOptions) -> MadeUpColumn:
    """The column of a field."""
    make = _sequence if _kind(name, options) == "sequence" else _random
    return make(name, data_type, options)


def _kind(name: str, options: FieldOptions) -> str:
    kind = str(options.get(name, "kind", "string", "random"))
    if kind not in ("random", "sequence"):
        raise ConfigurationError(
            f"option 'fields.{name}.kind' is {kind!r}",
            where=f"table {options.table}",
            fix="use 'random' or 'sequence'",
        )
    return kind


# --- sequences -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Sequence:
    start: int
    data_type: d.DataType

    def __call__(self, numbers: Any) -> pa.Array:
        counted = numbers + self.start
        kind = self.data_type
        column = column_of(kind)
        if isinstance(kind, d.NumericType) and not isinstance(kind, d.DecimalType):
            return pa.array(counted).cast(column.arrow, safe=False)
        return column.to_arrow([_of_number(int(number), kind) for number in counted])


def _of_number(number: int, kind: d.DataType) -> Any:
    if isinstance(kind, d.CharType | d.VarCharType):
        return str(number)
    if isinstance(kind, d.BinaryType | d.VarBinaryType):
        return number.to_bytes(8, "big", signed=True)
    assert isinstance(kind, d.DecimalType)
    return decimal_fitting(kind.precision, kind.scale)(decimal.Decimal(number))


_IN_SEQUENCE = (d.NumericType, d.CharType, d.VarCharType, d.BinaryType, d.VarBinaryType)


def _sequence(name: str, data_type: d.DataType, options: FieldOptions) -> MadeUpColumn:
    if isinstance(data_type, d.BooleanType):
        return _random(name, data_type, options)
    if not isinstance(data_type, _IN_SEQUENCE):
        raise UnsupportedStepError(
            f"field {name!r} of type {data_type} cannot be a sequence",
            where=f"table {options.table}",
            fix=f"leave out 'fields.{name}.kind', or use a number or a text",
        )
    start, end = options.need(name, "start"), options.need(name, "end")
    if start > end:
        raise ConfigurationError(
            f"the sequence of field {name!r} starts at {start} and ends at {end}",
            where=f"table {options.table}",
            fix="let it end where it starts, or later",
        )
    return MadeUpColumn(_Sequence(start, data_type), end - start + 1)


# --- random values -------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Random:
    seed: int
    data_type: d.DataType
    value: Make

    def __call__(self, numbers: Any) -> pa.Array:
        made, seed, own = [], self.seed, random.Random()
        for number in numbers.tolist():
            own.seed(seed ^ (number * 0x9E3779B97F4A7C15))
            made.append(self.value(own))
        return column_of(self.data_type).to_arrow(made)


@dataclass(frozen=True)
class _RandomNumbers:
    """Many whole numbers or doubles at once: as numpy makes them, a block of lines each."""

    seed: int
    data_type: d.DataType
    low: int | float
    high: int | float

    _BLOCK = 4096

    def __call__(self, numbers: Any) -> pa.Array:
        first, last = int(numbers[0]), int(numbers[-1])
        blocks = range(first // self._BLOCK, last // self._BLOCK + 1)
        values = np.concatenate([self._block(block) for block in blocks])
        begin = first - (first // self._BLOCK) * self._BLOCK
        picked = values[begin : begin + len(numbers)]
        return pa.array(picked).cast(column_of(self.data_type).arrow, safe=False)

    def _block(self, block: int) -> Any:
        made = np.random.default_rng([self.seed, block])
        if isinstance(self.low, int):
            return made.integers(
                self.low, int(self.high), self._BLOCK, dtype=np.int64, endpoint=True
            )
        return self.low + made.random(self._BLOCK) * (float(self.high) - self.low)


def _random(name: str, data_type: d.DataType, options: FieldOptions) -> MadeUpColumn:
    seed = zlib.crc32(name.encode())
    rate = float(options.get(name, "null-rate", "float", 0.0) or 0.0)
    if not 0 <= rate <= 1:
        raise ConfigurationError(
            f"option 'fields.{name}.null-rate' is {rate}",
            where=f"table {options.table}",
            fix="a rate is between 0 and 1",
        )
    numbers = _bounds(name, data_type, options)
    if numbers is not None and rate == 0 and not isinstance(data_type, d.DecimalType):
        return MadeUpColumn(_RandomNumbers(seed, data_type, *numbers))
    value = _value(name, data_type, options)
    return MadeUpColumn(_Random(seed, data_type, _sometimes_none(value, rate) if rate else value))


@dataclass(frozen=True)
class _SometimesNone:
    value: Make
    rate: float

    def __call__(self, own: random.Random) -> Any:
        return None if own.random() < self.rate else self.value(own)


def _sometimes_none(value: Make, rate: float) -> Make:
    return _SometimesNone(value, rate)


def _bounds(name: str, data_type: d.DataType, options: FieldOptions) -> Any:
    """Between which random numbers lie, as Flink has it."""
    if isinstance(data_type, d.IntegralType | d.DayTimeIntervalType):
        bits = data_type.bits if isinstance(data_type, d.IntegralType) else 64
        low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
        return _ordered(name, options, "int", low, high)
    if isinstance(data_type, d.YearMonthIntervalType):
        return _ordered(name, options, "int", 0, 120_000)
    if isinstance(data_type, d.FractionalType):
        largest = 3.4028234663852886e38 if isinstance(data_type, d.FloatType) else 1.79e308
        return _ordered(name, options, "float", 0.0, largest)
    return None


def _ordered(name: str, options: FieldOptions, kind: str, low: Any, high: Any) -> Any:
    least = options.get(name, "min", kind, low)
    most = options.get(name, "max", kind, high)
    if least > most:
        raise ConfigurationError(
            f"field {name!r} has a minimum of {least} and a maximum of {most}",
            where=f"table {options.table}",
            fix=f"change 'fields.{name}.min' or 'fields.{name}.max'",
        )
    return least, most


def _value(name: str, data_type: d.DataType, options: FieldOptions) -> Make:
    bounds = _bounds(name, data_type, options)
    if isinstance(data_type, d.DecimalType) and bounds is not None:
        most = float(10 ** (data_type.precision - data_type.scale) - 1)
        low, high = max(bounds[0], -most), min(bounds[1], most)
        fit = decimal_fitting(data_type.precision, data_type.scale)
        return lambda own: fit(decimal.Decimal(own.uniform(low, high)))
    if bounds is not None:
        low, high = bounds
        if isinstance(low, int):
            return lambda own: own.randint(int(low), int(high))
        return lambda own: own.uniform(low, high)
    make = _MAKERS.get(type(data_type))
    if make is None:
        raise UnsupportedStepError(
            f"values of type {data_type} cannot be made up",
            where=f"field {name!r} of table {options.table}",
            fix="give the column another type",
        )
    return make(name, data_type, options)


def _length(name: str, kind: Any, options: FieldOptions) -> Callable[[random.Random], int]:
    declared = _LONGEST if kind.length == d.MAX_LENGTH else kind.length
    length = int(options.get(name, "length", "int", declared))
    if length > kind.length:
        raise ConfigurationError(
            f"option 'fields.{name}.length' is {length}, more than {kind} holds",
            where=f"table {options.table}",
            fix=f"use at most {kind.length}",
        )
    if options.get(name, "var-len", "boolean", default=False):
        return lambda own: own.randint(1, length)
    return lambda own: length


def _text(name: str, kind: d.VarCharType, options: FieldOptions) -> Make:
    length = _length(name, kind, options)
    return lambda own: "".join(own.choices(_HEX, k=length(own)))


def _fixed_text(name: str, kind: d.CharType, options: FieldOptions) -> Make:
    return lambda own: "".join(own.choices(_HEX, k=kind.length))


def _bytes(name: str, kind: d.VarBinaryType, options: FieldOptions) -> Make:
    length = _length(name, kind, options)
    return lambda own: own.randbytes(length(own))


def _now(name: str, kind: Any, options: FieldOptions) -> Make:
    past = int(options.get(name, "max-past", "duration", 0))
    zone = dt.UTC if isinstance(kind, d.LocalZonedTimestampType) else None

    def value(own: random.Random) -> dt.datetime:
        moment = dt.datetime.now(zone) - dt.timedelta(milliseconds=own.randint(0, past))
        return moment.replace(microsecond=moment.microsecond // 1000 * 1000)

    return value


def _elements(name: str, options: FieldOptions) -> int:
    return int(options.get(name, "length", "int", _ELEMENTS))


def _inner(name: str, data_type: d.DataType, options: FieldOptions) -> Make:
    rate = float(options.get(name, "null-rate", "float", 0.0) or 0.0)
    value = _value(name, data_type, options)
    return _sometimes_none(value, rate) if rate else value


def _array(name: str, kind: d.ArrayType, options: FieldOptions) -> Make:
    count, inner = _elements(name, options), _inner(f"{name}.element", kind.element_type, options)
    return lambda own: [inner(own) for _ in range(count)]


def _map(name: str, kind: d.MapType, options: FieldOptions) -> Make:
    count = _elements(name, options)
    key = _value(f"{name}.key", kind.key_type, options)
    item = _inner(f"{name}.value", kind.value_type, options)
    return lambda own: {key(own): item(own) for _ in range(count)}


def _multiset(name: str, kind: d.MultisetType, options: FieldOptions) -> Make:
    count, inner = _elements(name, options), _value(f"{name}.element", kind.element_type, options)
    return lambda own: {inner(own): own.randint(0, 10) for _ in range(count)}


def _row(name: str, kind: d.RowType, options: FieldOptions) -> Make:
    parts = [_inner(f"{name}.{f.name}", f.data_type, options) for f in kind]
    return lambda own: tuple(part(own) for part in parts)


def _today(name: str, kind: Any, options: FieldOptions) -> Make:
    return lambda own: dt.date.today()


def _time(name: str, kind: Any, options: FieldOptions) -> Make:
    return lambda own: dt.datetime.now().time()


def _truth(name: str, kind: Any, options: FieldOptions) -> Make:
    return lambda own: own.random() < 0.5


def _fixed_bytes(name: str, kind: d.BinaryType, options: FieldOptions) -> Make:
    return lambda own: own.randbytes(kind.length)


_MAKERS: dict[type[d.DataType], Callable[[str, Any, FieldOptions], Make]] = {
    d.BooleanType: _truth,
    d.CharType: _fixed_text,
    d.VarCharType: _text,
    d.BinaryType: _fixed_bytes,
    d.VarBinaryType: _bytes,
    d.DateType: _today,
    d.TimeType: _time,
    d.TimestampType: _now,
    d.LocalZonedTimestampType: _now,
    d.ArrayType: _array,
    d.MapType: _map,
    d.MultisetType: _multiset,
    d.RowType: _row,
}
