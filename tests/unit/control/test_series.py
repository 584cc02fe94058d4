"""Metrics over time: a batch counts over the time that it took, not at its commit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from headrace.control.metrics import JobMetrics
from headrace.control.views.series import metric_series
from headrace.runtime.metrics import OperatorMetrics
from headrace.spi.host import TaskReport
from job_files import run_three_stages

if TYPE_CHECKING:
    from pathlib import Path

STEP = {"uid": "a", "name": "a", "from_exchange": True, "to_exchange": False}
ABOUT = {"vertices": [{"id": "v", "level": 1, "steps": [STEP]}]}
RATE, BUSY = "v.numRecordsInPerSecond", "v.busyTimeMsPerSecond"


def line(at_s: float, records: int, until_s: float | None = None) -> dict[str, Any]:
    """A line of a job whose only task needs half a millisecond for a record."""
    content: dict[str, Any] = {
        "at": int(at_s * 1000),
        "values": {"job": {}, "a": {"numRecordsIn": records}} if records else {"job": {}},
        "tasks": [[1, "", 0, records * 0.5, 0.0]] if records else [],
    }
    return content if until_s is None else {**content, "until": int(until_s * 1000)}


def points(name: str, *lines: dict[str, Any]) -> list[tuple[float, float]]:
    found = metric_series(lines, ABOUT, [name])
    return [(at / 1000, round(value, 1)) for each in found for at, value in each.points]


def test_a_batch_is_spread_over_the_time_it_took() -> None:
    lines = (line(5, 0, 5), line(10, 0, 9), line(15, 0, 9), line(20, 1100, 20), line(25, 1100, 25))
    assert points(RATE, *lines) == [(10.0, 20.0), (15.0, 100.0), (20.0, 100.0), (25.0, 0.0)]
    assert points(BUSY, *lines)[:2] == [(10.0, 10.0), (15.0, 50.0)]


def test_of_a_batch_that_runs_there_is_no_rate_yet() -> None:
    lines = (line(5, 500, 5), line(10, 1000, 8), line(15, 1000, 8), line(20, 1000, 8))
    assert points(RATE, *lines) == []  # the second line counts up to its 8th second only
    more = (*lines, line(25, 4400, 25))
    assert [value for _, value in points(RATE, *more)] == [180.0, 200.0, 200.0, 200.0]


def test_batches_one_after_the_other_have_their_own_rates() -> None:
    lines = (line(0, 0, 0), line(10, 0, 1), line(20, 1000, 11), line(30, 1000, 11),
             line(40, 4000, 40))  # fmt: skip
    assert points(RATE, *lines) == [(10.0, 90.0), (20.0, 103.1), (30.0, 103.4), (40.0, 103.4)]


def test_lines_of_before_count_up_to_where_they_are() -> None:
    assert points(RATE, line(0, 100), line(5, 100), line(10, 600)) == [(5.0, 0.0), (10.0, 100.0)]


def test_a_driver_that_was_started_again_counts_from_nothing() -> None:
    lines = (line(0, 1000, 0), line(5, 1000, 2), line(10, 0, 10), line(15, 300, 15))
    assert points(RATE, *lines) == [(5.0, 0.0), (10.0, 0.0), (15.0, 60.0)]


def test_counts_hold_up_to_the_beginning_of_the_batch_that_runs() -> None:
    metrics = JobMetrics()
    assert metrics.totals_until()[0] is None
    metrics.begin_batch(0)
    began, operators, _ = metrics.totals_until()
    assert began is not None
    assert operators == {}
    metrics.end_batch(0, [(0, {"a": OperatorMetrics(records_in=7).report()})], 1.0)
    until, operators, _ = metrics.totals_until()
    assert (until, operators["a"].records_in) == (None, 7)
    for error in (ValueError("x"), None):
        metrics.begin_batch(1)
        metrics.fail_batch(1, error)
        assert metrics.totals_until()[0] is None
    assert metrics.checkpoints.failed == 1


def test_what_tasks_tell_in_between_holds_up_to_now() -> None:
    metrics = JobMetrics()
    task = TaskReport(
        level=1, source=None, subtask=0, began_ms=0, ended_ms=1, busy_ms=1.0, own_ms=1.0,
        waiting_ms=0.0, blocked_ms=0.0, bytes_in=0, bytes_out=0, in_steps=False, machine="h",
        uids=("a",),
    )  # fmt: skip
    metrics.note_progress(0, task, {"a": OperatorMetrics(records_in=7).report()})
    metrics.begin_batch(0)  # the barrier is on its way
    assert metrics.totals_until()[0] is None


def test_a_long_batch_of_a_job_has_no_spike(tmp_path: Path) -> None:
    sleep_s, subtasks = 0.0035, 2
    views, job_id = run_three_stages(tmp_path, records=1000, sleep_s=sleep_s)
    slow = next(v.id for v in views.vertices(job_id) if v.name == "slow")
    [found] = views.series(job_id, [f"{slow}.numRecordsInPerSecond"])
    rates = [value for _, value in found.points if value]
    assert len(rates) >= 3, found
    # no faster than its tasks can be, however slow the machine is; a spike would be all at once
    assert max(rates) < 2 * subtasks / sleep_s, found
    counts = views.vertices(job_id)[1].counts
    assert counts.records_in_per_second == pytest.approx(max(rates), rel=0.5)
