"""Ctrl-C while a statement starts: only the waiting for it ends, and what it still starts."""

from __future__ import annotations

import os
import signal
import threading
import time
from typing import TYPE_CHECKING

import pytest

from headrace.cli.sql import client as client_module
from headrace.cli.sql.client import SqlClient
from headrace.cli.sql.display import TextDisplay
from headrace.cli.sql.script import statements_of
from headrace.control.job import running_jobs
from headrace.table.statements import execute

if TYPE_CHECKING:
    from headrace.sql.statement_ast import SqlStatement
    from headrace.table.table_environment import TableEnvironment
    from headrace.table.table_result import TableResult

PATIENCE_S = 20.0
LOCALLY = {"headrace.execution.host": "local"}


def _run(client: SqlClient, text: str) -> None:
    for statement in statements_of(text):
        client.run(statement)


def test_a_statement_goes_on_untouched_and_the_job_that_it_starts_then_ends(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    client = SqlClient(LOCALLY, TextDisplay(full_screen=False))
    _run(client, "CREATE TABLE endless (a INT) WITH ('connector' = 'datagen');")
    go_on = threading.Event()
    results: list[TableResult] = []

    def slowly(env: TableEnvironment, statement: SqlStatement) -> TableResult:
        os.kill(os.getpid(), signal.SIGINT)  # it interrupts the main thread, and not this one
        assert go_on.wait(PATIENCE_S)
        results.append(execute(env, statement))
        return results[0]

    monkeypatch.setattr(client_module, "execute", slowly)
    with pytest.raises(KeyboardInterrupt):
        _run(client, "SELECT a FROM endless;")
    assert not results
    go_on.set()
    deadline = time.monotonic() + PATIENCE_S
    while not results or running_jobs():
        assert time.monotonic() < deadline, "the job that nobody waits for runs on"
        time.sleep(0.01)
    job = results[0].get_job_client()
    assert job is not None
    assert job.get_job_status().result().name == "CANCELED"


class Terminal(TextDisplay):
    """Can draw its last line again."""

    def __init__(self) -> None:
        super().__init__(full_screen=False, redraws=True)


@pytest.mark.parametrize(
    ("host", "told"),
    [("local", "\r\x1b[K1 s\r\x1b[K"), ("spark", "\r\x1b[K1 s, Spark starts\r\x1b[K")],
)
def test_a_terminal_tells_how_long_a_statement_has_been_starting(
    host: str, told: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    client = SqlClient({"headrace.execution.host": host}, Terminal())
    shown: list[str] = []

    def slowly(env: TableEnvironment, statement: SqlStatement) -> TableResult:
        deadline = time.monotonic() + PATIENCE_S
        while " s" not in "".join(shown):
            assert time.monotonic() < deadline, "no progress is shown"
            shown.append(capsys.readouterr().out)
            time.sleep(0.01)
        return execute(env, statement)

    monkeypatch.setattr(client_module, "execute", slowly)
    _run(client, "CREATE TABLE endless (a INT) WITH ('connector' = 'datagen');")
    assert "".join(shown) + capsys.readouterr().out == f"{told}[INFO] OK\n"


def test_a_terminal_tells_how_far_an_insert_is_that_is_waited_for(
    capsys: pytest.CaptureFixture[str],
) -> None:
    client = SqlClient(LOCALLY, Terminal())
    _run(
        client,
        """
        SET 'table.dml-sync' = 'true';
        CREATE TABLE few (a INT) WITH (
            'connector' = 'datagen', 'rows-per-second' = '10', 'number-of-rows' = '25'
        );
        CREATE TABLE nowhere (a INT) WITH ('connector' = 'blackhole');
        INSERT INTO nowhere SELECT a FROM few;
        """,
    )
    out = capsys.readouterr().out
    assert " records\r\x1b[K" in out
    assert "is FINISHED" in out.rpartition("\x1b[K")[2]
