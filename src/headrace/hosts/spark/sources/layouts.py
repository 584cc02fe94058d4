"""How the rows of an opened source hold its records: said by who opened it, read in the workers.

    ROWS            one record a row: the columns of its type
    LINES           one line of a table a row
    PICKLED_CELLS   a cell is a pickled list of records
    ARROW_CELLS     a cell is an Arrow batch of records
    PATHS           a cell is the path of a Parquet file that the worker reads itself
    ranges          a cell is a range of a Python source that the worker reads itself

In: Arrow batches as Spark hands them over.  Out: (split, records) for stage 0.
Next: runtime/task.py, hosts/source_ranges.py.  Pure functions without pyspark;
hosts/spark/microbatch/worker.py calls them.
"""

from __future__ import annotations

import json
import pickle
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from headrace.common.row_data_type import RowDataTypeInfo
from headrace.data.records import Records
from headrace.hosts.source_ranges import read_range
from headrace.hosts.spark.sources.source_batches import SPLIT_COLUMN, TIMESTAMP_COLUMN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from headrace.data.codec import Codec
    from headrace.spi.python_source import Offset, PythonSource

__all__ = ["ARROW_CELLS", "LINES", "PATHS", "PICKLED_CELLS", "ROWS", "RangesLayout", "SourceLayout"]


@dataclass(frozen=True, slots=True)
class SourceLayout:
    """What the columns of an opened source are.

    The columns with the records come first; then, where the source has them, ``__ts`` (epoch
    milliseconds; for pickled cells a list of them) and ``__split`` (the name of the split).
    It travels to the workers by pickle, so `read` is a function of a module, also that of a layout
    that another package provides.

    Attributes:
        tag: names it, in errors and tests.
        read: the records of some rows; gets the batch, the codec of the records, the timestamps.
        timestamps: whether there is a column ``__ts``.
        splits: whether there is a column ``__split``.
    """

    tag: str
    read: Callable[[pa.RecordBatch, Codec, list[Any] | None], Iterator[Records]]
    timestamps: bool = False
    splits: bool = False

    def parts(
        self, batches: Iterable[pa.RecordBatch], codec: Codec
    ) -> Iterator[tuple[str, Records | None]]:
        """A source's batches cut by split; (split, records) in the order they came.

        Without records: the split is known, and waits. None: it is not read any more.
        """
        for batch in batches:
            if batch.num_rows == 0:
                continue
            for split, rows in self._by_split(batch):
                times = _last(rows, TIMESTAMP_COLUMN).to_pylist() if self.timestamps else None
                for records in self.read(rows, codec, times):
                    yield split, records

    def _by_split(self, batch: pa.RecordBatch) -> Iterator[tuple[str, pa.RecordBatch]]:
        if not self.splits:
            yield "", batch
            return
        splits = _last(batch, SPLIT_COLUMN)
        for split in splits.unique().to_pylist():
            yield split, batch.filter(pa.compute.equal(splits, split))


@dataclass(frozen=True, slots=True)
class RangesLayout(SourceLayout):
    """Ranges of a Python source: what is read never goes through the JVM.

    Attributes:
        source: reads them; a new copy for every batch and task.
    """

    source: PythonSource | None = None

    @staticmethod
    def of(source: PythonSource) -> RangesLayout:
        """The layout of a source's ranges."""
        return RangesLayout("ranges", _not_by_rows, source=source)

    def parts(
        self, batches: Iterable[pa.RecordBatch], codec: Codec
    ) -> Iterator[tuple[str, Records | None]]:
        source = self.source
        assert source is not None
        named = source.has_splits()
        for batch in batches:
            for cell in batch.column(0).to_pylist():
                split, start, end = json.loads(cell)
                if start == end:
                    yield split, None if start is None else Records([])
                    continue
                for records in read_range(source, split, start, end, codec):
                    yield split if named else "", records


def range_cells(ranges: Iterable[tuple[str, Offset, Offset]]) -> pa.RecordBatch:
    """(split, start, end) each, as rows that a `RangesLayout` reads."""
    return pa.record_batch({"range": pa.array(map(json.dumps, ranges), pa.string())})


def _not_by_rows(batch: pa.RecordBatch, codec: Codec, times: list[Any] | None) -> Iterator[Records]:
    raise AssertionError("ranges are read as a whole")


def _last(batch: pa.RecordBatch, name: str) -> pa.Array:
    """The last column of a name: records may have a field that is called so, too."""
    names = batch.schema.names
    return batch.column(len(names) - 1 - names[::-1].index(name))


def read_rows(batch: pa.RecordBatch, codec: Codec, times: list[Any] | None) -> Iterator[Records]:
    """One record a row."""
    assert codec.schema is not None
    data = batch.select(list(range(len(codec.schema))))
    if data.schema != codec.schema:
        data = pa.RecordBatch.from_arrays(
            [
                column.cast(field.type)
                for column, field in zip(data.columns, codec.schema, strict=True)
            ],
            schema=codec.schema,
        )
    yield Records(timestamps=times, batch=data, codec=codec)


def read_lines(batch: pa.RecordBatch, codec: Codec, times: list[Any] | None) -> Iterator[Records]:
    """One line of a table a row; times have more digits in Spark than a column may have."""
    from headrace.runtime.table.conversions import cut_to_precision

    assert isinstance(codec.type_info, RowDataTypeInfo)
    kinds = codec.type_info.get_data_types()
    for records in read_rows(batch, codec, times):
        found = records.columns
        assert found is not None
        columns = [
            cut_to_precision(column, kind)
            for column, kind in zip(found.columns, kinds, strict=True)
        ]
        lines = pa.RecordBatch.from_arrays(columns, schema=codec.schema)
        yield Records(timestamps=times, batch=lines, codec=codec)


def read_pickled_cells(
    batch: pa.RecordBatch, codec: Codec, times: list[Any] | None
) -> Iterator[Records]:
    """A cell holds many records, and its timestamp cell as many timestamps."""
    cells = batch.column(0).to_pylist()
    flat_times = None if times is None else [time for cell in times for time in cell]
    yield Records([record for cell in cells for record in pickle.loads(cell)], flat_times)


def read_arrow_cells(
    batch: pa.RecordBatch, codec: Codec, times: list[Any] | None
) -> Iterator[Records]:
    """A cell is a serialized batch of the codec's schema, which is not in the cell."""
    for cell in batch.column(0).to_pylist():
        found = pa.ipc.read_record_batch(pa.py_buffer(cell), codec.schema)
        yield Records(batch=found, codec=codec)


def read_paths(batch: pa.RecordBatch, codec: Codec, times: list[Any] | None) -> Iterator[Records]:
    """A cell names a file."""
    # Here, because every process of a source imports this module, and few read Parquet.
    from headrace.connectors.files.parquet_parts import read_parquet

    for path in batch.column(0).to_pylist():
        yield from read_parquet(path, codec)


ROWS = SourceLayout("rows", read_rows)
PICKLED_CELLS = SourceLayout("pickled cells", read_pickled_cells)
ARROW_CELLS = SourceLayout("arrow cells", read_arrow_cells)
LINES = SourceLayout("lines", read_lines)
PATHS = SourceLayout("paths", read_paths)
