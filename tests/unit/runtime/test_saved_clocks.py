"""Event time in savepoints: where the slowest of the old subtasks was, and not at its end."""

from __future__ import annotations

from headrace.data.records import MAX_TIMESTAMP, MIN_TIMESTAMP
from headrace.runtime.pages.store import DictStore
from headrace.runtime.savepoint.entries import WATERMARK, export, load
from headrace.runtime.savepoint.spooled import SpooledStore
from headrace.runtime.watermarks import OWN_CLOCK, Valve, store_clocks, stored_clocks


def saved(clocks: dict[str, int]) -> list[tuple[str, int, int]]:
    store = DictStore()
    store_clocks(store, {name: {"current": time} for name, time in clocks.items()})
    with SpooledStore(store.content.items()) as pages:
        entries = list(export(pages, {"windows": 128, "join": 128}))
    assert {entry.state for entry in entries} <= {WATERMARK}
    return [(entry.operator, entry.key, entry.value) for entry in entries]


def test_clocks_of_operators_with_state_leave_with_it() -> None:
    clocks = {"windows:0": 500, "join:0": 1, "join:1": -7, "stateless:0": 9}
    assert saved(clocks) == [("windows", 0, 500), ("join", 0, 1), ("join", 1, -7)]


def test_a_clock_that_an_idle_input_did_not_hold_does_not_go_back() -> None:
    clocks = {"join:0": 10, "join:1": 5, f"join:{OWN_CLOCK}": 10}
    assert saved(clocks) == [("join", 0, 10), ("join", 1, 5), ("join", OWN_CLOCK, 10)]


def test_no_time_yet_and_the_end_of_time_are_forgotten() -> None:
    assert saved({"windows:0": MIN_TIMESTAMP, "join:1": MAX_TIMESTAMP}) == []


def test_a_new_subtask_begins_where_the_slowest_old_one_was() -> None:
    old = []
    for time in (700, 500, 600):
        store = DictStore()
        store_clocks(store, {"windows:0": {"current": time}})
        with SpooledStore(store.content.items()) as pages:
            old += list(export(pages, {"windows": 128}))
    target = DictStore()
    load(target, old)
    valve = Valve({1: 2})
    valve.restore(stored_clocks(target)["windows:0"], {})
    assert valve.current == 500
    valve.update(1, "a", 900)
    assert valve.update(1, "b", 400) is None  # it holds the clock: nothing of it becomes late
    assert valve.update(1, "b", 800) == 800
