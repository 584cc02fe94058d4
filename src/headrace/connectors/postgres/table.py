"""What PostgreSQL knows about the table a sink writes to.

In: a connection and the name the user gave.  Out: a `KnownTable`, or an error before anything is
written.  Next: rows.py
"""

from __future__ import annotations

import difflib
import time
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from headrace.errors import ConnectorError, InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.connectors.postgres.client import Connection
    from headrace.spi.sink import WriterContext

# Somebody may change the table while the job runs; a new column is seen after this long.
_FRESH_S = 60.0


class Form(Enum):
    """How the text of a value is made, where the value alone does not tell."""

    PLAIN = "plain"
    JSON = "json"
    ARRAY = "array"


@dataclass(frozen=True, slots=True)
class TableColumn:
    """One column.

    Attributes:
        name: as it is in the catalogue, without quotes.
        sql_type: its type as SQL.
        form: which text form its values have.
        not_null: whether it refuses NULL.
        needed: whether a row cannot be inserted without it.
        writable: whether it can be inserted at all; generated columns cannot.
    """

    name: str
    sql_type: str
    form: Form = Form.PLAIN
    not_null: bool = False
    needed: bool = False
    writable: bool = True


@dataclass(frozen=True, slots=True)
class KnownTable:
    """A table.

    Attributes:
        sql: its name as SQL, with its schema.
        columns: in the order of the table.
    """

    sql: str
    columns: tuple[TableColumn, ...]

    def column(self, name: str) -> TableColumn | None:
        """The column of that name, or None."""
        return next((column for column in self.columns if column.name == name), None)


class TableMemory:
    """The tables that this process has looked at, so that not every writer of a batch asks.

    A subtask that is tried again asks the server: what it was told before may be why it failed.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._seen: dict[tuple[str, str], _Seen] = {}

    def get(
        self, conninfo: str, table: str, context: WriterContext, describe: Callable[[], KnownTable]
    ) -> KnownTable:
        """The table, from memory or from `describe`."""
        seen = self._seen.get((conninfo, table))
        if seen is None or not seen.is_good_for(context, self._clock()):
            seen = self._seen[conninfo, table] = _Seen(describe(), self._clock())
        seen.used_by(context)
        return seen.table

    def forget(self, conninfo: str, table: str) -> None:
        """The next writer asks."""
        self._seen.pop((conninfo, table), None)


@dataclass(slots=True)
class _Seen:
    """A table, when it was looked at, and the subtasks that used it in the newest batch."""

    table: KnownTable
    at: float
    batch: tuple[str, int] = ("", -1)
    users: set[tuple[str, int]] = field(default_factory=set)

    def is_good_for(self, context: WriterContext, now: float) -> bool:
        job, newest = self.batch
        is_repeated = job == context.job_id and (
            context.batch_id < newest
            or (context.batch_id == newest and _user(context) in self.users)
        )
        return not is_repeated and now - self.at < _FRESH_S

    def used_by(self, context: WriterContext) -> None:
        batch = (context.job_id, context.batch_id)
        if batch != self.batch:
            self.batch, self.users = batch, set()
        self.users.add(_user(context))


def _user(context: WriterContext) -> tuple[str, int]:
    return context.sink_uid, context.subtask_index


_DESCRIBE = """
SELECT quote_ident(n.nspname) || '.' || quote_ident(c.relname), a.attname,
       format_type(a.atttypid, a.atttypmod), t.typname, t.typcategory, a.attnotnull,
       a.atthasdef OR a.attidentity <> '', a.attgenerated = '' AND a.attidentity <> 'a'
FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
JOIN pg_type t ON t.oid = a.atttypid
WHERE c.oid = to_regclass(%s) AND c.relkind IN ('r', 'p', 'v', 'f')
ORDER BY a.attnum
"""

_UNIQUE = """
SELECT array_agg(a.attname ORDER BY a.attname)
FROM pg_index i
JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey[0:i.indnkeyatts - 1])
WHERE i.indrelid = to_regclass(%s) AND i.indisunique AND i.indisvalid
  AND i.indpred IS NULL AND i.indexprs IS NULL
GROUP BY i.indexrelid
"""


def describe_table(connection: Connection, table: str, where: str) -> KnownTable:
    """The table of that name.

    Raises:
        ConnectorError: there is none.
    """
    rows = connection.execute(_DESCRIBE, [table]).fetchall()
    if not rows:
        raise ConnectorError(
            f"the database has no table {table}{_suggestion(connection, table)}",
            where=where,
            fix="create the table before the job starts; a name with capitals or a schema is "
            "written as in SQL: 'sales.orders', '\"Orders\"'",
        )
    return KnownTable(str(rows[0][0]), tuple(_column(*row[1:]) for row in rows))


def _column(
    name: str,
    sql_type: str,
    type_name: str,
    category: str,
    not_null: bool,
    has_default: bool,
    writable: bool,
) -> TableColumn:
    form = Form.ARRAY if category == "A" else Form.PLAIN
    if type_name in ("json", "jsonb"):
        form = Form.JSON
    needed = not_null and not has_default and writable
    return TableColumn(name, sql_type, form, not_null, needed, writable)


def check_key(connection: Connection, name: str, table: KnownTable, key: tuple[str, ...]) -> None:
    """Refuses a key for which PostgreSQL has no unique index: ON CONFLICT needs one."""
    for column in key:
        if table.column(column) is None:
            known = [c.name for c in table.columns]
            raise InvalidArgumentError(
                f"the key column {column!r} is not in table {table.sql}{close_to(column, known)}",
                where="PostgresSink.upsert",
                fix=f"choose among {', '.join(known)}",
            )
    found = [set(columns) for (columns,) in connection.execute(_UNIQUE, [name])]
    if set(key) not in found:
        quoted = ", ".join(map(quoted_name, key))
        raise InvalidArgumentError(
            f"table {table.sql} has no unique index on exactly ({', '.join(key)}), so PostgreSQL "
            "cannot tell which row to replace",
            where="PostgresSink.upsert",
            fix=f"ALTER TABLE {table.sql} ADD PRIMARY KEY ({quoted})",
        )


def quoted_name(name: str) -> str:
    """A name as SQL."""
    return '"' + name.replace('"', '""') + '"'


def quoted_names(columns: tuple[str, ...]) -> str:
    """Names as a SQL list."""
    return ", ".join(map(quoted_name, columns))


def close_to(name: str, known: list[str]) -> str:
    """A hint at a name that may have been meant."""
    found = difflib.get_close_matches(name.lower(), known, n=1)
    return f"; did you mean {found[0]!r}?" if found else ""


def _suggestion(connection: Connection, table: str) -> str:
    query = (
        "SELECT relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
        "WHERE relkind IN ('r', 'p') AND nspname NOT IN ('pg_catalog', 'information_schema')"
    )
    known = [str(name) for (name,) in connection.execute(query)]
    return close_to(table.rpartition(".")[2].strip('"'), known)
