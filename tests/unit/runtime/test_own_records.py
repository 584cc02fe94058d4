"""Large values have records of their own, so that a batch writes what changed and not its page."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest

from headrace.data.pickling import dumps
from headrace.errors import StateError
from headrace.runtime.pages.cells import Memory
from headrace.runtime.pages.large import LargeTable
from headrace.runtime.pages.limits import Limits
from headrace.runtime.pages.store import DictStore
from headrace.runtime.pages.table import NO_ENTRY, PagedTable, unpack
from headrace.runtime.savepoint.entries import export, load
from headrace.runtime.savepoint.spooled import SpooledStore

if TYPE_CHECKING:
    from collections.abc import Sequence

NEVER = 1 << 40


class CountingStore(DictStore):
    """Counts bytes, too."""

    read_bytes = written_bytes = 0

    def get(self, key: bytes) -> bytes | None:
        found = super().get(key)
        self.read_bytes += len(found or b"")
        return found

    def put(self, key: bytes, content: bytes) -> None:
        super().put(key, content)
        self.written_bytes += len(content)

    def start_counting(self) -> None:
        self.reads = self.writes = self.read_bytes = self.written_bytes = 0


def _records(store: DictStore) -> int:
    return sum(name.startswith(b"t\0v") for name in store.content)


@pytest.mark.parametrize(
    ("size", "keys", "most_written", "most_read"),
    [(8, 50_000, 25, 1), (100, 20_000, 12, 1), (300, 20_000, 1.3, 1.2), (1_000, 20_000, 1.1, 1.1),
     (10_000, 2_000, 1.05, 1.05), (1_000_000, 20, 1.01, 1.01)],
)  # fmt: skip
def test_a_batch_writes_and_reads_what_changed(
    size: int, keys: int, most_written: float, most_read: float
) -> None:
    """New keys in ten batches, then changes of a twentieth of them, in as little memory as that."""
    store, chance = CountingStore(), random.Random(size)
    memory = Memory(cell_bytes=keys // 20 * (size * 4 + 400), page_bytes=4 << 20)
    table = PagedTable(store, "t", memory=memory)
    order = chance.sample(range(keys), keys)
    each = keys // 10
    batches = [order[start : start + each] for start in range(0, keys, each)]
    batches += [chance.sample(order, max(1, keys // 20)) for _ in range(5)]
    for batch in batches:
        store.start_counting()
        for key in batch:
            table.get(key)
            table.put(key, chance.randbytes(size))
        table.flush()
        changed = len(batch) * size
        assert store.written_bytes <= most_written * changed + 10_000
        assert store.read_bytes <= most_read * changed + 10_000
    stored = sum(map(len, store.content.values()))
    assert stored <= keys * (size + 30) * 1.2


def test_a_changed_large_value_is_one_write() -> None:
    store = CountingStore()
    table = PagedTable(store, "t")
    for key in range(5_000):
        table.put(key, b"x" * 1000)
    table.flush()
    store.start_counting()
    table.put(7, b"y" * 900)
    table.flush()
    assert (store.writes, store.written_bytes) == (1, 1 + len(dumps(b"y" * 900)))


def test_a_new_key_among_large_values_reads_none_of_them() -> None:
    store = CountingStore()
    table = PagedTable(store, "t")
    for key in range(5_000):
        table.put(key, b"x" * 1000)
    table.flush()
    again = PagedTable(store, "t")
    store.start_counting()
    assert again.get("new") is None
    assert store.read_bytes < 30_000  # the directory and one page
    assert store.reads <= 2


def test_a_value_changes_its_place_with_its_size_and_leaves_nothing_behind() -> None:
    store = DictStore()
    table = PagedTable(store, "t")
    for value, records in [("a" * 300, 1), ("a" * 200, 1), ("a" * 100, 0), ("a" * 200, 0),
                           ("a" * 300, 1), (NO_ENTRY, 0)]:  # fmt: skip
        table.put("key", value)
        table.flush()
        assert _records(store) == records
        assert PagedTable(store, "t").get("key", NO_ENTRY) == value


def test_one_large_value_among_small_ones_gets_a_record_when_its_bucket_is_heavy() -> None:
    store = DictStore()
    table = PagedTable(store, "t")
    for key in range(5_000):
        table.put(key, key)
    table.put("large", "x" * 20_000)  # no sample of the changed values finds it
    table.flush()
    assert _records(store) == 1
    table.remove("large")
    table.flush()
    assert _records(store) == 0


def test_hot_entries_of_large_values_may_leave_memory() -> None:
    limits = Limits(page_bytes=400, bucket_entries=4, hot_entries=400)
    store, memory = DictStore(), Memory(cell_bytes=50_000)
    table = PagedTable(store, "t", limits=limits, memory=memory)
    for key in range(1_000):
        table.put(key, key)
    table.flush()
    hot = range(0, 1_000, 10)
    for key in hot:
        table.put(key, "x" * 1_000 + str(key))
    table.flush()
    assert any(name.startswith(b"t\0h") for name in store.content)
    for key in range(1_000):
        table.get(key)
    assert len(table.cells) < 100
    for opened in (table, PagedTable(store, "t", limits=limits, memory=memory)):
        assert [opened.get(key) for key in hot] == ["x" * 1_000 + str(key) for key in hot]
        assert len(opened.items()) == 1_000


def test_a_dropped_table_takes_its_records_along() -> None:
    store = DictStore()
    table = PagedTable(store, "t")
    for key in range(500):
        table.put(key, b"x" * 1000)
    table.flush()
    PagedTable(store, "t").drop()
    assert store.content == {}


def test_a_missing_record_is_an_error_and_not_an_absent_key() -> None:
    store = DictStore()
    table = PagedTable(store, "t")
    table.put("key", b"x" * 1000)
    table.flush()
    del store.content[b"t\0v" + (1).to_bytes(8, "big")]
    with pytest.raises(StateError, match="a part of the stored state is missing: value 1 of"):
        PagedTable(store, "t").get("key")


def test_a_map_in_parts_with_large_values_stays_in_parts() -> None:
    store = CountingStore()
    table = LargeTable(store, "t")
    table.put("key", {number: bytes([number]) * 1000 for number in range(20)})
    table.flush()
    for batch in range(3):
        store.start_counting()
        table.parts(table.cell("key")).entries.put(batch, b"y" * 1000)
        table.flush()
        assert store.written_bytes < 1_100


def test_large_values_leave_a_checkpoint_and_come_back_for_other_subtasks() -> None:
    store = DictStore()
    table = PagedTable(store, "op/user/blob")
    values = {key: (f"{key}" * 300, key) if key % 3 else key for key in range(2_000)}
    for key, value in values.items():
        table.put(key, value)
    table.flush()
    with SpooledStore(store.content.items()) as pages:
        entries = list(export(pages, {"op": 128}))
    halves: list[dict[Any, Any]] = []
    for half in (0, 1):
        target = DictStore()
        load(target, [entry for entry in entries if entry.key_group % 2 == half])
        halves.append(dict(PagedTable(target, "op/user/blob").items()))
    assert min(map(len, halves)) > 500
    assert halves[0] | halves[1] == values


# --- reading ahead -------------------------------------------------------------------------------


class RoundTrips(DictStore):
    """Counts how often somebody waits for the store."""

    trips = 0

    def get(self, key: bytes) -> bytes | None:
        self.trips += 1
        return super().get(key)

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        before = self.trips
        found = super().get_many(keys)
        self.trips = before + 1
        return found


@pytest.mark.parametrize("size", [100, 1_000])
def test_cold_entries_are_read_many_at_a_time(size: int) -> None:
    store, chance = RoundTrips(), random.Random(size)
    memory = Memory(cell_bytes=2_000 * (size * 4 + 400), page_bytes=100_000)
    table = PagedTable(store, "t", memory=memory)
    values = {key: chance.randbytes(size) for key in range(20_000)}
    for key, value in values.items():
        table.put(key, value)
    table.flush()
    trips = []
    for _ in range(3):
        store.trips = 0
        keys = chance.sample(range(20_000), 1_000)
        table.read_ahead(keys)
        for key in keys:
            assert table.get(key) == values[key]
        table.flush()
        trips.append(store.trips)
    # in the first batch nobody knew
    assert trips[0] > 500
    assert max(trips[1:]) < 80


def test_nothing_is_read_ahead_where_entries_are_in_memory() -> None:
    store = RoundTrips()
    table = PagedTable(store, "t")
    for key in range(2_000):
        table.put(key, b"x" * 1_000)
    table.flush()
    for _ in range(3):
        store.trips = 0
        table.read_ahead(range(4_000))
        for key in range(2_000):
            table.get(key)
        table.flush()
        assert store.trips == 0


# --- what older versions wrote -------------------------------------------------------------------


def _written_by_version_2(values: dict[Any, Any]) -> DictStore:
    store = DictStore()
    table = PagedTable(store, "t", limits=Limits(page_bytes=64 << 10, own_record_bytes=NEVER))
    for key in list(values)[::2]:
        table.put(key, "before")
    table.flush()
    for key, value in values.items():
        table.put(key, value)
    table.flush()
    for key in list(values)[::50]:  # into the hot region
        table.put(key, values[key])
    table.flush()
    for name, content in store.content.items():
        if name == b"t\0d":
            *old, bound = unpack(content)
            assert bound == 0
            content = b"\x03" + dumps(tuple(old))
        store.content[name] = b"\x02" + content[1:]
    return store


def test_state_of_version_2_opens_and_moves_with_its_changes() -> None:
    values = {key: f"{key}" * 200 for key in range(3_000)}
    store = _written_by_version_2(values)
    table = PagedTable(store, "t")
    assert dict(table.items()) == values
    assert _records(store) == 0
    for key in range(0, 3_000, 3):
        table.put(key, values[key])
    table.flush()
    assert _records(store) >= 1_000
    assert dict(PagedTable(store, "t").items()) == values


def test_an_entry_that_came_along_with_another_is_not_taken_for_absent() -> None:
    store = DictStore()
    table = PagedTable(store, "t")
    for key in range(100):
        table.put(key, key)
    table.flush()
    again = PagedTable(DictStore(store.snapshot()), "t")
    again._reads_ahead = True
    again.read_ahead([*range(100, 200), *range(100)])  # absent ones bring their neighbours along
    assert dict(again.items()) == {key: key for key in range(100)}
    again.flush()
    assert [again.get(key) for key in range(100)] == list(range(100))
