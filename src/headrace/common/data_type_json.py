"""Types of the Table API as JSON: what savepoints and compiled plans keep of them.

    DECIMAL(10, 2) NOT NULL   ──▶   {"type": "DECIMAL", "args": [10, 2], "nullable": false}

In: a `DataType`.  Out: plain JSON, and back.  Next: common/type_json.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.common import data_types as d
from headrace.errors import StateError

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.common.opaque import JsonObject, JsonValue

_PLAIN: tuple[type[d.DataType], ...] = (
    d.BooleanType,
    d.TinyIntType,
    d.SmallIntType,
    d.IntType,
    d.BigIntType,
    d.FloatType,
    d.DoubleType,
    d.DateType,
    d.RawType,
)
_SIZED: tuple[type[d.DataType], ...] = (
    d.CharType,
    d.VarCharType,
    d.BinaryType,
    d.VarBinaryType,
    d.DecimalType,
    d.TimeType,
    d.TimestampType,
    d.LocalZonedTimestampType,
    d.ZonedTimestampType,
    d.YearMonthIntervalType,
)


def data_type_to_json(data_type: d.DataType) -> JsonObject:
    """The JSON form of a type.

    Raises:
        StateError: for a type of the user's own.
    """
    form: JsonObject = {"type": data_type.type_name(), "args": _arguments(data_type)}
    return form if data_type.is_nullable else {**form, "nullable": False}


def _arguments(data_type: d.DataType) -> list[JsonValue]:
    if isinstance(data_type, _PLAIN):
        return []
    if isinstance(data_type, _SIZED):
        return list(data_type._parts())
    if isinstance(data_type, d.DayTimeIntervalType):
        digits = [data_type.day_precision, data_type.fractional_precision]
        return [data_type.resolution.name, *digits]
    if isinstance(data_type, d.RowType):
        return [_field(field) for field in data_type]
    parts = data_type._parts()
    if isinstance(data_type, d.UserDefinedType) or not all(
        isinstance(part, d.DataType) for part in parts
    ):
        msg = f"the type {data_type} cannot be recorded"
        raise StateError(msg, fix="use one of DataTypes")
    return [data_type_to_json(part) for part in parts if isinstance(part, d.DataType)]


def _field(field: d.RowField) -> list[JsonValue]:
    form = [field.name, data_type_to_json(field.data_type)]
    return form if field.description == "..." else [*form, field.description]


def data_type_from_json(form: JsonObject) -> d.DataType:
    """The type that `data_type_to_json` gave the form of.

    Raises:
        StateError: the form is not known.
    """
    make = _MADE.get(form["type"])
    if make is None:
        raise _unknown(form)
    made = make(form["args"])
    return made if form.get("nullable", True) else made.not_null()


def _unknown(form: object) -> StateError:
    return StateError(
        f"the recorded type {form!r} is not known to this version",
        fix="read it with the version of headrace that wrote it, or a later one",
    )


def _all(forms: list[JsonObject]) -> list[d.DataType]:
    return [data_type_from_json(form) for form in forms]


def _row(fields: list[JsonValue]) -> d.DataType:
    return d.RowType([d.RowField(name, data_type_from_json(t), *rest) for name, t, *rest in fields])


def _span(name: str, days: int, fraction: int) -> d.DataType:
    return d.DayTimeIntervalType(d.DayTimeIntervalType.DayTimeResolution[name], days, fraction)


_MADE: dict[str, Callable[[list[JsonValue]], d.DataType]] = {
    **{kind.type_name(): (lambda args, kind=kind: kind(*args)) for kind in (*_PLAIN, *_SIZED)},  # type: ignore[misc]
    d.NullType.type_name(): lambda _: d.NullType(),
    d.DayTimeIntervalType.type_name(): lambda args: _span(*args),
    d.ArrayType.type_name(): lambda args: d.ArrayType(_all(args)[0]),
    d.MultisetType.type_name(): lambda args: d.MultisetType(_all(args)[0]),
    d.ListViewType.type_name(): lambda args: d.ListViewType(*_all(args)),
    d.MapType.type_name(): lambda args: d.MapType(_all(args)[0], _all(args)[1]),
    d.MapViewType.type_name(): lambda args: d.MapViewType(*_all(args)),
    d.RowType.type_name(): _row,
}
