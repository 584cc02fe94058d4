"""Watermark alignment on Spark: the driver's marks reach the processes that plan the sources."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from headrace.common import Time, Types, WatermarkStrategy
from headrace.datastream.connectors.base import Boundedness
from headrace.datastream.connectors.file_system import FileSink
from headrace.datastream.connectors.python_source import PythonSource
from headrace.datastream.functions import ProcessWindowFunction
from headrace.datastream.window import TumblingEventTimeWindows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from headrace.datastream import StreamExecutionEnvironment

STEPS_MS = {"fast": 100, "slow": 20}
UNTIL_MS = 2000
DRIFT_MS = 50
AT_ONCE = 10


class Paced(PythonSource):
    """Every split has records of the same two seconds, a hundred or twenty milliseconds apart."""

    def __init__(self, *names: str) -> None:
        self.names = names

    def splits(self) -> list[str]:
        return list(self.names)

    def latest_offset(self, split: str, start: int) -> int:
        return UNTIL_MS // STEPS_MS[split]

    def read(self, split: str, start: int, end: int) -> Iterator[Any]:
        return ((split, n * STEPS_MS[split]) for n in range(start, end))

    def produced_type(self) -> Any:
        return Types.TUPLE([Types.STRING(), Types.LONG()])

    def boundedness(self) -> Boundedness:
        return Boundedness.BOUNDED


class Counts(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterable[Any]:
        yield {"start": context.window().start, "count": len(list(elements))}


def test_fast_splits_wait_for_slow_ones_of_all_sources(
    make_env: Callable[..., StreamExecutionEnvironment], tmp_path: Path
) -> None:
    env = make_env(
        {
            "source.max-records-per-batch": AT_ONCE,
            "execution.checkpointing.dir": str(tmp_path / "checkpoint"),
            "execution.checkpointing.num-retained": 1000,  # all batches stay in Spark's log
        }
    )
    how = (
        WatermarkStrategy.for_monotonous_timestamps()
        .with_timestamp_assigner(lambda record: record[1])
        .with_idleness("30 s")
        .with_watermark_alignment("all", DRIFT_MS)
    )
    # the fast source is asked first, and knows of the other one by its file only
    alone = env.from_source(Paced("fast"), how, "alone").uid("alone")
    both = env.from_source(Paced("fast", "slow"), how, "both").uid("both")
    counts = (
        alone.union(both)
        .key_by(lambda _: 0)
        .window(TumblingEventTimeWindows.of(Time.milliseconds(100)))
        .process(Counts())
    )
    counts.sink_to(FileSink.json(str(tmp_path / "out")))
    env.execute("aligned")

    lines = [line for file in (tmp_path / "out").glob("*.json") for line in file.open()]
    found = {line["start"]: line["count"] for line in map(json.loads, lines)}
    assert len(lines) == UNTIL_MS // 100
    assert found == dict.fromkeys(range(0, UNTIL_MS, 100), 5 + 1 + 1)

    batches = read_positions(tmp_path / "checkpoint")
    held = [0, 0]
    for before, after in pairwise(batches):
        slow = (before[1]["slow"] - 1) * STEPS_MS["slow"]
        for number in (0, 1):
            fast = (before[number]["fast"] - 1) * STEPS_MS["fast"]
            if before[1]["slow"] * STEPS_MS["slow"] < UNTIL_MS and fast - slow > DRIFT_MS:
                assert after[number]["fast"] == before[number]["fast"], (before, after)
                held[number] += fast + STEPS_MS["fast"] < UNTIL_MS  # it had something to give
    assert min(held) > 2


def read_positions(checkpoint: Path) -> list[list[dict[str, int]]]:
    """Where each batch ended, by Spark's log: the positions of the two sources."""
    (log,) = checkpoint.rglob("offsets")
    found = []
    for file in sorted((f for f in log.iterdir() if f.name.isdigit()), key=lambda f: int(f.name)):
        _, _, *offsets = file.read_text().splitlines()
        found.append([json.loads(text) for text in offsets[:2]])
    return found
