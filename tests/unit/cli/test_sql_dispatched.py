"""headrace sql -m: INSERTs become jobs of a dispatcher, the rest is answered here."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from headrace.cli.sql.client import SqlClient
from headrace.cli.sql.display import TextDisplay
from headrace.cli.sql.script import statements_of
from headrace.client import RestClient
from headrace.control.registry import JobRecord
from headrace.errors import JobError, SqlError, UnsupportedStepError

if TYPE_CHECKING:
    from collections.abc import Callable

HERE = {"headrace.execution.host": "local"}


class Dispatcher(RestClient):
    """Runs what it gets at once, in a process of its own."""

    def __init__(self, home: Path, *, wrong: bool = False) -> None:
        super().__init__(("http://127.0.0.1:1",))
        self.home = home
        self.records: list[JobRecord] = []
        self.programs: list[Any] = []
        self.wrong = wrong

    def run(self, program: str, arguments: list[str], settings: dict[str, str]) -> str:
        self.programs.append((Path(program).read_text(), settings))
        variables = {
            "HEADRACE_" + key.upper().replace(".", "_").replace("-", "_"): value
            for key, value in settings.items()
        }
        done = subprocess.run(
            [sys.executable, program],
            env={**os.environ, **variables, "HEADRACE_HOME": str(self.home),
                 "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            capture_output=True,
            text=True,
            check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        state = "FAILED" if self.wrong else "FINISHED"
        record = JobRecord(f"job{len(self.records)}", "insert", state, "", 0, "", 0, 0)
        record.error = "it broke" if self.wrong else None
        self.records.append(record)
        return record.job_id

    def find(self, text: str, *, newest: bool = False) -> JobRecord:
        return next(record for record in self.records if record.job_id == text)

    def jobs(self) -> list[JobRecord]:
        return self.records


@pytest.fixture
def session(tmp_path: Path) -> tuple[Dispatcher, Callable[[str], None]]:
    return made(tmp_path)


def made(folder: Path, *, wrong: bool = False) -> tuple[Dispatcher, Callable[[str], None]]:
    dispatcher = Dispatcher(folder, wrong=wrong)
    client = SqlClient(HERE, TextDisplay(full_screen=False), dispatcher=dispatcher)

    def run(text: str) -> None:
        for statement in statements_of(text):
            client.run(statement)

    return dispatcher, run


def test_an_insert_is_a_program_with_all_that_the_session_declared(
    session: tuple[Dispatcher, Callable[[str], None]], tmp_path: Path, capsys: Any
) -> None:
    dispatcher, run = session
    out = tmp_path / "out"
    run(
        f"""CREATE TABLE t (n INT, s STRING) WITH
              ('connector' = 'filesystem', 'path' = '{out}', 'format' = 'json');
            CREATE VIEW v AS SELECT 1 AS n, 'it''s' AS s;
            SELECT n FROM v;
            SET 'sql-client.execution.result-mode' = 'tableau';
            INSERT INTO t SELECT n + 1, s FROM v;"""
    )
    assert [
        line for file in sorted(out.glob("part*")) for line in file.read_text().splitlines()
    ] == ['{"n":2,"s":"it\'s"}']
    [(program, settings)] = dispatcher.programs
    assert settings == HERE
    assert "SELECT n FROM v" not in program.replace("SELECT n + 1", "")
    shown = capsys.readouterr().out
    assert "Job ID: job0" in shown
    assert "| +I |" in shown  # the query was answered here


def test_a_statement_set_is_one_program(
    session: tuple[Dispatcher, Callable[[str], None]], tmp_path: Path
) -> None:
    dispatcher, run = session
    for name in ("a", "b"):
        run(f"""CREATE TABLE {name} (n INT) WITH
                  ('connector' = 'filesystem', 'path' = '{tmp_path / name}', 'format' = 'csv');""")
    run("BEGIN STATEMENT SET; INSERT INTO a SELECT 1; INSERT INTO b SELECT 2;")
    with pytest.raises(SqlError, match="nope"):
        run("INSERT INTO a SELECT nope FROM (VALUES (1)) AS v (n);")
    assert dispatcher.programs == []
    run("END;")
    assert len(dispatcher.programs) == 1
    for name, line in (("a", "1"), ("b", "2")):
        [file] = (tmp_path / name).glob("part*")
        assert file.read_text().split() == [line]


def test_a_wrong_insert_is_refused_before_it_is_sent(
    session: tuple[Dispatcher, Callable[[str], None]],
) -> None:
    dispatcher, run = session
    run("CREATE TABLE t (n INT) WITH ('connector' = 'blackhole');")
    with pytest.raises(SqlError, match="nope"):
        run("INSERT INTO t SELECT nope FROM (VALUES (1)) AS v (n);")
    with pytest.raises(UnsupportedStepError, match="CREATE TABLE AS"):
        run("CREATE TABLE u WITH ('connector' = 'blackhole') AS SELECT 1 AS n;")
    assert dispatcher.programs == []


def test_show_jobs_lists_the_dispatchers(
    session: tuple[Dispatcher, Callable[[str], None]], capsys: Any
) -> None:
    dispatcher, run = session
    dispatcher.records = [JobRecord("abc", "orders", "RUNNING", "", 0, "", 0, 0)]
    run("SHOW JOBS;")
    assert "orders" in capsys.readouterr().out


def test_with_dml_sync_the_client_waits_and_tells_the_error(tmp_path: Path, capsys: Any) -> None:
    _, run = made(tmp_path, wrong=True)
    run("SET 'table.dml-sync' = 'true'; CREATE TABLE t (n INT) WITH ('connector' = 'blackhole');")
    with pytest.raises(JobError, match="it broke"):
        run("INSERT INTO t VALUES (1);")
    assert "FAILED" in capsys.readouterr().out
