"""Puts a batch into PostgreSQL once: its rows and its batch id in one transaction.

In: `StagedRows` of all subtasks (writer.py).  Out: rows of the table.
Next: changes.py (what is done with the rows)

    headrace_commits          one row for each sink of each job: its newest batch
    headrace_stage_...        what workers have staged; tables of batches that are over are dropped

    crash before COMMIT       nothing happened; the batch comes again with new staged rows
    crash after COMMIT        the batch comes again, finds its id and is dropped
    answer to COMMIT lost     the same, within the retries of client.py

The row of headrace_commits is locked first. So of two drivers that run one job, because one was
thought dead, the second one waits, and then finds that the batch is done.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, Protocol

from headrace.connectors.postgres.client import psycopg_module
from headrace.connectors.postgres.writer import PostgresTarget, stage_parts, today
from headrace.io.server_calls import sink_hash
from headrace.spi.staging import OnceCommitter

if TYPE_CHECKING:
    from headrace.common.opaque import Committable
    from headrace.connectors.postgres.client import Connection
    from headrace.spi.sink import CommitterContext

COMMITS = "headrace_commits"
# Staging tables of jobs that never came back; no batch takes that long.
LEFT_BEHIND_DAYS = 7
# Any number will do, as long as it is always the same.
_SETUP_LOCK = 0x68656164

_log = logging.getLogger(__name__)


class ApplyBatch(Protocol):
    """What is done with the committables of a batch."""

    def prepare(self, connection: Connection) -> None:
        """Checks at the start of the job that it can be done."""

    def __call__(self, connection: Connection, committables: list[Committable]) -> None:
        """Does it, in the transaction of the connection."""


class PostgresCommitter(OnceCommitter):
    """The committer of a PostgreSQL sink.

    Args:
        target: the database.
        context: whose batches these are.
        apply: what is done with a batch.
    """

    def __init__(
        self, target: PostgresTarget, context: CommitterContext, apply: ApplyBatch
    ) -> None:
        self._target = target
        self._client = target.client()
        self._apply = apply
        self._sink = (context.job_id, context.sink_uid)
        self._commits = target.own_table(COMMITS)
        super().__init__(self._client.where, forget=f"the job's rows of {self._commits}")
        self.sweep(self._client.run("prepare the sink", self._open))

    def apply_once(self, batch_id: int, committables: list[Committable]) -> int:
        """Writes a batch, unless it has been written."""

        def in_one_transaction(connection: Connection) -> int:
            if not self._claim(connection, batch_id):
                return self._newest(connection)
            self._apply(connection, committables)
            return -1

        what = f"write batch {batch_id} to table {self._target.table}"
        return self._client.run(what, in_one_transaction)

    def remove_staged(self, batch_id: int) -> None:
        """Drops the staging tables of batches that are over, of whichever attempt."""
        self._client.run("remove staged rows", partial(self._drop_over, batch_id))

    def close(self) -> None:
        """Ends the connections of the driver."""
        self._client.close_idle()

    def _open(self, connection: Connection) -> int:
        """Makes the table of commits if need be; returns the newest batch, or -1."""
        found = connection.execute("SELECT to_regclass(%s)", [self._commits]).fetchone()
        if found == (None,):
            # CREATE TABLE IF NOT EXISTS is not safe against itself.
            connection.execute("SELECT pg_advisory_xact_lock(%s)", [_SETUP_LOCK])
            connection.execute(
                f"CREATE TABLE IF NOT EXISTS {self._commits} (job_id text, sink_uid text, "
                "batch_id bigint NOT NULL, committed_at timestamptz NOT NULL, "
                "PRIMARY KEY (job_id, sink_uid))"
            )
        self._apply.prepare(connection)
        return self._newest(connection)

    def _newest(self, connection: Connection) -> int:
        newest = connection.execute(
            f"SELECT batch_id FROM {self._commits} WHERE job_id = %s AND sink_uid = %s",
            self._sink,
        ).fetchone()
        return -1 if newest is None else int(newest[0])

    def _claim(self, connection: Connection, batch_id: int) -> bool:
        """Notes the batch as written; False when it, or a later one, already is."""
        claimed = connection.execute(
            f"INSERT INTO {self._commits} AS c VALUES (%s, %s, %s, now()) "
            "ON CONFLICT (job_id, sink_uid) DO UPDATE "
            "SET batch_id = excluded.batch_id, committed_at = excluded.committed_at "
            "WHERE c.batch_id < excluded.batch_id RETURNING 1",
            [*self._sink, batch_id],
        ).fetchone()
        return claimed is not None

    def _drop_over(self, batch_id: int, connection: Connection) -> None:
        mine = sink_hash(*self._sink)
        for name in self._staging_tables(connection):
            sink, batch, day = stage_parts(name) or ("", 0, today())
            is_over = sink == mine and batch <= batch_id
            if is_over or day < today() - LEFT_BEHIND_DAYS:
                self._drop(connection, name)

    def _staging_tables(self, connection: Connection) -> list[str]:
        rows = connection.execute(
            "SELECT relname FROM pg_class WHERE relname LIKE 'headrace\\_stage\\_%%' "
            "AND relkind = 'r' AND relnamespace = (SELECT oid FROM pg_namespace "
            "WHERE nspname = coalesce(%s, current_schema()))",
            [self._target.staging_schema],
        )
        return [str(name) for (name,) in rows]

    def _drop(self, connection: Connection, name: str) -> None:
        connection.execute("SET LOCAL lock_timeout = '100ms'")
        try:
            with connection.transaction():
                connection.execute(f"DROP TABLE IF EXISTS {self._target.own_table(name)}")
        except psycopg_module().errors.LockNotAvailable:
            # A zombie of an attempt is filling it at this moment; the next sweep asks again.
            _log.info("%s is in use and is dropped later", name)
