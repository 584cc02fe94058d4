"""Which step is named, from made-up vertices: the shapes that a small real job does not have."""

from __future__ import annotations

import pytest

from headrace.control.views.models import (
    Counts,
    OperatorView,
    SubtaskView,
    VertexView,
)
from headrace.control.views.pressure import back_pressure, diagnose, level_of, long_epochs


def vertex(
    name: str,
    busy: float | None,
    pressed: float = 0.0,
    *,
    steps: dict[str, float] | None = None,
    records: tuple[int, ...] = (0, 0),
    state: tuple[int | None, ...] = (None, None),
    worked_ms: float = 60_000,
    **metrics: float,
) -> VertexView:
    shares = [
        Counts(
            records_in=count,
            busy=busy,
            back_pressured=None if busy is None else pressed,
            idle=None if busy is None else 1000 - busy - pressed,
            state_bytes=kept,
            busy_total_ms=worked_ms,
        )
        for count, kept in zip(records, state, strict=True)
    ]
    operators = [
        OperatorView(
            id=step,
            uid=step,
            name=step,
            where=f"{step}.py:1",
            counts=Counts(records_out_per_second=metrics.get("rate", 0.0)),
            watermark=None,
            by_subtask={0: Counts(busy=own)},
            metrics={key.replace("_", "-"): value for key, value in metrics.items()}
            | ({"pendingRecords": metrics["pending"]} if "pending" in metrics else {}),
        )
        for step, own in (steps or {name: busy or 0.0}).items()
    ]
    return VertexView(
        id=name,
        name=name,
        parallelism=len(records),
        max_parallelism=128,
        level=0,
        runs="python",
        kind="operator",
        status="RUNNING",
        started=0,
        ended=None,
        counts=Counts(busy=busy, back_pressured=pressed),
        watermark=None,
        operators=tuple(operators),
        subtasks=tuple(
            SubtaskView(n, "RUNNING", 0, "h", 0, None, counts) for n, counts in enumerate(shares)
        ),
    )


CHAIN = {"b": ["a"], "c": ["b"]}


def slow_of(*vertices: VertexView) -> str | None:
    found = diagnose(vertices, CHAIN).slow
    return None if found is None else found.uid


def test_the_busiest_is_slow_unless_it_waits_for_another() -> None:
    assert slow_of(vertex("a", 100), vertex("b", 950), vertex("c", 50)) == "b"
    assert slow_of(vertex("a", 600, 390), vertex("b", 580), vertex("c", 50)) == "b"


def test_nothing_is_called_slow_before_it_had_some_load() -> None:
    """Issue 24, B8: a job with 62 records named a slow step."""
    assert slow_of(vertex("a", 10), vertex("b", 1000, worked_ms=800)) is None
    assert slow_of(vertex("a", 10, 900), vertex("b", 400, worked_ms=800)) is None
    assert slow_of(vertex("a", 10), vertex("b", 1000, worked_ms=8_000)) == "b"
    assert slow_of(vertex("a", 10), vertex("b", 1000, worked_ms=800, records=(1_000, 0))) == "b"


def test_a_job_that_keeps_up_has_no_slow_step() -> None:
    assert slow_of(vertex("a", 100), vertex("b", 300), vertex("c", 50)) is None


def test_in_micro_batches_a_stage_may_be_slow_with_less_than_half_of_the_time() -> None:
    assert slow_of(vertex("a", 50, 500), vertex("b", 400, 60), vertex("c", 60)) == "b"


def test_of_a_chain_the_step_is_named_that_takes_the_time() -> None:
    chain = vertex("b", 900, steps={"parse": 100, "model": 700, "sink": 50})
    found = diagnose([vertex("a", 10, 900), chain], CHAIN).slow
    assert found is not None
    assert (found.uid, found.busy, found.vertex_busy) == ("model", 0.7, 0.9)
    assert found.reason == (
        "its task is at work 90% of the time, 70% in this step, and those in front of it wait 90% "
        "of it"
    )


def test_what_catalyst_runs_is_not_judged() -> None:
    assert slow_of(vertex("a", None)) is None
    assert back_pressure(vertex("a", None), 7).level == "ok"


def test_skew_is_of_many_records_or_much_state() -> None:
    even = vertex("a", 1, records=(5000, 6000), state=(10, 90))
    few = vertex("b", 1, records=(1, 999))
    uneven = vertex("c", 1, records=(1000, 9000), state=(900_000, 100_000))
    found = diagnose([even, few, uneven], CHAIN).skews
    told = [(skew.vertex, skew.what, skew.subtask, skew.ratio) for skew in found]
    assert told == [("c", "records", 1, 1.8), ("c", "state", 0, 1.8)]


def test_lag_is_told_in_records_and_seconds() -> None:
    source = vertex("a", 1, pending=6000, rate=200.0, records_lag_max=4000)
    [lag] = diagnose([source], {}).lags
    assert (lag.pending_records, lag.records_lag_max, lag.seconds) == (6000, 4000, 30.0)
    [still] = diagnose([vertex("a", 1, pending=5, rate=0.0)], {}).lags
    assert still.seconds is None


@pytest.mark.parametrize(
    ("ratio", "level"), [(0.0, "ok"), (0.1, "ok"), (0.11, "low"), (0.5, "low"), (0.51, "high")]
)
def test_levels_are_flinks(ratio: float, level: str) -> None:
    assert level_of(ratio) == level


def test_epochs_of_many_times_their_interval_are_told_with_what_to_do() -> None:
    # newest first, as the stranger had them
    took = [134_000, 54_000, 26_000, 16_000, 12_000, 800]
    found = long_epochs(took, 1000, continuous=False)
    assert found is not None
    assert (found.count, found.duration_ms, found.ratio) == (5, 134_000, 12.0)
    assert "parallelism" in found.fix
    assert "source.max-records-per-batch" in found.fix
    continuous = long_epochs(took, 1000, continuous=True)
    assert continuous is not None
    assert "max-records-per-batch" not in continuous.fix
    assert diagnose([vertex("a", 100)], {}, found).epochs == found


@pytest.mark.parametrize(
    ("took_ms", "interval_ms"),
    [
        ([134_000, 54_000, 900], 1000),  # two may be a backlog
        ([900, 134_000, 54_000, 26_000], 1000),  # it has caught up
        ([25_000, 29_000, 21_000], 10_000),
        ([3000, 2500, 4000], 500),  # fixed costs of a batch
        ([134_000, 54_000, 26_000], 0),  # the next begins when there is something to do
        ([], 1000),
    ],
)
def test_other_epochs_are_not_told(took_ms: list[int], interval_ms: int) -> None:
    assert long_epochs(took_ms, interval_ms, continuous=False) is None
