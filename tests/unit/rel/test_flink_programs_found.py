"""What Flink's table programs showed to be wrong (tests/flink_programs)."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.common import data_types as t
from headrace.common.changes import Changes
from headrace.common.row_data_type import RowDataTypeInfo
from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.connectors.collection.source import CollectionSource
from headrace.datastream import StreamExecutionEnvironment
from headrace.rel import nodes as n
from headrace.rel.planner import PlanSettings, TablePlanner
from headrace.rel.resolve.resolver import Resolver
from headrace.rel.resolve.type_names import data_type
from headrace.rel.tables import TableOrigin
from headrace.sql.parser import parse_query, parse_type
from headrace.testing import collect_locally
from rel_tables import INT, STRING, TestCatalogs, at, plan_of, run, scan

UPSERTS = [("x", 1, 0), ("x", 5, 2), ("y", 7, 2), ("x", 2, 2), ("y", 3, 2)]


def _upserts() -> n.Rel:
    schema = (n.Field("k", STRING.not_null()), n.Field("a", INT))
    kinds = RowDataTypeInfo(
        t.RowType([t.RowField(field.name, field.type) for field in schema]), changes=True
    )

    def stream(env: StreamExecutionEnvironment) -> Any:
        return env.from_source(
            CollectionSource(UPSERTS, kinds), WatermarkStrategy.no_watermarks(), "upserts"
        )

    return n.Scan(TableOrigin("upserts", stream, Changes.UPSERT, (0,)), schema=schema)


def _run(text: str, **tables: n.Rel) -> list[tuple[Any, ...]]:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    rel = Resolver(TestCatalogs(tables)).query(parse_query(text))
    stream, _, _ = TablePlanner(env, PlanSettings()).to_stream(rel)
    return collect_locally(stream)


def test_an_upsert_that_meets_the_condition_no_longer_is_deleted() -> None:
    assert _run("SELECT k, a FROM upserts WHERE a > 2", upserts=_upserts()) == [
        ("x", 5, 0),
        ("y", 7, 0),
        ("x", 5, 3),
        ("y", 7, 1),
        ("y", 3, 2),
    ]


def test_a_rank_that_is_always_the_same_is_no_part_of_the_changes() -> None:
    text = (
        "SELECT k, a, r FROM (SELECT *, ROW_NUMBER() OVER (ORDER BY a DESC) AS r FROM upserts)"
        " WHERE r = 1"
    )
    found = _run(text, upserts=_upserts())
    assert found[:3] == [("x", 1, 1, 0), ("x", 1, 1, 3), ("x", 5, 1, 0)]
    assert {line[-1] for line in found} == {0, 3}


def test_sessions_of_all_lines_grouped_by_a_key_are_updated() -> None:
    sessions = "TABLE(SESSION(TABLE bids, DESCRIPTOR(ts), INTERVAL '3' MINUTE))"
    by_item = f"SELECT item, COUNT(*) FROM {sessions} GROUP BY item, window_start, window_end"
    assert not any("WindowAggregate" in line for line in plan_of(by_item))
    partitioned = by_item.replace("TABLE bids", "TABLE bids PARTITION BY item")
    assert any("WindowAggregate" in line for line in plan_of(partitioned))


def test_user_is_a_column() -> None:
    users = scan("users", {"user": STRING}, [("ann",)])
    assert _run("SELECT user FROM users", users=users) == [("ann",)]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("VARCHAR", t.DataTypes.STRING()),
        ("VARBINARY", t.DataTypes.BYTES()),
        ("VARCHAR(3)", t.DataTypes.VARCHAR(3)),
        ("CHAR", t.DataTypes.CHAR(1)),
    ],
)
def test_texts_without_a_length_have_the_largest(text: str, wanted: t.DataType) -> None:
    assert data_type(parse_type(text)) == wanted


def test_a_change_of_a_column_that_nobody_reads_is_none() -> None:
    text = "SELECT k, COUNT(*) FROM (SELECT k FROM upserts) GROUP BY k"
    assert _run(text, upserts=_upserts()) == [("x", 1, 0), ("y", 1, 0)]


def test_no_lines_are_asked_for() -> None:
    lines = scan("lines", {"a": INT}, [(1,), (2,)])
    assert _run("SELECT a FROM lines ORDER BY a LIMIT 0", lines=lines) == []


def test_a_variance_that_stays_is_sent_again_when_its_count_changes() -> None:
    lines = scan("lines", {"a": INT}, [(4,), (4,), (None,)])
    assert _run("SELECT VAR_POP(a) FROM lines", lines=lines) == [(0, 0), (0, 1), (0, 2)]


def test_texts_of_merged_slices_keep_their_separator() -> None:
    text = (
        "SELECT window_end, LISTAGG(item, '+') FROM TABLE(HOP(TABLE bids, DESCRIPTOR(ts), "
        "INTERVAL '5' MINUTES, INTERVAL '10' MINUTES)) GROUP BY window_start, window_end"
    )
    assert run(text) == [
        (at(10), "A+B+A"),
        (at(15), "A+B+A+B+A"),
        (at(20), "B+A+C"),
        (at(25), "C"),
    ]


def test_groups_of_a_top_n_of_windows_are_windows() -> None:
    text = (
        "SELECT window_end, SUM(price) FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY "
        "window_start, window_end ORDER BY price DESC) AS n FROM TABLE(TUMBLE(TABLE bids, "
        "DESCRIPTOR(ts), INTERVAL '10' MINUTES))) WHERE n <= 2 GROUP BY window_start, window_end"
    )
    assert run(text) == [(at(10), 9), (at(20), 9)]
