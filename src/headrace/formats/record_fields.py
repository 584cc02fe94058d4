"""Turns records into the columns of a file.

In: records of a typed stream (through data/codec.py), or of an untyped one: dicts, rows, tuples,
dataclasses, plain values.  Out: Arrow batches for Parquet, name-to-value dicts for JSON and CSV.
Next: bulk_writers.py
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

from headrace.common.types import Row, RowKind
from headrace.data.codec import Codec, DoesNotFit, codec_for
from headrace.errors import TypeMismatchError

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.common.typeinfo import TypeInformation

_DECLARE = (
    "make all records alike, or declare the stream's type: "
    ".map(..., output_type=Types.ROW_NAMED([...], [...]))"
)


class ToArrow(Protocol):
    """Makes Arrow batches that all have one schema."""

    schema: pa.Schema | None

    def batch(self, values: list[Any]) -> pa.RecordBatch:
        """The records as columns; fixes the schema if there was none before."""


def to_arrow(type_info: TypeInformation | None, schema: pa.Schema | None = None) -> ToArrow:
    """The converter for a stream.

    Args:
        type_info: the stream's type; None or a pickled type means untyped.
        schema: the columns to write; by default those of the type, or of the first records.
    """
    if schema is None and type_info is not None:
        codec = codec_for(type_info)
        if codec.schema is not None:
            return _TypedFields(codec)
    return _UntypedFields(schema)


class _TypedFields:
    def __init__(self, codec: Codec) -> None:
        self._codec = codec
        self.schema = codec.schema

    def batch(self, values: list[Any]) -> pa.RecordBatch:
        try:
            return self._codec.encode(values)
        except DoesNotFit as error:
            raise TypeMismatchError(
                f"a record does not fit the type of the stream: {error}",
                where="file sink",
                fix="return what output_type declares, or declare what is returned",
            ) from error


class _UntypedFields:
    def __init__(self, schema: pa.Schema | None) -> None:
        self.schema = schema
        self._to_fields = fields_with(None if schema is None else schema.names)

    def batch(self, values: list[Any]) -> pa.RecordBatch:
        rows = [self._to_fields(value) for value in values]
        if self.schema is None:
            self.schema = _infer(rows)
        self._check_names(rows, values)
        try:
            return pa.RecordBatch.from_pylist(rows, schema=self.schema)
        except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
            self._blame(rows, values)
            raise _misfit(f"records do not fit the columns of the file: {error}") from error

    def _check_names(self, rows: list[dict[str, Any]], values: list[Any]) -> None:
        assert self.schema is not None
        known = set(self.schema.names)
        for row, value in zip(rows, values, strict=True):
            if not row.keys() <= known:
                extra = ", ".join(repr(name) for name in row if name not in known)
                raise _misfit(
                    f"the record {_preview(value)} has the field {extra}, but the file's columns "
                    f"are {', '.join(self.schema.names)}"
                )

    def _blame(self, rows: list[dict[str, Any]], values: list[Any]) -> None:
        """Finds the record behind a failed batch; only then, because it is slow."""
        assert self.schema is not None
        for row, value in zip(rows, values, strict=True):
            for field in self.schema:
                try:
                    pa.array([row.get(field.name)], type=field.type)
                except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
                    cell = row.get(field.name)
                    raise _misfit(
                        f"field {field.name!r} of the record {_preview(value)} is {cell!r} "
                        f"({type(cell).__name__}), but the column is {field.type}"
                    ) from error


def _infer(rows: list[dict[str, Any]]) -> pa.Schema:
    names = list(dict.fromkeys(name for row in rows for name in row))
    fields = []
    for name in names:
        try:
            fields.append(pa.field(name, pa.array([row.get(name) for row in rows]).type))
        except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
            raise _misfit(
                f"the values of field {name!r} have no common column type: {error}"
            ) from error
    return pa.schema(fields)


def fields_with(names: list[str] | None) -> Callable[[Any], dict[str, Any]]:
    """Like `named_fields`, with these names for records that do not carry their own."""
    if names is None:
        return named_fields

    def with_declared_names(value: Any) -> dict[str, Any]:
        if not isinstance(value, Row | tuple) or getattr(value, "_fields", None):
            fields = named_fields(value)
            same = fields.keys() == set(names)
            return {name: fields[name] for name in names} if same else fields
        if len(value) != len(names):
            raise _misfit(
                f"the record {_preview(value)} has {len(value)} fields, but the columns are "
                f"{', '.join(names)}"
            )
        return {name: plain(item) for name, item in zip(names, value, strict=True)}

    return with_declared_names


def only_inserts(to_fields: Callable[[Any], dict[str, Any]]) -> Callable[[Any], dict[str, Any]]:
    """Refuses rows that take something back: a file has no place for their kind."""

    def checked(value: Any) -> dict[str, Any]:
        if isinstance(value, Row) and value.get_row_kind() is not RowKind.INSERT:
            raise TypeMismatchError(
                f"the row {_preview(value)} is of kind {value.get_row_kind()}, but a file can only "
                "hold inserts",
                where="file sink",
                fix="filter or map the changelog first, for example to a dict with its kind",
            )
        return to_fields(value)

    return checked


def declared_names(type_info: TypeInformation | None) -> list[str] | None:
    """The field names of a row or tuple type; None for every other type."""
    get_names: Callable[[], list[str]] | None = getattr(type_info, "get_field_names", None)
    return None if get_names is None else list(get_names())


def named_fields(value: Any) -> dict[str, Any]:
    """A record as a dict from column name to value; nested records become dicts too.

    Rows and tuples without names get ``f0``, ``f1``, ...; a plain value becomes column ``value``.
    """
    if isinstance(value, Row):
        names = value._names or [f"f{i}" for i in range(len(value))]
        return {name: plain(item) for name, item in zip(names, value, strict=True)}
    if isinstance(value, dict):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, tuple):
        names = getattr(value, "_fields", None) or [f"f{i}" for i in range(len(value))]
        return {name: plain(item) for name, item in zip(names, value, strict=True)}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    return {"value": plain(value)}


_PLAIN_TYPES = frozenset({type(None), str, int, float, bool, bytes})


def has_fields(value: Any) -> bool:
    """Whether a record consists of fields, rather than being one value."""
    return isinstance(value, Row | dict | tuple) or (
        dataclasses.is_dataclass(value) and not isinstance(value, type)
    )


def plain(value: Any) -> Any:
    """A value with nested rows, tuples and dataclasses as dicts and lists."""
    if type(value) in _PLAIN_TYPES:
        return value
    if isinstance(value, Row) or hasattr(value, "_fields") or dataclasses.is_dataclass(value):
        return named_fields(value)
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return value


def _misfit(message: str) -> TypeMismatchError:
    return TypeMismatchError(message, where="file sink", fix=_DECLARE)


def _preview(value: Any, limit: int = 120) -> str:
    text = repr(value)
    return text if len(text) <= limit else f"{text[:limit]}..."
