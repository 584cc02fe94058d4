"""Waiting that is torn apart at any step leaves nothing behind that others wait for."""

from __future__ import annotations

import threading

import pytest

from headrace.common.interruptible import InterruptibleEvent, UndisturbedCall, undisturbed
from interrupting import interrupted_everywhere

PATIENCE_S = 20.0
SHORTLY_S = 0.001


def _happens(event: InterruptibleEvent) -> bool:
    """Whether another thread can set it, and a third one that waits sees it."""
    waits = threading.Thread(target=event.wait, args=(PATIENCE_S,), daemon=True)
    sets = threading.Thread(target=event.set, daemon=True)
    waits.start()
    sets.start()
    sets.join(PATIENCE_S)
    waits.join(PATIENCE_S)
    return event.is_set() and not sets.is_alive() and not waits.is_alive()


def test_a_wait_that_is_torn_apart_keeps_nobody_from_setting_it() -> None:
    events: list[InterruptibleEvent] = []

    def wait() -> None:
        events.append(InterruptibleEvent())
        events[-1].wait(SHORTLY_S)

    steps = [step for step in interrupted_everywhere(wait) if not events or _happens(events[-1])]

    assert len(steps) == steps[-1] > 10


def test_who_waits_is_told_and_who_waits_for_long_enough_is_not() -> None:
    event = InterruptibleEvent()
    assert not event.wait(0)
    assert not event.wait(SHORTLY_S)
    told: list[bool] = []
    waiting = [
        threading.Thread(target=lambda: told.append(event.wait(PATIENCE_S)), daemon=True)
        for _ in range(3)
    ]
    for each in waiting:
        each.start()
    event.set()
    for each in waiting:
        each.join(PATIENCE_S)
    assert told == [True] * 3
    assert event.wait()
    event.set()
    assert event.wait(0)


def test_a_call_goes_on_when_nobody_waits_for_it_and_what_it_returns_is_handed_over_once() -> None:
    go_on, unwanted, handed = threading.Event(), [], threading.Event()

    def work() -> int:
        assert go_on.wait(PATIENCE_S)
        return 7

    def take(result: int) -> None:
        unwanted.append(result)
        handed.set()

    call = UndisturbedCall(work, "test", take)
    call.begin()
    assert not call.wait(SHORTLY_S)
    call.give_up()
    assert unwanted == []
    go_on.set()
    assert handed.wait(PATIENCE_S)
    call.give_up()
    assert unwanted == [7]


def test_a_call_returns_or_raises_what_its_work_does() -> None:
    assert undisturbed(lambda: 7, "test") == 7

    def fail() -> None:
        raise ValueError("of the work")

    with pytest.raises(ValueError, match="of the work"):
        undisturbed(fail, "test")
