"""The judge of Flink's SQL client scripts, on a script of our own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from flink_scripts import report
from flink_scripts.java import reason, with_twins
from flink_scripts.report import FAIL, JVM, PASS, outcomes
from flink_scripts.script import steps_of

if TYPE_CHECKING:
    from pathlib import Path

SCRIPT = """# a comment; with a semicolon

-- another
SELECT ';
', /* ; */ 1;
nothing of this
!ok

SET 'a' = 'b';
[INFO] Execute statement succeeded.
!info
"""

RUN = """SET 'sql-client.execution.result-mode' = 'tableau';
[INFO] Execute statement succeeded.
!info

SELECT 1 AS n;
+----+-------------+
| op |           n |
+----+-------------+
| +I |           1 |
+----+-------------+
Received a total of 1 row
!ok

SELECT 2 AS n;
Empty set
!ok

use nowhere;
[ERROR] Could not execute SQL statement. Reason:
some.CatalogException: it says it in other words
!error

show catalogs;
[ERROR] Could not execute SQL statement. Reason:
some.CatalogException: headrace does not refuse it
!error

DELETE FROM t;
[ERROR] Could not execute SQL statement. Reason:
some.ValidationException: headrace refuses it for another reason
!error

create function lower_it as 'LowerUDF' LANGUAGE JAVA;
[INFO] Execute statement succeeded.
!info

SELECT lower_it('ABC') AS s;
+----+--------------------------------+
| op |                              s |
+----+--------------------------------+
| +I |                            abc |
+----+--------------------------------+
Received a total of 1 row
!ok

create table t (a int) with (
  'connector' = 'values'
);
[INFO] Execute statement succeeded.
!info

show create table t;
+--------+
| result |
+--------+
| CREATE TABLE `default_catalog`.`default_database`.`t` (
  `a` INT
)
WITH (
  'connector' = 'values'
)
 |
+--------+
1 row in set
!ok
"""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HEADRACE_HEADRACE_EXECUTION_HOST", "local")


def test_a_statement_ends_where_the_client_ends_it() -> None:
    first, second = steps_of(SCRIPT)
    assert (first.line, first.expected, first.tag) == (3, "nothing of this", "ok")
    assert first.statement.splitlines()[1:] == ["SELECT ';", "', /* ; */ 1;"]
    assert (second.line, second.statement, second.tag) == (9, "SET 'a' = 'b';", "info")


def test_each_statement_is_judged() -> None:
    found = [(each.word, each.step.statement.split()[0]) for each in outcomes(RUN)]
    assert found == [
        (PASS, "SET"),
        (PASS, "SELECT"),
        (FAIL, "SELECT"),
        (PASS, "use"),
        (FAIL, "show"),
        (FAIL, "DELETE"),
        (JVM, "create"),
        (PASS, "SELECT"),
        (PASS, "create"),
        (PASS, "show"),
    ]


def test_classes_of_java_have_twins() -> None:
    made = with_twins("create function f as 'LowerUDF' using jar '/a.jar';")
    assert made == "create function f AS 'flink_scripts.functions.LowerUDF' LANGUAGE PYTHON;"
    assert reason("SHOW JARS;", "Empty set") is not None
    assert reason("show user functions;", "Empty set") is None


def test_fewer_passes_than_before_are_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(report, "PASSES", tmp_path / "passes.txt")
    report.PASSES.write_text("3\n")
    assert [report._guard(passed) for passed in (2, 3, 4)] == [1, 0, 0]
    assert "write 4 there" in capsys.readouterr().out
