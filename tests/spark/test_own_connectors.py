"""A source and a sink that are defined in this file alone: exactly once though the driver dies."""

from __future__ import annotations

import signal
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from spark.conftest import Script

pytestmark = pytest.mark.timeout(900)

PROGRAM = """
    import os, signal, sqlite3, sys

    from headrace.common import Configuration, Types
    from headrace.datastream import StreamExecutionEnvironment
    from headrace.datastream.connectors.python_source import PythonSource
    from headrace.datastream.connectors.sink import Sink, SinkWriter
    from headrace.spi.source import Boundedness
    from headrace.spi.staging import OnceCommitter


    class Visits(PythonSource):
        def splits(self):
            return ["web", "phone"]

        def latest_offset(self, split, start):
            return 20

        def read(self, split, start, end):
            return ((split, n) for n in range(start, end))

        def produced_type(self):
            return Types.TUPLE([Types.STRING(), Types.LONG()])

        def boundedness(self):
            return Boundedness.BOUNDED


    class Table(Sink):
        def __init__(self, file, deadly):
            self.file, self.deadly = file, deadly

        def create_writer(self, context):
            return Stage(context)

        def create_committer(self, context):
            return Insert(self.file, context, self.deadly)


    class Stage(SinkWriter):
        def __init__(self, context):
            self.subtask, self.rows = context.subtask_index, []

        def write(self, values, timestamps):
            self.rows += values

        def prepare_commit(self):
            return [(self.subtask, self.rows)] if self.rows else []

        def abort(self):
            self.rows = []


    class Insert(OnceCommitter):
        def __init__(self, file, context, deadly):
            super().__init__(file, forget="table done")
            self.sink, self.deadly = [context.job_id, context.sink_uid], deadly
            self.db = sqlite3.connect(file, check_same_thread=False)
            self.db.execute("CREATE TABLE IF NOT EXISTS visits (kind, n, total)")
            self.db.execute(
                "CREATE TABLE IF NOT EXISTS done (job, sink, batch, PRIMARY KEY (job, sink))"
            )

        def apply_once(self, batch_id, committables):
            query = "SELECT batch FROM done WHERE job = ? AND sink = ?"
            with self.db:
                newest = (self.db.execute(query, self.sink).fetchone() or [-1])[0]
                if batch_id > newest:
                    self.db.execute("REPLACE INTO done VALUES (?, ?, ?)", [*self.sink, batch_id])
                    for _, rows in committables:
                        self.db.executemany("INSERT INTO visits VALUES (?, ?, ?)", rows)
                self.die("in", batch_id)
            self.die("after", batch_id)
            return newest

        def die(self, moment, batch_id):
            if self.deadly == f"{moment} commit" and batch_id == 1:
                os.kill(os.getpid(), signal.SIGKILL)

        def remove_staged(self, batch_id):
            pass

        def close(self):
            self.db.close()


    file, checkpoint, deadly = sys.argv[1:]
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    settings = Configuration()
    settings.set_integer("source.max-records-per-batch", 10)
    settings.set_string("execution.checkpointing.dir", checkpoint)
    settings.set_string("restart-strategy.type", "none")
    env.configure(settings)
    triple = Types.TUPLE([Types.STRING(), Types.LONG(), Types.LONG()])
    totals = (
        env.from_source(Visits(), None, "visits")
        .map(lambda visit: (visit[0], visit[1], visit[1]), triple)
        .key_by(lambda visit: visit[0])
        .reduce(lambda before, visit: (visit[0], visit[1], before[2] + visit[1]))
    )
    totals.sink_to(Table(file, deadly)).uid("table")
    env.execute("visits")
"""


def test_a_driver_that_is_killed_in_and_after_its_commit(
    run_script: Callable[..., Script], tmp_path: Path
) -> None:
    file, checkpoint = str(tmp_path / "visits.db"), str(tmp_path / "checkpoint")

    def run(deadly: str) -> tuple[int, str]:
        code, _, err = run_script(PROGRAM, file, checkpoint, deadly).end()
        return code, err[-3000:]

    def stored() -> list[tuple[str, int, int]]:
        with closing(sqlite3.connect(file)) as db:
            return sorted(db.execute("SELECT * FROM visits"))

    # in: nothing of batch 1 is there; after: all of it, but headrace does not know
    for deadly, rows in (("in commit", 10), ("after commit", 20)):
        code, err = run(deadly)
        assert code == -signal.SIGKILL, err
        assert len(stored()) == rows

    code, err = run("never")
    assert code == 0, err
    totals = {n: n * (n + 1) // 2 for n in range(20)}
    expected = [(kind, n, totals[n]) for kind in ("phone", "web") for n in range(20)]
    assert stored() == expected
