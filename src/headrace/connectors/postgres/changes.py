"""What a batch does to a table: appends rows, replaces and deletes rows, or runs a statement.

In: the committables of a batch, in a transaction that committer.py has begun.
Out: changes of the table.

Several changes of one key in one batch: the last one counts. Last is the highest (subtask, position
in the subtask). The records of a key come from one subtask when the stream is keyed by it, so
that is the order of the stream.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from headrace.connectors.driver.record_chunks import RecordChunk, records_in_order
from headrace.connectors.postgres.client import psycopg_module
from headrace.connectors.postgres.table import (
    check_key,
    describe_table,
    quoted_name,
    quoted_names,
)
from headrace.connectors.postgres.writer import (
    DELETED,
    ORDER,
    PostgresTarget,
    StagedRows,
    copy_columns,
    stage_columns,
)
from headrace.errors import ConnectorError, TypeMismatchError

if TYPE_CHECKING:
    from headrace.connectors.postgres.client import Connection

_FEW = "headrace_few"


class AppendRows:
    """Inserts all rows, subtask by subtask, each in the order of writing."""

    def __init__(self, target: PostgresTarget) -> None:
        self._target = target
        self._where = target.client().where
        self._table = ""

    def prepare(self, connection: Connection) -> None:
        self._table = describe_table(connection, self._target.table, self._where).sql

    def __call__(self, connection: Connection, committables: list[StagedRows]) -> None:
        table = self._table
        for staged in sorted(committables, key=lambda s: s.subtask):
            names = quoted_names(staged.names)
            if staged.place is None:
                _copy(connection, f"{table} ({names})", staged)
                continue
            source = self._target.own_table(staged.place)
            _check_complete(connection, source, staged, self._where)
            connection.execute(f"INSERT INTO {table} ({names}) SELECT {names} FROM {source}")


class UpsertRows:
    """Keeps one row for each key: the last one written."""

    def __init__(self, target: PostgresTarget) -> None:
        self._target = target
        self._where = target.client().where
        self._table = ""

    def prepare(self, connection: Connection) -> None:
        table = describe_table(connection, self._target.table, self._where)
        check_key(connection, self._target.table, table, self._target.key)
        self._table = table.sql

    def __call__(self, connection: Connection, committables: list[StagedRows]) -> None:
        if not committables:
            return
        first = committables[0]
        self._check_columns(first, committables)
        sources = [self._gather_few(connection, [s for s in committables if s.place is None])]
        for staged in committables:
            if staged.place is not None:
                source = self._target.own_table(staged.place)
                _check_complete(connection, source, staged, self._where)
                sources.append(source)
        connection.execute(self._statement(first.names, [s for s in sources if s]))

    def _check_columns(self, first: StagedRows, committables: list[StagedRows]) -> None:
        missing = [name for name in self._target.key if name not in first.names]
        other = next((s for s in committables if set(s.names) != set(first.names)), None)
        if missing or other is not None:
            said = (
                f"the records have no field for the key column {', '.join(missing)}"
                if missing or other is None
                else f"some records of the batch have the fields {', '.join(first.names)}, others "
                f"{', '.join(other.names)}"
            )
            raise TypeMismatchError(
                said,
                where=self._where,
                fix="give all records the same fields, the key among them, or choose some with "
                "columns=[...]",
            )

    def _gather_few(self, connection: Connection, few: list[StagedRows]) -> str | None:
        """The rows that travelled with the committables, as a table of this transaction."""
        if not few:
            return None
        key = self._target.key
        columns = stage_columns(few[0].columns, key)
        connection.execute(f"CREATE TEMP TABLE {_FEW} ({columns}) ON COMMIT DROP")
        for staged in few:
            _copy(connection, f"pg_temp.{_FEW} ({copy_columns(staged, key)})", staged)
        return f"pg_temp.{_FEW}"

    def _statement(self, columns: tuple[str, ...], sources: list[str]) -> str:
        table = self._table
        names, key = quoted_names(columns), quoted_names(self._target.key)
        rows = " UNION ALL ".join(f"SELECT {ORDER}, {DELETED}, {names} FROM {s}" for s in sources)
        same_key = " AND ".join(
            f"t.{quoted_name(name)} = l.{quoted_name(name)}" for name in self._target.key
        )
        updates = ", ".join(
            f"{quoted_name(name)} = excluded.{quoted_name(name)}"
            for name in columns
            if name not in self._target.key
        )
        # One statement sees one state of the table, and the two halves have no key in common.
        return (
            f"WITH latest AS MATERIALIZED (SELECT DISTINCT ON ({key}) * FROM ({rows}) AS staged "
            f"ORDER BY {key}, {ORDER} DESC), "
            f"gone AS (DELETE FROM {table} t USING latest l WHERE l.{DELETED} AND {same_key}) "
            f"INSERT INTO {table} ({names}) SELECT {names} FROM latest WHERE NOT {DELETED} "
            f"ON CONFLICT ({key}) DO " + (f"UPDATE SET {updates}" if updates else "NOTHING")
        )


class RunStatement:
    """Runs one statement of the user's for every record, in order, from the driver.

    Args:
        statement: with ``%s`` for each field.
        batch_size: how many records are sent at once.
    """

    def __init__(self, statement: str, batch_size: int) -> None:
        self._statement = statement
        self._batch_size = batch_size

    def prepare(self, connection: Connection) -> None:
        """Nothing: the server reads the statement when the first record comes."""

    def __call__(self, connection: Connection, committables: list[RecordChunk]) -> None:
        rows = (record.value for record in records_in_order(committables))
        with connection.cursor() as cursor:
            while some := list(islice(rows, self._batch_size)):
                cursor.executemany(self._statement, some)


def _copy(connection: Connection, into: str, staged: StagedRows) -> None:
    with connection.cursor().copy(f"COPY {into} FROM STDIN (FORMAT csv)") as out:
        out.write(staged.content or b"")


def _check_complete(connection: Connection, source: str, staged: StagedRows, where: str) -> None:
    """Unlogged tables are empty after a crash of the server."""
    try:
        found = connection.execute(f"SELECT count(*) FROM {source}").fetchone()
    except psycopg_module().errors.UndefinedTable:
        found = None
    rows = 0 if found is None else int(found[0])
    if rows != staged.count:
        raise ConnectorError(
            f"subtask {staged.subtask} staged {staged.count} rows, but {rows} were found",
            where=where,
            fix="has the server crashed, or do workers and driver use different servers? The "
            "batch was not written; it is repeated when the job restarts",
        )
