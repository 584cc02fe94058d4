"""A job without Spark whose process is killed again and again: every record counts once."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from killing import kill_again_and_again

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
    kill_again_and_again(command, lambda: _batches(tmp_path), seed=5)
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
