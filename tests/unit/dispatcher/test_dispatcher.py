"""A dispatcher and its jobs, with drivers that pretend (tests/dispatching.py)."""

from __future__ import annotations

import io
import json
import os
import signal
import stat
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dispatching import cluster_settings, fake_dispatcher, pretend, wait_for, wait_for_state
from headrace.control.requests import ask
from headrace.dispatcher.dispatcher import Dispatcher
from headrace.dispatcher.drivers import DRIVER_FILE, Drivers
from headrace.dispatcher.job_store import SUBMISSION_FILE, JobStore, Submission
from headrace.errors import (
    ConfigurationError,
    InvalidArgumentError,
    JobError,
    JobNameInUseError,
    JobNotFoundError,
    NotLeaderError,
)

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def dispatcher(tmp_path: Path) -> Iterator[Dispatcher]:
    """One that leads."""
    dispatcher = fake_dispatcher(tmp_path)
    dispatcher.start()
    wait_for(lambda: dispatcher.is_leader)
    yield dispatcher
    end(dispatcher)


def end(dispatcher: Dispatcher) -> None:
    for record in dispatcher.jobs():
        if record.is_running:
            os.kill(record.pid, 0)
            dispatcher.cancel(record.job_id)
            wait_for_state(dispatcher, record.job_id, "CANCELED", "FAILED", "FINISHED")
    dispatcher.close()


def test_a_job_runs_in_a_driver_of_its_own_and_is_cancelled(dispatcher: Dispatcher) -> None:
    job_id = dispatcher.submit(pretend(**{"pipeline.name": "orders"}))
    record = wait_for_state(dispatcher, job_id, "RUNNING")
    assert record.name == "orders"
    assert record.pid != os.getpid()
    assert dispatcher.job(job_id[:6]).job_id == dispatcher.job("orders").job_id == job_id
    dispatcher.cancel(job_id)
    wait_for_state(dispatcher, job_id, "CANCELED")
    wait_for(lambda: dispatcher.slots() == (0, 0))


def test_settings_and_arguments_are_in_no_process_list(dispatcher: Dispatcher) -> None:
    job_id = dispatcher.submit(pretend("run", "--password=hunter2", **{"user.key": "s3cret"}))
    record = wait_for_state(dispatcher, job_id, "RUNNING")
    shown = Path(f"/proc/{record.pid}/cmdline").read_bytes()
    environment = Path(f"/proc/{record.pid}/environ").read_bytes()
    assert b"hunter2" not in shown + environment
    assert b"s3cret" not in shown + environment
    folder = dispatcher.settings.folder / "submitted" / job_id
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    for name in (SUBMISSION_FILE, DRIVER_FILE):
        assert stat.S_IMODE((folder / name).stat().st_mode) == 0o600


def test_drivers_get_no_settings_of_the_cluster_itself(tmp_path: Path) -> None:
    settings = {
        "high-availability.cluster-id": "mine",
        "user.own": "1",
        "jobstore.max-capacity": "9",
    }
    dispatcher = fake_dispatcher(tmp_path, **settings)
    dispatcher.start()
    job_id = dispatcher.submit(pretend())
    wait_for_state(dispatcher, job_id, "RUNNING")
    folder = dispatcher.settings.folder
    content = json.loads((folder / "submitted" / job_id / DRIVER_FILE).read_text())
    assert content["settings"]["user.own"] == "1"
    assert not [k for k in content["settings"] if k.startswith(("high-av", "jobstore", "rest."))]
    assert content["settings"]["execution.checkpointing.dir"] == f"{folder}/checkpoints/{job_id}"
    end(dispatcher)


def test_drivers_get_what_they_keep_of_checkpoints(tmp_path: Path) -> None:
    kept = {"web.checkpoints.history": "3", "web.submit.enable": "false"}
    dispatcher = fake_dispatcher(tmp_path, **kept)
    dispatcher.start()
    job_id = dispatcher.submit(pretend())
    wait_for_state(dispatcher, job_id, "RUNNING")
    place = dispatcher.settings.folder / "submitted" / job_id / DRIVER_FILE
    settings = json.loads(place.read_text())["settings"]
    assert {k: v for k, v in settings.items() if k.startswith("web.")} == {
        "web.checkpoints.history": "3"
    }
    end(dispatcher)


def test_a_driver_that_died_is_started_again_by_the_jobs_strategy(dispatcher: Dispatcher) -> None:
    job_id = dispatcher.submit(pretend("die"))
    wait_for(lambda: dispatcher.job(job_id).restarts == 1)
    record = wait_for_state(dispatcher, job_id, "RUNNING")
    assert record.restarts == 1
    os.kill(record.pid, signal.SIGKILL)
    wait_for(lambda: dispatcher.job(job_id).restarts == 2)
    os.kill(wait_for_state(dispatcher, job_id, "RUNNING").pid, signal.SIGKILL)
    record = wait_for_state(dispatcher, job_id, "FAILED")  # two attempts, then it gives up
    assert "has ended without a word" in (record.error or "")
    assert [failure["delay_ms"] for failure in record.failures] == [100, 100, None]


def test_a_driver_whose_spark_has_ended_is_replaced(dispatcher: Dispatcher) -> None:
    job_id = dispatcher.submit(pretend("spark-ended"))
    wait_for_state(dispatcher, job_id, "FAILED")
    wait_for(lambda: dispatcher.slots()[1] == 0)
    assert dispatcher.job(job_id).restarts == 2
    assert "Spark has ended" in dispatcher.job(job_id).failures[0]["message"]


def test_a_program_that_does_not_import_fails_with_its_words(dispatcher: Dispatcher) -> None:
    record = wait_for_state(dispatcher, dispatcher.submit(pretend("broken")), "FAILED")
    assert "No module named 'nothing'" in (record.error or "")
    assert record.restarts == 0
    assert (record.exit_code, record.has_driver) == (1, False)
    record = wait_for_state(dispatcher, dispatcher.submit(pretend("broken", "2")), "FAILED")
    assert record.exit_code == 2


def test_jobs_wait_for_slots_in_order_and_say_at_which_place(tmp_path: Path) -> None:
    dispatcher = fake_dispatcher(tmp_path, **{"headrace.cluster.slots": "3"})
    dispatcher.start()
    two = {"parallelism.default": "2"}
    first = dispatcher.submit(pretend(**two))
    wait_for_state(dispatcher, first, "RUNNING")
    second, third = dispatcher.submit(pretend(**two)), dispatcher.submit(pretend(**two))
    small = dispatcher.submit(pretend(**{"parallelism.default": "1"}))  # overtakes nobody
    assert [dispatcher.queue_position(job) for job in (first, second, third, small)] == [
        None, 1, 2, 3,
    ]  # fmt: skip
    assert (dispatcher.job(second).state, dispatcher.job(second).has_driver) == ("CREATED", False)
    assert dispatcher.job(first).has_driver
    assert dispatcher.slots() == (3, 2)
    dispatcher.cancel(second)  # also while it waits
    assert dispatcher.job(second).state == "CANCELED"
    dispatcher.cancel(first)
    wait_for_state(dispatcher, third, "RUNNING")
    wait_for_state(dispatcher, small, "RUNNING")
    with pytest.raises(JobError, match="needs 4 slots, and the cluster has 3"):
        dispatcher.submit(pretend(**{"parallelism.default": "4"}))
    end(dispatcher)


def test_a_dispatcher_that_is_started_again_finds_its_jobs_running(tmp_path: Path) -> None:
    first = fake_dispatcher(tmp_path)
    first.start()
    job_id = first.submit(pretend())
    pid = wait_for_state(first, job_id, "RUNNING").pid
    first.close()
    os.kill(pid, 0)  # it goes on
    second = fake_dispatcher(tmp_path)
    second.start()
    wait_for(lambda: second.is_leader)
    assert second.job(job_id).pid == pid
    os.kill(pid, signal.SIGKILL)  # and is looked after
    wait_for(lambda: second.job(job_id).restarts == 1)
    assert wait_for_state(second, job_id, "RUNNING").pid != pid
    end(second)


def test_jobs_can_be_stopped_with_their_dispatcher(tmp_path: Path) -> None:
    dispatcher = fake_dispatcher(tmp_path, **{"headrace.cluster.slots": "1"})
    dispatcher.start()
    running = dispatcher.submit(pretend(**{"parallelism.default": "1"}))
    wait_for_state(dispatcher, running, "RUNNING")
    waiting = dispatcher.submit(pretend(**{"parallelism.default": "1"}))
    dispatcher.close(stop_jobs=True)
    assert dispatcher.job(running).state == "FINISHED"
    assert dispatcher.job(waiting).state == "CANCELED"


def test_two_dispatchers_on_one_folder_are_refused(dispatcher: Dispatcher, tmp_path: Path) -> None:
    with pytest.raises(JobError, match="already running") as refused:
        fake_dispatcher(tmp_path).start()
    assert "headrace cluster stop" in (refused.value.fix or "")


def test_ended_jobs_are_remembered_within_bounds(tmp_path: Path) -> None:
    dispatcher = fake_dispatcher(tmp_path, **{"jobstore.max-capacity": "2"})
    dispatcher.start()
    jobs = []
    for _ in range(4):
        jobs.append(dispatcher.submit(pretend("finish")))
        wait_for_state(dispatcher, jobs[-1], "FINISHED")
    wait_for(lambda: {record.job_id for record in dispatcher.jobs()} == set(jobs[2:]))
    wait_for(lambda: len(list((dispatcher.settings.folder / "submitted").iterdir())) == 2)
    dispatcher.close()


def test_savepoints_and_stops_are_operations(dispatcher: Dispatcher) -> None:
    job_id = dispatcher.submit(pretend())
    wait_for_state(dispatcher, job_id, "RUNNING")
    operation = dispatcher.savepoint(job_id, operation_id="a" * 32)
    assert dispatcher.savepoint(job_id, operation_id="a" * 32) is operation
    wait_for(lambda: operation.is_done)
    assert operation.result == {"savepoint": "/savepoints/1"}
    checkpoint = dispatcher.checkpoint(job_id)
    wait_for(lambda: checkpoint.is_done)
    assert checkpoint.result == {"checkpoint": 7}
    stopping = dispatcher.stop(job_id)
    wait_for(lambda: stopping.is_done)
    assert stopping.result == {"savepoint": "/savepoints/1", "state": "FINISHED"}
    assert dispatcher.operation(stopping.id, job_id) is stopping
    with pytest.raises(JobNotFoundError):
        dispatcher.operation("f" * 32)
    for refused, what in (
        (dispatcher.savepoint(job_id), "cannot take a savepoint of"),
        (dispatcher.checkpoint(job_id), "cannot make a checkpoint of"),
        (dispatcher.stop(job_id), "cannot stop"),
    ):
        assert isinstance(refused.error, JobError)  # at once
        assert refused.error.message.startswith(what)
        assert refused.error.message.endswith("it is FINISHED")
    unknown = dispatcher.savepoint("0" * 32)
    assert isinstance(unknown.error, JobNotFoundError)
    assert dispatcher.operation(unknown.id, "0" * 32) is unknown


def test_a_job_is_rescaled_by_savepoint_and_restore(dispatcher: Dispatcher) -> None:
    job_id = dispatcher.submit(pretend(**{"pipeline.name": "orders"}))
    checkpoint = wait_for_state(dispatcher, job_id, "RUNNING").checkpoint
    operation = dispatcher.rescale(job_id, 3)
    wait_for(lambda: operation.is_done)
    assert operation.result is not None
    again = str(operation.result["job_id"])
    record = wait_for_state(dispatcher, again, "RUNNING")
    assert (record.parallelism, record.name, record.checkpoint) == (3, "orders", checkpoint)
    assert dispatcher.job(job_id).state == "FINISHED"
    content = json.loads(
        (dispatcher.settings.folder / "submitted" / again / DRIVER_FILE).read_text()
    )
    assert content["settings"]["execution.state-recovery.path"] == "/savepoints/1"
    with pytest.raises(InvalidArgumentError, match="parallelism of 0"):
        dispatcher.rescale(again, 0)


def _with_slots(tmp_path: Path, slots: int) -> Dispatcher:
    dispatcher = fake_dispatcher(tmp_path, **{"headrace.cluster.slots": str(slots)})
    dispatcher.start()
    wait_for(lambda: dispatcher.is_leader)
    return dispatcher


def _wide(parallelism: int, **settings: str) -> Submission:
    return pretend(**{"parallelism.default": str(parallelism)}, **settings)


def test_a_rescale_beyond_the_free_slots_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    dispatcher = _with_slots(tmp_path, 8)
    job_id = dispatcher.submit(_wide(2))
    other = dispatcher.submit(_wide(3))
    pid = wait_for_state(dispatcher, job_id, "RUNNING").pid
    wait_for_state(dispatcher, other, "RUNNING")
    with pytest.raises(JobError, match=r"needs 6 slots, and it can have 5") as refused:
        dispatcher.rescale(job_id, 6)
    assert "free slots: 3, the job's own: 2; rescale it to less" in (refused.value.fix or "")
    with pytest.raises(JobError, match="needs 9 slots, and the cluster has 8"):
        dispatcher.rescale(job_id, 9)
    record = dispatcher.job(job_id)
    assert (record.state, record.pid, record.savepoint) == ("RUNNING", pid, None)
    operation = dispatcher.rescale(job_id, 5)
    wait_for(lambda: operation.is_done)
    assert operation.error is None
    end(dispatcher)


def test_what_continues_a_rescaled_job_starts_before_jobs_that_wait(tmp_path: Path) -> None:
    """Else it would be behind them, and they would take the slots that it had."""
    dispatcher = _with_slots(tmp_path, 4)
    job_id = dispatcher.submit(_wide(3))
    wait_for_state(dispatcher, job_id, "RUNNING")
    waiting = dispatcher.submit(_wide(2))
    operation = dispatcher.rescale(job_id, 4)
    wait_for(lambda: operation.is_done)
    assert operation.result is not None
    again = str(operation.result["job_id"])
    assert dispatcher.queue() == [waiting]
    assert wait_for_state(dispatcher, again, "RUNNING").parallelism == 4
    assert dispatcher.slots() == (4, 4)
    end(dispatcher)


def test_slots_for_what_continues_a_job_are_reserved_by_the_next_leader_too(tmp_path: Path) -> None:
    first = _with_slots(tmp_path, 4)
    job_id = first.submit(_wide(1))
    wait_for_state(first, job_id, "RUNNING")
    store = JobStore(first.settings.folder / "submitted")
    submission = store.submission(job_id)
    assert submission is not None
    store.set_successor(job_id, replace(submission, job_id="c" * 32, parallelism=3))
    first.close()
    second = _with_slots(tmp_path, 4)
    assert second.slots() == (4, 3)
    small = second.submit(_wide(2))
    assert second.queue() == [small]
    store.set_successor(job_id, None)
    end(second)


def test_what_continues_a_job_has_its_name_before_it_starts(tmp_path: Path) -> None:
    """The program gave the name: `fake` is what it says, `script` what was uploaded."""
    dispatcher = _with_slots(tmp_path, 4)
    job_id = dispatcher.submit(replace(_wide(1), name="script.py"))
    assert wait_for_state(dispatcher, job_id, "RUNNING").name == "fake"
    operation = dispatcher.rescale(job_id, 2)
    wait_for(lambda: operation.is_done)
    assert operation.result is not None
    store = JobStore(dispatcher.settings.folder / "submitted")
    successor = store.submission(str(operation.result["job_id"]))
    assert successor is not None
    assert successor.name == "fake"
    end(dispatcher)


def test_a_job_that_could_never_start_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without -p it takes what the cluster's settings say, or one slot a core of the machine."""
    monkeypatch.setattr("headrace.dispatcher.caretaker.os.cpu_count", lambda: 4)
    dispatcher = _with_slots(tmp_path, 3)
    with pytest.raises(JobError, match="needs 4 slots, and the cluster has 3"):
        dispatcher.submit(pretend())
    dispatcher.close()
    settings = {"headrace.cluster.slots": "3", "parallelism.default": "5"}
    dispatcher = fake_dispatcher(tmp_path, **settings)
    dispatcher.start()
    wait_for(lambda: dispatcher.is_leader)
    with pytest.raises(JobError, match="needs 5 slots, and the cluster has 3"):
        dispatcher.submit(pretend())
    assert dispatcher.jobs() == []
    dispatcher.close()


def test_a_job_that_continues_an_earlier_one_has_its_id(dispatcher: Dispatcher) -> None:
    """The checkpoint directory says which job it is; the submission's id still finds it."""
    own = "b" * 32
    job_id = dispatcher.submit(pretend(**{"user.job-id": own}))
    wait_for(lambda: [record.job_id for record in dispatcher.jobs()] == [own])
    assert dispatcher.job(job_id).job_id == own
    dispatcher.cancel(job_id)
    wait_for_state(dispatcher, own, "CANCELED")


def test_bad_submissions_are_refused_and_leave_nothing(dispatcher: Dispatcher) -> None:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as out:
        out.writestr("other.py", "x = 1")
    upload = dispatcher.programs.add("app.zip", archive.getvalue())
    with pytest.raises(InvalidArgumentError, match=r"app.zip has no __main__.py"):
        dispatcher.submit(Submission("", upload=upload.id))
    with pytest.raises(InvalidArgumentError, match="nothing was uploaded"):
        dispatcher.submit(Submission("pipeline.py"))
    with pytest.raises(InvalidArgumentError, match="no program"):
        dispatcher.submit(Submission("", upload="../../etc/passwd"))
    with pytest.raises(ConfigurationError, match="there is no option"):
        dispatcher.submit(pretend(**{"parallelism.defualt": "2"}))
    with pytest.raises(JobNotFoundError) as unknown:
        dispatcher.cancel("nothing")
    assert unknown.value.where is None  # a path of the dispatcher's machine is not for clients
    assert dispatcher.jobs() == []


def test_a_unique_name_is_kept(dispatcher: Dispatcher) -> None:
    named = {"pipeline.name": "orders", "headrace.jobs.unique-names": "true"}
    dispatcher.submit(pretend(**named))
    with pytest.raises(JobNameInUseError):
        dispatcher.submit(pretend(**named))


def test_a_standby_refuses_and_names_the_leader(tmp_path: Path) -> None:
    options = {
        "high-availability.type": "filesystem",
        "high-availability.storageDir": str(tmp_path / "shared"),
        "headrace.cluster.lease": "2 s",
    }
    leader = fake_dispatcher(tmp_path, address="http://one:1", **options)
    leader.start()
    wait_for(lambda: leader.is_leader)
    standby = fake_dispatcher(tmp_path, address="http://two:2", **options)
    standby.start()
    with pytest.raises(NotLeaderError) as refused:
        standby.submit(pretend())
    assert refused.value.where == "http://one:1"
    job_id = leader.submit(pretend())
    pid = wait_for_state(leader, job_id, "RUNNING").pid
    assert standby.job(job_id).state == "RUNNING"  # looking is free
    leader.close()
    wait_for(lambda: standby.is_leader)  # at once: the leader has left
    assert standby.job(job_id).pid == pid  # adopted
    assert standby.leader is not None
    assert standby.leader.epoch == 2
    end(standby)


def test_real_drivers_have_a_command_line_without_settings(tmp_path: Path) -> None:
    dispatcher = Dispatcher(cluster_settings(tmp_path), drivers=Drivers())
    assert dispatcher.settings.folder == tmp_path / "cluster" / "default"


def test_a_rescale_is_finished_by_the_next_leader(tmp_path: Path) -> None:
    """The job has stopped, and its dispatcher is gone before it could start the successor."""
    first = fake_dispatcher(tmp_path)
    first.start()
    job_id = first.submit(pretend())
    pid = wait_for_state(first, job_id, "RUNNING").pid
    store = JobStore(first.settings.folder / "submitted")
    submission = store.submission(job_id)
    assert submission is not None
    successor = replace(submission, job_id="c" * 32, parallelism=4, replaces=job_id)
    store.set_successor(job_id, successor)
    first.close()
    ask(first.registry, job_id, "stop", {"drain": False, "savepoint": None})
    wait_for(lambda: not Path(f"/proc/{pid}").exists() or first.job(job_id).state == "FINISHED")
    second = fake_dispatcher(tmp_path)
    second.start()
    wait_for(lambda: second.registry.get("c" * 32) is not None)
    assert wait_for_state(second, "c" * 32, "RUNNING").parallelism == 4
    assert store.successor(job_id) is None
    end(second)
