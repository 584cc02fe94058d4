"""Where the job in SQL reads and writes: two folders or two topics, and a table of PostgreSQL.

In: a folder, what the generator makes.  Out: what chaos/media.py gives for the other job.  The job
talks to the database through a proxy, which can cut its connections; we talk to it directly.
The verdict is asked for twice: from plain Python, and from the same SQL in batch mode.
Next: chaos/sql_text.py (the statements), chaos/runner.py
"""

from __future__ import annotations

import shutil
import tempfile
import zlib
from abc import abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chaos.checker import SHOWN
from chaos.media import PARTITIONS, Files, Kafka, Medium, Output, Source, Verdict
from chaos.sql_text import (
    EVENTS,
    GRADES,
    QUERY,
    TOTALS,
    create_table,
    grades_of,
    postgres_table,
    right_totals,
)
from flaky_proxy import FlakyProxy
from headrace.common import Configuration
from headrace.table import EnvironmentSettings, TableEnvironment
from services import PASSWORD, new_postgres

if TYPE_CHECKING:
    from chaos.machine import Event, Generator
    from chaos.sql_text import Grade, Total
    from services import PostgresServer

COLUMNS = ", ".join(name for name, _ in TOTALS)


class SqlMedium(Medium):
    """Two tables in, one of PostgreSQL out."""

    program = "sql_program.py"
    interval_s = 1.0  # its exchanges are more than twice as many
    faults: tuple[str, ...] = ("database", "connection")

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)  # type: ignore[call-arg] # files or Kafka, beside us
        # under /tmp itself: test folders are closed to the user that PostgreSQL runs as
        self._home = Path(tempfile.mkdtemp(prefix="headrace-chaos-postgres-"))
        self._home.chmod(0o755)
        self.database: PostgresServer = new_postgres(self._home)
        self.database.start()
        self.database.query(postgres_table())
        self.proxy = FlakyProxy(self.database.port)
        self.seed = 0

    @abstractmethod
    def tables(self, *, bounded: bool) -> dict[str, dict[str, str]]:
        """The options of the sources, which end or go on."""

    @abstractmethod
    def publisher(self, generator: Generator, interval_s: float) -> Source:
        """What publishes events and grades."""

    def source(self, generator: Generator, interval_s: float) -> Source:
        self.seed = generator.seed
        return self.publisher(generator, interval_s)

    def output(self) -> Output:
        return _TableOutput(self.database)

    def settings(self) -> dict[str, Any]:
        target = {
            "connector": "jdbc",
            "url": f"jdbc:postgresql://127.0.0.1:{self.proxy.port}/headrace",
            "table-name": "totals",
            "username": "headrace",
            "password": PASSWORD,
        }
        return {**self.tables(bounded=False), "totals": target}

    def rows(self, sink: str) -> list[dict[str, Any]]:
        names = [name for name, _ in TOTALS]
        found = self.database.query(f"SELECT {COLUMNS} FROM {sink}")
        return [dict(zip(names, row, strict=True)) for row in found]

    def verdict(self, made: list[list[Event]]) -> Verdict:
        return SqlVerdict(self, right_totals(self.seed, made))

    def batch(self) -> set[Total]:
        """What the job's query says in batch mode."""
        settings = Configuration().set_string("headrace.execution.host", "local")
        settings.set_string("parallelism.default", "1")
        builder = EnvironmentSettings.new_instance().in_batch_mode()
        t_env = TableEnvironment.create(builder.with_configuration(settings).build())
        tables = self.tables(bounded=True)
        t_env.execute_sql(create_table("events", EVENTS, tables["events"]))
        t_env.execute_sql(create_table("grades", GRADES, tables["grades"]))
        with t_env.execute_sql(QUERY).collect() as rows:
            return {tuple(row) for row in rows}

    def close(self) -> None:
        super().close()
        self.proxy.__exit__(None, None, None)
        self.database.stop()
        shutil.rmtree(self._home, ignore_errors=True)


class SqlVerdict(Verdict):
    """The table of PostgreSQL is what plain Python says, and what a batch says."""

    def __init__(self, medium: SqlMedium, right: set[Total]) -> None:
        self._medium = medium
        self._right = right

    def complete(self, output: Output) -> bool:
        return self._found() == self._right

    def progress(self, output: Output) -> str:
        return f"{len(self._found() & self._right):,} of {len(self._right):,} rows are right"

    def differences(self) -> list[str]:
        found = self._found()
        told = sql_differences(found, self._right, "the table of PostgreSQL")
        return told + sql_differences(self._medium.batch(), self._right, "the batch")

    def _found(self) -> set[Total]:
        return {tuple(row.values()) for row in self._medium.rows("totals")}


def sql_differences(found: set[Total], right: set[Total], what: str) -> list[str]:
    """Rows that are missing or too much, in words; of many the first."""
    wrong = [f"{what} has not the row {row}" for row in sorted(right - found, key=str)[:SHOWN]]
    wrong += [f"{what} has the row {row}" for row in sorted(found - right, key=str)[:SHOWN]]
    more = len(right ^ found) - len(wrong)
    return [*wrong, f"... and {more} more"] if more else wrong


class _TableOutput(Output):
    """Looks at what the table says about the events that have been taken in."""

    def __init__(self, database: PostgresServer) -> None:
        super().__init__()
        self._database = database

    def look(self) -> None:
        import psycopg

        try:
            found = self._database.query("SELECT sum(events), max(newest) FROM totals")
        except psycopg.OperationalError:  # it was killed
            return
        rows, newest = found[0]
        if rows is not None:
            self.rows, self.newest = int(rows), max(self.newest, newest)

    def new_rows(self) -> list[dict[str, Any]]:
        raise AssertionError("a table is looked at as a whole")


# --- files ---------------------------------------------------------------------------------------


class SqlFiles(SqlMedium, Files):
    """Folders of CSV files, each published by a rename."""

    def publisher(self, generator: Generator, interval_s: float) -> Source:
        return _FolderPair(self._folder, generator, interval_s)

    def tables(self, *, bounded: bool) -> dict[str, dict[str, str]]:
        common = {"connector": "filesystem", "format": "csv"}
        if not bounded:
            common["source.monitor-interval"] = "100 ms"
        return {name: {**common, "path": str(self._folder / name)} for name in ("events", "grades")}


class _FolderPair(Source):
    def __init__(self, folder: Path, generator: Generator, interval_s: float) -> None:
        super().__init__(generator, interval_s)
        self._folder = folder
        for name in ("events", "grades"):
            (folder / name).mkdir()

    def publish(self, events: list[Event]) -> None:
        self._put("grades", grades_of(self._generator.seed, self.published, events))
        self._put("events", events)

    def _put(self, name: str, lines: list[Event] | list[Grade]) -> None:
        draft = self._folder / name / f".{self.published:06d}"
        draft.write_text("".join(f"{each.line()}\n" for each in lines))
        draft.rename(draft.with_name(f"{self.published:06d}.csv"))


# --- Kafka ---------------------------------------------------------------------------------------


class SqlKafka(SqlMedium, Kafka):
    """Topics of CSV lines."""

    faults = (*SqlMedium.faults, "broker")
    topics = ("events", "grades")

    def publisher(self, generator: Generator, interval_s: float) -> Source:
        return _TopicPair(self.broker.bootstrap, generator, interval_s)

    def tables(self, *, bounded: bool) -> dict[str, dict[str, str]]:
        common = {
            "connector": "kafka",
            "format": "csv",
            "properties.bootstrap.servers": self.broker.bootstrap,
            "properties.group.id": "chaos",
            "scan.startup.mode": "earliest-offset",
        }
        if bounded:
            common["scan.bounded.mode"] = "latest-offset"
        return {name: {**common, "topic": name} for name in self.topics}


class _TopicPair(Source):
    def __init__(self, bootstrap: str, generator: Generator, interval_s: float) -> None:
        from confluent_kafka import Producer

        super().__init__(generator, interval_s)
        patient = {"message.timeout.ms": 300_000, "enable.idempotence": True, "log_level": 0}
        self._producer = Producer({"bootstrap.servers": bootstrap, **patient})

    def publish(self, events: list[Event]) -> None:
        self._put("grades", grades_of(self._generator.seed, self.published, events))
        self._put("events", events)
        assert self._producer.flush(300) == 0

    def _put(self, topic: str, lines: list[Event] | list[Grade]) -> None:
        for each in lines:
            partition = zlib.crc32(each.entity.encode()) % PARTITIONS
            self._producer.produce(topic, each.line(), partition=partition)
