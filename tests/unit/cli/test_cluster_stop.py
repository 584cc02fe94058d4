"""`headrace cluster stop` and `status`, with a dispatcher in this process."""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from dispatching import fake_dispatcher, pretend, wait_for, wait_for_state
from headrace.cli import cluster
from headrace.cli.main import app
from headrace.common.configuration import Configuration
from headrace.dispatcher.instances import Instance, registered
from headrace.errors import ConfigurationError

if TYPE_CHECKING:
    import socket
    from collections.abc import Iterator
    from pathlib import Path

    from headrace.dispatcher.dispatcher import Dispatcher


def headrace(*words: str) -> str:
    done = CliRunner().invoke(app, list(words))
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.fixture
def dispatcher(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Dispatcher]:
    """One that `headrace cluster stop` finds, and ends."""
    monkeypatch.setenv("HEADRACE_HOME", str(tmp_path / "home"))
    dispatcher = fake_dispatcher(tmp_path, **{"headrace.cluster.slots": "1"})
    dispatcher.start()
    wait_for(lambda: dispatcher.is_leader)
    folders = (str(dispatcher.settings.folder), 1000, str(dispatcher.registry.folder))
    running = contextlib.ExitStack()
    running.enter_context(registered(Instance("one", 1, "http://127.0.0.1:8081", *folders)))

    def end(instance: Instance, *, stop_jobs: bool) -> None:
        dispatcher.close(stop_jobs=stop_jobs)
        running.close()

    monkeypatch.setattr(Instance, "end", end)
    yield dispatcher
    running.close()
    again = fake_dispatcher(tmp_path)
    again.start()
    wait_for(lambda: again.is_leader)
    again.close(stop_jobs=True)


@pytest.fixture
def jobs(dispatcher: Dispatcher) -> tuple[str, str]:
    """One that runs, and one that waits for its slot."""
    one = {"parallelism.default": "1"}
    running = dispatcher.submit(pretend(**one, **{"pipeline.name": "orders"}))
    wait_for_state(dispatcher, running, "RUNNING")
    return running, dispatcher.submit(pretend(**one, **{"pipeline.name": "clicks"}))


def test_stop_says_which_jobs_go_on(jobs: tuple[str, str]) -> None:
    running, waiting = jobs
    assert headrace("cluster", "stop").splitlines() == [
        "http://127.0.0.1:8081 has ended",
        f"{running[:12]} orders: goes on",
        f"{waiting[:12]} clicks: waits for a dispatcher",
    ]


def test_stop_with_its_jobs_says_what_has_become_of_them(jobs: tuple[str, str]) -> None:
    running, waiting = jobs
    told = json.loads(headrace("cluster", "stop", "--stop-jobs", "--json"))
    assert told["jobs"] == [
        {"job_id": running, "name": "orders", "fate": "FINISHED"},
        {"job_id": waiting, "name": "clicks", "fate": "CANCELED"},
    ]


@pytest.mark.parametrize(("number", "told"), [(1, ", 1 job waits,"), (2, ", 2 jobs wait,")])
def test_status_counts_jobs_that_wait(
    monkeypatch: pytest.MonkeyPatch, number: int, told: str
) -> None:
    known = {"address": "http://vm:8081", "leads": True, "waiting": number, "pid": 1, "started": 1}
    monkeypatch.setattr(cluster, "instances", lambda: [None])
    monkeypatch.setattr(cluster, "_with_answer", lambda instance: known)
    assert told in headrace("cluster", "status")


@pytest.mark.parametrize("option", ["rest.port", "rest.bind-port"])
def test_a_port_that_cannot_be_is_reported_under_its_option(option: str) -> None:
    def listen(address: str, port: int) -> socket.socket:
        raise AssertionError(port)

    configuration = Configuration.from_dict({option: "99999"})
    with pytest.raises(ConfigurationError, match=f"option {option} is '99999'"):
        cluster._listening(configuration, "127.0.0.1", listen)
