"""Requests that are wrong get Flink's status and our parts; nothing is a 500."""

from __future__ import annotations

import http.client
import json
import time
from typing import TYPE_CHECKING

import pytest

from headrace.dispatcher.leadership import Leader
from headrace.rest.settings import MAX_JSON_BYTES, RestSettings
from rest_fakes import JOB, FakeDispatcher, FakeViews
from rest_serving import serving

if TYPE_CHECKING:
    from pathlib import Path

    from rest_serving import Serving

NOBODY = "0" * 32


@pytest.mark.parametrize(
    "path",
    ["", "/status", "/plan", "/config", "/exceptions", "/checkpoints", "/checkpoints/config",
     "/accumulators", "/execution-result", "/metrics", "/metrics/history", "/diagnosis", "/logs",
     f"/vertices/{NOBODY}", f"/vertices/{NOBODY}/backpressure", "/resource-requirements"],
)  # fmt: skip
def test_an_unknown_job_is_not_found(rest: Serving, path: str) -> None:
    answer = rest.get(f"/jobs/{NOBODY}{path}")
    assert answer.status_code == 404
    assert NOBODY[:12] in answer.json()["errors"][0]


@pytest.mark.parametrize(
    ("method", "path"),
    [("DELETE", "/jobs/overview"), ("POST", "/overview"), ("PUT", f"/jobs/{JOB}/savepoints"),
     ("GET", f"/jobs/{JOB}/stop"), ("GET", f"/jobs/{JOB}/yarn-cancel"), ("POST", "/")],
)  # fmt: skip
def test_a_wrong_verb(rest: Serving, method: str, path: str) -> None:
    answer = rest.client.request(method, path)
    assert answer.status_code == 404
    assert answer.json()["errors"]


@pytest.mark.parametrize(
    "body",
    [b"{not json", b"[]", b'"text"', b"\xff\xfe", b'{"cancel-job": "perhaps"}',
     b'{"triggerId": "../.."}', b'{"formatType": "SIDEWAYS"}', b"[" * 100_000],
)  # fmt: skip
def test_a_malformed_body(rest: Serving, body: bytes) -> None:
    answer = rest.post(
        f"/jobs/{JOB}/savepoints", content=body, headers={"Content-Type": "application/json"}
    )
    assert answer.status_code == 400
    assert answer.json()["kind"] == "BAD_REQUEST"


@pytest.mark.parametrize(
    ("method", "path", "body", "told", "where"),
    [
        ("GET", "/jobs/abc", None, "'abc' is no job id: 32 hexadecimal digits", "path"),
        ("GET", f"/jobs/{JOB}/vertices/x", None, "'x' is no vertex id: 32 hexadecimal digits",
         "path"),
        ("PATCH", f"/jobs/{JOB}?mode=sideways", None, "mode must be 'cancel' or 'stop'", "query"),
        ("PATCH", f"/jobs/{JOB}/rescaling?parallelism=x", None,
         "parallelism must be a whole number", "query"),
        ("PATCH", f"/jobs/{JOB}/rescaling?parallelism=0", None, "parallelism must be at least 1",
         "query"),
        ("POST", f"/jobs/{JOB}/savepoints", b"{not json",
         "the body is no JSON: Expecting property name enclosed in double quotes at character 1",
         "body"),
        ("POST", f"/jobs/{JOB}/savepoints", b"[]", "the body is no JSON object", "body"),
        ("POST", f"/jobs/{JOB}/savepoints", b'{"triggerId": "../.."}',
         "triggerId must be 32 hexadecimal digits", "body"),
        ("POST", f"/jobs/{JOB}/rescale", b"", "the body is no JSON object", "body"),
        ("POST", f"/jobs/{JOB}/rescale", b"{}", "parallelism must be given", "body"),
        ("POST", f"/jobs/{JOB}/stop", b'{"drain": "perhaps"}', "drain must be true or false",
         "body"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_in_plain_words(
    rest: Serving, method: str, path: str, body: bytes | None, told: str, where: str
) -> None:
    headers = {"Content-Type": "application/json"}
    answer = rest.client.request(method, path, content=body, headers=headers).json()
    assert (answer["message"], answer["where"]) == (told, where)
    assert ("Content-Type: application/json" in (answer["fix"] or "")) is ("no JSON" in told)


def test_a_value_of_a_body_is_not_repeated(rest: Serving) -> None:
    body = {"target-directory": ["hunter2"], "cancel-job": "hunter2"}
    answer = rest.post(f"/jobs/{JOB}/savepoints", json=body)
    assert answer.status_code == 400
    assert "hunter2" not in answer.text


def test_a_body_that_says_it_is_huge_is_not_read(rest: Serving) -> None:
    with_length = http.client.HTTPConnection("127.0.0.1", rest.server.port, timeout=10)
    with_length.putrequest("POST", f"/jobs/{JOB}/savepoints")
    with_length.putheader("Content-Length", str(10**12))
    with_length.endheaders()
    answer = with_length.getresponse()
    assert answer.status == 413
    with_length.close()


def test_a_body_that_does_not_say_it_is_huge_is_cut(rest: Serving) -> None:
    chunks = (b" " * 65_536 for _ in range(MAX_JSON_BYTES // 65_536 + 2))
    answer = rest.post(
        f"/jobs/{JOB}/savepoints", content=chunks, headers={"Content-Type": "application/json"}
    )
    assert answer.status_code == 413


def test_a_program_beyond_the_limit(dispatcher: FakeDispatcher) -> None:
    with serving(dispatcher, RestSettings(port=0, max_upload_bytes=10_000)) as rest:
        big = b"# " + b"x" * 20_000
        assert rest.post("/jars/upload", files={"jarfile": ("a.py", big)}).status_code == 413
        assert rest.post("/jars/upload", files={"jarfile": ("a.py", b"1")}).status_code == 200


def test_flinks_client_gets_errors_alone(rest: Serving) -> None:
    """It takes a body for an error only if there is no other key; it sends no Accept."""
    plain = http.client.HTTPConnection("127.0.0.1", rest.server.port, timeout=10)
    plain.request("GET", f"/jobs/{NOBODY}")
    answer = plain.getresponse()
    assert answer.status == 404
    assert list(json.loads(answer.read())) == ["errors"]
    plain.close()
    assert set(rest.get(f"/jobs/{NOBODY}").json()) == {"errors", "kind", "message", "where", "fix"}


def test_an_unexpected_error_tells_nothing_of_itself(
    rest: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("password=hunter2")

    monkeypatch.setattr(rest.dispatcher.views, "plan", fail)
    answer = rest.get(f"/jobs/{JOB}/plan")
    assert answer.status_code == 500
    assert answer.json()["kind"] == "INTERNAL"
    assert "hunter2" not in answer.text


# --- the leader ----------------------------------------------------------------------------------


@pytest.fixture
def standby(tmp_path: Path) -> FakeDispatcher:
    dispatcher = FakeDispatcher(FakeViews(), tmp_path / "cluster")
    dispatcher.leading = False
    return dispatcher


def test_a_standby_shows_the_way_to_the_leader(standby: FakeDispatcher) -> None:
    standby.other = Leader("http://10.0.0.7:8081", 3)
    with serving(standby, RestSettings(port=0)) as rest:
        answer = rest.post(f"/jobs/{JOB}/stop?a=b", json={})
        assert answer.status_code == 307
        assert answer.headers["location"] == f"http://10.0.0.7:8081/jobs/{JOB}/stop?a=b"
        assert standby.asked == []
        assert rest.get("/health").json() == {"status": "ok", "leader": False}
        assert rest.get("/").status_code == 200


def test_without_a_leader_the_answer_is_to_wait(standby: FakeDispatcher) -> None:
    with serving(standby, RestSettings(port=0)) as rest:
        answer = rest.get("/jobs")
        assert answer.status_code == 503
        assert answer.json()["kind"] == "NO_LEADER"
        assert answer.headers["retry-after"] == "2"


def test_answers_come_quickly(rest: Serving) -> None:
    rest.get("/jobs/overview")
    took = []
    for _ in range(50):
        started = time.perf_counter()
        assert rest.get("/jobs/overview").status_code == 200
        took.append(time.perf_counter() - started)
    # the quickest: other work on this machine delays some, and a wait of the server's own all
    assert min(took) < 0.03
