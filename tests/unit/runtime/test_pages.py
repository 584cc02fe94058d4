"""The paged table against a dictionary, with splits, merges, restarts and a look at the store."""

from __future__ import annotations

import pickle
import random
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from headrace.errors import StateError
from headrace.runtime.state.backend import DictStore
from headrace.runtime.state.pages import PagedTable

_keys = st.one_of(
    st.integers(0, 60), st.sampled_from("abcdef"), st.tuples(st.integers(0, 3), st.integers(0, 3))
)


class PagesAgainstADictionary(RuleBasedStateMachine):
    """`flushed` is what a restart must bring back; `model` is what the table must show."""

    @initialize(page_bytes=st.sampled_from([60, 150, 400]))
    def open(self, page_bytes: int) -> None:
        self.page_bytes = page_bytes
        self.store = DictStore()
        self.model: dict[Any, Any] = {}
        self.flushed: dict[Any, Any] = {}
        self.table = self._new_table()

    def _new_table(self) -> PagedTable:
        return PagedTable(self.store, "t", page_bytes=self.page_bytes)

    @rule(key=_keys, value=st.text("xyz", max_size=12))
    def put(self, key: Any, value: str) -> None:
        self.table.put(key, value)
        self.model[key] = value

    @rule(first=st.integers(0, 40))
    def put_many(self, first: int) -> None:
        for key in range(first, first + 20):
            self.table.put(key, "many")
            self.model[key] = "many"

    @rule(key=_keys)
    def remove(self, key: Any) -> None:
        self.table.remove(key)
        self.model.pop(key, None)

    @rule(keep=st.integers(0, 3))
    def remove_most(self, keep: int) -> None:
        for key in list(self.model)[keep:]:
            self.table.remove(key)
            del self.model[key]

    @rule(key=_keys)
    def look(self, key: Any) -> None:
        assert self.table.get(key) == self.model.get(key)
        assert self.table.get(key, "none") == self.model.get(key, "none")
        assert (key in self.table) == (key in self.model)

    @rule()
    def list_all(self) -> None:
        items = self.table.items()
        assert len(items) == len(self.model)
        assert dict(items) == self.model

    @rule()
    def flush(self) -> None:
        self.table.flush()
        self.flushed = dict(self.model)
        writes = self.store.writes
        self.table.flush()
        assert self.store.writes == writes  # nothing is dirty any more

    @rule()
    def forget_what_was_not_flushed(self) -> None:
        self.table.forget()
        self.model = dict(self.flushed)

    @rule()
    def restart(self) -> None:
        self.store = DictStore(self.store.snapshot())
        self.table = self._new_table()
        self.model = dict(self.flushed)

    @rule()
    def drop(self) -> None:
        self.table.drop()
        assert self.store.content == {}
        self.model, self.flushed = {}, {}

    @invariant()
    def stored_pages_are_small_and_not_empty(self) -> None:
        for name, content in self.store.content.items():
            if not name.endswith(b"\0d"):
                entries = pickle.loads(content[1:])
                assert entries
                assert len(content) <= self.page_bytes or len(entries) == 1


TestPages = PagesAgainstADictionary.TestCase
TestPages.settings = settings(max_examples=40, stateful_step_count=40, deadline=None)


def _filled(count: int, page_bytes: int = 200) -> tuple[DictStore, PagedTable]:
    store = DictStore()
    table = PagedTable(store, "t", page_bytes=page_bytes)
    for key in range(count):
        table.put(key, key)
    table.flush()
    return store, PagedTable(store, "t", page_bytes=page_bytes)


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
    store, _ = _filled(120, page_bytes=60)
    model = {key: key for key in range(120)}
    order = random.Random(seed).sample(range(120), 120)
    for number, key in enumerate(order):
        table = PagedTable(store, "t", page_bytes=60)  # a restart: nothing is loaded
        table.remove(key)
        del model[key]
        if number % 7 == 3:
            table.put(-key, "again")
            model[-key] = "again"
        table.flush()
    assert dict(PagedTable(store, "t", page_bytes=60).items()) == model
    table = PagedTable(store, "t", page_bytes=60)
    for key in list(model):
        table.remove(key)
    for key in range(120):
        table.put(key, "new")
    table.flush()
    again = PagedTable(store, "t", page_bytes=60)
    assert all(again.get(key) == "new" for key in range(120))


def test_one_value_larger_than_a_page_is_stored_whole() -> None:
    store = DictStore()
    table = PagedTable(store, "t", page_bytes=100)
    for key in range(4):
        table.put(key, "x" * 1000)
    table.flush()
    again = PagedTable(store, "t", page_bytes=100)
    assert dict(again.items()) == dict.fromkeys(range(4), "x" * 1000)


def test_tables_with_related_names_do_not_mix() -> None:
    store = DictStore()
    tables = {name: PagedTable(store, name, page_bytes=60) for name in ("a", "a/b", "ab", "")}
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
