"""Savepoints, stop, cancel, rescale, programs: as Flink's clients ask for them."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from oracle.rest.shapes import differences, shape
from patience import wait_until
from rest_fakes import CHECKPOINT, ENDED, JOB, SOURCE, WINDOW, not_now

if TYPE_CHECKING:
    from rest_serving import Serving

TRIGGER = "1" * 32
ANSWERS = json.loads(
    (Path(__file__).parents[2] / "oracle" / "rest" / "answers.json").read_text(encoding="utf-8")
)


def _result(rest: Serving, path: str) -> dict[str, Any]:
    wait_until(lambda: rest.get(path).json()["status"]["id"] == "COMPLETED", path)
    return dict(rest.get(path).json()["operation"])


def test_a_savepoint_is_triggered_and_asked_for(acting: Serving) -> None:
    body = {"target-directory": "/sp", "cancel-job": False}
    answer = acting.post(f"/v1/jobs/{JOB}/savepoints", json=body)
    assert answer.status_code == 202
    found = _result(acting, f"/v1/jobs/{JOB}/savepoints/{answer.json()['request-id']}")
    assert found["location"] == "/sp/savepoint-012345-0"


def test_a_trigger_id_of_the_client_starts_one_savepoint(acting: Serving) -> None:
    for _ in range(2):
        answer = acting.post(f"/jobs/{JOB}/savepoints", json={"triggerId": TRIGGER})
        assert answer.json() == {"request-id": TRIGGER}
    assert acting.get(f"/jobs/{JOB}/savepoints/{TRIGGER}").status_code == 200


def test_two_savepoints_at_once_have_two_answers(acting: Serving) -> None:
    ids = [acting.post(f"/jobs/{JOB}/savepoints").json()["request-id"] for _ in range(2)]
    assert len(set(ids)) == 2
    for each in ids:
        assert _result(acting, f"/jobs/{JOB}/savepoints/{each}")["location"]


def test_a_trigger_id_belongs_to_its_job(acting: Serving) -> None:
    found = acting.post(f"/jobs/{JOB}/savepoints").json()["request-id"]
    assert acting.get(f"/jobs/{ENDED}/savepoints/{found}").status_code == 404
    assert acting.get(f"/jobs/{JOB}/rescaling/{found}").status_code == 404


def test_a_checkpoint_is_triggered_and_asked_for(acting: Serving) -> None:
    answer = acting.post(f"/v1/jobs/{JOB}/checkpoints", json={"checkpointType": "CONFIGURED"})
    assert answer.status_code == 202
    path = f"/v1/jobs/{JOB}/checkpoints/{answer.json()['request-id']}"
    assert _result(acting, path) == {"checkpointId": CHECKPOINT.id}
    wanted = ANSWERS["GET /jobs/{job}/checkpoints/{trigger}"]["shape"]
    assert differences(wanted, shape(acting.get(path).json())) == []
    assert acting.dispatcher.asked == [("checkpoint", {})]


@pytest.mark.parametrize("kind", ["FULL", "INCREMENTAL", "SIDEWAYS"])
def test_a_checkpoint_of_another_kind_is_refused(acting: Serving, kind: str) -> None:
    answer = acting.post(f"/jobs/{JOB}/checkpoints", json={"checkpointType": kind})
    assert answer.status_code == 400
    assert acting.dispatcher.asked == []


@pytest.mark.parametrize("verb", ["savepoints", "stop", "checkpoints"])
def test_what_is_asked_of_an_unknown_job_fails_with_its_status(acting: Serving, verb: str) -> None:
    answer = acting.post(f"/jobs/{'0' * 32}/{verb}")
    assert answer.status_code == ANSWERS[f"POST /jobs/UNKNOWN/{verb}"]["status"]
    wanted = ANSWERS[f"GET /jobs/UNKNOWN/{verb}/{{trigger}}"]["shape"]
    place = "checkpoints" if verb == "checkpoints" else "savepoints"
    told = acting.get(f"/jobs/{'0' * 32}/{place}/{answer.json()['request-id']}").json()
    assert differences(wanted, shape(told)) == []
    assert told["operation"]["kind"] == "JOB_NOT_FOUND"


def test_stop_while_restarting_says_why_not(acting: Serving) -> None:
    acting.dispatcher.fails = not_now()
    trigger = acting.post(f"/jobs/{JOB}/stop", json={"drain": True}).json()["request-id"]
    found = _result(acting, f"/jobs/{JOB}/savepoints/{trigger}")
    assert "RESTARTING" in found["failure-cause"]["stack-trace"]
    assert found["kind"] == "JOB"
    assert found["fix"] == "wait until it runs"


def test_stop_passes_on_what_flink_calls_it(acting: Serving) -> None:
    acting.post(f"/jobs/{JOB}/stop", json={"targetDirectory": "/sp", "drain": True})
    assert acting.dispatcher.asked == [("stop", {"drain": True, "folder": "/sp"})]


def test_cancel(acting: Serving) -> None:
    assert acting.client.patch(f"/jobs/{JOB}?mode=cancel").status_code == 202
    assert acting.get(f"/jobs/{JOB}/status").json() == {"status": "CANCELED"}
    assert acting.client.patch(f"/jobs/{JOB}").status_code == 202  # it is canceled
    assert acting.client.patch(f"/jobs/{ENDED}").status_code == 409  # it has failed
    assert [name for name, _ in acting.dispatcher.asked] == ["cancel"]


def test_rescale_by_all_its_paths(acting: Serving) -> None:
    trigger = acting.post(f"/jobs/{JOB}/rescale", json={"parallelism": 3}).json()["request-id"]
    assert _result(acting, f"/jobs/{JOB}/rescaling/{trigger}") == {"job-id": JOB}
    bound = {"parallelism": {"lowerBound": 1, "upperBound": 5}}
    path = f"/jobs/{JOB}/resource-requirements"
    assert acting.client.put(path, json={SOURCE: bound, WINDOW: bound}).status_code == 200
    assert [asked["parallelism"] for _, asked in acting.dispatcher.asked] == [3, 5]
    other = {"parallelism": {"lowerBound": 1, "upperBound": 6}}
    assert acting.client.put(path, json={SOURCE: bound, WINDOW: other}).status_code == 409
    assert acting.client.put(path, json={"c" * 32: bound}).status_code == 404


@pytest.mark.parametrize(
    ("bounds", "status", "told", "fix"),
    [
        (
            {SOURCE: (1, 5), WINDOW: (1, 6)},
            409,
            "vertices would get different parallelisms: 5, 6",
            "give all the same upperBound; set_parallelism() in the program sets single ones",
        ),
        (
            {SOURCE: (1, 5)},
            400,
            f"the body does not name vertex {WINDOW}, and all vertices change together",
            "name all vertices of GET .../resource-requirements with the same upperBound",
        ),
        (
            {SOURCE: (1, 5), WINDOW: (6, 5)},
            400,
            f"lowerBound 6 of vertex {WINDOW} is above its upperBound 5",
            "lowerBound has no effect here: leave it out",
        ),
    ],
)
def test_vertices_have_one_parallelism(
    acting: Serving, bounds: dict[str, tuple[int, int]], status: int, told: str, fix: str
) -> None:
    body = {
        vertex: {"parallelism": {"lowerBound": low, "upperBound": high}}
        for vertex, (low, high) in bounds.items()
    }
    answer = acting.client.put(f"/jobs/{JOB}/resource-requirements", json=body)
    assert (answer.status_code, answer.json()["message"]) == (status, told)
    assert answer.json()["fix"] == fix
    assert acting.dispatcher.asked == []


def test_a_data_set_is_not_there_and_so_it_is_deleted(acting: Serving) -> None:
    answer = acting.client.delete(f"/datasets/{'0' * 32}")
    assert answer.status_code == ANSWERS[f"DELETE /datasets/{'0' * 32}"]["status"]
    trigger = answer.json()["request-id"]
    assert _result(acting, f"/datasets/delete/{trigger}") == {}
    assert acting.get(f"/savepoint-disposal/{trigger}").status_code == 404


def test_the_heartbeat_of_a_client_is_taken(acting: Serving) -> None:
    beat = {"expiredTimestamp": 1}
    assert acting.client.patch(f"/jobs/{JOB}/clientHeartbeat", json=beat).status_code == 202
    assert acting.client.patch(f"/jobs/{'0' * 32}/clientHeartbeat", json=beat).status_code == 404


def test_what_is_no_savepoint_is_not_deleted(acting: Serving, tmp_path: Any) -> None:
    (tmp_path / "precious").write_text("x")
    answer = acting.post("/savepoint-disposal", json={"savepoint-path": str(tmp_path)})
    found = _result(acting, f"/savepoint-disposal/{answer.json()['request-id']}")
    assert "failure-cause" in found
    assert (tmp_path / "precious").exists()


# --- programs ------------------------------------------------------------------------------------


def _upload(rest: Serving, name: str = "job.py", content: bytes = b"print(1)\n") -> Any:
    return rest.post("/jars/upload", files={"jarfile": (name, content)})


def test_a_program_is_uploaded_run_and_deleted(acting: Serving) -> None:
    assert _upload(acting).json()["status"] == "success"
    listed = acting.get("/jars").json()["files"]
    assert [entry["name"] for entry in listed] == ["job.py"]
    program = listed[0]["id"]
    body = {
        "programArgsList": ["--a", "b,c"],
        "parallelism": 4,
        "savepointPath": "/sp",
        "allowNonRestoredState": True,
        "flinkConfiguration": {"x.y": "z"},
    }
    answer = acting.post(f"/jars/{program}/run?entry-class=ignored:main", json=body)
    assert answer.json() == {"jobid": JOB}
    submission = acting.dispatcher.asked[0][1]["submission"]
    assert submission.arguments == ("--a", "b,c")
    assert submission.upload == program
    assert submission.program == "ignored:main"
    assert submission.settings == {
        "x.y": "z",
        "parallelism.default": "4",
        "execution.state-recovery.path": "/sp",
        "execution.state-recovery.ignore-unclaimed-state": "true",
    }
    assert acting.client.delete(f"/jars/{program}").status_code == 200
    assert acting.get("/jars").json()["files"] == []
    assert acting.post(f"/jars/{program}/run").status_code == 404


@pytest.mark.parametrize(
    ("files", "entries"), [(("__main__.py", "a.py"), ["__main__.py"]), (("a.py",), [])]
)
def test_a_zip_is_listed_with_what_it_runs(
    acting: Serving, files: tuple[str, ...], entries: list[str]
) -> None:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name in files:
            archive.writestr(name, PROGRAM)
    assert _upload(acting, "job.zip", content.getvalue()).json()["status"] == "success"
    (listed,) = acting.get("/jars").json()["files"]
    assert listed["name"] == "job.zip"
    assert [entry["name"] for entry in listed["entry"]] == entries
    for entry in entries:  # Flink's dashboard sends it back
        body = {"entryClass": entry, "programArgsList": ["zipped"]}
        answer = acting.post(f"/jars/{listed['id']}/plan", json=body, timeout=60)
        assert answer.json()["plan"]["name"] == "zipped"


def test_a_program_runs_as_an_application(acting: Serving) -> None:
    _upload(acting)
    listed = acting.get("/jars").json()
    assert differences(ANSWERS["GET /jars with one"]["shape"], shape(listed)) == []
    program = listed["files"][0]["id"]
    answer = acting.post(f"/jars/{program}/run-application", json={"applicationId": "A" * 32})
    assert (answer.status_code, answer.json()) == (202, {"applicationid": "a" * 32})
    both = {"applicationId": "a" * 32, "jobId": "b" * 32}
    assert acting.post(f"/jars/{program}/run-application", json=both).status_code == 400


def test_the_query_says_how_to_run_too(acting: Serving) -> None:
    _upload(acting)
    program = acting.get("/jars").json()["files"][0]["id"]
    acting.post(f"/jars/{program}/run?parallelism=2&programArg=a,b&savepointPath=/sp")
    submission = acting.dispatcher.asked[0][1]["submission"]
    assert submission.arguments == ("a", "b")
    assert submission.settings["parallelism.default"] == "2"
    assert submission.program == "job.py"


def test_what_is_no_program_is_refused(acting: Serving) -> None:
    assert _upload(acting, "job.jar", b"PK").status_code == 400
    assert _upload(acting, "job.py", b"def (:\n").status_code == 400
    assert _upload(acting, "../../etc/cron.py").status_code == 200
    assert acting.get("/jars").json()["files"][0]["name"] == "cron.py"
    assert acting.post("/jars/upload", files={"other": ("a.py", b"1")}).status_code == 400


PROGRAM = b"""
import sys
from headrace.common import Types
from headrace.datastream import StreamExecutionEnvironment

print("{ a program may print }")
env = StreamExecutionEnvironment.get_execution_environment()
numbers = env.from_collection([1, 2], Types.INT()).map(lambda n: n, Types.INT())
numbers.key_by(lambda n: n, Types.INT()).reduce(max).print()
env.execute(sys.argv[1])
"""


def test_the_plan_of_a_program(acting: Serving) -> None:
    _upload(acting, "job.py", PROGRAM)
    program = acting.get("/jars").json()["files"][0]["id"]
    body = {"programArgsList": ["named"], "parallelism": 3}
    answer = acting.post(f"/jars/{program}/plan", json=body, timeout=60)
    assert answer.status_code == 200, answer.text
    plan = answer.json()["plan"]
    assert plan["name"] == "named"
    wanted = ANSWERS["GET /jobs/{job}/plan"]["shape"]["plan"]
    assert differences(wanted, shape(plan)) == []
    assert plan["nodes"][2]["inputs"][0]["ship_strategy"] == "HASH"
    assert {node["parallelism"] for node in plan["nodes"][1:]} == {3}


def test_a_program_that_does_not_import_says_why(acting: Serving) -> None:
    _upload(acting, "job.py", b"import no_such_module\n")
    program = acting.get("/jars").json()["files"][0]["id"]
    answer = acting.post(f"/jars/{program}/plan", timeout=60)
    assert answer.status_code == 400
    assert "no_such_module" in answer.json()["errors"][0]
