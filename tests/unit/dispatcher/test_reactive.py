"""Reactive mode: a job that asks for it is rescaled when its load has asked for it long enough."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from headrace.control.scaling import Proposal
from headrace.dispatcher import reactive
from headrace.dispatcher.reactive import ReactiveMode
from headrace.errors import JobError

if TYPE_CHECKING:
    import pytest


class Views:
    """As much of JobViews as reactive mode looks at."""

    def __init__(self, **options: str) -> None:
        self.options = options
        self.jobs = [SimpleNamespace(job_id="a1", name="orders", state="RUNNING", checkpoint="/cp")]

    def records(self) -> list[Any]:
        return self.jobs

    def configuration(self, job_id: str) -> Any:
        return SimpleNamespace(options=self.options)


class Bench:
    def __init__(self, monkeypatch: pytest.MonkeyPatch, views: Views) -> None:
        self.now = 0.0
        self.wanted = 4
        self.done: list[tuple[str, int]] = []
        self.refuses = False
        monkeypatch.setattr(
            reactive, "propose_parallelism", lambda *_: Proposal(2, self.wanted, 1.0, "busy")
        )
        self.mode = ReactiveMode(views, self.rescale, clock=lambda: self.now)  # type: ignore[arg-type]

    def rescale(self, job_id: str, parallelism: int) -> None:
        self.done.append((job_id, parallelism))
        if self.refuses:
            raise JobError("no")

    def run_until(self, now_s: float) -> None:
        while self.now < now_s:
            self.now += 1.0
            self.mode.look()


ENABLED = {"job.autoscaler.enabled": "true", "job.autoscaler.stabilization.interval": "30 s"}


def test_a_job_is_rescaled_once_and_then_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    views = Views(**ENABLED)
    bench = Bench(monkeypatch, views)
    bench.run_until(25)
    assert bench.done == []
    bench.run_until(60)
    assert bench.done == [("a1", 4)]
    views.jobs[0].job_id = "b2"  # the job that continues it
    bench.run_until(200)
    assert bench.done == [("a1", 4)]
    bench.run_until(260)
    assert bench.done == [("a1", 4), ("b2", 4)]


def test_nobody_else_is_touched(monkeypatch: pytest.MonkeyPatch) -> None:
    for views in (Views(), Views(**ENABLED)):
        bench = Bench(monkeypatch, views)
        if views.options:
            views.jobs[0].state = "RESTARTING"
        bench.run_until(300)
        assert bench.done == []


def test_a_refusal_is_told_and_tried_again_later(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    bench = Bench(monkeypatch, Views(**ENABLED))
    bench.refuses = True
    bench.run_until(100)
    assert len(bench.done) == 1
    assert "could not be rescaled" in caplog.text
