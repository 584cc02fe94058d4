"""Runs cases on headrace, in the test process.

In: Case.  Out: an outcome as run_pyflink.py gives it.  Next: compare.py
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oracle.engine import Api, build, shown

if TYPE_CHECKING:
    from oracle.catalogue import Case, Program
    from oracle.compare import Outcome


def run(program: Program, case: Case) -> Outcome:
    """The outcome of a case; when the program is declared to work, its error is raised."""
    with tempfile.TemporaryDirectory(prefix="oracle-headrace-") as scratch:
        try:
            return {"results": _results(program, case, Path(scratch))}
        except Exception as error:
            if not program.fails:
                raise
            return {"failure": f"{type(error).__name__}: {error}"[:300]}


def _results(program: Program, case: Case, scratch: Path) -> dict[str, Any]:
    results: dict[str, Any] = {}
    pending: list[str] | None = None
    while pending is None or pending:
        # execute_and_collect runs the whole environment, so every output gets a program of its own.
        env = Api("headrace").StreamExecutionEnvironment.get_execution_environment()
        streams = build(program, case, Api("headrace"), env, scratch / str(len(results)))
        if pending is None:
            pending = list(streams)
        name = pending.pop(0)
        with streams[name].execute_and_collect() as records:
            results[name] = shown(program, list(records))
    return results
