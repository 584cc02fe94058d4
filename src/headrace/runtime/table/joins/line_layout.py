"""Lines that joins keep, in savepoints: one entry a line, and how they come back.

Columns leave as Python values (runtime/table/keying.py has the same for keys), so a savepoint knows
no Arrow.  Who takes them back does not know the types of the columns: they wait in the store until
the operator is open, which does.

    lines         key, number of the line, (values, partners, written, order)
    timed-lines   key, number of the line, (values, time)

In: the pages of a subtask.  Out: entries, and pages again.
Next: runtime/table/joins/line_store.py, runtime/table/joins/timed_lines.py
"""

from __future__ import annotations

from itertools import chain, compress
from typing import TYPE_CHECKING, Any

from headrace.data.pickling import dumps
from headrace.runtime.table.joins.run_storage import RunStorage
from headrace.runtime.table.joins.runs import FORMAT, unpacked
from headrace.runtime.table.keying import key_column, key_values
from headrace.spi.state import Layout, Target, register_layout

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

    from headrace.spi.state import ListedPages, PageStore

    Waiting = tuple[Any, Any, tuple[Any, ...]]  # key, number, value of an entry

LINES = "lines"
TIMED_LINES = "timed-lines"


class Arrivals:
    """Entries that wait for the operator."""

    def __init__(self, store: PageStore, prefix: bytes, count: int) -> None:
        self._store = store
        self._prefix = prefix + b"i"
        self.count = count

    @staticmethod
    def waiting(store: PageStore, prefix: bytes) -> Arrivals | None:
        """Those in a store, if there are any."""
        stored = store.get(prefix + b"i")
        return None if stored is None else Arrivals(store, prefix, unpacked(stored))

    def add(self, entries: list[Waiting]) -> None:
        """Let more of them wait."""
        self._store.put(self._key(self.count), FORMAT + dumps(entries))
        self.count += 1
        self._store.put(self._prefix, FORMAT + dumps(self.count))

    def entries(self) -> Iterator[list[Waiting]]:
        """All of them, part by part."""
        for number in range(self.count):
            content = self._store.get(self._key(number))
            assert content is not None, (self._prefix, number)
            yield unpacked(content)

    def parts(
        self, types: Sequence[pa.DataType]
    ) -> Iterator[tuple[list[pa.Array], list[tuple[Any, ...]]]]:
        """(columns, what else is known of each line), part by part."""
        for entries in self.entries():
            rows = [value[0] for _, _, value in entries]
            columns = [
                key_column([row[number] for row in rows], kind) for number, kind in enumerate(types)
            ]
            yield columns, [value[1:] for _, _, value in entries]

    def delete(self) -> None:
        """They have arrived."""
        for number in range(self.count):
            self._store.delete(self._key(number))
        self._store.delete(self._prefix)

    def _key(self, number: int) -> bytes:
        return self._prefix + number.to_bytes(6, "big")


class LineLayout(Layout):
    """One entry for each line that is kept."""

    columns = ("line",)

    def entries(self, store: ListedPages, name: str) -> Iterator[tuple[Any, ...]]:
        """All lines."""
        arrivals = Arrivals.waiting(store, name.encode() + b"\0")
        waiting = () if arrivals is None else arrivals.entries()
        of_waiting = ((key, value) for part in waiting for key, _, value in part)
        for number, entry in enumerate(chain(of_waiting, self._stored(store, name))):
            yield entry[0], number, entry[1]

    def _stored(self, store: ListedPages, name: str) -> Iterator[tuple[Any, Any]]:
        storage = RunStorage(store, name.encode() + b"\0", ())
        for run in storage.all_runs():
            marks = [
                [None] * len(run) if values is None else values.tolist()
                for values in (run.partners, run.written, run.order)
            ]
            entries = entries_of(run.columns, storage.keys, marks)
            yield from compress(entries, run.live.tolist())

    def target(self, store: PageStore, name: str) -> Target:
        """Takes them back."""
        return _LineTarget(store, name)


class TimedLineLayout(LineLayout):
    """One entry for each line that waits."""

    def _stored(self, store: ListedPages, name: str) -> Iterator[tuple[Any, Any]]:
        from headrace.runtime.table.joins.timed_lines import TimedLines

        lines = TimedLines(store, name, (), ())
        for batch in lines.batches():
            times = batch.column("$time").to_pylist()
            yield from entries_of(batch.columns[:-2], lines.keys, [times])


class _LineTarget(Target):
    def __init__(self, store: PageStore, name: str) -> None:
        prefix = name.encode() + b"\0"
        self._arrivals = Arrivals.waiting(store, prefix) or Arrivals(store, prefix, 0)
        self._taken: list[Waiting] = []

    def put(self, key: Any, namespace: Any, value: Any) -> None:
        self._taken.append((key, namespace, value))

    def flush(self) -> None:
        if self._taken:
            self._arrivals.add(self._taken)
            self._taken = []


def entries_of(
    columns: Sequence[pa.Array], keys: Sequence[int], marks: Sequence[list[Any]]
) -> Iterator[tuple[Any, tuple[Any, ...]]]:
    """(key, (values, marks)) of every line."""
    rows = zip(*map(key_values, columns), strict=True)
    for row, *of_line in zip(rows, *marks, strict=True):
        key = row[keys[0]] if len(keys) == 1 else tuple(row[column] for column in keys)
        yield key, (row, *of_line)


register_layout(LineLayout(LINES))
register_layout(TimedLineLayout(TIMED_LINES))
