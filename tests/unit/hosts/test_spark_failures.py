"""A JVM that died under a job is told as such, and not as the connection that it took along."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from pyspark import SparkContext

from headrace.hosts.spark.failures import spark_failure

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FOREVER = "import time; time.sleep(600)"


@pytest.fixture
def jvm(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process in the place of Spark's."""
    monkeypatch.chdir(tmp_path)
    with subprocess.Popen([sys.executable, "-c", FOREVER]) as process:
        monkeypatch.setattr(SparkContext, "_gateway", SimpleNamespace(proc=process))
        yield process
        process.kill()


def test_a_jvm_that_was_killed_is_told(jvm: subprocess.Popen[bytes], tmp_path: Path) -> None:
    jvm.kill()
    told = spark_failure(ConnectionRefusedError(111, "Connection refused"))
    assert f"Spark's JVM has died under the job: process {jvm.pid} ended, killed by SIGKILL" in (
        told.message
    )
    assert "memory" in str(told.fix)
    assert str(tmp_path) in str(told.where)


def test_the_report_of_a_crash_is_named(jvm: subprocess.Popen[bytes], tmp_path: Path) -> None:
    report = tmp_path / f"hs_err_pid{jvm.pid}.log"
    report.write_text("# A fatal error has been detected")
    jvm.kill()
    error = RuntimeError("an answer was expected")
    error.__cause__ = ConnectionResetError()
    assert str(report) in str(spark_failure(error).fix)


def test_a_lost_connection_to_a_jvm_that_lives_is_what_it_is(
    jvm: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headrace.hosts.spark.failures._DYING_S", 0.01)
    assert jvm.poll() is None
    told = spark_failure(ConnectionResetError("lost"))
    assert "lost" in told.message
    assert "died" not in told.message
