"""Windows of aggregates over columns on Spark: by kernels what single records give.

The expected results come from the same program run by LocalRunner, batch by batch.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as F

from headrace.common import Row, Types, WatermarkStrategy
from headrace.connectors.files.source import FileSource
from headrace.datastream.connectors.file_system import FileSink
from headrace.datastream.expressions import col, count, window_end, window_start
from headrace.datastream.window import (
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from headrace.errors import InvalidArgumentError
from headrace.formats.parquet_reader import ParquetColumnarRowInputFormat
from headrace.testing import LocalRunner

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from headrace.datastream import DataStream, StreamExecutionEnvironment

    Program = Callable[[DataStream], DataStream]
    Batch = list[tuple[str | None, int | None, int | None]]

EVENT = Types.ROW_NAMED(["user", "value", "ts"], [Types.STRING(), Types.LONG(), Types.LONG()])
SCHEMA = pa.schema([("user", pa.string()), ("value", pa.int64()), ("ts", pa.int64())])
SECOND = TumblingEventTimeWindows.of("1 s")
SUMMARY = (
    col("user"),
    count().alias("n"),
    col("value").count().alias("values"),
    col("value").sum().alias("total"),
    col("value").avg().alias("mean"),
    (col("value").max() - col("value").min()).alias("range"),
    window_start(),
    window_end(),
)


TIMES = WatermarkStrategy.for_bounded_out_of_orderness("200 ms").with_timestamp_assigner("ts")

# By batch: out of order within the bound, across batches, and late. A watermark is the highest
# timestamp of the batches before minus 200.
DISORDER: list[Batch] = [
    [("a", 1, 100), ("b", 2, 950), ("a", None, 700), ("a", 3, 1_150), ("b", 4, 1_199)],
    [("a", 5, 990), ("a", 6, 1_050), ("b", None, 1_400)],  # watermark 999: nothing is late
    [("a", 7, 999), ("b", 8, 1_001), ("a", 9, 3_300)],  # watermark 1200: 999 is late
    [("a", 10, 1_900), ("b", 11, 2_999), ("c", None, 3_100)],  # watermark 3100: two are late
    [("c", 12, 3_450), ("a", 13, 9_000), ("a", 14, 3_499)],
    [],
    [("b", 15, 8_900), ("c", 16, 4_000)],
]
# Late records of sessions, below the watermark and far from open sessions.
SESSIONS: list[Batch] = [
    [("a", 1, 100), ("a", 2, 600), ("b", 3, 1_000), ("a", 4, 350)],  # 100 and 600 touch: one
    [("b", 5, 1_501), ("a", 6, 1_400), ("b", 7, 800)],
    [("a", 8, 5_000), ("b", 9, 5_100)],
    [("a", 10, 300), ("a", 11, 5_400), ("a", 12, 4_850)],  # watermark 4900: 300 is late
    [("b", None, 9_000), ("a", 13, 8_800)],
]


@pytest.fixture
def write(tmp_path: Path) -> Callable[[list[Batch]], Path]:
    """Puts batches into files, read one a batch."""
    folder = tmp_path / "events"
    folder.mkdir()

    def put(batches: list[Batch]) -> Path:
        for number, batch in enumerate(batches, len(list(folder.iterdir()))):
            columns = list(zip(*batch, strict=True)) or [(), (), ()]
            table = pa.table([list(column) for column in columns], schema=SCHEMA)
            hidden = folder / f".{number:03d}.parquet"
            pq.write_table(table, hidden)
            os.utime(hidden, (1_000_000 + number, 1_000_000 + number))
            hidden.rename(folder / f"{number:03d}.parquet")
        return folder

    return put


def read_events(env: StreamExecutionEnvironment, folder: Path, *, endless: bool) -> DataStream:
    source = FileSource.for_bulk_file_format(ParquetColumnarRowInputFormat(EVENT), str(folder))
    source = source.set_option("maxFilesPerTrigger", "1").set_option("maxFileAge", "36500d")
    if endless:
        source = source.monitor_continuously("50 ms")
    return env.from_source(source.build(), None, "events")


def locally(env: StreamExecutionEnvironment, program: Program, batches: list[Batch]) -> list[Any]:
    """What Python makes of it, in front of the end of input and behind it."""
    with LocalRunner(program(env.from_collection([], EVENT))) as job:
        rows = [row for batch in batches for row in job.run_batch(map(_row, batch))]
        return sorted(map(tuple, [*rows, *job.end_of_input()]))


def _row(event: Any) -> Row:
    return Row(user=event[0], value=event[1], ts=event[2])


def written(folder: Path) -> list[tuple[Any, ...]]:
    files = [str(file) for file in folder.glob("[!._]*.parquet")]
    return sorted(tuple(row.values()) for row in ds.dataset(files).to_table().to_pylist())


def summary_of(windows: Any) -> Program:
    def program(events: DataStream) -> DataStream:
        timed = events.assign_timestamps_and_watermarks(TIMES)
        return timed.key_by("user").window(windows).select(*SUMMARY)

    return program


def whole_stream(events: DataStream) -> DataStream:
    timed = events.assign_timestamps_and_watermarks(TIMES)
    return timed.window_all(SECOND).select(count().alias("n"), window_start(), col("ts").min())


def filtered_all_around(events: DataStream) -> DataStream:
    """The filter behind the timestamps hides records, but not how far time has come."""
    timed = events.filter(col("user").is_not_null()).assign_timestamps_and_watermarks(TIMES)
    shaped = timed.filter(col("value") < 9).select(col("user").alias("who"), col("value"))
    windows = shaped.key_by(lambda row: row.who).window(SECOND)
    results = windows.select(col("who"), count().alias("n"), window_end())
    busy = results.filter(col("n") > 1)
    return busy.select(col("who").upper().alias("WHO"), col("n"), col("window_end"))


@pytest.mark.parametrize(
    ("program", "batches"),
    [
        pytest.param(summary_of(TumblingEventTimeWindows.of(1_000, -300)), DISORDER, id="tumbling"),
        pytest.param(
            summary_of(SlidingEventTimeWindows.of(1_000, 400, 50)), DISORDER, id="sliding"
        ),
        pytest.param(summary_of(EventTimeSessionWindows.with_gap(500)), SESSIONS, id="sessions"),
        pytest.param(whole_stream, DISORDER, id="window_all"),
        pytest.param(filtered_all_around, DISORDER, id="filters"),
    ],
)
def test_columns_on_spark_give_what_single_records_give(
    program: Program,
    batches: list[Batch],
    make_env: Callable[..., StreamExecutionEnvironment],
    write: Callable[[list[Batch]], Path],
    tmp_path: Path,
) -> None:
    expected = locally(make_env(), program, batches)
    env = make_env()
    results = program(read_events(env, write(batches), endless=False))
    results.sink_to(FileSink.parquet(str(tmp_path / "out")))

    env.execute("windows of columns")

    assert written(tmp_path / "out") == expected
    assert len(expected) > 2


def test_a_dataframe_has_the_columns_of_the_select(
    make_env: Callable[..., StreamExecutionEnvironment],
    write: Callable[[list[Batch]], Path],
    tmp_path: Path,
) -> None:
    in_order: list[Batch] = [[("a", 1, 100), ("b", 2, 900)], [("a", 3, 1_500)], [("b", 4, 3_900)]]
    events = read_events(make_env(), write(in_order), endless=False)
    timed = events.assign_timestamps_and_watermarks(TIMES)
    windows = timed.key_by("user").window(SECOND)
    total = col("value").sum().alias("total")
    frame = windows.select(col("user"), total, window_start()).to_dataframe()
    query = (
        frame.writeStream.format("memory")
        .queryName("windows_as_a_frame")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()

    found = frame.sparkSession.sql("select * from windows_as_a_frame").collect()
    assert frame.dtypes == [("user", "string"), ("total", "bigint"), ("window_start", "bigint")]
    # nobody says that the input has ended: the window of 3900 is still open
    assert sorted(map(tuple, found)) == [("a", 1, 0), ("a", 3, 1_000), ("b", 2, 0)]


def test_results_have_the_types_of_their_expressions(
    make_env: Callable[..., StreamExecutionEnvironment], write: Callable[[list[Batch]], Path]
) -> None:
    results = summary_of(SECOND)(read_events(make_env(), write(DISORDER), endless=False))

    rows = list(results.execute_and_collect())

    names = ["user", "n", "values", "total", "mean", "range", "window_start", "window_end"]
    kinds = [*[Types.STRING()], *[Types.LONG()] * 3, *[Types.DOUBLE()], *[Types.LONG()] * 3]
    assert results.get_type() == Types.ROW_NAMED(names, kinds)
    assert sorted(map(tuple, rows)) == locally(make_env(), summary_of(SECOND), DISORDER)


def test_misused_columns_are_told_before_anything_runs(
    make_env: Callable[..., StreamExecutionEnvironment], write: Callable[[list[Batch]], Path]
) -> None:
    timed = read_events(make_env(), write([]), endless=False).assign_timestamps_and_watermarks(
        TIMES
    )
    windows = timed.select(col("value").alias("v"), col("ts")).key_by("v").window(SECOND)
    with pytest.raises(InvalidArgumentError, match="nope"):
        windows.select(col("nope").sum())
    with pytest.raises(InvalidArgumentError, match="which is Spark's"):
        windows.select(F.sum("v"))
