"""A driver that was suspended while its job was given to another one commits nothing more."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from dispatching import cluster_settings, wait_for, wait_for_state
from ha_cluster import PROGRAM, right_lines, written_lines
from headrace.dispatcher.dispatcher import Dispatcher
from headrace.dispatcher.job_store import JobStore, Launch, Submission
from patience import wait_until

UNTIL = 1500


def state_of(pid: int) -> str:
    """A letter as in `ps`; empty once the process is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return ""


def test_a_late_driver_is_fenced_and_the_job_goes_on_without_a_trace(tmp_path: Path) -> None:
    dispatcher = Dispatcher(cluster_settings(tmp_path, **{"headrace.execution.host": "local"}))
    dispatcher.start()
    out = tmp_path / "out"
    program = dispatcher.programs.add("sums.py", PROGRAM.encode())
    job_id = dispatcher.submit(
        Submission(
            "",
            (str(out), str(UNTIL), "100"),
            # one failure ends it: nothing but the fence keeps it from committing
            {"parallelism.default": "1", "restart-strategy.type": "none"},
            upload=program.id,
        )
    )
    pid = wait_for_state(dispatcher, job_id, "RUNNING").pid
    wait_for(lambda: dispatcher.job(job_id).batches > 2)
    dispatcher.close()  # the driver goes on alone
    os.kill(pid, signal.SIGSTOP)
    wait_until(lambda: state_of(pid) == "T")
    before = written_lines(out)
    store = JobStore(dispatcher.settings.folder / "submitted")
    launch = store.launch(job_id)
    assert launch is not None
    # another leader gives the job to a driver of its own
    store.write(job_id, Launch("resting", launch.epoch + 1, token="another", number=launch.number))
    # and the old one says late that the job is its driver's: an old epoch counts for nothing
    store.write(job_id, launch)
    os.kill(pid, signal.SIGCONT)
    wait_for(lambda: dispatcher.registry.get(job_id).state in ("FAILED", "LOST"))  # type: ignore[union-attr]
    record = dispatcher.registry.get(job_id)
    assert record is not None
    assert "given this job to another driver" in (record.error or "")
    wait_until(lambda: state_of(pid) in ("", "Z"))  # so nobody is left who could write
    assert written_lines(out) == before  # not one batch after it woke up

    again = Dispatcher(dispatcher.settings)  # epochs go on: it takes the job from its checkpoint
    again.start()
    wait_for_state(again, job_id, "RUNNING")
    assert wait_for_state(again, job_id, "FINISHED", "FAILED").state == "FINISHED"
    assert written_lines(out) == right_lines(UNTIL)
    again.close()


def test_a_driver_of_a_leader_that_was_replaced_does_not_keep_the_job_from_starting(
    tmp_path: Path,
) -> None:
    """It runs, and holds the lock of the checkpoint directory; nobody knows of it."""
    settings = cluster_settings(tmp_path, **{"headrace.execution.host": "local"})
    dispatcher = Dispatcher(settings)
    dispatcher.start()
    program = dispatcher.programs.add("sums.py", PROGRAM.encode())
    arguments = (str(tmp_path / "out"), "100000", "50")
    job_id = dispatcher.submit(Submission("", arguments, upload=program.id))
    stray = wait_for_state(dispatcher, job_id, "RUNNING").pid
    dispatcher.close()
    store = JobStore(settings.folder / "submitted")
    store.write(job_id, Launch("resting", 1, token="nobody", number=1))
    again = Dispatcher(settings)
    again.start()
    wait_for(lambda: again.job(job_id).pid != stray and again.job(job_id).state == "RUNNING")
    again.cancel(job_id)
    wait_for_state(again, job_id, "CANCELED")
    again.close()
