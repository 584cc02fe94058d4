"""A preview waits for Spark, then for its time, and says when that was not enough."""

from __future__ import annotations

import logging
import queue
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from headrace.common import Configuration
from headrace.datastream import StreamExecutionEnvironment, preview
from headrace.datastream import preview as module
from headrace.datastream.closeable_iterator import CloseableIterator
from headrace.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable


class Job:
    """A job under control of the test, in the place of one on Spark."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.records = CloseableIterator()
        self.warm = False
        self.closed = threading.Event()
        self.records.is_warm = lambda: self.warm
        self.records.on_close(self.closed.set)
        env = StreamExecutionEnvironment.get_execution_environment()
        monkeypatch.setattr(preview, "collect", lambda stream, name, alone: self.records)
        self.stream = env.from_collection([1]).map(str).name("numbers")

        # Time passes only where a preview waits for a record: what happens when, is the test's.
        self.now = 0.0
        self.plan: list[tuple[float, Callable[[], None]]] = []
        monkeypatch.setattr(time, "monotonic", lambda: self.now)
        self.take = self.records.next
        monkeypatch.setattr(self.records, "next", self.next)

    def next(self, timeout_s: float) -> Any:
        """The next record if there is one by then."""
        try:
            return self.take(timeout_s=0)
        except queue.Empty:
            self.now += timeout_s
            due = [action for when, action in self.plan if when <= self.now]
            self.plan = [(when, action) for when, action in self.plan if when > self.now]
            for action in due:
                action()
            raise

    def preview(self, n: int = 3, timeout: str = "200ms") -> Any:
        return self.stream.preview(n, timeout)

    def later(self, seconds: float, *actions: Callable[[], None]) -> None:
        self.plan += [(seconds, action) for action in actions]

    def warm_up(self) -> None:
        self.warm = True


@pytest.fixture
def job(monkeypatch: pytest.MonkeyPatch) -> Job:
    return Job(monkeypatch)


def test_the_clock_starts_with_the_end_of_the_first_batch(job: Job) -> None:
    job.later(0.6, job.warm_up, lambda: job.records.add([1, 2, 3]))
    found = job.preview()
    assert found == [1, 2, 3]
    assert found.stopped_because is None
    assert job.closed.is_set()


def test_running_out_of_time_says_so(job: Job, caplog: pytest.LogCaptureFixture) -> None:
    job.warm_up()
    job.records.add([1])
    with caplog.at_level(logging.WARNING):
        found = job.preview()
    assert found == [1]
    assert found.stopped_because == "time ran out after 0.2 s; the stream continues"
    assert repr(found) == "[1]  # time ran out after 0.2 s; the stream continues"
    assert "1 records; time ran out" in found._repr_html_()
    assert "preview of 'numbers' has 1 of 3 records: time ran out" in caplog.text


def test_the_end_of_a_short_stream_is_no_lack_of_time(
    job: Job, caplog: pytest.LogCaptureFixture
) -> None:
    job.later(0.1, lambda: job.records.end(None))
    found = job.preview()
    assert (repr(found), found.stopped_because, caplog.text) == ("[]", None, "")


def test_a_first_batch_that_never_ends_is_not_waited_for_for_ever(
    job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_LONGEST_START_S", 0.3)
    assert job.preview().stopped_because == "the first batch was not over after 0.3 s"
    assert job.closed.is_set()


def test_results_that_need_the_whole_input_say_so(
    job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_LONGEST_START_S", 0.1)
    job.records.reads_all_first = True
    assert "in BATCH mode these results need the whole input" in str(job.preview().stopped_because)


def test_an_error_of_the_job_is_raised(job: Job) -> None:
    job.records.end(ZeroDivisionError("by zero"))
    with pytest.raises(ZeroDivisionError):
        job.preview()


def test_how_many_is_a_positive_number(job: Job) -> None:
    with pytest.raises(InvalidArgumentError, match="preview expects a positive number, not 0"):
        job.preview(0)


def test_it_reads_in_small_batches_and_leaves_the_checkpoint_of_the_program_alone() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    settings = {
        "execution.checkpointing.dir": "/data/orders",
        "execution.state-recovery.path": "/data/savepoint",
        "source.max-records-per-batch": "1000000",
    }
    env.configure(Configuration.from_dict(settings))
    env.enable_checkpointing(60_000)
    spec = env.job_spec("orders").for_preview()
    assert (spec.checkpoint_dir, spec.interval_ms) == (None, 0)
    assert spec.option("execution.state-recovery.path") is None
    assert spec.option("source.max-records-per-batch") == 1000
    assert spec.option("source.max-files-per-batch") == 1
