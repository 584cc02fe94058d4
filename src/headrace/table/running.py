"""Starts the jobs of tables: queries whose lines come home, and inserts.

In: nodes.  Out: results.  Next: table/table_result.py
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from headrace.common.interruptible import InterruptibleEvent
from headrace.common.job_client import JobClient
from headrace.datastream.closeable_iterator import CloseableIterator
from headrace.datastream.collecting import collecting_end
from headrace.table.resolved import ResolvedSchema
from headrace.table.rows import row_maker
from headrace.table.table_result import ConvertedRows, TableResult, job_result
from headrace.table.tableau import Tableau

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.common.changes import Changes
    from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
    from headrace.graph.nodes import Step
    from headrace.rel.nodes import Rel, Schema
    from headrace.rel.planner import TablePlanner
    from headrace.spi.executor import JobHandle
    from headrace.table.inserts import Insert
    from headrace.table.table_config import TableConfig


class CollectedLines(CloseableIterator):
    """The lines of a job as they come home; the first one can be waited for."""

    def __init__(self) -> None:
        super().__init__()
        self.ready = InterruptibleEvent()

    def add(self, records: list[Any]) -> None:
        """Lines of a committed batch."""
        super().add(records)
        if records:
            self.ready.set()

    def end(self, error: BaseException | None) -> None:
        """The job has ended."""
        super().end(error)
        self.ready.set()


def collected(
    env: StreamExecutionEnvironment, planner: TablePlanner, rel: Rel
) -> tuple[CollectedLines, Changes, Schema, JobHandle]:
    """Start a job for the lines of a query."""
    stream, changes, schema = planner.to_stream(rel)
    lines = CollectedLines()
    job = start(env, [collecting_end(stream, lines.add)], "collect", kind="collect")
    lines.on_close(job.cancel)
    lines.job_client = JobClient(job)

    def finish() -> None:
        job.wait()
        lines.end(job.error)

    waiter = threading.Thread(target=finish, name="headrace-collect-table", daemon=True)
    waiter.start()
    lines.wait = waiter.join
    return lines, changes, schema, job


def start(
    env: StreamExecutionEnvironment, ends: list[Step], name: str, *, kind: str = "job"
) -> JobHandle:
    """Start a job for some ends of the program, and for no others."""
    return env._start(env._graph.cut_off(ends), name, kind=kind)


def query_result(
    env: StreamExecutionEnvironment,
    planner: TablePlanner,
    rel: Rel,
    config: TableConfig,
    *,
    bounded: bool,
) -> TableResult:
    """The result of a query whose job has been started."""
    lines, changes, schema, _ = collected(env, planner, rel)
    types = [field.type for field in schema]
    columns = ResolvedSchema.physical([field.name for field in schema], types)
    make = row_maker(types, changes=not changes.only_inserts)
    tableau = Tableau.for_stream(columns, kinds=not bounded, zone=config.get_local_timezone())
    return TableResult(
        columns,
        lambda: ConvertedRows(lines, make),
        job_client=lines.job_client,
        wait=lines.ready.wait,
        tableau=tableau,
    )


def insert_result(
    env: StreamExecutionEnvironment, planner: TablePlanner, inserts: Sequence[Insert]
) -> TableResult:
    """The result of inserts whose job has been started."""
    before = {id(step) for step in env._graph.sinks()}
    planner.add_inserts([(insert.rel, insert.target) for insert in inserts])
    ends = [step for step in env._graph.sinks() if id(step) not in before]
    names = _numbered([insert.name for insert in inserts])
    job = start(env, ends, f"insert-into_{','.join(dict.fromkeys(i.name for i in inserts))}")
    return job_result(names, JobClient(job))


def _numbered(names: list[str]) -> list[str]:
    """Names of columns of the result: tables that are written twice get numbers."""
    found: list[str] = []
    for place, name in enumerate(names):
        if names.count(name) == 1:
            found.append(name)
        else:
            found.append(f"{name}_{names[: place + 1].count(name)}")
    return found
