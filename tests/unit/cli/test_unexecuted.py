"""A forgotten env.execute(): `headrace run` fails, plain Python is warned, nobody else is."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from headrace.cli.main import app
from headrace.datastream.unexecuted import take_unexecuted

if TYPE_CHECKING:
    from pathlib import Path

    from typer.testing import Result

HEAD = """
from headrace.common import Configuration
from headrace.datastream import StreamExecutionEnvironment
from headrace.table import StreamTableEnvironment
local = Configuration().set_string("headrace.execution.host", "local")
"""
MAIN = """
def main():
    env = StreamExecutionEnvironment.get_execution_environment(local)
    doubled = env.from_collection([1]).map(lambda n: 2 * n)
    {0}

main()
{1}
"""
FORGOTTEN = MAIN.format("doubled.print()", "")
FORGETFUL = {
    "a sink": FORGOTTEN,
    "no sink": MAIN.format("", ""),
    "the second part": MAIN.format("doubled.print(); env.execute(); doubled.map(str).print()", ""),
    "explained, and then more": MAIN.format("doubled.print(); env.explain(); doubled.print()", ""),
    "a good end": MAIN.format("doubled.print()", "raise SystemExit(0)"),
}
FINE = {
    "nothing is built": MAIN.replace("main()\n{1}", ""),
    "executed": MAIN.format("doubled.print(); env.execute()", ""),
    "collected": MAIN.format("list(doubled.execute_and_collect())", ""),
    "explained": MAIN.format("doubled.print(); print(env.explain())", ""),
    "planned": MAIN.format("doubled.print(); print(env.get_execution_plan())", ""),
    "for SQL": MAIN.format(
        "t_env = StreamTableEnvironment.create(env);"
        "t_env.create_temporary_view('t', doubled);"
        "print(t_env.explain_sql('SELECT * FROM t'))",
        "",
    ),
}


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HEADRACE_HOME", str(tmp_path / "home"))
    take_unexecuted()  # what other tests have left
    return tmp_path / "pipeline.py"


def run(script: Path, program: str) -> Result:
    script.write_text(HEAD + program)
    return CliRunner().invoke(app, ["run", str(script)])


@pytest.mark.parametrize("name", FORGETFUL)
def test_headrace_run_fails_and_names_the_steps(script: Path, name: str) -> None:
    found = run(script, FORGETFUL[name])
    assert found.exit_code != 0
    assert "never executed" in found.stderr
    assert "at pipeline.py:" in found.stderr
    assert "env.execute()" in found.stderr


@pytest.mark.parametrize("name", FINE)
def test_who_has_forgotten_nothing_is_told_nothing(script: Path, name: str) -> None:
    found = run(script, FINE[name])
    assert found.exit_code == 0, found.stderr
    assert "never executed" not in found.stderr


def plain_python(script: Path, program: str, *command: str) -> tuple[int, str]:
    script.write_text(HEAD + program)
    found = subprocess.run(
        [sys.executable, *command, str(script)], capture_output=True, text=True, check=False
    )
    return found.returncode, found.stdout + found.stderr


def test_plain_python_is_warned_at_its_end(script: Path) -> None:
    code, told = plain_python(script, FORGOTTEN)
    assert code == 0
    assert "never executed: Print at pipeline.py:" in told


def test_a_program_that_fails_has_other_worries(script: Path) -> None:
    code, told = plain_python(script, FORGOTTEN + "\n1 / 0")
    assert code == 1
    assert "ZeroDivisionError" in told
    assert "never executed" not in told


def test_tests_of_users_are_not_warned(script: Path) -> None:
    test = FORGOTTEN.replace("def main", "def test_main").replace("\nmain()", "")
    code, told = plain_python(script, test, "-m", "pytest", "-q", "-p", "no:cacheprovider")
    assert code == 0, told
    assert "never executed" not in told
