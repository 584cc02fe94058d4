"""Avro's schema of a table's columns, and the values of lines as fastavro has them.

In: a `RowType`.  Out: the schema that Flink derives of it, and functions from lines to fastavro's
dicts and back.  Next: formats/tables/avro.py
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headrace.common import data_types as d
from headrace.data.line_values import decimal_fitting
from headrace.errors import UnsupportedStepError
from headrace.formats.tables.json_lines import cut_to

if TYPE_CHECKING:
    from collections.abc import Callable

    Convert = Callable[[Any], Any]

__all__ = ["AvroForm", "avro_schema", "from_avro", "to_avro"]

RECORD = "org.apache.flink.avro.generated.record"


@dataclass(frozen=True, slots=True)
class AvroForm:
    """How timestamps are kept.

    Attributes:
        legacy: TIMESTAMP is Avro's timestamp, as in Flink before 1.19; else TIMESTAMP is
            local-timestamp and TIMESTAMP_LTZ is timestamp.
    """

    legacy: bool = True


_PLAIN: dict[type[d.DataType], Any] = {
    d.BooleanType: "boolean",
    d.TinyIntType: "int",
    d.SmallIntType: "int",
    d.IntType: "int",
    d.BigIntType: "long",
    d.FloatType: "float",
    d.DoubleType: "double",
    d.CharType: "string",
    d.VarCharType: "string",
    d.BinaryType: "bytes",
    d.VarBinaryType: "bytes",
    d.DateType: {"type": "int", "logicalType": "date"},
}


def avro_schema(columns: d.RowType, form: AvroForm) -> dict[str, Any]:
    """The schema of lines.

    Raises:
        UnsupportedStepError: Avro has no form for a column.
    """
    return _record(columns, form, RECORD)


def _record(columns: d.RowType, form: AvroForm, name: str) -> dict[str, Any]:
    fields = []
    for field in columns:
        entry = {"name": field.name, "type": _schema(field.data_type, form, f"{name}_{field.name}")}
        fields.append({**entry, "default": None} if field.data_type.is_nullable else entry)
    return {"type": "record", "name": name, "fields": fields}


def _schema(kind: d.DataType, form: AvroForm, name: str) -> Any:
    bare = _bare(kind, form, name)
    return ["null", bare] if kind.is_nullable and bare != "null" else bare


def _bare(kind: d.DataType, form: AvroForm, name: str) -> Any:
    plain = _PLAIN.get(type(kind))
    if plain is not None:
        return plain
    if isinstance(kind, d.NullType):
        return "null"
    if isinstance(kind, d.DecimalType):
        digits = {"precision": kind.precision, "scale": kind.scale}
        return {"type": "bytes", "logicalType": "decimal", **digits}
    if isinstance(kind, d.TimeType) and kind.precision <= 3:
        return {"type": "int", "logicalType": "time-millis"}
    if isinstance(kind, d.TimestampType | d.LocalZonedTimestampType):
        return {"type": "long", "logicalType": _timestamp(kind, form)}
    if isinstance(kind, d.RowType):
        return _record(kind, form, name)
    if isinstance(kind, d.ArrayType):
        return {"type": "array", "items": _schema(kind.element_type, form, name)}
    if isinstance(kind, d.MapType) and isinstance(kind.key_type, d.CharType | d.VarCharType):
        return {"type": "map", "values": _schema(kind.value_type, form, name)}
    if isinstance(kind, d.MultisetType) and isinstance(
        kind.element_type, d.CharType | d.VarCharType
    ):
        return {"type": "map", "values": _schema(d.IntType(nullable=False), form, name)}
    raise _no_form(kind)


def _timestamp(kind: d.TimestampType | d.LocalZonedTimestampType, form: AvroForm) -> str:
    zoned = isinstance(kind, d.LocalZonedTimestampType)
    if kind.precision > (3 if form.legacy else 6) or (form.legacy and zoned):
        raise _no_form(kind)
    local = "" if zoned or form.legacy else "local-"
    return f"{local}timestamp-{'millis' if kind.precision <= 3 else 'micros'}"


def _no_form(kind: d.DataType) -> UnsupportedStepError:
    return UnsupportedStepError(
        f"Avro has no form for a column of type {kind}",
        fix="set 'avro.timestamp_mapping.legacy' = 'false' for TIMESTAMP_LTZ and for microseconds; "
        "the keys of maps have to be texts",
    )


def _or_null(convert: Convert | None) -> Convert:
    """The same for what may be null; None stands for values that stay as they are."""
    if convert is None:
        return lambda value: value
    return lambda value: None if value is None else convert(value)


def to_avro(kind: d.DataType, form: AvroForm) -> Convert:
    """What makes fastavro's value of a value of a line."""
    return _or_null(_to(kind, form))


def _to(kind: d.DataType, form: AvroForm) -> Convert | None:
    if isinstance(kind, d.TimestampType) and form.legacy:
        return lambda value: value.replace(tzinfo=dt.UTC)
    if isinstance(kind, d.ArrayType):
        inner = to_avro(kind.element_type, form)
        return lambda values: [inner(value) for value in values]
    if isinstance(kind, d.MapType):
        item = to_avro(kind.value_type, form)
        return lambda found: {k: item(v) for k, v in found.items()}
    if isinstance(kind, d.RowType):
        parts = [(f.name, to_avro(f.data_type, form)) for f in kind]
        return lambda values: {n: part(v) for (n, part), v in zip(parts, values, strict=False)}
    return None


def from_avro(kind: d.DataType) -> Convert:
    """What makes a value of a line of fastavro's value."""
    return _or_null(_from(kind))


def _from(kind: d.DataType) -> Convert | None:
    if isinstance(kind, d.TimestampType):
        cut = cut_to(kind.precision)
        return lambda value: cut(value.replace(tzinfo=None))
    if isinstance(kind, d.DecimalType):
        return decimal_fitting(kind.precision, kind.scale)
    if isinstance(kind, d.ArrayType):
        inner = from_avro(kind.element_type)
        return lambda values: [inner(value) for value in values]
    if isinstance(kind, d.MapType):
        item = from_avro(kind.value_type)
        return lambda found: {k: item(v) for k, v in found.items()}
    if isinstance(kind, d.RowType):
        parts = [(f.name, from_avro(f.data_type)) for f in kind]
        return lambda found: tuple(part(found.get(name)) for name, part in parts)
    return None
