"""The job as the experiment sees it: a driver process and its disk.

In: a folder, a master URL, settings of its medium (chaos/media.py).  Out: a driver that is started,
killed, stopped with a savepoint and started again.  Next: chaos/program.py runs in the driver
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from chaos.failing_sink import Orders
from standalone import kill, kill_session, processes_of

TESTS = Path(__file__).resolve().parents[1]
DISK_MB = 192
SETTINGS = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.executor.memory": "512m",
    "spark.executor.cores": "1",
    "spark.cores.max": "2",
    "execution.checkpointing.num-retained": "10",
    "source.max-files-per-batch": "200",
    "spark.ui.showConsoleProgress": "false",
    "restart-strategy.type": "exponential-delay",
    "restart-strategy.exponential-delay.initial-backoff": "200 ms",
    "restart-strategy.exponential-delay.max-backoff": "2 s",
    "restart-strategy.exponential-delay.reset-backoff-threshold": "10 s",
}

# Continuous mode: all tasks run at the same time, so there must be slots for them.
SLOTS = 16
CONTINUOUS = {
    "headrace.execution.mode": "continuous",
    "execution.checkpointing.interval": "700 ms",
    "execution.buffer-timeout.interval": "5 ms",
    "spark.executor.cores": str(SLOTS),
    "spark.cores.max": str(2 * SLOTS),
}
MODES: dict[str, dict[str, str]] = {"micro-batch": {}, "continuous": CONTINUOUS}


class Disk:
    """A small disk for checkpoints: a tmpfs if we may mount one, else a folder like any other."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.folder = folder
        self.why_not = self._mount()
        self._ballast = folder / "ballast"

    def _mount(self) -> str:
        """Why the disk has no size of its own; empty if it has."""
        options = ["-t", "tmpfs", "-o", f"size={DISK_MB}m", "tmpfs", str(self.folder)]
        try:
            done = subprocess.run(["mount", *options], capture_output=True, text=True, check=False)
        except OSError as error:
            return f"no small disk: {error}"
        return "" if done.returncode == 0 else f"no small disk: {done.stderr.strip()}"

    def fill(self) -> None:
        """Leave no byte free; again and again, since the job deletes old files."""
        with contextlib.suppress(OSError), self._ballast.open("ab", buffering=0) as ballast:
            while True:
                ballast.write(bytes(1 << 16))

    def free(self) -> None:
        self._ballast.unlink(missing_ok=True)

    def close(self) -> None:
        if not self.why_not:
            subprocess.run(["umount", "--lazy", str(self.folder)], check=False)


class Driver:
    """The driver of the job, over many processes and several checkpoints."""

    def __init__(
        self,
        folder: Path,
        master: str,
        parallelism: int,
        medium: dict[str, Any],
        mode: str = "micro-batch",
        program: str = "program.py",
    ) -> None:
        self.folder = folder
        self._program = program
        self._mode = mode
        self._medium = medium
        self.parallelism = parallelism
        self.restores = 0
        self.may_restart = True  # else the first failure of a job ends its driver
        self.process: subprocess.Popen[bytes] | None = None
        self.disk = Disk(folder / "disk")
        self.log = folder / "driver.log"
        self.control, self.savepoints = folder / "control", folder / "savepoints"
        (folder / "orders").mkdir()
        self.control.mkdir()
        self.orders = Orders(folder / "orders")
        self._master = master
        self._savepoint: str | None = None

    # --- life --------------------------------------------------------------------------------

    def start(self) -> None:
        """Start it, or start it again: the checkpoint is all that it knows."""
        for leftover in self.control.glob("*.json"):
            leftover.unlink()
        file = self.folder / "settings.json"
        file.write_text(json.dumps(self._settings()))
        path = os.pathsep.join([str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])])
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, str(TESTS / "chaos" / self._program), str(file)],
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self.folder,
                env={
                    **os.environ,
                    "PYTHONPATH": path,
                    "PYSPARK_PYTHON": sys.executable,
                    "SPARK_LOCAL_IP": "127.0.0.1",
                    "SPARK_LOCAL_DIRS": str(self.folder / "local"),
                    "HEADRACE_HOME": str(self.folder / "home"),
                },
                start_new_session=True,
            )

    @property
    def alive(self) -> bool:
        return self.process is not None and self.process.poll() is None

    @property
    def checkpoint(self) -> Path:
        return self.disk.folder / f"job-{self.restores}"

    def kill(self, *, with_spark: bool) -> None:
        """SIGKILL for it: of Python alone (Spark's JVM notices it a moment later) or of both."""
        assert self.process is not None
        if with_spark:
            kill_session(self.process)
        else:
            kill(self.process.pid)
            self.process.wait(20)

    def processes(self) -> list[Any]:
        return [] if self.process is None else processes_of(self.process.pid)

    def close(self) -> None:
        if self.process is not None:
            kill_session(self.process)
        self.disk.close()

    # --- savepoints --------------------------------------------------------------------------

    def stop(self, *, drain: bool, patience_s: float) -> bool:
        """Stop with a savepoint; False if the job ended without one."""
        draft = self.control / ".stop"
        draft.write_text(json.dumps({"drain": drain, "folder": str(self.savepoints)}))
        draft.rename(self.control / "stop.json")
        assert self.process is not None
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(patience_s)
        kill_session(self.process)
        done = self.control / "stopped.json"
        if not done.exists():
            return False
        self._savepoint = json.loads(done.read_text())["savepoint"]
        return True

    def rescale(self, parallelism: int) -> None:
        """From the last savepoint into a new checkpoint, at the next start."""
        self.restores += 1
        self.parallelism = parallelism

    def _settings(self) -> dict[str, Any]:
        options = {
            **SETTINGS,
            **MODES[self._mode],
            "spark.master": self._master,
            "execution.checkpointing.dir": str(self.checkpoint),
        }
        if not self.may_restart:
            options["restart-strategy.type"] = "none"
        if self._savepoint is not None:
            options["execution.state-recovery.path"] = self._savepoint
        return {
            "options": options,
            "parallelism": self.parallelism,
            "medium": self._medium,
            "orders": str(self.orders.folder),
            "control": str(self.control),
        }


def log_tail(file: Path, lines: int = 40) -> str:
    """The end of a log, for people."""
    if not file.exists():
        return ""
    return "\n".join(file.read_text(errors="replace").splitlines()[-lines:])


def now() -> float:
    """Seconds on a clock that is never set back."""
    return time.monotonic()
