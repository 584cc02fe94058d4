"""Paged tables against plain dictionaries: batches, splits, hot entries, evictions and restarts.

A batch that fails is the store as it was before it, and a table that forgets.
"""

from __future__ import annotations

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from headrace.runtime.state.backend import DictStore
from headrace.runtime.state.cells import Memory
from headrace.runtime.state.limits import Limits
from headrace.runtime.state.pages import NO_ENTRY, PagedTable, unpack

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
)


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

    @rule(key=_keys, value=st.text("xyz", max_size=12))
    def put(self, key: Any, value: str) -> None:
        self.table.put(key, value)
        self.model[key] = value

    @rule(first=st.integers(0, 400), step=st.sampled_from([1, 1, 7]), count=st.integers(1, 90))
    def put_many(self, first: int, step: int, count: int) -> None:
        for key in range(first, first + step * count, step):
            self.table.put(key, first)
            self.model[key] = first

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
        self.table.sweep(lambda entry: NO_ENTRY if entry == "x" else entry, pages)
        self.model = {
            key: value for key, value in self.model.items() if value != "x" or key in self.table
        }

    @rule()
    def flush(self) -> None:
        self.table.flush()
        self.flushed = dict(self.model)
        self.committed = self.store.snapshot()
        if self.table.now % 4 != 3:  # every fourth flush tidies the hot region up
            writes = self.store.writes
            self.table.flush()
            assert self.store.writes == writes  # nothing is dirty any more

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
    import pickle

    return pickle.loads(bucket) if bucket else {}


TestTable = TableAgainstADictionary.TestCase
TestTable.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
