"""Rates over the last minute, and totals that include what runs."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.control.metrics import JobMetrics, behind_ms, time_shares
from headrace.control.rates import RateWindow
from headrace.runtime.metrics import OperatorMetrics
from headrace.spi.host import TaskReport

KEY = ("operator", "a", "0")


def rate(window: RateWindow, now_s: float) -> float:
    return window.rates(now_s)[KEY][0]


def test_a_rate_is_that_of_the_last_minute() -> None:
    window = RateWindow(60.0)
    window.begin(0.0)
    for second in range(1, 301):
        done = 10 * second if second <= 200 else 2000 + 50 * (second - 200)
        window.note(float(second), {KEY: (float(done),)})
        if second == 5:
            assert rate(window, 5.0) == pytest.approx(10)
    assert rate(window, 300.0) == pytest.approx(50, rel=0.05)


def test_a_job_that_says_nothing_more_comes_to_rest() -> None:
    window = RateWindow(60.0)
    window.begin(0.0)
    for second in range(1, 31):
        window.note(float(second), {KEY: (100.0 * second,)})
    assert rate(window, 35.0) == pytest.approx(100)  # the next batch may be running
    assert rate(window, 60.0) == pytest.approx(50, rel=0.1)
    assert rate(window, 200.0) == 0.0


def test_long_batches_are_not_taken_for_silence() -> None:
    window = RateWindow(60.0)
    window.begin(0.0)
    for second in (20, 40):
        window.note(float(second), {KEY: (100.0 * second,)})
    assert rate(window, 59.0) == pytest.approx(100)


def test_before_anything_there_are_no_rates() -> None:
    assert RateWindow().rates(5.0) == {}


def task(level: int = 1, subtask: int = 0, **more: Any) -> TaskReport:
    content: dict[str, Any] = {
        "level": level, "source": None, "subtask": subtask, "began_ms": 0, "ended_ms": 100,
        "busy_ms": 40.0, "own_ms": 10.0, "waiting_ms": 0.0, "blocked_ms": 0.0, "bytes_in": 7,
        "bytes_out": 5, "in_steps": True, "machine": "h:1", "uids": ("a",),
    }  # fmt: skip
    return TaskReport(**{**content, **more})


def report(count: int) -> dict[str, Any]:
    return {"a": OperatorMetrics(records_in=count, records_out=count).report()}


def test_in_micro_batches_those_in_front_wait_for_all_stages_behind() -> None:
    tasks = [
        task(0, began_ms=0, ended_ms=10),
        task(1, began_ms=20, ended_ms=80),
        task(1, subtask=1, began_ms=15, ended_ms=30),
        task(2, began_ms=90, ended_ms=95),
    ]
    assert behind_ms(tasks) == {0: 70.0, 1: 5.0, 2: 0.0}


def test_what_runs_is_added_until_it_is_committed_and_never_twice() -> None:
    metrics = JobMetrics()

    def seen() -> int:
        return metrics.totals()[0]["a"].records_in

    metrics.note_progress(0, task(in_steps=False), report(5))
    assert seen() == 5
    metrics.note_progress(0, task(in_steps=False), report(9))
    assert seen() == 9
    metrics.note_progress(1, task(in_steps=False), report(2))  # the next epoch began
    assert seen() == 11
    metrics.end_batch(0, [(0, report(10))], 1.0, [task(in_steps=False)])
    assert seen() == 12
    metrics.note_progress(0, task(in_steps=False), report(10))  # late news of the past
    assert seen() == 12
    metrics.forget_running()  # a failure: epoch 1 is repeated
    assert seen() == 10
    assert metrics.tasks[1, "", 0].busy_ms == 40.0


@pytest.fixture
def seconds(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The clock that rates go by."""
    now = [1000.0]
    monkeypatch.setattr("headrace.control.metrics.time.monotonic", lambda: now[0])
    return now


def busy(metrics: JobMetrics) -> int:
    shares = metrics.snapshot()["operators"]["a"]
    assert shares["busyTimeMsPerSecond"] + shares["idleTimeMsPerSecond"] == 1000
    found: int = shares["busyTimeMsPerSecond"]
    return found


@pytest.mark.parametrize("told", [True, False])
def test_a_job_that_waited_through_its_first_epoch_was_not_busy(
    seconds: list[float], *, told: bool
) -> None:
    """Issue 24, B8: 40 ms of work in an epoch of 10 s, whose end took 30 ms, was 100 % busy."""
    metrics = JobMetrics()
    if told:  # how far it is, a second after its records
        metrics.note_progress(0, task(in_steps=False, ended_ms=1_000), report(62))
        assert busy(metrics) == 40
    seconds[0] += 9.0
    metrics.end_batch(0, [(0, report(62))], 30.0, [task(in_steps=False, ended_ms=10_000)])
    assert busy(metrics) == 4
    seconds[0] += 5.0
    assert busy(metrics) <= 4


def test_what_a_task_did_before_it_first_told_of_itself_took_as_long_as_it_did(
    seconds: list[float],
) -> None:
    metrics = JobMetrics()
    working = task(in_steps=False, ended_ms=20_000, busy_ms=5_000.0)  # one long call
    metrics.note_progress(0, working, report(1))
    assert busy(metrics) == 250


def test_a_micro_batch_took_what_it_took(seconds: list[float]) -> None:
    metrics = JobMetrics()
    metrics.begin_batch(0)
    metrics.end_batch(0, [(0, report(62))], 80.0, [task()])
    assert busy(metrics) == 500
    seconds[0] += 7.92  # nothing to do since then
    assert busy(metrics) == 5
    metrics.begin_batch(1)  # what it does is not counted yet
    seconds[0] += 8.0
    assert busy(metrics) == 5


def test_a_repeated_epoch_counts_once() -> None:
    metrics = JobMetrics()
    for _ in range(2):
        metrics.end_batch(3, [(0, report(10))], 1.0, [task()])
    assert metrics.operators["a"].records_in == 10
    assert metrics.checkpoints.completed == 1


@pytest.mark.parametrize(("busy", "pressed"), [(0, 0), (300, 500), (900, 900), (2000, 5), (-1, -1)])
def test_shares_add_up_to_a_second(busy: float, pressed: float) -> None:
    shares = time_shares(busy, pressed)
    assert sum(shares.values()) == 1000
    assert min(shares.values()) >= 0
