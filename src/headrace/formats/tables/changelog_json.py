"""Formats of tables whose messages tell changes: debezium-json, canal-json, maxwell-json, ogg-json.

    {"before": {…}, "after": {…}, "op": "u"}   ──▶   (…, -U), (…, +U)

In: messages of change data capture.  Out: lines with their kind, and the other way: an update is
written as a deletion and an insertion, as Flink does.  Next: formats/tables/json_lines.py
"""

from __future__ import annotations

import datetime as dt
import re
from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

from headrace.common import data_types as d
from headrace.common.changes import Changes
from headrace.errors import ConfigurationError
from headrace.formats.bad_messages import bad_message
from headrace.formats.json_text import quoted
from headrace.formats.json_values import json_text, scalar_text
from headrace.formats.tables.json import (
    IGNORE_ERRORS,
    IGNORE_NULLS,
    NULL_KEY_TEXT,
    NULL_KEYS,
    PLAIN_DECIMALS,
    STANDARD,
    JsonLineWriter,
    json_form,
    parsed_json,
)
from headrace.formats.tables.json_lines import JsonForm, json_reader, json_writer, needs_decimals
from headrace.spi.table_connector import option
from headrace.spi.table_format import FormatOptions, LineReader, LineWriter, TableFormat

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from headrace.common.config_options import ConfigOption

    Line = tuple[Any, ...]
    Read = Callable[[Any], Any]
    Metadata = dict[str, tuple[d.DataType, Callable[[dict[str, Any]], Any]]]

_INSERT, _BEFORE, _AFTER, _DELETE = range(4)
_JSON = (IGNORE_ERRORS, STANDARD, NULL_KEYS, NULL_KEY_TEXT, PLAIN_DECIMALS, IGNORE_NULLS)
SCHEMA_INCLUDE = option("schema-include", "boolean", default=False, doc="messages have a schema")
DATABASE = option("database.include", doc="a pattern of databases to read")
TABLE = option("table.include", doc="a pattern of tables to read")
_IDENTITY = (
    "the line before the change is missing; if the database is PostgreSQL, set REPLICA IDENTITY "
    "of the table to FULL"
)


class _ChangelogJson(TableFormat):
    """Shared by all of them."""

    options: ClassVar[tuple[ConfigOption[Any], ...]] = _JSON
    reads = Changes.ALL
    writes = Changes.ALL
    reader_class: ClassVar[type[ChangelogReader]]
    writer_class: ClassVar[type[JsonLineWriter]]

    def readable_metadata(self) -> Mapping[str, d.DataType]:
        return {key: kind for key, (kind, _) in self.reader_class.METADATA.items()}

    def reader(
        self, columns: d.RowType, options: FormatOptions, metadata: Sequence[str] = ()
    ) -> LineReader:
        form = json_form(options)
        json_reader(columns, form)  # refuses now what could never be read
        lenient = f"'{options.prefix}{IGNORE_ERRORS.key}' = 'true'"
        reader = self.reader_class(columns, form, tuple(metadata), lenient)
        reader.configure(options)
        return reader

    def writer(self, columns: d.RowType, options: FormatOptions) -> LineWriter:
        form = json_form(options)
        json_writer(columns, form)
        return self.writer_class(columns, form)


class ChangelogReader(LineReader):
    """Reads changes; subclasses know their message."""

    METADATA: ClassVar[Metadata] = {}
    what: ClassVar[str]

    def __init__(
        self, columns: d.RowType, form: JsonForm, metadata: tuple[str, ...], lenient: str
    ) -> None:
        self.columns = columns
        self.form = form
        self.metadata = metadata
        self.lenient = lenient
        self._read: Read | None = None  # rebuilt on first use: a closure

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_read": None}

    def configure(self, options: FormatOptions) -> None:
        """Takes the options of its own."""

    @abstractmethod
    def changes(self, root: dict[str, Any]) -> list[tuple[Line, int]]:
        """The lines of a message and their kinds."""

    def line(self, found: Any) -> Line:
        """An object as a line."""
        if self._read is None:
            self._read = json_reader(self.columns, self.form)
        read = self._read(found)
        if read is None:
            msg = f"{json_text(found):.60} is not a line"
            raise ValueError(msg)
        line: Line = read
        return line

    def read(self, message: bytes) -> Sequence[Line]:
        if not message:
            return ()
        try:
            root = parsed_json(message, decimals=needs_decimals(self.columns))
            if not isinstance(root, dict):
                msg = f"{json_text(root):.60} is not an object"
                raise ValueError(msg)
            more = tuple(self.METADATA[key][1](root) for key in self.metadata)
            return [(*line, *more, kind) for line, kind in self.changes(root)]
        except (ValueError, ArithmeticError, RecursionError, TypeError, LookupError) as error:
            if self.form.ignore_errors:
                return ()
            raise bad_message(message, self.what, error, type(self), self.lenient) from error


def _unknown(field: str, found: Any) -> ValueError:
    return ValueError(f"{field!r} is {found!r}, which is not known")


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return json_text(value) if isinstance(value, dict | list) else scalar_text(value)


def _millis(value: Any) -> dt.datetime | None:
    if value is None:
        return None
    return dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(milliseconds=int(value))


def _texts(found: Any) -> dict[str, str | None] | None:
    return {k: _text(v) for k, v in found.items()} if isinstance(found, dict) else None


_MOMENT = d.DataTypes.TIMESTAMP_LTZ(3)
_TEXT = d.DataTypes.STRING()
_TEXTS = d.DataTypes.ARRAY(_TEXT)


# --- debezium ------------------------------------------------------------------------------------


def _payload(root: dict[str, Any]) -> dict[str, Any]:
    inner = root.get("payload")
    return inner if "schema" in root and isinstance(inner, dict) else root


def _source(root: dict[str, Any], key: str) -> Any:
    return (_payload(root).get("source") or {}).get(key)


class DebeziumReader(ChangelogReader):
    """Debezium's envelopes."""

    what = "a change of Debezium's"
    METADATA: ClassVar[Metadata] = {
        "schema": (_TEXT, lambda root: _text(root.get("schema"))),
        "ingestion-timestamp": (_MOMENT, lambda root: _millis(_payload(root).get("ts_ms"))),
        "source.timestamp": (_MOMENT, lambda root: _millis(_source(root, "ts_ms"))),
        "source.database": (_TEXT, lambda root: _text(_source(root, "db"))),
        "source.schema": (_TEXT, lambda root: _text(_source(root, "schema"))),
        "source.table": (_TEXT, lambda root: _text(_source(root, "table"))),
        "source.properties": (
            d.DataTypes.MAP(_TEXT, _TEXT),
            lambda root: _texts(_payload(root).get("source")),
        ),
    }

    def configure(self, options: FormatOptions) -> None:
        self.with_schema = bool(options.get(SCHEMA_INCLUDE))

    def changes(self, root: dict[str, Any]) -> list[tuple[Line, int]]:
        payload = root["payload"] if self.with_schema else root
        before, after, op = payload.get("before"), payload.get("after"), payload.get("op")
        return changes_of(self, before, after, op, {"c": "I", "r": "I", "u": "U", "d": "D"})


def changes_of(
    reader: ChangelogReader, before: Any, after: Any, op: Any, meaning: Mapping[str, str]
) -> list[tuple[Line, int]]:
    """The lines of a change that tells the line before and the line after it."""
    match meaning.get(op):
        case "I":
            return [(reader.line(after), _INSERT)]
        case "U" | "D" as what:
            if before is None:
                raise ValueError(_IDENTITY)
            if what == "D":
                return [(reader.line(before), _DELETE)]
            return [(reader.line(before), _BEFORE), (reader.line(after), _AFTER)]
        case _:
            raise _unknown("op", op)


class DebeziumWriter(JsonLineWriter):
    """``{"before":…,"after":…,"op":…}``."""

    def write(self, values: Line, kind: int = 0) -> bytes:
        line = self.text(values[: len(self.columns)])
        if kind in (_INSERT, _AFTER):
            return f'{{"before":null,"after":{line},"op":"c"}}'.encode()
        return f'{{"before":{line},"after":null,"op":"d"}}'.encode()

    def write_many(self, lines: Sequence[Line]) -> list[bytes | None]:
        return [self.write(line) for line in lines]


class DebeziumTables(_ChangelogJson):
    """Debezium's changes."""

    name: ClassVar[str] = "debezium-json"
    options = (*_JSON, SCHEMA_INCLUDE)
    reader_class = DebeziumReader
    writer_class = DebeziumWriter

    def writer(self, columns: d.RowType, options: FormatOptions) -> LineWriter:
        if options.get(SCHEMA_INCLUDE):
            raise ConfigurationError(
                f"'{options.prefix}{SCHEMA_INCLUDE.key}' cannot be true where changes are written",
                where=options.where,
                fix="leave the option out",
            )
        return super().writer(columns, options)


# --- canal and maxwell ---------------------------------------------------------------------------


def _with_old(after: Any, old: Any) -> dict[str, Any]:
    """The line before an update: `old` has the fields that have changed alone."""
    return {**after, **(old or {})}


class CanalReader(ChangelogReader):
    """Canal's messages, each with some lines."""

    what = "a change of Canal's"
    METADATA: ClassVar[Metadata] = {
        "database": (_TEXT, lambda root: _text(root.get("database"))),
        "table": (_TEXT, lambda root: _text(root.get("table"))),
        "sql-type": (
            d.DataTypes.MAP(_TEXT, d.DataTypes.INT()),
            lambda root: root.get("sqlType"),
        ),
        "pk-names": (_TEXTS, lambda root: root.get("pkNames")),
        "ingestion-timestamp": (_MOMENT, lambda root: _millis(root.get("ts"))),
        "event-timestamp": (_MOMENT, lambda root: _millis(root.get("es"))),
    }

    def configure(self, options: FormatOptions) -> None:
        self.database = options.get(DATABASE)
        self.table = options.get(TABLE)

    def changes(self, root: dict[str, Any]) -> list[tuple[Line, int]]:
        for pattern, key in ((self.database, "database"), (self.table, "table")):
            if pattern is not None and not re.fullmatch(pattern, str(root[key])):
                return []
        kind, lines = root.get("type"), root.get("data") or []
        if kind in ("INSERT", "DELETE"):
            change = _INSERT if kind == "INSERT" else _DELETE
            return [(self.line(found), change) for found in lines]
        if kind == "UPDATE":
            found: list[tuple[Line, int]] = []
            for after, old in zip(lines, root.get("old") or [], strict=True):
                found.append((self.line(_with_old(after, old)), _BEFORE))
                found.append((self.line(after), _AFTER))
            return found
        if kind == "CREATE":
            return []
        raise _unknown("type", kind)


class CanalWriter(JsonLineWriter):
    """``{"data":[…],"type":…}``."""

    def write(self, values: Line, kind: int = 0) -> bytes:
        what = "INSERT" if kind in (_INSERT, _AFTER) else "DELETE"
        return f'{{"data":[{self.text(values[: len(self.columns)])}],"type":"{what}"}}'.encode()

    def write_many(self, lines: Sequence[Line]) -> list[bytes | None]:
        return [self.write(line) for line in lines]


class CanalTables(_ChangelogJson):
    """Canal's changes."""

    name: ClassVar[str] = "canal-json"
    options = (*_JSON, DATABASE, TABLE)
    reader_class = CanalReader
    writer_class = CanalWriter


class MaxwellReader(ChangelogReader):
    """Maxwell's messages, each with one line."""

    what = "a change of Maxwell's"
    METADATA: ClassVar[Metadata] = {
        "database": (_TEXT, lambda root: _text(root.get("database"))),
        "table": (_TEXT, lambda root: _text(root.get("table"))),
        "primary-key-columns": (_TEXTS, lambda root: root.get("primary_key_columns")),
        "ingestion-timestamp": (_MOMENT, lambda root: _millis(root.get("ts"))),
    }

    def changes(self, root: dict[str, Any]) -> list[tuple[Line, int]]:
        kind, found = root.get("type"), root.get("data")
        if kind == "insert":
            return [(self.line(found), _INSERT)]
        if kind == "delete":
            return [(self.line(found), _DELETE)]
        if kind == "update":
            before = self.line(_with_old(found, root.get("old")))
            return [(before, _BEFORE), (self.line(found), _AFTER)]
        raise _unknown("type", kind)


class MaxwellWriter(JsonLineWriter):
    """``{"data":…,"type":…}``."""

    def write(self, values: Line, kind: int = 0) -> bytes:
        what = "insert" if kind in (_INSERT, _AFTER) else "delete"
        return f'{{"data":{self.text(values[: len(self.columns)])},"type":"{what}"}}'.encode()

    def write_many(self, lines: Sequence[Line]) -> list[bytes | None]:
        return [self.write(line) for line in lines]


class MaxwellTables(_ChangelogJson):
    """Maxwell's changes."""

    name: ClassVar[str] = "maxwell-json"
    reader_class = MaxwellReader
    writer_class = MaxwellWriter


# --- Oracle's GoldenGate -------------------------------------------------------------------------


class OggReader(ChangelogReader):
    """GoldenGate's messages."""

    what = "a change of GoldenGate's"
    METADATA: ClassVar[Metadata] = {
        "table": (_TEXT, lambda root: _text(root.get("table"))),
        "primary-keys": (_TEXTS, lambda root: root.get("primary_keys")),
    }

    def changes(self, root: dict[str, Any]) -> list[tuple[Line, int]]:
        op = root.get("op_type")
        return changes_of(
            self, root.get("before"), root.get("after"), op, {"I": "I", "U": "U", "D": "D"}
        )


class OggWriter(JsonLineWriter):
    """``{"before":…,"after":…,"op_type":…}``."""

    def write(self, values: Line, kind: int = 0) -> bytes:
        line = self.text(values[: len(self.columns)])
        if kind in (_INSERT, _AFTER):
            return f'{{"before":null,"after":{line},"op_type":{quoted("I")}}}'.encode()
        return f'{{"before":{line},"after":null,"op_type":{quoted("D")}}}'.encode()

    def write_many(self, lines: Sequence[Line]) -> list[bytes | None]:
        return [self.write(line) for line in lines]


class OggTables(_ChangelogJson):
    """GoldenGate's changes."""

    name: ClassVar[str] = "ogg-json"
    reader_class = OggReader
    writer_class = OggWriter
