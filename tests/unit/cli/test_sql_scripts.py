"""headrace sql -f, -e, -i and --json on the local host, and the parts of the client."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput
from typer.testing import CliRunner

from headrace.cli.main import app
from headrace.cli.sql.client import SqlClient
from headrace.cli.sql.completion import SqlCompleter
from headrace.cli.sql.display import TextDisplay
from headrace.cli.sql.materialized import ChangelogLines, MaterializedLines
from headrace.cli.sql.prompt import converse
from headrace.cli.sql.screen import ResultScreen, show_on_screen
from headrace.cli.sql.script import is_complete, statements_of
from headrace.cli.sql.settings import display_settings
from headrace.common.configuration import Configuration
from headrace.control.progress import progress
from headrace.errors import HeadraceError
from headrace.table import EnvironmentSettings, TableEnvironment

if TYPE_CHECKING:
    from pathlib import Path

COUNTS = """
SELECT name, COUNT(*) AS n
FROM (VALUES ('tea'), ('milk'), ('tea')) AS t (name) GROUP BY name;
"""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HEADRACE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HEADRACE_headrace.execution.host", "local")
    # `headrace run` in another test has pointed it to a stream that is gone
    monkeypatch.setattr(progress, "handlers", [])
    monkeypatch.chdir(tmp_path)
    return tmp_path


def sql(*words: str, typed: str | None = None) -> Any:
    return CliRunner().invoke(app, ["sql", *words], input=typed)


def lines_of(*words: str) -> list[Any]:
    return [json.loads(line) for line in sql("--json", *words).stdout.splitlines()]


# --- transcripts ---------------------------------------------------------------------------------


def test_a_script_prints_its_statements_and_their_results(home: Path) -> None:
    settings = [
        "-- who buys what\nSET 'execution.runtime-mode' = 'batch';",
        "SET 'sql-client.display.print-time-cost' = 'false';",
    ]
    (home / "counts.sql").write_text(settings[0] + COUNTS + settings[1] + COUNTS)
    done = sql("-f", "counts.sql")
    assert done.exit_code == 0, done.output
    whole = done.stdout.splitlines()
    start = whole.index("headrace SQL> SET 'sql-client.display.print-time-cost' = 'false';")
    assert sorted(whole[start:]) == sorted([
        "headrace SQL> SET 'sql-client.display.print-time-cost' = 'false';",
        "[INFO] OK",
        "headrace SQL> SELECT name, COUNT(*) AS n",
        "            > FROM (VALUES ('tea'), ('milk'), ('tea')) AS t (name) GROUP BY name;",
        "+------+---+",
        "| name | n |",
        "+------+---+",
        "| milk | 1 |",
        "|  tea | 2 |",
        "+------+---+",
        "2 rows in set",
    ])  # fmt: skip
    assert "2 rows in set (0." in done.stdout
    assert "SELECT" not in sql("-f", "counts.sql", "--quiet").stdout


def test_functions_are_imported_from_the_folder_of_the_script(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.path", list(sys.path))
    folder = home / "dir"
    folder.mkdir()
    (folder / "functions_beside_a_script.py").write_text(
        "from headrace.table import DataTypes\nfrom headrace.table.udf import udf\n"
        "@udf(result_type=DataTypes.BIGINT())\n"
        "def twice(n):\n    return 2 * n\n"
    )
    script = folder / "x.sql"
    script.write_text(
        "CREATE FUNCTION f AS 'functions_beside_a_script.twice' LANGUAGE PYTHON;\nSELECT f(21);"
    )
    found = sql("-f", str(script))
    assert found.exit_code == 0, found.output
    assert "42" in found.stdout


def test_a_script_stops_at_its_first_error_with_file_and_line(home: Path) -> None:
    (home / "wrong.sql").write_text(
        "SHOW CATALOGS;\n\nSELECT\n  nope\nFROM (VALUES 1) AS t (a);\nSELECT 7;"
    )
    done = sql("-f", "wrong.sql")
    assert done.exit_code == 2
    assert "default_catalog" in done.stdout
    assert "SELECT 7" not in done.stdout
    assert done.stderr.splitlines() == [
        "[ERROR] [SQL] there is no column nope here",
        "  where: wrong.sql:4, column 3",
        "    4 |   nope",
        "      |   ^^^^",
        "  fix:   there are: a",
    ]
    assert "Traceback" in sql("-D", "sql-client.verbose=true", "-f", "wrong.sql").stderr
    missing = sql("-f", "no.sql")
    assert missing.exit_code == 2
    assert "no.sql cannot be read" in missing.stderr


def test_errors_that_are_not_of_sql_name_the_line_of_the_script(home: Path) -> None:
    (home / "wrong.sql").write_text("\nUSE CATALOG nowhere;")
    done = sql("-f", "wrong.sql", "-q")
    assert done.exit_code == 2
    assert "wrong.sql:2" in done.stderr
    assert "Traceback" not in done.stderr


def test_changes_come_with_their_kinds_in_streaming_mode() -> None:
    done = sql("-e", "SELECT COUNT(*) AS n FROM (VALUES 1, 2) AS t (a)")
    assert done.stdout.splitlines() == [
        "+----+----------------------+",
        "| op |                    n |",
        "+----+----------------------+",
        "| +I |                    1 |",
        "| -U |                    1 |",
        "| +U |                    2 |",
        "+----+----------------------+",
        "Received a total of 3 rows",
    ]
    table = sql("-D", "sql-client.execution.result-mode=table",
                "-e", "SELECT COUNT(*) AS n FROM (VALUES 1, 2) AS t (a)")  # fmt: skip
    assert table.stdout.splitlines() == [
        "+---+",
        "| n |",
        "+---+",
        "| 2 |",
        "+---+",
        "1 row in set",
    ]


def test_columns_are_as_wide_as_is_set() -> None:
    done = sql("-D", "sql-client.display.max-column-width=5", "-e", "SELECT 'abcdefgh' AS a")
    assert "| +I | ab... |" in done.stdout


def test_json_has_a_line_for_every_row_job_and_error(home: Path) -> None:
    (home / "init.sql").write_text("CREATE TABLE o (n INT) WITH ('connector' = 'blackhole');")
    found = lines_of(
        "-i", "init.sql",
        "-e", "SELECT 1 AS n, CAST(1.5 AS DECIMAL(3, 1)) AS d, DATE '2024-01-31' AS t, "
              "ARRAY[1, 2] AS a, MAP['k', TRUE] AS m, CAST(NULL AS INT) AS z; SHOW TABLES",
        "-e", "SET 'table.dml-sync' = 'true'; INSERT INTO o SELECT 1; SELEC",
    )  # fmt: skip
    row = {"n": 1, "d": "1.5", "t": "2024-01-31", "a": [1, 2], "m": {"k": True}, "z": None}
    ok, first, table, also_ok, job, error = found
    assert ok == also_ok == {"result": "OK"}
    assert first == {"kind": "+I", "row": row}
    assert table == {"kind": "+I", "row": {"table name": "o"}}
    assert job["state"] == "FINISHED"
    assert len(job["job_id"]) == 32
    assert error["error"]["condition"] == "SQL_PARSE"


def test_an_insert_does_not_wait_and_the_command_does(home: Path) -> None:
    (home / "in.csv").write_text("1\n2\n")
    ddl = (
        f"CREATE TABLE i (n INT) WITH ('connector' = 'filesystem', 'path' = '{home}/in.csv', "
        "'format' = 'csv'); CREATE TABLE o (n INT) WITH ('connector' = 'blackhole');"
    )
    done = sql("-e", ddl, "-e", "INSERT INTO o SELECT n FROM i; SHOW JOBS")
    assert done.exit_code == 0, done.output
    assert "insert-into_default_catalog.default_database.o is FINISHED" in done.stdout
    assert "job id |" in done.stdout


def test_a_job_is_stopped_by_its_id() -> None:
    ddl = ("CREATE TABLE g (a INT) WITH ('connector' = 'datagen');"
           "CREATE TABLE o (a INT) WITH ('connector' = 'blackhole');")  # fmt: skip
    found = sql("-e", ddl, "-e",
                "INSERT INTO o SELECT a FROM g; "
                "STOP JOB 'insert-into_default_catalog.default_database.o'; SHOW JOBS; "
                "DESCRIBE JOB 'insert-into_default_catalog.default_database.o'")  # fmt: skip
    assert found.exit_code == 0, found.output
    assert found.stdout.count("CANCELED") == 3


def test_a_job_is_stopped_with_a_savepoint_in_the_folder_of_the_session(home: Path) -> None:
    ddl = ("CREATE TABLE g (a INT) WITH ('connector' = 'datagen');"
           "CREATE TABLE o (a INT) WITH ('connector' = 'blackhole');")  # fmt: skip
    found = sql("-e", ddl, "-e",
                "INSERT INTO o SELECT a FROM g; "
                f"SET 'execution.checkpointing.savepoint-dir' = '{home}/saved'; "
                "STOP JOB 'insert-into_default_catalog.default_database.o' WITH SAVEPOINT",
                )  # fmt: skip
    assert found.exit_code == 0, found.output
    assert f"{home}/saved/savepoint-" in found.stdout


def test_a_failed_job_ends_with_exit_code_1() -> None:
    done = sql("-e", "SELECT CAST('x' AS INT) + n FROM (VALUES 1) AS t (n)")
    assert done.exit_code == 1
    assert "[ERROR]" in done.stderr
    assert "Traceback" not in done.stderr


def test_options_are_checked_listed_and_taken_back() -> None:
    wrong = sql("-e", "SET 'sql-client.execution.result-mode' = 'tabel'")
    assert wrong.exit_code == 2
    assert "expected one of table, changelog, tableau" in wrong.stderr
    assert sql("-D", "sql-client.verbose=perhaps", "-e", "SELECT 1").exit_code == 2
    assert "no mode AUTOMATIC" in sql("-e", "SET 'execution.runtime-mode' = 'automatic'").stderr
    assert sql("-D", "execution.runtime-mode=automatic", "-e", "SELECT 1").exit_code == 2

    def option(key: str, *statements: str) -> str | None:
        rows = [line["row"] for line in lines_of("-D", "table.dml-sync=true", "-e",
                ";".join([*statements, "SET"])) if "row" in line]  # fmt: skip
        return next((row["value"] for row in rows if row["key"] == key), None)

    assert option("table.dml-sync", "SET 'table.dml-sync' = 'false'") == "false"
    assert option("table.dml-sync", "SET 'table.dml-sync' = 'false'", "RESET") == "true"
    assert option("my.own", "SET 'my.own' = '1'") == "1"
    assert option("my.own", "SET 'my.own' = '1'", "RESET 'my.own'") is None


def test_without_a_terminal_statements_come_from_standard_input() -> None:
    done = sql("--json", typed="SELECT 1\n  AS a;\nSELECT 2 AS a; QUIT; SELECT 3;\n")
    assert [json.loads(line)["row"]["a"] for line in done.stdout.splitlines()] == [1, 2]
    wrong = sql(typed="SHOW CATALOGS;\n\nSELECT x;\n")
    assert wrong.exit_code == 2
    assert "<stdin>:3, column 8" in wrong.stderr


def test_help_names_the_commands() -> None:
    assert "STOP JOB" in sql("-e", "HELP").stdout


# --- statement sets ------------------------------------------------------------------------------

TARGETS = """
SET 'table.dml-sync' = 'true';
CREATE TABLE a (n INT) WITH ('connector' = 'print');
CREATE TABLE b (n INT) WITH ('connector' = 'print');
BEGIN STATEMENT SET;
INSERT INTO a SELECT 1;
INSERT INTO b SELECT 2;
"""


def test_the_inserts_of_a_statement_set_are_one_job_that_begins_with_end() -> None:
    done = sql("-e", TARGETS + "END")
    assert done.exit_code == 0, done.output
    shown = done.stdout.splitlines()
    assert shown[:6] == ["[INFO] OK"] * 6
    assert [line[-5:] for line in shown[6:8]] == ["+I[1]", "+I[2]"]
    assert [line.split(":")[0] for line in shown].count("Job ID") == 1
    assert sql("-e", "BEGIN STATEMENT SET; END").stdout.splitlines() == ["[INFO] OK"] * 2


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        (TARGETS + "BEGIN STATEMENT SET", "a statement set takes INSERTs only"),
        (TARGETS + "SET 'parallelism.default' = '1'", "a statement set takes INSERTs only"),
        (TARGETS + "CREATE TABLE c AS SELECT 1", "a statement set takes INSERTs only"),
        (TARGETS + "INSERT INTO nowhere SELECT 1; END", "nowhere"),
        ("END", "there is no statement set to end"),
        (TARGETS, "the statement set has no END"),
    ],
)
def test_a_statement_set_refuses_what_is_not_in_its_place(text: str, wrong: str) -> None:
    done = sql("-e", text)
    assert done.exit_code == 2
    assert wrong in done.stderr
    assert "+I" not in done.stdout


def test_a_set_goes_on_behind_a_statement_that_it_refuses(
    capsys: pytest.CaptureFixture[str],
) -> None:
    client = SqlClient({}, TextDisplay(full_screen=False))
    for statement in statements_of(TARGETS):
        client.run(statement)
    with pytest.raises(HeadraceError, match="takes INSERTs only"):
        client.run(statements_of("SHOW TABLES;")[0])
    client.run(statements_of("END;")[0])
    assert capsys.readouterr().out.count("+I[") == 2


def test_who_leaves_the_prompt_is_told_of_a_set_without_end() -> None:
    client = SqlClient({}, TextDisplay(full_screen=False))
    told: list[BaseException] = []
    typed = iter([TARGETS, "QUIT;"])
    assert converse(client, lambda: next(typed), told.append) == 0
    assert [str(error).splitlines()[0] for error in told] == [
        "[INVALID_ARGUMENT] the statement set has no END, so its INSERTs have not run"
    ]


def test_help_tells_of_statement_sets() -> None:
    assert "BEGIN STATEMENT SET;" in sql("-e", "HELP").stdout


# --- parts ---------------------------------------------------------------------------------------


def test_scripts_part_at_semicolons_that_end_statements() -> None:
    script = ("-- a; b\nSELECT ';' /* ; */;\n  BEGIN STATEMENT SET; INSERT INTO a SELECT 1;"
              "INSERT INTO b SELECT CASE WHEN TRUE THEN 1 END; END;; EXECUTE STATEMENT SET BEGIN "
              "INSERT INTO a SELECT 1; END; SELECT 'open;")  # fmt: skip
    found = statements_of(script)
    assert [(each.line, each.column, each.complete) for each in found[:2]] == [
        (2, 1, True),
        (3, 3, True),
    ]
    assert [each.text.split()[0] for each in found] == [
        "SELECT", "BEGIN", "INSERT", "INSERT", "END", "EXECUTE", "SELECT",
    ]  # fmt: skip
    assert found[5].text.endswith("SELECT 1; END")
    assert not found[-1].complete


@pytest.mark.parametrize(
    ("text", "complete"),
    [
        ("", True),
        ("SELECT 1", False),
        ("SELECT 1;", True),
        ("SELECT 1; -- and then", True),
        ("SELECT 1; SELECT", False),
        ("SELECT 'a;", False),
        ("SELECT `a;", False),
        ("/* a;", False),
        ("quit", True),
        ("BEGIN STATEMENT SET;", True),
        ("EXECUTE STATEMENT SET BEGIN INSERT INTO a SELECT 1;", False),
    ],
)
def test_a_statement_is_complete_with_its_semicolon(text: str, complete: bool) -> None:
    assert is_complete(text) == complete


def test_a_changed_line_stays_in_its_place() -> None:
    lines = MaterializedLines(3)
    for kind, cells in [("+I", "a"), ("+I", "b"), ("-U", "a"), ("+U", "c"), ("+I", "b")]:
        lines.apply(kind, (cells,))
    assert lines.lines() == [("c",), ("b",), ("b",)]
    lines.apply("-D", ("b",))
    lines.apply("-U", ("c",))
    assert (lines.lines(), len(lines)) == ([("b",)], 1)
    lines.apply("+I", ("d",))
    assert lines.lines() == [("b",), ("d",)]
    lines.apply("+I", ("e",))
    lines.apply("+I", ("f",))
    assert lines.lines() == [("d",), ("e",), ("f",)]
    lines.apply("-D", ("b",))  # forgotten already
    assert (len(lines), lines.forgotten) == (3, 1)


def test_a_changelog_keeps_every_change() -> None:
    lines = ChangelogLines(10)
    lines.apply("+I", ("a",))
    lines.apply("-D", ("a",))
    assert lines.lines() == [("+I", "a"), ("-D", "a")]


@pytest.fixture
def env() -> TableEnvironment:
    made = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    made.execute_sql("CREATE TABLE orders (name STRING, price INT) WITH ('connector' = 'datagen')")
    return made


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("SELECT * FROM or", "orders"),
        ("SELECT pri| FROM orders", "price"),
        ("SELECT orders.na| FROM orders", "name"),
        ("sel", "SELECT"),
        ("SELECT conca", "CONCAT"),
        ("SET 'sql-client.exec", "sql-client.execution.result-mode"),
        ("SET 'sql-client.execution.result-mode' = 'cha", "changelog"),
        ("SELECT 1; RESET 'headrace.execution.ho", "headrace.execution.host"),
        ("CREATE TABLE t (a INT) WITH ('connector' = 'data", "datagen"),
        ("CREATE TABLE t (a INT) WITH ('connector' = 'datagen', 'number", "number-of-rows"),
    ],
)
def test_words_are_completed(env: TableEnvironment, text: str, wanted: str) -> None:
    at = text.index("|") if "|" in text else len(text)
    document = Document(text.replace("|", ""), at)
    found = [each.text for each in SqlCompleter(env).get_completions(document, CompleteEvent())]
    assert wanted.lower() in [each.lower() for each in found]


def test_texts_and_empty_words_are_not_completed(env: TableEnvironment) -> None:
    for text in ("SELECT 'or", "SELECT "):
        document = Document(text, len(text))
        assert not list(SqlCompleter(env).get_completions(document, CompleteEvent()))


def _how(mode: str) -> Any:
    options = Configuration.from_dict({"sql-client.execution.result-mode": mode})
    return display_settings(options, zone="UTC", streaming=True, interactive=True)


def test_a_screen_shows_pages_of_a_table(
    env: TableEnvironment, capsys: pytest.CaptureFixture[str]
) -> None:
    values = ", ".join(f"({number})" for number in range(100))
    result = env.execute_sql(f"SELECT n FROM (VALUES {values}) AS t (n)")
    screen = ResultScreen(result, _how("table"))
    screen.start()
    assert screen.ended.wait(20)
    with create_pipe_input() as keys:
        screen.application(keys, DummyOutput())  # 40 lines, of which 34 show rows
        assert screen.page() == (1, 3)
        screen.press("n")
        assert screen.page() == (2, 3)
        text = "".join(part[1] for part in screen._body())
        assert "| 34 |" in text
        assert "| 68 |" not in text
        screen.press("l")
        screen.press("n")
        assert screen.page() == (3, 3)
        screen.press("f")
        assert screen.page() == (1, 3)
    screen.close()

    endless = env.execute_sql("SELECT name FROM orders")
    with create_pipe_input() as keys:
        keys.send_text("npq")
        show_on_screen(endless, _how("changelog"), keys=keys, output=DummyOutput())
    client = endless.get_job_client()
    assert client is not None
    assert client._job.wait(20)
    assert "[INFO] the result had" in capsys.readouterr().out


def test_a_query_that_fails_leaves_the_screen_with_its_error(env: TableEnvironment) -> None:
    result = env.execute_sql("SELECT CAST('x' AS INT) + n FROM (VALUES 1) AS t (n)")
    with create_pipe_input() as keys, pytest.raises(HeadraceError):
        show_on_screen(result, _how("table"), keys=keys, output=DummyOutput())
