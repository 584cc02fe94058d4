"""Runs cases on the real PyFlink; executed by .venv-oracle's python, started by session.py.

In: JSON lines {program, label, data, parallelism} in the file argv[1].  Out: JSON lines {id,
outcome} appended to the
file argv[2] as jobs end, after a first line with the version.  Next: compare.py

PyFlink needs about 6 s to start and 3 s for a job, whatever its size. So several cases are built
into one job, each with its own collecting sinks; when such a job fails, its cases run again one by
one, and only the culprit fails.
"""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from oracle.catalogue import Case, Program, load
from oracle.engine import Api, build, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

CASES_PER_JOB = 8
# For experiments: runs every program in this mode, whatever it declares.
MODE = os.environ.get("HEADRACE_ORACLE_MODE")


class PyFlinkRunner:
    """Runs cases in one JVM."""

    def __init__(self, programs: dict[str, Program], scratch: Path) -> None:
        self.programs = programs
        self.scratch = scratch
        self.api = Api("pyflink")

    def run(self, cases: list[Case]) -> Iterator[tuple[str, dict[str, Any]]]:
        """Case ids and outcomes, job by job."""
        for batch in self._batches(cases):
            started = time.monotonic()
            yield from self._run_or_split(batch).items()
            names = ", ".join(case.id for case in batch)
            print(f"{time.monotonic() - started:5.1f} s  {names}", flush=True)

    def _batches(self, cases: list[Case]) -> list[list[Case]]:
        groups: dict[str, list[Case]] = {}
        for case in cases:
            program = self.programs[case.program]
            shared = f"{program.mode}, {program.batch}, ticks: {program.per_record_watermarks}"
            group = case.id if program.alone else shared
            groups.setdefault(group, []).append(case)
        return [
            group[start : start + CASES_PER_JOB]
            for group in groups.values()
            for start in range(0, len(group), CASES_PER_JOB)
        ]

    def _run_or_split(self, batch: list[Case]) -> dict[str, dict[str, Any]]:
        try:
            return self._run_job(batch)
        except Exception as error:
            if len(batch) > 1:
                print(f"a job of {len(batch)} cases failed, they run one by one: {_cause(error)}")
                outcome: dict[str, dict[str, Any]] = {}
                for case in batch:
                    outcome.update(self._run_or_split([case]))
                return outcome
            return {batch[0].id: {"failure": _cause(error)}}

    def _run_job(self, batch: list[Case]) -> dict[str, dict[str, Any]]:
        from pyflink.datastream.data_stream import CloseableIterator

        env = self._environment(self.programs[batch[0].program].mode)
        iterators: dict[str, dict[str, Any]] = {}
        for case in batch:
            directory = self.scratch / case.id
            shutil.rmtree(directory, ignore_errors=True)
            streams = build(self.programs[case.program], case, self.api, env, directory)
            # execute_and_collect would be one job per stream; collectAsync is what it does inside.
            iterators[case.id] = {
                name: CloseableIterator(stream._j_data_stream.collectAsync(), stream.get_type())
                for name, stream in streams.items()
            }
        client = env.execute_async("oracle")
        results = {}
        for case in batch:
            program = self.programs[case.program]
            outputs = iterators[case.id]
            results[case.id] = {
                "results": {name: shown(program, list(outputs[name])) for name in outputs}
            }
        client.get_job_execution_result().result()
        return results

    def _environment(self, mode: str) -> Any:
        configuration = self.api.Configuration()
        configuration.set_string("python.execution-mode", MODE or mode)
        # Watermarks wait until a bundle of records is done (P5): one record per bundle makes them
        # act at once.
        configuration.set_integer("python.fn-execution.bundle.size", 1)
        configuration.set_string("python.executable", sys.executable)
        configuration.set_string("python.client.executable", sys.executable)
        configuration.set_string("restart-strategy.type", "none")
        return self.api.StreamExecutionEnvironment.get_execution_environment(configuration)


def _cause(error: Exception) -> str:
    """The line that names the cause, for reading; it is not compared."""
    lines = [line.strip() for line in str(error).splitlines()] or [repr(error)]
    # The innermost Java cause often carries a Python traceback, whose last line says most.
    java = [line for line in lines if line.startswith("Caused by: ")]
    python = [line for line in lines if re.match(r"[A-Za-z_.]*(Error|Exception)\b", line)]
    told = python[-1:] or java[-1:] or [f"{type(error).__name__}: {lines[0]}"]
    # Names of Java objects and temporary paths change from run to run.
    return re.sub(r"\bo\d+\.|/tmp/\S+/", "", told[0].removeprefix("Caused by: "))[:300]


def main(cases_file: str, results_file: str) -> int:
    """Entry point: reads cases, runs them, writes results; returns the exit code."""
    import pyflink.version

    lines = Path(cases_file).read_text(encoding="utf-8").splitlines()
    cases = []
    for line in lines:
        spec = json.loads(line)
        spec["data"] = ast.literal_eval(spec["data"])
        cases.append(Case(**spec))
    scratch = Path(results_file).parent / "work"
    with Path(results_file).open("w", encoding="utf-8") as output:
        print(json.dumps({"pyflink": pyflink.version.__version__}), file=output, flush=True)
        for name, outcome in PyFlinkRunner(load(), scratch).run(cases):
            print(json.dumps({"id": name, "outcome": outcome}), file=output, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
