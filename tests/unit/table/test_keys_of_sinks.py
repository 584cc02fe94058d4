"""When the last line of a key is looked for: in front of sinks, and behind sources."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from headrace.common import Row, RowKind, Types
from headrace.datastream import StreamExecutionEnvironment
from headrace.table import DataTypes, Schema, StreamTableEnvironment

if TYPE_CHECKING:
    from headrace.table import Table

ROW = Types.ROW_NAMED(["k", "v"], [Types.STRING(), Types.INT()])


def changes() -> list[Row]:
    """Changes of two keys; one of them comes twice."""
    made = []
    for kind, key, value in [
        (RowKind.INSERT, "a", 1),
        (RowKind.INSERT, "a", 1),
        (RowKind.UPDATE_BEFORE, "a", 1),
        (RowKind.UPDATE_AFTER, "a", 2),
        (RowKind.INSERT, "b", 5),
    ]:
        row = Row(k=key, v=value)
        row.set_row_kind(kind)
        made.append(row)
    return made


@pytest.fixture
def t_env() -> StreamTableEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    made = StreamTableEnvironment.create(env)
    made.get_config().set("headrace.execution.host", "local")
    return made


def table(t_env: StreamTableEnvironment, *, keyed: bool = True) -> Table:
    builder = Schema.new_builder().column("k", DataTypes.STRING().not_null())
    builder = builder.column("v", DataTypes.INT())
    if keyed:
        builder = builder.primary_key("k")
    stream = t_env._env.from_collection(changes(), ROW)
    return t_env.from_changelog_stream(stream, builder.build())


def test_changes_that_come_twice_count_once(t_env: StreamTableEnvironment) -> None:
    t_env.get_config().set("table.exec.source.cdc-events-duplicate", "true")
    t_env.create_temporary_view("t", table(t_env))
    found = [tuple(row) for row in t_env.execute_sql("SELECT SUM(v) FROM t").collect()]
    assert found[-1] == (7,)


def test_without_a_key_they_cannot_be_told(t_env: StreamTableEnvironment) -> None:
    t_env.get_config().set("table.exec.source.cdc-events-duplicate", "true")
    t_env.create_temporary_view("t", table(t_env, keyed=False))
    with pytest.raises(Exception, match="has no key to tell"):
        t_env.execute_sql("SELECT SUM(v) FROM t")


SINK = "CREATE TABLE o (k STRING, c BIGINT, PRIMARY KEY (k) NOT ENFORCED) WITH ('connector' = '{}')"
QUERY = "INSERT INTO o SELECT UPPER(k), COUNT(*) FROM (VALUES ('a'), ('A')) AS t (k) GROUP BY k"


@pytest.mark.parametrize(
    ("connector", "option", "materialized"),
    [
        ("print", "AUTO", False),  # takes -U, so it knows what is left
        ("print", "FORCE", True),
        ("upsert-kafka", "AUTO", True),
        ("upsert-kafka", "NONE", False),
    ],
)
def test_the_last_line_of_a_key_is_looked_for_where_it_matters(
    t_env: StreamTableEnvironment, connector: str, option: str, materialized: bool
) -> None:
    t_env.get_config().set("table.exec.sink.upsert-materialize", option)
    options = (
        "upsert-kafka', 'topic' = 't', 'properties.bootstrap.servers' = '127.0.0.1:1', "
        "'key.format' = 'json', 'value.format' = 'json"
    )
    t_env.execute_sql(SINK.format(options if connector == "upsert-kafka" else connector))
    assert ("materialize=[True]" in t_env.explain_sql(QUERY)) is materialized
