"""What workers make of the rows that a source hands over, layout by layout."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import cloudpickle
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headrace.common.typeinfo import Types
from headrace.data.codec import codec_for
from headrace.hosts.spark.sources.layouts import (
    ARROW_CELLS,
    PATHS,
    PICKLED_CELLS,
    ROWS,
    RangesLayout,
    SourceLayout,
    range_cells,
)
from headrace.spi.python_source import PythonSource

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PAIR = Types.ROW_NAMED(["name", "n"], [Types.STRING(), Types.LONG()])
PAIRS = codec_for(PAIR)
PICKLED = codec_for(Types.PICKLED_BYTE_ARRAY())
ALL = [ROWS, PICKLED_CELLS, ARROW_CELLS, PATHS]


def parts(
    layout: SourceLayout, batch: pa.RecordBatch, codec: Any
) -> list[tuple[str, list[Any], Any]]:
    """As a worker reads it: the layout has travelled."""
    travelled: SourceLayout = pickle.loads(cloudpickle.dumps(layout))
    found: Any = travelled.parts([batch.slice(0, 0), batch], codec)
    return [(split, [tuple(v) for v in r.values], r.timestamps) for split, r in found]


def test_rows_are_the_columns_of_the_type() -> None:
    batch = pa.record_batch({"name": ["a", "b"], "n": [1, 2]})
    assert parts(ROWS, batch, PAIRS) == [("", [("a", 1), ("b", 2)], None)]


def test_columns_of_a_narrower_type_are_cast() -> None:
    batch = pa.record_batch({"name": ["a"], "n": pa.array([1], pa.int32())})
    assert parts(ROWS, batch, PAIRS) == [("", [("a", 1)], None)]


def test_rows_are_cut_by_split_with_their_timestamps() -> None:
    batch = pa.record_batch(
        {"name": ["a", "b", "c"], "n": [1, 2, 3], "__ts": [10, 20, 30], "__split": ["x", "y", "x"]}
    )
    layout = replace(ROWS, timestamps=True, splits=True)
    assert parts(layout, batch, PAIRS) == [
        ("x", [("a", 1), ("c", 3)], [10, 30]),
        ("y", [("b", 2)], [20]),
    ]


def test_a_column_of_the_user_that_is_called_like_ours_is_only_a_column() -> None:
    codec = codec_for(Types.ROW_NAMED(["__ts", "__split"], [Types.LONG(), Types.STRING()]))
    batch = pa.record_batch({"__ts": [1], "__split": ["mine"]})
    assert parts(ROWS, batch, codec) == [("", [(1, "mine")], None)]
    own = batch.append_column("__ts", pa.array([99]))
    assert parts(replace(ROWS, timestamps=True), own, codec) == [("", [(1, "mine")], [99])]


@pytest.mark.parametrize("timed", [True, False])
def test_pickled_cells_hold_many_records_and_lists_of_timestamps(timed: bool) -> None:
    cells = [pickle.dumps([("a", {1}), ("b", {2})]), pickle.dumps([("c", {3})])]
    batch = pa.record_batch(
        {"pickled": cells, "__ts": [[1, 2], [3]], "__split": ["x", "y"]},
    )
    layout = replace(PICKLED_CELLS, timestamps=timed, splits=True)
    assert parts(layout, batch, PICKLED) == [
        ("x", [("a", {1}), ("b", {2})], [1, 2] if timed else None),
        ("y", [("c", {3})], [3] if timed else None),
    ]


def test_arrow_cells_are_batches_without_their_schema() -> None:
    cells = [
        PAIRS.encode(records).serialize().to_pybytes()
        for records in ([("a", 1), ("b", 2)], [("c", 3)])
    ]
    assert parts(ARROW_CELLS, pa.record_batch({"__arrow": cells}), PAIRS) == [
        ("", [("a", 1), ("b", 2)], None),
        ("", [("c", 3)], None),
    ]


def test_paths_are_files_that_the_worker_reads(tmp_path: Path) -> None:
    pq.write_table(pa.table({"n": [1, 2], "more": [0, 0]}), tmp_path / "a b.parquet")
    uri = (tmp_path / "a b.parquet").as_uri()
    assert parts(PATHS, pa.record_batch({"path": [uri]}), PAIRS) == [
        ("", [(None, 1), (None, 2)], None)
    ]


def test_tags_tell_layouts_apart() -> None:
    assert len({layout.tag for layout in ALL}) == len(ALL)


class Shelves(PythonSource):
    """Two shelves of pairs, stamped with their numbers."""

    def splits(self) -> list[str]:
        return ["x", "y"]

    def latest_offset(self, split: str, start: int) -> int:
        return 3

    def read(self, split: str, start: int, end: int) -> Iterator[Any]:
        return ((split, number) for number in range(start, end))

    def timestamp(self, record: Any) -> int:
        return 100 + int(record[1])

    def produced_type(self) -> Any:
        return PAIR


class ColumnShelves(Shelves):
    """The same as columns, with their timestamps beside them."""

    def read_columns(self, split: str, start: int, end: int) -> Iterator[pa.RecordBatch]:
        numbers = list(range(start, end))
        yield pa.record_batch(
            {"name": [split] * len(numbers), "n": numbers, "__ts": [100 + n for n in numbers]}
        )

    def timestamp(self, record: Any) -> int:
        raise AssertionError("the columns have them")


@pytest.mark.parametrize("shelves", [Shelves(), ColumnShelves()])
def test_ranges_are_read_by_the_worker_with_splits_and_timestamps(shelves: PythonSource) -> None:
    cells = range_cells([("x", 1, 3), ("y", 0, 1)])
    assert parts(RangesLayout.of(shelves), cells, PAIRS) == [
        ("x", [("x", 1), ("x", 2)], [101, 102]),
        ("y", [("y", 0)], [100]),
    ]
