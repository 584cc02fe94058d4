"""Who reads what next: splits stay with their task, a task that is busy gets no more."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest

from headrace.hosts.continuous.feeding import SourceFeed, SourceFeeds, task_count
from headrace.spi.python_source import PythonSource
from headrace.spi.source import Boundedness

if TYPE_CHECKING:
    from collections.abc import Callable


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


# --- what other threads see of a feed ------------------------------------------------------------


class Asked(Splits):
    """Something may happen while the answer to `latest_offset` is on its way."""

    counts_pending = True

    def __init__(self, **ends: int) -> None:
        super().__init__(**ends)
        self.meanwhile: Callable[[], object] = lambda: None

    def latest_offset(self, split: str, start: int) -> int:
        end = self.ends[split]
        happens, self.meanwhile = self.meanwhile, lambda: None
        happens()
        return end


def pending(made: SourceFeed) -> int | None:
    [(_, report)] = made.reports()
    gauges = report["s"]["gauges"]
    assert set(gauges) == {"pendingRecords", "records-lag-max"}
    found: int | None = gauges["pendingRecords"]
    return found


def test_the_figure_of_what_waits_does_not_race_with_the_reader() -> None:
    """Issue 24, B6: the reader went on while the figure's question was on its way."""
    source = Asked(a=5)
    made, _ = feed(source, 1)
    made.feed()

    def read_on() -> None:
        source.ends["a"] = 8
        made.feed()

    source.meanwhile = read_on
    assert pending(made) == 0  # as it was seen: nobody is asked
    assert made.position == {"a": 5}


def test_a_position_that_was_handed_out_does_not_change() -> None:
    for source in (Asked(a=5), One(5)):
        made, _ = feed(source, 2)
        before = made.position
        kept = dict(before)
        made.feed()
        assert made.position != kept
        assert before == kept
    splits = Asked(a=5)
    made, _ = feed(splits, 1)
    before = made.position
    splits.ends["b"] = 3
    made.feed()
    assert before == {"a": 0}
    assert made.position == {"a": 5, "b": 0}


def test_what_waits_is_counted_while_tasks_have_no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("headrace.hosts.continuous.feeding.time.monotonic", lambda: now[0])
    source = Asked(a=5)
    made, _ = feed(source, 1, at_once=5)
    for end in (5, 10, 60):
        source.ends["a"] = end
        made.feed()
    assert made.position == {"a": 10}  # the task has two messages to read
    assert pending(made) == 50
    source.ends["a"] = 70
    made.feed()
    assert pending(made) == 50, "a source is not asked at every turn"
    now[0] += 1.0
    made.feed()
    assert pending(made) == 60


def test_a_figure_that_cannot_be_had_is_unknown_and_ends_nothing(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headrace.hosts.pending._told", set())
    source = Asked(a=5)
    made, _ = feed(source, 1, at_once=5)
    assert made.reports() == []  # nobody has asked yet
    made.feed()
    source.ends["a"] = 10
    made.feed()

    def away() -> None:
        raise OSError("the broker is away")

    source.meanwhile = away
    made.feed()
    assert pending(made) is None
    assert pending(made) is None
    [told] = caplog.messages
    assert told.startswith("how many records wait in Asked is not known")
    assert "the broker is away" in told


def test_a_source_is_asked_by_one_thread_at_a_time() -> None:
    """Its author was told of one process, and of no threads."""
    asking, go_on, asked = threading.Event(), threading.Event(), threading.Event()

    class Slow(Asked):
        def is_exhausted(self, position: Any) -> bool:
            asked.set()
            return True

    source = Slow(a=0)
    made, _ = feed(source, 1)
    made.feed()
    assert made.is_quiet

    def wait() -> None:
        asking.set()
        assert go_on.wait(30)

    source.meanwhile = wait
    feeds = SourceFeeds([made], tick_s=0.001, board=None, on_error=lambda error: None)
    feeds.start()
    assert asking.wait(30)
    answers: list[bool] = []
    other = threading.Thread(target=lambda: answers.append(feeds.exhausted()))
    other.start()
    assert not asked.wait(0.1), "while the source is in use"
    go_on.set()
    other.join(30)
    assert answers == [True]
    feeds.close()
