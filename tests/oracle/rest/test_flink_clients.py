"""Flink's own command line against our server: what reads Flink's REST reads ours."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from headrace.rest.access import Role, TokenFile
from headrace.rest.settings import RestSettings
from oracle.rest.flink_cluster import run_flink
from oracle.session import missing_reason
from rest_fakes import CHECKPOINT, ENDED, JOB, FakeDispatcher, FakeViews, not_now
from rest_serving import Serving, serving
from skips import give_up

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def flink() -> None:
    reason = missing_reason()
    if reason is not None:
        give_up(reason)


@pytest.fixture
def rest(flink: None, tmp_path: Path) -> Iterator[Serving]:
    dispatcher = FakeDispatcher(FakeViews(), tmp_path / "cluster")
    with serving(dispatcher, RestSettings(port=0)) as found:
        yield found


def test_list_savepoint_checkpoint_and_stop(rest: Serving, tmp_path: Path) -> None:
    listed = run_flink(tmp_path, rest.server.port, "list", "-a")
    assert listed.returncode == 0, listed.stdout + listed.stderr
    assert f"{JOB} : orders (RUNNING)" in listed.stdout
    assert f"{ENDED} : broken (FAILED)" in listed.stdout

    saved = run_flink(tmp_path, rest.server.port, "savepoint", JOB, "/sp")
    assert saved.returncode == 0, saved.stdout + saved.stderr
    assert "/sp/savepoint-012345-0" in saved.stdout

    made = run_flink(tmp_path, rest.server.port, "checkpoint", JOB)
    assert made.returncode == 0, made.stdout + made.stderr
    assert f"Checkpoint {CHECKPOINT.id} for job {JOB} completed." in made.stdout

    stopped = run_flink(
        tmp_path, rest.server.port, "stop", "--savepointPath", "/sp", "--drain", JOB
    )
    assert stopped.returncode == 0, stopped.stdout + stopped.stderr
    assert "/sp/savepoint-012345-1" in stopped.stdout
    asked = [name for name, _ in rest.dispatcher.asked]
    assert asked == ["savepoint", "checkpoint", "stop"]
    assert rest.dispatcher.asked[2] == ("stop", {"drain": True, "folder": "/sp"})


def test_cancel_and_what_is_refused(rest: Serving, tmp_path: Path) -> None:
    rest.dispatcher.fails = not_now()
    refused = run_flink(tmp_path, rest.server.port, "savepoint", JOB, "/sp")
    assert refused.returncode != 0
    # the text comes out of a Java object that we have written
    assert "RESTARTING" in refused.stdout + refused.stderr

    for command in ("cancel", "checkpoint"):
        unknown = run_flink(tmp_path, rest.server.port, command, "0" * 32)
        assert unknown.returncode != 0
        assert "there is no job" in unknown.stdout + unknown.stderr

    canceled = run_flink(tmp_path, rest.server.port, "cancel", JOB)
    assert canceled.returncode == 0, canceled.stdout + canceled.stderr
    assert ("cancel", {"job": JOB}) in rest.dispatcher.asked


@pytest.mark.slow  # four more JVMs
def test_a_savepoint_is_disposed_of_and_a_full_checkpoint_refused(
    rest: Serving, tmp_path: Path
) -> None:
    left = run_flink(tmp_path, rest.server.port, "savepoint", "-d", str(tmp_path))
    assert left.returncode != 0  # it is none
    assert "there is no savepoint here" in left.stdout + left.stderr
    full = run_flink(tmp_path, rest.server.port, "checkpoint", "-full", JOB)
    assert full.returncode != 0
    assert "and not FULL when asked to" in full.stdout + full.stderr
    running = run_flink(tmp_path, rest.server.port, "list", "-r")
    assert running.returncode == 0, running.stdout + running.stderr
    assert f"{JOB} : orders (RUNNING)" in running.stdout
    assert ENDED not in running.stdout
    detached = run_flink(tmp_path, rest.server.port, "savepoint", "-detached", JOB, "/sp")
    assert detached.returncode == 0, detached.stdout + detached.stderr
    assert rest.dispatcher.asked[-1] == ("savepoint", {"folder": "/sp", "cancel": False})


@pytest.mark.slow  # two more JVMs
def test_a_token_in_flinks_variable_of_headers(flink: None, tmp_path: Path) -> None:
    tokens = TokenFile(tmp_path / "tokens.json")
    token = tokens.create("flink", Role.READ)
    dispatcher = FakeDispatcher(FakeViews(), tmp_path / "cluster")
    with serving(dispatcher, RestSettings(port=0, tokens=tokens.path)) as rest:
        headers = {"FLINK_REST_CLIENT_HEADERS": f"Authorization:Bearer {token}"}
        listed = run_flink(tmp_path, rest.server.port, "list", **headers)
        assert f"{JOB} : orders (RUNNING)" in listed.stdout, listed.stdout + listed.stderr
        assert run_flink(tmp_path, rest.server.port, "list").returncode != 0
