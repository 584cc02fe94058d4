"""REST over the read models of a real job: every path of a job answers, with the job's figures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from headrace.rest.settings import RestSettings
from job_files import run_three_stages
from rest_fakes import FakeDispatcher
from rest_serving import Serving, serving

if TYPE_CHECKING:
    from collections.abc import Iterator

_PATHS = (
    "", "/plan", "/config", "/exceptions", "/accumulators", "/metrics", "/metrics/history",
    "/checkpoints", "/checkpoints/config", "/diagnosis", "/rescale", "/vertices/{vertex}",
    "/vertices/{vertex}/accumulators", "/vertices/{vertex}/subtasks/accumulators",
    "/vertices/{vertex}/subtasks/0/attempts/0/accumulators",
    "/vertices/{vertex}/backpressure", "/vertices/{vertex}/metrics",
    "/vertices/{vertex}/subtasks/0", "/vertices/{vertex}/subtasks/metrics",
    "/vertices/{vertex}/subtasktimes", "/vertices/{vertex}/taskmanagers",
    "/vertices/{vertex}/watermarks", "/checkpoints/details/{checkpoint}",
    "/checkpoints/details/{checkpoint}/subtasks/{vertex}",
)  # fmt: skip


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Serving, str]]:
    folder = tmp_path_factory.mktemp("real")
    views, job_id = run_three_stages(folder)
    dispatcher = FakeDispatcher(views, folder / "cluster")  # type: ignore[arg-type]
    dispatcher.registry = views.registry
    with serving(dispatcher, RestSettings(port=0)) as found:
        yield found, job_id


@pytest.fixture(scope="module")
def places(real: tuple[Serving, str]) -> dict[str, str]:
    rest, job_id = real
    vertices = rest.get(f"/jobs/{job_id}").json()["vertices"]
    newest = rest.get(f"/jobs/{job_id}/checkpoints").json()["latest"]["completed"]
    return {"vertex": vertices[1]["id"], "checkpoint": str(newest["id"])}


@pytest.mark.parametrize("path", _PATHS)
def test_every_path_answers(real: tuple[Serving, str], places: dict[str, str], path: str) -> None:
    rest, job_id = real
    answer = rest.get(f"/jobs/{job_id}{path.format(**places)}")
    assert answer.status_code == 200, answer.text
    assert answer.json() not in ({}, None)


def test_the_figures_are_those_of_the_job(
    real: tuple[Serving, str], places: dict[str, str]
) -> None:
    rest, job_id = real
    job = rest.get(f"/jobs/{job_id}").json()
    assert (job["state"], job["name"]) == ("FINISHED", "three stages")
    told = [(v["metrics"]["read-records"], v["metrics"]["write-records"]) for v in job["vertices"]]
    assert told == [(0, 3000), (3000, 3000), (3000, 0)]
    pressure = rest.get(f"/jobs/{job_id}/vertices/{job['vertices'][0]['id']}/backpressure").json()
    assert pressure["status"] == "ok"
    assert pressure["backpressureLevel"] in ("low", "high")
    values = rest.get(f"/jobs/{job_id}/vertices/{places['vertex']}/metrics?get=0.slow.mine.seen")
    assert int(values.json()[0]["value"]) > 0
    assert rest.get(f"/jobs/{job_id}/diagnosis").json()["slow"]["uid"] == "slow"
    assert rest.get(f"/jobs/{job_id}/rescale").json()["reason"] == "it is FINISHED"
    details = rest.get(f"/jobs/{job_id}/checkpoints/details/{places['checkpoint']}").json()
    assert details["tasks"][places["vertex"]]["state_size"] > 0


def test_accumulators_are_those_of_the_vertex_and_its_subtasks(
    real: tuple[Serving, str], places: dict[str, str]
) -> None:
    rest, job_id = real
    path = f"/jobs/{job_id}/vertices/{places['vertex']}"
    [records] = _named(rest.get(f"{path}/accumulators").json(), "records")
    assert records == {"name": "records", "type": "LongCounter", "value": "3000"}
    answer = rest.get(f"{path}/subtasks/accumulators").json()
    assert (answer["id"], answer["parallelism"]) == (places["vertex"], 2)
    [one, two] = [_named(subtask, "records")[0] for subtask in answer["subtasks"]]
    assert int(one["value"]) + int(two["value"]) == 3000
    assert 0 < int(one["value"]) < 3000
    attempt = rest.get(f"{path}/subtasks/0/attempts/0/accumulators").json()
    assert _named(attempt, "records") == [one]
    whole = rest.get(f"/jobs/{job_id}/accumulators").json()["user-task-accumulators"]
    assert records in whole
    source = rest.get(f"/jobs/{job_id}").json()["vertices"][0]["id"]
    answer = rest.get(f"/jobs/{job_id}/vertices/{source}/accumulators").json()
    assert answer == {"id": source, "user-accumulators": []}


def _named(answer: dict[str, Any], name: str) -> list[dict[str, str]]:
    return [each for each in answer["user-accumulators"] if each["name"] == name]
