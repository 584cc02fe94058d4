"""What follows from what can be seen of a driver: the table, case by case."""

from __future__ import annotations

import pytest

from headrace.control.registry import JobRecord
from headrace.dispatcher.job_store import Launch
from headrace.dispatcher.supervision import Seen, judge

STARTING = Launch("starting", 1, token="t", host="h", pid=7)
RUNNING = Launch("running", 1, token="t", host="h", pid=7)


def record(state: str = "RUNNING", *, lost: bool = False) -> JobRecord:
    return JobRecord(
        "j", "n", state, "h", 7, "", 0, 0, launch="t", error="why", driver_is_lost=lost
    )


@pytest.mark.parametrize(
    ("launch", "seen", "change", "state"),
    [
        (STARTING, Seen(None, alive=True), "none", ""),
        (STARTING, Seen(None, alive=True, silent_s=9999), "none", ""),  # no time-out by surprise
        (STARTING, Seen(record(), alive=True), "running", ""),
        (STARTING, Seen(record("FINISHED"), alive=False), "ended", "FINISHED"),  # a quick one
        (STARTING, Seen(None, alive=False, exit_code=1), "ended", "FAILED"),
        (STARTING, Seen(None, alive=False, exit_code=0), "ended", "FAILED"),  # started no job
        (STARTING, Seen(None, alive=False), "died", ""),  # killed: it left no code
        (RUNNING, Seen(record(), alive=True), "none", ""),
        (RUNNING, Seen(record("RESTARTING"), alive=True), "none", ""),
        (RUNNING, Seen(record(), alive=True, silent_s=51), "hung", ""),
        (RUNNING, Seen(record(), alive=False), "died", ""),
        (RUNNING, Seen(record("CANCELED"), alive=False), "ended", "CANCELED"),
        (RUNNING, Seen(record("FAILED"), alive=False, exit_code=1), "ended", "FAILED"),
        (RUNNING, Seen(record("FAILED", lost=True), alive=True), "died", ""),  # Spark has ended
        (RUNNING, Seen(record(), alive=None), "none", ""),  # on another machine, and heard of
        (RUNNING, Seen(record("LOST"), alive=None), "died", ""),
    ],
)
def test_the_table(launch: Launch, seen: Seen, change: str, state: str) -> None:
    verdict = judge(launch, seen, timeout_s=50)
    assert (verdict.change, verdict.state) == (change, state)
    assert verdict.reason or change in ("none", "running")


def test_the_exit_code_of_a_program_without_a_job_is_kept() -> None:
    ended = judge(STARTING, Seen(None, alive=False, exit_code=2), timeout_s=50)
    assert ended.exit_code == 2
    assert judge(STARTING, Seen(None, alive=False, exit_code=0), timeout_s=50).exit_code is None
