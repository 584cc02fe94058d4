"""Answers have the keys and types of Flink's own, recorded by oracle/rest/record.py."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from headrace.control.views.models import Counts
from oracle.rest.shapes import differences, shape
from rest_fakes import CHECKPOINT, ENDED, JOB, SAVEPOINT, WAITING, WINDOW, FakeViews

if TYPE_CHECKING:
    from headrace.control.views.models import JobView
    from rest_serving import Serving

ANSWERS = json.loads(
    (Path(__file__).parents[2] / "oracle" / "rest" / "answers.json").read_text(encoding="utf-8")
)
EXECUTOR = f"{JOB[:12]}-0"
# Where headrace answers otherwise, and why.
OTHERWISE = {
    "GET /jobs/{job}/resource-requirements": 200,  # Flink's default scheduler cannot
    "GET /taskmanagers/{tm}/thread-dump": 409,  # its driver is gone; test_threads.py has one
    "GET /jobs/{job}/accumulators?includeSerializedValue=true": 501,  # Java objects
    "GET /jobs/{job} ended": None,  # the order of a life: below
    "GET /jobs/{job}/execution-result ended": None,
    "GET /jobs/{job}/savepoints/{trigger}": None,  # test_operations.py
    "GET /jobs/{job}/checkpoints/{trigger}": None,
    "GET /savepoint-disposal/{trigger}": None,
    "GET /jobs/UNKNOWN/savepoints/{trigger}": None,
    "GET /jobs/UNKNOWN/stop/{trigger}": None,
    "GET /jobs/UNKNOWN/checkpoints/{trigger}": None,
    "GET /jars with one": None,
    "POST /jars/{jar}/plan of no program": None,
    "GET /jobs/{job}/exceptions of a failing one": None,  # below
    # an id that is not there is a 404 everywhere
    "GET /taskmanagers/nobody": 404,
    "GET /applications/00000000000000000000000000000000": 404,
    "GET /applications/00000000000000000000000000000000/exceptions": 404,
    "GET /applications/00000000000000000000000000000000/jobmanager/config": 404,
    "POST /jars/nothing/run {}": 404,
    "POST /jars/nothing/run-application {}": 404,
    "POST /jars/nothing/plan {}": 404,
    "DELETE /jars/nothing": 404,
    "GET /jobs/{job}/jobmanager/log-url": 404,  # this job writes into no file of its own
    "PATCH /jobs/{job}/rescaling?parallelism=3": 202,  # Flink has switched it off
    # Flink calls it a defect of its own
    'POST /jobs/{job}/checkpoints {"checkpointType": "INCREMENTAL"}': 400,
    "PATCH /jobs/{job} ended": None,
}
READ = [name for name in ANSWERS if name.startswith("GET ") and name not in OTHERWISE]


def _path(name: str) -> str:
    path = name.split(" ")[1]
    for placeholder, value in (
        ("{job}", JOB), ("{v}", WINDOW), ("{tm}", EXECUTOR), ("{cp}", str(CHECKPOINT.id)),
        ("{savepoint}", str(SAVEPOINT.id)), ("{app}", JOB),
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
    method, path, *body = name.replace("{job}", JOB).split(" ", 2)
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
    method, path, *body = name.split(" ", 2)
    answer = rest.client.request(
        method,
        path.replace("{job}", JOB),
        content=body[0] if body else None,
        headers={"Content-Type": "application/json"},
    )
    assert answer.status_code == ANSWERS[name]["status"]
    assert method == "HEAD" or isinstance(answer.json()["errors"], list)


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


def test_the_exceptions_of_a_job_that_failed(rest: Serving) -> None:
    told = rest.get(f"/jobs/{ENDED}/exceptions").json()
    wanted = ANSWERS["GET /jobs/{job}/exceptions of a failing one"]["shape"]
    assert differences(wanted, shape(told)) == []
    (entry,) = told["exceptionHistory"]["entries"]
    assert (entry["endpoint"], entry["taskManagerId"]) == ("localhost:38241", EXECUTOR)


def test_an_application_is_its_job(acting: Serving) -> None:
    failed = acting.get(f"/applications/{ENDED}").json()
    assert (failed["status"], failed["jobs"][0]["jid"]) == ("FAILED", ENDED)
    told = acting.get(f"/applications/{ENDED}/exceptions").json()["exceptionHistory"]["entries"]
    assert [(entry["exceptionName"], entry["jobId"]) for entry in told] == [
        ("ZeroDivisionError", ENDED)
    ]
    jobs = acting.dispatcher.views.jobs
    for of_job, status in (("RESTARTING", "RUNNING"), ("CANCELLING", "CANCELING")):
        jobs[JOB] = replace(jobs[JOB], state=of_job)
        lines = acting.get("/applications/overview").json()["applications"]
        assert {line["id"]: line["status"] for line in lines}[JOB] == status
        assert acting.get(f"/applications/{JOB}").json()["status"] == status
    jobs[JOB] = replace(jobs[JOB], state="RUNNING")
    assert acting.post(f"/applications/{JOB}/cancel").status_code == 202
    assert acting.dispatcher.asked == [("cancel", {"job": JOB})]
    assert acting.post(f"/applications/{ENDED}/cancel").status_code == 409


@pytest.mark.parametrize("path", ["/overview", f"/jobs/{JOB}/plan", "/taskmanagers"])
def test_a_wrong_verb_is_not_found_and_told_the_right_ones(rest: Serving, path: str) -> None:
    answer = rest.client.put(path, json={}, headers={"Accept": "application/json"})
    assert answer.status_code == 404
    assert answer.json()["kind"] == "METHOD_NOT_ALLOWED"
    assert "GET" in answer.json()["fix"]


def test_the_time_of_a_step_that_is_not_measured_is_a_number(acting: Serving) -> None:
    views = acting.dispatcher.views
    views.job = lambda job_id: _unmeasured(FakeViews.job(views, job_id))  # type: ignore[method-assign]
    (vertex, _) = acting.get(f"/jobs/{JOB}").json()["vertices"]
    assert vertex["metrics"]["accumulated-busy-time"] == 0


def _unmeasured(job: JobView) -> JobView:
    vertices = tuple(replace(vertex, counts=Counts()) for vertex in job.vertices)
    return replace(job, vertices=vertices)


def test_a_key_that_is_missing_is_found() -> None:
    wanted = shape({"jobs": [{"id": "a", "status": "RUNNING", "n": 1}]})
    assert differences(wanted, shape({"jobs": [{"id": "a", "n": "1"}]})) == [
        "$.jobs[].status is missing",
        "$.jobs[].n is 'text', Flink has 'number'",
    ]
