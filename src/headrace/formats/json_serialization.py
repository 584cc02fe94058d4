"""Rows to JSON objects, in Flink's notation.

In: rows of a declared type, one or many.  Out: bytes.  Next: text_form.py

Many rows are written column by column: one call of a C function for each column's values where
there is one, then one template for all rows. That takes a third of the time of the json module's
encoder, and Python's own loop only where Java's notation differs from Python's.
"""

from __future__ import annotations

import base64
import datetime as dt
import json
import re
from typing import TYPE_CHECKING, Any

from headrace.common.serialization import SerializationSchema
from headrace.common.type_inference import infer_type
from headrace.common.typeinfo import (
    BasicType,
    BasicTypeInfo,
    ClassTypeInfo,
    DateTypeInfo,
    ExternalTypeInfo,
    LocalTimeTypeInfo,
    MapTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
    TupleTypeInfo,
    ZonedTimestampTypeInfo,
    _ElementTypeInfo,
)
from headrace.data.codec import DoesNotFit, codec_for
from headrace.data.columns import Unfit
from headrace.data.record_shapes import ClassShape, RowShape
from headrace.errors import InvalidArgumentError, TypeMismatchError
from headrace.formats.bulk_writers import json_value
from headrace.formats.json_text import quoted_texts
from headrace.formats.record_fields import plain
from headrace.formats.text_form import java_text, shortest_floats

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.common.time import Instant
    from headrace.common.typeinfo import TypeInformation

    # the values of a column -> their JSON texts
    Column = Callable[[list[Any]], list[str]]

__all__ = ["JsonRowSerializationSchema"]

_MISFIT = (Unfit, TypeError, ValueError, AttributeError, KeyError, OverflowError)


class JsonRowSerializationSchema(SerializationSchema):
    """Turns rows into JSON objects, as bytes.

    Example:
        >>> from headrace.common.types import Row
        >>> from headrace.common.typeinfo import Types
        >>> row = Types.ROW_NAMED(["id", "name"], [Types.LONG(), Types.STRING()])
        >>> schema = JsonRowSerializationSchema.builder().with_type_info(row).build()
        >>> schema.serialize(Row(1, "tea"))
        b'{"id":1,"name":"tea"}'
    """

    def __init__(self, type_info: TypeInformation) -> None:
        super().__init__()
        self._type_info = type_info
        self._texts: Column | None = None  # rebuilt on first use: a closure

    def serialize(self, element: Any) -> bytes:
        """One row as a JSON object."""
        return self.serialize_many([element])[0]

    def serialize_many(self, elements: list[Any]) -> list[bytes]:
        """Many rows, each as a JSON object."""
        if self._texts is None:
            self._texts = _column(self._type_info)
        try:
            texts = self._texts(elements)
        except _MISFIT:
            # numpy's numbers, whole numbers as DOUBLE, ... fit as well, but take longer
            texts = self._texts(self._fitted(elements))
        # JSON has no raw line feed: encoding all at once is faster than one by one.
        return "\n".join(texts).encode().split(b"\n") if texts else []

    def _fitted(self, elements: list[Any]) -> list[Any]:
        codec = codec_for(self._type_info)
        try:
            return codec.decode(*codec.encode_changelog(elements))
        except DoesNotFit as error:
            raise TypeMismatchError(
                f"the record {elements[error.index]!r:.200} cannot be written as JSON: {error}",
                where="JsonRowSerializationSchema",
                fix="send rows of the type given to with_type_info, or give the type they have",
            ) from error

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_texts": None}

    @staticmethod
    def builder() -> JsonRowSerializationSchema.Builder:
        """A builder; it needs the type of the rows."""
        return JsonRowSerializationSchema.Builder()

    class Builder:
        """Collects the settings."""

        def __init__(self) -> None:
            self._type_info: TypeInformation | None = None

        def with_type_info(self, type_info: TypeInformation) -> JsonRowSerializationSchema.Builder:
            """Sets the type of the rows; its field names become the names in the objects.

            A dataclass, NamedTuple or TypedDict is taken too. Ours.
            """
            self._type_info = type_info
            return self

        def build(self) -> JsonRowSerializationSchema:
            """The schema.

            Raises:
                InvalidArgumentError: no type was given, or none of rows.
            """
            given = self._type_info
            found = None if given is None else infer_type(given)
            if not isinstance(found, RowTypeInfo | TupleTypeInfo):
                raise InvalidArgumentError(
                    "the type of the rows is missing"
                    if given is None
                    else f"{given!r} is not a type of rows",
                    where="JsonRowSerializationSchema.builder()",
                    fix="call with_type_info(Types.ROW_NAMED(...)) before build()",
                )
            return JsonRowSerializationSchema(found)


def _column(kind: TypeInformation) -> Column:
    """How the values of a type are written."""
    if isinstance(kind, ExternalTypeInfo):
        return _column(kind.type_info)
    if isinstance(kind, BasicTypeInfo):
        return _BASIC[kind.basic_type]
    if isinstance(kind, RowTypeInfo | TupleTypeInfo):
        return _objects(kind)
    if isinstance(kind, PrimitiveArrayTypeInfo) and kind.element_type == BasicTypeInfo(
        BasicType.BYTE
    ):
        return _each(lambda value: f'"{base64.b64encode(value).decode()}"')
    if isinstance(kind, _ElementTypeInfo):
        element = _column(kind.element_type)
        return _each(lambda value: f"[{','.join(element(list(value)))}]")
    if isinstance(kind, MapTypeInfo):
        return _maps(_column(kind.value_type))
    if isinstance(kind, LocalTimeTypeInfo):
        return _LOCAL[kind.time_type]
    return _BY_CLASS.get(type(kind), _anything)


def _each(text: Callable[[Any], str]) -> Column:
    return lambda values: ["null" if value is None else text(value) for value in values]


def _exact(text: Callable[[Any], str]) -> Column:
    """For functions that raise TypeError for None and for what is not of their type."""
    careful = _each(text)

    def column(values: list[Any]) -> list[str]:
        try:
            return list(map(text, values))
        except TypeError:
            return careful(values)

    return column


# --- objects --------------------------------------------------------------------------------------


def _objects(kind: RowTypeInfo | TupleTypeInfo) -> Column:
    names, columns = kind.get_field_names(), list(map(_column, kind.get_field_types()))
    shape = (
        ClassShape(kind)
        if isinstance(kind, ClassTypeInfo)
        else RowShape(names, named=isinstance(kind, RowTypeInfo) and kind.is_named, with_kinds=True)
    )
    keys = [key.replace("%", "%%") for key in quoted_texts(names)]
    template = "{" + ",".join(f"{key}:%s" for key in keys) + "}"

    def of_rows(rows: list[Any]) -> list[str]:
        if not columns:
            return ["{}"] * len(rows)
        parts = shape.take_apart(rows, len(names))
        texts = [column(list(part)) for column, part in zip(columns, parts, strict=True)]
        return list(map(template.__mod__, zip(*texts, strict=True)))

    def column(values: list[Any]) -> list[str]:
        if None not in map(_none_marker, values):
            return of_rows(values)
        there = iter(of_rows([value for value in values if value is not None]))
        return ["null" if value is None else next(there) for value in values]

    return column


def _none_marker(value: Any) -> Any:
    # By identity: `None in values` would call __eq__ of the user's classes.
    return None if value is None else 0


def _maps(item: Column) -> Column:
    def text(value: dict[Any, Any]) -> str:
        keys = quoted_texts([java_text(key) for key in value])
        pairs = zip(keys, item(list(value.values())), strict=True)
        return "{" + ",".join(f"{key}:{text}" for key, text in pairs) + "}"

    return _each(text)


_anything: Column = _each(
    lambda value: json.dumps(
        plain(value), ensure_ascii=False, separators=(",", ":"), default=json_value
    )
)


# --- numbers --------------------------------------------------------------------------------------


def _doubles(values: list[Any]) -> list[str]:
    texts = _exact(float.__repr__)(values)
    if _as_java_writes_it("\n".join(texts)):
        return texts
    return [_number(value) for value in values]


# Java writes plain digits from 0.001 up to ten million, as Python does in that range.
_as_java_writes_it = re.compile(
    r"(?:-?(?:0\.0|0\.(?:[1-9]|0[1-9]|00[1-9])[0-9]*|[1-9][0-9]{0,6}\.[0-9]+)(?:\n|\Z)|null(?:\n|\Z))*"
).fullmatch


def _number(value: Any) -> str:
    if value is None:
        return "null"
    text = java_text(value)
    return f'"{text}"' if text[-1] in "yN" else text  # Infinity, NaN


def _decimal(value: Any) -> str:
    if not value.is_finite():
        raise TypeMismatchError(
            f"{value} has no JSON form",
            where="JsonRowSerializationSchema",
            fix="send finite numbers, or None",
        )
    return str(value if value else abs(value))  # Java has no -0.0 among decimals


_as_single = shortest_floats(BasicTypeInfo(BasicType.FLOAT))
_BOOLEANS = {True: "true", False: "false", None: "null"}


# --- times ----------------------------------------------------------------------------------------


def _timestamp(value: dt.datetime) -> str:
    text = value.isoformat()
    return f'"{text.rstrip("0") if value.microsecond else text}Z"'


def _moment(value: dt.datetime) -> str:
    return _timestamp(value.astimezone(dt.UTC).replace(tzinfo=None))


def _instant(value: Instant) -> str:
    micros = dt.timedelta(seconds=value.seconds, microseconds=value.nanos // 1000)
    return _timestamp(dt.datetime(1970, 1, 1) + micros)


_dates: Column = _each(lambda value: f'"{dt.date.isoformat(value)}"')
# As in Flink, a time of day has seconds and no more.
_times: Column = _each(lambda value: f'"{dt.time.isoformat(value, "seconds")}Z"')
_BASIC: dict[BasicType, Column] = {
    BasicType.STRING: quoted_texts,
    BasicType.CHAR: quoted_texts,
    BasicType.BOOLEAN: lambda values: list(map(_BOOLEANS.__getitem__, values)),
    BasicType.BYTE: _exact(int.__repr__),
    BasicType.SHORT: _exact(int.__repr__),
    BasicType.INT: _exact(int.__repr__),
    BasicType.LONG: _exact(int.__repr__),
    BasicType.BIG_INT: _exact(int.__repr__),
    BasicType.DOUBLE: _doubles,
    BasicType.FLOAT: lambda values: [_number(_as_single(value)) for value in values],
    BasicType.BIG_DEC: _each(_decimal),
    BasicType.INSTANT: _each(_instant),
}
_LOCAL: dict[LocalTimeTypeInfo.TimeType, Column] = {
    LocalTimeTypeInfo.TimeType.LOCAL_DATE: _dates,
    LocalTimeTypeInfo.TimeType.LOCAL_TIME: _times,
    LocalTimeTypeInfo.TimeType.LOCAL_DATE_TIME: _each(_timestamp),
}
_BY_CLASS: dict[type, Column] = {
    DateTypeInfo: _dates,
    TimeTypeInfo: _times,
    TimestampTypeInfo: _each(_timestamp),
    ZonedTimestampTypeInfo: _each(_moment),
}
