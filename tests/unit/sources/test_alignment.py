"""Watermark alignment: who is held back, and that programs give the same results with it."""

from __future__ import annotations

import json
import logging
import threading
from typing import TYPE_CHECKING, Any

import pytest

from headrace.common import Configuration, Time, Types, WatermarkStrategy
from headrace.datastream import RuntimeExecutionMode, StreamExecutionEnvironment
from headrace.datastream.connectors.base import Boundedness
from headrace.datastream.connectors.file_system import FileSink
from headrace.datastream.connectors.python_source import PythonSource
from headrace.datastream.functions import ProcessWindowFunction
from headrace.datastream.window import TumblingEventTimeWindows
from headrace.errors import InvalidArgumentError
from headrace.hosts.alignment import Board, Post, SplitGate, SplitMark, counted, held_back
from headrace.hosts.spark.microbatch.commands import CommandWriter
from headrace.hosts.spark.sources.alignment_files import DriverBoard, SourceBoard
from headrace.io.storage import Storage
from headrace.spi.host import AlignedSplit
from headrace.testing import LocalRunner

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

DRIFT = 10


class Times(PythonSource):
    """Records are (split, time); the times of every split are given."""

    def __init__(self, times: dict[str, list[int]], *, bounded: bool = True) -> None:
        self.times = times
        self.bounded = bounded

    def splits(self) -> list[str]:
        return sorted(self.times)

    def latest_offset(self, split: str, start: int) -> int:
        return len(self.times[split])

    def read(self, split: str, start: int, end: int) -> Iterator[Any]:
        return ((split, time) for time in self.times[split][start:end])

    def boundedness(self) -> Boundedness:
        return Boundedness.BOUNDED if self.bounded else Boundedness.CONTINUOUS_UNBOUNDED

    def produced_type(self) -> Any:
        return Types.TUPLE([Types.STRING(), Types.LONG()])


def strategy(drift: int | None = DRIFT, idle: str | None = None) -> WatermarkStrategy:
    made = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda r: r[1])
    if idle is not None:
        made = made.with_idleness(idle)
    return made if drift is None else made.with_watermark_alignment("group", drift)


class Counts(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterable[Any]:
        yield context.window().start, len(list(elements))


def windows(*sources: Times, how: WatermarkStrategy, size: int = 10) -> Any:
    env = StreamExecutionEnvironment.get_execution_environment()
    return windows_in(env, *sources, how=how, size=size)


def windows_in(
    env: StreamExecutionEnvironment, *sources: Times, how: WatermarkStrategy, size: int = 10
) -> Any:
    """How many records each window has, over all splits."""
    first, *rest = (env.from_source(s, how, f"s{n}").uid(f"s{n}") for n, s in enumerate(sources))
    stream = first.union(*rest) if rest else first
    window = TumblingEventTimeWindows.of(Time.milliseconds(size))
    pair = Types.TUPLE([Types.LONG(), Types.LONG()])
    return stream.key_by(lambda _: 0).window(window).process(Counts(), pair)


def expected(*sources: Times, size: int = 10) -> list[tuple[int, int]]:
    found: dict[int, int] = {}
    for source in sources:
        for times in source.times.values():
            for time in times:
                found[time // size * size] = found.get(time // size * size, 0) + 1
    return sorted(found.items())


# --- the choice ----------------------------------------------------------------------------------


def mark(watermark: int, *, drift: int = DRIFT, idle: int | None = None, at: int = 0) -> SplitMark:
    return SplitMark(watermark, drift, idle, at)


def test_what_is_further_ahead_than_the_drift_is_held_back() -> None:
    marks = {"a": mark(100), "b": mark(110), "c": mark(111)}
    assert held_back([(marks, ["a", "b", "c"])]) == {"c"}


def test_only_the_active_ones_are_waited_for() -> None:
    marks = {"a": mark(0), "b": mark(110), "c": mark(111)}
    assert held_back([(marks, ["b", "c"])]) == set()


def test_each_split_has_the_drift_of_its_own_strategy() -> None:
    marks = {"a": mark(0), "b": mark(50, drift=60), "c": mark(50, drift=40)}
    assert held_back([(marks, ["a"])]) == {"c"}


def test_without_anybody_active_nobody_is_held_back() -> None:
    assert held_back([({"a": mark(0), "b": mark(1000)}, [])]) == set()


def test_two_groups_that_disagree_do_not_wait_for_each_other_for_ever() -> None:
    groups = [{"a": mark(0), "b": mark(100)}, {"a": mark(100), "b": mark(0)}]
    assert held_back((marks, ["a", "b"]) for marks in groups) == set()
    assert held_back((marks, ["a", "b"]) for marks in [groups[0], groups[0]]) == {"b"}


@pytest.mark.parametrize(
    ("post", "idle", "own", "answer"),
    [
        (Post(waiting=True, taken=False, since_ms=0), None, True, True),
        (Post(waiting=True, taken=False, since_ms=None), None, False, True),
        (Post(waiting=False, taken=False, since_ms=900), None, True, False),
        (Post(waiting=False, taken=True, since_ms=900), None, False, True),
        (Post(waiting=False, taken=False, since_ms=900), None, False, False),
        (Post(waiting=False, taken=True, since_ms=None), None, False, False),
        (Post(waiting=False, taken=False, since_ms=900), 100, True, True),
        (Post(waiting=False, taken=True, since_ms=899), 100, False, False),
        (Post(waiting=False, taken=True, since_ms=None), 100, False, False),
    ],
)
def test_who_is_waited_for(post: Post, idle: int | None, *, own: bool, answer: bool) -> None:
    assert counted(mark(0, idle=idle), post, 1000, own=own) is answer


def test_a_split_without_records_so_far_waits_for_nobody_and_nobody_waits_for_it() -> None:
    board = Board(lambda: 0)
    source = Times({"a": [5, 6], "b": [], "c": [1]})
    board.note({"group": {"s0/a": AlignedSplit(100, DRIFT, None)}})
    gate = SplitGate(board, source, "s0", lambda: 0)
    begin = {"a": 0, "b": 0, "c": 0}
    assert gate.next_position(begin, {"a": 2, "b": 0, "c": 1}, None) == {"a": 2, "b": 0, "c": 1}


def test_a_split_that_appears_begins_where_it_says() -> None:
    board = Board(lambda: 0)
    board.note(
        {"group": {"s0/a": AlignedSplit(100, DRIFT, None), "s0/b": AlignedSplit(0, DRIFT, None)}}
    )
    gate = SplitGate(board, Times({"a": [1], "b": [1], "n": [1]}), "s0", lambda: 0)
    assert gate.next_position({"a": 0, "b": 0}, {"a": 1, "b": 1, "n": 0}, 10) == {
        "a": 0,
        "b": 1,
        "n": 0,
    }


def test_a_held_split_gives_its_share_of_the_batch_to_the_others() -> None:
    board = Board(lambda: 0)
    board.note(
        {"group": {"s0/a": AlignedSplit(100, DRIFT, None), "s0/b": AlignedSplit(0, DRIFT, None)}}
    )
    gate = SplitGate(board, Times({"a": [1] * 50, "b": [1] * 50}), "s0", lambda: 0)
    end = gate.next_position({"a": 0, "b": 0}, {"a": 50, "b": 50}, 20)
    assert end == {"a": 0, "b": 20}


def test_groups_do_not_wait_for_each_other() -> None:
    board = Board(lambda: 0)
    board.note(
        {
            "x": {"s0/a": AlignedSplit(100, DRIFT, None)},
            "y": {"s0/b": AlignedSplit(0, DRIFT, None)},
        }
    )
    gate = SplitGate(board, Times({"a": [1], "b": [1]}), "s0", lambda: 0)
    assert gate.next_position({"a": 0, "b": 0}, {"a": 1, "b": 1}, 10) == {"a": 1, "b": 1}


def test_a_silent_split_is_waited_for_until_its_idle_timeout() -> None:
    now = [0]
    board = Board(lambda: now[0])
    source = Times({"a": [1] * 9, "b": [1]}, bounded=False)
    gate = SplitGate(board, source, "s0", lambda: now[0])
    start = {"a": 0, "b": 0}
    start = gate.next_position(start, {"a": 9, "b": 1}, 2)
    assert start == {"a": 1, "b": 1}
    board.note({"g": {"s0/a": AlignedSplit(99, DRIFT, 50), "s0/b": AlignedSplit(0, DRIFT, 50)}})
    now[0] = 50
    assert gate.next_position(start, {"a": 9, "b": 1}, 2) == start
    now[0] = 51
    assert gate.next_position(start, {"a": 9, "b": 1}, 2) == {"a": 3, "b": 1}


def test_tasks_that_report_at_the_same_time_are_both_heard() -> None:
    """In continuous mode every task's line has a thread of its own."""
    board = Board(lambda: 0)

    def mark(name: str) -> dict[str, dict[str, AlignedSplit]]:
        return {"group": {name: AlignedSplit(7, DRIFT, None)}}

    other = threading.Thread(target=lambda: board.note(mark("b")))

    class Slow(dict[str, dict[str, AlignedSplit]]):
        def items(self) -> Any:
            other.start()
            other.join(0.1)  # it is over, or waits
            return super().items()

    board.note(Slow(mark("a")))
    other.join(30)
    assert set(board.marks()["group"]) == {"a", "b"}


def test_marks_never_go_back() -> None:
    board = Board(lambda: 0)
    board.note({"g": {"s0/a": AlignedSplit(100, DRIFT, None)}})
    board.note({"g": {"s0/a": AlignedSplit(90, DRIFT, None)}})
    assert board.marks()["g"]["s0/a"].watermark == 100


def test_what_waits_for_another_split_is_not_idle() -> None:
    now = [0]
    board = Board(lambda: now[0])
    board.note(
        {
            "g": {
                "s0/fast": AlignedSplit(100, DRIFT, 50),
                "s0/slow": AlignedSplit(0, DRIFT, 50),
                "s1/near": AlignedSplit(5, DRIFT, 50),
                "s1/never": AlignedSplit(100, DRIFT, None),
            }
        }
    )
    assert board.not_idle() == ["s0/fast"]
    now[0] = 101  # nobody waits any more for what has been silent for so long
    assert board.not_idle() == []


# --- programs ------------------------------------------------------------------------------------

# ten records of the fast split are 400 ms of event time, ten of the slow one 40 ms
FAST_AND_SLOW = {"fast": list(range(0, 4000, 40)), "slow": list(range(0, 4000, 4))}


def run_to_end(*sources: Times, how: WatermarkStrategy, at_once: int) -> tuple[list[Any], int]:
    """The results, and the most windows that were open at a time."""
    found: list[Any] = []
    most = 0
    with LocalRunner(windows(*sources, how=how), parallelism=1) as job:
        before = None
        while before != job.positions:
            before = job.positions
            found += job.read_batch(at_once)
            read = [
                Times({name: times[: position[name]] for name, times in source.times.items()})
                for source, position in zip(sources, job.positions, strict=True)
            ]
            most = max(most, len(expected(*read)) - len(found))
        found += job.end_of_input()
    return sorted(found), most


@pytest.mark.parametrize("source_count", [1, 2])
def test_alignment_bounds_the_open_windows_and_changes_no_result(source_count: int) -> None:
    sources = [Times(FAST_AND_SLOW)]
    if source_count == 2:
        sources = [Times({name: times}) for name, times in FAST_AND_SLOW.items()]
    free, many = run_to_end(*sources, how=strategy(None), at_once=20)
    aligned, few = run_to_end(*sources, how=strategy(50), at_once=20)
    assert free == aligned == expected(*sources)
    # what a batch brings, 20 records, and the drift: far from all that the fast split has
    assert few <= 20 + 50 // 10
    assert many > 80


def test_a_restart_forgets_who_was_ahead_and_loses_nothing() -> None:
    source = Times(FAST_AND_SLOW)
    with LocalRunner(windows(source, how=strategy()), parallelism=1) as job:
        found = job.read_batch(10) + job.read_batch(10)
        assert job.positions == [{"fast": 5, "slow": 15}]
        job.restart()
        found += job.read_batch(10)
        assert job.positions == [{"fast": 10, "slow": 20}]
        for _ in range(200):
            found += job.read_batch(10)
        found += job.end_of_input()
    assert sorted(found) == expected(source)


def test_a_batch_that_failed_is_read_as_it_was_whoever_is_ahead_now() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    poison = [True]
    stream = env.from_source(Times(FAST_AND_SLOW), strategy(), "s").uid("s")

    def choke(record: Any) -> Any:
        if record[1] == 24 and poison:
            raise ValueError("choked")
        return record

    with LocalRunner(stream.map(choke), parallelism=1) as job:
        job.read_batch(10)
        with pytest.raises(Exception, match="choked"):
            job.read_batch(10)
        poison.clear()
        job.restart()
        again = job.read_batch(10)
    # without the plan both splits would be read: nobody is known to be ahead after a restart
    assert [record for record in again if record[0] == "fast"] == []


def test_a_split_that_is_held_back_does_not_become_idle() -> None:
    source = Times({"a": [100, 150, 450, 600], "b": [0, 1, 2, 3, 500, 501, 900]})
    now = [0]
    found = []
    stream = windows(source, how=strategy(idle="1 s"))
    with LocalRunner(stream, parallelism=1, clock=lambda: now[0]) as job:
        for _ in range(8):
            found += job.read_batch(2)
            now[0] += 5_000
        found += job.end_of_input()
    assert sorted(found) == expected(source)


def on_local_host(
    folder: Path, *sources: Times, how: WatermarkStrategy, mode: str = "micro-batch"
) -> list[Any]:
    configuration = Configuration()
    configuration.set_string("headrace.execution.host", "local")
    configuration.set_string("headrace.execution.mode", mode)
    configuration.set_string("pipeline.auto-watermark-interval", "5 ms")
    configuration.set_string("source.max-records-per-batch", "10")
    env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(2)
    counts = windows_in(env, *sources, how=how)
    as_row = counts.map(lambda pair: {"start": pair[0], "count": pair[1]})
    as_row.sink_to(FileSink.json(str(folder)))
    env.execute("aligned")
    lines = [json.loads(line) for file in folder.glob("part-*") for line in file.open()]
    return sorted((line["start"], line["count"]) for line in lines)


@pytest.mark.parametrize("mode", ["micro-batch", "continuous"])
@pytest.mark.parametrize("idle", [None, "10 s"])
def test_a_job_on_the_local_host_reads_everything_and_ends(
    tmp_path: Path, idle: str | None, mode: str
) -> None:
    sources = [Times(FAST_AND_SLOW), Times({"last": list(range(5000, 9000, 100))})]
    found = on_local_host(tmp_path, *sources, how=strategy(idle=idle), mode=mode)
    assert found == expected(*sources)


# --- what is said --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("how", "behind_exchange", "batch", "words"),
    [
        (strategy(), True, False, "behind an exchange"),
        (strategy(), False, True, "BATCH mode"),
        (
            WatermarkStrategy.no_watermarks()
            .with_timestamp_assigner(lambda r: r[1])
            .with_watermark_alignment("group", 1),
            False,
            False,
            "makes no watermarks",
        ),
    ],
)
def test_alignment_that_cannot_act_says_so(
    how: WatermarkStrategy,
    *,
    behind_exchange: bool,
    batch: bool,
    words: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    configuration = Configuration()
    configuration.set_string("headrace.execution.host", "local")
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    if batch:
        env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    stream = env.from_source(Times({"a": [1]}), WatermarkStrategy.no_watermarks(), "s")
    stream = stream.rebalance() if behind_exchange else stream
    stream.assign_timestamps_and_watermarks(how).print()
    with caplog.at_level(logging.WARNING):
        env.execute("says so")
    told = [r.getMessage() for r in caplog.records if "alignment" in r.getMessage()]
    assert len(told) == 1
    assert "group 'group' has no effect at" in told[0]
    assert words in told[0]


def test_what_cannot_be_meant_is_refused() -> None:
    plain = WatermarkStrategy.for_monotonous_timestamps()
    with pytest.raises(InvalidArgumentError, match="cannot be negative"):
        plain.with_watermark_alignment("group", -1)
    with pytest.raises(InvalidArgumentError, match="must be positive"):
        plain.with_watermark_alignment("group", 1, 0)


# --- files, for the processes beside Spark's driver ----------------------------------------------


def test_sources_find_the_drivers_marks_and_each_others_posts_in_files() -> None:
    driver = DriverBoard()
    try:
        one, other = SourceBoard(driver.folder), SourceBoard(driver.folder)
        assert (one.marks(), one.posts()) == ({}, {})
        driver.note({"g": {"s0/ä\n": AlignedSplit(100, DRIFT, None)}})
        one.post("s0", {"s0/ä\n": Post(waiting=True, taken=False, since_ms=None)})
        other.post("s/1", {"s/1/b": Post(waiting=False, taken=True, since_ms=7)})
        one.post("s0", {"s0/c": Post(waiting=True, taken=True, since_ms=None)})
        assert other.marks() == driver.marks()
        assert (
            one.posts()
            == other.posts()
            == {
                "s0/c": Post(waiting=True, taken=True, since_ms=None),
                "s/1/b": Post(waiting=False, taken=True, since_ms=7),
            }
        )
    finally:
        driver.close()
    one.post("s0", {})  # the source is asked once more than the run lives
    assert (one.marks(), one.posts()) == ({}, {})


def test_every_tick_says_who_is_held_back(tmp_path: Path) -> None:
    held = ["s0/a b\n"]
    writer = CommandWriter(Storage.open(str(tmp_path)), lambda: held)
    writer.say_who_is_not_idle()
    (file,) = tmp_path.iterdir()
    assert file.read_text() == 'tick\nactive "s0/a b\\n"\n'
    held.clear()
    writer.say_who_is_not_idle()
    assert list(tmp_path.iterdir()) == [file]
    writer.close()
