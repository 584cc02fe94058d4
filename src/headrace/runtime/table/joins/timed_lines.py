"""Lines that wait for a time, as columns: put in at any time, taken out once it has come.

    bucket of time ─▶ chunks of columns, in the store and as long as there is room in memory

    <name> d     which chunks there are          <name> c <number>     a chunk

In: lines and the time that each waits for.  Out: those whose time has come, in order of arrival.
Next: runtime/table/joins/window_join.py, runtime/table/joins/temporal.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from headrace.data.pickling import dumps
from headrace.errors import StateError
from headrace.runtime.table.joins.line_layout import TIMED_LINES, Arrivals
from headrace.runtime.table.joins.runs import FORMAT, unpacked
from headrace.spi.state import StateSpec

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from headrace.runtime.pages.store import PageStore
    from headrace.runtime.table.joins.runs import Places

BUCKET_MS = 4096
KEPT_BYTES = 64 << 20  # of one store, between two batches
_MARKS = ("$time", "$line")


class TimedChunk:
    """Some lines of one bucket.

    Attributes:
        number: under which it is stored.
        lines: how many it has.
        batch: the columns, `$time` and `$line`, the number of arrival; None if not in memory.
    """

    __slots__ = ("batch", "lines", "number", "stored")

    def __init__(self, number: int, lines: int, batch: pa.RecordBatch | None = None) -> None:
        self.number = number
        self.lines = lines
        self.batch = batch
        self.stored = batch is None


class TimedLines:
    """Lines by time.

    Args:
        store: where they survive.
        name: under which name.
        types: of the columns.
        keys: the places of the columns of the key, to which subtask lines belong.
    """

    def __init__(
        self, store: PageStore, name: str, types: Sequence[pa.DataType], keys: Sequence[int]
    ) -> None:
        self._store = store
        self._prefix = name.encode() + b"\0"
        self._keys = tuple(keys)
        self._types = tuple(types)
        fields = [(str(number), kind) for number, kind in enumerate(types)]
        self._schema = pa.schema([*fields, *((mark, pa.int64()) for mark in _MARKS)])
        self.forget()

    @staticmethod
    def spec(name: str) -> StateSpec:
        """The state of such lines."""
        return StateSpec(name, TIMED_LINES)

    def forget(self) -> None:
        """Start from what the store holds."""
        # survives restart
        self._buckets: dict[int, list[TimedChunk]] = {}
        self._next_chunk = self._next_line = 1
        # rebuilt
        self._opened = self._dirty = False
        self._gone: list[TimedChunk] = []

    def add(self, times: Places, columns: Sequence[pa.Array]) -> None:
        """Let lines wait."""
        self._open()
        if not len(times):
            return
        buckets = times // BUCKET_MS
        order = np.argsort(buckets, kind="stable")
        numbers = self._next_line + np.arange(len(times))
        self._next_line += len(times)
        arrays = [*columns, pa.array(times), pa.array(numbers)]
        ordered = buckets[order]
        starts = np.flatnonzero(np.diff(ordered, prepend=ordered[0] - 1))
        batch = pa.RecordBatch.from_arrays(arrays, schema=self._schema)
        if len(starts) > 1:
            batch = batch.take(pa.array(order))
        ends = [*starts[1:].tolist(), len(times)]
        for start, end in zip(starts.tolist(), ends, strict=True):
            self._append(int(ordered[start]), batch.slice(start, end - start))

    def _append(self, bucket: int, batch: pa.RecordBatch) -> None:
        chunks = self._buckets.setdefault(bucket, [])
        while chunks and chunks[-1].lines < 2 * batch.num_rows:
            old = chunks.pop()
            batch = _joined([self._load(old), batch])
            self._gone.append(old)
        chunks.append(TimedChunk(self._next_chunk, batch.num_rows, batch))
        self._next_chunk += 1
        self._dirty = True

    def take_until(self, time: int) -> tuple[Places, list[pa.Array]] | None:
        """Take out the lines whose time has come: (times, columns); None if there are none."""
        self._open()
        last = time // BUCKET_MS
        parts: list[pa.RecordBatch] = []
        for bucket in [bucket for bucket in self._buckets if bucket <= last]:
            chunks = self._buckets.pop(bucket)
            whole = _joined([self._load(chunk) for chunk in chunks])
            self._gone += chunks
            self._dirty = True
            times = whole.column("$time").to_numpy()
            if bucket == last and (times > time).any():
                self._append(bucket, whole.filter(pa.array(times > time)))
                whole = whole.filter(pa.array(times <= time))
            parts.append(whole)
        lines = _joined(parts) if parts else None
        if lines is None or not lines.num_rows:
            return None
        if len(parts) > 1:
            lines = lines.take(pa.array(np.argsort(lines.column("$line").to_numpy())))
        return lines.column("$time").to_numpy(), lines.columns[: len(self._types)]

    def first_time(self) -> int | None:
        """The earliest time that a line waits for."""
        self._open()
        if not self._buckets:
            return None
        chunks = self._buckets[min(self._buckets)]
        return min(int(self._load(chunk).column("$time").to_numpy().min()) for chunk in chunks)

    def not_before(self) -> int | None:
        """No line's time comes before this."""
        self._open()
        return min(self._buckets) * BUCKET_MS if self._buckets else None

    def __len__(self) -> int:
        self._open()
        return sum(chunk.lines for chunks in self._buckets.values() for chunk in chunks)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """All lines, with `$time` and `$line`."""
        self._open()
        for bucket in sorted(self._buckets):
            for chunk in self._buckets[bucket]:
                yield self._load(chunk)

    @property
    def keys(self) -> tuple[int, ...]:
        """The places of the columns of the key."""
        self._open()
        return self._keys

    # --- the store -------------------------------------------------------------------------------

    def flush(self) -> None:
        """Write what changed."""
        if not self._opened or not self._dirty:
            return
        for chunk in self._gone:
            if chunk.stored:
                self._store.delete(self._chunk_key(chunk.number))
        self._gone = []
        for chunk in self._chunks():
            if not chunk.stored:
                self._write(chunk)
        index = {
            bucket: [(chunk.number, chunk.lines) for chunk in chunks]
            for bucket, chunks in self._buckets.items()
        }
        if index:
            content = (self._next_chunk, self._next_line, index, self._keys)
            self._store.put(self._prefix + b"d", FORMAT + dumps(content))
        else:
            self._store.delete(self._prefix + b"d")
        self._dirty = False
        self._trim()

    def _chunks(self) -> Iterator[TimedChunk]:
        for chunks in self._buckets.values():
            yield from chunks

    def _trim(self) -> None:
        """Let go of what can be read again; what is due first stays."""
        size = 0
        for bucket in sorted(self._buckets):
            for chunk in self._buckets[bucket]:
                size += 0 if chunk.batch is None else int(chunk.batch.nbytes)
                if size > KEPT_BYTES:
                    chunk.batch = None

    def _open(self) -> None:
        if self._opened:
            return
        self._opened = True
        stored = self._store.get(self._prefix + b"d")
        if stored is not None:
            self._next_chunk, self._next_line, index, self._keys = unpacked(stored)
            self._buckets = {
                bucket: [TimedChunk(*chunk) for chunk in chunks] for bucket, chunks in index.items()
            }
        arrivals = Arrivals.waiting(self._store, self._prefix) if self._types else None
        if arrivals is not None:
            for columns, marks in arrivals.parts(self._types):
                self.add(np.array([mark[0] for mark in marks], np.int64), columns)
            arrivals.delete()

    def _load(self, chunk: TimedChunk) -> pa.RecordBatch:
        if chunk.batch is None:
            content = self._store.get(self._chunk_key(chunk.number))
            if content is None:
                raise StateError(
                    f"a part of the stored lines is missing: chunk {chunk.number} of "
                    f"{self._prefix!r}",
                    fix="restore from an older checkpoint or from a savepoint",
                )
            chunk.batch = pa.ipc.open_stream(unpacked(content)).read_next_batch()
        return chunk.batch

    def _write(self, chunk: TimedChunk) -> None:
        assert chunk.batch is not None
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, chunk.batch.schema) as writer:
            writer.write_batch(chunk.batch)
        content = FORMAT + dumps(sink.getvalue().to_pybytes())
        self._store.put(self._chunk_key(chunk.number), content)
        chunk.stored = True

    def _chunk_key(self, number: int) -> bytes:
        return self._prefix + b"c" + number.to_bytes(6, "big")


def _joined(batches: Sequence[pa.RecordBatch]) -> Any:
    return batches[0] if len(batches) == 1 else pa.concat_batches(batches)
