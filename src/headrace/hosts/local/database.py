"""What a local job stores: one SQLite file, in which an epoch is one transaction.

    planned     the epoch that is being run: what it reads, and its commands
    committed   the newest epoch that counts, and where every source was after it
    pages       the state of all subtasks after it

The plan of an epoch is written before the epoch runs, so that a repeated epoch reads the same; its
state and its number are written together, when its sinks have committed.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from headrace.common.opaque import JsonValue

# in the directory of the job
FOLDER = "local"
_FILE = "job.db"
_SCHEMA = """
create table if not exists pages (
    stage int, subtask int, name blob, content blob, primary key (stage, subtask, name)
) without rowid;
create table if not exists planned (epoch integer primary key, plan text);
create table if not exists committed (epoch integer primary key, positions text);
"""


class EpochPlan(NamedTuple):
    """From where to where an epoch reads every source, its commands, and its processing time."""

    epoch: int
    starts: list[JsonValue]
    ends: list[JsonValue]
    commands: list[str]
    planned_ms: int


class Database:
    """The file of one job; used by one thread at a time."""

    def __init__(self, folder: str) -> None:
        Path(folder).mkdir(parents=True, exist_ok=True)
        # the thread that runs epochs is not the one that opens the job
        self._connection = sqlite3.connect(
            Path(folder, _FILE), isolation_level=None, check_same_thread=False
        )
        self._connection.execute("pragma journal_mode = wal")
        self._connection.execute("pragma synchronous = full")
        self._connection.executescript(_SCHEMA)
        self._lock = threading.RLock()

    # --- epochs ----------------------------------------------------------------------------------

    def last_epoch(self) -> int | None:
        """The newest epoch that is committed."""
        [(found,)] = self._query("select max(epoch) from committed")
        return None if found is None else int(found)

    def positions(self) -> list[JsonValue]:
        """Where every source was after that epoch; empty before the first."""
        rows = self._query("select positions from committed order by epoch desc limit 1")
        found: list[JsonValue] = json.loads(rows[0][0]) if rows else []
        return found

    def planned(self) -> EpochPlan | None:
        """The epoch that was begun and not committed, which has to be run as it was."""
        rows = self._query(
            "select epoch, plan from planned "
            "where epoch > coalesce((select max(epoch) from committed), -1)"
        )
        return EpochPlan(rows[0][0], *json.loads(rows[0][1])) if rows else None

    def plan(self, plan: EpochPlan) -> None:
        """Note what an epoch will read, before it does."""
        with self._lock:
            self._connection.execute("begin")
            self._connection.execute("delete from planned")
            content = json.dumps(plan[1:])
            self._connection.execute("insert into planned values (?, ?)", (plan.epoch, content))
            self._connection.execute("commit")

    def begin(self) -> None:
        """Changes of state belong to an epoch from here on."""
        self._connection.execute("begin")

    def commit(self, epoch: int, positions: list[JsonValue]) -> None:
        """The epoch counts, with the state that it has left."""
        self._connection.execute("delete from committed")
        self._connection.execute(
            "insert into committed values (?, ?)", (epoch, json.dumps(positions))
        )
        self._connection.execute("commit")

    def roll_back(self) -> None:
        """The epoch does not count."""
        if self._connection.in_transaction:
            self._connection.execute("rollback")

    def close(self) -> None:
        """Let go of the file."""
        self.roll_back()
        self._connection.close()

    # --- pages -----------------------------------------------------------------------------------

    def tasks(self) -> list[tuple[int, int]]:
        """The (stage, subtask) that have state."""
        return [(a, b) for a, b in self._query("select distinct stage, subtask from pages")]

    def store(self, stage: int, subtask: int) -> LocalStore:
        """The state of one subtask."""
        return LocalStore(self, stage, subtask)

    def _query(self, text: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        # Any: what SQLite stores; each query says what its columns are
        with self._lock:
            return self._connection.execute(text, values).fetchall()


class LocalStore:
    """A PageStore of one subtask; it can also list its names, as an export needs it."""

    def __init__(self, database: Database, stage: int, subtask: int) -> None:
        self._database = database
        self._place = (stage, subtask)

    def get(self, key: bytes) -> bytes | None:
        """The stored content, or None."""
        rows = self._database._query(
            "select content from pages where stage = ? and subtask = ? and name = ?",
            (*self._place, key),
        )
        return bytes(rows[0][0]) if rows else None

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """The stored contents of several keys."""
        return [self.get(key) for key in keys]

    def put(self, key: bytes, content: bytes) -> None:
        """Store or replace."""
        self._database._query(
            "insert or replace into pages values (?, ?, ?, ?)",
            (*self._place, key, content),
        )

    def delete(self, key: bytes) -> None:
        """Remove; unknown keys are ignored."""
        self._database._query(
            "delete from pages where stage = ? and subtask = ? and name = ?", (*self._place, key)
        )

    def __iter__(self) -> Iterator[bytes]:
        rows = self._database._query(
            "select name from pages where stage = ? and subtask = ?", self._place
        )
        return iter([bytes(name) for (name,) in rows])
