"""A job's life with runs that fail on purpose: restarts, cancel, stop; no Spark."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from headrace.common.job_status import JobStatus
from headrace.common.restart_strategy import RestartStrategies
from headrace.connectors.driver.collect import CollectSink
from headrace.connectors.driver.record_chunks import ShippingWriter
from headrace.control.attempt import Attempt
from headrace.control.job import Job, running_jobs
from headrace.control.metrics import JobMetrics
from headrace.datastream.connectors.sink import Committer, CommitterContext, WriterContext
from headrace.errors import (
    ConfigurationError,
    ConnectorError,
    HeadraceError,
    JobError,
    SavepointError,
    UserFunctionError,
)
from headrace.spi.host import EpochResults
from patience import PATIENCE_S, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable

RETRY = RestartStrategies.fixed_delay_restart(2, 0)
Batches = dict[int, "list[int] | Exception"]


class FakeRun:
    """A run of numbered epochs, as a host would make them: from the first uncommitted one on."""

    def __init__(self, attempt: Attempt, log: FakeLog, batches: Batches) -> None:
        self.attempt, self.log, self.batches = attempt, log, batches
        self.can_run_again = log.spark_lives
        self.stopped = threading.Event()
        self.in_epoch = False
        self.has_short_epochs = True

    def recover(self) -> None:
        """Nothing is left over."""

    def finish_epoch(self) -> None:
        """Epochs end by themselves."""

    def start(self) -> None:
        if isinstance(self.log.start_error, Exception):
            error, self.log.start_error = self.log.start_error, None
            raise error

    def wait_until_idle(self) -> None:
        for number, content in self.batches.items():
            if number <= self.log.committed:
                continue
            if self.stopped.is_set():
                return
            self._batch(number, content)
        while self.log.endless and not self.stopped.is_set():
            self._command()
            time.sleep(0.002)

    def _command(self) -> None:
        if self.log.commands and "end" in self.log.commands:
            self.log.commands.remove("end")
            self._batch(self.log.committed + 1, [], at_end=True)

    def _batch(self, number: int, content: Any, *, at_end: bool = False) -> None:
        self.in_epoch = True
        try:
            self.attempt.run_epoch(number, lambda: self._work(number, content, at_end))
            self.log.after_batch(number)
            self.log.committed = number
        finally:
            self.in_epoch = False

    def _work(self, number: int, content: Any, at_end: bool) -> EpochResults:
        self.log.ran.append(number)
        if isinstance(content, Exception):
            self.batches[number] = [number]  # works the next time
            raise content
        report = {
            "records_in": len(content),
            "records_out": 0,
            "late_records_dropped": 0,
            "gauges": {},
            "counters": {},
            "accumulators": {},
            "watermark": 0,
        }
        return EpochResults({"sink": content}, [(0, {"sink": report})], at_end_of_time=at_end)

    wait = wait_until_idle

    def stop(self) -> None:
        self.stopped.set()

    close = stop
    is_waiting = False
    waits_for = None

    def exhausted(self) -> bool:
        return True

    def end_input(self) -> None:
        self.log.commands.append("end")

    def wake_at(self, when_ms: int | None) -> None:
        pass


class FakeLog:
    """Spark's checkpoint, and what happened."""

    def __init__(self, *, endless: bool) -> None:
        self.committed = -1
        self.ran: list[int] = []
        self.start_error: Exception | None = None
        self.endless = endless
        self.spark_lives = True
        self.commands: list[str] = []
        self.after_batch: Callable[[int], None] = lambda number: None


class ListCommitter(Committer):
    def __init__(self, events: list[Any]) -> None:
        self.events = events

    def commit(self, batch_id: int, committables: list[Any]) -> None:
        self.events.append((batch_id, committables))

    def publish_held_back(self) -> None:
        self.events.append("publish")

    def end_of_input(self) -> None:
        self.events.append("end of input")

    def close(self) -> None:
        self.events.append("close")


class Bench:
    """A job on fakes, and all that can be seen of it."""

    def __init__(
        self, batches: Batches, *, strategy: Any = RETRY, endless: bool = False, timed: bool = False
    ) -> None:
        self.log = FakeLog(endless=endless)
        self.events: list[Any] = []
        self.queries: list[FakeRun] = []
        self.batches = batches
        self.timed = timed
        self.ends: list[JobStatus] = []
        self.cannot_build_again: Exception | None = None
        self.while_paused: Callable[[], None] = lambda: None
        self.check_right: Callable[[], None] = lambda: None
        self.job = Job(
            job_id="ab12",
            name="job",
            strategy=strategy,
            make_attempt=self.make_attempt,
            take_savepoint=self.take_savepoint,
            on_end=lambda job: self.ends.append(job.status),
        )

    def take_savepoint(
        self, folder: str | None, *, drained: bool, paused: Any = None, publish: Any = None
    ) -> Any:
        self.events.append(("savepoint", folder, drained))
        if folder == "broken":
            raise SavepointError("no space")
        if paused is not None:
            with paused():
                self.while_paused()
        if publish is not None:
            publish()
        return SimpleNamespace(location=f"savepoint in {folder}", bytes=100)

    def make_attempt(self, metrics: Any) -> Attempt:
        if self.queries and self.cannot_build_again is not None:
            error, self.cannot_build_again = self.cannot_build_again, None
            raise error
        attempt = Attempt(
            bounded=not self.log.endless,
            committers={"sink": ("sink", self.committer())},
            uses_time=self.timed,
            metrics=metrics,
            check_right=self.check_right,
        )
        self.queries.append(FakeRun(attempt, self.log, self.batches))
        attempt.start(self.queries[-1])
        return attempt

    def committer(self) -> Committer:
        return ListCommitter(self.events)

    def run(self) -> Job:
        self.job.start()
        assert self.job.wait(PATIENCE_S)
        return self.job

    def until(self, condition: Callable[[], Any]) -> None:
        wait_until(condition, every_s=0.002)


def test_a_job_without_failures_runs_once_and_ends() -> None:
    bench = Bench({0: [1], 1: [2]})
    job = bench.run()
    assert (job.status, job.error, job.restarts) == (JobStatus.FINISHED, None, 0)
    assert bench.events == [(0, [1]), (1, [2]), "end of input", "close"]
    assert bench.ends == [JobStatus.FINISHED]
    assert job not in running_jobs()


def test_a_failed_batch_is_repeated_by_a_new_attempt_from_the_checkpoint() -> None:
    error = UserFunctionError("it raised")
    bench = Bench({0: [1], 1: error, 2: [3]})
    job = bench.run()
    assert (job.status, job.error, job.restarts) == (JobStatus.FINISHED, None, 1)
    assert bench.log.ran == [0, 1, 1, 2]
    first, again = [(0, [1]), "publish", "close"], [(1, [1]), (2, [3]), "end of input", "close"]
    assert bench.events == first + again
    assert [failure.error for failure in job.failures] == [error]
    assert job.metrics.snapshot()["numRestarts"] == 1


def test_the_last_error_is_raised_and_says_how_often_the_job_was_restarted() -> None:
    bench = Bench({})
    errors = [UserFunctionError(f"failure {n}", where="pipeline.py:3") for n in range(3)]

    def fail_again(number: int) -> None:
        raise errors[len(bench.queries) - 1]

    bench.batches = {0: [1]}
    bench.log.after_batch = fail_again
    job = bench.run()
    assert job.status is JobStatus.FAILED
    assert job.error is errors[2]
    assert str(job.error).splitlines()[:2] == [
        "[USER_FUNCTION] failure 2; the job was restarted 2 times before "
        "(Restart with fixed delay (0 ms). #2 restart attempts.)",
        "  where: pipeline.py:3",
    ]
    assert [failure.delay_ms for failure in job.failures] == [0, 0, None]
    # the batch was committed by the sinks, but not by Spark: it comes again and counts once
    assert job.metrics.batches == 1
    assert job.metrics.snapshot()["operators"]["sink"]["numRecordsIn"] == 1


def test_an_error_without_restarts_is_left_as_it_is() -> None:
    bench = Bench({0: UserFunctionError("once")}, strategy=RestartStrategies.no_restart())
    assert str(bench.run().error) == "[USER_FUNCTION] once"
    assert len(bench.queries) == 1


def test_what_repeats_for_certain_is_not_tried_again() -> None:
    bench = Bench({0: ConfigurationError("nonsense")})
    assert bench.run().status is JobStatus.FAILED
    assert len(bench.queries) == 1


def test_without_spark_there_is_no_other_attempt() -> None:
    bench = Bench({0: JobError("connection refused")})
    bench.log.spark_lives = False
    job = bench.run()
    assert job.status is JobStatus.FAILED
    assert len(bench.queries) == 1
    assert job.error is not None
    assert "run the program again" in job.error.__notes__[0]


def test_an_attempt_that_cannot_be_built_is_one_more_failure() -> None:
    bench = Bench({0: UserFunctionError("first"), 1: [2]})
    bench.cannot_build_again = ConnectorError("no source")
    job = bench.run()
    assert job.status is JobStatus.FINISHED
    assert [type(failure.error).__name__ for failure in job.failures] == [
        "UserFunctionError",
        "ConnectorError",
    ]
    assert job.restarts == 2


def test_the_first_start_raises_where_the_job_was_submitted() -> None:
    bench = Bench({})
    bench.log.start_error = ConnectorError("no such folder")
    with pytest.raises(ConnectorError, match="no such folder"):
        bench.job.start()
    assert bench.job.status is JobStatus.FAILED
    assert bench.ends == [JobStatus.FAILED]
    assert bench.job not in running_jobs()


def test_a_restarting_job_shows_it_and_can_be_cancelled() -> None:
    strategy = RestartStrategies.fixed_delay_restart(5, 3_600_000)
    bench = Bench({0: UserFunctionError("it raised")}, strategy=strategy)
    bench.job.start()
    bench.until(lambda: bench.job.status is JobStatus.RESTARTING)
    with pytest.raises(JobError, match="RESTARTING, so there is no batch"):
        bench.job.stop()
    bench.job.cancel()
    assert bench.job.wait(PATIENCE_S)
    assert bench.job.status is JobStatus.CANCELED
    assert bench.job.error is None
    assert len(bench.queries) == 1


def _in_its_second_batch() -> tuple[Bench, threading.Event]:
    """A job whose second batch runs until the event is set."""
    bench = Bench({}, endless=True)
    begun, go_on = threading.Event(), threading.Event()

    class Slow(list[int]):
        def __len__(self) -> int:
            begun.set()
            assert go_on.wait(PATIENCE_S)
            return 1

    bench.batches = {0: [1], 1: Slow()}
    bench.job.start()
    assert begun.wait(PATIENCE_S)
    return bench, go_on


def test_a_batch_that_is_running_when_the_job_is_cancelled_commits_nothing() -> None:
    bench, go_on = _in_its_second_batch()
    bench.job.cancel()
    go_on.set()
    assert bench.job.wait(PATIENCE_S)
    assert bench.job.status is JobStatus.CANCELED
    assert bench.events == [(0, [1]), "publish", "close"]
    bench.job.cancel()  # a second time does no harm


def test_stop_ends_an_idle_job_behind_its_last_batch_without_end_of_input() -> None:
    bench = Bench({0: [1]}, endless=True)
    bench.job.start()
    bench.until(lambda: bench.log.committed == 0)
    bench.job.stop()
    assert bench.job.wait(PATIENCE_S)
    assert bench.job.status is JobStatus.FINISHED
    assert bench.events == [(0, [1]), "publish", "close"]


def test_stop_lets_a_busy_job_finish_its_batch_and_begins_no_other() -> None:
    bench = Bench({n: [n] for n in range(1000)}, endless=True)
    bench.log.after_batch = lambda number: time.sleep(0.001)
    bench.job.start()
    bench.until(lambda: bench.log.committed >= 3)
    assert not bench.job.is_stopping
    bench.job.stop()
    bench.job.stop()
    assert bench.job.wait(PATIENCE_S)
    assert not bench.job.is_stopping  # it has ended
    assert (bench.job.status, bench.job.error) == (JobStatus.FINISHED, None)
    assert bench.events[-3][0] == bench.log.committed < 999
    assert bench.log.ran == list(range(bench.log.committed + 1))


def test_drain_lets_time_reach_its_end_first() -> None:
    bench = Bench({0: [1]}, endless=True, timed=True)
    bench.job.start()
    bench.until(lambda: bench.log.committed == 0)
    bench.job.stop(drain=True)
    assert bench.job.wait(PATIENCE_S)
    assert bench.job.status is JobStatus.FINISHED
    assert bench.events == [(0, [1]), (1, []), "end of input", "close"]


def test_a_failure_from_outside_ends_the_job_for_good() -> None:
    bench = Bench({0: [1]}, endless=True)
    bench.job.start()
    bench.until(lambda: bench.log.committed == 0)
    bench.job.fail(JobError("the lock is lost"))
    assert bench.job.wait(PATIENCE_S)
    assert bench.job.status is JobStatus.FAILED
    assert isinstance(bench.job.error, HeadraceError)
    assert bench.job.error.message == "the lock is lost"
    assert len(bench.queries) == 1


def test_collected_records_come_once_although_their_batch_comes_twice() -> None:
    """The sinks took batch 0, then Spark failed to note it: the next attempt repeats it."""
    delivered: list[Any] = []
    sink = CollectSink(delivered.extend)
    bench = Bench({0: [], 1: []})
    bench.job.job_id = "collected-once"
    bench.committer = lambda: sink.create_committer(  # type: ignore[method-assign]
        CommitterContext(job_id="collected-once", sink_uid="sink")
    )
    failed: list[int] = []

    def disk_full_once(number: int) -> None:
        if not failed:
            failed.append(number)
            raise OSError("disk full")

    bench.log.after_batch = disk_full_once
    bench.batches = {0: [_chunk("a", "b")], 1: [_chunk("c")]}
    assert bench.run().status is JobStatus.FINISHED
    assert bench.log.ran == [0, 0, 1]
    assert delivered == ["a", "b", "c"]


def _chunk(*values: Any) -> Any:
    writer = ShippingWriter(WriterContext(0, 1, "try", "collected-once", "sink", 0))
    writer.write(list(values), None)
    (chunk,) = writer.prepare_commit()
    return chunk


def _checkpoint(bench: Bench) -> Any:
    """A checkpoint that is asked for from another thread."""
    asked = ThreadPoolExecutor(1)
    found = asked.submit(bench.job.checkpoint)
    asked.shutdown(wait=False)
    return found


def test_a_checkpoint_is_that_of_the_running_batch() -> None:
    bench, go_on = _in_its_second_batch()
    bench.queries[0].is_waiting = True  # as its last look at the sources was: it is in an epoch
    asked = _checkpoint(bench)
    with pytest.raises(TimeoutError):
        asked.result(0.1)
    go_on.set()
    assert asked.result(PATIENCE_S) == 2
    bench.job.cancel()


def test_a_checkpoint_of_an_idle_job_is_its_last_one() -> None:
    bench = Bench({0: [1]}, endless=True)
    bench.job.start()
    bench.until(lambda: bench.log.committed == 0)
    bench.queries[0].is_waiting = True
    assert bench.job.checkpoint() == 1
    bench.job.cancel()


def test_a_job_that_has_read_nothing_has_no_checkpoint_to_give() -> None:
    bench = Bench({}, endless=True)
    bench.job.start()
    bench.until(lambda: bench.job.status is JobStatus.RUNNING)
    bench.queries[0].is_waiting = True
    with pytest.raises(JobError, match="have given nothing yet"):
        bench.job.checkpoint()
    bench.job.cancel()


def test_a_checkpoint_ends_a_long_epoch_now() -> None:
    bench = Bench({0: [1]}, endless=True)
    bench.job.start()
    bench.until(lambda: bench.log.committed == 0)
    run = bench.queries[0]
    run.has_short_epochs = False
    run.finish_epoch = lambda: run._batch(1, [])  # type: ignore[method-assign]
    assert bench.job.checkpoint() == 2
    bench.job.cancel()


def test_a_checkpoint_of_a_job_that_ends_or_fails_is_told_to_be_none() -> None:
    bench = Bench({0: [1]}, endless=True)
    with pytest.raises(JobError, match="is CREATED, so it makes no checkpoint"):
        bench.job.checkpoint()
    bench.job.start()
    bench.until(lambda: bench.log.committed == 0)
    asked = _checkpoint(bench)
    with pytest.raises(TimeoutError):
        asked.result(0.1)
    bench.job.cancel()
    with pytest.raises(JobError, match="before its checkpoint was made: it is CANCEL"):
        asked.result(PATIENCE_S)
    assert bench.job.wait(PATIENCE_S)
    with pytest.raises(JobError, match="is CANCELED, so it makes no checkpoint"):
        bench.job.checkpoint()


def test_stop_with_savepoint_saves_what_the_last_batch_left() -> None:
    bench = Bench({0: [1], 1: [2]}, endless=True)
    bench.job.start()
    bench.until(lambda: bench.log.committed == 1)
    assert bench.job.stop_with_savepoint("sp", drain=False).location == "savepoint in sp"
    saved = bench.job.metrics.checkpoints.last("savepoint")
    assert saved is not None
    assert (saved["path"], saved["epoch"], saved["id"]) == ("savepoint in sp", 1, 3)
    assert bench.job.status is JobStatus.FINISHED
    assert bench.events == [(0, [1]), (1, [2]), "publish", "close", ("savepoint", "sp", False)]


def test_a_savepoint_that_fails_at_the_end_is_told_and_the_job_has_ended() -> None:
    bench = Bench({0: [1]}, endless=True)
    bench.job.start()
    bench.until(lambda: bench.log.committed == 0)
    with pytest.raises(SavepointError, match="no space"):
        bench.job.stop_with_savepoint("broken")
    assert bench.job.status is JobStatus.FINISHED


def test_a_savepoint_can_hold_the_next_batch_back() -> None:
    bench = Bench({0: [1]}, endless=True, timed=True)
    bench.job.start()
    bench.until(lambda: bench.log.committed == 0)

    def another_batch() -> None:
        bench.log.commands.append("end")  # what makes the fake run one
        time.sleep(0.05)
        assert bench.log.ran == [0]

    bench.while_paused = another_batch
    bench.job.savepoint("folder")
    bench.until(lambda: bench.log.committed == 1)
    bench.job.cancel()
    assert bench.job.wait(PATIENCE_S)


def test_a_savepoint_has_sinks_publish_what_they_hold_back_before_it_counts() -> None:
    bench = Bench({0: [1]}, endless=True)
    bench.job.start()
    bench.until(lambda: bench.log.committed == 0)
    bench.job.savepoint("sp")
    assert bench.events == [(0, [1]), ("savepoint", "sp", False), "publish"]
    bench.job.cancel()
    assert bench.job.wait(PATIENCE_S)


def test_between_two_attempts_there_are_no_sinks_for_a_savepoint() -> None:
    slow = RestartStrategies.fixed_delay_restart(2, 60_000)
    bench = Bench({0: [1], 1: ConnectorError("lost")}, strategy=slow)
    bench.job.start()
    bench.until(lambda: bench.job.status is JobStatus.RESTARTING)
    with pytest.raises(JobError, match="RESTARTING, so its sinks cannot publish"):
        bench.job.savepoint("sp")
    bench.job.cancel()
    assert bench.job.wait(PATIENCE_S)


@pytest.mark.parametrize("ends", ["stop", "cancel", "fail"])
@pytest.mark.parametrize("has_right", [True, False])
def test_only_a_driver_that_has_the_job_publishes_what_sinks_hold_back(
    ends: str, has_right: bool
) -> None:
    bench = Bench({0: [1]}, endless=True)
    bench.check_right = lambda: refused() if lost else None
    lost: list[bool] = []

    def refused() -> None:
        raise JobError("another driver has the job")

    bench.job.start()
    bench.until(lambda: bench.log.committed == 0)
    if not has_right:
        lost.append(True)
    if ends == "fail":
        bench.job.fail(ConnectorError("away"))
    else:
        getattr(bench.job, ends)()
    assert bench.job.wait(PATIENCE_S)
    assert bench.events == [(0, [1]), *(["publish"] if has_right else []), "close"]


def test_an_ended_job_gives_no_savepoint() -> None:
    bench = Bench({0: [1]})
    bench.run()
    with pytest.raises(JobError, match="has ended"):
        bench.job.savepoint("sp")


class DeliveringCommitter(ListCommitter):
    """One whose record is on its way in for as long as a test wants."""

    def __init__(self, events: list[Any]) -> None:
        super().__init__(events)
        self.inside, self.go_on = threading.Event(), threading.Event()

    def deliver(self, batch_id: int, committables: list[Any]) -> None:
        self.inside.set()
        assert self.go_on.wait(PATIENCE_S)
        self.events.append("delivered")


@pytest.mark.parametrize("ends", ["close", "end of input"])
def test_a_sink_is_called_by_one_thread_at_a_time(ends: str) -> None:
    """In continuous mode records come in other threads than the end of the job."""
    events: list[Any] = []
    committer = DeliveringCommitter(events)
    attempt = Attempt(
        bounded=True,
        uses_time=False,
        committers={"sink": ("sink", committer)},
        metrics=JobMetrics(),
    )
    attempt.start(FakeRun(attempt, FakeLog(endless=False), {}))
    delivering = threading.Thread(target=lambda: attempt.deliver("sink", 0, []))
    delivering.start()
    assert committer.inside.wait(PATIENCE_S)
    ending = threading.Thread(target=attempt.close if ends == "close" else attempt.watch)
    ending.start()
    ending.join(0.1)
    assert events == []
    committer.go_on.set()
    delivering.join(PATIENCE_S)
    ending.join(PATIENCE_S)
    assert [each for each in events if each != "publish"] == ["delivered", ends]
