"""Workers of Spark whose connection is closed, in a process of their own as they handle signals."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

_WORKER = """
import os, socket, sys
sys.path.insert(0, sys.argv.pop(1))
from pyspark import daemon
from headrace.hosts.spark import daemon as ours
daemon.manager = lambda: None
ours.serve()
near, far = socket.socketpair()
far.close()
print("exit code", daemon.worker(near, True))
"""


def _worked(folder: Path, main: str) -> subprocess.CompletedProcess[str]:
    """What a worker says that runs a module; the module's name is one of pyspark's to Spark."""
    (folder / "pyspark_module.py").write_text(f"def main(infile, outfile):\n    {main}\n")
    return subprocess.run(
        [sys.executable, "-c", _WORKER, str(folder), "pyspark_module"],
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize(
    "main",
    [
        "outfile.write(b'a result')",
        "outfile.write(b'a result'); outfile.flush()",
        "outfile.write(b'a failure'); raise SystemExit(-1)",
        "raise EOFError",
    ],
)
def test_a_worker_that_is_cut_off_ends_and_says_nothing(tmp_path: Path, main: str) -> None:
    worked = _worked(tmp_path, main)
    assert worked.stdout == "exit code 1\n"
    assert worked.stderr == ""


def test_a_worker_that_fails_otherwise_says_so(tmp_path: Path) -> None:
    worked = _worked(tmp_path, "raise ValueError('of pyspark')")
    assert "ValueError: of pyspark" in worked.stderr
