"""Answers have the keys and types of Flink's own, recorded by oracle/rest/record.py."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from oracle.rest.shapes import differences, shape
from rest_fakes import CHECKPOINT, ENDED, JOB, WAITING, WINDOW

if TYPE_CHECKING:
    from rest_serving import Serving

ANSWERS = json.loads(
    (Path(__file__).parents[2] / "oracle" / "rest" / "answers.json").read_text(encoding="utf-8")
)
EXECUTOR = f"{JOB[:12]}-0"
# Where headrace answers otherwise, and why.
OTHERWISE = {
    "GET /jobs/{job}/vertices/{v}/flamegraph": 501,  # workers are not sampled
    "GET /jobs/{job}/resource-requirements": 200,  # Flink's default scheduler cannot
    "GET /taskmanagers/{tm}/thread-dump": 501,  # Spark's own pages show it
    "GET /jobs/{job}/accumulators?includeSerializedValue=true": 501,  # Java objects
    "GET /jobs/{job} ended": None,  # the order of a life: below
    "GET /jobs/{job}/execution-result ended": None,
    "GET /jobs/{job}/savepoints/{trigger}": None,  # test_operations.py
    "GET /jobs/{job}/checkpoints/{trigger}": None,
    "GET /savepoint-disposal/{trigger}": None,
    # an id that is not there is a 404 everywhere
    "GET /taskmanagers/nobody": 404,
    # a router of Flink's own
    "DELETE /jobs/overview": 405,
    "POST /jars/nothing/run {}": 404,
    "DELETE /jars/nothing": 404,
    "PATCH /jobs/{job}/rescaling?parallelism=3": 202,  # Flink has switched it off
    "POST /jobs/{job}/checkpoints": 501,
    "POST /jobs/00000000000000000000000000000000/stop {}": 404,  # known at once
    "POST /jobs/00000000000000000000000000000000/savepoints {}": 404,
    "PATCH /jobs/{job} ended": None,
}
READ = [name for name in ANSWERS if name.startswith("GET ") and name not in OTHERWISE]


def _path(name: str) -> str:
    path = name.split(" ")[1]
    for placeholder, value in (
        ("{job}", JOB), ("{v}", WINDOW), ("{tm}", EXECUTOR), ("{cp}", str(CHECKPOINT.id)),
        ("Status.JVM.CPU.Load", "taskSlotsTotal"),
    ):  # fmt: skip
        path = path.replace(placeholder, value)
    return path


@pytest.mark.parametrize("name", READ)
def test_an_answer_has_flinks_keys_and_types(rest: Serving, name: str) -> None:
    wanted = ANSWERS[name]
    answer = rest.get(_path(name))
    assert answer.status_code == wanted["status"], answer.text
    assert differences(wanted["shape"], shape(answer.json())) == []


@pytest.mark.parametrize("name", [n for n, status in OTHERWISE.items() if status is not None])
def test_what_differs_differs_as_said(rest: Serving, name: str) -> None:
    method, path, *body = name.replace("{job}", JOB).split(" ")
    answer = rest.client.request(
        method, _path(f"{method} {path}"), content=body[0] if body else None,
        headers={"Content-Type": "application/json"},
    )  # fmt: skip
    assert answer.status_code == OTHERWISE[name]
    assert answer.status_code == 200 or answer.status_code == 202 or answer.json()["errors"]


BAD = [
    name
    for name, wanted in ANSWERS.items()
    if not name.startswith("GET ") and wanted["status"] >= 400 and name not in OTHERWISE
]


@pytest.mark.parametrize("name", BAD)
def test_a_bad_request_has_flinks_status(rest: Serving, name: str) -> None:
    method, path, body = (*name.split(" ", 2), None)[:3]
    answer = rest.client.request(
        method,
        path.replace("{job}", JOB),
        content=body,
        headers={"Content-Type": "application/json"},
    )
    assert answer.status_code == ANSWERS[name]["status"]
    assert isinstance(answer.json()["errors"], list)


def test_a_job_that_waits_has_its_place_in_lists_and_alone(rest: Serving) -> None:
    lines = {job["jid"]: job for job in rest.get("/jobs/overview").json()["jobs"]}
    assert lines[WAITING]["queue-position"] == 1
    assert rest.get(f"/jobs/{WAITING}").json()["queue-position"] == 1
    assert rest.get(f"/headrace/jobs/{WAITING}").json()["queue_position"] == 1
    assert "queue-position" not in rest.get(f"/jobs/{JOB}").json()
    assert rest.get(f"/headrace/jobs/{JOB}").json()["queue_position"] is None


def test_an_ended_job(rest: Serving) -> None:
    detail = rest.get(f"/jobs/{ENDED}").json()
    assert differences(ANSWERS["GET /jobs/{job} ended"]["shape"], shape(detail)) == []
    result = rest.get(f"/jobs/{ENDED}/execution-result").json()
    wanted = ANSWERS["GET /jobs/{job}/execution-result ended"]["shape"]
    assert differences(wanted, shape(result)) == []
    assert result["job-execution-result"]["application-status"] == "FAILED"


def test_a_key_that_is_missing_is_found() -> None:
    wanted = shape({"jobs": [{"id": "a", "status": "RUNNING", "n": 1}]})
    assert differences(wanted, shape({"jobs": [{"id": "a", "n": "1"}]})) == [
        "$.jobs[].status is missing",
        "$.jobs[].n is 'text', Flink has 'number'",
    ]
