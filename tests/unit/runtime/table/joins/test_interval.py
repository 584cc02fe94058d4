"""Interval joins: Flink's pairs, and when lines without a pair go out."""

from __future__ import annotations

import random
from typing import Any

import pytest

from headrace.runtime.table.joins import run_storage, timed_lines
from headrace.runtime.table.joins.interval import IntervalJoinOfLines
from headrace.scalars.session import ScalarSession
from table_operators import END, INT, STRING, T3, OperatorRun, at, lines_of

SIDE = (STRING, INT, T3)


def join(kind: str, lower: int, upper: int, **options: Any) -> IntervalJoinOfLines:
    given = lines_of(*SIDE)
    settings: dict[str, Any] = {"left_keys": (0,), "right_keys": (0,), "times": (2, 2)}
    return IntervalJoinOfLines(
        given, given, lines_of(*SIDE, *SIDE), kind=kind, lower_ms=lower, upper_ms=upper,
        **(settings | options), session=ScalarSession()
    )  # fmt: skip


def start(kind: str, lower: int, upper: int, **options: Any) -> OperatorRun:
    operator = join(kind, lower, upper, **options)
    return OperatorRun(operator, *operator.keys_of_sides)


def line(key: str | None, value: int, time: int) -> tuple[Any, ...]:
    return ("+I", key, value, at(time))


def test_pairs_are_within_both_bounds() -> None:
    run = start("inner", -10, 5)
    run.lines([line("a", n, 90 + n) for n in range(20)], 1)
    run.lines([line("a", 0, 100)], 0)
    assert [found[5] for found in run.taken()] == list(range(16))


def test_a_line_without_a_pair_goes_out_when_none_can_come() -> None:
    run = start("left", -10, 5)
    run.lines([line("a", 1, 100), line("b", 2, 100)], 0)
    run.lines([line("b", 9, 105)], 1)
    run.taken()
    run.watermark(105)
    assert run.taken() == []
    run.watermark(106)
    assert run.taken() == [("+I", "a", 1, at(100), None, None, None)]
    assert [len(side) for side in run.operator.sides] == [0, 1]
    run.watermark(200)
    run.end_of_batch()
    assert not run.store.content


def test_a_late_line_goes_out_at_once() -> None:
    run = start("full", -10, 5)
    run.watermark(1000)
    run.lines([line("a", 1, 100)], 0)
    run.lines([line("a", 2, 100)], 1)
    assert run.taken() == [
        ("+I", "a", 1, at(100), None, None, None), ("+I", None, None, None, "a", 2, at(100)),
    ]  # fmt: skip


def test_watermarks_are_held_back_by_the_longer_reach() -> None:
    run = start("inner", -10, 5)
    run.watermark(1000)
    run.watermark(END.time)
    assert run.out.watermarks == [990, END.time]


def test_an_empty_interval_has_no_pairs() -> None:
    run = start("left", 5, -5)
    run.lines([line("a", 2, 100)], 1)
    run.lines([line("a", 1, 100)], 0)
    assert run.taken() == [("+I", "a", 1, at(100), None, None, None)]


def test_in_processing_time_lines_have_the_time_at_which_they_come() -> None:
    run = start("left", 0, 50, times=None)
    run.clock(1000)
    run.lines([line("a", 1, 0), line("b", 2, 0)], 0)
    run.clock(1040)
    run.lines([line("a", 3, 0)], 1)
    assert [found[2] for found in run.taken()] == [1]
    run.end_of_batch()
    run.restart()
    assert run.operator.next_processing_timer() == 1051
    run.clock(1050)
    assert run.taken() == []
    run.clock(1051)
    assert [(found[1], found[4]) for found in run.taken()] == [("b", None)]
    run.end_of_batch()
    assert not run.store.content


def test_lines_without_keys_are_one_group() -> None:
    run = start("full", 0, 10, left_keys=(), right_keys=())
    run.lines([line("a", 1, 100)], 0)
    run.lines([line("b", 2, 105), line("c", 3, 200)], 1)
    assert [(found[1], found[4]) for found in run.taken()] == [("a", "b")]
    run.restart()
    run.watermark(1000)
    assert [(found[1], found[4]) for found in run.taken()] == [(None, "c")]


# --- against one line at a time ------------------------------------------------------------------


class LineByLine:
    """Flink's rules for one line at a time, with lists."""

    def __init__(self, kind: str, lower: int, upper: int, cleanup: int) -> None:
        self.outer = (kind in ("left", "full"), kind in ("right", "full"))
        self.reach, self.cleanup = (upper, -lower), cleanup
        self.kept: list[dict[Any, list[list[Any]]]] = [{}, {}]  # key: [time, line, was in a pair]
        self.timers: list[dict[Any, int]] = [{}, {}]
        self.over, self.now = [0, 0], 0

    def both(self, side: int, one: Any, other: Any) -> Any:
        other = (None,) * 3 if other is None else other[1:]
        return ("+I", *one[1:], *other) if side == 0 else ("+I", *other, *one[1:])

    def take(self, side: int, time: int, one: Any) -> list[Any]:
        out, paired, other, key = [], False, 1 - side, one[1]
        low, high = time - self.reach[other], time + self.reach[side]
        if self.over[other] < high:
            self.over[other] = self.now - self.reach[other] - 1
            for entry in list(self.kept[other].get(key, ())):
                if key is not None and low <= entry[0] <= high:
                    out.append(self.both(side, one, entry[1]))
                    paired = entry[2] = True
                if entry[0] <= self.over[other]:
                    out += self.leave(other, key, entry)
        if self.now < high and (key is not None or self.outer[side]):
            self.kept[side].setdefault(key, []).append([time, one, paired])
            self.timers[side].setdefault(key, high + self.cleanup + 1)
        elif not paired and self.outer[side]:
            out.append(self.both(side, one, None))
        return out

    def leave(self, side: int, key: Any, entry: Any) -> list[Any]:
        self.kept[side][key].remove(entry)
        alone = self.outer[side] and not entry[2]
        return [self.both(side, entry[1], None)] if alone else []

    def watermark(self, time: int) -> list[Any]:
        self.now, out = max(time, 0), []
        for side in (0, 1):
            for key, due in list(self.timers[side].items()):
                if due > self.now:
                    continue
                del self.timers[side][key]
                self.over[side] = self.now - self.reach[side] - 1
                for entry in list(self.kept[side].get(key, ())):
                    if entry[0] <= self.over[side]:
                        out += self.leave(side, key, entry)
                left = [entry[0] for entry in self.kept[side].get(key, ())]
                if left:
                    self.timers[side][key] = min(left) + self.reach[side] + self.cleanup + 1
        return out


@pytest.mark.parametrize("kind", ["inner", "left", "right", "full"])
@pytest.mark.parametrize("bounds", [(-20, 10), (0, 30), (5, 25), (-30, -10), (0, 0)])
def test_every_cut_gives_what_lines_one_by_one_give(
    kind: str, bounds: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_storage, "RECENT_WEIGHT", 8)
    monkeypatch.setattr(run_storage, "RANGE_LINES", 12)
    monkeypatch.setattr(run_storage, "LOADED_BYTES", 500)
    monkeypatch.setattr(timed_lines, "BUCKET_MS", 16)
    monkeypatch.setattr(timed_lines, "KEPT_BYTES", 500)
    for seed in range(3):
        numbers = random.Random(seed)
        cleanup = numbers.choice([0, 7])
        reference = LineByLine(kind, *bounds, cleanup)
        run = start(kind, *bounds, min_cleanup_ms=cleanup)
        watermark = 0
        for _ in range(40):
            side = numbers.randrange(2)
            part = [
                line(numbers.choice(["a", "b", None]), numbers.randrange(5),
                     max(0, watermark + numbers.randint(-40, 60)))
                for _ in range(numbers.randint(1, 6))
            ]  # fmt: skip
            expected = []
            for one in part:
                time = round((one[3] - at(0)).total_seconds() * 1000)
                expected += reference.take(side, time, one)
            run.lines(part, side)
            assert sorted(map(repr, run.taken())) == sorted(map(repr, expected))
            if numbers.random() < 0.5:
                watermark += numbers.randint(0, 40)
                run.watermark(watermark)
                expected = reference.watermark(watermark)
                assert sorted(map(repr, run.taken())) == sorted(map(repr, expected))
            if numbers.random() < 0.2:
                run.end_of_batch()
            if numbers.random() < 0.1:
                run.restart()
                reference.over = [0, 0]
        run.watermark(END.time)
        run.end_of_batch()
        assert not run.store.content
