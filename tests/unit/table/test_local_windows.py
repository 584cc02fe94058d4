"""Windows that are aggregated in two steps give what one step gives."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from headrace.common import Configuration
from headrace.table import EnvironmentSettings, ExplainDetail, TableEnvironment

if TYPE_CHECKING:
    from pathlib import Path

QUERIES = {
    "TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '10' SECOND)": "k",
    "HOP(TABLE t, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '15' SECOND)": "k",
    "CUMULATE(TABLE t, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '20' SECOND)": "k",
    "TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '7' SECOND)": "",
}
CALLS = (
    "COUNT(*), COUNT(n), SUM(n), AVG(n), MIN(n), MAX(s), MIN(d), MAX(x), "
    "SUM(n) FILTER (WHERE n > 0)"
)


def found(folder: Path, strategy: str, query: str, *, limit: str, more: str = "") -> list[str]:
    options = Configuration()
    options.set_string("headrace.execution.host", "local")
    options.set_string("parallelism.default", "2")
    options.set_string("source.max-records-per-batch", limit)
    options.set_string("table.optimizer.agg-phase-strategy", strategy)
    builder = EnvironmentSettings.new_instance().with_configuration(options)
    t_env = TableEnvironment.create(builder.in_streaming_mode().build())
    t_env.execute_sql(f"""
        CREATE TABLE t (
            k STRING, n INT, s STRING, d DECIMAL(20, 2), x DOUBLE, ts TIMESTAMP(3),
            WATERMARK FOR ts AS ts - INTERVAL '2' SECOND
        ) WITH ('connector' = 'filesystem', 'path' = '{folder}', 'format' = 'csv',
                'csv.null-literal' = '')""")
    key = f"{QUERIES[query]}, " if QUERIES[query] else ""
    text = (
        f"SELECT {key}window_start, window_end, {CALLS}{more} FROM TABLE({query}) "
        f"GROUP BY {key}window_start, window_end"
    )
    plan = t_env.explain_sql(text)
    assert "WindowAggregate" in plan
    return sorted(str(tuple(row)) for row in t_env.execute_sql(text).collect())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("lines")
    chance = random.Random(5)
    for number in range(4):
        lines = []
        for place in range(60):
            second = max(0, place + chance.randrange(-6, 6))
            n = "" if chance.random() < 0.1 else str(chance.randrange(-9, 9))
            lines.append(
                f"{chance.choice('abc')},{n},{chance.choice(['x', 'y', ''])},"
                f"{chance.randrange(-999, 999) / 100},{chance.random()},"
                f"2026-01-01 08:00:{second % 60:02}"
            )
        (made / f"{number}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return made


@pytest.mark.parametrize("limit", ["7", "1000"])
@pytest.mark.parametrize("query", QUERIES)
def test_two_steps_give_what_one_gives(folder: Path, query: str, limit: str) -> None:
    one = found(folder, "ONE_PHASE", query, limit=limit)
    assert len(one) > 5
    assert found(folder, "TWO_PHASE", query, limit=limit) == one


def test_the_first_step_is_in_front_of_the_exchange(t_env: TableEnvironment) -> None:
    t_env.execute_sql("""
        CREATE TABLE t (k INT, x DOUBLE, ts TIMESTAMP(3), WATERMARK FOR ts AS ts)
        WITH ('connector' = 'datagen')""")
    windows = "FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '1' HOUR))"
    group = "GROUP BY k, window_start, window_end"

    def steps(calls: str) -> str:
        text = f"SELECT k, {calls} {windows} {group}"
        return t_env.explain_sql(text, ExplainDetail.JSON_EXECUTION_PLAN)

    assert "LocalWindowAggregate" in steps("COUNT(*), MAX(x)")
    # the digits of such sums depend on their order
    assert "LocalWindowAggregate" not in steps("SUM(x)")
    assert "LocalWindowAggregate" not in steps("COUNT(DISTINCT x)")
    t_env.get_config().set("table.optimizer.agg-phase-strategy", "ONE_PHASE")
    assert "LocalWindowAggregate" not in steps("COUNT(*)")
