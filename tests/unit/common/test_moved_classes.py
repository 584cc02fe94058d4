"""Checkpoints of earlier versions hold classes that have moved since."""

from __future__ import annotations

import pickle

from headrace.api.window.windows import TimeWindow
from headrace.data.pickling import loads


def test_a_window_pickled_before_it_moved_is_read() -> None:
    # what version 0.1 wrote for {("a", TimeWindow(0, 10)): 3}
    now = pickle.dumps({("a", TimeWindow(0, 10)): 3}, 0)
    before = now.replace(b"headrace.api.window.windows", b"headrace.datastream.window.windows")
    assert before != now
    assert loads(before) == {("a", TimeWindow(0, 10)): 3}
