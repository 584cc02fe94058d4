"""Records as the CSV text that PostgreSQL's COPY reads.

In: records of any shape, or Arrow batches, and the table they are for.  Out: bytes, one line a row.
Next: writer.py

In COPY's CSV an empty cell is NULL and a quoted one is text, so every text is quoted.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import decimal
import io
import json
import numbers
import uuid
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.csv

from headrace.common.time import Instant
from headrace.common.types import Row
from headrace.connectors.postgres.table import Form, KnownTable, TableColumn, close_to
from headrace.errors import TypeMismatchError
from headrace.formats.bulk_writers import json_value
from headrace.formats.record_fields import plain

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_CSV = pyarrow.csv.WriteOptions(include_header=False)


class RowColumns:
    """Which columns a writer fills, and what of a record goes into them.

    The columns are fixed by the declared type or by the first record; all others must agree.

    Args:
        table: the target.
        chosen: the columns the user asked for, or None for those that the records have.
        declared: field names of the stream's type, or None when it has none.
    """

    def __init__(
        self, table: KnownTable, chosen: tuple[str, ...] | None, declared: list[str] | None
    ) -> None:
        self._table = table
        self._where = f"table {table.sql}"
        self._chosen = chosen
        self._declared = None if declared == _unnamed(len(declared or ())) else declared
        self._names: list[str] = []
        self._fixed: tuple[TableColumn, ...] | None = None

    @property
    def fixed(self) -> tuple[TableColumn, ...]:
        """The columns; known after the first record."""
        assert self._fixed is not None
        return self._fixed

    def cells(self, record: Any) -> Sequence[Any]:
        """The values of a record, in the order of the columns."""
        if self._fixed is None:
            self._fix(_names_of(record) or self._declared, _width(record))
        names = self._names
        if isinstance(record, Row):
            fields = record._names
            if fields is None or fields == names:
                return self._whole(record._values, record)
            return self._named(dict(zip(fields, record._values, strict=True)), record)
        if isinstance(record, dict):
            return self._named(record, record)
        if isinstance(record, tuple | list):
            fields = getattr(record, "_fields", None)
            if fields is None or list(fields) == names:
                return self._whole(record, record)
            return self._named(dict(zip(fields, record, strict=True)), record)
        if _is_instance_with_fields(record):
            found = {f.name: getattr(record, f.name) for f in dataclasses.fields(record)}
            return self._named(found, record)
        return self._whole([record], record)

    def arrow_columns(self, batch: pa.RecordBatch) -> list[pa.Array] | None:
        """The columns of a batch, or None when they cannot go into the table as they are."""
        names = self._declared
        if self._fixed is None:
            self._fix(names, batch.num_columns)
        arrays = batch.columns
        if names is not None and names != self._names:
            if not set(self._names) <= set(names):
                return None
            arrays = [batch.column(name) for name in self._names]
        elif len(arrays) != len(self.fixed):
            return None
        fit = all(_fits(array.type, c) for array, c in zip(arrays, self.fixed, strict=True))
        return arrays if fit else None

    def _whole(self, values: Sequence[Any], record: Any) -> Sequence[Any]:
        if len(values) != len(self._names):
            raise self._misfit(
                f"the record {_preview(record)} has {len(values)} fields, but the columns are "
                f"{', '.join(self._names)}"
            )
        return values

    def _named(self, fields: dict[str, Any], record: Any) -> Sequence[Any]:
        try:
            found = [fields[name] for name in self._names]
        except KeyError as error:
            raise self._misfit(
                f"the record {_preview(record)} has no field {error}, but the columns are "
                f"{', '.join(self._names)}"
            ) from None
        if self._chosen is None and len(fields) != len(found):
            extra = ", ".join(repr(name) for name in fields if name not in self._names)
            raise self._misfit(
                f"the record {_preview(record)} has the field {extra}, but the columns are "
                f"{', '.join(self._names)}"
            )
        return found

    def _fix(self, names: Sequence[str] | None, width: int) -> None:
        """Settles the columns."""
        wanted: Sequence[str] | None = self._chosen or names
        if wanted is None:
            wanted = [column.name for column in self._table.columns if column.writable]
            if len(wanted) != width:
                raise self._misfit(
                    f"records have {width} fields without names, but the table has the columns "
                    f"{', '.join(wanted)}"
                )
        columns = tuple(self._column(name) for name in wanted)
        missing = [c.name for c in self._table.columns if c.needed and c not in columns]
        if missing:
            raise self._misfit(
                f"the records give no value for column {', '.join(missing)}, which has no default "
                "and may not be null"
            )
        self._fixed = columns
        self._names = [column.name for column in columns]

    def _column(self, name: str) -> TableColumn:
        column = self._table.column(name)
        if column is None or not column.writable:
            known = [c.name for c in self._table.columns if c.writable]
            state = "is not there" if column is None else "is generated by the database"
            raise self._misfit(
                f"the records have the field {name!r}, but that column {state}; the columns are "
                f"{', '.join(known)}{close_to(name, known)}"
            )
        return column

    def _misfit(self, message: str) -> TypeMismatchError:
        return TypeMismatchError(
            message,
            where=self._where,
            fix="give the records the names of the columns (a dict, a named Row), or say which "
            "columns their fields go to: columns=[...]",
        )


def _unnamed(width: int) -> list[str]:
    return [f"f{i}" for i in range(width)]


def _names_of(record: Any) -> list[str] | None:
    if isinstance(record, dict):
        return list(record)
    fields = getattr(record, "_fields", None) if isinstance(record, Row | tuple) else None
    if fields is not None:
        return list(fields)
    if _is_instance_with_fields(record):
        return [f.name for f in dataclasses.fields(record)]
    return None


def _width(record: Any) -> int:
    return len(record) if isinstance(record, Row | tuple | list) else 1


def _is_instance_with_fields(record: Any) -> bool:
    return dataclasses.is_dataclass(record) and not isinstance(record, type)


def _preview(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 120 else f"{text[:120]}..."


# from columns to CSV


def arrow_csv(arrays: list[pa.Array]) -> bytes:
    """Arrow columns as CSV lines."""
    out = io.BytesIO()
    batch = pa.RecordBatch.from_arrays(arrays, names=_unnamed(len(arrays)))
    pyarrow.csv.write_csv(batch, out, _CSV)
    return out.getvalue()


def order_columns(start: int, count: int) -> list[pa.Array]:
    """The two columns that upserts have in front: the position, and that nothing is deleted."""
    positions = pa.array(np.arange(start, start + count, dtype=np.int64))
    return [positions, pa.array(np.zeros(count, dtype=bool))]


def _fits(kind: pa.DataType, column: TableColumn) -> bool:
    """Whether Arrow's text of a value is what PostgreSQL reads."""
    types = pa.types
    if types.is_string(kind):
        return column.form is not Form.ARRAY
    return column.form is Form.PLAIN and bool(
        types.is_integer(kind)
        or types.is_floating(kind)
        or types.is_boolean(kind)
        or types.is_timestamp(kind)
        or types.is_date32(kind)
        or types.is_time64(kind)
    )


# from Python values to CSV


def csv_text(
    rows: list[Sequence[Any]], columns: tuple[TableColumn, ...], front: list[list[str]]
) -> str:
    """Rows as lines.

    Args:
        rows: the values, one for each column.
        columns: the columns.
        front: cells of columns that stand before these.
    """
    if not rows:
        return ""
    # Column by column: most have values of one type, and need one decision instead of thousands.
    cells = [_column_cells(v, c) for v, c in zip(zip(*rows, strict=True), columns, strict=True)]
    return "\n".join(map(",".join, zip(*front, *cells, strict=True))) + "\n"


def _column_cells(values: Sequence[Any], column: TableColumn) -> list[str]:
    kinds = set(map(type, values))
    if column.form is Form.PLAIN:
        form = _CELLS.get(next(iter(kinds))) if len(kinds) == 1 else None
        if form is not None:
            return list(map(form, values))
        if kinds <= _CELLS.keys():
            return [_CELLS[type(value)](value) for value in values]
    return ["" if value is None else _special_cell(value, column) for value in values]


def _special_cell(value: Any, column: TableColumn) -> str:
    return _quoted(_special_text(value, column))


def _special_text(value: Any, column: TableColumn) -> str:
    if column.form is Form.JSON and not isinstance(value, str):
        return json.dumps(plain(value), default=json_value, ensure_ascii=False)
    if column.form is Form.ARRAY and isinstance(value, list | tuple):
        return _array_text(value, column)
    return _text(value, column)


def _array_text(values: Sequence[Any], column: TableColumn) -> str:
    """An array as PostgreSQL writes it: ``{"1",NULL,{"2"}}``; it reads quoted numbers, too."""
    items = []
    for value in values:
        if value is None:
            items.append("NULL")
        elif isinstance(value, list | tuple):
            items.append(_array_text(value, column))
        else:
            escaped = _text(value, column).replace("\\", "\\\\").replace('"', '\\"')
            items.append(f'"{escaped}"')
    return "{" + ",".join(items) + "}"


def _text(value: Any, column: TableColumn) -> str:
    """The text of one value, found by its type or a base of it."""
    text = _TEXTS.get(type(value))
    if text is None:
        text = next((form for kind, form in _TEXTS.items() if isinstance(value, kind)), None)
    if text is not None:
        return text(value)
    if isinstance(value, numbers.Integral):  # numpy's, say
        return str(int(value))
    if isinstance(value, numbers.Real):
        return repr(float(value))
    raise TypeMismatchError(
        f"{_preview(value)} ({type(value).__name__}) has no form for column {column.name!r} of "
        f"type {column.sql_type}",
        where=f"column {column.name}",
        fix="convert the field before the sink; dicts go into columns of type json or jsonb, lists "
        "into arrays too",
    )


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def _timestamp(value: dt.datetime) -> str:
    return value.isoformat(" ")


def _interval(value: dt.timedelta) -> str:
    return f"{value.days} days {value.seconds} seconds {value.microseconds} microseconds"


def _instant(value: Instant) -> str:
    start = dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(seconds=value.seconds)
    return f"{start:%Y-%m-%d %H:%M:%S}.{value.nanos:09d}+00"


_TEXTS: dict[type, Callable[[Any], str]] = {
    str: str.__str__,
    bool: lambda value: "true" if value else "false",
    int: int.__repr__,
    float: float.__repr__,
    decimal.Decimal: str,
    dt.datetime: _timestamp,
    dt.date: dt.date.isoformat,
    dt.time: dt.time.isoformat,
    dt.timedelta: _interval,
    Instant: _instant,
    uuid.UUID: str,
    bytes: lambda value: "\\x" + value.hex(),
    bytearray: lambda value: "\\x" + value.hex(),
}

# The usual types, as cells: none of these texts but a str's can hold a comma or a quote.
_CELLS: dict[type, Callable[[Any], str]] = {
    **_TEXTS,
    str: _quoted,
    type(None): lambda _: "",
}
