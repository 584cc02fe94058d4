"""A dispatcher with a real Spark job: sent by the command line, rescaled, stopped, restored."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ha_cluster import (
    COUNTING_PROGRAM,
    ENDLESS,
    DispatcherProcess,
    check_counts,
)
from patience import wait_until

if TYPE_CHECKING:
    from headrace.common.opaque import JsonObject

pytestmark = pytest.mark.cluster

SECRET = "s3cr3t-4711"


def test_a_spark_job_is_submitted_stopped_with_a_savepoint_and_restored_wider(
    tmp_path: Path,
) -> None:
    program, out = tmp_path / "sums.py", tmp_path / "out"
    program.write_text(COUNTING_PROGRAM)
    options = {
        "headrace.cluster.dir": str(tmp_path / "cluster"),
        "spark.master": "local[2]",
        "spark.ui.enabled": "false",
        "spark.driver.memory": "512m",
    }
    dispatcher = DispatcherProcess(tmp_path, "dispatcher", options)

    def headrace(*words: str) -> JsonObject:
        command, *others = words
        answer = subprocess.run(
            [sys.executable, "-m", "headrace.cli", command, "-m", dispatcher.address, "--json",
             *others],
            capture_output=True, text=True, check=False, cwd=tmp_path,
            env={**os.environ, "HEADRACE_HOME": str(tmp_path / "elsewhere")},
        )  # fmt: skip
        assert answer.returncode == 0, answer.stdout + answer.stderr
        return dict(json.loads(answer.stdout))

    try:
        arguments = (str(out), *ENDLESS)
        job = headrace("run", "-d", "--name", "sums", "-p", "1", "-D", f"user.password={SECRET}",
                       str(program), *arguments)  # fmt: skip
        client = dispatcher.client
        wait_until(lambda: client.find(job["job_id"]).batches > 1, "no batch")
        pid = client.find("sums").pid
        shown = [Path(f"/proc/{each}/cmdline").read_bytes() for each in _tree(pid)]
        assert len(shown) > 1  # the driver, and Spark's JVM
        assert not [line for line in shown if SECRET.encode() in line]

        stopped = headrace("stop", "--savepoint", "sums")
        assert stopped["state"] == "FINISHED"
        again = headrace("run", "-d", "-s", stopped["savepoint"], "-p", "2", "--name", "sums",
                         str(program), *arguments)  # fmt: skip
        assert again["job_id"] != job["job_id"]
        wait_until(lambda: client.find(again["job_id"]).batches > 1, "no batch of the second")
        assert headrace("stop", "sums")["parallelism"] == 2
        check_counts(out)
    finally:
        for record in dispatcher.client.jobs():
            if record.is_running:
                dispatcher.client.cancel(record.job_id)
        dispatcher.end()


def _tree(pid: int) -> list[int]:
    """A process and those that it started."""
    found = subprocess.run(
        ["ps", "-o", "pid=", "-s", str(pid)], capture_output=True, text=True, check=True
    )
    return [int(word) for word in found.stdout.split() if Path(f"/proc/{word}/cmdline").exists()]
