"""The headrace command as a user's terminal has it: processes of their own, one Spark at a time."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# every start of Spark in a process of its own takes half a minute on a busy machine
pytestmark = pytest.mark.timeout(900)

ENDLESS = """
import sys
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from headrace.datastream.connectors.file_system import FileSink

env = StreamExecutionEnvironment.get_execution_environment()
source = DataGeneratorSource(lambda n: n, None, RateLimiterStrategy.per_second(50))
env.from_source(source, None, "numbers").uid("numbers").sink_to(FileSink.json(sys.argv[1]))
env.execute("not this name")
"""
COUNTING = """
import sys
from headrace.common import Types
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from headrace.datastream.connectors.file_system import FileSink

env = StreamExecutionEnvironment.get_execution_environment()
env.set_max_parallelism(16)
source = DataGeneratorSource(lambda n: n, None, RateLimiterStrategy.per_second(50))
numbers = env.from_source(source, None, "numbers").uid("numbers")
keyed = numbers.map(lambda n: (n % 3, 1), Types.TUPLE([Types.LONG(), Types.LONG()])).uid("ones")
counts = keyed.key_by(lambda one: one[0], Types.LONG()).sum(1).uid("counts")
counts.map(lambda count: count[0] * 1_000_000 + count[1], Types.LONG()).uid("codes").sink_to(
    FileSink.json(sys.argv[1])
)
env.execute("counting")
"""
BOUNDED = """
import sys
from headrace.datastream import StreamExecutionEnvironment

def main(env):
    first = 0 if sys.argv[1:] else 1
    numbers = env.from_collection([first, 2, 3])
    numbers.map(lambda n: 6 // n).print()
"""


class Terminal:
    """Runs headrace in a directory, with a registry of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.started: list[int] = []

    def headrace(self, *words: str) -> tuple[int, str, str]:
        done = subprocess.run(
            [sys.executable, "-m", "headrace.cli", *words],
            cwd=self.folder,
            env={**os.environ, "HEADRACE_HOME": str(self.folder / "home")},
            capture_output=True,
            text=True,
            timeout=280,
            check=False,
        )
        return done.returncode, done.stdout, done.stderr

    def job(self, job_id: str) -> dict[str, Any]:
        _, out, _ = self.headrace("status", job_id, "--json")
        found: dict[str, Any] = json.loads(out)
        if found["pid"] not in self.started:
            self.started.append(found["pid"])
        return found

    def numbers(self) -> list[int]:
        files = sorted((self.folder / "out").glob("*.json"))
        return sorted(int(line) for file in files for line in file.open())


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    terminal = Terminal(tmp_path)
    yield terminal
    for pid in terminal.started:
        if Path(f"/proc/{pid}").exists():
            os.killpg(pid, signal.SIGKILL)


def test_a_detached_job_is_listed_killed_resumed_and_cancelled_from_another_terminal(
    terminal: Terminal, tmp_path: Path, wait_for: Callable[..., None]
) -> None:
    (tmp_path / "pipeline.py").write_text(ENDLESS)
    checkpoint = f"execution.checkpointing.dir={tmp_path / 'cp'}"
    options = ("--detached", "-p", "1", "--name", "counting", "-D", checkpoint)
    start = ("run", *options, "pipeline.py", "out")

    code, out, err = terminal.headrace(*start)
    assert code == 0, err
    job_id = out.strip()
    assert terminal.job(job_id[:8])["state"] == "RUNNING"
    assert terminal.job("counting")["job_id"] == job_id
    code, out, _ = terminal.headrace("list", "--json")
    assert [(job["job_id"], job["name"]) for job in json.loads(out)] == [(job_id, "counting")]

    code, _, err = terminal.headrace(*start)  # the name is in use, and so is the checkpoint
    assert code == 2
    assert "[JOB_NAME_IN_USE]" in err

    wait_for(terminal.numbers)
    os.killpg(terminal.started[0], signal.SIGKILL)  # driver and JVM, without a last word
    code, out, _ = terminal.headrace("status", job_id)
    assert (code, "LOST" in out) == (1, True)
    code, _, err = terminal.headrace("cancel", job_id)
    assert (code, "is dead" in err, str(tmp_path / "cp") in err) == (2, True, True)
    before = terminal.numbers()

    code, out, err = terminal.headrace(*start)
    assert (code, out.strip()) == (0, job_id), err  # the same job, from its checkpoint
    assert terminal.job(job_id)["state"] == "RUNNING"
    wait_for(lambda: len(terminal.numbers()) > len(before))
    code, out, err = terminal.headrace("cancel", "counting", "--json")
    assert code == 0, err
    assert json.loads(out)["state"] == "CANCELED"
    assert terminal.numbers() == list(range(len(terminal.numbers())))
    assert terminal.headrace("list")[1].strip() == "no running jobs"
    code, _, err = terminal.headrace("cancel", "counting")
    assert (code, "has ended: it is CANCELED" in err) == (2, True)


def test_savepoints_of_a_detached_job_start_the_next_one(
    terminal: Terminal, tmp_path: Path, wait_for: Callable[..., None]
) -> None:
    (tmp_path / "counting.py").write_text(COUNTING)
    code, out, err = terminal.headrace("run", "-d", "-p", "1", "counting.py", "out")
    assert code == 0, err
    job_id = out.strip()
    terminal.job(job_id)
    wait_for(terminal.numbers)
    code, out, err = terminal.headrace("savepoint", "take", job_id, str(tmp_path / "s"), "--json")
    assert code == 0, err
    assert Path(json.loads(out)["savepoint"]).parent == tmp_path / "s"
    assert terminal.job(job_id)["state"] == "RUNNING"

    code, out, err = terminal.headrace("stop", job_id, "--savepoint", str(tmp_path / "s"), "--json")
    assert code == 0, err
    stopped = json.loads(out)
    assert stopped["state"] == "FINISHED"
    before = terminal.numbers()
    code, out, err = terminal.headrace(
        "savepoint", "diff", stopped["savepoint"], "counting.py", "o"
    )
    assert code == 0, out + err

    code, out, err = terminal.headrace(
        "run", "-d", "-p", "2", "-s", stopped["savepoint"], "counting.py", "out"
    )
    assert code == 0, err
    terminal.job(out.strip())
    wait_for(lambda: len(terminal.numbers()) > len(before))
    assert terminal.headrace("stop", out.strip())[0] == 0
    # every key's count goes on where it was: none is missing, none comes twice
    for key in range(3):
        counts = [code % 1_000_000 for code in terminal.numbers() if code // 1_000_000 == key]
        assert counts == list(range(1, len(counts) + 1))


def test_run_waits_for_the_end_and_its_exit_code_tells_how_it_was(
    terminal: Terminal, tmp_path: Path
) -> None:
    (tmp_path / "jobs_of_mine.py").write_text(BOUNDED)

    code, out, err = terminal.headrace("run", "-p", "1", "jobs_of_mine:main")
    assert (code, sorted(out.split())) == (0, ["2", "3", "6"]), err

    code, out, err = terminal.headrace(
        "run", "-p", "1", "-D", "restart-strategy.type=fixed-delay",
        "-D", "restart-strategy.fixed-delay.delay=10 ms", "jobs_of_mine:main", "fail",
    )  # fmt: skip
    assert code == 1
    last = err[err.index("[USER_FUNCTION]", err.index("[USER_FUNCTION]") + 1) :].splitlines()
    assert "ZeroDivisionError" in last[0]
    assert "the job was restarted once before" in last[0]
    assert last[1].strip() == "given: 0"
    assert "jobs_of_mine.py:8 numbers.map(lambda n: 6 // n)" in last[2]
    assert "Py4J" not in err
    code, out, _ = terminal.headrace("list", "--all", "--json")
    states = [(job["name"], job["state"], job["restarts"]) for job in json.loads(out)]
    assert states == [("main", "FAILED", 1), ("main", "FINISHED", 0)]
    # a program that fails at once is no detached job either
    code, _, err = terminal.headrace("run", "--detached", "jobs_of_mine:man")
    assert (code, "did you mean 'main'?" in err) == (2, True)
