"""Runs cases on headrace, in the test process.

In: Case.  Out: an outcome as run_pyflink.py gives it.  Next: compare.py

A Spark query costs a second or more, whatever its size, so several cases can share one: their
records are tagged, united and collected together. `Shared` does that, and runs the cases one by
one when such a job fails.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oracle.engine import Api, build, shown

if TYPE_CHECKING:
    from collections.abc import Callable

    Collect = Callable[[Any], list[Any]]

    from oracle.catalogue import Case, Program
    from oracle.compare import Outcome


def run(program: Program, case: Case, collect: Collect | None = None) -> Outcome:
    """The outcome of one case; when the program is declared to work, its error is raised.

    Args:
        program: what to run.
        case: its input.
        collect: gives a stream's records; by default a Spark query.
    """
    with tempfile.TemporaryDirectory(prefix="oracle-headrace-") as scratch:
        try:
            return {"results": _results(program, case, Path(scratch), collect or _on_spark)}
        except Exception as error:
            if not program.fails:
                raise
            return {"failure": f"{type(error).__name__}: {error}"[:300]}


def _environment() -> Any:
    return Api("headrace").StreamExecutionEnvironment.get_execution_environment()


def _on_spark(stream: Any) -> list[Any]:
    with stream.execute_and_collect() as records:
        return list(records)


def _results(program: Program, case: Case, scratch: Path, collect: Collect) -> dict[str, Any]:
    results: dict[str, Any] = {}
    pending: list[str] | None = None
    while pending is None or pending:
        # execute_and_collect runs the whole environment: every output gets a program of its own.
        directory = scratch / str(len(results))
        streams = build(program, case, Api("headrace"), _environment(), directory)
        if pending is None:
            pending = list(streams)
        name = pending.pop(0)
        results[name] = shown(program, collect(streams[name]))
    return results


class Shared:
    """Outcomes of cases that share jobs; a job runs when its first case is asked for."""

    def __init__(self, programs: dict[str, Program], cases: list[Case], size: int) -> None:
        self._programs = programs
        self._jobs: dict[str, list[Case]] = {}
        self._outcomes: dict[str, Outcome] = {}
        for batch in (False, True):  # the mode is that of a whole job
            together = [
                case
                for case in cases
                if programs[case.program].batch is batch and not programs[case.program].alone
            ]
            for start in range(0, len(together), size):
                job = together[start : start + size]
                if len(job) > 1:
                    self._jobs.update((case.id, job) for case in job)

    def run(self, case: Case) -> Outcome:
        """The case's outcome, from its shared job or, if that failed, from a job of its own."""
        if case.id in self._jobs and case.id not in self._outcomes:
            self._run_job(self._jobs[case.id])
        if case.id in self._outcomes:
            return self._outcomes[case.id]
        return run(self._programs[case.program], case)

    def _run_job(self, job: list[Case]) -> None:
        for case in job:
            del self._jobs[case.id]
        with tempfile.TemporaryDirectory(prefix="oracle-headrace-") as scratch:
            try:
                collected = self._collect(job, Path(scratch))
            except Exception as error:
                print(f"a shared job failed, its cases run one by one: {error!r:.300}")
                return
        for case in job:
            program = self._programs[case.program]
            named = {name: shown(program, values) for name, values in collected[case.id].items()}
            self._outcomes[case.id] = {"results": named}

    def _collect(self, job: list[Case], scratch: Path) -> dict[str, dict[str, list[Any]]]:
        env = _environment()
        tagged = []
        collected: dict[str, dict[str, list[Any]]] = {}
        for case in job:
            program = self._programs[case.program]
            streams = build(program, case, Api("headrace"), env, scratch / case.id)
            collected[case.id] = {name: [] for name in streams}
            tagged += [_tag(stream, (case.id, name)) for name, stream in streams.items()]
        first, *rest = tagged
        united = first.union(*rest) if rest else first
        with united.execute_and_collect() as records:
            for (case_id, name), value in records:
                collected[case_id][name].append(value)
        return collected


def _tag(stream: Any, tag: tuple[str, str]) -> Any:
    return stream.map(lambda value: (tag, value))
