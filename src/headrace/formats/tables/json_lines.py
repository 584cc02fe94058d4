"""Parsed JSON to the values of a line and back, type by type, by Flink's rules for tables.

In: what the json module made of a message, or the values of a line.  Out: the other; a value that
cannot be read is a `ValueError` with its field.  Next: formats/tables/json.py
"""

from __future__ import annotations

import base64
import decimal
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from headrace.common import data_types as d
from headrace.common.typeinfo import BasicType
from headrace.data.line_values import decimal_fitting
from headrace.errors import UnsupportedStepError
from headrace.formats import java_parsing as parse
from headrace.formats.json_text import quoted
from headrace.formats.json_values import basic_converter, json_text, scalar_text
from headrace.formats.tables import times
from headrace.formats.text_form import java_text

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Callable

    Read = Callable[[Any], Any]
    Write = Callable[[Any], str]

__all__ = ["JsonForm", "json_reader", "json_writer", "needs_decimals"]


@dataclass(frozen=True, slots=True)
class JsonForm:
    """How JSON is written and read.

    Attributes:
        standard: of timestamps: SQL or ISO-8601.
        fail_on_missing: a field that an object does not have is an error, else NULL.
        ignore_errors: a field that cannot be read is NULL, else an error.
        plain_decimals: decimals are written with all their digits, never with an exponent.
        ignore_nulls: fields that are NULL are not written.
    """

    standard: str = "SQL"
    fail_on_missing: bool = False
    ignore_errors: bool = False
    plain_decimals: bool = False
    ignore_nulls: bool = False


def needs_decimals(data_type: d.DataType) -> bool:
    """Whether fractions have to be read as decimals: then all of them are, as in Flink."""
    if isinstance(data_type, d.RowType):
        return any(map(needs_decimals, data_type.field_types()))
    if isinstance(data_type, d.ArrayType | d.MultisetType):
        return needs_decimals(data_type.element_type)
    if isinstance(data_type, d.MapType):
        return needs_decimals(data_type.key_type) or needs_decimals(data_type.value_type)
    return isinstance(data_type, d.DecimalType)


# --- reading -------------------------------------------------------------------------------------


def json_reader(data_type: d.DataType, form: JsonForm) -> Read:
    """What makes a value of a line of a parsed JSON value; null is None.

    Raises:
        UnsupportedStepError: JSON has no form for the type.
    """
    convert = _reader(data_type, form)

    def read(value: Any) -> Any:
        if value is None:
            return None
        try:
            return convert(value)
        except (ValueError, ArithmeticError, TypeError, RecursionError):
            if form.ignore_errors:
                return None
            raise

    return read


def _reader(data_type: d.DataType, form: JsonForm) -> Read:
    plain = _BASIC.get(type(data_type))
    if plain is not None:
        return basic_converter(plain)
    if isinstance(data_type, d.DecimalType):
        fit = decimal_fitting(data_type.precision, data_type.scale)
        read = basic_converter(BasicType.BIG_DEC)
        return lambda value: fit(read(value))
    if isinstance(data_type, d.BinaryType | d.VarBinaryType):
        return lambda value: parse.base64_bytes(value) if isinstance(value, str) else None
    if isinstance(data_type, d.DateType):
        return lambda value: parse.iso_date(scalar_text(value))
    if isinstance(data_type, d.TimeType):
        return lambda value: times.read_time(scalar_text(value))
    if isinstance(data_type, d.TimestampType | d.LocalZonedTimestampType):
        return _timestamp(data_type, form)
    return _container(data_type, form)


def _timestamp(data_type: d.TimestampType | d.LocalZonedTimestampType, form: JsonForm) -> Read:
    zoned = isinstance(data_type, d.LocalZonedTimestampType)
    read, cut = times.timestamp_reader(form.standard, zoned=zoned), cut_to(data_type.precision)
    return lambda value: cut(read(scalar_text(value)))


def cut_to(precision: int) -> Callable[[dt.datetime], dt.datetime]:
    """What drops the digits of a second that a type does not have."""
    if precision >= 6:
        return lambda moment: moment
    unit = 10 ** (6 - precision)
    return lambda moment: moment.replace(microsecond=moment.microsecond // unit * unit)


def _container(data_type: d.DataType, form: JsonForm) -> Read:
    if isinstance(data_type, d.ArrayType):
        return _array(json_reader(data_type.element_type, form))
    if isinstance(data_type, d.MapType):
        return _map(data_type, json_reader(data_type.value_type, form))
    if isinstance(data_type, d.MultisetType):
        return _map(data_type, json_reader(d.IntType(), form))
    if isinstance(data_type, d.RowType):
        return _row(data_type, form)
    if isinstance(data_type, d.NullType):
        return lambda value: None
    raise _no_form(data_type)


def _no_form(data_type: d.DataType) -> UnsupportedStepError:
    return UnsupportedStepError(
        f"JSON has no form for a column of type {data_type}",
        fix="declare it as STRING and cast it; the keys of maps have to be texts",
    )


def _array(element: Read) -> Read:
    def read(value: Any) -> list[Any]:
        if not isinstance(value, list):
            msg = f"{json_text(value):.60} is not an array"
            raise ValueError(msg)
        return list(map(element, value))

    return read


def _check_key(data_type: d.MapType | d.MultisetType) -> None:
    key = data_type.key_type if isinstance(data_type, d.MapType) else data_type.element_type
    if not isinstance(key, d.CharType | d.VarCharType):
        raise _no_form(data_type)


def _map(data_type: d.MapType | d.MultisetType, item: Read) -> Read:
    _check_key(data_type)

    def read(value: Any) -> dict[str, Any]:
        return {k: item(v) for k, v in value.items()} if isinstance(value, dict) else {}

    return read


def _row(data_type: d.RowType, form: JsonForm) -> Read:
    fields = [(f.name, json_reader(f.data_type, form)) for f in data_type]

    def read(value: Any) -> tuple[Any, ...]:
        if not isinstance(value, dict):
            msg = f"{json_text(value):.60} is not an object"
            raise ValueError(msg)
        values: list[Any] = []
        for name, field in fields:
            found = value.get(name)
            if found is None:
                if form.fail_on_missing and name not in value:
                    msg = f"the field {name!r} is missing"
                    raise ValueError(msg)
                values.append(None)
                continue
            try:
                values.append(field(found))
            except (ValueError, ArithmeticError, TypeError) as error:
                msg = f"field {name!r}: {error}"
                raise ValueError(msg) from None
        return tuple(values)

    return read


_BASIC: dict[type[d.DataType], BasicType] = {
    d.BooleanType: BasicType.BOOLEAN,
    d.TinyIntType: BasicType.BYTE,
    d.SmallIntType: BasicType.SHORT,
    d.IntType: BasicType.INT,
    d.BigIntType: BasicType.LONG,
    d.YearMonthIntervalType: BasicType.INT,
    d.DayTimeIntervalType: BasicType.LONG,
    d.FloatType: BasicType.FLOAT,
    d.DoubleType: BasicType.DOUBLE,
    d.CharType: BasicType.STRING,
    d.VarCharType: BasicType.STRING,
}


# --- writing -------------------------------------------------------------------------------------


def json_writer(data_type: d.DataType, form: JsonForm) -> Write:
    """What makes the JSON text of a value of a line; None is null.

    Raises:
        UnsupportedStepError: JSON has no form for the type.
    """
    write = _writer(data_type, form)
    return lambda value: "null" if value is None else write(value)


def _writer(data_type: d.DataType, form: JsonForm) -> Write:
    make = _WRITERS.get(type(data_type))
    if make is None:
        raise _no_form(data_type)
    return make(data_type, form)


def _number(value: float) -> str:
    text = java_text(value)
    return f'"{text}"' if value != value or value in (float("inf"), float("-inf")) else text


def _single(value: float) -> str:
    with np.errstate(over="ignore"):
        return _number(float(str(np.float32(value))))


def _stripped(value: decimal.Decimal) -> str:
    return str(value.normalize(_EXACT) or decimal.Decimal(0))


_EXACT = decimal.Context(prec=100)


def _timestamp_text(data_type: Any, form: JsonForm) -> Write:
    zoned = isinstance(data_type, d.LocalZonedTimestampType)
    write = times.timestamp_writer(form.standard, zoned=zoned)
    return lambda value: f'"{write(value)}"'


def _array_text(data_type: d.ArrayType, form: JsonForm) -> Write:
    element = json_writer(data_type.element_type, form)
    return lambda values: f"[{','.join(map(element, values))}]"


def _map_text(data_type: Any, form: JsonForm) -> Write:
    _check_key(data_type)
    items = d.IntType() if isinstance(data_type, d.MultisetType) else data_type.value_type
    item = json_writer(items, form)
    return lambda found: "{" + ",".join(f"{quoted(k)}:{item(v)}" for k, v in found.items()) + "}"


def _row_text(data_type: d.RowType, form: JsonForm) -> Write:
    fields = [(f"{quoted(f.name)}:", json_writer(f.data_type, form)) for f in data_type]
    if not form.ignore_nulls:
        return lambda values: (
            "{"
            + ",".join([n + write(v) for (n, write), v in zip(fields, values, strict=False)])
            + "}"
        )
    return lambda values: (
        "{"
        + ",".join(
            n + write(v) for (n, write), v in zip(fields, values, strict=False) if v is not None
        )
        + "}"
    )


_WRITERS: dict[type[d.DataType], Callable[[Any, JsonForm], Write]] = {
    d.NullType: lambda *_: lambda _: "null",
    d.BooleanType: lambda *_: java_text,
    d.TinyIntType: lambda *_: str,
    d.SmallIntType: lambda *_: str,
    d.IntType: lambda *_: str,
    d.BigIntType: lambda *_: str,
    d.YearMonthIntervalType: lambda *_: str,
    d.DayTimeIntervalType: lambda *_: str,
    d.FloatType: lambda *_: _single,
    d.DoubleType: lambda *_: _number,
    d.DecimalType: lambda _, form: (lambda v: f"{v:f}") if form.plain_decimals else _stripped,
    d.CharType: lambda *_: quoted,
    d.VarCharType: lambda *_: quoted,
    d.BinaryType: lambda *_: lambda v: f'"{base64.b64encode(v).decode()}"',
    d.VarBinaryType: lambda *_: lambda v: f'"{base64.b64encode(v).decode()}"',
    d.DateType: lambda *_: lambda v: f'"{v.isoformat()}"',
    d.TimeType: lambda *_: lambda v: f'"{times.write_time(v)}"',
    d.TimestampType: _timestamp_text,
    d.LocalZonedTimestampType: _timestamp_text,
    d.ArrayType: _array_text,
    d.MapType: _map_text,
    d.MultisetType: _map_text,
    d.RowType: _row_text,
}
