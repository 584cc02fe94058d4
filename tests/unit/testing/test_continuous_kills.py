"""Continuous mode without Spark, its process killed again and again: every record counts once.

Also in the narrowest places: when an epoch counts and its sink does not know it yet, and when the
sink has committed and nobody has noted it.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from killing import kill_again_and_again, run_to_end

if TYPE_CHECKING:
    from pathlib import Path

NUMBERS = 6_000
PROGRAM = """
import os, signal, sys
from pathlib import Path
from headrace.common import Configuration, Types
from headrace.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from headrace.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from headrace.datastream.connectors.file_system import FileSink, RollingPolicy
from headrace.datastream.state import ValueStateDescriptor
from headrace.connectors.files.committer import FileCommitter
from headrace.hosts.continuous.epochs import Epochs

folder, count, where = sys.argv[1], int(sys.argv[2]), sys.argv[3]

def die_once(name):
    def wrap(method):
        def run(*args, **kwargs):
            if where == f"before {name}" and not Path(folder, "died").exists() and args[1] > 0:
                Path(folder, "died").touch()
                os.kill(os.getpid(), signal.SIGKILL)
            found = method(*args, **kwargs)
            if where == f"after {name}" and not Path(folder, "died").exists() and args[1] > 0:
                Path(folder, "died").touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return found
        return run
    return wrap

FileCommitter.commit = die_once("commit")(FileCommitter.commit)
Epochs.finish = die_once("finish")(Epochs.finish)

class Total(KeyedProcessFunction):
    def open(self, runtime_context):
        self.total = runtime_context.get_state(ValueStateDescriptor("total", Types.LONG()))

    def process_element(self, value, ctx):
        self.total.update((self.total.value() or 0) + value)
        yield {"value": value, "total": self.total.value()}

configuration = Configuration()
configuration.set_string("headrace.execution.host", "local")
configuration.set_string("headrace.execution.mode", "continuous")
configuration.set_string("execution.checkpointing.dir", f"{folder}/checkpoint")
configuration.set_string("execution.checkpointing.interval", "30 ms")
configuration.set_string("headrace.checkpoint.lease", "1 s")
env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(2)
limit = RateLimiterStrategy.per_second(2000)
numbers = env.from_source(
    DataGeneratorSource(lambda n: n + 1, count, limit, Types.LONG()), None, "numbers"
).uid("numbers")
totals = numbers.key_by(lambda n: n % 3).process(Total()).uid("total")
# some parts grow over epochs, and some over kills
rolling = RollingPolicy.default_rolling_policy(rollover_interval=300)
totals.sink_to(FileSink.json(f"{folder}/out", rolling=rolling)).uid("out")
env.execute("totals")
"""


def test_a_job_that_is_killed_counts_every_record_once(tmp_path: Path) -> None:
    command = program(tmp_path, "nowhere")
    kill_again_and_again(command, lambda: epochs(tmp_path), seed=5)
    check(tmp_path)


@pytest.mark.parametrize("where", ["before commit", "after commit", "before finish"])
def test_a_driver_that_dies_while_an_epoch_is_committed_commits_it_once(
    tmp_path: Path, where: str
) -> None:
    command = program(tmp_path, where)
    died = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert died.returncode == -signal.SIGKILL, died.stderr
    run_to_end(command)
    check(tmp_path)


def program(folder: Path, where: str) -> list[str]:
    file = folder / "program.py"
    file.write_text(PROGRAM)
    return [sys.executable, str(file), str(folder), str(NUMBERS), where]


def check(folder: Path) -> None:
    rows = [
        json.loads(line)
        for file in (folder / "out").glob("part-*")
        for line in file.read_text().splitlines()
    ]
    assert sorted(row["value"] for row in rows) == list(range(1, NUMBERS + 1))
    for key in range(3):
        mine = [row for row in rows if row["value"] % 3 == key]
        # two tasks make the numbers, so sums may come in any order, but none of them twice
        totals = sorted(row["total"] for row in mine)
        assert len(set(totals)) == len(totals)
        assert totals[-1] == sum(row["value"] for row in mine)


def epochs(folder: Path) -> int:
    numbers = [int(file.stem) for file in (folder / "checkpoint/continuous/epochs").glob("*.json")]
    return max(numbers, default=-1)
