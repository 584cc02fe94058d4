"""PyFlink's own DataStream examples, as its package ships them, on PyFlink and on headrace.

In: `.venv-oracle` (their sources are not in this repository).  Out: the lines they print, in an
order of their own: subtasks race.  Only the imports change: ``pyflink.`` becomes ``headrace.``.
Next: test_examples.py

    cd tests && python -m oracle.examples      # asks PyFlink and rewrites examples.json
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from oracle import session, setup_venv

HERE = Path(__file__).resolve().parent
STORED = HERE / "examples.json"
# What they need is in headrace.
COMPARED = (
    "basic_operations",
    "event_time_timer",
    "process_json_data",
    "state_access",
    "word_count",
    "windowing/session_with_dynamic_gap_window",
    "windowing/session_with_gap_window",
    "windowing/sliding_time_window",
    "windowing/tumbling_count_window",
    "windowing/tumbling_time_window",
)
# Quiet, so that what is printed is the result.
_RUN = """
import logging, runpy, sys
logging.disable(logging.CRITICAL)
script = sys.argv.pop(1)
runpy.run_path(script, run_name="__main__")
"""


def folder() -> Path:
    """Where PyFlink's package keeps its DataStream examples."""
    (found,) = setup_venv.VENV.glob("lib/python3*/site-packages/pyflink/examples/datastream")
    return found


def all_names() -> list[str]:
    """Every example, as its path without `.py`."""
    files = folder().rglob("*.py")
    return sorted(str(file.relative_to(folder()).with_suffix("")) for file in files)


def for_headrace(name: str) -> str:
    """The source with its imports changed, and nothing else."""
    source = (folder() / f"{name}.py").read_text(encoding="utf-8")
    return re.sub(r"^(\s*)(from|import) pyflink\b", r"\1\2 headrace", source, flags=re.MULTILINE)


def results(output: str) -> list[str]:
    """The printed records, without the number of the subtask, sorted."""
    lines = (re.sub(r"^\d+> ", "", line) for line in output.splitlines())
    return sorted(
        line for line in lines if line and not re.match(r"(Executing|Use|Printing) ", line)
    )


def on_pyflink(name: str) -> list[str]:
    """What PyFlink prints."""
    return _printed(setup_venv.PYTHON, folder() / f"{name}.py", session._environment())


def on_spark(name: str) -> list[str]:
    """What headrace prints, on Spark, as a program of its own."""
    with tempfile.TemporaryDirectory(prefix="example-") as scratch:
        script = Path(scratch) / "example.py"
        script.write_text(for_headrace(name), encoding="utf-8")
        return _printed(Path(sys.executable), script, dict(os.environ))


def _printed(python: Path, script: Path, environment: dict[str, str]) -> list[str]:
    with tempfile.TemporaryDirectory(prefix="example-") as cwd:
        found = subprocess.run(
            [str(python), "-c", _RUN, str(script)],
            capture_output=True,
            text=True,
            timeout=300,
            env=environment,
            cwd=cwd,
            check=False,
        )
    if found.returncode != 0:
        message = f"{script.name} failed:\n{found.stdout[-1000:]}\n{found.stderr[-3000:]}"
        raise RuntimeError(message)
    return results(found.stdout)


def stored() -> dict[str, list[str]]:
    """What PyFlink printed when examples.json was written."""
    found: dict[str, list[str]] = json.loads(STORED.read_text(encoding="utf-8"))
    return found


def main() -> None:
    """Ask PyFlink, and remember."""
    answers: dict[str, Any] = {}
    for name in COMPARED:
        answers[name] = on_pyflink(name)
        print(name, len(answers[name]), flush=True)
    STORED.write_text(json.dumps(answers, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
