"""Flame graphs: of a job that stands still in a user's function, and what is told without one."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from headrace.common import Configuration
from headrace.errors import JobError
from headrace.rest.flame_graphs import FlameGraphs, FlameGraphSettings, drawn
from headrace.rest.settings import RestSettings
from held_job import held_job
from patience import PATIENCE_S, wait_until
from rest_fakes import ENDED, JOB, WINDOW, FakeDispatcher
from rest_serving import Serving, serving

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SOON = FlameGraphSettings(enabled=True, count=10, delay_ms=5)
PATH = f"/jobs/{JOB}/vertices/{WINDOW}/flamegraph"


@pytest.fixture(scope="module", params=["micro-batch", "continuous"])
def held(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Serving, str]]:
    """A server, and the path of the vertex whose function is held."""
    folder = tmp_path_factory.mktemp("held")
    with held_job(folder, headrace__execution__mode=request.param) as (views, job_id):
        dispatcher = FakeDispatcher(views, folder / "cluster")  # type: ignore[arg-type]
        with serving(dispatcher, RestSettings(port=0, flame_graphs=SOON)) as rest:
            vertices = views.job(job_id).vertices
            (held,) = [v for v in vertices if "held" in {step.uid for step in v.operators}]
            yield rest, f"/jobs/{job_id}/vertices/{held.id}/flamegraph"


def _graph(rest: Serving, path: str) -> dict[str, Any]:
    wait_until(lambda: rest.get(path).json()["endTimestamp"] != -3)
    found: dict[str, Any] = rest.get(path).json()
    return found


def _names(node: dict[str, Any]) -> set[str]:
    return {node["name"]}.union(*map(_names, node["children"]))


def test_a_graph_shows_where_the_user_stands(held: tuple[Serving, str]) -> None:
    rest, path = held
    graphs = {kind: _graph(rest, f"{path}?type={kind}") for kind in ("FULL", "on_cpu", "off_cpu")}
    assert all(graph["endTimestamp"] > 0 for graph in graphs.values())
    full = graphs["FULL"]["data"]
    assert (full["name"], full["value"] > 0) == ("root", True)
    assert any("hold_record:" in name for name in _names(full))
    assert full["value"] == graphs["on_cpu"]["data"]["value"] + graphs["off_cpu"]["data"]["value"]


def test_what_cannot_be_asked(held: tuple[Serving, str]) -> None:
    rest, path = held
    assert rest.get(f"{path}?type=flat").status_code == 400
    assert rest.get(f"{path}?subtaskindex=99").status_code == 404


def test_without_the_option_and_of_what_spark_runs_there_is_none(
    rest: Serving, tmp_path: Path
) -> None:
    assert rest.get(PATH).json() == {"endTimestamp": -2}
    dispatcher = FakeDispatcher(rest.dispatcher.views, tmp_path)
    with serving(dispatcher, RestSettings(port=0, flame_graphs=SOON)) as enabled:
        views = dispatcher.views
        job = views.job(JOB)
        native = tuple(replace(vertex, runs="native") for vertex in job.vertices)
        views.job = lambda job_id: replace(job, vertices=native)  # type: ignore[method-assign]
        assert enabled.get(PATH).json() == {"endTimestamp": -2}
        del views.job
        job = views.job(ENDED)
        over = tuple(replace(vertex, status="FAILED") for vertex in job.vertices)
        views.job = lambda job_id: replace(job, vertices=over)  # type: ignore[method-assign]
        ended = enabled.get(f"/jobs/{ENDED}/vertices/{WINDOW}/flamegraph").json()
        del views.job
        assert ended == {"endTimestamp": -1}


def test_options_act() -> None:
    configuration = Configuration()
    for name, value in (
        ("enabled", "true"), ("num-samples", "7"), ("delay-between-samples", "20 ms"),
        ("stack-depth", "9"), ("refresh-interval", "3 s"), ("cleanup-interval", "1 min"),
    ):  # fmt: skip
        configuration.set_string(f"rest.flamegraph.{name}", value)
    found = RestSettings.of(configuration, address="127.0.0.1", port=0).flame_graphs
    assert found == FlameGraphSettings(
        enabled=True, count=7, delay_ms=20, depth=9, refresh_ms=3000, cleanup_ms=60_000
    )


def test_stacks_become_a_tree() -> None:
    samples = [
        {"stack": ["run", "map"], "on": 3, "off": 1},
        {"stack": ["run", "wait"], "on": 0, "off": 2},
    ]
    leaf = {"name": "map", "value": 3, "children": []}
    run = {"name": "run", "value": 3, "children": [leaf]}
    assert drawn(samples, ("on",)) == {"name": "root", "value": 3, "children": [run]}
    whole = drawn(samples, ("on", "off"))
    assert (whole["value"], [c["value"] for c in whole["children"][0]["children"]]) == (6, [4, 2])


@pytest.mark.parametrize(("refresh_ms", "again"), [(60_000, False), (0, True)])
def test_a_graph_is_kept_until_it_is_old(refresh_ms: int, again: bool) -> None:
    graphs, go_on = FlameGraphs(replace(SOON, refresh_ms=refresh_ms)), threading.Event()
    asked: list[str] = []

    def sample() -> list[dict[str, Any]]:
        asked.append("once")
        assert go_on.wait(PATIENCE_S)
        return []

    def told() -> int:
        when: int = graphs.get("key", "full", sample)["endTimestamp"]
        return when

    assert [told(), told()] == [-3, -3]
    go_on.set()
    wait_until(lambda: told() > 0)
    if again:
        wait_until(lambda: bool(told()) and len(asked) > 1)
    else:
        assert (told() > 0, asked) == (True, ["once"])


def test_a_driver_that_does_not_answer_is_asked_again() -> None:
    graphs, failures = FlameGraphs(SOON), [JobError("it restarts")]

    def sample() -> list[dict[str, Any]]:
        if failures:
            raise failures.pop()
        return []

    wait_until(lambda: graphs.get("key", "full", sample)["endTimestamp"] > 0)
