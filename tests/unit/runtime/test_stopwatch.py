"""Whose time it is, and how large a state is."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from headrace.runtime.state import size
from headrace.runtime.state.size import StateSize
from headrace.runtime.stopwatch import SpentTime, Stopwatch
from headrace.runtime.task import TaskTimes

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pytest


class _Clock:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0
        monkeypatch.setattr("headrace.runtime.stopwatch.perf_counter_ns", lambda: self.now)

    def pass_ms(self, milliseconds: int) -> None:
        self.now += milliseconds * 1_000_000


def test_an_operator_is_not_charged_for_those_behind_it(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = _Clock(monkeypatch)
    watch, first, second = Stopwatch(), SpentTime(), SpentTime()
    outer = watch.switch(first)
    clock.pass_ms(10)
    within = watch.switch(second)  # the first one emits
    clock.pass_ms(50)
    watch.switch(within)
    clock.pass_ms(5)
    watch.switch(outer)
    assert (first.busy_ns, second.busy_ns) == (15_000_000, 50_000_000)


def test_the_time_of_a_task_is_its_own_waiting_or_blocked(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = _Clock(monkeypatch)
    times = TaskTimes()
    clock.pass_ms(1000)  # before the task began: nobody's

    def parts() -> Iterator[int]:
        for number in range(3):
            clock.pass_ms(20)
            yield number

    times.begin(7)
    for _ in times.awaited(parts(), times.waiting):
        clock.pass_ms(3)
    times.watch.switch(times.blocked)
    clock.pass_ms(11)
    assert times.so_far_ms() == (9.0, 60.0, 11.0)
    times.restart(8)
    assert (times.began_ms, times.so_far_ms()) == (8, (0.0, 0.0, 0.0))


def test_the_size_of_state_follows_pages_that_grow_shrink_and_go() -> None:
    state = StateSize()
    state.put(b"a", b"x" * 100)
    state.put(b"b", b"x" * 50)
    state.put(b"a", b"x" * 30)
    state.delete(b"b")
    state.delete(b"never")
    assert state.total_bytes == 30
    assert (state.take_written(), state.take_written()) == (180, 0)


def test_a_page_that_was_there_before_is_not_counted_twice() -> None:
    state = StateSize(stored=1000)
    state.saw(b"a", b"x" * 400)
    state.saw(b"none", None)
    state.put(b"a", b"x" * 500)
    assert state.total_bytes == 1100


def test_of_many_pages_some_stand_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(size, "_MOST_KEYS", 2000)
    dice, state = random.Random(7), StateSize()
    pages: dict[bytes, int] = {}
    for _ in range(60_000):
        key, length = b"key %d" % dice.randrange(30_000), dice.randrange(100, 300)
        pages[key] = length
        state.put(key, b"x" * length)
    for key in list(pages)[:5000]:
        del pages[key]
        state.delete(key)
    assert len(state._sizes) <= 2000
    assert abs(state.total_bytes / sum(pages.values()) - 1) < 0.1
