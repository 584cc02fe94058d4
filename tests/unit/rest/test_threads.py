"""Thread dumps: of the dispatcher, of executors, of drivers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from answering_driver import answering_driver
from headrace.control.registry import JobRegistry
from headrace.rest.settings import RestSettings
from held_job import held_job
from rest_fakes import JOB, FakeDispatcher
from rest_serving import Serving, serving

if TYPE_CHECKING:
    from pathlib import Path


def _stacks(rest: Serving, path: str) -> dict[str, str]:
    answer = rest.get(path)
    assert answer.status_code == 200, answer.text
    told: list[dict[str, Any]] = answer.json()["threadInfos"]
    assert all(set(each) == {"threadName", "stringifiedThreadInfo"} for each in told)
    return {each["threadName"]: each["stringifiedThreadInfo"] for each in told}


def test_the_dispatcher_tells_what_its_threads_do(rest: Serving) -> None:
    stacks = _stacks(rest, "/jobmanager/thread-dump")
    assert stacks["MainThread"].startswith('"MainThread" Id=')
    assert "test_threads.py" in stacks["MainThread"]
    # as Flink's and the JVM's own: Flink's dashboard puts nothing between two of them
    assert [name for name, stack in stacks.items() if not stack.endswith("\n\n")] == []


def test_a_driver_that_runs_the_tasks_tells_what_they_do(tmp_path: Path) -> None:
    with held_job(tmp_path) as (views, job_id):
        dispatcher = FakeDispatcher(views, tmp_path / "cluster")  # type: ignore[arg-type]
        with serving(dispatcher, RestSettings(port=0)) as rest:
            (executor,) = rest.get("/taskmanagers").json()["taskmanagers"]
            path = f"/taskmanagers/{executor['id']}/thread-dump"
            held = _stacks(rest, path)["headrace-local"]
            assert "hold_record" in held
            assert held.splitlines()[0].endswith("runs subtask 0 of held, out")
            assert "hold_record" in _stacks(rest, f"/jobs/{job_id}/thread-dump")["headrace-local"]


def test_the_driver_is_asked_for_the_executor_or_for_itself(rest: Serving, tmp_path: Path) -> None:
    dispatcher = FakeDispatcher(rest.dispatcher.views, tmp_path / "cluster")
    dispatcher.registry = JobRegistry(tmp_path / "jobs")

    def infos(arguments: dict[str, Any]) -> dict[str, Any]:
        info = {"threadName": "main", "stringifiedThreadInfo": str(arguments.get("executor"))}
        return {"threadInfos": [info]}

    with (
        answering_driver(dispatcher.registry, JOB, {"threads": infos}),
        serving(dispatcher, RestSettings(port=0)) as asked,
    ):
        assert _stacks(asked, f"/taskmanagers/{JOB[:12]}-0/thread-dump") == {"main": "0"}
        assert _stacks(asked, f"/jobs/{JOB}/thread-dump") == {"main": "None"}


@pytest.mark.parametrize(
    ("path", "status"),
    [
        (f"taskmanagers/{JOB[:12]}-0", 409),  # its job's record has gone
        ("taskmanagers/nobody", 404),
        (f"jobs/{'9' * 32}", 404),
    ],
)
def test_what_cannot_be_asked(rest: Serving, path: str, status: int) -> None:
    answer = rest.get(f"/{path}/thread-dump")
    assert (answer.status_code, len(answer.json()["errors"])) == (status, 1)
