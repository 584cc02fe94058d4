"""Timers against a sorted set: order, duplicates, registration while firing, restarts."""

from __future__ import annotations

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from headrace.data.records import MAX_TIMESTAMP
from headrace.runtime.pages.store import DictStore
from headrace.runtime.timers import BUCKET_MS, TimerQueue

# close together, at the borders of a bucket, and far apart
_times = st.one_of(
    st.integers(-3, 20),
    st.integers(BUCKET_MS - 3, BUCKET_MS + 3),
    st.integers(0, 50 * BUCKET_MS),
    st.just(-BUCKET_MS),
    st.just(MAX_TIMESTAMP),
)
_keys = st.sampled_from(["a", 1, ("b", 2)])
_namespaces = st.sampled_from([None, (0, 10)])


class TimersAgainstASet(RuleBasedStateMachine):
    @initialize()
    def open(self) -> None:
        self.store = DictStore()
        self.queue = TimerQueue(self.store, "timers")
        self.model: set[tuple[int, Any, Any]] = set()

    @rule(time=_times, key=_keys, namespace=_namespaces)
    def register(self, time: int, key: Any, namespace: Any) -> None:
        self.queue.register(time, key, namespace)
        self.model.add((time, key, namespace))

    @rule(time=_times, key=_keys, namespace=_namespaces)
    def delete(self, time: int, key: Any, namespace: Any) -> None:
        self.queue.delete(time, key, namespace)
        self.model.discard((time, key, namespace))

    @rule(data=st.data())
    def delete_one_that_is_there(self, data: st.DataObject) -> None:
        if self.model:
            timer = data.draw(st.sampled_from(sorted(self.model, key=repr)))
            self.queue.delete(*timer)
            self.model.discard(timer)

    @rule(
        until=_times,
        registrations=st.lists(st.tuples(_times, _keys, _namespaces), max_size=4),
        deletions=st.lists(st.tuples(_times, _keys, _namespaces), max_size=4),
    )
    def fire(self, until: int, registrations: list[Any], deletions: list[Any]) -> None:
        """Every firing sets and deletes another timer, as an on_timer may."""
        fired: list[tuple[int, Any, Any]] = []
        to_set, to_delete = list(registrations), list(deletions)
        pending = set(self.model)

        def on_timer(time: int, key: Any, namespace: Any) -> None:
            fired.append((time, key, namespace))
            pending.discard((time, key, namespace))
            if to_set:
                timer = to_set.pop()
                self.queue.register(*timer)
                pending.add(timer)
            if to_delete:
                timer = to_delete.pop()
                self.queue.delete(*timer)
                pending.discard(timer)
            # the next one must be the earliest that is due now
            due = [other[0] for other in pending if other[0] <= until]
            expected.append(min(due) if due else None)

        due_now = [timer[0] for timer in pending if timer[0] <= until]
        expected: list[int | None] = [min(due_now) if due_now else None]
        count = self.queue.fire_until(until, on_timer)
        assert count == len(fired)
        assert [time for time, _, _ in fired] == [time for time in expected if time is not None]
        assert expected[-1] is None
        assert all(time > until for time, _, _ in pending)
        self.model = pending

    @rule()
    def look(self) -> None:
        assert len(self.queue) == len(self.model)
        assert self.queue.next_time() == min((timer[0] for timer in self.model), default=None)

    @rule()
    def flush(self) -> None:
        self.queue.flush()

    @rule(same_object=st.booleans())
    def restart(self, same_object: bool) -> None:
        self.queue.flush()
        if same_object:
            self.queue.reload()
        else:
            self.store = DictStore(self.store.snapshot())
            self.queue = TimerQueue(self.store, "timers")


TestTimers = TimersAgainstASet.TestCase
TestTimers.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)


def _queue() -> tuple[DictStore, TimerQueue]:
    store = DictStore()
    return store, TimerQueue(store, "timers")


def _fired(queue: TimerQueue, until: int) -> list[tuple[int, Any]]:
    fired: list[tuple[int, Any]] = []
    queue.fire_until(until, lambda time, key, namespace: fired.append((time, key)))
    return fired


def test_a_timer_set_twice_fires_once() -> None:
    _, queue = _queue()
    for time in (5, 3, 3, 10):
        queue.register(time, "a")
    assert _fired(queue, 6) == [(3, "a"), (5, "a")]
    assert _fired(queue, 10) == [(10, "a")]
    assert _fired(queue, 10) == []


def test_a_timer_set_twice_around_a_restart_fires_once() -> None:
    store, queue = _queue()
    queue.register(5, "a")
    queue.flush()
    again = TimerQueue(store, "timers")
    again.register(5, "a")
    assert _fired(again, 5) == [(5, "a")]


def test_an_earlier_timer_can_delete_a_later_one_that_is_due() -> None:
    _, queue = _queue()
    queue.register(1, "a")
    queue.register(2, "a")
    fired = []

    def on_timer(time: int, key: Any, namespace: Any) -> None:
        fired.append(time)
        queue.delete(2, "a")

    queue.fire_until(10, on_timer)
    assert fired == [1]


def test_equal_times_of_keys_and_namespaces_are_different_timers() -> None:
    _, queue = _queue()
    for key in ("a", "b"):
        for namespace in (None, (0, 10), (5, 15)):
            queue.register(7, key, namespace)
    assert len(queue) == 6
    queue.delete(7, "a", (0, 10))
    assert len(_fired(queue, 7)) == 5


def test_nothing_is_stored_of_timers_that_fired() -> None:
    store, queue = _queue()
    for time in range(0, 40 * BUCKET_MS, 999):
        queue.register(time, time % 7)
    queue.flush()
    assert len(store.content) > 30
    _fired(queue, MAX_TIMESTAMP)
    queue.flush()
    assert set(store.content) == {b"timers/buckets"}
    assert len(queue) == 0


def test_a_batch_reads_only_the_buckets_that_are_due() -> None:
    store, queue = _queue()
    for bucket in range(100):
        queue.register(bucket * BUCKET_MS, "a")
    queue.flush()
    again = TimerQueue(store, "timers")
    store.reads = 0
    assert _fired(again, 3 * BUCKET_MS) == [(n * BUCKET_MS, "a") for n in range(4)]
    assert store.reads <= 2 * 4
    store.writes = 0
    again.flush()
    assert store.writes == 1  # the index; emptied buckets are deleted
