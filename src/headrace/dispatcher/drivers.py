"""Starts and ends the processes that run jobs.

    <job's folder>/driver.json        what to run, with all settings; readable for the owner only
    <job's folder>/exit-<token>.json  the exit code, written by the driver itself as its last act

In: a job's folder.  Out: a Process; whether it lives; its exit code.  A driver is a session of its
own, so it outlives its dispatcher.  Its command line names a folder and nothing else: settings and
arguments may be secret.  Next: cli/driver.py is what runs there
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.common.configuration import FILE_VARIABLE, read_environment
from headrace.control.agent import LAUNCH_VARIABLE, LOG_VARIABLE
from headrace.dispatcher.job_store import LOG_FILE, PROGRAM_FOLDER
from headrace.io.private_files import write_private
from headrace.io.processes import Process, process_of, start_detached

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Sequence

    from headrace.common.opaque import JsonObject
    from headrace.control.orders import Orders

DRIVER_FILE = "driver.json"
_LOCKED = "CHECKPOINT_LOCKED"
# which job a process belongs to, whoever started it
_FOLDER_VARIABLE = "_HEADRACE_JOB_FOLDER"
_COMMAND = (sys.executable, "-m", "headrace.cli", "driver")


class Drivers:
    """The driver processes of this machine.

    Args:
        command: what a driver is; the job's folder is added.
    """

    def __init__(self, command: Sequence[str] = _COMMAND) -> None:
        self._command = tuple(command)
        self._children: dict[int, subprocess.Popen[bytes]] = {}

    def start(self, folder: Path, content: JsonObject, orders: Orders) -> Process:
        """Start a driver; whatever else runs for the job on this machine ends first.

        A leader that was replaced may have started a driver in its last moment.  That one cannot
        commit, but it may hold the lock of the checkpoint directory.

        Args:
            folder: of the job.
            content: program, arguments and settings.
            orders: for its job.
        """
        _kill(_processes_with(_FOLDER_VARIABLE, str(folder)))
        write_private(folder / DRIVER_FILE, content)
        program = folder / PROGRAM_FOLDER
        program.mkdir(exist_ok=True)
        log = folder / LOG_FILE
        child = start_detached(
            [*self._command, str(folder)],
            log,
            folder=program,
            variables={
                **_environment(program),
                **orders.to_variable(),
                LAUNCH_VARIABLE: orders.token,
                _FOLDER_VARIABLE: str(folder),
                LOG_VARIABLE: str(log),
            },
        )
        self._children[child.pid] = child
        return process_of(child.pid)

    def find(self, token: str) -> Process | None:
        """The driver of this machine that was started with a token, if it runs."""
        found = _processes_with(LAUNCH_VARIABLE, token) if token else ()
        pids = [pid for pid in found if os.getsid(pid) == pid]
        return process_of(pids[0]) if pids else None

    def is_alive(self, process: Process) -> bool | None:
        """Whether it runs; None if it is on another machine."""
        child = self._children.get(process.pid) if process.is_local else None
        if child is not None and child.poll() is not None:  # asked, so that it is no zombie
            del self._children[process.pid]
        return process.is_alive()

    def exit_code(self, folder: Path, token: str) -> int | None:
        """The code with which a driver said that it ends; None if it was killed.

        Also None if another driver had the checkpoint directory: the next one may find it free.
        """
        with contextlib.suppress(OSError, ValueError, KeyError):
            content = json.loads((folder / exit_file(token)).read_text())
            return None if content.get("condition") == _LOCKED else int(content["code"])
        return None

    def kill(self, token: str, driver: Process | None = None) -> None:
        """End a driver of this machine at once, with Spark's processes below it."""
        if driver is not None and driver.is_alive():  # where there is no /proc, this is all
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(driver.pid, signal.SIGKILL)
        if token:
            _kill(_processes_with(LAUNCH_VARIABLE, token))

    def log_tail(self, folder: Path, lines: int = 40) -> str:
        """The last lines of a job's log."""
        try:
            with (folder / LOG_FILE).open("rb") as stream:
                stream.seek(max(0, stream.seek(0, os.SEEK_END) - 16_384))
                text = stream.read().decode(errors="replace")
        except OSError:
            return ""
        return "\n".join(text.splitlines()[-lines:])


def exit_file(token: str) -> str:
    """The name of the file with a driver's exit code."""
    return f"exit-{token}.json"


def _environment(program: Path) -> dict[str, str]:
    """That of this process without its options: a job gets its own, and no secrets of REST."""
    options = {variable for _, variable in read_environment(os.environ).values()}
    kept = {k: v for k, v in os.environ.items() if k not in options and k != FILE_VARIABLE}
    # workers import the modules of the program by this, too
    kept["PYTHONPATH"] = os.pathsep.join(filter(None, (str(program), kept.get("PYTHONPATH"))))
    return kept | {"PYTHONUNBUFFERED": "1"}


def _processes_with(variable: str, value: str) -> list[int]:
    """This user's processes that were started with a variable: it is inherited."""
    wanted = f"{variable}={value}".encode()
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if wanted in (folder / "environ").read_bytes().split(b"\0"):
                found.append(int(folder.name))
    return found


def _kill(pids: list[int]) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
