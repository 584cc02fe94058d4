"""Savepoints of a job that goes on meanwhile, and may clear away what is being read; no Spark."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from headrace.control.fingerprint import Fingerprint, KeptStep
from headrace.control.savepoints import read_savepoint
from headrace.control.snapshot import SnapshotJob, take_savepoint
from headrace.errors import StateError
from headrace.spi.host import SourcePosition
from headrace.state import Savepoint

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

GONE = RuntimeError("1.changelog does not exist")


class Running:
    """A job that commits batches while its newest one is read."""

    def __init__(self, folder: Path) -> None:
        self.newest = -1
        self.paused = False
        self.commit()
        self.read: list[int] = []
        self.left_behind: list[list[str]] = []
        self.on_read: Callable[[], None] = lambda: None
        step = KeptStep("count", "process", "Count", 1, 2, 128)
        program = Fingerprint((("numbers", "file"),), 1, 2, False, (step,))
        self.job = SnapshotJob("a" * 32, "orders", str(folder), program, self)

    def commit(self) -> None:
        self.newest += 1

    # what a host's Checkpoints has

    def last_epoch(self) -> int:
        return self.newest

    def save(self, epoch: int, location: str, widths: Any) -> list[SourcePosition]:
        """Stands in for a host: entries of an epoch as Parquet."""
        self.read.append(epoch)
        self.left_behind.append(sorted(file.name for file in Path(location).rglob("*")))
        made = Savepoint.new().with_state("count", "total", [("ann", epoch)])
        made._write_files(location)
        self.on_read()
        return [SourcePosition((f'{{"logOffset": {epoch}}}',), (0,))]

    def begin_with(self, beginning: Any) -> None:
        raise AssertionError("nothing is restored here")

    @contextlib.contextmanager
    def pause(self) -> Iterator[None]:
        self.paused = True
        yield
        self.paused = False

    def take(self, folder: Path) -> Any:
        return take_savepoint(self.job, str(folder), paused=self.pause)


@pytest.fixture
def running(tmp_path: Path) -> Running:
    return Running(tmp_path / "job")


def test_a_batch_that_goes_away_is_followed_to_the_newest(running: Running, tmp_path: Path) -> None:
    def clear_away_once() -> None:
        if len(running.read) == 1:
            running.commit()
            raise GONE

    running.on_read = clear_away_once
    made = running.take(tmp_path / "all")
    assert running.read == [0, 1]
    assert running.left_behind[1] == running.left_behind[0]  # nothing of the first try
    assert read_savepoint(made.location).batch_id == 1
    assert made.sources[0].offsets == ('{"logOffset": 1}',)
    assert made.entries == 1


def test_the_last_try_holds_the_job_back(running: Running, tmp_path: Path) -> None:
    held: list[bool] = []

    def clear_away_while_it_runs() -> None:
        held.append(running.paused)
        if not running.paused:
            running.commit()
            raise GONE

    running.on_read = clear_away_while_it_runs
    made = running.take(tmp_path / "all")
    assert (running.read, held) == ([0, 1, 2], [False, False, True])
    assert made.batch_id == 2
    assert not running.paused


def test_a_failure_of_the_newest_batch_is_told_at_once(running: Running, tmp_path: Path) -> None:
    def fail() -> None:
        raise GONE

    running.on_read = fail
    with pytest.raises(RuntimeError, match="does not exist"):
        running.take(tmp_path / "all")
    assert running.read == [0]
    assert list((tmp_path / "all").glob("*")) == []


def test_what_headrace_refuses_is_not_tried_again(running: Running, tmp_path: Path) -> None:
    def refuse() -> None:
        running.commit()
        raise StateError("a value cannot be written to a savepoint")

    running.on_read = refuse
    with pytest.raises(StateError):
        running.take(tmp_path / "all")
    assert running.read == [0]
