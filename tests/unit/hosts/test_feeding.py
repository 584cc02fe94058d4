"""Who reads what next: splits stay with their task, a task that is busy gets no more."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.hosts.continuous.feeding import SourceFeed, task_count
from headrace.spi.python_source import PythonSource
from headrace.spi.source import Boundedness


class Line:
    """Remembers what was sent."""

    def __init__(self) -> None:
        self.sent: list[tuple[Any, ...]] = []

    def send(self, *message: Any) -> None:
        self.sent.append(message)

    def ranges(self) -> list[tuple[Any, ...]]:
        return [piece for kind, *rest in self.sent if kind == "read" for piece in rest[0]]


class Splits(PythonSource):
    """Splits that grow; some of them end."""

    def __init__(self, **ends: int) -> None:
        self.ends = ends
        self.resting: set[str] = set()

    def splits(self) -> list[str]:
        return sorted(self.ends)

    def latest_offset(self, split: str, start: int) -> int:
        return self.ends[split]

    def rests(self, split: str, at: int) -> bool:
        return split in self.resting

    def read(self, split: str, start: int, end: int) -> Any:
        return iter(range(start, end))


class One(PythonSource):
    """A source without splits, which may be read in pieces."""

    divisible = True

    def __init__(self, end: int) -> None:
        self.end = end

    def latest_offset(self, split: str, start: int) -> int:
        return self.end

    def read(self, split: str, start: int, end: int) -> Any:
        return iter(range(start, end))


class OnDriver(One):
    divisible = False
    reads_on_driver = True

    def boundedness(self) -> Boundedness:
        return Boundedness.BOUNDED


def feed(source: PythonSource, tasks: int, **more: Any) -> tuple[SourceFeed, list[Line]]:
    made = SourceFeed("s", source, None, tasks=tasks, gate=None, **more)
    lines = [Line() for _ in range(tasks)]
    made.begin(lines)  # type: ignore[arg-type]
    return made, lines


def test_how_many_tasks_can_read_a_source() -> None:
    assert task_count(Splits(a=1), 4) == 4
    assert task_count(One(1), 4) == 4
    assert task_count(OnDriver(1), 4) == 1


def test_a_split_stays_with_its_task_and_all_tasks_hear_of_all_splits() -> None:
    source = Splits(a=10, b=10, c=10)
    made, lines = feed(source, 2)
    assert [line.sent[0] for line in lines] == [("splits", ["a", "b", "c"])] * 2
    made.feed()
    owners = {piece[1]: number for number, line in enumerate(lines) for piece in line.ranges()}
    for task in range(2):
        made.was_read(task)
    source.ends = dict.fromkeys("abc", 20)
    made.feed()
    for number, line in enumerate(lines):
        assert all(owners[piece[1]] == number for piece in line.ranges())
    assert sorted(owners.values()) in ([0, 0, 1], [0, 1, 1])
    assert made.position == {"a": 20, "b": 20, "c": 20}


def test_a_task_that_has_not_read_gets_no_more_and_its_splits_wait() -> None:
    source = Splits(a=5, b=5)
    made, lines = feed(source, 2, at_once=5)
    for end in (5, 10, 15, 20):
        source.ends = {"a": end, "b": end}
        made.feed()
        made.was_read(1)  # the other one is slow
    assert [piece[2:] for piece in lines[0].ranges()] == [(0, 5), (5, 10)]
    assert [piece[2:] for piece in lines[1].ranges()] == [(0, 5), (5, 10), (10, 15), (15, 20)]
    assert made.position == {"a": 10, "b": 20}
    assert not made.is_quiet


def test_a_source_that_can_be_divided_is_read_by_all_in_turn() -> None:
    source = One(7)
    made, lines = feed(source, 2)
    assert lines[0].sent == [("splits", ["#0", "#1"])]
    made.feed()
    first = [line.ranges() for line in lines]
    assert sorted(piece[2:] for ranges in first for piece in ranges) == [(0, 3), (3, 7)]
    assert {piece[0] for ranges in first for piece in ranges} == {"#0", "#1"}
    for task in range(2):
        made.was_read(task)
    source.end = 8
    made.feed()
    source.end = 9
    made.feed()
    # single records go round, so that no task holds event time back
    assert [len(line.ranges()) for line in lines] == [2, 2]


def test_a_new_split_is_announced_and_one_at_rest_is_let_go() -> None:
    source = Splits(a=1)
    made, lines = feed(source, 1)
    made.feed()
    source.ends["b"] = 4
    made.feed()
    assert ("splits", ["b"]) in lines[0].sent
    assert made.position["b"] == 0  # its first offset is in the checkpoint before it is read
    made.was_read(0)
    made.feed()
    made.was_read(0)
    source.resting.add("a")
    made.feed()
    assert lines[0].sent[-1] == ("rest", ["a"])
    source.resting.clear()
    made.feed()
    assert lines[0].sent[-1] == ("splits", ["a"])
    assert made.is_quiet


@pytest.mark.parametrize("end", [0, 3])
def test_what_only_the_driver_can_read_is_sent_as_records(end: int) -> None:
    made, [line] = feed(OnDriver(end), 1)
    made.feed()
    kinds = [message[0] for message in line.sent]
    assert kinds == (["records"] if end else [])
    assert made.position == {"0": end}
