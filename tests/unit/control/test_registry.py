"""Jobs on disk: what a terminal sees of the jobs of others, and how it asks them for something."""

from __future__ import annotations

import json
import os
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from headrace.common import Configuration
from headrace.common.job_status import JobStatus
from headrace.common.restart_strategy import RestartStrategies
from headrace.control import agent as agent_module
from headrace.control.agent import JobAgent, new_record
from headrace.control.fence import Fence, launch_file
from headrace.control.job import Failure
from headrace.control.metrics import JobMetrics
from headrace.control.registry import JobRecord, JobRegistry
from headrace.control.requests import Inbox, ask
from headrace.errors import (
    ConnectorError,
    JobError,
    JobNameInUseError,
    JobNotFoundError,
    UserFunctionError,
)
from headrace.io.processes import this_process
from patience import wait_until


@pytest.fixture
def registry(tmp_path: Path) -> JobRegistry:
    return JobRegistry(tmp_path / "jobs")


def record(job_id: str, name: str = "job", state: str = "RUNNING", **fields: Any) -> JobRecord:
    me = this_process()
    base: dict[str, Any] = {"host": me.host, "pid": me.pid, "born": me.born}
    return JobRecord(
        job_id=job_id, name=name, state=state, **{**base, "started": 1, "updated": 1, **fields}
    )


def test_the_directory_is_named_by_option_variable_or_home(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HEADRACE_HOME", "/somewhere")
    assert JobRegistry.of(Configuration()).folder == Path("/somewhere/jobs")
    named = Configuration.from_dict({"headrace.jobs.dir": "/elsewhere"})
    assert JobRegistry.of(named).folder == Path("/elsewhere")
    monkeypatch.delenv("HEADRACE_HOME")
    assert JobRegistry.of(Configuration()).folder == Path.home() / ".headrace" / "jobs"


def test_jobs_are_found_by_id_by_its_beginning_and_by_the_name_of_a_running_one(
    registry: JobRegistry,
) -> None:
    registry.write(record("ab12", "orders", "FINISHED", started=1))
    registry.write(record("ab34", "orders", started=2))
    registry.write(record("cd56", "clicks", "FAILED", started=3))

    assert [found.job_id for found in registry.all()] == ["cd56", "ab34", "ab12"]
    assert registry.find("ab1").job_id == "ab12"
    assert registry.find("AB34").job_id == "ab34"
    assert registry.find("orders").job_id == "ab34"
    assert registry.find("clicks").job_id == "cd56"
    for text, said in (("ab", "matches 2 jobs"), ("zz", "there is no job 'zz'"), ("", "no job ''")):
        with pytest.raises(JobNotFoundError, match=said):
            registry.find(text)


def test_a_name_means_the_newest_job_where_that_does_no_harm(registry: JobRegistry) -> None:
    for number, state in enumerate(("FINISHED", "FAILED")):
        registry.write(record(f"ab{number}", "orders", state, started=number))
    assert registry.find("orders").job_id == "ab1"
    for number in (2, 3):
        registry.write(record(f"ab{number}", "orders", started=-number))
    assert registry.find("orders", newest=True).job_id == "ab2"  # running ones come first
    with pytest.raises(JobNotFoundError, match="matches 2 jobs"):
        registry.find("orders")  # which of them to cancel?


def test_a_job_whose_driver_died_is_lost(registry: JobRegistry) -> None:
    registry.write(record("dead", pid=2**22 + 1))
    registry.write(record("reused", born="1"))
    registry.write(record("far", host="elsewhere", updated=int(time.time() * 1000)))
    registry.write(record("silent", host="elsewhere", updated=int((time.time() - 3600) * 1000)))
    registry.write(record("done", "job", "FINISHED", pid=2**22 + 1))
    states = {found.job_id: found.state for found in registry.all()}
    assert states == {
        "dead": "LOST",
        "reused": "LOST",
        "far": "RUNNING",
        "silent": "LOST",
        "done": "FINISHED",
    }


def test_files_that_are_not_jobs_are_left_aside(registry: JobRegistry) -> None:
    registry.write(record("ab12"))
    (registry.folder / "cut.json").write_text('{"job_id": ')
    (registry.folder / "other.json").write_text('{"hello": 1}')
    later = {**record("ef78").to_json(), "a field of a later version": 1}
    (registry.folder / "ef78.json").write_text(json.dumps(later))
    assert sorted(found.job_id for found in registry.all()) == ["ab12", "ef78"]


def test_a_name_in_use_is_refused_unless_it_is_the_jobs_own(registry: JobRegistry) -> None:
    registry.write(record("ab12", "orders"))
    registry.write(record("cd34", "clicks", "FINISHED"))
    with pytest.raises(JobNameInUseError, match="'orders' is in use by running job ab12"):
        registry.check_name_is_free("orders")
    registry.check_name_is_free("orders", "ab12")
    registry.check_name_is_free("clicks")


def test_old_jobs_are_forgotten_with_their_logs_but_running_ones_never(
    registry: JobRegistry, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("headrace.control.registry._KEPT_ENDED", 2)
    log = tmp_path / "old.log"
    log.touch()
    registry.write(record("running", started=0))
    registry.write(record("old", "job", "FINISHED", started=1, log=str(log)))
    for number in (2, 3):
        registry.write(record(f"new{number}", "job", "FAILED", started=number))
    registry.forget_old()
    assert [found.job_id for found in registry.all()] == ["new3", "new2", "running"]
    assert not log.exists()


# --- requests ------------------------------------------------------------------------------------


class FakeJob:
    """As much of a job as its agent looks at."""

    def __init__(self) -> None:
        self.job_id, self.name = "ab12", "orders"
        self.status = JobStatus.RUNNING
        self.strategy = RestartStrategies.no_restart()
        self.driver_is_lost = False
        self.is_stopping = False
        self.waits_for: str | None = None
        self.metrics = JobMetrics()
        self.error: BaseException | None = None
        self.failures: list[Failure] = []
        self.last_savepoint = None
        self.restarts = 0
        self.asked: list[Any] = []

    def cancel(self) -> None:
        self.asked.append("cancel")

    def stop(self, *, drain: bool) -> None:
        if self.status is not JobStatus.RUNNING:
            raise JobError("nothing to stop", fix="wait")
        self.asked.append(("stop", drain))

    def fail(self, error: BaseException) -> None:
        self.error = error


@pytest.fixture
def job() -> FakeJob:
    return FakeJob()


def agent_of(
    job: FakeJob, registry: JobRegistry, lease: Any = None, fence: Fence | None = None
) -> JobAgent:
    first = new_record(job, checkpoint="/cp", parallelism=2, web={})  # type: ignore[arg-type]
    return JobAgent(job, registry, first, lease, fence=fence)  # type: ignore[arg-type]


@pytest.fixture
def agent(job: FakeJob, registry: JobRegistry, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(agent_module, "_POLL_S", 0.01)
    monkeypatch.setattr(agent_module, "_WRITE_EVERY_S", 0.02)
    agent = agent_of(job, registry)
    agent.start()
    yield agent
    agent.end()


def test_a_driver_that_was_replaced_does_not_write_over_the_other(
    job: FakeJob, registry: JobRegistry, tmp_path: Path
) -> None:
    launches = tmp_path / "launches"
    launches.mkdir()
    (launches / launch_file(1)).write_text('{"token": "mine"}')
    agent = agent_of(job, registry, fence=Fence(launches, "mine"))
    agent.start()
    other = replace(registry.find("ab12"), pid=1, born="another", state="FINISHED")
    (launches / launch_file(2)).write_text('{"token": "other"}')
    registry.write(other)
    job.status = JobStatus.CANCELED
    agent.end()
    assert registry.get("ab12") == other


def test_a_job_is_asked_through_files_and_answers(
    agent: Any, job: FakeJob, registry: JobRegistry
) -> None:
    assert ask(registry, "ab12", "cancel") == {"state": "CANCELLING"}
    wait_until(lambda: job.asked == ["cancel"])
    assert ask(registry, "ab12", "stop", {"drain": True}) == {"state": "RUNNING"}
    assert job.asked == ["cancel", ("stop", True)]
    assert list(registry.requests_of("ab12").iterdir()) == []


def test_what_the_job_refuses_is_raised_where_it_was_asked(
    agent: Any, job: FakeJob, registry: JobRegistry
) -> None:
    job.status = JobStatus.RESTARTING
    with pytest.raises(JobError, match="nothing to stop") as caught:
        ask(registry, "ab12", "stop")
    assert caught.value.fix == "wait"
    with pytest.raises(JobError, match="does not know 'dance'"):
        ask(registry, "ab12", "dance")


def test_a_dead_or_ended_or_silent_driver_is_told_apart(registry: JobRegistry) -> None:
    registry.write(record("dead", "orders", pid=2**22 + 1, checkpoint="/cp"))
    with pytest.raises(JobError, match=r"its driver, process .* is dead") as caught:
        ask(registry, "dead", "cancel")
    assert "/cp" in str(caught.value.fix)
    registry.write(record("done", "orders", "FINISHED"))
    with pytest.raises(JobError, match="has ended: it is FINISHED"):
        ask(registry, "done", "cancel")
    registry.write(record("silent"))
    with pytest.raises(JobError, match=r"did not answer 'cancel' within 0.1 s"):
        ask(registry, "silent", "cancel", timeout_s=0.1)
    assert list(registry.requests_of("silent").iterdir()) == []  # withdrawn


def test_a_driver_that_dies_over_a_request_is_noticed(registry: JobRegistry) -> None:
    registry.write(record("ab12"))

    def die(seconds: float) -> None:
        registry.write(record("ab12", pid=2**22 + 1))

    with pytest.raises(JobError, match="is dead"):
        ask(registry, "ab12", "cancel", sleep=die)


def test_requests_to_an_earlier_run_of_the_job_are_not_carried_out(tmp_path: Path) -> None:
    (tmp_path / "1.request").write_text('{"action": "cancel", "arguments": {}}')
    inbox = Inbox(tmp_path)
    assert list(inbox.take()) == []
    (tmp_path / "2.request").write_text('{"action": "stop", "arguments": {}}')
    (tmp_path / "3.request").write_text("{")
    assert [request.action for request in inbox.take()] == ["stop"]
    assert list(inbox.take()) == []


def test_the_file_follows_the_job(agent: Any, job: FakeJob, registry: JobRegistry) -> None:
    first = registry.find("ab12")
    assert (first.state, first.pid, first.checkpoint) == ("RUNNING", os.getpid(), "/cp")
    job.is_stopping = True
    wait_until(lambda: registry.find("ab12").stopping)
    job.metrics.end_batch(4, [], 1.0)
    wait_until(lambda: registry.find("ab12").last_batch == 4)
    error = UserFunctionError("it raised", where="pipeline.py:3")
    job.failures.append(Failure(99, error, 1, 500))
    job.status = JobStatus.RESTARTING
    wait_until(lambda: registry.find("ab12").state == "RESTARTING")
    assert registry.find("ab12").failures == [
        {
            "when": 99,
            "type": "UserFunctionError",
            "message": "it raised",
            "where": "pipeline.py:3",
            "raised_at": None,
            "batches": 1,
            "delay_ms": 500,
        }
    ]
    job.status, job.error = JobStatus.FAILED, error
    agent.end()
    last = registry.find("ab12")
    assert last.state == "FAILED"
    assert last.ended is not None
    assert "it raised" in str(last.error)


def test_a_job_runs_on_when_its_registry_cannot_be_written(
    job: FakeJob, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").touch()
    agent = agent_of(job, JobRegistry(tmp_path / "file" / "jobs"))
    agent.start()
    agent.end()
    assert caplog.text.count("`headrace list` cannot show the current state of job orders") == 1


def test_a_registry_that_can_be_written_again_shows_the_job_and_takes_requests(
    job: FakeJob, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(agent_module, "_POLL_S", 0.01)
    monkeypatch.setattr(agent_module, "_WRITE_EVERY_S", 0.02)
    registry = JobRegistry(tmp_path / "mount" / "jobs")
    (tmp_path / "mount").touch()
    agent = agent_of(job, registry)
    agent.start()
    wait_until(lambda: caplog.text)  # it could not write
    (tmp_path / "mount").unlink()
    wait_until(lambda: registry.get("ab12") is not None)
    assert ask(registry, "ab12", "stop", {"drain": True}) == {"state": "RUNNING"}
    agent.end()
    assert caplog.text.count("`headrace list` cannot show the current state of job orders") == 1


def test_a_record_that_is_no_json_and_a_folder_that_cannot_be_listed_keep_nobody_from_renewing(
    job: FakeJob, registry: JobRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent_module, "_POLL_S", 0.01)
    monkeypatch.setattr(agent_module, "_WRITE_EVERY_S", 0.0)

    class Counted:
        renewed = 0

        def renew(self) -> None:
            self.renewed += 1

        def release(self) -> None:
            pass

    lease = Counted()
    agent = agent_of(job, registry, lease)
    agent.start()

    def broken(self: Path, pattern: str) -> Any:
        raise OSError("stale file handle")

    monkeypatch.setattr(Path, "glob", broken)
    job.metrics.snapshot = lambda: {"operators": {"count": {"gauge": {(1, 2): 3}}}}  # type: ignore[method-assign]
    before = lease.renewed
    wait_until(lambda: lease.renewed > before + 10)
    agent.end()


def test_an_outage_is_told_once_and_its_end_is_noticed(
    job: FakeJob,
    registry: JobRegistry,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(agent_module, "_POLL_S", 0.01)

    class Flaky:
        looks = 0

        def renew(self) -> None:
            self.looks += 1
            if self.looks not in (5, 6):
                raise ConnectorError("no route to host")

        def release(self) -> None:
            pass

    lease = Flaky()
    agent = agent_of(job, registry, lease)
    agent.start()
    wait_until(lambda: lease.looks > 10)
    agent.end()
    assert job.error is None
    assert caplog.text.count("no route to host") == 2


def test_a_driver_that_lost_its_lock_stops_its_job(
    job: FakeJob, registry: JobRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent_module, "_POLL_S", 0.01)

    class Taken:
        released = threading.Event()

        def renew(self) -> None:
            raise JobError("taken over")

        def release(self) -> None:
            self.released.set()

    agent = agent_of(job, registry, Taken())
    agent.start()
    wait_until(lambda: job.error is not None)
    agent.end()
    assert str(job.error) == "[JOB] taken over"
    assert Taken.released.is_set()  # which leaves the lock of another driver alone
