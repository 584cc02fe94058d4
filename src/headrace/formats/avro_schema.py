"""Avro schemas: the types their records have here, and how values go over.

In: a schema as JSON.  Out: `AvroSchema`, `GenericRecordAvroTypeInfo`, and `Conversion`.
Next: avro.py, confluent_avro.py

Records are `Row`s with the fields of the schema. The types are those that Flink gives them: enums
are texts, ``timestamp-millis`` and ``timestamp-micros`` are SQL_TIMESTAMP in UTC, decimals BIG_DEC;
a union of one type with null is that type, any other union a pickled object.
"""

from __future__ import annotations

import datetime as dt
import json
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from headrace.common.typeinfo import RowTypeInfo, TypeInformation, Types
from headrace.common.types import Row
from headrace.errors import InvalidArgumentError
from headrace.io.server_calls import client_library

if TYPE_CHECKING:
    from collections.abc import Callable

    Convert = Callable[[Any], Any]

__all__ = ["AvroSchema", "Conversion", "GenericRecordAvroTypeInfo", "conversion_of", "fastavro"]


def fastavro() -> Any:
    """The library; imported late, because only users of Avro need it."""
    return client_library("fastavro", extra="kafka")


class AvroSchema:
    """An Avro schema; make one with `parse_string` or `parse_file`.

    Example:
        >>> schema = AvroSchema.parse_string('''
        ...     {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}
        ... ''')
        >>> str(schema)
        '{"type":"record","name":"Order","fields":[{"name":"id","type":"long"}]}'
    """

    def __init__(self, schema_string: str) -> None:
        try:
            self._definition = json.loads(schema_string)
            self._parsed: Any = fastavro().parse_schema(self._definition)
        except (TypeError, ValueError, KeyError, AttributeError, _schema_error()) as error:
            raise InvalidArgumentError(
                f"the Avro schema cannot be read: {type(error).__name__}: {error}",
                where=f"{schema_string!r:.200}",
                fix="write it as the Avro specification does, as JSON",
            ) from error

    @staticmethod
    def parse_string(json_schema: str) -> AvroSchema:
        """The schema that a text describes."""
        return AvroSchema(json_schema)

    @staticmethod
    def parse_file(file_path: str) -> AvroSchema:
        """The schema that a file describes."""
        return AvroSchema(Path(file_path).read_text(encoding="utf-8"))

    @property
    def parsed(self) -> Any:
        """What fastavro takes. Ours."""
        return self._parsed

    def __str__(self) -> str:
        return json.dumps(self._definition, separators=(",", ":"))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AvroSchema) and self._definition == other._definition

    def __hash__(self) -> int:
        return hash(str(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return AvroSchema, (str(self),)


def _schema_error() -> type[Exception]:
    found: type[Exception] = client_library("fastavro.schema", extra="kafka").SchemaParseException
    return found


class GenericRecordAvroTypeInfo(RowTypeInfo):
    """Rows with the fields of an Avro schema.

    Coming from Flink: PyFlink's records of this type are dicts; here dicts are taken, and rows
    come out, whose fields can be read by name as well.
    """

    def __init__(self, schema: AvroSchema) -> None:
        row = conversion_of(schema).type_info
        super().__init__(row.get_field_types(), row.get_field_names())
        self.schema = schema

    # To state and streams it is the row type; stored state does not know the schema.

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RowTypeInfo) and self._parts() == other._parts()

    def __hash__(self) -> int:
        return hash((RowTypeInfo, self._parts()))


class Conversion(NamedTuple):
    """Between fastavro's records, which are dicts, and ours.

    Attributes:
        type_info: the type of our records.
        from_avro: a record for a dict.
        to_avro: a dict for a record.
    """

    type_info: RowTypeInfo
    from_avro: Convert
    to_avro: Convert


def conversion_of(schema: AvroSchema) -> Conversion:
    """The conversion for a schema of records.

    Raises:
        InvalidArgumentError: it is no record, or contains itself.
    """
    named = {} if not isinstance(schema.parsed, dict) else schema.parsed.get("__named_schemas", {})
    found = _RecordTypes(named).part(schema.parsed)
    if not isinstance(found.type_info, RowTypeInfo) or found.from_avro is None:
        raise InvalidArgumentError(
            f"an Avro schema of {found.type_info}, but messages and files hold records",
            fix='use a schema of the type "record"',
        )
    assert found.to_avro is not None
    return Conversion(found.type_info, found.from_avro, found.to_avro)


class _Part(NamedTuple):
    """The type of a part of a schema, and its conversions; None for values that are the same."""

    type_info: TypeInformation
    from_avro: Convert | None = None
    to_avro: Convert | None = None


class _RecordTypes:
    """Reads one schema; `open` are the records that a part lies in."""

    def __init__(self, named: dict[str, Any]) -> None:
        self._named = named
        self._open: list[str] = []

    def part(self, schema: Any) -> _Part:
        if isinstance(schema, list):
            return self._union(schema)
        if isinstance(schema, str):
            return _PRIMITIVE[schema]() if schema in _PRIMITIVE else self.part(self._named[schema])
        kind = schema["type"]
        if kind in ("record", "error"):
            return self._record(schema)
        if kind == "enum":
            return _Part(Types.STRING())
        if kind == "array":
            return self._array(schema)
        if kind == "map":
            return self._map(schema)
        logical = schema.get("logicalType")
        if (kind, logical) in _LOGICAL:
            return _LOGICAL[kind, logical]()
        return _Part(_BYTES()) if kind == "fixed" else self.part(kind)

    def _union(self, options: list[Any]) -> _Part:
        others = [option for option in options if option != "null"]
        if len(others) != 1:
            # fastavro's values as they are; only a record would be a dict.
            return _Part(Types.PICKLED_BYTE_ARRAY())
        found = self.part(others[0])
        return _Part(found.type_info, _or_none(found.from_avro), _or_none(found.to_avro))

    def _array(self, schema: dict[str, Any]) -> _Part:
        element = self.part(schema["items"])
        return _Part(
            Types.OBJECT_ARRAY(element.type_info),
            _of_each(element.from_avro),
            _of_each(element.to_avro),
        )

    def _map(self, schema: dict[str, Any]) -> _Part:
        item = self.part(schema["values"])
        kind = Types.MAP(Types.STRING(), item.type_info)
        return _Part(kind, _of_items(item.from_avro), _of_items(item.to_avro))

    def _record(self, schema: dict[str, Any]) -> _Part:
        name = schema["name"]
        if name in self._open:
            raise InvalidArgumentError(
                f"the Avro record {name!r} contains itself, which a row type cannot say",
                fix="read such messages with a DeserializationSchema of your own",
            )
        self._open.append(name)
        names = [field["name"] for field in schema["fields"]]
        parts = [self.part(field["type"]) for field in schema["fields"]]
        self._open.pop()
        kind = (
            Types.ROW_NAMED(names, [part.type_info for part in parts]) if names else RowTypeInfo([])
        )
        return _Part(kind, _row_maker(names, parts), _dict_maker(names, parts))


def _row_maker(names: list[str], parts: list[_Part]) -> Convert:
    converted = [(i, part.from_avro) for i, part in enumerate(parts) if part.from_avro is not None]
    # by name: what fastavro fills in for a reader's schema stands at the end of its dicts
    take = itemgetter(*names) if len(names) > 1 else lambda record: tuple(map(record.get, names))

    def make(record: dict[str, Any]) -> Row:
        values = take(record)
        if converted:
            values = list(values)
            for place, convert in converted:
                values[place] = convert(values[place])
            values = tuple(values)
        return Row.of_values(values, names)

    return make


def _dict_maker(names: list[str], parts: list[_Part]) -> Convert:
    converted = {n: part.to_avro for n, part in zip(names, parts, strict=True) if part.to_avro}

    def make(record: Any) -> dict[str, Any]:
        found = _fields(record, names)
        for name, convert in converted.items():
            if name in found:
                found[name] = convert(found[name])
        return found

    return make


def _fields(record: Any, names: list[str]) -> dict[str, Any]:
    if isinstance(record, dict):
        unknown = record.keys() - set(names)
        if unknown:
            raise ValueError(f"the schema has no field {', '.join(map(repr, sorted(unknown)))}")
        return dict(record)  # fields that are missing get the schema's default
    if isinstance(record, Row) and _has_names_for(record, names):
        return dict(zip(names, record.get_fields_by_names(names), strict=True))
    if isinstance(record, Row | tuple | list):
        if len(record) != len(names):
            raise ValueError(f"{len(names)} fields were expected, not {len(record)}")
        return dict(zip(names, record, strict=True))
    if hasattr(record, "__dict__"):
        return {name: getattr(record, name) for name in names}
    raise ValueError(f"{record!r:.100} ({type(record).__name__}) is no record")


def _has_names_for(row: Row, names: list[str]) -> bool:
    """Whether fields are found by name: not in rows of a type without names, which say f0, f1."""
    found = row._names
    if found is None or found == names:
        return found is not None
    unnamed = found == [f"f{place}" for place in range(len(found))]
    return not (unnamed and set(names).isdisjoint(found))


def _or_none(convert: Convert | None) -> Convert | None:
    return None if convert is None else lambda value: None if value is None else convert(value)


def _of_each(convert: Convert | None) -> Convert | None:
    return None if convert is None else lambda values: [convert(value) for value in values]


def _of_items(convert: Convert | None) -> Convert | None:
    if convert is None:
        return None
    return lambda values: {key: convert(value) for key, value in values.items()}


def _in_utc(moment: dt.datetime) -> dt.datetime:
    # Without a zone, fastavro would take the machine's.
    return moment.replace(tzinfo=dt.UTC) if moment.tzinfo is None else moment


def _without_zone(moment: dt.datetime) -> dt.datetime:
    return moment.replace(tzinfo=None)


def _BYTES() -> TypeInformation:
    return Types.PRIMITIVE_ARRAY(Types.BYTE())


def _timestamp() -> _Part:
    return _Part(Types.SQL_TIMESTAMP(), _without_zone, _in_utc)


_PRIMITIVE: dict[str, Callable[[], _Part]] = {
    "null": lambda: _Part(Types.PICKLED_BYTE_ARRAY()),
    "boolean": lambda: _Part(Types.BOOLEAN()),
    "int": lambda: _Part(Types.INT()),
    "long": lambda: _Part(Types.LONG()),
    "float": lambda: _Part(Types.FLOAT()),
    "double": lambda: _Part(Types.DOUBLE()),
    "bytes": lambda: _Part(_BYTES()),
    "string": lambda: _Part(Types.STRING()),
}
_LOGICAL: dict[tuple[str, str], Callable[[], _Part]] = {
    ("bytes", "decimal"): lambda: _Part(Types.BIG_DEC()),
    ("fixed", "decimal"): lambda: _Part(Types.BIG_DEC()),
    ("int", "date"): lambda: _Part(Types.SQL_DATE()),
    ("int", "time-millis"): lambda: _Part(Types.SQL_TIME()),
    ("long", "time-micros"): lambda: _Part(Types.SQL_TIME()),
    ("long", "timestamp-millis"): _timestamp,
    ("long", "timestamp-micros"): _timestamp,
    ("long", "local-timestamp-millis"): lambda: _Part(Types.SQL_TIMESTAMP()),
    ("long", "local-timestamp-micros"): lambda: _Part(Types.SQL_TIMESTAMP()),
    ("string", "uuid"): lambda: _Part(Types.STRING(), str, str),
    ("fixed", "uuid"): lambda: _Part(Types.STRING(), str, str),
}
