"""A job without Spark whose process is killed again and again: every record counts once."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

NUMBERS = 4_000
PROGRAM = """
import sys
from headrace.common import Configuration, Types
from headrace.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from headrace.datastream.connectors.file_system import FileSink
from headrace.datastream.state import ValueStateDescriptor

class Total(KeyedProcessFunction):
    def open(self, runtime_context):
        self.total = runtime_context.get_state(ValueStateDescriptor("total", Types.LONG()))

    def process_element(self, value, ctx):
        self.total.update((self.total.value() or 0) + value)
        yield {"value": value, "total": self.total.value()}

folder = sys.argv[1]
configuration = Configuration()
configuration.set_string("headrace.execution.host", "local")
configuration.set_string("execution.checkpointing.dir", f"{folder}/checkpoint")
configuration.set_string("headrace.checkpoint.lease", "1 s")
configuration.set_string("source.max-records-per-batch", "40")
env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(2)
numbers = env.from_sequence(0, int(sys.argv[2]) - 1).uid("numbers")
totals = numbers.key_by(lambda n: n % 3).process(Total()).uid("total")
totals.sink_to(FileSink.json(f"{folder}/out")).uid("out")
env.execute("totals")
"""


def test_a_job_that_is_killed_counts_every_record_once(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    command = [sys.executable, str(program), str(tmp_path), str(NUMBERS)]
    dice = random.Random(5)
    killed = 0
    for _ in range(4):
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        before = _batches(tmp_path)
        deadline = time.monotonic() + 60
        while process.poll() is None and _batches(tmp_path) < before + 3:
            assert time.monotonic() < deadline
            time.sleep(0.005)
        time.sleep(dice.random() * 0.1)
        killed += process.poll() is None
        process.kill()
        process.communicate()
    assert killed >= 3
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    rows = [
        json.loads(line)
        for file in (tmp_path / "out").glob("part-*")
        for line in file.read_text().splitlines()
    ]
    assert sorted(row["value"] for row in rows) == list(range(NUMBERS))
    for key in range(3):
        mine = sorted((r["total"], r["value"]) for r in rows if r["value"] % 3 == key)
        total = 0
        for found, value in mine:
            total += value
            assert found == total


def _batches(folder: Path) -> int:
    return len(list((folder / "out").glob("part-*")))
