"""Hints behind SELECT."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from headrace.errors import SqlError
from headrace.rel import nodes as n
from headrace.runtime.table.group_aggregate import GroupAggregateOperator
from headrace.runtime.table.joins.lookup import LookupJoinOperator, LookupRetry
from headrace.runtime.table.joins.regular import RegularJoinOperator
from headrace.table import EnvironmentSettings, TableEnvironment
from rel_tables import planned

if TYPE_CHECKING:
    from collections.abc import Iterator

DAY, HOUR = 86_400_000, 3_600_000


@pytest.fixture
def tables() -> TableEnvironment:
    found = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    found.get_config().set("table.exec.state.ttl", "1 h")
    for name in ("a", "b", "c"):
        found.execute_sql(
            f"CREATE TABLE {name} (id INT, v INT, p AS PROCTIME()) WITH ('connector' = 'datagen')"
        )
    found.execute_sql(
        "CREATE TABLE users (id INT, name STRING) WITH ('connector' = 'jdbc', "
        "'url' = 'jdbc:postgresql://localhost/x', 'table-name' = 'users')"
    )
    return found


def _nodes(rel: n.Rel) -> Iterator[n.Rel]:
    yield rel
    for below in rel.inputs:
        yield from _nodes(below)


def _operators(tables: TableEnvironment, query: str) -> list[object]:
    tables._planner().to_stream(tables.sql_query(query)._rel)
    return [step.operator for step in tables._env._graph.steps]


def _join_ttl(tables: TableEnvironment, query: str) -> list[tuple[int, ...]]:
    operators = _operators(tables, query)
    return [each.ttl_ms for each in operators if isinstance(each, RegularJoinOperator)]


def test_each_side_of_a_join_has_its_own_time(tables: TableEnvironment) -> None:
    query = "SELECT {} a.v FROM a {} JOIN b ON a.id = b.id WHERE a.v > 1 AND b.v < a.v"
    for kind in ("", "LEFT"):
        hint = "/*+ STATE_TTL('a' = '1 d') */"
        assert _join_ttl(tables, query.format(hint, kind))[-1] == (DAY, HOUR)
    both = "/*+ STATE_TTL('a' = '1 d', 'b' = '0 ms') */"
    assert _join_ttl(tables, query.format(both, ""))[-1] == (DAY, 0)
    assert _join_ttl(tables, query.format("", ""))[-1] == (HOUR, HOUR)


def test_an_alias_is_a_name_and_so_is_a_query(tables: TableEnvironment) -> None:
    query = (
        "SELECT /*+ STATE_TTL('x' = '1 d', 'y' = '2 d') */ x.v FROM a AS x "
        "JOIN (SELECT id, COUNT(*) AS n FROM b GROUP BY id) AS y ON x.id = y.id"
    )
    assert _join_ttl(tables, query) == [(DAY, 2 * DAY)]


def test_of_three_tables_each_is_kept_where_it_comes_in(tables: TableEnvironment) -> None:
    query = (
        "SELECT /*+ STATE_TTL('b' = '1 d', 'c' = '2 d') */ 1 FROM a "
        "JOIN b ON a.id = b.id JOIN c ON b.id = c.id"
    )
    assert sorted(_join_ttl(tables, query)) == [(HOUR, DAY), (HOUR, 2 * DAY)]


def test_groups_have_a_time_too(tables: TableEnvironment) -> None:
    query = "SELECT /*+ STATE_TTL('a' = '1 d') */ v, COUNT(*) FROM a WHERE id > 1 GROUP BY v"
    (found,) = [
        each for each in _operators(tables, query) if isinstance(each, GroupAggregateOperator)
    ]
    assert found.ttl_ms == DAY


def test_a_lookup_asks_again(tables: TableEnvironment) -> None:
    query = (
        "SELECT /*+ LOOKUP('table' = 'u', 'retry-predicate' = 'lookup_miss', 'retry-strategy' = "
        "'fixed_delay', 'fixed-delay' = '2 s', 'max-attempts' = '3') */ u.name FROM a "
        "JOIN users FOR SYSTEM_TIME AS OF a.p AS u ON a.id = u.id"
    )
    (found,) = [each for each in _operators(tables, query) if isinstance(each, LookupJoinOperator)]
    assert found.retry == LookupRetry(2000, 3)


def test_how_flink_asks_and_joins_has_no_effect(tables: TableEnvironment) -> None:
    query = (
        "SELECT /*+ LOOKUP('table' = 'users', 'async' = 'true', 'output-mode' = 'allow_unordered', "
        "'capacity' = '5', 'timeout' = '1 s') */ name FROM a "
        "JOIN users FOR SYSTEM_TIME AS OF a.p ON a.id = users.id"
    )
    (join,) = [each for each in _nodes(tables.sql_query(query)._rel) if type(each) is n.LookupJoin]
    assert join.retries is None
    tables.sql_query("SELECT /*+ BROADCAST(b) */ a.v FROM a JOIN b ON a.id = b.id")


def test_rules_keep_times(tables: TableEnvironment) -> None:
    rel = tables.sql_query(
        "SELECT * FROM (SELECT /*+ STATE_TTL('a' = '1 d') */ a.v, b.v AS w FROM a, b "
        "WHERE a.id = b.id) WHERE v = w"
    )._rel
    (join,) = [each for each in _nodes(planned(rel)) if isinstance(each, n.Join)]
    assert join.ttl_ms == (DAY, None)


JOIN = "FROM a JOIN b ON a.id = b.id"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (f"SELECT /*+ STATE_TTL('z' = '1 d') */ a.v {JOIN}", "names z, which is no table"),
        (f"SELECT /*+ STATE_TTL('a' = 'long') */ a.v {JOIN}", "takes times, not 'long'"),
        (f"SELECT /*+ STAT_TTL('a' = '1 d') */ a.v {JOIN}", "there is no hint STAT_TTL"),
        (f"SELECT /*+ OPTIONS('a' = 'b') */ a.v {JOIN}", "stands behind a table"),
        (f"SELECT /*+ LOOKUP('table' = 'b', 'asynk' = 'true') */ a.v {JOIN}", "no option 'asynk'"),
        (f"SELECT /*+ LOOKUP('table' = 'b', 'async' = 'x') */ a.v {JOIN}", "expected true or"),
        (f"SELECT /*+ LOOKUP('async' = 'true') */ a.v {JOIN}", "names its table"),
        (f"SELECT /*+ LOOKUP('table' = 'b', 'max-attempts' = '3') */ a.v {JOIN}", "lacks 'retry"),
        (
            "SELECT /*+ STATE_TTL('x' = '1 d') */ x.v FROM a AS x JOIN a AS y ON x.id = y.id",
            "cannot tell the two uses",
        ),
    ],
)
def test_what_a_hint_cannot_mean_is_refused(tables: TableEnvironment, text: str, why: str) -> None:
    with pytest.raises(SqlError, match=why):
        tables.sql_query(text)
