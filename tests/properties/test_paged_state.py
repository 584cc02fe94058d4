"""Paged tables against plain dictionaries: batches, splits, hot entries, evictions and restarts.

A batch that fails is the store as it was before it, and a table that forgets.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from headrace.common.state_ttl import StateTtlConfig
from headrace.common.time import Time
from headrace.common.typeinfo import Types
from headrace.datastream.state import ListStateDescriptor, MapStateDescriptor
from headrace.runtime.pages.cells import Memory
from headrace.runtime.pages.limits import Limits
from headrace.runtime.pages.own_records import load_entries
from headrace.runtime.pages.store import DictStore
from headrace.runtime.pages.table import NO_ENTRY, PagedTable, unpack
from headrace.runtime.state.provider import StateProvider

_keys = st.one_of(
    st.integers(0, 60), st.sampled_from("abcdef"), st.tuples(st.integers(0, 3), st.integers(0, 3))
)
# sizes at which every path runs: pages of a few entries, a hot region of a few keys
_limits = st.builds(
    Limits,
    page_bytes=st.sampled_from([60, 150, 400, 1000]),
    bucket_entries=st.sampled_from([1, 4]),
    hot_entries=st.sampled_from([0, 5, 40]),
    hot_bytes=st.sampled_from([300, 1 << 20]),
    sparse_share=st.sampled_from([1, 2, 8]),
    sparse_pages=st.sampled_from([1, 3]),
    own_record_bytes=st.sampled_from([20, 40, 1000]),
    segment_bytes=st.sampled_from([60, 1000]),
)


# with the limits above some of them, or all, have records of their own
_large = st.integers(5, 60).map(lambda size: ("x" * size, size))


class TableAgainstADictionary(RuleBasedStateMachine):
    """`flushed` is what a restart must bring back; `model` is what the table must show."""

    @initialize(limits=_limits, roomy=st.booleans())
    def open(self, limits: Limits, roomy: bool) -> None:
        self.limits = limits
        self.memory = Memory() if roomy else Memory(cell_bytes=330 * 8, page_bytes=300, misses=1)
        self.store = DictStore()
        self.model: dict[Any, Any] = {}
        self.flushed: dict[Any, Any] = {}
        self.committed = self.store.snapshot()
        self.table = self._new_table()

    def _new_table(self) -> PagedTable:
        return PagedTable(self.store, "t", limits=self.limits, memory=self.memory)

    @rule(key=_keys, value=st.one_of(st.text("xyz", max_size=12), _large))
    def put(self, key: Any, value: Any) -> None:
        self.table.put(key, value)
        self.model[key] = value

    @rule(first=st.integers(0, 400), step=st.sampled_from([1, 1, 7]), count=st.integers(1, 90))
    def put_many(self, first: int, step: int, count: int) -> None:
        for key in range(first, first + step * count, step):
            self.table.put(key, first)
            self.model[key] = first

    @rule(first=st.integers(0, 60), count=st.integers(1, 60), size=st.sampled_from([10, 60]))
    def put_many_large(self, first: int, count: int, size: int) -> None:
        for key in range(first, first + count):
            self.table.put(key, "v" * size)
            self.model[key] = "v" * size

    @rule(key=_keys)
    def remove(self, key: Any) -> None:
        self.table.remove(key)
        self.model.pop(key, None)

    @rule(keep=st.integers(0, 20))
    def remove_most(self, keep: int) -> None:
        for key in list(self.model)[keep:]:
            self.table.remove(key)
            del self.model[key]

    @rule(key=_keys)
    def change_through_a_cell(self, key: Any) -> None:
        cell = self.table.cells.get(key) or self.table.find(key)
        assert cell.value == self.model.get(key, NO_ENTRY)
        for other in range(0, 400, 3):  # the cell may leave memory meanwhile
            self.table.get(other)
        cell.value = self.model[key] = "by cell"
        if cell.clean:
            self.table.touch(cell)

    @rule(key=_keys)
    def look(self, key: Any) -> None:
        assert self.table.get(key) == self.model.get(key)
        assert self.table.get(key, "none") == self.model.get(key, "none")
        assert (key in self.table) == (key in self.model)

    @rule(keys=st.lists(_keys, max_size=40))
    def read_ahead(self, keys: list[Any]) -> None:
        self.table._reads_ahead = True
        self.table.read_ahead(keys)

    @rule()
    def list_all(self) -> None:
        items = self.table.items()
        assert len(items) == len(self.model)
        assert dict(items) == self.model
        assert self.table.is_empty() == (not self.model)

    @rule()
    def remove_while_iterating(self) -> None:
        seen = []
        for key, value in self.table.scan():
            assert self.model[key] == value
            seen.append(key)
            if len(seen) % 2:
                self.table.remove(key)
        assert len(seen) == len(set(seen)) == len(self.model)
        for key in seen[::2]:
            del self.model[key]

    @rule(pages=st.integers(1, 3))
    def sweep(self, pages: int) -> None:
        self.table.sweep(lambda _, entry: NO_ENTRY if entry == "x" else entry, pages)
        self.model = {
            key: value for key, value in self.model.items() if value != "x" or key in self.table
        }

    @rule()
    def flush(self) -> None:
        self.table.flush()
        self.flushed = dict(self.model)
        self.committed = self.store.snapshot()
        self._no_record_without_an_entry()
        if self.table.now % 4 != 3:  # every fourth flush tidies the hot region up
            writes = self.store.writes
            self.table.flush()
            assert self.store.writes == writes  # nothing is dirty any more

    def _no_record_without_an_entry(self) -> None:
        again = PagedTable(DictStore(self.committed), "t", limits=self.limits)
        cells = [again.cell(key) for key in self.flushed]
        assert [cell.value for cell in cells] == list(self.flushed.values())
        records = {b"t\0v" + cell.record.to_bytes(8, "big") for cell in cells if cell.record}
        assert {name for name in self.committed if name.startswith(b"t\0v")} == records

    @rule(flushed=st.booleans())
    def fail(self, flushed: bool) -> None:
        """A batch fails, perhaps after this table was written."""
        if flushed:
            self.table.flush()
        self.store.content = dict(self.committed)
        self.table.forget()
        self.model = dict(self.flushed)

    @rule()
    def restart(self) -> None:
        self.store = DictStore(self.committed)
        self.table = self._new_table()
        self.model = dict(self.flushed)

    @rule()
    def drop(self) -> None:
        self.table.drop()
        assert self.store.content == {}
        self.model, self.flushed, self.committed = {}, {}, {}

    @invariant()
    def stored_pages_are_not_empty_and_told_right(self) -> None:
        for name, content in self.store.content.items():
            if len(name) == len(b"t\0") + 4:
                count, buckets = unpack(content)
                assert count == sum(len(_entries(bucket)) for bucket in buckets) > 0


def _entries(bucket: bytes) -> Any:
    return load_entries(bucket) if bucket else {}


TestTable = TableAgainstADictionary.TestCase
TestTable.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)


# --- lists and maps of any size, expiring or not -------------------------------------------------

TTL_MS = 10
_small_keys = st.integers(0, 2)


def _descriptors() -> tuple[Any, Any, Any, Any]:
    plain = ListStateDescriptor("list", Types.LONG()), MapStateDescriptor("map", *_MAP_TYPES)
    expiring = ListStateDescriptor("l", Types.LONG()), MapStateDescriptor("m", *_MAP_TYPES)
    for descriptor in expiring:
        config = StateTtlConfig.new_builder(Time.milliseconds(TTL_MS)).build()
        descriptor.enable_time_to_live(config)
    return *plain, *expiring


_MAP_TYPES = (Types.LONG(), Types.LONG())


class ListsAndMapsAgainstPlainOnes(RuleBasedStateMachine):
    """Every change goes to a state that lasts and to one that expires; models hold (time, item)."""

    @initialize(
        limits=st.builds(
            Limits,
            page_bytes=st.sampled_from([150, 600]),
            bucket_entries=st.sampled_from([1, 4]),
            inline_entries=st.sampled_from([4, 12]),
            inline_bytes=st.sampled_from([60, 4096]),
            chunk_bytes=st.sampled_from([40, 200]),
            hot_entries=st.sampled_from([5, 1000]),
            sparse_pages=st.sampled_from([1, 4]),
            own_record_bytes=st.sampled_from([20, 4096]),
        ),
        roomy=st.booleans(),
    )
    def open(self, limits: Limits, roomy: bool) -> None:
        self.limits = limits
        self.memory = Memory() if roomy else Memory(330 * 8, 300, misses=1)
        self.store = DictStore()
        self.now = 1000
        self.lists: dict[int, list[tuple[int, int]]] = {}
        self.maps: dict[int, dict[int, tuple[int, int]]] = {}
        self._start()
        self._commit()

    def _start(self) -> None:
        self.states = StateProvider(
            self.store, "op", lambda: self.now, limits=self.limits, memory=self.memory
        )
        self.list, self.map, self.ttl_list, self.ttl_map = map(self.states.of, _descriptors())

    def _commit(self) -> None:
        self.committed = self.store.snapshot(), deepcopy(self.lists), deepcopy(self.maps)

    def _at(self, key: int) -> None:
        self.states.scope.set_namespace(key, (0, key))

    @rule(key=_small_keys, items=st.lists(st.integers(0, 9), max_size=30))
    def add(self, key: int, items: list[int]) -> None:
        self._at(key)
        for state in (self.list, self.ttl_list):
            state.add_all(items)
        self.lists.setdefault(key, []).extend((self.now, item) for item in items)

    @rule(key=_small_keys, items=st.lists(st.integers(0, 9), max_size=30))
    def update(self, key: int, items: list[int]) -> None:
        self._at(key)
        for state in (self.list, self.ttl_list):
            state.update(items)
        self.lists[key] = [(self.now, item) for item in items]

    @rule(key=_small_keys, first=st.integers(0, 60), count=st.integers(1, 40))
    def put(self, key: int, first: int, count: int) -> None:
        self._at(key)
        for place in range(first, first + count):
            self.map.put(place, first)
            self.ttl_map.put(place, first)
            self.maps.setdefault(key, {})[place] = (self.now, first)

    @rule(key=_small_keys, first=st.integers(0, 60), count=st.integers(1, 60))
    def remove(self, key: int, first: int, count: int) -> None:
        self._at(key)
        for place in range(first, first + count):
            self.map.remove(place)
            self.ttl_map.remove(place)
            self.maps.get(key, {}).pop(place, None)

    @rule(key=_small_keys, lists=st.booleans())
    def clear(self, key: int, lists: bool) -> None:
        self._at(key)
        for state in (self.list, self.ttl_list) if lists else (self.map, self.ttl_map):
            state.clear()
        (self.lists if lists else self.maps).pop(key, None)

    @rule(passed=st.integers(1, 12))
    def wait(self, passed: int) -> None:
        self.now += passed

    def _alive(self, time: int) -> bool:
        return time + TTL_MS > self.now

    @rule(key=_small_keys)
    def read_lists(self, key: int) -> None:
        self._at(key)
        stored = self.lists.get(key, [])
        assert list(self.list.get()) == [item for _, item in stored]
        assert list(self.ttl_list.get()) == [item for time, item in stored if self._alive(time)]

    @rule(key=_small_keys)
    def read_maps(self, key: int) -> None:
        self._at(key)
        stored = self.maps.get(key, {})
        assert sorted(self.map.items()) == sorted((k, v) for k, (_, v) in stored.items())
        alive = {k: v for k, (time, v) in stored.items() if self._alive(time)}
        assert sorted(self.ttl_map.items()) == sorted(alive.items())
        assert self.map.is_empty() == (not stored)

    @rule(key=_small_keys, place=st.integers(0, 100))
    def look_up(self, key: int, place: int) -> None:
        self._at(key)
        time, value = self.maps.get(key, {}).get(place, (0, None))
        assert self.map.get(place) == value
        assert self.map.contains(place) == (value is not None)
        assert self.ttl_map.get(place) == (value if self._alive(time) else None)

    @rule()
    def flush(self) -> None:
        self.states.flush()
        self._commit()

    @rule(flushed=st.booleans(), restart=st.booleans())
    def fail(self, flushed: bool, restart: bool) -> None:
        """A batch fails, perhaps after its state was written; its process may live on."""
        if flushed:
            self.states.flush()
        self.store.content = dict(self.committed[0])
        self.lists, self.maps = deepcopy(self.committed[1]), deepcopy(self.committed[2])
        if restart:
            self._start()
        else:
            self.states.forget()

    def teardown(self) -> None:
        """Cleared states leave nothing behind but directories and descriptions."""
        if not hasattr(self, "store"):
            return
        for key in range(3):
            self._at(key)
            for state in (self.list, self.ttl_list, self.map, self.ttl_map):
                state.clear()
        self.states.flush()
        left = [name.split(b"\0", 1)[-1] for name in self.store.content]
        assert all(rest in (b"d", b"s") or rest[:1] == b"h" for rest in left), left


TestListsAndMaps = ListsAndMapsAgainstPlainOnes.TestCase
TestListsAndMaps.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
