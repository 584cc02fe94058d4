"""Stages the rows of one subtask and batch for PostgreSQL.

In: records.  Out: a `StagedRows`: the rows themselves when they are few, else the name of an
unlogged table that holds them.  Next: committer.py
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from headrace.common.types import Row, RowKind
from headrace.connectors.postgres.client import PostgresClient
from headrace.connectors.postgres.rows import RowColumns, arrow_csv, csv_text, order_columns
from headrace.connectors.postgres.table import (
    KnownTable,
    TableColumn,
    TableMemory,
    describe_table,
    quoted_name,
    quoted_names,
)
from headrace.errors import TypeMismatchError
from headrace.formats.record_fields import declared_names
from headrace.io.server_calls import Retries, sink_hash
from headrace.spi.staging import Staged, StagingWriter

if TYPE_CHECKING:
    import pyarrow as pa

    from headrace.connectors.postgres.client import Connection
    from headrace.spi.sink import WriterContext

# In front of the columns of an upsert.
ORDER, DELETED = "headrace_order", "headrace_deleted"
# Positions count within a subtask; subtasks stand one after the other.
_SUBTASK_SHIFT = 40
_COPY_BYTES = 1 << 20

_tables = TableMemory()


@dataclass(frozen=True, slots=True)
class PostgresTarget:
    """Where and how a PostgreSQL sink writes; travels to the workers.

    Attributes:
        conninfo: the database.
        table: the table as the user names it.
        key: the columns of an upsert; empty means append.
        columns: the columns to write, or None for the fields of the records.
        staging_schema: where headrace's own tables are; None is the session's first schema.
        retries: the patience with the server.
    """

    conninfo: str
    table: str
    key: tuple[str, ...] = ()
    columns: tuple[str, ...] | None = None
    staging_schema: str | None = None
    retries: Retries = field(default_factory=Retries)

    def client(self) -> PostgresClient:
        """A way to the database."""
        return PostgresClient(self.conninfo, f"table {self.table}", self.retries)

    def own_table(self, name: str) -> str:
        """The SQL name of a table of headrace's own."""
        if self.staging_schema is None:
            return quoted_name(name)
        return f"{quoted_name(self.staging_schema)}.{quoted_name(name)}"


@dataclass(frozen=True, slots=True)
class StagedRows(Staged):
    """What one subtask wrote in one batch; the content is CSV.

    Attributes:
        columns: the columns, with their types.
    """

    columns: tuple[TableColumn, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(column.name for column in self.columns)


class PostgresWriter(StagingWriter):
    """The writer of one subtask and batch; talks to the server when the batch ends."""

    def __init__(self, target: PostgresTarget, context: WriterContext) -> None:
        super().__init__(context)
        self._target = target
        self._client = target.client()
        table = _tables.get(target.conninfo, target.table, context, self._describe)
        self._columns = RowColumns(table, target.columns, declared_names(context.type_info))
        self._rows = 0

    def write(self, values: list[Any], timestamps: list[int] | None) -> None:
        front: list[list[str]] = []
        if self._target.key:
            values, deleted = _changes(values)
            start = self._next_position()
            front = [[str(n) for n in range(start, start + len(values))], deleted]
        else:
            self._check_inserts(values)
        rows = [self._columns.cells(value) for value in values]
        if not rows:
            return
        text = csv_text(rows, self._columns.fixed, front)
        self._rows += len(rows)
        try:
            self.spool.write(text.encode())
        except UnicodeEncodeError as error:
            raise TypeMismatchError(
                f"a text in the records is not valid Unicode: {error}",
                where=self._client.where,
                fix="clean the text before the sink: text.encode('utf-8', 'replace').decode()",
            ) from error

    def write_arrow(self, batch: pa.RecordBatch, timestamps: list[int] | None) -> bool:
        arrays = self._columns.arrow_columns(batch)
        if arrays is None:
            return False
        if self._target.key:
            arrays = [*order_columns(self._next_position(), batch.num_rows), *arrays]
        self.spool.write(arrow_csv(arrays))
        self._rows += batch.num_rows
        return True

    def abort(self) -> None:
        super().abort()
        _tables.forget(self._target.conninfo, self._target.table)

    def end_batch(self) -> int:
        return self._rows

    def stage_content(self, count: int) -> str:
        place = self.context
        attempt = f"{place.subtask_index}-{place.attempt}"
        table = stage_name(place.job_id, place.sink_uid, place.batch_id, attempt)
        what = f"stage {count} rows for table {self._target.table}"
        # Made in the transaction that fills it: an attempt that fails leaves nothing.
        self._client.run(what, self._copy_to(table))
        return table

    def staged(self, count: int, content: Any | None, place: str | None) -> StagedRows:
        subtask = self.context.subtask_index
        return StagedRows(subtask, count, content, place, self._columns.fixed)

    def _describe(self) -> KnownTable:
        name = self._target.table
        return self._client.run(
            f"read the columns of table {name}",
            lambda connection: describe_table(connection, name, self._client.where),
        )

    def _copy_to(self, name: str) -> Any:
        table = self._target.own_table(name)
        columns = self._columns.fixed

        def copy(connection: Connection) -> None:
            # If the server crashes it forgets these rows; the committer sees that they are missing.
            connection.execute("SET LOCAL synchronous_commit = off")
            connection.execute(f"DROP TABLE IF EXISTS {table}")
            stage = stage_columns(columns, self._target.key)
            connection.execute(f"CREATE UNLOGGED TABLE {table} ({stage})")
            self.spool.seek(0)
            with connection.cursor().copy(f"COPY {table} FROM STDIN (FORMAT csv)") as out:
                while chunk := self.spool.read(_COPY_BYTES):
                    out.write(chunk)

        return copy

    def _check_inserts(self, values: list[Any]) -> None:
        for value in values:
            if isinstance(value, Row) and value.get_row_kind() is not RowKind.INSERT:
                raise TypeMismatchError(
                    f"the row {value!r} is of kind {value.get_row_kind()}, but the sink only "
                    "appends",
                    where=self._client.where,
                    fix="use PostgresSink.upsert for a changelog, or filter the kinds first",
                )

    def _next_position(self) -> int:
        return (self.context.subtask_index << _SUBTASK_SHIFT) + self._rows


def _changes(values: list[Any]) -> tuple[list[Any], list[str]]:
    """The records that change something, and for each as SQL whether it deletes."""
    kinds = [value.get_row_kind() if isinstance(value, Row) else None for value in values]
    if RowKind.UPDATE_BEFORE in kinds:  # the UPDATE_AFTER that follows says all
        values = [v for v, k in zip(values, kinds, strict=True) if k is not RowKind.UPDATE_BEFORE]
        kinds = [kind for kind in kinds if kind is not RowKind.UPDATE_BEFORE]
    return values, ["true" if kind is RowKind.DELETE else "false" for kind in kinds]


def stage_columns(columns: tuple[TableColumn, ...], key: tuple[str, ...]) -> str:
    """The columns of a staging table as SQL: it refuses what the target would refuse."""
    lines = []
    if key:
        lines += [f"{ORDER} bigint NOT NULL", f"{DELETED} boolean NOT NULL"]
    for column in columns:
        # A row that deletes may have nulls beside its key.
        refuses = column.name in key if key else column.not_null
        null = " NOT NULL" if refuses else ""
        lines.append(f"{quoted_name(column.name)} {column.sql_type}{null}")
    return ", ".join(lines)


def copy_columns(staged: StagedRows, key: tuple[str, ...]) -> str:
    """The columns of the CSV text, as SQL."""
    front = (ORDER, DELETED) if key else ()
    return quoted_names((*front, *staged.names))


# A PostgreSQL name has at most 63 bytes.
_STAGE = re.compile(r"headrace_stage_(?P<sink>[0-9a-f]{16})_(?P<batch>\d+)_(?P<day>\d+)_\w+")


def stage_name(job_id: str, sink_uid: str, batch_id: int, attempt: str) -> str:
    """The name of a staging table; from it leftovers are known."""
    sink = sink_hash(job_id, sink_uid)
    tag = sink_hash(job_id, attempt)[:12]
    return f"headrace_stage_{sink}_{batch_id}_{today()}_{tag}"


def stage_parts(name: str) -> tuple[str, int, int] | None:
    """Sink, batch and day of a staging table; None for another table."""
    match = _STAGE.fullmatch(name)
    return None if match is None else (match["sink"], int(match["batch"]), int(match["day"]))


def today() -> int:
    """Days since 1970."""
    return int(time.time() // 86_400)
