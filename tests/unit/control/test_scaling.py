"""Proposals: what load leads to how many subtasks, and when somebody should act on it."""

from __future__ import annotations

import pytest

from headrace.control.scaling import Autoscaler, Proposal, ScalingSettings, propose
from headrace.control.views.models import (
    Counts,
    JobOverview,
    JobView,
    OperatorView,
    PlanView,
    SourceLag,
    SubtaskView,
    VertexView,
)

NOW = 1_000_000


def vertex(kind: str, busy: list[float], pressed: float = 0.0, rate: float = 100.0) -> VertexView:
    parts = [Counts(busy=b, back_pressured=pressed, idle=1000 - b - pressed) for b in busy]
    subtasks = [SubtaskView(n, "RUNNING", 0, "h", 0, None, c) for n, c in enumerate(parts)]
    step = OperatorView("1", kind, kind, "p.py:1", Counts(records_out_per_second=rate), None)
    return VertexView(
        id=kind,
        name=kind,
        parallelism=len(busy),
        max_parallelism=128,
        level=0,
        runs="python",
        kind=kind,  # type: ignore[arg-type]
        status="RUNNING",
        started=0,
        ended=None,
        counts=Counts(),
        watermark=None,
        operators=(step,),
        subtasks=tuple(subtasks),
    )


def job(
    *vertices: VertexView, parallelism: int = 4, mode: str = "continuous", **more: int
) -> JobView:
    return JobView(
        overview=JobOverview("a", "j", "RUNNING", 0, None, 0, 0, {}, parallelism=parallelism),
        now=NOW,
        mode=mode,
        type="STREAMING",
        max_parallelism=more.get("key_groups", 128),
        state_times={"RUNNING": NOW - more.get("ran_ms", 100_000)},
        vertices=vertices,
        plan=PlanView("a", "j", "STREAMING", ()),
        checkpoint=None,
        restarts=0,
        restart_strategy="",
        program="",
        driver="",
        log=None,
        web={},
        epochs=more.get("epochs", 10),
        last_epoch=9,
        error=None,
        metrics={},
    )


def lag(pending: int) -> SourceLag:
    return SourceLag("source", "source", "source", pending, None, None)


def proposed(found: JobView, *lags: SourceLag, **settings: float) -> int:
    return propose(found, lags, ScalingSettings(**settings)).parallelism  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("busy", "wanted"),
    [(1000, 6), (910, 6), (900, 4), (700, 4), (500, 4), (480, 3), (350, 2), (100, 2), (0, 2)],
)
def test_the_load_decides_outside_of_the_band(busy: float, wanted: int) -> None:
    """ceil(4 * load / 0.7); between 50% and 90% nothing is done; never fewer than half."""
    assert proposed(job(vertex("source", [10.0] * 4), vertex("operator", [busy] * 4))) == wanted


def test_one_hot_subtask_is_no_reason_for_more_of_them() -> None:
    assert proposed(job(vertex("operator", [1000, 400, 400, 400]))) == 4


def test_in_micro_batches_the_stages_share_the_time() -> None:
    source, slow = vertex("source", [100.0] * 4, pressed=880.0), vertex("operator", [500.0] * 4)
    assert proposed(job(source, slow, mode="micro-batch")) == 6
    idle = vertex("source", [100.0] * 4, pressed=500.0)
    assert proposed(job(idle, slow, mode="micro-batch")) == 4


def test_what_waits_in_a_source_is_to_be_caught_up() -> None:
    found = job(vertex("source", [600.0] * 4, rate=100.0))
    assert proposed(found) == 4
    assert proposed(found, lag(90)) == 4  # less than a second's worth
    assert proposed(found, lag(6000)) == 7  # twice the rate for a minute
    assert proposed(found, lag(6000), catch_up_s=600.0) == 4
    reason = propose(found, [lag(6000)], ScalingSettings()).reason
    assert "60% of the time" in reason
    assert "2.0 times" in reason


def test_proposals_stay_within_bounds_and_say_so() -> None:
    found = job(vertex("operator", [1000.0] * 4))
    assert proposed(found, highest=5) == 5
    assert (
        "6 would be needed, 5 is the limit" in propose(found, [], ScalingSettings(highest=5)).reason
    )
    assert proposed(job(vertex("operator", [1000.0] * 4), key_groups=4)) == 4
    assert proposed(job(vertex("operator", [0.0] * 4)), lowest=3) == 3


def test_it_is_not_proposed_out_of_nothing() -> None:
    busy = vertex("operator", [1000.0] * 4)
    for found in (job(busy, ran_ms=5000), job(busy, epochs=2)):
        assert proposed(found) == 4
        assert "too early" in propose(found, [], ScalingSettings()).reason
    assert "natively" in propose(job(), [], ScalingSettings()).reason


def test_somebody_acts_when_proposals_agree_for_long_enough_and_then_rests() -> None:
    scaler = Autoscaler(ScalingSettings(stable_s=60, rest_s=180))

    def at(now_s: float, wanted: int) -> int | None:
        return scaler.observe(Proposal(4, wanted, 1.0, ""), now_s)

    assert at(0, 6) is None
    assert at(59, 6) is None
    assert at(60, 7) == 7  # the newest proposal counts, the direction has to last
    assert at(125, 7) is None  # rests
    assert at(239, 7) is None
    assert at(241, 7) == 7
    assert at(500, 6) is None
    assert at(530, 4) is None  # a pause begins anew
    assert at(540, 6) is None
    assert at(590, 6) is None
    assert at(601, 6) == 6
