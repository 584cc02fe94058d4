"""An operator with states in layouts of its own, as somebody outside of headrace would write it.

It counts records by key and day, in a few JSON pages, and knows the largest number that any subtask
has ever seen.
"""

from __future__ import annotations

import json
import zlib
from typing import TYPE_CHECKING, Any

from headrace.common import Types
from headrace.runtime.operators.keyed import KeyedOperator
from headrace.spi.state import Layout, StateSpec, Target, register_layout

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.data.records import Records
    from headrace.datastream.data_stream import DataStream, KeyedStream
    from headrace.runtime.operators.base import OperatorRuntime
    from headrace.runtime.watermarks import InputClocks
    from headrace.spi.state import ListedPages, PageStore

PAGES = 4
DAY = 100
TALLIES = StateSpec("tallies", "tallies")
LARGEST = StateSpec("largest", "largest", "union")
RESULT = Types.TUPLE([Types.STRING(), Types.LONG(), Types.LONG(), Types.LONG()])


# --- how they are stored -------------------------------------------------------------------------


class TallyPages:
    """Counts by key and day: ``<name>/<page>`` holds [[key, day, count], ...] as JSON."""

    def __init__(self, store: PageStore, name: str) -> None:
        self._store = store
        self._name = name
        self.forget()

    def forget(self) -> None:
        """Start from what the store holds."""
        self._pages: dict[int, dict[tuple[str, int], int]] = {}
        self._changed: set[int] = set()

    def add(self, key: str, day: int, count: int) -> int:
        """Count more; the sum."""
        number = zlib.crc32(key.encode()) % PAGES
        page = self._page(number)
        page[key, day] = page.get((key, day), 0) + count
        self._changed.add(number)
        return page[key, day]

    def items(self) -> Iterator[tuple[str, int, int]]:
        """Everything."""
        for number in range(PAGES):
            for (key, day), count in self._page(number).items():
                yield key, day, count

    def flush(self) -> None:
        """Write the pages that changed."""
        for number in sorted(self._changed):
            rows = [[*place, count] for place, count in self._pages[number].items()]
            self._store.put(self._key(number), json.dumps(rows).encode())
        self._changed.clear()

    def _page(self, number: int) -> dict[tuple[str, int], int]:
        if number not in self._pages:
            rows = json.loads(self._store.get(self._key(number)) or b"[]")
            self._pages[number] = {(key, day): count for key, day, count in rows}
        return self._pages[number]

    def _key(self, number: int) -> bytes:
        return f"{self._name}/{number}".encode()


class TallyLayout(Layout):
    spread = True
    columns = ("day",)

    def entries(self, store: ListedPages, name: str) -> Iterator[tuple[Any, ...]]:
        return TallyPages(store, name).items()

    def target(self, store: PageStore, name: str) -> Target:
        return TallyTarget(TallyPages(store, name))


class TallyTarget(Target):
    def __init__(self, pages: TallyPages) -> None:
        self.pages = pages

    def put(self, key: Any, namespace: Any, value: Any) -> None:
        self.pages.add(key, namespace, value)

    def flush(self) -> None:
        self.pages.flush()


class LargestLayout(Layout):
    """One number a subtask, without a key."""

    def entries(self, store: ListedPages, name: str) -> Iterator[tuple[Any, ...]]:
        content = store.get(name.encode())
        if content is not None:
            yield None, None, int(content)

    def target(self, store: PageStore, name: str) -> Target:
        return LargestTarget(store, name)


class LargestTarget(Target):
    def __init__(self, store: PageStore, name: str) -> None:
        self.store, self.name = store, name.encode()

    def put(self, key: Any, namespace: Any, value: Any) -> None:
        known = int(self.store.get(self.name) or value)
        self.store.put(self.name, str(max(known, value)).encode())

    def flush(self) -> None:
        pass


register_layout(TallyLayout("tallies"))
register_layout(LargestLayout("largest"))


# --- the operator --------------------------------------------------------------------------------


class TallyOperator(KeyedOperator):
    """(key, number) -> (key, day, records of the day, largest number so far)."""

    def __init__(self) -> None:
        super().__init__(None)

    def state_specs(self) -> tuple[StateSpec, ...]:
        return (*super().state_specs(), TALLIES, LARGEST)

    def open(self, runtime: OperatorRuntime) -> None:
        super().open(runtime)
        self.tallies = TallyPages(runtime.store, f"{runtime.uid}/{TALLIES.name}")
        self.largest_key = f"{runtime.uid}/{LARGEST.name}".encode()
        self.largest = -1

    def reload(self, clocks: InputClocks) -> None:
        super().reload(clocks)
        self.tallies.forget()
        self.largest = int(self.runtime.store.get(self.largest_key) or -1)

    def process(self, records: Records, input: int) -> None:  # noqa: A002
        results = []
        for key, (_, number) in zip(self.keys(records), records.values, strict=True):
            self.largest = max(self.largest, number)
            day = number // DAY
            results.append((key, day, self.tallies.add(key, day, 1), self.largest))
        self.output.emit(records.with_values(results))

    def flush(self) -> None:
        super().flush()
        self.tallies.flush()
        self.runtime.store.put(self.largest_key, str(self.largest).encode())


def tally(keyed: KeyedStream) -> DataStream:
    """The step."""
    return keyed._transform("tally", "Tally", TallyOperator(), RESULT).uid("tally")
