"""headrace sql at a terminal: several lines, Tab, Ctrl-C, Ctrl-D, results that change in place."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from patience import PATIENCE_S
from sql_terminal import Terminal

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    made = Terminal(tmp_path, "--host", "local")
    yield made
    made.close()


def test_a_session_at_a_terminal(terminal: Terminal, tmp_path: Path) -> None:
    terminal.wait_for("headrace SQL>")

    # several lines make one statement, and a semicolon in a text ends none
    terminal.type("SET 'sql-client.execution.result-mode' = 'tableau';\r")
    terminal.wait_for("[INFO] OK")
    terminal.wait_for("headrace SQL>")
    terminal.type("SELECT 'a;b'\r")
    terminal.wait_for("> ")
    terminal.type("AS letters;\r")
    terminal.wait_for("a;b |")
    terminal.wait_for("Received a total of 1 row")

    # Tab completes the name of a table
    terminal.wait_for("headrace SQL>")
    terminal.type("CREATE TABLE endless (a INT) WITH ('connector' = 'datagen');\r")
    terminal.wait_for("[INFO] OK")
    terminal.wait_for("headrace SQL>")
    terminal.type("SELECT * FROM end\t")
    terminal.wait_for("endless")
    # Ctrl-C ends the query, and not the client
    terminal.type(";\r")
    terminal.wait_for("| +I |")
    terminal.type("\x03")
    terminal.wait_for("the statement was ended")
    terminal.wait_for("headrace SQL>")

    # at the prompt it throws away what was typed
    terminal.type("SELECT nonsense")
    terminal.wait_for("nonsense")
    terminal.type("\x03")
    terminal.wait_for("headrace SQL>")
    terminal.type("\x03")
    terminal.wait_for("headrace SQL>")

    # errors show the place, and no traceback
    terminal.type("SELECT nope FROM endless;\r")
    shown = terminal.wait_for("there are: a")
    assert "^^^^" in shown
    assert "Traceback" not in shown
    terminal.wait_for("headrace SQL>")

    # a table that changes in place; Q leaves it, and ends the query
    terminal.type("SET 'sql-client.execution.result-mode' = 'table';\r")
    terminal.wait_for("[INFO] OK")
    terminal.wait_for("headrace SQL>")
    terminal.type("SELECT COUNT(*) AS n FROM endless;\r")
    terminal.wait_for("every 0.25 s")
    terminal.wait_for("Q quit")
    terminal.type("q")
    terminal.wait_for("the result had")
    terminal.wait_for("headrace SQL>")

    # jobs end with the client, which says so first
    terminal.type("CREATE TABLE nowhere (a INT) WITH ('connector' = 'blackhole');\r")
    terminal.wait_for("[INFO] OK")
    terminal.wait_for("headrace SQL>")
    terminal.type("INSERT INTO nowhere SELECT a FROM endless;\r")
    terminal.wait_for("Job ID: ")
    terminal.wait_for("headrace SQL>")
    terminal.type("\x04")
    terminal.wait_for("once more to leave")
    terminal.wait_for("headrace SQL>")
    terminal.type("QUIT;\r")
    terminal.wait_for("CANCELED")
    assert terminal.process.wait(PATIENCE_S) == 0
    assert "SELECT 'a;b'" in (tmp_path / "sql-history").read_text()


_HELD = """
import time
from pathlib import Path

from headrace.table.udf import udf


@udf(result_type="INT")
def held(number):
    while not Path({gate!r}).exists():
        time.sleep(0.02)
    return number
"""


def test_a_batch_query_tells_how_far_it_is_until_its_result_comes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = tmp_path / "gate"
    (tmp_path / "holding.py").write_text(_HELD.format(gate=str(gate)))
    monkeypatch.syspath_prepend(tmp_path)
    terminal = Terminal(tmp_path, *("--host", "local", "-D", "execution.runtime-mode=batch"))
    try:
        for statement in (
            "CREATE FUNCTION held AS 'holding.held' LANGUAGE PYTHON",
            "CREATE TABLE seven (a INT) WITH ('connector' = 'datagen', 'number-of-rows' = '1', "
            "'fields.a.kind' = 'sequence', 'fields.a.start' = '7', 'fields.a.end' = '7')",
        ):
            terminal.wait_for("headrace SQL>")
            terminal.type(f"{statement};\r")
            terminal.wait_for("[INFO] OK")
        # in the title of the screen
        terminal.wait_for("headrace SQL>")
        terminal.type("SELECT held(a) AS a FROM seven;\r")
        terminal.wait_for("refresh")
        terminal.wait_for("1 s ")
        gate.touch()
        terminal.wait_for("has ended")
        terminal.type("q")
        # on a line of its own, which the result replaces
        terminal.wait_for("headrace SQL>")
        terminal.type("SET 'sql-client.execution.result-mode' = 'tableau';\r")
        terminal.wait_for("[INFO] OK")
        terminal.wait_for("headrace SQL>")
        gate.unlink()
        terminal.type("SELECT held(a) AS a FROM seven;\r")
        terminal.wait_for("1 s")
        terminal.wait_for("2 s")
        gate.touch()
        terminal.wait_for("1 row in set")
    finally:
        terminal.close()


def test_what_jobs_print_stands_above_the_line_that_is_typed(terminal: Terminal) -> None:
    terminal.wait_for("headrace SQL>")
    terminal.type(
        "CREATE TABLE slow (a INT) WITH ('connector' = 'datagen', 'rows-per-second' = '2', "
        "'fields.a.kind' = 'sequence', 'fields.a.start' = '1', 'fields.a.end' = '1000');\r"
    )
    terminal.wait_for("[INFO] OK")
    terminal.wait_for("headrace SQL>")
    terminal.type("CREATE TABLE shown (a INT) WITH ('connector' = 'print');\r")
    terminal.wait_for("[INFO] OK")
    terminal.wait_for("headrace SQL>")
    terminal.type("INSERT INTO shown SELECT a FROM slow;\r")
    terminal.wait_for("Job ID: ")
    terminal.wait_for("headrace SQL>")
    terminal.type("SELECT 1 AS typed")
    terminal.wait_for("typed")
    terminal.wait_for("+I[")
    # the line is drawn again below, as it was
    terminal.wait_for("headrace SQL> SELECT 1 AS typed")


def test_ctrl_c_ends_a_script_and_its_jobs(tmp_path: Path) -> None:
    script = (
        "CREATE TABLE g (a INT) WITH ('connector' = 'datagen');"
        "CREATE TABLE o (a INT) WITH ('connector' = 'blackhole');"
        "INSERT INTO o SELECT a FROM g; SELECT a FROM g"
    )
    process = subprocess.Popen(
        [sys.executable, "-m", "headrace.cli", "sql", "--host", "local", "--json", "-e", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={
            **os.environ,
            "HEADRACE_HOME": str(tmp_path),
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        },
    )
    assert process.stdout is not None
    while '"row"' not in process.stdout.readline():
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130
    assert '"state": "CANCELED"' in out.splitlines()[-1]
    assert err == ""
