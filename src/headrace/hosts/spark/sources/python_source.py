"""Python sources on Spark's Python data source API.

In: a `PythonSource`.  Out: a streaming DataFrame, one Spark partition for each split with news.
Next: hosts/spark/sources/source_batches.py makes the rows; hosts/spark/sources/admission.py cuts
the batches.

Spark asks a process of its own beside the driver (``python_streaming_source_runner``) for offsets
and partitions, four calls over a socket for each batch, and has the partitions read by the Python
workers of the executors.  What user code raises there travels home in a text (carried_errors.py).
One static class serves all sources, with the file of the pickled source
as an option: a class generated for each source could never be unregistered from a session.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

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

from headrace.errors import ConnectorError, HeadraceError, UnserializableFunctionError
from headrace.hosts.spark.carried_errors import carrying
from headrace.hosts.spark.sources.admission import cut_range, next_offsets
from headrace.hosts.spark.sources.source_batches import read_batches
from headrace.hosts.spark.types import source_schema

if TYPE_CHECKING:
    from collections.abc import Iterator, MutableMapping, Sequence

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from headrace.spi.python_source import PythonSource

__all__ = ["PythonSourceReader", "open_python_source"]

_FORMAT = "headrace_python_source"
# Below this many records a second task costs more than it saves.
_SMALLEST_PIECE = 5_000

_registered: WeakSet[SparkSession] = WeakSet()


def open_python_source(
    source: PythonSource,
    spark: SparkSession,
    scratch_dir: Path,
    *,
    max_records_per_batch: int,
    parallelism: int,
) -> DataFrame:
    """The streaming DataFrame of a Python source.

    Args:
        source: the source; it is pickled here.
        spark: the session that will run the query.
        scratch_dir: a local directory on the driver, for the pickled source; it must stay while the
            query runs.
        max_records_per_batch: how many offsets one batch takes, shared between splits.
        parallelism: into how many pieces a divisible source's batch is cut.

    Raises:
        UnserializableFunctionError: the source cannot be pickled.
    """
    if spark not in _registered:
        _register(spark)
        _registered.add(spark)
    options = {
        "source": str(_write_pickle(source, scratch_dir)),
        "reads_on_driver": str(source.reads_on_driver),
        "limit": str(max_records_per_batch),
        "parallelism": str(parallelism),
    }
    schema = source_schema(source)
    return spark.readStream.format(_FORMAT).schema(schema).options(**options).load()


def _register(spark: SparkSession) -> None:
    """Make the format known to a session.

    Spark looks for an older one of the same name in the *active* session, whichever that is, and
    refuses if it finds it there: so this session is the active one meanwhile.
    """
    assert spark._jvm is not None
    sessions = spark._jvm.org.apache.spark.sql.classic.SparkSession
    before = sessions.getActiveSession()
    sessions.setActiveSession(spark._jsparkSession)
    try:
        spark.dataSource.register(_HeadraceDataSource)
    finally:
        if before.isDefined():
            sessions.setActiveSession(before.get())
        else:
            sessions.clearActiveSession()


def _write_pickle(source: PythonSource, scratch_dir: Path) -> Path:
    try:
        pickled = cloudpickle.dumps(source)
    except Exception as error:
        raise UnserializableFunctionError(
            f"{source.describe()} cannot be sent to a worker: {type(error).__name__}: {error}",
            fix="open files, sockets and clients in open() or read(), not in __init__",
        ) from error
    scratch_dir.mkdir(parents=True, exist_ok=True)
    # Named after its content, so that a job that is restarted a thousand times leaves one file.
    path = scratch_dir / f"source-{hashlib.sha256(pickled).hexdigest()[:24]}.pickle"
    path.write_bytes(pickled)
    return path


class _HeadraceDataSource(DataSource):
    """What Spark instantiates, in a process on the driver's machine; knows only its options."""

    def __init__(self, options: MutableMapping[str, str]) -> None:
        path = Path(options["source"])
        # A worker that is to read the source needs it inside the task. A source that reads on the
        # driver may hold a million records, which no task should carry.
        self._shipped: bytes | Path | None = path
        if options["reads_on_driver"] != "True":
            self._shipped = path.read_bytes()
        self._limit = int(options["limit"])
        self._parallelism = int(options["parallelism"])

    @classmethod
    def name(cls) -> str:
        return _FORMAT

    def streamReader(self, schema: StructType) -> PythonSourceReader:
        assert self._shipped is not None
        shipped, self._shipped = self._shipped, None  # else every task would carry it twice
        return PythonSourceReader(
            shipped,
            to_arrow_schema(schema, timezone="UTC"),
            limit=self._limit,
            parallelism=self._parallelism,
        )


class RangePartition(InputPartition):
    """A range of one split, to be read by a worker."""

    def __init__(self, split: str, start: int, end: int) -> None:
        super().__init__(None)
        self.split = split
        self.start = start
        self.end = end


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
        self, shipped: bytes | Path, schema: pa.Schema, *, limit: int, parallelism: int
    ) -> None:
        self._shipped = shipped
        self._schema = schema
        self._limit = limit
        self._parallelism = parallelism
        # rebuilt on open, all of them
        self._opened: PythonSource | None = None
        self._latest: dict[str, int] | None = None
        self._stop_at: dict[str, int] | None = None
        self._available_now = False
        self._planned: tuple[Any, Any, list[InputPartition]] | None = None

    # In the source process: offsets.

    def initialOffset(self) -> dict[str, int]:
        return {split: self._first_offset(split) for split in sorted(self._splits())}

    def getDefaultReadLimit(self) -> ReadLimit:
        return ReadMaxRows(self._limit)

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:
        latest = self._ask_latest(start)
        if self._available_now:
            latest = self._up_to_target(start, latest)
        records = limit.max_rows if isinstance(limit, ReadMaxRows) else None
        assert records is not None or isinstance(limit, ReadAllAvailable), limit
        # A new split gets its first offset into the checkpoint before anything of it is read, so
        # that a replayed batch begins where the first attempt began.
        known = {split: begin for split, begin in latest.items() if split not in start}
        return dict(sorted({**next_offsets(start, latest, records), **known}.items()))

    def _ask_latest(self, start: dict[str, int]) -> dict[str, int]:
        source = self._source()
        latest: dict[str, int] = {}
        for split in self._splits():
            if split not in start:
                latest[split] = self._first_offset(split)
                continue
            latest[split] = self._last_offset(split, start[split])
            if latest[split] < start[split]:
                with carrying(source.describe()):
                    raise _went_backwards(source, split, start[split], latest[split])
        self._latest = dict(sorted({**start, **latest}.items()))
        return latest

    def prepareForTriggerAvailableNow(self) -> None:
        self._available_now = True

    def _up_to_target(self, start: dict[str, int], latest: dict[str, int]) -> dict[str, int]:
        if self._stop_at is None:
            # Fixed at the first question, because only then is it known where reading begins.
            self._stop_at = {
                split: end if split in start else self._last_offset(split, end)
                for split, end in latest.items()
            }
        stop_at = self._stop_at
        return {s: min(end, stop_at[s]) for s, end in latest.items() if s in stop_at}

    def reportLatestOffset(self) -> dict[str, int] | None:
        return self._latest

    def commit(self, end: dict[str, int]) -> None:
        source = self._source()
        with carrying(f"commit() of {source.describe()}"):
            source.commit(end)

    def stop(self) -> None:
        if self._opened is not None:
            self._opened.close()

    # In the source process: what the tasks read.

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        # Spark may plan a batch more than once.
        if self._planned is None or self._planned[:2] != (start, end):
            self._planned = (start, end, list(self._plan(start, end)))
        return self._planned[2]

    def _plan(self, start: dict[str, int], end: dict[str, int]) -> Iterator[InputPartition]:
        source = self._source()
        for split in sorted(end):
            low, high = start.get(split, end[split]), end[split]
            if low >= high:
                continue
            if source.reads_on_driver:
                with carrying(f"read() of {source.describe()}"):
                    content = self._read_here(split, low, high)
                yield ShippedPartition(content)
                continue
            pieces = self._parallelism if source.divisible else 1
            for piece in cut_range(low, high, pieces, at_least=_SMALLEST_PIECE):
                yield RangePartition(split, *piece)

    def _read_here(self, split: str, start: int, end: int) -> bytes:
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
        assert isinstance(partition, RangePartition)
        return self._read_range(partition)

    def _read_range(self, piece: RangePartition) -> Iterator[pa.RecordBatch]:
        source = _load(self._shipped)
        with carrying(f"read() of {source.describe()}"):
            yield from read_batches(source, piece.split, piece.start, piece.end, self._schema)

    # The user's code, whose errors must find their way home.

    def _source(self) -> PythonSource:
        if self._opened is None:
            source = _load(self._shipped)
            with carrying(f"open() of {source.describe()}"):
                source.open()
            self._opened = source
        return self._opened

    def _splits(self) -> list[str]:
        source = self._source()
        with carrying(f"splits() of {source.describe()}"):
            return source.splits()

    def _first_offset(self, split: str) -> int:
        source = self._source()
        with carrying(f"initial_offset({split!r}) of {source.describe()}"):
            return source.initial_offset(split)

    def _last_offset(self, split: str, start: int) -> int:
        source = self._source()
        with carrying(f"latest_offset({split!r}, {start}) of {source.describe()}"):
            return source.latest_offset(split, start)


def _load(shipped: bytes | Path) -> PythonSource:
    pickled = shipped if isinstance(shipped, bytes) else shipped.read_bytes()
    source: PythonSource = cloudpickle.loads(pickled)
    return source


def _went_backwards(source: PythonSource, split: str, start: int, latest: int) -> HeadraceError:
    return ConnectorError(
        f"split {split!r} of {source.describe()} ends at offset {latest}, but the checkpoint says "
        f"that {start} were already read",
        fix="bring back the data that is missing, or start the job without its checkpoint; "
        f"offsets: {json.dumps({split: latest})}",
    )
