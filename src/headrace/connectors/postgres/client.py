"""Connections to PostgreSQL, and its errors in our words.

In: a connection string and work to do in one transaction.  Out: the result, after retries.
Next: table.py (what the target looks like), writer.py, committer.py
"""

from __future__ import annotations

import math
import os
import re
from typing import TYPE_CHECKING, Any, TypeVar

from headrace.errors import (
    ConnectorError,
    HeadraceError,
    InvalidArgumentError,
    TypeMismatchError,
)
from headrace.io.server_calls import (
    Retries,
    ServerClient,
    client_library,
    without_password,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    import psycopg

    Connection = psycopg.Connection[tuple[Any, ...]]

T = TypeVar("T")

# A worker process runs batch after batch; connecting costs more than many a batch does.
_idle: dict[tuple[int, str], list[Connection]] = {}

_DEFAULTS = {
    "application_name": "headrace",
    "connect_timeout": "10",
    # A server that vanished without a word is noticed after a minute, not after two hours.
    "keepalives_idle": "30",
    "tcp_user_timeout": "60000",
}

# libpq makes more of less
_SHORTEST_CONNECT_S = 2

# Naive timestamps mean UTC, whatever the server's zone; rows come out of a staging table in the
# order in which they went in.
_SESSION = (
    "SELECT set_config('TimeZone', 'UTC', false), set_config('synchronize_seqscans', 'off', false)"
)


def check_conninfo(conninfo: str, where: str) -> None:
    """Refuses what is not a connection string."""
    psycopg = psycopg_module()
    try:
        psycopg.conninfo.conninfo_to_dict(conninfo)
    except (psycopg.Error, TypeError, AttributeError) as error:
        raise InvalidArgumentError(
            f"{without_password(str(conninfo))!r} is not a connection string: "
            f"{without_password(first_line(error))}",
            where=where,
            fix="use 'postgresql://user@host:5432/database' or 'host=... dbname=... user=...'",
        ) from None


def psycopg_module() -> Any:
    """The client library; imported late, because only users of this sink need it."""
    return client_library("psycopg", extra="postgres")


class PostgresClient(ServerClient["Connection"]):
    """One database as a sink sees it; a call is one transaction, which commits by returning.

    Args:
        conninfo: a PostgreSQL URL or ``key=value`` text.
        place: what the sink writes to, for errors: ``table orders``.
        retries: the patience with a server that is away.
    """

    def __init__(self, conninfo: str, place: str, retries: Retries) -> None:
        self._psycopg = psycopg_module()
        self._conninfo = self._with_defaults(conninfo, retries.within_s)
        where = f"{place} of {without_password(conninfo)}"
        super().__init__(where, retries, self._psycopg.Error, longest_try_s=self._connect_s())

    def close_idle(self) -> None:
        """Ends the connections that this process keeps for the database."""
        for connection in _idle.pop(self._key(), []):
            connection.close()

    def _once(self, call: Callable[[Connection], T]) -> T:
        connection = self._idle_connection() or self._connect()
        try:
            with connection.transaction():
                result = call(connection)
        except BaseException:
            connection.close()
            # What broke this one has probably broken the others.
            self.close_idle()
            raise
        _idle.setdefault(self._key(), []).append(connection)
        return result

    def _idle_connection(self) -> Connection | None:
        try:
            return _idle[self._key()].pop()
        except (KeyError, IndexError):  # asked and not looked first: another thread may be faster
            return None

    def _connect(self) -> Connection:
        connection: Connection = self._psycopg.connect(
            self._conninfo, autocommit=True, client_encoding="utf8"
        )
        connection.execute(_SESSION)
        return connection

    def _key(self) -> tuple[int, str]:
        # With the process id: a connection must not be used on both sides of a fork.
        return os.getpid(), self._conninfo

    def _with_defaults(self, conninfo: str, within_s: float | None) -> str:
        given = self._psycopg.conninfo.conninfo_to_dict(conninfo)
        defaults = dict(_DEFAULTS)
        if within_s is not None:  # one try must not take longer than all of them may
            longest_s = min(float(defaults["connect_timeout"]), within_s)
            defaults["connect_timeout"] = str(max(_SHORTEST_CONNECT_S, math.ceil(longest_s)))
        text: str = self._psycopg.conninfo.make_conninfo(**{**defaults, **given})
        return text

    def _connect_s(self) -> float | None:
        """How long the server may take to let a connection in; None for any time."""
        given = self._psycopg.conninfo.conninfo_to_dict(self._conninfo)
        return float(given["connect_timeout"]) or None

    def _passes(self, error: Exception) -> bool:
        if not isinstance(error, self._psycopg.Error):
            return False
        if error.sqlstate is not None:
            return bool(error.sqlstate.startswith(_PASSING))
        lost = isinstance(error, self._psycopg.OperationalError | self._psycopg.InterfaceError)
        return lost and _refusal(str(error)) is None

    def _explained(self, error: Any, what: str) -> HeadraceError:
        state = error.sqlstate or _refusal(str(error))
        if state is None:
            state = "08" if isinstance(error, self._psycopg.OperationalError) else ""
        fix = next(_FIXES[state[:n]] for n in range(len(state), -1, -1) if state[:n] in _FIXES)
        misfit = state.startswith(("22", "23502", "42804"))
        kind = TypeMismatchError if misfit else ConnectorError
        return kind(f"cannot {what}: {_said(error)}", where=self.where, fix=fix)


# SQLSTATEs that a second try may not meet: connection lost, serialization failure and deadlock,
# too many connections, lock timeout, server stopping or starting.
_PASSING = ("08", "40", "53300", "55P03", "57P01", "57P02", "57P03")

# A server that refuses a connection gives a text and no SQLSTATE; in another language it is only
# asked a few times more.
_REFUSALS = {
    "password authentication failed": "28P01",
    "no password supplied": "28P01",
    "no pg_hba.conf entry": "28000",
    r"role \".*\" does not exist": "28000",
    r"database \".*\" does not exist": "3D000",
    "permission denied for database": "42501",
}


def _refusal(text: str) -> str | None:
    return next((state for pattern, state in _REFUSALS.items() if re.search(pattern, text)), None)


_AWAY = (
    "check that the server runs and can be reached from driver and workers; nothing of the "
    "batch was written; it is repeated when the job restarts"
)

# The longest SQLSTATE that fits decides.
_FIXES = {
    "28": "check user and password of the connection string, and pg_hba.conf of the server; a "
    "password can also be in ~/.pgpass or PGPASSWORD on driver and workers",
    "3D000": "create the database, or correct its name in the connection string",
    "42P01": "create the table before the job starts; a name with capitals or a schema is written "
    "as in SQL: 'sales.orders', '\"Orders\"'",
    "42703": "name the fields of the records as the columns, or pass columns=[...]",
    "42501": "grant the user INSERT (for upserts also SELECT, UPDATE, DELETE) on the table and "
    "CREATE on the schema of the staging tables, or name another one with staging_schema=...",
    "42804": "convert the value before the sink, or change the type of the column",
    "22": "convert the value before the sink, or change the type of the column",
    "23502": "give the field a value in every record, or the column a default",
    "23505": "use PostgresSink.upsert to replace rows, or remove the ones already in the table",
    "23": "correct the records before the sink, or change the constraint",
    "53100": "free space on the server's disk; the batch is repeated when the job restarts",
    "08": _AWAY,
    "53300": _AWAY,
    "57P": _AWAY,
    "": "fix what PostgreSQL complains about; nothing of the batch was written; it is "
    "repeated when the job restarts",
}


def _said(error: psycopg.Error) -> str:
    diagnosis = error.diag
    if diagnosis.message_primary is None:
        return without_password(first_line(error))
    parts = [diagnosis.message_primary]
    if diagnosis.message_detail:
        parts.append(diagnosis.message_detail)
    # "COPY headrace_stage_..., line 3, column amount: "x"": the name tells the user nothing
    column = re.search(r"line \d+, column (.*)", diagnosis.context or "")
    if column:
        parts.append(f"column {column[1]}")
    return "; ".join(parts)


def first_line(error: BaseException) -> str:
    """The first line of an error's text, or its type when it has none."""
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
