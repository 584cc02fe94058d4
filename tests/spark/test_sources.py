"""Sources on a real query: layout, restarts in the middle, bad files."""

from __future__ import annotations

import os
import pickle
import socket
import time
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from headrace.common.typeinfo import Types
from headrace.connectors.collection.source import CollectionSource
from headrace.connectors.files.source import FileSource
from headrace.connectors.socket.source import SocketTextSource
from headrace.data.codec import codec_for
from headrace.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from headrace.datastream.connectors.number_seq import NumberSequenceSource
from headrace.datastream.connectors.python_source import PythonSource
from headrace.errors import (
    ConnectorError,
    TypeMismatchError,
    UnserializableFunctionError,
)
from headrace.formats.csv_reader import CsvReaderFormat, CsvSchema
from headrace.formats.file_format import FileFormat, MalformedRecords, StreamFormat
from headrace.formats.json_reader import JsonReaderFormat
from headrace.formats.parquet_reader import ParquetColumnarRowInputFormat
from headrace.hosts.spark.sources.dataframe_source import DataFrameSource
from headrace.hosts.spark.sources.file_reader import explain_read_failure, whole_file_settings
from headrace.hosts.spark.sources.opening import SourceOptions, open_source
from headrace.table import DataTypes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from headrace.datastream.connectors.base import Source

pytestmark = pytest.mark.spark

PERSON = Types.ROW_NAMED(["id", "name"], [Types.INT(), Types.STRING()])


class Job:
    """One source, run as often as a test likes from one checkpoint."""

    def __init__(self, spark: SparkSession, directory: Path) -> None:
        self.spark = spark
        self.directory = directory
        self.batches: list[list[Any]] = []

    def run(
        self, source: Source, *, limit: int = 400_000, parallelism: int = 1, fail_at: int = -1
    ) -> list[Any]:
        """Reads what is there; `fail_at` breaks before that batch is taken over."""
        frame = open_source(
            source, self.spark, str(self.directory), SourceOptions(limit, 1, parallelism)
        )
        taken = self.batches

        def take(batch: DataFrame, batch_id: int) -> None:
            rows = batch.collect()
            if batch_id == fail_at:
                raise RuntimeError("stopped by the test")
            taken.append(rows)

        query = (
            frame.writeStream.foreachBatch(take)
            .option("checkpointLocation", str(self.directory / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        return [row for batch in taken for row in batch]


@pytest.fixture
def job(spark: SparkSession, tmp_path: Path) -> Job:
    return Job(spark, tmp_path / "job")


def values(rows: list[Any]) -> list[Any]:
    return [row[0] for row in rows]


class Shelf(PythonSource):
    """Two fixed splits and one that appears when a marker file does."""

    def __init__(self, marker: Path, size: int) -> None:
        self.marker = marker
        self.size = size

    def splits(self) -> list[str]:
        return ["b", "a", *(["late"] if self.marker.exists() else [])]

    def initial_offset(self, split: str) -> int:
        return 1000 if split == "late" else 0

    def latest_offset(self, split: str, start: int) -> int:
        return self.initial_offset(split) + self.size

    def read(self, split: str, start: int, end: int) -> Iterator[str]:
        for offset in range(start, end):
            yield f"{split}{offset}"

    def timestamp(self, record: str) -> int:
        return int(record.lstrip("abelt")) * 10

    def produced_type(self) -> Any:
        return Types.STRING()


def test_splits_are_read_fairly_and_a_new_one_joins(job: Job, tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    rows = job.run(Shelf(marker, 10), limit=8)
    assert [len(batch) for batch in job.batches] == [8, 8, 4]
    assert {row["__split"] for row in job.batches[0]} == {"a", "b"}
    assert rows[0].asDict().keys() == {"value", "__ts", "__split"}
    assert all(row["__ts"] == int(row["value"][1:]) * 10 for row in rows)
    marker.touch()
    rows = job.run(Shelf(marker, 12), limit=8)
    expected = [f"{s}{i}" for s in "ab" for i in range(12)]
    expected += [f"late{i}" for i in range(1000, 1012)]
    assert sorted(values(rows)) == sorted(expected)


@pytest.mark.parametrize(
    "make",
    [
        lambda: CollectionSource(list(range(1000)), Types.LONG()),
        lambda: NumberSequenceSource(0, 999),
        lambda: DataGeneratorSource(lambda i: i, 1000, None, Types.LONG()),
        lambda: DataGeneratorSource.vectorized(lambda i: i, 1000, type_info=Types.LONG()),
    ],
)
def test_a_failure_in_the_middle_loses_and_repeats_nothing(
    job: Job, make: Callable[[], Source]
) -> None:
    with pytest.raises(Exception, match="stopped by the test"):
        job.run(make(), limit=300, fail_at=2)
    assert len(job.batches) == 2
    rows = job.run(make(), limit=170)
    assert values(rows) == list(range(1000))
    # The batch that failed is repeated with its own range, whatever the new limit is.
    assert [len(batch) for batch in job.batches] == [300, 300, 300, 100]


def test_a_collection_without_a_type_travels_in_pickled_chunks(job: Job) -> None:
    elements = [{"n": i, "odd": {i}} for i in range(2_500)]
    rows = job.run(CollectionSource(elements))
    chunks = [pickle.loads(row["pickled"]) for row in rows]
    assert [len(chunk) for chunk in chunks] == [1000, 1000, 500]
    assert [record for chunk in chunks for record in chunk] == elements


def test_a_shorter_collection_after_a_restart_is_refused(job: Job) -> None:
    job.run(CollectionSource([1, 2, 3], Types.LONG()))
    with pytest.raises(Exception, match="the checkpoint says that it was already read up to 3"):
        job.run(CollectionSource([1], Types.LONG()))


def test_a_divisible_source_is_read_in_parallel_pieces(spark: SparkSession, job: Job) -> None:
    rows = job.run(NumberSequenceSource(1, 30_000), parallelism=2)
    assert sorted(values(rows)) == list(range(1, 30_001))


def test_two_sources_in_one_query_do_not_mix(spark: SparkSession, tmp_path: Path) -> None:
    one = open_source(NumberSequenceSource(1, 3), spark, str(tmp_path))
    two = open_source(NumberSequenceSource(11, 13), spark, str(tmp_path))
    query = one.unionAll(two).writeStream.format("memory").queryName("two_sources").start()
    try:
        query.processAllAvailable()
        found = sorted(row[0] for row in spark.table("two_sources").collect())
        assert found == [1, 2, 3, 11, 12, 13]
    finally:
        query.stop()


def test_a_rate_holds_while_the_query_runs(spark: SparkSession, tmp_path: Path) -> None:
    source = DataGeneratorSource(lambda i: i, None, RateLimiterStrategy.per_second(50), Types.INT())
    frame = open_source(source, spark, str(tmp_path))
    started = time.monotonic()
    query = frame.writeStream.format("memory").queryName("rated").start()
    try:
        # not at the top: the process that asks sources imports this module, and not that one
        from patience import wait_until

        wait_until(lambda: not query.isActive or spark.table("rated").count() >= 60, every_s=0.2)
        assert query.exception() is None
        found = [row[0] for row in spark.table("rated").collect()]
        assert found == list(range(len(found)))
        assert 60 <= len(found) <= 50 * (time.monotonic() - started)
    finally:
        query.stop()


def test_every_type_keeps_the_columns_of_its_codec(spark: SparkSession, tmp_path: Path) -> None:
    type_info = Types.ROW_NAMED(
        ["i", "d", "s", "t", "tz", "day", "dec", "big", "list", "map", "row", "raw", "any", "ints"],
        [
            Types.SHORT(),
            Types.FLOAT(),
            Types.CHAR(),
            Types.SQL_TIMESTAMP(),
            Types.INSTANT(),
            Types.SQL_DATE(),
            Types.BIG_DEC(),
            Types.BIG_INT(),
            Types.LIST(Types.STRING()),
            Types.MAP(Types.STRING(), Types.LONG()),
            Types.ROW_NAMED(["x"], [Types.DOUBLE()]),
            Types.PRIMITIVE_ARRAY(Types.BYTE()),
            Types.PICKLED_BYTE_ARRAY(),
            Types.PRIMITIVE_ARRAY(Types.INT()),
        ],
    )
    import datetime as dt

    from headrace.common.time import Instant
    from headrace.common.types import Row

    names = type_info.get_field_names()
    fields = [
        7,
        0.5,
        "c",
        dt.datetime(2024, 5, 6, 7, 8, 9, 123456),
        Instant.of_epoch_milli(1_700_000_000_123),
        dt.date(2024, 1, 2),
        Decimal("1.5"),
        2**70,
        ["a", None],
        {"k": 1},
        Row(x=2.5),
        b"\x00\x01",
        {"set"},
        [1, 2],
    ]
    record = Row(**dict(zip(names, fields, strict=True)))
    frame = open_source(CollectionSource([record], type_info), spark, str(tmp_path))
    assert frame.columns == names
    codec = codec_for(type_info)

    def decode(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        for batch in batches:
            assert codec.decode(batch) == [record]
            yield pa.record_batch({"n": pa.array([batch.num_rows], pa.int64())})

    found = frame.mapInArrow(decode, "n long")
    query = found.writeStream.format("memory").queryName("all_types").start()
    try:
        query.processAllAvailable()
        assert [row[0] for row in spark.table("all_types").collect()] == [1]
    finally:
        query.stop()


def test_a_source_with_an_open_file_cannot_travel(spark: SparkSession, tmp_path: Path) -> None:
    source = Shelf(tmp_path, 1)
    source.lock = __import__("threading").Lock()  # type: ignore[attr-defined]
    with pytest.raises(UnserializableFunctionError, match="cannot be sent to a worker"):
        open_source(source, spark, str(tmp_path))


def test_lines_from_a_socket(spark: SparkSession, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        source = SocketTextSource("127.0.0.1", server.getsockname()[1])
        frame = open_source(source, spark, str(tmp_path))
        query = frame.writeStream.format("memory").queryName("lines").start()
        try:
            connection, _ = server.accept()
            connection.sendall(b"one\ntwo\n")
            from patience import wait_until

            wait_until(lambda: spark.table("lines").count() >= 2, every_s=0.2)
            assert values(spark.table("lines").collect()) == ["one", "two"]
            connection.close()
        finally:
            query.stop()


# Files.


def files(file_format: FileFormat, *paths: Path | str) -> FileSource:
    return FileSource.for_record_stream_format(file_format, *map(str, paths)).build()  # type: ignore[arg-type]


def test_text_files_of_two_paths_and_new_ones_after_a_restart(job: Job, tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two.txt"
    (one / "deep").mkdir(parents=True)
    (one / "a.txt").write_text("a1\na2\n")
    (one / "deep" / "b.txt").write_text("b1\n")
    (one / "_hidden").write_text("no\n")
    two.write_text("c1\n")
    source = files(StreamFormat.text_line_format(), one, two)
    assert sorted(values(job.run(source))) == ["a1", "a2", "b1", "c1"]
    old = one / "old.txt"
    old.write_text("d1\n")
    os.utime(old, (1_000_000_000, 1_000_000_000))
    assert sorted(values(job.run(source))) == ["a1", "a2", "b1", "c1", "d1"]


def test_text_in_latin_1(job: Job, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes("grün\n".encode("latin-1"))
    assert values(job.run(files(StreamFormat.text_line_format("latin1"), path))) == ["grün"]


def test_csv_cells_become_fields(job: Job, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('id,name,tags\n1,"say ""hi"", x","a;b"\n# note\n2,,\n3,"two\nlines",c\n')
    schema = (
        CsvSchema.builder()
        .add_number_column("id", number_type=Types.INT())
        .add_string_column("name")
        .add_array_column("tags", ";")
        .set_use_header()
        .set_allow_comments()
        .build()
    )
    source = files(CsvReaderFormat.for_schema(schema), path)
    rows = [tuple(row) for row in job.run(source)]
    assert rows[0] == (1, 'say "hi", x', ["a", "b"])
    assert rows[1][:2] == (2, "")
    assert rows[2] == (3, "two\nlines", ["c"])


def test_csv_columns_of_the_table_apis_types(job: Job, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("127|3e38|1.5|1;2;3|true:false|a,b,c\n")
    schema = (
        CsvSchema.builder()
        .add_number_column("tiny", DataTypes.TINYINT())
        .add_number_column("float", DataTypes.FLOAT())
        .add_number_column("decimal", DataTypes.DECIMAL(2, 0))
        .add_array_column("numbers", separator=";", element_type=DataTypes.INT())
        .add_array_column("booleans", separator=":", element_type=DataTypes.BOOLEAN())
        .add_array_column("texts", separator=",", element_type=DataTypes.STRING())
        .set_column_separator("|")
        .disable_quote_char()
        .build()
    )
    (row,) = job.run(files(CsvReaderFormat.for_schema(schema), tmp_path / "a.csv"))
    assert row["tiny"] == 127
    assert row["float"] == pytest.approx(3e38)
    assert str(row["decimal"]) == "2"
    assert (row["numbers"], row["booleans"]) == ([1, 2, 3], [True, False])
    assert row["texts"] == ["a", "b", "c"]


def test_names_in_a_csv_header_do_not_count_unless_strict(
    spark: SparkSession, job: Job, tmp_path: Path
) -> None:
    (tmp_path / "a.csv").write_text("h1,h2\n1,x\n")
    schema = CsvSchema.builder().add_number_column("id").add_string_column("name").set_use_header()
    source = files(CsvReaderFormat.for_schema(schema.build()), tmp_path / "a.csv")
    assert [tuple(row) for row in job.run(source)] == [(1, "x")]
    strict = schema.set_strict_headers().build()
    with pytest.raises(Exception, match=r"(?i)header"):
        Job(spark, tmp_path / "strict").run(
            files(CsvReaderFormat.for_schema(strict), tmp_path / "a.csv")
        )


def test_csv_escapes_work_inside_and_outside_of_quotes(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('h\nstring\\,,\\"two\\"\n"a ""b"" \\"c\\", d",x\\\\y\n"two\nlines",\n')
    columns = CsvSchema.builder().add_string_column("a").add_string_column("b")
    schema = columns.set_escape_char("\\").set_use_header().build()
    found = Job(spark, tmp_path / "job").run(files(CsvReaderFormat.for_schema(schema), path))
    expected = [("string,", '"two"'), ('a "b" "c", d', "x\\y"), ("two\nlines", "")]
    assert [tuple(row) for row in found] == expected
    path.write_text("1,x\nno\\,number,y\n")
    numbers = (
        CsvSchema.builder().add_number_column("a").add_string_column("b").set_escape_char("\\")
    )
    for malformed, ids in ((MalformedRecords.DROP, [1]), (MalformedRecords.KEEP, [1, None])):
        kept = CsvReaderFormat.for_schema(numbers.build(), malformed=malformed)
        rows = Job(spark, tmp_path / malformed.name).run(files(kept, path))
        assert [row["a"] for row in rows] == ids
    strict = CsvReaderFormat.for_schema(numbers.build())
    with pytest.raises(Exception, match="bad line in") as caught:
        Job(spark, tmp_path / "fail").run(files(strict, path))
    ours = explain_read_failure(caught.value)
    assert isinstance(ours, TypeMismatchError)
    assert path.name in str(ours.where)


def test_a_csv_header_in_another_order_is_refused(job: Job, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("name,id\nx,1\n")
    schema = CsvSchema.builder().add_number_column("id").add_string_column("name").set_use_header()
    with pytest.raises(Exception, match=r"(?i)header"):
        job.run(files(CsvReaderFormat.for_schema(schema.build()), tmp_path / "a.csv"))


@pytest.mark.parametrize("kind", ["csv", "json"])
def test_bad_lines_fail_or_are_dropped_or_kept(
    spark: SparkSession, tmp_path: Path, kind: str
) -> None:
    lines = {"csv": "1,ann\nx,bob\n3,eve\n", "json": '{"id":1,"name":"ann"}\n{"id":\n{"id":3}\n'}
    path = tmp_path / f"bad.{kind}"
    path.write_text(lines[kind])
    schema = CsvSchema.builder().add_number_column("id", Types.INT()).add_string_column("name")

    def run(malformed: MalformedRecords) -> list[Any]:
        file_format: FileFormat = (
            CsvReaderFormat.for_schema(schema.build(), malformed=malformed)
            if kind == "csv"
            else JsonReaderFormat.for_type_info(PERSON, malformed=malformed)
        )
        return Job(spark, tmp_path / malformed.name).run(files(file_format, path))

    with pytest.raises(Exception, match="bad line in") as caught:
        run(MalformedRecords.FAIL)
    ours = explain_read_failure(caught.value)
    assert isinstance(ours, TypeMismatchError)
    assert path.name in str(ours.where)
    assert {"csv": "'x,bob'", "json": "'{\"id\":'"}[kind] in ours.message
    assert [row["id"] for row in run(MalformedRecords.DROP)] == [1, 3]
    kept = run(MalformedRecords.KEEP)
    assert [row["_corrupt_record"] is None for row in kept] == [True, False, True]


def test_parquet_gives_the_declared_columns(spark: SparkSession, job: Job, tmp_path: Path) -> None:
    spark.range(5).selectExpr("id", "cast(id as int) as small", "array(id) as list").coalesce(
        1
    ).write.parquet(str(tmp_path / "in"))
    row_type = Types.ROW_NAMED(["list", "small"], [Types.LIST(Types.LONG()), Types.INT()])
    source = FileSource.for_bulk_file_format(
        ParquetColumnarRowInputFormat(row_type), str(tmp_path / "in")
    ).build()
    assert [tuple(row) for row in job.run(source)] == [([i], i) for i in range(5)]
    wrong = ParquetColumnarRowInputFormat(Types.ROW_NAMED(["id"], [Types.STRING()]))
    source = FileSource.for_bulk_file_format(wrong, str(tmp_path / "in")).build()
    with pytest.raises(Exception, match="DATA_TYPE_MISMATCH") as caught:
        Job(spark, tmp_path / "wrong").run(source)
    ours = explain_read_failure(caught.value)
    assert isinstance(ours, ConnectorError)
    assert "Expected Spark type string, actual Parquet type INT64" in ours.message
    assert ".parquet" in str(ours.where)


def test_whole_files_are_read_in_order_by_one_task(
    spark: SparkSession, job: Job, tmp_path: Path
) -> None:
    path = tmp_path / "in"
    path.mkdir()
    lines = [f"{i:09d}" + "x" * 91 for i in range(120_000)]
    (path / "large.txt").write_text("\n".join(lines))
    old = {key: spark.conf.get(key) for key in whole_file_settings()}
    try:
        for key, value in whole_file_settings().items():
            spark.conf.set(key, value)
        frame = open_source(
            files(StreamFormat.text_line_format(), path), spark, str(tmp_path / "job")
        )
        seen: list[tuple[int, int, bool]] = []

        def look(batch: DataFrame, _: int) -> None:
            rows = batch.selectExpr("spark_partition_id() p", "value").collect()
            found = [row["value"] for row in rows]
            seen.append((len({row["p"] for row in rows}), len(rows), found == lines))

        query = (
            frame.writeStream.foreachBatch(look)
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        assert seen == [(1, 120_000, True)]
    finally:
        for key, previous in old.items():
            spark.conf.set(key, str(previous))


@pytest.mark.parametrize("prefix", ["", "file://"])
def test_a_missing_path_is_named_before_anything_runs(
    spark: SparkSession, tmp_path: Path, prefix: str
) -> None:
    source = files(StreamFormat.text_line_format(), f"{prefix}{tmp_path}/nowhere/x")
    with pytest.raises(ConnectorError, match="nowhere/x"):
        open_source(source, spark, str(tmp_path))
    with pytest.raises(ConnectorError, match="nothing to read"):
        open_source(
            files(StreamFormat.text_line_format(), f"{prefix}{tmp_path}/*.none"), spark, "job"
        )
    with pytest.raises(ConnectorError, match="cannot look for"):
        open_source(files(StreamFormat.text_line_format(), "what://there/x"), spark, "job")


def test_a_batch_dataframe_is_frozen_at_the_first_start(
    spark: SparkSession, tmp_path: Path, job: Job
) -> None:
    frame = spark.range(3).selectExpr(
        "id", "cast(id as decimal(10,2)) as price", "current_timestamp() as at", "rand() as r"
    )
    source = DataFrameSource(frame)
    assert source.produced_type().get_field_names() == ["id", "price", "at", "r"]
    assert source.is_bounded()
    first = sorted(job.run(source))
    again = Job(spark, job.directory)
    again.directory = job.directory
    (job.directory / "checkpoint").rename(tmp_path / "gone")
    assert sorted(again.run(DataFrameSource(frame))) == first
    # The codec keeps decimals of any precision, so they travel as text.
    assert [Decimal(row["price"]) for row in first] == [0, 1, 2]


def test_a_streaming_dataframe_is_used_as_it_is(spark: SparkSession, tmp_path: Path) -> None:
    stream = spark.readStream.format("rate").load()
    opened = open_source(DataFrameSource(stream), spark, str(tmp_path))
    assert opened.isStreaming
    assert opened.columns == ["timestamp", "value"]
    assert not DataFrameSource(stream).is_bounded()
