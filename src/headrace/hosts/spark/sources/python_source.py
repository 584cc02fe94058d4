"""Python sources on Spark's Python data source API: what runs in processes of Spark's.

In: a pickled `PythonSource` (python_adapter.py).  Out: offsets, then what the tasks need: ranges
that stage 0 reads by itself, or, where Catalyst goes on with the records, Arrow batches.
Next: hosts/admission.py cuts the batches; hosts/spark/sources/layouts.py reads ranges in stage 0,
hosts/spark/sources/source_batches.py makes rows.

Spark asks a process of its own beside the driver (``python_streaming_source_runner``) for offsets
and partitions, four calls over a socket for each batch, and has the partitions read by the Python
workers of the executors.  What user code raises there travels home in a text (carried_errors.py).
One static class serves all sources, with the file of the pickled source
as an option: a class generated for each source could never be unregistered from a session.
Every one of these processes imports this file, so it imports little.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import cloudpickle
import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)

from headrace.hosts.admission import (
    cut_range,
    initial_position,
    latest_position,
    next_position,
    ranges_between,
    spread_evenly,
    stored_offset,
)
from headrace.hosts.alignment import SplitGate
from headrace.hosts.spark.carried_errors import carrying
from headrace.hosts.spark.sources.alignment_files import SourceBoard
from headrace.hosts.spark.sources.layouts import range_cells
from headrace.hosts.spark.sources.source_batches import read_batches

if TYPE_CHECKING:
    from collections.abc import Iterator, MutableMapping, Sequence

    from pyspark.sql.types import StructType

    from headrace.common.opaque import JsonValue
    from headrace.spi.python_source import Offset, Position, PythonSource

__all__ = [
    "DRIVER",
    "FORMAT",
    "RANGE_SCHEMA",
    "STAGE",
    "WORKER",
    "HeadraceDataSource",
    "PythonSourceReader",
]

FORMAT = "headrace_python_source"
RANGE_SCHEMA = "range string"
# Who reads the records: stage 0, a worker of Spark's in front of it, the process beside the driver.
STAGE, WORKER, DRIVER = "stage", "worker", "driver"
# Below this many records a second task costs more than it saves.
_SMALLEST_PIECE = 5_000


class HeadraceDataSource(DataSource):
    """What Spark instantiates, in a process on the driver's machine; knows only its options."""

    def __init__(self, options: MutableMapping[str, str]) -> None:
        path = Path(options["source"])
        self._read_by = options["read_by"]
        # A worker that is to read the source needs it inside the task; stage 0 has it. A source
        # that reads on the driver may hold a million records, which no task should carry.
        self._shipped: bytes | Path | None = path
        if self._read_by == WORKER:
            self._shipped = path.read_bytes()
        self._limit = int(options["limit"])
        self._parallelism = int(options["parallelism"])
        self._source_id = options["source_id"]
        self._board = options.get("board")

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def streamReader(self, schema: StructType) -> PythonSourceReader:
        assert self._shipped is not None
        shipped, self._shipped = self._shipped, None  # else every task would carry it twice
        return PythonSourceReader(
            shipped,
            to_arrow_schema(schema, timezone="UTC"),
            read_by=self._read_by,
            limit=self._limit,
            parallelism=self._parallelism,
            source_id=self._source_id,
            board=None if self._board is None else Path(self._board),
        )


class RangesPartition(InputPartition):
    """Ranges of splits that one task reads."""

    def __init__(self, ranges: list[tuple[str, Offset, Offset]]) -> None:
        super().__init__(None)
        self.ranges = ranges


class ShippedPartition(InputPartition):
    """The records themselves, read on the driver: an Arrow stream."""

    def __init__(self, stream: bytes) -> None:
        super().__init__(None)
        self.stream = stream


class PythonSourceReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Answers Spark's questions about one source.

    One instance lives in the source process beside the driver for as long as the query runs; copies
    made before the first question travel with the tasks and only `read`.
    """

    def __init__(
        self,
        shipped: bytes | Path,
        schema: pa.Schema,
        *,
        read_by: str,
        limit: int,
        parallelism: int,
        source_id: str = "",
        board: Path | None = None,
    ) -> None:
        self._shipped = shipped
        self._schema = schema
        self._read_by = read_by
        self._limit = limit
        self._parallelism = parallelism
        self._source_id = source_id
        self._board = board
        # rebuilt on open, all of them
        self._opened: PythonSource | None = None
        self._gate: SplitGate | None = None
        self._latest: Position | None = None
        self._stop_at: Position | None = None
        self._available_now = False
        self._planned: tuple[JsonValue, JsonValue, list[InputPartition]] | None = None

    # In the source process: offsets, which Spark keeps as JSON.

    def initialOffset(self) -> Position:
        source = self._source()
        with carrying(source.describe()):
            return initial_position(source)

    def getDefaultReadLimit(self) -> ReadLimit:
        return ReadMaxRows(self._limit)

    def latestOffset(self, start: Position, limit: ReadLimit) -> Position:
        source = self._source()
        records = limit.max_rows if isinstance(limit, ReadMaxRows) else None
        assert records is not None or isinstance(limit, ReadAllAvailable), limit
        with carrying(source.describe()):
            latest = latest_position(source, start)
            self._latest = dict(sorted({**start, **latest}.items()))
            if self._available_now:
                latest = self._up_to_target(start, latest)
            gate = self._open_gate(source)
            if gate is None:
                return next_position(source, start, latest, records)
            return gate.next_position(start, latest, records)

    def _open_gate(self, source: PythonSource) -> SplitGate | None:
        if self._gate is None and self._board is not None:
            self._gate = SplitGate(SourceBoard(self._board), source, self._source_id)
        return self._gate

    def prepareForTriggerAvailableNow(self) -> None:
        self._available_now = True

    def _up_to_target(self, start: Position, latest: Position) -> Position:
        source = self._source()
        if self._stop_at is None:
            # Fixed at the first question, because only then is it known where reading begins.
            self._stop_at = {
                split: end
                if split in start
                else stored_offset(source, split, source.latest_offset(split, end))
                for split, end in latest.items()
            }
        stop_at = self._stop_at

        def is_beyond(split: str, end: Offset) -> bool:
            return split in start and source.records_between(split, stop_at[split], end) > 0

        return {
            split: stop_at[split] if is_beyond(split, end) else end
            for split, end in latest.items()
            if split in stop_at
        }

    def reportLatestOffset(self) -> Position | None:
        return self._latest

    def commit(self, end: Position) -> None:
        source = self._source()
        with carrying(f"commit() of {source.describe()}"):
            source.commit(end)

    def stop(self) -> None:
        if self._opened is not None:
            self._opened.close()

    # In the source process: what the tasks read.

    def partitions(self, start: Position, end: Position) -> Sequence[InputPartition]:
        # Spark may plan a batch more than once.
        if self._planned is None or self._planned[:2] != (start, end):
            self._planned = (start, end, list(self._plan(start, end)))
        return self._planned[2]

    def _plan(self, start: Position, end: Position) -> Iterator[InputPartition]:
        source = self._source()
        ranges = list(self._ranges(start, end))
        if self._read_by == DRIVER:
            with carrying(f"read() of {source.describe()}"):
                for piece in ranges:
                    yield ShippedPartition(self._read_here(*piece))
            return
        sizes = [
            (0 if low is None else source.records_between(split, low, high), (split, low, high))
            for split, low, high in ranges
        ]
        for task in spread_evenly(sizes, self._parallelism):
            yield RangesPartition(task)

    def _ranges(self, start: Position, end: Position) -> Iterator[tuple[str, Offset, Offset]]:
        source = self._source()
        for split, low, high in ranges_between(source, start, end):
            if low == high and self._read_by != STAGE:
                continue  # rows cannot tell of a split that has none
            pieces = self._parallelism if source.divisible and self._read_by != DRIVER else 1
            for piece in cut_range(low, high, pieces, at_least=_SMALLEST_PIECE):
                yield (split, *piece)

    def _read_here(self, split: str, start: Offset, end: Offset) -> bytes:
        stream = pa.BufferOutputStream()
        with pa.ipc.new_stream(stream, self._schema) as writer:
            for batch in read_batches(self._source(), split, start, end, self._schema):
                writer.write_batch(batch)
        encoded: bytes = stream.getvalue().to_pybytes()
        return encoded

    # In a worker.

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        if isinstance(partition, ShippedPartition):
            return iter(pa.ipc.open_stream(partition.stream))
        assert isinstance(partition, RangesPartition)
        if self._read_by == STAGE:
            return iter([range_cells(partition.ranges)])
        return self._read_ranges(partition)

    def _read_ranges(self, partition: RangesPartition) -> Iterator[pa.RecordBatch]:
        source = _load(self._shipped)
        with carrying(f"read() of {source.describe()}"):
            for split, start, end in partition.ranges:
                yield from read_batches(source, split, start, end, self._schema)

    def _source(self) -> PythonSource:
        if self._opened is None:
            source = _load(self._shipped)
            with carrying(f"open() of {source.describe()}"):
                source.open()
            self._opened = source
        return self._opened


def _load(shipped: bytes | Path) -> PythonSource:
    pickled = shipped if isinstance(shipped, bytes) else shipped.read_bytes()
    source: PythonSource = cloudpickle.loads(pickled)
    return source
