"""Asks Java Flink's CepOperator, without a cluster: java/Patterns.java plays all cases in one job.

In: cases.py's cases.  Out: for each its ``log``, or why it was ``refused`` or ``failed``.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from oracle import session, setup_venv

if TYPE_CHECKING:
    from oracle.cep.cases import Case, Json

SOURCE = Path(__file__).resolve().parent.parent / "java" / "Patterns.java"
MAIN = "headrace.oracle.Patterns"


def missing_reason() -> str | None:
    """Why Flink cannot be asked here, or None when it can."""
    if shutil.which("javac") is None:
        return f"{SOURCE.name} must be compiled: install a JDK (no javac on PATH)"
    return session.missing_reason()


def ask(cases: list[Case]) -> list[Json]:
    """Flink's answers, in the order of the cases.

    Raises:
        OracleError: the process failed; carries the end of its log.
    """
    with tempfile.TemporaryDirectory(prefix="oracle-cep-") as scratch:
        asked, answers = Path(scratch) / "cases.jsonl", Path(scratch) / "answers.jsonl"
        asked.write_text("".join(json.dumps(case) + "\n" for case in cases))
        path = os.pathsep.join([str(_classes()), *map(str, _libraries())])
        command = ["java", "-Xmx1g", "-cp", path, MAIN, str(asked), str(answers)]
        done = subprocess.run(
            command, cwd=scratch, capture_output=True, text=True, timeout=60 + len(cases) / 10
        )
        if done.returncode:
            raise session.OracleError(f"Flink ended with an error:\n{done.stderr[-4000:]}")
        return [json.loads(line) for line in answers.read_text().splitlines()]


def _libraries() -> list[Path]:
    (library,) = setup_venv.VENV.glob("lib/python*/site-packages/pyflink/lib")
    return sorted(library.glob("*.jar"))


def _classes() -> Path:
    """The compiled classes, made once for each version of the source, next to PyFlink."""
    text = SOURCE.read_bytes()
    classes = setup_venv.VENV / f"oracle-{SOURCE.stem}-{hashlib.sha256(text).hexdigest()[:12]}"
    if classes.exists():
        return classes
    with tempfile.TemporaryDirectory(prefix="oracle-java-", dir=setup_venv.VENV) as scratch:
        path = os.pathsep.join(map(str, _libraries()))
        made = Path(scratch) / "classes"
        command = ["javac", "--release", "11", "-cp", path, "-d", str(made), str(SOURCE)]
        subprocess.run(command, check=True, capture_output=True, text=True)
        if not classes.exists():  # another process may have been doing the same
            made.replace(classes)
    return classes
