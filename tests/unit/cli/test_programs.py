"""Programs that the command line loads: scripts and functions, explained or refused; no Spark."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from headrace.cli.main import app
from headrace.cli.program import capture_program, run_program
from headrace.cli.run import _is_attached
from headrace.cli.settings import read_settings
from headrace.common.configuration import Configuration
from headrace.control.agent import LAUNCH_VARIABLE, LOG_VARIABLE
from headrace.control.registry import JobRegistry
from headrace.errors import ConfigurationError, InvalidArgumentError
from patience import PATIENCE_S, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

SCRIPT = """
import sys
from helper_of_script import double
from headrace.datastream import StreamExecutionEnvironment

class Mine:
    pass

assert __name__ == "__main__"
assert sys.modules["__main__"].Mine is Mine
env = StreamExecutionEnvironment.get_execution_environment()
numbers = env.from_collection([1, 2]).map(double).name(" ".join(sys.argv[1:]))
numbers.print()
result = env.execute("first")
assert list(numbers.execute_and_collect("second")) == []
"""
FUNCTIONS = """
import sys
from headrace.datastream import StreamExecutionEnvironment

def build(env):
    env.from_collection([1]).print()

def executes(env):
    build(env)
    env.execute("by hand")

def alone():
    build(env := StreamExecutionEnvironment.get_execution_environment())
    env.execute(sys.argv[1])

def many(one, two):
    pass

def nothing():
    pass

def ends():
    alone()
    sys.exit(3)

def fails():
    alone()
    raise KeyError("result")
"""


@pytest.fixture(autouse=True)
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HEADRACE_HOME", str(tmp_path / "home"))
    Path("pipeline.py").write_text(SCRIPT)
    Path("helper_of_script.py").write_text("def double(n):\n    return n * 2\n")
    Path("functions_of_test.py").write_text(FUNCTIONS)
    variables = dict(os.environ)
    yield tmp_path
    for name in ("helper_of_script", "functions_of_test"):
        sys.modules.pop(name, None)
    for added in set(os.environ) - set(variables):
        del os.environ[added]


def names(target: str, *arguments: str) -> list[str]:
    return [captured.name for captured in capture_program(target, arguments)[0]]


def test_a_script_is_run_as_python_would_and_its_programs_are_captured() -> None:
    before = sys.argv, list(sys.path), sys.modules["__main__"]
    captured, error = capture_program("pipeline.py", ["--name", "of the step"])
    assert error is None
    assert [one.name for one in captured] == ["first", "second"]
    assert [step.name for step in captured[0].graph.steps][1] == "--name of the step"
    assert (sys.argv, sys.path, sys.modules["__main__"]) == before


def test_a_function_takes_nothing_or_an_environment() -> None:
    assert names("functions_of_test:build") == ["build"]
    assert names("functions_of_test:executes") == ["by hand"]
    assert names("functions_of_test:alone", "from argv") == ["from argv"]
    assert names("functions_of_test:nothing") == []
    assert names("functions_of_test:ends", "before") == ["before"]


def test_an_error_behind_the_first_job_is_told_beside_the_plan() -> None:
    captured, error = capture_program("functions_of_test:fails", ["job"])
    assert [one.name for one in captured] == ["job"]
    assert isinstance(error, KeyError)


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("pipelin.py", "there is no script 'pipelin.py'"),
        ("pipeline", "neither a script nor module:function"),
        ("no_such_module:main", "there is no module 'no_such_module'"),
        ("functions_of_test:bild", "has no function 'bild'"),
        ("functions_of_test:many", "needs 2 arguments"),
        ("broken.py", "is not a Python script"),
    ],
)
def test_a_program_that_is_not_there_is_refused(target: str, said: str) -> None:
    Path("broken.py").write_text("def (:\n")
    with pytest.raises(InvalidArgumentError, match=said):
        run_program(target, [])


def test_the_nearest_name_is_offered() -> None:
    for target, near in (("pipelin.py", "pipeline.py"), ("functions_of_test:bild", "build")):
        with pytest.raises(InvalidArgumentError) as caught:
            run_program(target, [])
        assert near in str(caught.value.fix)


def test_a_module_that_a_program_misses_is_the_programs_error() -> None:
    Path("needs.py").write_text("import no_such_package_of_mine\n")
    with pytest.raises(ModuleNotFoundError):
        run_program("needs:main", [])
    sys.modules.pop("needs", None)


def test_settings_of_the_command_line() -> None:
    settings = read_settings(
        ["pipeline.object-reuse=true", "spark.executor.memory = 2g"],
        parallelism=3,
        master="local[3]",
        name="orders",
    )
    assert settings == {
        "pipeline.object-reuse": "true",
        "spark.executor.memory": "2g",
        "parallelism.default": "3",
        "spark.master": "local[3]",
        "pipeline.name": "orders",
        "headrace.jobs.unique-names": "true",
    }
    for wrong in ("parallelism.default", "=3", "paralelism.default=3", "parallelism.default=many"):
        with pytest.raises(ConfigurationError):
            read_settings([wrong])


# --- through the command line --------------------------------------------------------------------


def headrace(*words: str) -> Any:
    return CliRunner().invoke(app, list(words))


def test_explain_prints_plans_as_text_and_json() -> None:
    text = headrace("explain", "functions_of_test:alone", "a job")
    assert text.exit_code == 0
    assert "job 'a job'\nOne streaming query" in text.stdout
    told = headrace("explain", "-p", "3", "--json", "pipeline.py")
    jobs = json.loads(told.stdout)["jobs"]
    assert [job["name"] for job in jobs] == ["first", "second"]
    assert [node["pact"] for node in jobs[0]["plan"]["nodes"]] == [
        "Data Source",
        "Operator",
        "Data Sink",
    ]
    assert {node["parallelism"] for node in jobs[0]["plan"]["nodes"]} == {3}
    only = json.loads(headrace("explain", "--json", "--job", "second", "pipeline.py").stdout)
    assert [job["name"] for job in only["jobs"]] == ["second"]


def test_explain_says_when_there_is_nothing() -> None:
    empty = headrace("explain", "functions_of_test:nothing")
    assert empty.exit_code == 2
    assert "executes nothing" in empty.stderr
    broken = headrace("explain", "--json", "no_script.py")
    assert broken.exit_code == 2
    assert json.loads(broken.stdout)["error"]["condition"] == "INVALID_ARGUMENT"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["no_script.py"], "there is no script"),
        (["-D", "paralelism.default=3", "pipeline.py"], "did you mean 'parallelism.default'?"),
        (["-D", "parallelism.default", "pipeline.py"], "is not key=value"),
        (["--parallelism", "0", "pipeline.py"], "--parallelism"),
        (["--detachd", "pipeline.py"], "--detached"),
        ([], "PROGRAM"),
    ],
)
def test_run_refuses_bad_input_with_exit_code_2(words: list[str], said: str) -> None:
    found = headrace("run", *words)
    assert found.exit_code == 2
    assert said in found.stderr


def test_run_refuses_a_name_in_use_before_anything_starts(programs: Path) -> None:
    from headrace.control.registry import JobRecord, JobRegistry
    from headrace.io.processes import this_process

    me = this_process()
    running = JobRecord("ab12", "orders", "RUNNING", me.host, me.pid, me.born, 1, 1)
    JobRegistry(programs / "home" / "jobs").write(running)
    found = headrace("run", "--name", "orders", "pipeline.py")
    assert found.exit_code == 2
    assert "[JOB_NAME_IN_USE] job name 'orders' is in use by running job ab12" in found.stderr


def test_run_ends_as_the_program_does() -> None:
    Path("exits.py").write_text("import sys\nprint('hello')\nsys.exit(7)\n")
    found = headrace("run", "exits.py")
    assert (found.exit_code, found.stdout) == (7, "hello\n")
    Path("raises.py").write_text("def f():\n    return missing\n\nf()\n")
    found = headrace("run", "raises.py")
    assert found.exit_code == 1
    assert "NameError: name 'missing' is not defined" in found.stderr
    assert "cli/program.py" not in found.stderr  # only the program's own frames
    found = headrace("run", "--json", "raises.py")
    told = json.loads(found.stdout)
    assert (told["exit_code"], told["error"]["condition"]) == (1, "NameError")


@pytest.mark.parametrize("log", [None, "driver.log"])
def test_lines_of_a_log_tell_when_and_those_of_a_terminal_do_not(log: str | None) -> None:
    Path("warns.py").write_text("import logging\nlogging.getLogger('theirs').warning('look')\n")
    done = subprocess.run(
        [sys.executable, "-m", "headrace.cli", "run", "warns.py"],
        env={**os.environ, **({} if log is None else {LOG_VARIABLE: log})},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    first, second, *_ = done.stderr.splitlines()
    if log is None:
        assert (first, second) == ("running warns.py", "look")
    else:
        when = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} "
        assert re.fullmatch(f"{when}INFO headrace.progress: running warns.py", first)
        assert re.fullmatch(f"{when}WARNING theirs: look", second)


def test_a_wrong_program_is_bad_input_since_nothing_ran() -> None:
    Path("empty.py").write_text(
        "from headrace.datastream import StreamExecutionEnvironment\n"
        "StreamExecutionEnvironment.get_execution_environment().set_parallelism(0)\n"
    )
    found = headrace("run", "empty.py")
    assert found.exit_code == 2
    assert "[INVALID_ARGUMENT] parallelism must be a positive number" in found.stderr


def test_a_job_that_is_not_attached_is_detached_once(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _is_attached({})
    assert not _is_attached({"execution.attached": "false"})
    monkeypatch.setenv("HEADRACE_EXECUTION_ATTACHED", "false")
    assert not _is_attached({})
    monkeypatch.setenv(LAUNCH_VARIABLE, "the process that the detached run started")
    assert _is_attached({"execution.attached": "false"})


ENDLESS = """
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors.number_seq import NumberSequenceSource
from headrace.common import WatermarkStrategy

env = StreamExecutionEnvironment.get_execution_environment()
numbers = env.from_source(
    NumberSequenceSource(0, 10**15), WatermarkStrategy.no_watermarks(), "numbers"
)
numbers.filter(lambda n: False).print()
print("ready", flush=True)
env.execute("endless")
"""


def test_a_service_manager_ends_jobs_as_ctrl_c_does(programs: Path) -> None:
    Path("endless.py").write_text(ENDLESS)
    words = [sys.executable, "-m", "headrace.cli", "run", "-D",
             "headrace.execution.host=local", "endless.py"]  # fmt: skip
    running = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert running.stdout is not None
        assert running.stdout.readline() == "ready\n"
        wait_until(lambda: "RUNNING" in _states())
        running.send_signal(signal.SIGTERM)
        _, told = running.communicate(timeout=PATIENCE_S)
    finally:
        running.kill()
    assert running.returncode == 143
    assert "cancelled" in told
    assert _states() == ["CANCELED"]


def _states() -> list[str]:
    return [record.state for record in JobRegistry.of(Configuration()).all()]
