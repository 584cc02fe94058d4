"""A standalone Spark cluster on loopback, and the processes that belong to it.

In: a folder, how many workers.  Out: a master URL; workers that can be killed and started again.
Every process starts in a session of its own, so that all it starts is found and ended with it.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyspark

from patience import PATIENCE_S
from ports import free_port

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SPARK_HOME = Path(pyspark.__file__).parent
_ADDRESS = ["--host", "127.0.0.1"]


class Cluster:
    """A master and workers, of one core each if nothing is said; use it in a `with` statement."""

    def __init__(self, folder: Path, workers: int = 2, *, cores: int = 1) -> None:
        self._cores = cores
        self.folder = folder
        self.ui, self._port = free_port(), free_port()
        self.url = f"spark://127.0.0.1:{self._port}"
        self.workers: dict[str, subprocess.Popen[bytes]] = {}
        self._master: subprocess.Popen[bytes] | None = None
        self._names = [f"worker{number}" for number in range(1, workers + 1)]

    def __enter__(self) -> Cluster:
        try:
            self._start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _start(self) -> None:
        ports = ["--port", str(self._port), "--webui-port", str(self.ui)]
        self._master = self._run(
            "master", "org.apache.spark.deploy.master.Master", [*_ADDRESS, *ports]
        )
        self._wait_until(lambda: self.status() is not None)
        for name in self._names:
            self.start_worker(name)
        self._wait_until(lambda: self.alive_workers() == len(self._names))

    def start_worker(self, name: str) -> None:
        """Start a worker, or start it again."""
        options = [*_ADDRESS, "--cores", str(self._cores), "--memory", "1g", "--webui-port", "0"]
        options += ["--work-dir", str(self.folder / name), self.url]
        self.workers[name] = self._run(name, "org.apache.spark.deploy.worker.Worker", options)

    def close(self) -> None:
        """End everything."""
        for process in [*self.workers.values(), self._master]:
            if process is not None:
                end(process)

    def status(self) -> dict[str, Any] | None:
        """What the master's page says as JSON; None while it does not answer."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.ui}/json/", timeout=5) as answer:
                content: dict[str, Any] = json.load(answer)
                return content
        except (OSError, ValueError):
            return None

    def alive_workers(self) -> int:
        """How many workers the master counts on."""
        known = self.status() or {"workers": []}
        return sum(worker["state"] == "ALIVE" for worker in known["workers"])

    def _run(self, name: str, main: str, options: list[str]) -> subprocess.Popen[bytes]:
        env = {
            **os.environ,
            "SPARK_HOME": str(SPARK_HOME),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_LOCAL_DIRS": str(self.folder / "local"),
            "SPARK_DAEMON_MEMORY": "256m",
            "PYSPARK_PYTHON": sys.executable,
        }
        with (self.folder / f"{name}.log").open("ab") as log:
            return subprocess.Popen(
                [str(SPARK_HOME / "bin" / "spark-class"), main, *options],
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self.folder,
                env=env,
                start_new_session=True,
            )

    def _wait_until(self, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not condition():
            logs = {log.name: log.read_text()[-2000:] for log in self.folder.glob("*.log")}
            assert time.monotonic() < deadline, f"the cluster did not start: {logs}"
            running = [self._master, *self.workers.values()]
            assert all(p is None or p.poll() is None for p in running), f"a process died: {logs}"
            time.sleep(0.1)


# --- processes -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Process:
    """A process as /proc shows it."""

    pid: int
    parent: int
    state: str  # R while it runs
    command: str


def processes_of(session: int) -> list[Process]:
    """The living processes of a session: what a process with a session of its own has started."""
    return [process for process, found in _all_processes() if found == session]


def _all_processes() -> Iterator[tuple[Process, int]]:
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, ValueError, IndexError):  # it has ended meanwhile
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            if fields[0] not in "ZX":
                command = (folder / "cmdline").read_text().replace("\0", " ")
                process = Process(int(folder.name), int(fields[1]), fields[0], command)
                yield process, int(fields[3])


def kill(pid: int) -> None:
    """SIGKILL; a process that has ended already is fine."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def kill_session(process: subprocess.Popen[Any]) -> None:
    """SIGKILL for a process and all it has started."""
    for found in processes_of(process.pid):
        kill(found.pid)
    process.wait(20)


def end(process: subprocess.Popen[Any]) -> None:
    """Ask a process to end, then end what is left of it and of all it has started."""
    if process.poll() is None:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(20)
    kill_session(process)
