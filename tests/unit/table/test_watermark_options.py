"""Options of a table about its watermarks."""

from __future__ import annotations

import pytest

from headrace.errors import ConfigurationError
from headrace.rel import nodes as n
from headrace.runtime.table.watermarks import WatermarkOperator
from headrace.table import EnvironmentSettings, TableEnvironment


def _tables(more: str) -> TableEnvironment:
    tables = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    tables.get_config().set("headrace.execution.host", "local")
    tables.get_config().set("table.exec.source.idle-timeout", "9 s")
    tables.execute_sql(
        "CREATE TABLE given (a INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH ("
        f"'connector' = 'datagen', 'number-of-rows' = '1'{more})"
    )
    return tables


def _operator(tables: TableEnvironment, query: str = "SELECT * FROM given") -> WatermarkOperator:
    tables._planner().to_stream(tables.sql_query(query)._rel)
    operators = [step.operator for step in tables._env._graph.steps]
    (found,) = [each for each in operators if isinstance(each, WatermarkOperator)]
    return found


def test_a_table_says_when_its_watermarks_come() -> None:
    assert not _operator(_tables("")).on_event
    assert _operator(_tables(", 'scan.watermark.emit.strategy' = 'on-event'")).on_event


def test_a_hint_does_so_too() -> None:
    hint = "/*+ OPTIONS('scan.watermark.emit.strategy' = 'on-event') */"
    assert _operator(_tables(""), f"SELECT * FROM given {hint}").on_event


def test_the_time_of_a_table_wins_over_that_of_the_session() -> None:
    assert _operator(_tables("")).strategy.idle_timeout_ms == 9000
    own = _operator(_tables(", 'scan.watermark.idle-timeout' = '2 s'"))
    assert own.strategy.idle_timeout_ms == 2000


def test_tables_of_a_group_wait_for_each_other() -> None:
    group = "'scan.watermark.alignment.group' = 'g', 'scan.watermark.alignment.max-drift' = '1 min'"
    alignment = _operator(_tables(f", {group}")).strategy.alignment
    assert alignment is not None
    assert (alignment.group, alignment.max_drift_ms) == ("g", 60_000)


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ("'scan.watermark.alignment.group' = 'g'", "needs a group and a drift"),
        ("'scan.watermark.alignment.update-interval' = '1 s'", "needs a group and a drift"),
        ("'scan.watermark.emit.strategy' = 'sometimes'", "expected one of on-periodic, on-event"),
        ("'scan.watermark.idle-timeout' = 'soon'", "expected an amount of time"),
        ("'scan.watermark.idle-time' = '1 s'", "has no option 'scan.watermark.idle-time'"),
    ],
)
def test_what_cannot_be_is_refused(more: str, why: str) -> None:
    with pytest.raises(ConfigurationError, match=why):
        _tables(f", {more}").sql_query("SELECT * FROM given")


def test_a_plan_knows_it() -> None:
    rel = _tables(", 'scan.watermark.idle-timeout' = '2 s'").sql_query("SELECT * FROM given")._rel
    while not isinstance(rel, n.WatermarkAssigner):
        (rel,) = rel.inputs
    assert rel.policy == n.WatermarkPolicy(idle_timeout_ms=2000)
