"""Starts the real PyFlink in a process of its own and hands it cases.

In: cases.  Out: outcomes by case id.  Next: run_pyflink.py is what runs there.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from oracle import setup_venv

if TYPE_CHECKING:
    from oracle.catalogue import Case
    from oracle.compare import Outcome

HERE = Path(__file__).resolve().parent


class OracleError(RuntimeError):
    """PyFlink itself could not be run; carries the end of its log."""


def missing_reason() -> str | None:
    """Why the real PyFlink cannot run here, or None when it can."""
    if not setup_venv.is_ready():
        return ".venv-oracle is missing or out of date; run: python tests/oracle/setup_venv.py"
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        return "PyFlink needs Java 11 or 17: no java on PATH and no JAVA_HOME"
    return None


class PyFlinkSession:
    """Runs batches of cases, each batch in a fresh process (one JVM and mini cluster)."""

    def __init__(self) -> None:
        self.version = ""

    def run(self, cases: list[Case]) -> dict[str, Outcome]:
        """Outcomes by case id.

        Raises:
            OracleError: the process failed or took too long; a failing program is an outcome, not
            an error.
        """
        reason = missing_reason()
        if reason is not None:
            raise OracleError(reason)
        with tempfile.TemporaryDirectory(prefix="oracle-") as scratch:
            return self._run(cases, Path(scratch))

    def _run(self, cases: list[Case], scratch: Path) -> dict[str, Outcome]:
        cases_file, results_file = scratch / "cases", scratch / "results"
        lines = [
            json.dumps(
                {
                    "program": case.program,
                    "label": case.label,
                    "data": repr(case.data),
                    "parallelism": case.parallelism,
                }
            )
            for case in cases
        ]
        cases_file.write_text("\n".join(lines), encoding="utf-8")
        run_script(
            HERE / "run_pyflink.py", [cases_file, results_file], scratch, 120 + 10 * len(cases)
        )
        head, *rest = (json.loads(line) for line in results_file.open(encoding="utf-8"))
        self.version = head["pyflink"]
        return {entry["id"]: entry["outcome"] for entry in rest}


def run_script(script: Path, arguments: list[Path], scratch: Path, timeout_s: float) -> None:
    """Run a script with PyFlink's Python, in a process group that ends with it.

    Raises:
        OracleError: it failed or took too long; carries the end of its log.
    """
    log = scratch / "log"
    command = [str(setup_venv.PYTHON), str(script), *map(str, arguments)]
    with log.open("wb") as output:
        # A session of its own, so that a timeout ends the JVM as well.
        process = subprocess.Popen(
            command,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=_environment(),
            cwd=scratch,
            start_new_session=True,
        )
        try:
            code = process.wait(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            _end_group(process)
    tail = log.read_text(encoding="utf-8", errors="replace")[-4000:]
    if os.environ.get("HEADRACE_ORACLE_LOG"):
        shutil.copy(log, os.environ["HEADRACE_ORACLE_LOG"])
    if code != 0:
        how = "took too long" if code is None else f"ended with exit code {code}"
        raise OracleError(f"the PyFlink process {how}; end of its log:\n{tail}")


def _environment() -> dict[str, str]:
    left_out = (
        "FLINK_HOME",
        "FLINK_CONF_DIR",
        "PYTHONPATH",
        "PYTHONHOME",
        "VIRTUAL_ENV",
        "SPARK_HOME",
    )
    env = {name: value for name, value in os.environ.items() if name not in left_out}
    # PyFlink's scripts call plain `python`.
    env["PATH"] = f"{setup_venv.PYTHON.parent}{os.pathsep}{env.get('PATH', '')}"
    return env


def _end_group(process: subprocess.Popen[bytes]) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    process.wait()
