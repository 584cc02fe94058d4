"""The SQL prompt on Spark: Ctrl-C leaves no traceback, and long queries tell how far they are."""

from __future__ import annotations

import re
import subprocess
import time
from typing import TYPE_CHECKING

from sql_terminal import Terminal

if TYPE_CHECKING:
    from pathlib import Path

PATIENCE_S = 120.0  # the machine may be busy with other things


def _java_of(terminal: Terminal) -> str:
    """The process id of the client's JVM, as soon as there is one."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        found = subprocess.run(
            ["pgrep", "-P", str(terminal.process.pid), "-f", "pyspark-shell"],
            capture_output=True,
            text=True,
        ).stdout.split()
        if found:
            return found[0]
        time.sleep(0.05)
    raise AssertionError("no JVM was started")


def _runs(pid: str) -> bool:
    state = subprocess.run(["ps", "-o", "stat=", "-p", pid], capture_output=True, text=True).stdout
    return bool(state.strip()) and not state.startswith("Z")


def test_ctrl_c_leaves_no_traceback_and_spark_goes_on(tmp_path: Path) -> None:
    terminal = Terminal(
        tmp_path,
        *("--host", "spark", "-D", "sql-client.execution.result-mode=tableau"),
        patience_s=PATIENCE_S,
    )
    try:
        terminal.wait_for("headrace SQL>")
        terminal.type("CREATE TABLE endless (a INT) WITH ('connector' = 'datagen');\r")
        terminal.wait_for("[INFO] OK")
        terminal.wait_for("headrace SQL>")

        # while the JVM starts: only the statement ends
        terminal.type("SELECT 1 AS early;\r")
        java = _java_of(terminal)
        terminal.type("\x03")
        shown = terminal.wait_for("the statement was ended")
        shown += terminal.wait_for("headrace SQL>")
        # while a query runs, on the same JVM: before its first batch, and in one
        for moment in ("| op |", "| +I |", "| +I |"):
            terminal.type("SELECT a FROM endless;\r")
            shown += terminal.wait_for(moment)
            terminal.type("\x03")
            shown += terminal.wait_for("the statement was ended")
            shown += terminal.wait_for("headrace SQL>")
        terminal.type("SELECT 'done' AS late;\r")
        shown += terminal.wait_for("Received a total of 1 row")
        assert _java_of(terminal) == java
        # one that gives all at its end tells how far it is
        shown += terminal.wait_for("headrace SQL>")
        terminal.type("SET 'execution.runtime-mode' = 'batch';\r")
        shown += terminal.wait_for("[INFO] OK")
        shown += terminal.wait_for("headrace SQL>")
        terminal.type(
            "CREATE TABLE many (a INT) WITH ('connector' = 'datagen', "
            "'number-of-rows' = '2000000000');\r"
        )
        shown += terminal.wait_for("[INFO] OK")
        shown += terminal.wait_for("headrace SQL>")
        terminal.type("SELECT COUNT(*) FROM many;\r")
        line = terminal.wait_for(" tasks")
        assert re.search(r"\d s, \d+ of [1-9]\d* tasks$", line)
        terminal.type("\x03")
        shown += line + terminal.wait_for("the statement was ended")
        shown += terminal.wait_for("headrace SQL>")
        for word in ("Traceback", "Exception", "Error", "ERROR"):
            assert word not in shown

        # however the client ends, its JVM does not stay behind
        terminal.process.kill()
        deadline = time.monotonic() + PATIENCE_S
        while _runs(java):
            assert time.monotonic() < deadline, "the JVM outlives its client"
            time.sleep(0.05)
    finally:
        terminal.close()
