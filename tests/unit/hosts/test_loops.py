"""The parts of a task's loop that need no task: what is put aside, alarms, where time goes."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from headrace.hosts.continuous import loops
from headrace.hosts.continuous.loops import _Alarm, _HeldPackets, _Inbox, _Sign

if TYPE_CHECKING:
    import pytest


def test_packets_that_wait_for_a_barrier_come_back_in_order_also_out_of_a_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(loops, "_HELD_BYTES", 1000)
    dice = random.Random(3)
    packets = [(dice.randrange(3), dice.randbytes(dice.randrange(200))) for _ in range(100)]
    held = _HeldPackets()
    for channel, content in packets:
        held.add(channel, memoryview(content))
    assert list(held) == packets


def test_an_alarm_rings_once_after_it_was_set() -> None:
    alarm = _Alarm(0.5)
    assert not alarm.rings(100.0)
    alarm.set(10.0)
    alarm.set(10.4)  # it is set already
    assert alarm.patience(10.2) == 0.3 or abs(alarm.patience(10.2) - 0.3) < 1e-9
    assert not alarm.rings(10.4)
    assert alarm.rings(10.5)
    assert not alarm.rings(11.0)


def test_an_inbox_says_when_nothing_came_and_when_nothing_will() -> None:
    inbox = _Inbox([(0, 0, b"a"), (1, 0, b"b")])
    assert inbox.next(5.0) == (0, 0, b"a")
    assert inbox.next(5.0) == (1, 0, b"b")
    assert inbox.next(5.0) is _Sign.OVER
    assert inbox.next(0.01) is _Sign.NOTHING
