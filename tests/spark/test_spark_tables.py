"""What Spark has as tables of SQL: DataFrames, tables and views."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyspark.sql.functions as sf
import pytest

from headrace.common import Configuration
from headrace.errors import ConnectorError, UnsupportedStepError
from headrace.table import DataTypes, EnvironmentSettings, Schema, TableEnvironment

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

MOMENT = dt.datetime(2026, 1, 2, 3, 4, 5, 678_901)


def tables(**settings: str) -> TableEnvironment:
    configuration = Configuration()
    for key, value in {"parallelism.default": "2", **settings}.items():
        configuration.set_string(key, value)
    builder = EnvironmentSettings.new_instance().with_configuration(configuration)
    return TableEnvironment.create(builder.in_streaming_mode().build())


def final(t_env: TableEnvironment, query: str) -> Counter[tuple[Any, ...]]:
    found: Counter[tuple[Any, ...]] = Counter()
    for row in t_env.execute_sql(query).collect():
        found[tuple(row)] += 1 if str(row.get_row_kind()) in ("+I", "+U") else -1
    return +found


def typed(spark: SparkSession) -> DataFrame:
    row = (
        1,
        "a",
        Decimal("1.25"),
        [1, None],
        {"k": 2},
        (3, "x"),
        MOMENT,
        dt.date(2026, 1, 2),
        None,
    )
    schema = (
        "id long not null, name string, price decimal(10, 2), items array<int>, "
        "counts map<string, int>, nested struct<a: int, b: string>, at timestamp_ntz, day date, "
        "nothing double"
    )
    return spark.createDataFrame([row], schema)


def test_a_batch_dataframe_keeps_its_types(spark: SparkSession) -> None:
    t_env = tables()
    table = t_env.from_dataframe(typed(spark))
    kinds = {
        c.get_name(): str(c.get_data_type()) for c in table.get_resolved_schema().get_columns()
    }
    assert kinds["id"] == str(DataTypes.BIGINT(nullable=False))
    assert kinds["price"] == str(DataTypes.DECIMAL(10, 2))
    assert kinds["at"] == str(DataTypes.TIMESTAMP(6))
    t_env.create_temporary_view("things", table)
    query = (
        "SELECT id, price * 2, items[1], counts['k'], nested.b, `at`, `day`, nothing FROM things"
    )
    expected = (1, Decimal("2.50"), 1, 2, "x", MOMENT, dt.date(2026, 1, 2), None)
    assert final(t_env, query) == Counter([expected])


def test_a_streaming_dataframe_has_windows(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.range(600).select(
        sf.timestamp_millis(sf.col("id") * 1000).cast("timestamp_ntz").alias("ts"), "id"
    )
    frame.write.parquet(str(tmp_path / "in"))
    stream = spark.readStream.schema(frame.schema).parquet(str(tmp_path / "in"))
    t_env = tables()
    schema = (
        Schema.new_builder()
        .column("ts", "TIMESTAMP(3)")
        .column("id", "BIGINT")
        .watermark("ts", "ts - INTERVAL '1' SECOND")
        .build()
    )
    t_env.create_temporary_view("clicks", stream, schema)
    result = t_env.execute_sql("""
        SELECT window_start, COUNT(*), SUM(id) FROM TABLE(
            TUMBLE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '1' MINUTE)
        ) GROUP BY window_start, window_end""")
    found = []
    with result.collect() as rows:
        for row in rows:
            found.append(tuple(row))
            if len(found) == 9:  # the tenth window stays open: the stream does not end
                break
    start = dt.datetime(1970, 1, 1)
    expected = [
        (start + dt.timedelta(minutes=n), 60, sum(range(60 * n, 60 * n + 60))) for n in range(9)
    ]
    assert sorted(found) == expected


def test_a_view_of_spark_by_its_name(spark: SparkSession) -> None:
    typed(spark).createOrReplaceTempView("typed_things")
    t_env = tables()
    t_env.execute_sql("""
        CREATE TABLE things (id BIGINT, name STRING, price DECIMAL(12, 3), `at` TIMESTAMP(3))
        WITH ('connector' = 'spark', 'table' = 'typed_things')""")
    found = final(
        t_env, "SELECT name, price, `at`, COUNT(*) FROM things GROUP BY name, price, `at`"
    )
    cut = MOMENT.replace(microsecond=678_000)
    assert found == Counter([("a", Decimal("1.250"), cut, 1)])


def test_what_is_not_there_is_told(spark: SparkSession) -> None:
    t_env = tables()
    t_env.execute_sql(
        "CREATE TABLE gone (id BIGINT) WITH ('connector' = 'spark', 'table' = 'no_such_table')"
    )
    with pytest.raises(ConnectorError, match="Spark cannot read the table 'no_such_table'"):
        t_env.execute_sql("SELECT * FROM gone").wait()
    typed(spark).createOrReplaceTempView("typed_things")
    t_env.execute_sql(
        "CREATE TABLE other (idd BIGINT) WITH ('connector' = 'spark', 'table' = 'typed_things')"
    )
    with pytest.raises(ConnectorError, match="has no column 'idd'"):
        t_env.execute_sql("SELECT * FROM other").wait()


def test_without_spark_there_are_no_tables_of_spark() -> None:
    t_env = tables(**{"headrace.execution.host": "local"})
    t_env.execute_sql("CREATE TABLE t (id BIGINT) WITH ('connector' = 'spark', 'table' = 't')")
    with pytest.raises(UnsupportedStepError, match="SparkTableSource"):
        t_env.execute_sql("SELECT * FROM t").wait()
