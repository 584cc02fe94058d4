"""Continuous mode without Spark: wherever epochs end and tasks fail, every record counts once.

A program with two exchanges runs in threads; its function fails at drawn records, its epochs end at
drawn moments.  What stands in files afterwards must be what an undisturbed run would have written.
"""

from __future__ import annotations

import shutil
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.common import Configuration, Types
from headrace.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from headrace.datastream.connectors.file_system import FileSink
from headrace.datastream.connectors.python_source import PythonSource
from headrace.datastream.state import ValueStateDescriptor
from headrace.spi.source import Boundedness

PAIR = Types.TUPLE([Types.STRING(), Types.LONG()])
KEYS = "abcdef"


class Splits(PythonSource):
    """Numbered records in several splits, given little by little."""

    def __init__(self, splits: list[int], step: int) -> None:
        self.sizes = splits
        self.step = step

    def splits(self) -> list[str]:
        return [f"s{number}" for number in range(len(self.sizes))]

    def latest_offset(self, split: str, start: int) -> int:
        return min(self.sizes[int(split[1:])], start + self.step)

    def is_exhausted(self, position: dict[str, int]) -> bool:
        return all(at >= self.sizes[int(split[1:])] for split, at in position.items())

    def read(self, split: str, start: int, end: int) -> Any:
        for number in range(start, end):
            yield KEYS[(number * 7 + int(split[1:])) % len(KEYS)], number

    def boundedness(self) -> Boundedness:
        return Boundedness.BOUNDED

    def produced_type(self) -> Any:
        return PAIR


class Running(KeyedProcessFunction):
    """The running sum of a key; fails once for every file that tells it to."""

    def __init__(self, orders: str, every: int) -> None:
        self.orders = orders
        self.every = every

    def open(self, runtime_context: Any) -> None:
        self.total = runtime_context.get_state(ValueStateDescriptor("total", Types.LONG()))
        self.seen = 0

    def process_element(self, value: Any, ctx: Any) -> Any:
        self.seen += 1
        if self.seen % self.every == 0:
            order = next(iter(sorted(Path(self.orders).glob("*"))), None)
            if order is not None:
                order.unlink(missing_ok=True)
                raise RuntimeError("ordered to fail")
        total = (self.total.value() or 0) + value[1]
        self.total.update(total)
        yield value[0], total


def expected(sizes: list[int]) -> dict[str, int]:
    """The last sum of every key: that of all its records."""
    totals: dict[str, int] = defaultdict(int)
    for split, size in enumerate(sizes):
        for number in range(size):
            totals[KEYS[(number * 7 + split) % len(KEYS)]] += number
    return dict(totals)


@settings(max_examples=25)
@given(
    sizes=st.lists(st.integers(0, 300), min_size=1, max_size=4),
    step=st.integers(1, 200),
    parallelism=st.integers(1, 3),
    failures=st.integers(0, 3),
    every=st.integers(5, 120),
    interval_ms=st.sampled_from([5, 20, 100, 10_000]),
    buffer_ms=st.sampled_from([-1, 0, 3, 100]),
)
def test_every_record_counts_once(
    sizes: list[int],
    step: int,
    parallelism: int,
    failures: int,
    every: int,
    interval_ms: int,
    buffer_ms: int,
) -> None:
    folder = Path(tempfile.mkdtemp(prefix="headrace-property-"))
    try:
        orders = folder / "orders"
        orders.mkdir()
        for number in range(failures):
            (orders / str(number)).touch()
        configuration = Configuration()
        for key, value in {
            "headrace.execution.host": "local",
            "headrace.execution.mode": "continuous",
            "execution.checkpointing.dir": str(folder / "checkpoint"),
            "execution.checkpointing.interval": f"{interval_ms} ms",
            "execution.buffer-timeout.interval": f"{buffer_ms} ms",
            "restart-strategy.type": "fixed-delay",
            "restart-strategy.fixed-delay.attempts": "10",
            "restart-strategy.fixed-delay.delay": "1 ms",
        }.items():
            configuration.set_string(key, value)
        env = StreamExecutionEnvironment.get_execution_environment(configuration)
        env.set_parallelism(parallelism)
        sums = (
            env.from_source(Splits(sizes, step), None, "splits")
            .key_by(lambda pair: pair[0])
            .process(Running(str(orders), every), output_type=PAIR)
            .key_by(lambda pair: pair[0])
            .map(lambda pair: f"{pair[0]} {pair[1]}")
        )
        sums.sink_to(FileSink.text(str(folder / "out")))
        env.execute("sums")
        written: dict[str, list[int]] = defaultdict(list)
        for file in (folder / "out").glob("part-*"):
            for line in file.read_text().splitlines():
                key, total = line.split()
                written[key].append(int(total))
        assert sum(map(len, written.values())) == sum(sizes)
        assert {key: max(found) for key, found in written.items()} == {
            key: total for key, total in expected(sizes).items() if key in written
        }
        assert set(expected(sizes)) == set(written)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.parametrize("parallelism", [1, 2])
def test_order_within_a_split_is_kept(parallelism: int) -> None:
    configuration = Configuration()
    configuration.set_string("headrace.execution.host", "local")
    configuration.set_string("headrace.execution.mode", "continuous")
    configuration.set_string("execution.checkpointing.interval", "7 ms")
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(parallelism)
    records = env.from_source(Splits([500, 400], 30), None, "splits")
    with records.key_by(lambda pair: pair[0]).map(lambda pair: pair).execute_and_collect() as found:
        per_key: dict[str, list[int]] = defaultdict(list)
        for key, number in found:
            per_key[key].append(number)
    for key, numbers in per_key.items():
        first = [n for n in range(500) if KEYS[(n * 7) % 6] == key]
        assert [n for n in numbers if n in set(first)][: len(first)], key
    assert sum(map(len, per_key.values())) == 900
