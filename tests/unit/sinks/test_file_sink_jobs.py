"""Jobs that write files, on the local host: what readers find however the job ends."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

from headrace.common import Configuration, Types
from headrace.control.job import running_jobs
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors.file_system import FileCompactStrategy, FileSink
from headrace.datastream.connectors.python_source import PythonSource

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

PATIENCE_S = 20.0
NEVER = FileCompactStrategy(size_threshold=1 << 40)


class Allowed(PythonSource):
    """Numbers from 0 on, as many as a file says by now."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def splits(self) -> list[str]:
        return ["numbers"]

    def latest_offset(self, split: str, start: int) -> int:
        return max(start, int(self.file.read_text()))

    def read(self, split: str, start: int, end: int) -> Any:
        yield from range(start, end)

    def produced_type(self) -> Any:
        return Types.LONG()


class Program:
    """Numbers, copied into files; every run of it has a checkpoint and so a job id of its own."""

    def __init__(self, folder: Path, mode: str) -> None:
        self.folder = folder
        self.mode = mode
        self.allow(0)

    def allow(self, count: int) -> None:
        """The source may give so many numbers in all."""
        draft = self.folder / "draft"
        draft.write_text(str(count))
        draft.rename(self.folder / "allowed")

    def start(self, checkpoint: str, sink: FileSink, **options: str) -> Any:
        configuration = Configuration()
        for key, value in {
            "headrace.execution.host": "local",
            "headrace.execution.mode": self.mode,
            "execution.checkpointing.dir": str(self.folder / checkpoint),
            "execution.checkpointing.interval": "20 ms",
            "restart-strategy.type": "none",
            **options,
        }.items():
            configuration.set_string(key, value)
        env = StreamExecutionEnvironment.get_execution_environment(configuration)
        numbers = env.set_parallelism(1).from_source(
            Allowed(self.folder / "allowed"), None, "numbers"
        )
        numbers.uid("numbers").sink_to(sink).uid("out")
        return env.execute_async("numbers")

    def sink(self, **settings: Any) -> FileSink:
        return FileSink.text(str(self.folder / "out"), **settings)

    def visible(self) -> list[int]:
        return sorted(self._numbers(lambda parts: ".headrace" not in parts))

    def hidden(self) -> list[int]:
        """What is committed and waits."""
        return sorted(self._numbers(lambda parts: "pending" in parts))

    def _numbers(self, wanted: Callable[[tuple[str, ...]], bool]) -> list[int]:
        files = [f for f in (self.folder / "out").rglob("*") if f.is_file() and f.suffix == ".txt"]
        return [int(n) for f in files if wanted(f.parts) for n in f.read_text().split()]


def wait_until(condition: Callable[[], bool], told: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            if condition():
                return
        except FileNotFoundError:  # a file was moved while it was looked at
            continue
        assert time.monotonic() < deadline, told()
        time.sleep(0.005)


@pytest.fixture(params=["micro-batch", "continuous"])
def program(request: pytest.FixtureRequest, tmp_path: Path) -> Program:
    return Program(tmp_path, request.param)


def test_a_savepoint_leaves_nothing_hidden_that_a_job_of_another_id_would_not_find(
    program: Program,
) -> None:
    """Whatever becomes of the job afterwards: it may be killed, or its machine may be gone."""
    job = program.start("first", program.sink(compact=NEVER))
    for count in (5, 9):
        program.allow(count)
        wait_until(lambda n=count: program.hidden() == list(range(n)), program.hidden)  # type: ignore[misc]
    assert program.visible() == []
    (running,) = running_jobs()
    running.checkpoint()  # a host notes a batch after its sinks have it: a savepoint is of that
    location = job.trigger_savepoint(str(program.folder / "savepoints")).result()
    assert program.visible() == list(range(9))

    again = program.start(
        "second", program.sink(compact=NEVER), **{"execution.state-recovery.path": location}
    )
    job.cancel().result()
    program.allow(0)  # the first has ended, and nothing more for it
    program.allow(12)
    wait_until(lambda: program.hidden() == [9, 10, 11], program.hidden)
    again.stop_with_savepoint(False, str(program.folder / "savepoints")).result()
    assert program.visible() == list(range(12))


@pytest.mark.parametrize("ends", ["stop", "cancel"])
def test_a_job_that_is_ended_leaves_nothing_hidden(program: Program, ends: str) -> None:
    job = program.start("checkpoint", program.sink(compact=NEVER))
    program.allow(7)
    wait_until(lambda: program.hidden() == list(range(7)), program.hidden)
    if ends == "stop":
        job.stop_with_savepoint(False, str(program.folder / "savepoints")).result()
    else:
        job.cancel().result()
    wait_until(lambda: program.visible() == list(range(7)), program.visible)
    assert program.hidden() == []
