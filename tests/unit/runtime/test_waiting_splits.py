"""A split holds event time from the moment it is known, also before its first record."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from headrace.common import Types, WatermarkStrategy
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors.python_source import PythonSource
from headrace.datastream.window import TumblingEventTimeWindows
from headrace.hosts.admission import ranges_between
from headrace.runtime.watermarks import GONE, Valve
from headrace.spi.source import Boundedness
from headrace.testing import LocalRunner

if TYPE_CHECKING:
    from collections.abc import Iterator

# what each split holds; a test appends to it while the source is read
LOGS: dict[str, list[int]] = {}


class Logs(PythonSource):
    def __init__(self, *, bounded: bool = False) -> None:
        self.bounded = bounded

    def splits(self) -> list[str]:
        return sorted(LOGS)

    def latest_offset(self, split: str, start: int) -> int:
        return len(LOGS[split])

    def read(self, split: str, start: int, end: int) -> Iterator[int]:
        yield from LOGS[split][start:end]

    def produced_type(self) -> Any:
        return Types.LONG()

    def boundedness(self) -> Boundedness:
        return Boundedness.BOUNDED if self.bounded else Boundedness.CONTINUOUS_UNBOUNDED


@pytest.fixture(autouse=True)
def empty_logs() -> Iterator[None]:
    LOGS.clear()
    yield
    LOGS.clear()


def sums(strategy: WatermarkStrategy, **source: bool) -> Any:
    env = StreamExecutionEnvironment.get_execution_environment()
    stamped = strategy.with_timestamp_assigner(lambda record, _: record)
    return (
        env.from_source(Logs(**source), stamped, "logs")
        .key_by(lambda record: "all", key_type=Types.STRING())
        .window(TumblingEventTimeWindows.of(10))
        .reduce(lambda a, b: a + b)
    )


def test_records_of_a_split_that_comes_later_than_the_others_are_not_late() -> None:
    LOGS.update(fast=[1, 2, 55], slow=[])
    with LocalRunner(sums(WatermarkStrategy.for_monotonous_timestamps())) as job:
        assert job.read_batch() == []  # nobody knows yet what slow will bring
        LOGS["slow"] += [3, 60]
        assert job.read_batch() == [6]
        LOGS["fast"].append(70)
        assert job.read_batch() == [55]


def test_a_split_that_waits_is_remembered_over_a_restart() -> None:
    LOGS.update(fast=[1, 25], slow=[])
    with LocalRunner(sums(WatermarkStrategy.for_monotonous_timestamps())) as job:
        assert job.read_batch() == []
        job.restart()
        LOGS["fast"].append(45)
        assert job.read_batch() == []
        LOGS["slow"] += [2, 50]
        assert job.read_batch() == [3, 25]


def test_a_split_without_records_is_left_out_when_its_time_is_over() -> None:
    LOGS.update(fast=[1, 25], silent=[])
    clock = [1000]
    patient = WatermarkStrategy.for_monotonous_timestamps().with_idleness("100 ms")
    with LocalRunner(sums(patient), clock=lambda: clock[0]) as job:
        assert job.read_batch() == []
        clock[0] += 60
        LOGS["fast"].append(26)
        assert job.read_batch() == []  # being known is not a sign of life
        clock[0] += 41
        assert job.tick() == [1]


def test_a_split_that_a_small_batch_leaves_out_holds_the_clock() -> None:
    LOGS.update(a=[1, 25, 26], b=[2, 27, 28])
    with LocalRunner(sums(WatermarkStrategy.for_monotonous_timestamps(), bounded=True)) as job:
        found = [result for _ in range(6) for result in job.read_batch(1)]
        assert [*found, *job.end_of_input()] == [3, 106]


def test_a_split_of_a_bounded_source_that_is_read_to_its_end_waits_for_nothing() -> None:
    LOGS.update(empty=[], full=[1, 2])
    bounded, unbounded = Logs(bounded=True), Logs()
    start = {"empty": 0, "full": 0}
    end = {"empty": 0, "full": 1}
    assert list(ranges_between(bounded, start, end)) == [("full", 0, 1)]
    assert list(ranges_between(bounded, end, end)) == [("full", 1, 1)]
    assert list(ranges_between(unbounded, start, end)) == [("empty", 0, 0), ("full", 0, 1)]


def test_the_lowest_watermark_tells_a_valve_of_splits_only() -> None:
    splits, subtasks = Valve({0: 0}), Valve({0: 2})
    low = -(1 << 63)
    assert splits.update(0, "a", 10) == 10
    assert splits.update(0, "b", low) is None
    assert splits.update(0, "a", 20) is None
    assert splits.update(0, "b", 15) == 15
    subtasks.update(0, "1", low)
    assert subtasks.channels == {0: {}}


class Passing(Logs):
    """Splits come and go: one that is not in the table any more is not read any more."""

    def rests(self, split: str, at: int) -> bool:
        return split not in LOGS


def test_a_split_that_is_not_read_any_more_lets_the_clock_go() -> None:
    LOGS.update(gone=[1, 5], stays=[2, 55])
    env = StreamExecutionEnvironment.get_execution_environment()
    stamped = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda record, _: record
    )
    stream = (
        env.from_source(Passing(), stamped, "logs")
        .key_by(lambda record: "all", key_type=Types.STRING())
        .window(TumblingEventTimeWindows.of(10))
        .reduce(lambda a, b: a + b)
    )
    with LocalRunner(stream) as job:
        assert job.read_batch() == []  # the clock is at 4
        del LOGS["gone"]
        assert job.read_batch() == [8]
        job.restart()
        LOGS["gone"] = [1, 5, 57]  # it comes back, and counts again
        LOGS["stays"].append(75)
        assert job.read_batch() == []
        LOGS["gone"].append(90)
        assert job.read_batch() == [112]


def test_a_valve_forgets_a_split_that_is_gone() -> None:
    valve = Valve({0: 0})
    valve.update(0, "a", 5)
    valve.update(0, "b", 9)
    assert valve.update(0, "a", GONE) == 9
    assert valve.channels == {0: {"b": 9}}
    assert valve.update(0, "b", GONE) is None  # nobody is left, and the clock stays
    assert valve.current == 9
    assert valve.update(0, "c", 12) == 12
