"""PostgreSQL as a sink, exactly once: rows appended, or one row kept for each key.

In: records.  Out: rows of a table.  Next: writer.py (staging),
committer.py (one transaction a batch).  PyFlink's `JdbcSink`: connectors/jdbc/sink.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.connectors.postgres.changes import AppendRows, UpsertRows
from headrace.connectors.postgres.client import check_conninfo
from headrace.connectors.postgres.committer import PostgresCommitter
from headrace.connectors.postgres.writer import PostgresTarget, PostgresWriter
from headrace.errors import InvalidArgumentError
from headrace.io.server_calls import Retries, without_password
from headrace.spi.sink import CommitterContext, Sink, WriterContext

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["PostgresSink", "Retries"]


class PostgresSink(Sink):
    """Writes records to a table of PostgreSQL; make one with `append` or `upsert`.

    Records may be dicts, named rows, NamedTuples or dataclasses, whose fields are named as the
    columns, or tuples and unnamed rows, whose fields are the columns in order. A batch becomes
    visible as a whole, in one transaction that also notes its batch id; so a job that fails and is
    started again from its checkpoint neither loses nor repeats a row.

    Needs ``pip install 'headrace[postgres]'``.

    Example:
        >>> database = "postgresql://me@127.0.0.1:5432/shop"
        >>> PostgresSink.append(database, "orders")
        PostgresSink.append('postgresql://me@127.0.0.1:5432/shop', 'orders')
        >>> PostgresSink.upsert(database, "totals", key="customer")
        PostgresSink.upsert('postgresql://me@127.0.0.1:5432/shop', 'totals', key=['customer'])

        In a program: ``orders.sink_to(PostgresSink.append(database, "orders")).uid("orders")``.
    """

    def __init__(self, target: PostgresTarget) -> None:
        self._target = target

    @staticmethod
    def append(
        conninfo: str,
        table: str,
        *,
        columns: Sequence[str] | None = None,
        staging_schema: str | None = None,
        retries: Retries | None = None,
    ) -> PostgresSink:
        """A sink that inserts every record.

        Args:
            conninfo: the database: ``postgresql://user@host:5432/name`` or ``host=... dbname=...``.
            table: its name as in SQL: ``orders``, ``sales.orders``, ``'"Orders"'``. It must exist.
            columns: the columns to fill. By default those that the records name; all of the table,
                in order, if they name none.
            staging_schema: where headrace makes its own tables (``headrace_commits`` and staging
                tables). By default the first schema of the connection's search path.
            retries: the patience with a server that is away.

        Raises:
            InvalidArgumentError: an argument is not usable.
            EnvironmentSetupError: psycopg is not installed.
        """
        return PostgresSink(
            _checked("append", conninfo, table, (), columns, staging_schema, retries)
        )

    @staticmethod
    def upsert(
        conninfo: str,
        table: str,
        key: str | Sequence[str],
        *,
        columns: Sequence[str] | None = None,
        staging_schema: str | None = None,
        retries: Retries | None = None,
    ) -> PostgresSink:
        """A sink that keeps one row for each key: the newest.

        Rows of kind DELETE delete their key's row, UPDATE_BEFORE is ignored, everything else
        inserts or replaces. Of several changes of one key in one batch the last one counts; key
        the stream by these columns, so that "last" is the order of the stream. (Else a higher
        subtask counts as later.)

        Args:
            conninfo: see `append`.
            table: see `append`.
            key: the columns of a primary key or a unique index of the table.
            columns: see `append`; columns that are not written keep their values in an update.
            staging_schema: see `append`.
            retries: see `append`.
        """
        names = (key,) if isinstance(key, str) else tuple(key)
        if not names:
            raise InvalidArgumentError(
                "an upsert needs at least one key column",
                where="PostgresSink.upsert",
                fix='name the columns of the primary key: key=["id"]; or use append',
            )
        return PostgresSink(
            _checked("upsert", conninfo, table, names, columns, staging_schema, retries)
        )

    def create_writer(self, context: WriterContext) -> PostgresWriter:
        """A writer that stages the rows of one subtask and batch."""
        return PostgresWriter(self._target, context)

    def create_committer(self, context: CommitterContext) -> PostgresCommitter:
        """The committer; checks the table and the key before the job runs."""
        change = UpsertRows(self._target) if self._target.key else AppendRows(self._target)
        return PostgresCommitter(self._target, context, change)

    def __repr__(self) -> str:
        target = self._target
        place = f"{without_password(target.conninfo)!r}, {target.table!r}"
        if target.key:
            return f"PostgresSink.upsert({place}, key={list(target.key)})"
        return f"PostgresSink.append({place})"


def _checked(
    method: str,
    conninfo: str,
    table: str,
    key: tuple[str, ...],
    columns: Sequence[str] | None,
    staging_schema: str | None,
    retries: Retries | None,
) -> PostgresTarget:
    where = f"PostgresSink.{method}"
    check_conninfo(conninfo, where)
    if not isinstance(table, str) or not table.strip():
        raise InvalidArgumentError(
            f"{table!r} ({type(table).__name__}) is not a table name",
            where=where,
            fix="pass the name as in SQL: 'orders', 'sales.orders'",
        )
    if isinstance(columns, str):
        raise InvalidArgumentError(
            f"columns is the text {columns!r}", where=where, fix=f"pass a list: [{columns!r}]"
        )
    names = None if columns is None else tuple(columns)
    missing = [name for name in key if names is not None and name not in names]
    if missing:
        raise InvalidArgumentError(
            f"the key column {', '.join(missing)} is not among columns={list(names or ())}",
            where=where,
            fix="add the key to columns",
        )
    return PostgresTarget(conninfo, table, key, names, staging_schema, retries or Retries())
