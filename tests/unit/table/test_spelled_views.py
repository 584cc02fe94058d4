"""A view's query in full means what its author wrote, node for node, and can be read again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from headrace.rel.resolve.spelling import spelled_out
from headrace.sql.ast import Star, walk_nodes
from headrace.sql.parser import parse_query
from headrace.sql.query_ast import SelectItem
from headrace.sql.render import render
from headrace.table import EnvironmentSettings, TableEnvironment
from nexmark_answers import queries
from tpch.data import COLUMNS, SQL_TYPES
from tpch.queries import QUERIES

if TYPE_CHECKING:
    from headrace.rel.nodes import Rel
    from headrace.sql.query_ast import SqlQuery


def assert_spelled(env: TableEnvironment, text: str) -> str:
    """The query in full, which means the same."""

    def meaning(query: SqlQuery) -> Rel:
        return env._resolver().query(query)

    node = parse_query(text)
    spelled = spelled_out(node, meaning)
    assert spelled is not node
    assert meaning(parse_query(render(spelled))) == meaning(node)
    items = [part for part in walk_nodes(spelled) if isinstance(part, SelectItem)]
    assert not any(isinstance(item.expression, Star) for item in items)
    return render(spelled)


@pytest.fixture(scope="module")
def tpch() -> TableEnvironment:
    env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    for name, columns in COLUMNS.items():
        declared = ", ".join(f"{column} {SQL_TYPES[kind]}" for column, kind in columns.items())
        env.execute_sql(f"CREATE TABLE {name} ({declared}) WITH ('connector' = 'datagen')")
    for query in QUERIES.values():
        for view in query.views:
            env.execute_sql(view)
    return env


@pytest.mark.parametrize("number", QUERIES)
def test_a_query_of_tpch(tpch: TableEnvironment, number: int) -> None:
    assert_spelled(tpch, QUERIES[number].select)


@pytest.mark.parametrize("name", queries.NAMES)
def test_a_query_of_nexmark(t_env: TableEnvironment, name: str) -> None:
    nowhere = Path("nowhere")
    for statement in queries.tables(name, layout="flat", events=nowhere, side=nowhere):
        t_env.execute_sql(statement)
    assert_spelled(t_env, queries.select(name))


def test_what_stands_for_others_word_for_word_keeps_its_words(t_env: TableEnvironment) -> None:
    t_env.execute_sql(
        "CREATE TABLE e (a INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) "
        "WITH ('connector' = 'datagen')"
    )
    spelled = assert_spelled(
        t_env,
        "SELECT TUMBLE_START(ts, INTERVAL '1' HOUR) AS s, n FROM (SELECT *, 1 AS n FROM e) "
        "GROUP BY n, TUMBLE(ts, INTERVAL '1' HOUR)",
    )
    assert "SELECT `e`.`a`, `e`.`ts`, 1 AS `n`" in spelled
    assert "`default_catalog`.`default_database`.`e` AS `e`" in spelled
