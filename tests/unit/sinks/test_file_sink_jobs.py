"""Jobs that write files, on the local host: what readers find however the job ends."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

from headrace.common import Configuration, Types
from headrace.connectors.files import committer
from headrace.control.job import running_jobs
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors.file_system import FileCompactStrategy, FileSink, RollingPolicy
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


# --- parts over epochs ---------------------------------------------------------------------------


class Clock:
    """Seconds that pass as fast as a test likes."""

    def __init__(self) -> None:
        self.now_ms = 1_700_000_000_000

    def __call__(self) -> int:
        return self.now_ms

    def advance(self, seconds: float) -> None:
        self.now_ms += int(seconds * 1000)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(committer, "wall_clock", clock)
    return clock


@pytest.fixture
def continuous(tmp_path: Path) -> Program:
    return Program(tmp_path, "continuous")


def files(program: Program) -> list[Path]:
    return sorted((program.folder / "out").glob("*.txt"))


def feed(program: Program, clock: Clock, seconds: range, per_second: int = 5) -> None:
    """Gives the source its numbers of each second, and each second an epoch of its own at least."""
    for second in seconds:
        program.allow((second + 1) * per_second)
        everything = list(range((second + 1) * per_second))
        wait_until(
            lambda all_=everything: sorted(program.visible() + program.hidden()) == all_,  # type: ignore[misc]
            lambda: (program.visible(), program.hidden()),
        )
        clock.advance(1)


def test_the_number_of_files_follows_from_time_and_not_from_epochs(
    continuous: Program, clock: Clock
) -> None:
    job = continuous.start("checkpoint", continuous.sink())
    feed(continuous, clock, range(130))
    assert len(files(continuous)) == 2
    job.stop_with_savepoint(False, str(continuous.folder / "savepoints")).result()
    assert continuous.visible() == list(range(650))
    assert len(files(continuous)) == 3


def test_the_number_of_files_follows_from_size_and_not_from_epochs(
    continuous: Program, clock: Clock
) -> None:
    job = continuous.start("checkpoint", continuous.sink(part_size=100))
    feed(continuous, clock, range(40))
    job.cancel().result()
    wait_until(lambda: continuous.visible() == list(range(200)), continuous.visible)
    sizes = [file.stat().st_size for file in files(continuous)]
    assert all(100 <= size < 130 for size in sizes[:-1])


def test_a_part_is_published_when_its_time_has_come_without_a_new_record(
    continuous: Program, clock: Clock
) -> None:
    job = continuous.start("checkpoint", continuous.sink())
    feed(continuous, clock, range(3))
    assert files(continuous) == []
    clock.advance(60)
    wait_until(lambda: continuous.visible() == list(range(15)), continuous.visible)
    assert len(files(continuous)) == 1
    job.cancel().result()


def test_a_policy_that_ends_files_with_checkpoints_does(continuous: Program, clock: Clock) -> None:
    policy = RollingPolicy.on_checkpoint_rolling_policy()
    job = continuous.start("checkpoint", continuous.sink(rolling=policy))
    feed(continuous, clock, range(4))
    assert continuous.visible() == list(range(20))
    assert len(files(continuous)) >= 4
    job.cancel().result()


def test_what_waits_goes_on_after_a_restart_on_the_checkpoint_and_after_a_restore(
    continuous: Program, clock: Clock
) -> None:
    folder = str(continuous.folder / "savepoints")
    job = continuous.start("checkpoint", continuous.sink())
    feed(continuous, clock, range(3))
    location = job.stop_with_savepoint(False, folder).result()
    assert continuous.visible() == list(range(15))
    job = continuous.start(
        "restored", continuous.sink(), **{"execution.state-recovery.path": location}
    )
    feed(continuous, clock, range(3, 6))
    assert continuous.visible() == list(range(15))
    job.cancel().result()
    wait_until(lambda: continuous.visible() == list(range(30)), continuous.visible)
    assert len(files(continuous)) == 2
