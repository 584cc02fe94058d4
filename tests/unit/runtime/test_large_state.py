"""Lists and maps of any size under one key: what a change and a lookup cost, and what is left."""

from __future__ import annotations

from itertools import islice
from typing import Any

import pytest

from headrace.common.state_ttl import StateTtlConfig
from headrace.common.time import Time
from headrace.common.typeinfo import Types
from headrace.datastream.state import ListStateDescriptor, MapStateDescriptor
from headrace.runtime.pages.store import DictStore
from headrace.runtime.state.provider import StateProvider

MAP = MapStateDescriptor("m", Types.LONG(), Types.STRING())
LIST = ListStateDescriptor("l", Types.LONG())


class Counted(DictStore):
    """Counts bytes, too."""

    def __init__(self, content: dict[bytes, bytes] | None = None) -> None:
        super().__init__(content)
        self.read_bytes = self.written_bytes = 0

    def get(self, key: bytes) -> bytes | None:
        found = super().get(key)
        self.read_bytes += len(found or b"")
        return found

    def put(self, key: bytes, content: bytes) -> None:
        super().put(key, content)
        self.written_bytes += len(content)


def _open(store: DictStore, descriptor: Any, key: Any = "k") -> tuple[StateProvider, Any]:
    states = StateProvider(store, "op")
    states.scope.set(key)
    return states, states.of(descriptor)


def _large_map(count: int = 100_000) -> Counted:
    store = Counted()
    states, state = _open(store, MAP)
    state.put_all({number: f"value {number}" for number in range(count)})
    states.flush()
    return Counted(store.snapshot())


def _large_list(count: int = 100_000) -> Counted:
    store = Counted()
    states, state = _open(store, LIST)
    state.add_all(range(count))
    states.flush()
    return Counted(store.snapshot())


def test_one_lookup_in_a_large_map_reads_one_part() -> None:
    store = _large_map()
    _, state = _open(store, MAP)
    assert state.get(77_777) == "value 77777"
    assert state.contains(5)
    assert not state.contains(-5)
    assert store.reads <= 8
    assert store.read_bytes < 400_000 < sum(map(len, store.content.values()))


def test_one_change_of_a_large_map_writes_one_part() -> None:
    store = _large_map()
    states, state = _open(store, MAP)
    state.put(5, "changed")
    state.remove(6)
    states.flush()
    assert store.writes <= 3
    assert store.written_bytes < 200_000
    _, again = _open(store, MAP)
    assert (again.get(5), again.get(6), again.get(7)) == ("changed", None, "value 7")


def test_an_addition_to_a_large_list_reads_and_writes_its_last_part() -> None:
    store = _large_list()
    states, state = _open(store, LIST)
    state.add(-1)
    states.flush()
    assert store.written_bytes < 40_000
    assert store.read_bytes < 40_000
    _, again = _open(store, LIST)
    assert list(again.get()) == [*range(100_000), -1]


def test_iteration_reads_as_far_as_one_goes() -> None:
    store = _large_list()
    _, items = _open(store, LIST)
    assert list(islice(items.get(), 10)) == list(range(10))
    assert store.reads <= 4
    store = _large_map()
    _, state = _open(store, MAP)
    assert len(list(islice(state.items(), 10))) == 10
    assert store.reads <= 5


@pytest.mark.parametrize("batches", [1, 50])
def test_a_list_that_grows_in_batches_is_the_same(batches: int) -> None:
    store = DictStore()
    for batch in range(batches):
        states, state = _open(store, LIST)  # a restart before every batch
        state.add_all(range(batch * 100, batch * 100 + 100))
        states.flush()
    _, state = _open(store, LIST)
    assert list(state.get()) == list(range(batches * 100))


@pytest.mark.parametrize("make", [_large_map, _large_list])
def test_clear_removes_all_parts(make: Any) -> None:
    store = make()
    states, state = _open(store, MAP if make is _large_map else LIST)
    assert len(store.content) > 3
    state.clear()
    states.flush()
    assert {name[-1:] for name in store.content} <= {b"d", b"s"}
    _, again = _open(store, MAP if make is _large_map else LIST)
    assert list(again) == []


def test_replacing_a_large_list_removes_its_parts() -> None:
    store = _large_list()
    states, state = _open(store, LIST)
    state.update([1, 2])
    states.flush()
    assert len(store.content) <= 3
    _, again = _open(store, LIST)
    assert list(again.get()) == [1, 2]


def test_a_map_that_shrinks_becomes_small_again() -> None:
    store = _large_map(3000)
    states, state = _open(store, MAP)
    for number in range(2995):
        state.remove(number)
    states.flush()
    assert len(store.content) <= 3
    assert dict(state.items()) == {n: f"value {n}" for n in range(2995, 3000)}
    state.put(1, "more")
    for number in range(2995, 3000):
        state.remove(number)
    states.flush()
    _, again = _open(store, MAP)
    assert dict(again.items()) == {1: "more"}


def test_a_map_that_is_emptied_part_by_part_leaves_nothing() -> None:
    store = _large_map(3000)
    states, state = _open(store, MAP)
    for key in state:
        state.remove(key)
    assert state.is_empty()
    states.flush()
    assert {name[-1:] for name in store.content} <= {b"d", b"s"}


def test_a_few_large_values_are_apart_as_well() -> None:
    store = Counted()
    states, state = _open(store, MAP)
    state.put_all(dict.fromkeys(range(20), "x" * 5000))
    states.flush()
    store.written_bytes = 0
    state.put(3, "y")
    states.flush()
    assert store.written_bytes < 80_000


def test_map_keys_without_a_stable_hash_are_fine() -> None:
    store = DictStore()
    states, state = _open(store, MapStateDescriptor("m", Types.PICKLED_BYTE_ARRAY(), Types.LONG()))
    content = {None: 1, 1 + 2j: 2, range(3): 3} | {number: number for number in range(1000)}
    state.put_all(content)
    states.flush()
    _, again = _open(store, MapStateDescriptor("m", Types.PICKLED_BYTE_ARRAY(), Types.LONG()))
    assert dict(again.items()) == content
    assert again.get(None) == 1
    assert again.get(range(3)) == 3


def test_keys_and_namespaces_do_not_share_parts() -> None:
    store = DictStore()
    states, state = _open(store, MAP)
    for window in range(3):
        states.scope.set_namespace("k", (window, window + 1))
        state.put_all(dict.fromkeys(range(1000), f"{window}"))
    states.flush()
    states.scope.set_namespace("k", (1, 2))
    state.clear()
    states.flush()
    states, state = _open(store, MAP)
    found = []
    for window in range(3):
        states.scope.set_namespace("k", (window, window + 1))
        found.append((state.get(999), len(list(state))))
    assert found == [("0", 1000), (None, 0), ("2", 1000)]


def test_raw_content_of_a_large_list_moves_whole() -> None:
    store = _large_list(1000)
    states, state = _open(store, LIST)
    content = state.raw()
    state.clear()
    states.scope.set("other")
    state.add(-1)
    state.merge_raw(content)
    states.flush()
    _, again = _open(store, LIST, "other")
    assert list(again.get()) == [-1, *range(1000)]


# --- expiry ------------------------------------------------------------------------------------


def _expiring(descriptor: Any, *, on_read: bool = False) -> Any:
    update = StateTtlConfig.UpdateType
    config = StateTtlConfig.new_builder(Time.milliseconds(100)).set_update_type(
        update.OnReadAndWrite if on_read else update.OnCreateAndWrite
    )
    descriptor.enable_time_to_live(config.build())
    return descriptor


class Clock:
    now = 0

    def __call__(self) -> int:
        return self.now


def test_parts_of_a_large_list_expire() -> None:
    clock, store = Clock(), DictStore()
    states = StateProvider(store, "op", clock)
    states.scope.set("k")
    state = states.of(_expiring(ListStateDescriptor("l", Types.LONG())))
    for clock.now in (0, 50, 90):
        state.add_all(range(clock.now * 1000, clock.now * 1000 + 3000))
        states.flush()
        states.scope.set("k")
    before = len(store.content)
    clock.now = 120
    assert list(state.get()) == [*range(50_000, 53_000), *range(90_000, 93_000)]
    states.flush()
    assert len(store.content) < before
    clock.now = 160
    for _ in range(50):
        states.flush()  # nobody reads: the sweep finds them
    states.scope.set("k")
    assert list(state.get()) == list(range(90_000, 93_000))
    clock.now = 300
    for _ in range(50):
        states.flush()
    assert {name[-1:] for name in store.content} <= {b"d", b"s"}


@pytest.mark.parametrize("on_read", [False, True])
def test_entries_of_a_large_map_expire(on_read: bool) -> None:
    clock, store = Clock(), DictStore()
    states = StateProvider(store, "op", clock)
    states.scope.set("k")
    descriptor = MapStateDescriptor("m", Types.LONG(), Types.LONG())
    state = states.of(_expiring(descriptor, on_read=on_read))
    for clock.now in (0, 50):
        state.put_all({clock.now * 1000 + number: number for number in range(3000)})
        states.flush()
        states.scope.set("k")
    clock.now = 90
    assert state.get(7) == 7  # read: alive for longer, if so configured
    clock.now = 120
    assert state.get(8) is None
    assert (state.get(7) is not None) == on_read
    assert sum(1 for _ in state.items()) == 3000 + on_read
    states.flush()
    clock.now = 400
    for _ in range(100):
        states.flush()
    assert {name[-1:] for name in store.content} <= {b"d", b"s"}
