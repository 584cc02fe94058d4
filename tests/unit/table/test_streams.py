"""Streams as tables, and tables as streams, in one program."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from headrace.common import Row, RowKind, Types, WatermarkStrategy
from headrace.common.watermark_strategy import TimestampAssigner
from headrace.errors import InvalidArgumentError
from headrace.table import ChangelogMode, DataTypes, Schema, StreamTableEnvironment
from headrace.table.expressions import col

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.datastream.data_stream import DataStream

PAIR = Types.ROW([Types.LONG(), Types.STRING()])


def stream(t_env: StreamTableEnvironment) -> DataStream:
    return t_env._env.from_collection([(1, "a"), (2, "b"), (1, "c")], PAIR)


def collected(found: DataStream) -> list[str]:
    with found.execute_and_collect() as records:
        return [str(record) for record in records]


def test_a_stream_has_the_columns_of_its_type(
    stream_env: StreamTableEnvironment, rows: Callable[..., list[str]]
) -> None:
    table = stream_env.from_data_stream(stream(stream_env))
    assert table.get_schema().get_field_names() == ["f0", "f1"]
    assert rows(table.where(col("f0") == 1)) == ["+I(1, 'a')", "+I(1, 'c')"]


def test_columns_are_named_by_place_or_by_name(stream_env: StreamTableEnvironment) -> None:
    by_place = stream_env.from_data_stream(stream(stream_env), col("a"), col("b"))
    assert by_place.get_schema().get_field_names() == ["a", "b"]
    by_name = stream_env.from_data_stream(
        stream(stream_env), col("f1"), col("f0").alias("x"), col("p").proctime
    )
    assert by_name.get_schema().get_field_names() == ["f1", "x", "p"]
    with pytest.raises(InvalidArgumentError):
        stream_env.from_data_stream(stream(stream_env), col("a"), col("b"), col("c"))


def test_a_schema_adds_and_orders_columns(
    stream_env: StreamTableEnvironment, rows: Callable[..., list[str]]
) -> None:
    schema = (
        Schema.new_builder()
        .column_by_expression("twice", "f0 * 2")
        .column("f1", DataTypes.STRING())
        .build()
    )
    table = stream_env.from_data_stream(stream(stream_env), schema)
    assert rows(table)[0] == "+I(2, 'a')"
    wrong = Schema.new_builder().column("nope", "INT").build()
    with pytest.raises(InvalidArgumentError, match="nope"):
        stream_env.from_data_stream(stream(stream_env), wrong)


class Seconds(TimestampAssigner):
    def extract_timestamp(self, value: tuple[int, str], record_timestamp: int) -> int:
        return value[0] * 1000


def test_timestamps_and_watermarks_of_a_stream_come_along(
    stream_env: StreamTableEnvironment,
) -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Seconds())
    timed = stream(stream_env).assign_timestamps_and_watermarks(strategy)
    schema = (
        Schema.new_builder()
        .column_by_metadata("rowtime", DataTypes.TIMESTAMP_LTZ(3))
        .watermark("rowtime", "SOURCE_WATERMARK()")
        .build()
    )
    stream_env.create_temporary_view("t", timed, schema)
    counted = stream_env.sql_query(
        "SELECT COUNT(*) AS n FROM "
        "TABLE(TUMBLE(TABLE t, DESCRIPTOR(rowtime), INTERVAL '1' SECOND)) "
        "GROUP BY window_start, window_end"
    )
    assert sorted(collected(stream_env.to_data_stream(counted))) == ["Row(n=1)", "Row(n=2)"]


def test_changes_go_both_ways(stream_env: StreamTableEnvironment) -> None:
    changes = stream_env._env.from_collection(
        [
            Row(1, "a"),
            Row.of_kind(RowKind.UPDATE_BEFORE, 1, "a"),
            Row.of_kind(RowKind.UPDATE_AFTER, 1, "b"),
        ],
        PAIR,
    )
    table = stream_env.from_changelog_stream(changes)
    found = stream_env.to_changelog_stream(table)
    with found.execute_and_collect() as records:
        assert [str(record.get_row_kind()) for record in records] == ["+I", "-U", "+U"]
    with pytest.raises(InvalidArgumentError, match="doesn't support consuming update"):
        stream_env.to_data_stream(table)


def test_upserts_leave_the_old_lines_out(stream_env: StreamTableEnvironment) -> None:
    table = stream_env.from_data_stream(stream(stream_env), col("k"), col("s"))
    counted = table.group_by(col("k")).select(col("k"), col("s").count.alias("n"))
    schema = Schema.new_builder().column("k", "BIGINT").column("n", "BIGINT").build()
    found = stream_env.to_changelog_stream(counted, schema, ChangelogMode.upsert())
    with found.execute_and_collect() as records:
        assert [str(record.get_row_kind()) for record in records] == ["+I", "+I", "+U"]


def test_retractions_are_pairs(stream_env: StreamTableEnvironment) -> None:
    table = stream_env.from_data_stream(stream(stream_env), col("k"), col("s"))
    counted = table.group_by(col("k")).select(col("k"), col("s").count)
    found = stream_env.to_retract_stream(counted, Types.ROW([Types.LONG(), Types.LONG()]))
    with found.execute_and_collect() as records:
        assert [(flag, tuple(row)) for flag, row in records] == [
            (True, (1, 1)),
            (True, (2, 1)),
            (False, (1, 1)),
            (True, (1, 2)),
        ]
    appended = stream_env.to_append_stream(table, PAIR)
    assert len(collected(appended)) == 3


def test_a_statement_set_joins_the_program(stream_env: StreamTableEnvironment) -> None:
    stream_env.execute_sql("CREATE TABLE bh (k BIGINT) WITH ('connector' = 'blackhole')")
    inserts = stream_env.create_statement_set()
    inserts.add_insert("bh", stream_env.from_data_stream(stream(stream_env)).select(col("f0")))
    inserts.attach_as_datastream()
    assert len(stream_env._env._graph.sinks()) == 1
    stream_env._env.execute()
