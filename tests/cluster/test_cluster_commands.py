"""`headrace cluster`, `-m` and `rescale`, as a user types them; jobs run without a JVM."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from ha_cluster import COUNTING_PROGRAM, ENDLESS, check_counts
from headrace.cli.main import app
from patience import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from headrace.common.opaque import JsonValue

pytestmark = pytest.mark.cluster


class Terminal:
    """Types commands in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "sums.py").write_text(COUNTING_PROGRAM)
        (folder / "headrace.toml").write_text(
            '"headrace.execution.host" = "local"\n'
            f'"execution.checkpointing.savepoint-dir" = "{folder}/savepoints"\n'
        )

    def type(self, *words: str, code: int = 0) -> str:
        """What a command prints; its errors if it is to fail. Drivers have their own processes."""
        before = dict(os.environ)
        try:
            done = CliRunner().invoke(app, list(words))
        finally:
            os.environ.clear()
            os.environ.update(before)
        assert done.exit_code == code, done.output
        return str(done.stderr if code else done.stdout).strip()

    def json(self, *words: str) -> JsonValue:
        return json.loads(self.type(*words, "--json"))


@pytest.fixture
def terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Terminal]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HEADRACE_HOME", str(tmp_path / "home"))
    terminal = Terminal(tmp_path)
    yield terminal
    for record in terminal.json("list"):
        terminal.type("cancel", record["job_id"])


def test_a_dispatcher_is_started_used_and_stopped(terminal: Terminal, tmp_path: Path) -> None:
    assert terminal.type("cluster", "stop", code=2).startswith("[JOB] there is no such dispatcher")
    address = terminal.type("cluster", "start", "--detach", "--port", "0")
    try:
        assert address.startswith("http://127.0.0.1:")
        again = terminal.type("cluster", "start", "--detach", "--port", "0", code=2)
        assert "a dispatcher is already running" in again
        ((only),) = terminal.json("cluster", "status")
        assert only["leads"]
        assert only["address"] == address
        assert address in terminal.type("cluster", "status")
        assert address in terminal.type("cluster", "status", "-m", address)

        out = tmp_path / "out"
        job_id = terminal.type("run", "-m", address, "-d", "--name", "sums", "-p", "1", "sums.py",
                               str(out), *ENDLESS)  # fmt: skip
        assert "in use" in terminal.type("run", "-m", address, "--name", "sums", "sums.py", "x",
                                         code=2)  # fmt: skip
        wait_until(lambda: terminal.json("status", "-m", address, job_id)["batches"] > 1)
        assert "sums" in terminal.type("list", "-m", address)
        other = terminal.type("rescale", "-m", address, "sums", "-p", "2")
        assert other != job_id
        wait_until(lambda: terminal.json("status", "-m", address, other)["batches"] > 1)
        assert terminal.json("stop", "-m", address, other)["parallelism"] == 2
        check_counts(out)
        assert "there is no job" in terminal.type("status", "-m", address, "nothing", code=2)
    finally:
        assert "has ended" in terminal.type("cluster", "stop", "--stop-jobs")
    terminal.type("cluster", "status", code=1)


def test_a_busy_job_in_reactive_mode_is_rescaled_by_its_dispatcher(
    terminal: Terminal, tmp_path: Path
) -> None:
    """Nobody says by how much: the job works all the time, so that two subtasks are proposed."""
    slow = COUNTING_PROGRAM.replace("lambda n: (n % 7, 1)", "lambda n: sleep(0.02) or (n % 7, 1)")
    (tmp_path / "busy.py").write_text("from time import sleep\n" + slow)
    out = tmp_path / "out"
    reactive = {"enabled": "true", "stabilization.interval": "1 s", "vertex.max-parallelism": "2"}
    options = [f"job.autoscaler.{key}={value}" for key, value in reactive.items()]
    defined = [word for option in options for word in ("-D", option)]
    address = terminal.json("cluster", "start", "-d", "--port", "0")["address"]
    try:
        terminal.type("run", "-m", address, "--name", "busy", "-p", "1", *defined,
                      "busy.py", str(out), *ENDLESS)  # fmt: skip

        def widened() -> list[str]:
            found = terminal.json("list", "-m", address)
            return [
                job["job_id"]
                for job in found
                if (job["state"], job["parallelism"]) == ("RUNNING", 2)
            ]

        wait_until(lambda: bool(widened()), "it is not rescaled")
        [job_id] = widened()
        wait_until(lambda: terminal.json("status", "-m", address, job_id)["batches"] > 1)
        terminal.type("stop", "-m", address, job_id)
        check_counts(out)
    finally:
        terminal.type("cluster", "stop", "--stop-jobs")


def test_a_detached_job_is_rescaled_without_a_dispatcher(
    terminal: Terminal, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    job_id = terminal.type("run", "-d", "--name", "sums", "-p", "1", "-D",
                           f"execution.checkpointing.dir={tmp_path}/checkpoint", "sums.py",
                           str(out), *ENDLESS)  # fmt: skip
    wait_until(lambda: terminal.json("status", job_id)["batches"] > 1)
    other = terminal.type("rescale", "sums", "-p", "3").splitlines()[0]
    record = terminal.json("status", other)
    assert (record["parallelism"], record["checkpoint"]) == (3, f"{tmp_path}/checkpoint")
    wait_until(lambda: terminal.json("status", other)["batches"] > 1)
    terminal.type("stop", other)
    check_counts(out)
    assert "was not started by" in _refused(terminal)


def _refused(terminal: Terminal) -> str:
    """What is said of a job whose start is not known."""
    program = subprocess.Popen(
        [sys.executable, "-m", "headrace.cli", "run", "--name", "here", "sums.py", "o", *ENDLESS],
        cwd=terminal.folder, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        env={**os.environ, "HEADRACE_HOME": str(terminal.folder / "home")},
    )  # fmt: skip
    try:
        wait_until(lambda: [r for r in terminal.json("list") if r["state"] == "RUNNING"])
        return terminal.type("rescale", "here", "-p", "2", code=2)
    finally:
        program.terminate()
        program.wait()
