"""One Spark session for the whole run: starting a JVM costs more than most of the tests.

Next: every test makes an environment with `make_env`; programs that need a process of their own
(Ctrl-C, tracebacks, classes of the main script) go through `run_script`.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from headrace.common import Configuration
from headrace.datastream import StreamExecutionEnvironment
from headrace.hosts.spark.fast_start import home_without_zip
from patience import PATIENCE_S, wait_until
from spark_session import local_session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A local session with two cores; environments made in the same process share it."""
    scratch = tmp_path_factory.mktemp("spark")
    with home_without_zip():  # as headrace's own session: every Python process starts faster
        session = local_session(scratch, 2)
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture
def make_env(spark: SparkSession) -> Callable[..., StreamExecutionEnvironment]:
    """Makes environments: ``make_env({"source.max-records-per-batch": 5}, parallelism=1)``."""

    def make(
        settings: dict[str, Any] | None = None, *, parallelism: int = 2
    ) -> StreamExecutionEnvironment:
        configuration = Configuration()
        for key, value in (settings or {}).items():
            configuration.set_string(key, str(value))
        env = StreamExecutionEnvironment.get_execution_environment(configuration)
        return env.set_parallelism(parallelism)

    return make


@pytest.fixture
def env(make_env: Callable[..., StreamExecutionEnvironment]) -> StreamExecutionEnvironment:
    """An environment with two subtasks and batches of five records."""
    return make_env({"source.max-records-per-batch": 5})


@pytest.fixture
def scratch_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where this test's jobs put their temporary directories; a job must leave it empty."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture
def running_queries(spark: SparkSession) -> Callable[[], int]:
    """Counts the streaming queries of all sessions: every job has a session of its own."""
    return lambda: int(spark._jsparkSession.sharedState().activeStreamingQueries().size())


@pytest.fixture
def wait_for() -> Callable[[Callable[[], Any]], None]:
    """Waits for something to become true."""
    return wait_until


@dataclass
class Script:
    """A program in a process of its own."""

    file: Path
    process: subprocess.Popen[str]
    scratch: Path

    def end(self, timeout_s: float = PATIENCE_S) -> tuple[int, str, str]:
        """Wait for its end: exit code, standard output, standard error."""
        out, err = self.process.communicate(timeout=timeout_s)
        return self.process.returncode, out, err

    def interrupt(self) -> None:
        """Ctrl-C: the terminal sends it to every process of the group."""
        os.killpg(self.process.pid, signal.SIGINT)

    def leftovers(self) -> list[str]:
        """Temporary directories of headrace that are still there."""
        return sorted(path.name for path in self.scratch.glob("headrace-*"))

    def living_children(self) -> list[str]:
        """Processes of its session that are still alive, as command lines."""
        return _processes_of_session(self.process.pid)


@pytest.fixture
def run_script(tmp_path: Path) -> Iterator[Callable[..., Script]]:
    """Starts a script, with temporary files of its own; ends it with the test."""
    started: list[Script] = []

    def run(source: str, *arguments: str, name: str = "pipeline.py") -> Script:
        scratch = tmp_path / "tmp"
        scratch.mkdir(exist_ok=True)
        file = tmp_path / name
        file.write_text(textwrap.dedent(source), encoding="utf-8")
        process = subprocess.Popen(
            [sys.executable, str(file), *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=tmp_path,
            env={**os.environ, "TMPDIR": str(scratch)},
            start_new_session=True,
        )
        started.append(Script(file, process, scratch))
        return started[-1]

    yield run
    for script in started:
        if script.process.poll() is None or script.living_children():
            os.killpg(script.process.pid, signal.SIGKILL)
            script.process.wait()


def _processes_of_session(session: int) -> list[str]:
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            state, session_id = fields[0], int(fields[3])
            if session_id == session and state not in "ZX":
                found.append((folder / "cmdline").read_text().replace("\0", " ")[:200])
        except (OSError, ValueError, IndexError):
            continue
    return found
