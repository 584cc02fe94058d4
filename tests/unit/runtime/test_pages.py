"""The paged table by example, with a look at the store; tests/properties has it at random."""

from __future__ import annotations

import gc
import random
from typing import Any

import pytest

from headrace.errors import StateError
from headrace.runtime.pages.cells import Memory
from headrace.runtime.pages.limits import Limits
from headrace.runtime.pages.packed import page_hash, page_hashes
from headrace.runtime.pages.store import DictStore
from headrace.runtime.pages.table import NO_ENTRY, PagedTable

SMALL = Limits(page_bytes=200, bucket_entries=2)
TINY = Limits(page_bytes=60, bucket_entries=1)


def _filled(count: int, limits: Limits = SMALL) -> tuple[DictStore, PagedTable]:
    store = DictStore()
    table = PagedTable(store, "t", limits=limits)
    for key in range(count):
        table.put(key, key)
    table.flush()
    return store, PagedTable(store, "t", limits=limits)


def test_only_the_page_of_a_changed_key_is_written() -> None:
    store, table = _filled(500)
    store.reads = store.writes = 0
    table.put(7, "new")
    table.flush()
    assert store.writes == 1
    assert store.reads == 2  # the directory and the page


def test_reading_writes_nothing() -> None:
    store, table = _filled(500)
    store.writes = 0
    assert table.get(7) == 7
    assert table.get("absent") is None
    table.remove("absent")
    table.flush()
    assert store.writes == 0


def test_a_key_is_read_from_the_store_once() -> None:
    store, table = _filled(500)
    table.get(7)
    store.reads = 0
    for _ in range(5):
        table.get(7)
        assert table.get("absent") is None
    assert store.reads <= 1


def test_a_table_that_is_never_touched_reads_and_writes_nothing() -> None:
    store = DictStore()
    table = PagedTable(store, "t")
    table.flush()
    assert (store.reads, store.writes) == (0, 0)


def test_a_small_table_is_one_page_without_a_directory() -> None:
    store = DictStore()
    table = PagedTable(store, "t")
    table.put("a", 1)
    table.flush()
    assert len(store.content) == 1


def test_an_emptied_table_leaves_at_most_its_directory() -> None:
    store, table = _filled(500)
    for key in range(500):
        table.remove(key)
    table.flush()
    assert set(store.content) <= {b"t\0d"}


@pytest.mark.parametrize("seed", range(5))
def test_pages_merge_with_sisters_that_are_not_in_memory(seed: int) -> None:
    store, _ = _filled(120, TINY)
    model: dict[int, Any] = {key: key for key in range(120)}
    order = random.Random(seed).sample(range(120), 120)
    for number, key in enumerate(order):
        table = PagedTable(store, "t", limits=TINY)  # a restart: nothing is loaded
        table.remove(key)
        del model[key]
        if number % 7 == 3:
            table.put(-key, "again")
            model[-key] = "again"
        table.flush()
    assert dict(PagedTable(store, "t", limits=TINY).items()) == model
    table = PagedTable(store, "t", limits=TINY)
    for key in list(model):
        table.remove(key)
    for key in range(120):
        table.put(key, "new")
    table.flush()
    again = PagedTable(store, "t", limits=TINY)
    assert all(again.get(key) == "new" for key in range(120))


def test_one_value_larger_than_a_page_is_stored_whole() -> None:
    store = DictStore()
    table = PagedTable(store, "t", limits=TINY)
    for key in range(4):
        table.put(key, "x" * 1000)
    table.flush()
    again = PagedTable(store, "t", limits=TINY)
    assert dict(again.items()) == dict.fromkeys(range(4), "x" * 1000)


def test_tables_with_related_names_do_not_mix() -> None:
    store = DictStore()
    tables = {name: PagedTable(store, name, limits=TINY) for name in ("a", "a/b", "ab", "")}
    for name, table in tables.items():
        for key in range(30):
            table.put(key, name)
        table.flush()
    tables["a"].drop()
    for name in ("a/b", "ab", ""):
        assert dict(PagedTable(store, name).items()) == dict.fromkeys(range(30), name)


def test_state_of_a_later_format_is_refused() -> None:
    store, table = _filled(3)
    for name, content in store.content.items():
        store.content[name] = b"\x63" + content[1:]
    with pytest.raises(StateError, match="format 99"):
        table.get(1)


# --- hot entries -------------------------------------------------------------------------------

HOT = Limits(page_bytes=400, bucket_entries=4, hot_entries=40)


def _numbers(store: DictStore) -> dict[Any, Any]:
    return dict(PagedTable(store, "t", limits=HOT).items())


def test_few_changes_in_many_pages_are_not_a_write_of_each_page() -> None:
    store, table = _filled(2000, HOT)
    pages = len(store.content) - 1
    hot = range(0, 2000, 100)
    for batch in range(5):
        store.writes = 0
        for key in hot:
            table.put(key, (key, batch))
        table.flush()
        assert store.writes <= 17 < pages // 2  # a segment in each lane, and the directory
    assert _numbers(store) == {k: (k, 4) if k in hot else k for k in range(2000)}
    again = PagedTable(store, "t", limits=HOT)
    store.reads = 0
    assert again.get(100) == (100, 4)
    assert store.reads <= 17  # no page: the hot region is read on open


def test_a_hot_entry_that_is_removed_does_not_come_back_from_its_page() -> None:
    store, table = _filled(2000, HOT)
    hot = range(0, 2000, 100)
    for key in hot:
        table.put(key, "hot")
    table.flush()
    for key in hot:
        table.remove(key)
    table.flush()
    assert not any(key in table for key in hot)
    assert _numbers(store) == {k: k for k in range(2000) if k not in hot}
    again = PagedTable(store, "t", limits=HOT)
    assert [again.get(key, "none") for key in hot] == ["none"] * len(hot)


def test_the_hot_region_stays_within_its_limit() -> None:
    store, table = _filled(2000, HOT)
    model = {key: key for key in range(2000)}
    for batch in range(30):
        for key in random.Random(batch).sample(range(2000), 15):
            table.put(key, batch)
            model[key] = batch
        table.flush()
        assert sum(lane.live for lane in table.hot.lanes) <= HOT.hot_entries
    assert _numbers(store) == model


def test_entries_that_cool_down_go_back_to_their_pages() -> None:
    store, table = _filled(2000, HOT)
    for key in range(0, 2000, 100):
        table.put(key, "once hot")
    table.flush()
    assert any(name.startswith(b"t\0h") for name in store.content)
    for batch in range(200):
        table.put(1, batch)
        table.flush()
    assert not any(name.startswith(b"t\0h") for name in store.content)
    assert _numbers(store)[100] == "once hot"


# --- memory ------------------------------------------------------------------------------------


def _crowded() -> tuple[DictStore, PagedTable, Memory]:
    store, _ = _filled(30_000, Limits())
    memory = Memory(cell_bytes=6000 * 400, page_bytes=50_000)
    return store, PagedTable(store, "t", limits=Limits(page_bytes=8000), memory=memory), memory


def test_memory_is_bounded_within_a_batch_and_nothing_is_lost() -> None:
    store, table, memory = _crowded()
    most = 0
    table.put(17, "changed")
    for key in range(30_000):
        assert table.get(key) == key or key == 17
        most = max(most, len(table.cells))
    assert 3000 < most < 13_000  # what 256 misses bring along comes on top of 6000
    assert table.get(17) == "changed"
    table.flush()
    assert table.measure()[0] <= memory.cell_bytes
    assert table.measure()[1] <= memory.page_bytes
    assert PagedTable(store, "t").get(17) == "changed"


def test_a_batch_that_changes_more_than_fits_ends_within_the_bound() -> None:
    store, table, memory = _crowded()
    for key in range(20_000):
        table.put(key, "changed")
    table.flush()
    assert table.measure()[0] <= memory.cell_bytes
    assert PagedTable(store, "t").get(19_999) == "changed"


def test_a_cell_that_left_memory_while_somebody_held_it_is_still_written() -> None:
    store, table, _ = _crowded()
    held = table.find(17)
    for key in range(30_000):
        table.get(key)
    assert table.cells.get(17) is not held
    held.value = "changed"
    table.touch(held)
    assert table.get(17) == "changed"
    table.flush()
    assert PagedTable(store, "t").get(17) == "changed"


def test_a_table_that_is_gone_leaves_its_room_to_others() -> None:
    memory = Memory(cell_bytes=100_000)
    kept = PagedTable(DictStore(), "kept", memory=memory)
    kept.put(1, 1)
    kept.flush()
    for attempt in range(10):  # of a job in a process that outlives them all
        table = PagedTable(DictStore(), "t", memory=memory)
        for key in range(100):
            table.put(key, attempt)
        table.flush()
        del table
        gc.collect()
        assert memory.roomy
    assert (memory._cells, memory._pages) == kept.measure()


def test_keys_that_are_not_there_do_not_stay_in_memory() -> None:
    _, table = _filled(10)
    for key in range(1000, 2000):
        assert table.find(key).value is NO_ENTRY
    table.flush()
    assert len(table.cells) <= 10


def test_what_comes_and_goes_within_a_batch_is_not_written() -> None:
    store, table = _filled(10)
    store.writes = 0
    table.put("brief", 1)
    table.remove("brief")
    table.flush()
    assert store.writes == 0


def test_pages_that_empty_become_few_again() -> None:
    store, table = _filled(3000)
    before = len(store.content)
    for key in range(3000):
        if key % 100:
            table.remove(key)
    table.flush()
    assert len(store.content) < before // 8
    assert dict(PagedTable(store, "t", limits=SMALL).items()) == {k: k for k in range(0, 3000, 100)}


def test_large_entries_do_not_make_the_directory_large() -> None:
    store = DictStore()
    table = PagedTable(store, "t", limits=TINY)
    for key in range(3000):
        table.put(key, "x" * 100)
    table.flush()
    assert len(table.directory.places) <= 32 * len(table.directory.depths)
    assert len(PagedTable(store, "t", limits=TINY).items()) == 3000


@pytest.mark.parametrize(
    "keys",
    [
        ["a", "\u00fc", "", "x" * 100],
        ["a", "\ud800"],
        [1, -1, 0, 2**70, -(2**63)],
        ["a", 1, ("a", 1), b"a"],
        [],
    ],
)
def test_many_keys_hash_as_each_of_them(keys: list[Any]) -> None:
    assert page_hashes(keys) == [page_hash(key) for key in keys]
