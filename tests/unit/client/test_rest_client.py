"""The client of a dispatcher, with servers that answer what the test wants."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import pytest

from headrace.client import RestClient, rest_client
from headrace.common.configuration import Configuration
from headrace.errors import (
    ConnectorError,
    InvalidArgumentError,
    JobError,
    JobNameInUseError,
    JobNotFoundError,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from headrace.common.opaque import JsonValue

Answers = dict[tuple[str, str], "Callable[[Server], tuple[int, JsonValue, dict[str, str]]]"]


class Server:
    """Remembers what it was asked."""

    def __init__(self, answers: Answers) -> None:
        self.asked: list[tuple[str, str, dict[str, str], bytes]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def handle_any(self) -> None:
                path = self.path.partition("?")[0]
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                outer.asked.append((self.command, self.path, dict(self.headers), body))
                answer = answers.get((self.command, path)) or (lambda _: (404, {}, {}))
                status, content, headers = answer(outer)
                text = content if isinstance(content, bytes) else json.dumps(content).encode()
                self.send_response(status)
                for name, value in {**headers, "Content-Length": str(len(text))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(text)

            do_GET = do_POST = do_PATCH = do_DELETE = handle_any

            def log_message(self, *arguments: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}"


@contextmanager
def serving(answers: Answers) -> Iterator[Server]:
    server = Server(answers)
    threading.Thread(target=server.server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield server
    finally:
        server.server.shutdown()
        server.server.server_close()


def test_a_standby_leads_to_the_leader_with_body_and_token() -> None:
    leading: Answers = {("POST", "/jars/run"): lambda _: (200, {"jobid": "a" * 32}, {})}
    with serving(leading) as leader:
        there = f"{leader.address}/jars/run"
        waiting: Answers = {("POST", "/jars/run"): lambda _: (307, {}, {"Location": there})}
        with serving(waiting) as standby:
            client = RestClient((standby.address,), token="hr_1")
            assert client.run("module:main", ["x"], {"user.a": "1"}) == "a" * 32
        ((_, _, headers, body),) = leader.asked
        assert headers["Authorization"] == "Bearer hr_1"
        assert json.loads(body) == {
            "program": "module:main", "arguments": ["x"], "configuration": {"user.a": "1"},
        }  # fmt: skip


def test_while_nobody_leads_it_asks_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rest_client.time, "sleep", lambda s: None)  # type: ignore[attr-defined]
    answers: Answers = {
        ("GET", "/headrace/jobs"): lambda server: (
            (503, {"errors": ["no leader"]}, {}) if len(server.asked) < 3 else (200, [], {})
        )
    }
    with serving(answers) as server:
        assert RestClient((server.address,)).jobs() == []
        assert len(server.asked) == 3


def test_the_second_address_is_asked_when_the_first_is_dead() -> None:
    with serving({("GET", "/headrace/jobs"): lambda _: (200, [], {})}) as server:
        assert RestClient(("http://127.0.0.1:9", server.address)).jobs() == []
    with pytest.raises(ConnectorError, match=r"no dispatcher answers: http://127.0.0.1:9"):
        RestClient(("http://127.0.0.1:9",)).jobs()


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("JOB_NOT_FOUND", JobNotFoundError),
        ("JOB_NAME_IN_USE", JobNameInUseError),
        ("BAD_REQUEST", JobError),
    ],
)
def test_errors_come_back_with_their_class_and_parts(kind: str, expected: type[JobError]) -> None:
    told = {"errors": ["long"], "kind": kind, "message": "short", "where": "here", "fix": "so"}
    with serving({("GET", "/headrace/jobs/x"): lambda _: (409, told, {})}) as server:
        with pytest.raises(expected) as raised:
            RestClient((server.address,)).find("x")
        assert (raised.value.message, raised.value.where, raised.value.fix) == (
            "short",
            "here",
            "so",
        )


def test_a_missing_token_says_where_to_put_it() -> None:
    with serving(
        {("GET", "/headrace/jobs"): lambda _: (401, {"message": "a token"}, {})}
    ) as server:
        with pytest.raises(JobError) as raised:
            RestClient((server.address,)).jobs()
        assert "HEADRACE_REST_TOKEN" in (raised.value.fix or "")


def test_what_is_no_dispatcher_is_said_to_be_none() -> None:
    with (
        serving({("GET", "/headrace/jobs"): lambda _: (200, b"<html>", {})}) as server,
        pytest.raises(ConnectorError, match="is it a dispatcher"),
    ):
        RestClient((server.address,)).jobs()


def test_a_failed_operation_is_raised_here() -> None:
    failed = {
        "status": {"id": "COMPLETED"},
        "operation": {"failure-cause": {"stack-trace": "x"}, "kind": "JOB", "message": "full disk"},
    }
    answers: Answers = {
        ("POST", "/jobs/1/savepoints"): lambda _: (202, {"request-id": "7"}, {}),
        ("GET", "/jobs/1/savepoints/7"): lambda _: (200, failed, {}),
    }
    with serving(answers) as server, pytest.raises(JobError, match="full disk"):
        RestClient((server.address,)).savepoint("1", None, timeout_s=5)


def test_an_upload_is_deleted_even_when_its_run_is_refused(tmp_path: Path) -> None:
    program = tmp_path / "p.py"
    program.write_text("x = 1")
    answers: Answers = {
        ("POST", "/jars/upload"): lambda _: (200, {"filename": "/there/7_p.py"}, {}),
        ("POST", "/jars/7_p.py/run"): lambda _: (400, {"message": "no"}, {}),
        ("DELETE", "/jars/7_p.py"): lambda _: (200, {}, {}),
    }
    with serving(answers) as server:
        with pytest.raises(JobError, match="no"):
            RestClient((server.address,)).run(str(program), [], {})
        assert [command for command, *_ in server.asked] == ["POST", "POST", "DELETE"]
        assert b"x = 1" in server.asked[0][3]
    with pytest.raises(InvalidArgumentError, match="cannot be read"):
        RestClient(("http://127.0.0.1:9",)).run("missing.py", [], {})


def test_addresses_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = Configuration()
    monkeypatch.setenv("HEADRACE_REST_TOKEN", "hr_2")
    client = RestClient.of("one,two:9000, http://three", plain)
    assert client.addresses == ("http://one:8081", "http://two:9000", "http://three:8081")
    assert client.token == "hr_2"
    assert "hr_2" not in repr(client)
    assert RestClient.of("https://one", plain).tls is not None
    secure = Configuration.from_dict({"security.ssl.rest.enabled": "true"})
    assert RestClient.of("one", secure).addresses == ("https://one:8081",)
    for wrong in ("", "http://", "ftp://one", "one:port"):
        with pytest.raises(InvalidArgumentError):
            RestClient.of(wrong, plain)
