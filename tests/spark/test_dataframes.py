"""DataFrames in and out, and the steps that Catalyst runs itself."""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as F

from headrace.common import Types
from headrace.connectors.files.source import FileSource
from headrace.datastream.connectors.file_system import FileSink
from headrace.datastream.expressions import col
from headrace.datastream.functions import KeyedProcessFunction
from headrace.datastream.state import ValueStateDescriptor
from headrace.errors import InvalidArgumentError, UnsupportedStepError
from headrace.formats.parquet_reader import ParquetColumnarRowInputFormat

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

    from headrace.datastream import DataStream, StreamExecutionEnvironment

VIEW = Types.ROW_NAMED(["id", "country", "status"], [Types.LONG(), Types.STRING(), Types.INT()])
VIEWS = [{"id": n, "country": ["FI", "no", "Se"][n % 3], "status": 200 + n * 50} for n in range(9)]


@pytest.fixture
def views(env: StreamExecutionEnvironment, tmp_path: Path) -> DataStream:
    """Page views in a Parquet file."""
    folder = tmp_path / "views"
    folder.mkdir()
    schema = pa.schema([("id", pa.int64()), ("country", pa.string()), ("status", pa.int32())])
    pq.write_table(pa.Table.from_pylist(VIEWS, schema), folder / "views.parquet")
    source = FileSource.for_bulk_file_format(ParquetColumnarRowInputFormat(VIEW), str(folder))
    return env.from_source(source.build(), None, "views")


def test_a_batch_dataframe_becomes_a_bounded_stream_of_rows(
    env: StreamExecutionEnvironment, spark: SparkSession
) -> None:
    frame = spark.createDataFrame(VIEWS, "id long, country string, status int")

    rows = env.from_dataframe(frame).map(lambda row: (row.id, row["country"], row.status))

    expected = [(v["id"], v["country"], v["status"]) for v in VIEWS]
    assert sorted(rows.execute_and_collect()) == expected


def test_a_streaming_dataframe_goes_through_a_program_and_out_again(
    env: StreamExecutionEnvironment, spark: SparkSession, tmp_path: Path
) -> None:
    folder = tmp_path / "lines"
    folder.mkdir()
    (folder / "1.txt").write_text("to be or\nnot to be\n")
    lines = spark.readStream.text(str(folder))
    count = Types.ROW_NAMED(["word", "count"], [Types.STRING(), Types.LONG()])

    counts = (
        env.from_dataframe(lines)
        .flat_map(lambda row: row.value.split(), Types.STRING())
        .map(lambda word: (word, 1), count)
        .key_by(lambda row: row[0])
        .sum(1)
        .to_dataframe()
    )
    assert counts.isStreaming
    assert counts.columns == ["word", "count"]
    query = (
        counts.filter("word <> 'not'")
        .writeStream.format("memory")
        .queryName("counts")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .start()
    )
    try:
        query.processAllAvailable()
        (folder / "2.txt").write_text("be\n")
        query.processAllAvailable()
        found = [tuple(row) for row in counts.sparkSession.table("counts").collect()]
    finally:
        query.stop()
    assert sorted(found) == [("be", 1), ("be", 2), ("be", 3), ("or", 1), ("to", 1), ("to", 2)]


def test_to_dataframe_needs_a_type(env: StreamExecutionEnvironment) -> None:
    with pytest.raises(InvalidArgumentError, match="output_type"):
        env.from_collection([1]).map(lambda n: n).to_dataframe()


def test_column_expressions_run_natively_and_give_what_python_would(
    env: StreamExecutionEnvironment, views: DataStream
) -> None:
    found: list[Any] = []
    errors = views.filter(col("status") >= 400).filter(F.col("country") != "no")
    named = errors.select(col("id"), col("country").upper().alias("where"))
    named.map(lambda row: (row.id, row["where"])).add_sink(found.append)

    plan = env.explain()
    env.execute("native steps")

    native = [line for line in plan.splitlines() if ": native (" in line]
    assert len(native) == 4  # the source, two filters, the projection
    assert "Map: python (a Python function)" in plan
    assert sorted(found) == [(5, "SE"), (6, "FI"), (8, "SE")]


def test_what_stands_behind_a_projection_knows_its_columns(
    env: StreamExecutionEnvironment, views: DataStream, tmp_path: Path
) -> None:
    named = views.select(col("id"), F.col("status").alias("code")).filter(col("code") >= 500)
    named.sink_to(FileSink.json(str(tmp_path / "json")))
    sums = named.map(lambda row: (row.id % 2, row.code)).key_by(lambda pair: pair[0]).sum(1)
    found: list[Any] = []
    sums.add_sink(found.append)
    named.key_by("id").map(lambda row: ("row", row.code)).add_sink(found.append)

    assert "".join(map(str, named.preview(1, "100s"))) != ""
    env.execute("behind a projection")

    lines = [line for file in (tmp_path / "json").glob("*.json") for line in file.open()]
    written = sorted(map(json.loads, lines), key=lambda row: row["id"])
    assert written == [{"id": 6, "code": 500}, {"id": 7, "code": 550}, {"id": 8, "code": 600}]
    assert {pair for pair in found if pair[0] == "row"} == {
        ("row", 500),
        ("row", 550),
        ("row", 600),
    }
    assert max(found, key=lambda pair: pair[1]) == (0, 1100)
    assert len(found) == 6


@pytest.mark.parametrize(
    "step",
    [
        lambda views: views.filter(col("statsu") > 1),  # misspelt
        lambda views: views.select(col("statsu")),  # misspelt
    ],
)
def test_an_expression_on_a_column_that_is_not_there_is_refused_where_it_is_written(
    views: DataStream, step: Callable[[DataStream], DataStream]
) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        step(views)

    assert "statsu" in caught.value.message
    assert "# misspelt" in str(caught.value)
    assert caught.value.fix == "did you mean 'status'?"


def test_a_column_of_sparks_own_that_is_not_there_is_told_with_those_that_are(
    env: StreamExecutionEnvironment, views: DataStream
) -> None:
    views.filter(F.col("statsu") > 1).print()  # misspelt

    with pytest.raises(InvalidArgumentError) as caught:
        env.execute("misspelt")

    assert "statsu" in caught.value.message
    assert "# misspelt" in str(caught.value)
    assert "id, country, status" in str(caught.value.fix)


def test_expressions_of_headrace_run_in_python_where_catalyst_cannot(
    env: StreamExecutionEnvironment, views: DataStream
) -> None:
    found: list[Any] = []
    in_python = views.map(lambda row: row, VIEW).filter(col("status") >= 400)
    in_python.select(col("id"), (col("status") - 400).alias("above")).map(
        lambda row: tuple(row)
    ).add_sink(found.append)

    plan = env.explain()
    env.execute("expressions in Python")

    assert plan.count("column expressions evaluated in Python: comes after 'Map'") == 1
    assert sorted(found) == [(4, 0), (5, 50), (6, 100), (7, 150), (8, 200)]


def test_a_program_of_expressions_alone_is_written_by_spark_exactly_once(
    env: StreamExecutionEnvironment, views: DataStream, tmp_path: Path
) -> None:
    good = views.filter(col("status") < 400).select(F.col("id"), F.lower("country").alias("c"))
    good.sink_to(FileSink.parquet(str(tmp_path / "good")))
    views.filter(col("status") >= 400).sink_to(FileSink.parquet(str(tmp_path / "bad")))

    plan = env.explain()
    env.execute("native")

    assert plan.startswith("One streaming query, all of it native")
    good_files = list((tmp_path / "good").glob("[!._]*.parquet"))
    rows = ds.dataset([str(file) for file in good_files]).to_table().to_pylist()
    assert sorted((row["id"], row["c"]) for row in rows) == [
        (0, "fi"),
        (1, "no"),
        (2, "se"),
        (3, "fi"),
    ]
    bad_files = list((tmp_path / "bad").glob("[!._]*.parquet"))
    table = ds.dataset([str(file) for file in bad_files]).to_table()
    assert sorted(table.to_pylist(), key=lambda row: row["id"]) == VIEWS[4:]


def test_a_spark_column_where_catalyst_cannot_run_is_refused(
    env: StreamExecutionEnvironment, views: DataStream
) -> None:
    views.map(lambda row: row, VIEW).filter(F.col("status") > 1).print()  # behind Python

    with pytest.raises(UnsupportedStepError) as caught:
        env.execute("impossible")

    assert "comes after 'Map', which runs in Python" in caught.value.message
    assert "# behind Python" in str(caught.value)
    assert "headrace's col(...)" in str(caught.value.fix)


# --- streaming DataFrames of a session that knows nothing of headrace ----------------------------


@pytest.fixture
def plain_session(spark: SparkSession) -> SparkSession:
    """A user's own session, with Spark's defaults."""
    session = spark.newSession()
    store = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"
    session.conf.set("spark.sql.streaming.stateStore.providerClass", store)
    session.conf.set("spark.sql.shuffle.partitions", "200")
    session.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    return session


class Total(KeyedProcessFunction):
    """The running sum of a key; fails once, in the middle of the stream."""

    def __init__(self, marker: Path | None = None) -> None:
        self.marker = marker

    def open(self, runtime_context: Any) -> None:
        self.total = runtime_context.get_state(ValueStateDescriptor("total", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Any:
        if self.marker is not None and value.value == 130 and not self.marker.exists():
            self.marker.touch()
            raise RuntimeError("only once")
        self.total.update((self.total.value() or 0) + value.value)
        yield {"key": value.key, "value": value.value, "total": self.total.value()}


def test_a_streaming_dataframe_of_any_session_can_be_keyed_and_is_counted_exactly_once(
    plain_session: SparkSession,
    make_env: Callable[..., StreamExecutionEnvironment],
    tmp_path: Path,
    wait_for: Callable[[Callable[[], Any]], None],
) -> None:
    out = tmp_path / "out"

    def rows() -> list[dict[str, Any]]:
        return [json.loads(line) for f in out.glob("part-*") for line in f.open()]

    def run(at_least: int, marker: Path | None) -> None:
        env = make_env(
            {
                "execution.checkpointing.dir": str(tmp_path / "checkpoint"),
                "restart-strategy.type": "fixed-delay",
                "restart-strategy.fixed-delay.delay": "10 ms",
            }
        )
        numbers = plain_session.readStream.format("rate-micro-batch").option("rowsPerBatch", 40)
        frame = numbers.load().selectExpr("cast(value % 3 as int) as key", "value")
        stream = env.from_dataframe(frame).uid("numbers").key_by(lambda row: row.key)
        stream.process(Total(marker)).uid("total").sink_to(FileSink.json(str(out))).uid("out")
        client = env.execute_async("totals")
        wait_for(lambda: len(rows()) >= at_least)
        client.cancel().result()

    run(200, tmp_path / "failed")
    assert (tmp_path / "failed").exists()
    run(len(rows()) + 100, None)  # another process of the same job, from its checkpoint

    found = rows()
    assert sorted(row["value"] for row in found) == list(range(len(found)))
    for key in range(3):
        # two partitions: in which order they came is told by the totals
        mine = sorted((row["total"], row["value"]) for row in found if row["key"] == key)
        assert [total for total, _ in mine] == list(itertools.accumulate(v for _, v in mine))
    # the job's own settings: a partition a subtask, not Spark's 200
    stores = [f for f in (tmp_path / "checkpoint/query/state/0").iterdir() if f.name.isdigit()]
    assert len(stores) == 2


def test_a_streaming_dataframe_keeps_the_time_zone_it_was_made_with(
    plain_session: SparkSession, make_env: Callable[..., StreamExecutionEnvironment], tmp_path: Path
) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.txt").write_text("2026-01-01 09:00:00\n")
    lines = plain_session.readStream.text(str(tmp_path / "in"))
    frame = lines.selectExpr("unix_millis(cast(value as timestamp)) as ms")
    with make_env().from_dataframe(frame).map(lambda row: row.ms).execute_and_collect() as found:
        assert next(found) == 1767225600000  # nine in Tokyo is midnight in UTC
