"""Jobs in continuous mode wait for slots: executors may still be coming, or coming back."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest

from headrace.common import Configuration
from headrace.common.job_status import JobStatus
from headrace.control.job import running_jobs
from headrace.control.registry import JobRegistry
from headrace.control.views.reader import JobViews
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors.datagen import DataGeneratorSource
from headrace.errors import JobError, SavepointError
from headrace.hosts.continuous.slots import SlotNeed, SlotWait
from headrace.hosts.local.continuous import ThreadCarrier
from headrace.rest.flink.jobs import job_line
from patience import PATIENCE_S, wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from headrace.control.job import Job

NEED = SlotNeed(sources=2, stages=1, width=2)


# --- what is told, and when ----------------------------------------------------------------------


class Clock:
    now = 50.0

    def __call__(self) -> float:
        return self.now


def test_what_a_run_needs() -> None:
    assert (NEED.count, str(NEED)) == (4, "4 slots (2 for sources, 1 stage of 2 subtasks)")
    assert str(SlotNeed(3, 0, 2)) == "3 slots (3 for sources)"
    assert str(SlotNeed(1, 2, 4)) == "9 slots (1 for sources, 2 stages of 4 subtasks)"


def test_it_is_said_after_a_moment_and_again_now_and_then(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock = Clock()
    wait = SlotWait(NEED, 300.0, clock)
    told = []
    for _ in range(70):
        assert wait.look(1) == "slots: 4 needed, 1 there"
        told += [(clock.now - 50, text) for text in caplog.messages]
        caplog.clear()
        clock.now += 1.0
    assert [at for at, _ in told] == [3.0, 33.0, 63.0]
    assert told[1][1] == (
        "waiting for slots: the job needs 4 slots (2 for sources, 1 stage of 2 subtasks) at the "
        "same time, and there are 1; waited for 33 s of 300 s (slot.request.timeout)"
    )
    assert wait.look(4) is None
    assert caplog.messages == ["there are 4 slots now: the job goes on"]


def test_who_has_slots_at_once_says_nothing(caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    wait = SlotWait(NEED, 300.0, clock)
    clock.now += 2.9
    assert wait.look(3) is not None
    assert wait.look(5) is None
    assert not caplog.messages


def test_patience_has_an_end() -> None:
    clock = Clock()
    wait = SlotWait(NEED, 5.0, clock)
    clock.now += 5.0
    assert wait.look(4) is None
    with pytest.raises(JobError, match=r"needs 4 slots .* after 5 s there are 3") as told:
        wait.look(3)
    assert "slot.request.timeout" in str(told.value.fix)


# --- jobs ----------------------------------------------------------------------------------------


class Slots:
    """What a cluster would tell."""

    def __init__(self) -> None:
        self.there = 0
        self.looks = 0

    def __call__(self, carrier: Any) -> int:
        self.looks += 1
        return self.there


@pytest.fixture
def slots(monkeypatch: pytest.MonkeyPatch) -> Slots:
    made = Slots()
    monkeypatch.setattr(ThreadCarrier, "slots", lambda carrier: made(carrier))
    return made


def start(folder: Path, results: list[Any], **options: str) -> Job:
    configuration = Configuration()
    settings = {
        "headrace.execution.mode": "continuous",
        "headrace.execution.host": "local",
        "headrace.jobs.dir": str(folder / "jobs"),
        "execution.checkpointing.dir": str(folder / "checkpoint"),
        "execution.checkpointing.interval": "50 ms",
        **{key.replace("__", ".").replace("_", "-"): value for key, value in options.items()},
    }
    for key, value in settings.items():
        configuration.set_string(key, value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(2)
    source = DataGeneratorSource(lambda n: n, 40)
    stream = env.from_source(source, None, "numbers").key_by(lambda n: n % 4)
    stream.map(lambda n: n).add_sink(results.append)
    env.execute_async(folder.name)
    [job] = [job for job in running_jobs() if job.name == folder.name]
    return job


def test_a_job_waits_for_slots_says_so_and_goes_on(slots: Slots, tmp_path: Path) -> None:
    results: list[Any] = []
    job = start(tmp_path, results)
    registry = JobRegistry(tmp_path / "jobs")

    def told() -> str | None:
        record = registry.get(job.job_id)
        return None if record is None else record.waits_for

    wait_until(lambda: told() == "slots: 4 needed, 0 there")
    [shown] = JobViews(registry).overview()
    assert (shown.tasks["scheduled"], shown.tasks["running"]) == (4, 0)
    since = shown.waits_since
    assert since is not None
    assert job_line(shown)["waits-for"] == shown.waits_for
    assert job_line(shown)["waits-since"] == since
    slots.there = 3
    wait_until(lambda: told() == "slots: 4 needed, 3 there")
    assert (job.status, results) == (JobStatus.RUNNING, [])
    assert JobViews(registry).overview()[0].waits_since == since
    slots.there = 4
    assert job.wait(PATIENCE_S)
    assert job.error is None
    assert sorted(results) == list(range(40))
    assert told() is None
    assert "waits-for" not in job_line(JobViews(registry).overview()[0])


def test_a_job_that_waited_for_too_long_is_tried_again(slots: Slots, tmp_path: Path) -> None:
    results: list[Any] = []
    job = start(
        tmp_path,
        results,
        slot__request__timeout="1 ms",
        restart_strategy__type="fixed-delay",
        restart_strategy__fixed_delay__attempts="1000",
        restart_strategy__fixed_delay__delay="1 ms",
    )
    wait_until(lambda: job.restarts >= 2)
    assert "needs 4 slots" in str(job.failures[0].error)
    slots.there = 4
    assert job.wait(PATIENCE_S)
    assert job.error is None
    assert sorted(results) == list(range(40))


def test_without_a_restart_strategy_it_fails(slots: Slots, tmp_path: Path) -> None:
    job = start(tmp_path, [], slot__request__timeout="1 ms", restart_strategy__type="none")
    assert job.wait(PATIENCE_S)
    assert job.status is JobStatus.FAILED
    assert "needs 4 slots" in str(job.error)


@pytest.mark.parametrize("how", ["cancel", "stop"])
def test_a_job_that_waits_can_be_ended(slots: Slots, tmp_path: Path, how: str) -> None:
    job = start(tmp_path, [])
    wait_until(lambda: job.waits_for)
    ending = threading.Thread(target=getattr(job, how))
    ending.start()
    assert job.wait(PATIENCE_S)
    ending.join(PATIENCE_S)
    expected = {"cancel": JobStatus.CANCELED, "stop": JobStatus.FINISHED}[how]
    assert (job.status, job.error) == (expected, None)


def test_a_savepoint_needs_no_slots_but_a_checkpoint(slots: Slots, tmp_path: Path) -> None:
    job = start(tmp_path, [])
    wait_until(lambda: job.waits_for)
    with pytest.raises(SavepointError):  # it has never run; nobody waits for slots to find out
        job.savepoint(str(tmp_path / "savepoints"))
    job.cancel()
    assert job.wait(PATIENCE_S)


PROGRAM = """
import sys

from headrace.common import Configuration
from headrace.datastream import StreamExecutionEnvironment
from headrace.hosts.local.continuous import ThreadCarrier

ThreadCarrier.slots = lambda carrier: 0
configuration = Configuration()
for key, value in {
    "headrace.execution.mode": "continuous",
    "headrace.execution.host": "local",
    "headrace.jobs.dir": sys.argv[1],
}.items():
    configuration.set_string(key, value)
env = StreamExecutionEnvironment.get_execution_environment(configuration)
env.from_collection([1, 2]).print()
env.execute("waits")
"""


def test_ctrl_c_ends_a_program_that_waits(tmp_path: Path) -> None:
    registry = JobRegistry(tmp_path)
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(tmp_path)], stderr=subprocess.PIPE, text=True
    )
    try:
        wait_until(lambda: process.poll() is not None or [r for r in registry.all() if r.waits_for])
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=PATIENCE_S)
    finally:
        process.kill()
    assert "KeyboardInterrupt" in told
    [record] = registry.all()
    assert (record.state, record.waits_for) == ("CANCELED", None)
