"""COMPILE PLAN and EXECUTE PLAN."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from headrace.errors import InvalidArgumentError, UnsupportedStepError
from headrace.table import (
    CompiledPlan,
    DataTypes,
    EnvironmentSettings,
    PlanReference,
    TableEnvironment,
)
from headrace.table.compiled_plan import loaded_plan
from headrace.table.udf import udf

if TYPE_CHECKING:
    from pathlib import Path

add_one = udf(lambda v: v + 1, result_type=DataTypes.BIGINT())
TABLES = """
    CREATE TABLE orders (
        id BIGINT, item STRING, price DECIMAL(10, 2), ts TIMESTAMP(3), tags MAP<STRING, INT>,
        place ROW<city STRING NOT NULL, zip INT>, p AS PROCTIME(),
        WATERMARK FOR ts AS ts - INTERVAL '5' SECOND
    ) WITH ('connector' = 'filesystem', 'path' = '{folder}/orders', 'format' = 'json',
            'scan.watermark.idle-timeout' = '1 s');
    CREATE TABLE shops (id BIGINT, name STRING)
        WITH ('connector' = 'filesystem', 'path' = '{folder}/shops', 'format' = 'csv');
    CREATE TABLE out2 (a STRING, b BIGINT) WITH ('connector' = 'print');
    CREATE TABLE out3 (a STRING, b BIGINT, c TIMESTAMP(3)) WITH ('connector' = 'print')
"""
QUERIES = [
    "INSERT INTO out2 SELECT item, COUNT(*) FROM orders WHERE price > 1.50 GROUP BY item",
    "INSERT INTO out2 SELECT place.city, tags['x'] + 1 FROM orders",
    "INSERT INTO out2 SELECT s.name, SUM(o.id) FILTER (WHERE o.price IS NOT NULL) FROM orders o "
    "LEFT JOIN shops s ON o.id = s.id GROUP BY s.name",
    "INSERT INTO out3 SELECT item, COUNT(DISTINCT id), window_end FROM TABLE(TUMBLE(TABLE orders, "
    "DESCRIPTOR(ts), INTERVAL '1' HOUR)) GROUP BY item, window_start, window_end",
    "INSERT INTO out2 SELECT item, id FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY item "
    "ORDER BY price DESC) AS r FROM orders) WHERE r <= 3",
    "INSERT INTO out2 SELECT item, id FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY item "
    "ORDER BY p) AS r FROM orders) WHERE r = 1",
    "INSERT INTO out2 SELECT item, SUM(id) OVER (PARTITION BY item ORDER BY ts RANGE BETWEEN "
    "INTERVAL '1' HOUR PRECEDING AND CURRENT ROW) FROM orders",
    "INSERT INTO out2 SELECT 'x', add_one(id) FROM orders UNION ALL SELECT name, id FROM shops",
    "INSERT INTO out2 SELECT item, id FROM orders WHERE id IN (SELECT id FROM shops) AND "
    "ts + INTERVAL '2' YEAR > TIMESTAMP '2020-01-01 00:00:00' AND item LIKE 'a%'",
    "INSERT INTO out2 SELECT item, CASE WHEN id > 1 THEN TRY_CAST(item AS BIGINT) ELSE 0 END "
    "FROM orders, UNNEST(ARRAY[1, 2]) AS u (n)",
    "INSERT INTO out3 SELECT * FROM orders MATCH_RECOGNIZE (PARTITION BY item ORDER BY ts MEASURES "
    "SUM(B.id * 2) AS b, MATCH_ROWTIME() AS c AFTER MATCH SKIP TO LAST B PATTERN (A B+ C) WITHIN "
    "INTERVAL '1' HOUR DEFINE B AS B.price > 1.5 AND add_one(B.id) > LAST(A.id, 1))",
]


def _tables(folder: Path) -> TableEnvironment:
    tables = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    tables.get_config().set("headrace.execution.host", "local")
    tables.get_config().set("parallelism.default", "1")
    for statement in TABLES.format(folder=folder).split(";"):
        tables.execute_sql(statement)
    tables.create_temporary_system_function("add_one", add_one)
    return tables


@pytest.mark.parametrize("query", QUERIES)
def test_a_plan_comes_back_as_it_was(query: str, tmp_path: Path) -> None:
    plan = _tables(tmp_path).compile_plan_sql(query)
    other = _tables(tmp_path).load_plan(PlanReference.from_json_string(plan.as_json_string()))
    assert other.as_json_string() == plan.as_json_string()
    assert other.explain() == plan.explain()


def test_a_plan_runs_in_another_session(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "orders").mkdir()
    lines = [{"id": 1, "item": "hat", "price": 2}, {"id": 2, "item": "hat", "price": 3}]
    text = "\n".join(json.dumps(line | {"ts": "2020-01-01 00:00:00"}) for line in lines)
    (tmp_path / "orders" / "a.json").write_text(text, encoding="utf-8")
    file = tmp_path / "plan.json"
    _tables(tmp_path).execute_sql(f"COMPILE PLAN '{file}' FOR {QUERIES[0]}")
    empty = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    empty.get_config().set("headrace.execution.host", "local")
    empty.get_config().set("parallelism.default", "1")
    empty.execute_sql(f"EXECUTE PLAN '{file}'").wait()
    assert capsys.readouterr().out.splitlines() == ["+I[hat, 1]", "-U[hat, 1]", "+U[hat, 2]"]


def _uids(tables: TableEnvironment, plan: CompiledPlan, before: str = "") -> list[str | None]:
    if before:
        tables._planner().to_stream(tables.sql_query(before)._rel)
    first = len(tables._env._graph.steps)
    tables._planner(compiled=True).add_inserts([(i.rel, i.target) for i in plan._inserts])
    return [step.uid for step in tables._env._graph.steps[first:]]


def test_its_steps_are_called_the_same_wherever_they_stand(tmp_path: Path) -> None:
    tables = _tables(tmp_path)
    plan = tables.compile_plan_sql(QUERIES[0])
    first = _uids(tables, plan)
    other = _tables(tmp_path)
    again = loaded_plan(PlanReference.from_json_string(plan.as_json_string()), other)
    assert _uids(other, again, before="SELECT id FROM shops") == first
    assert any(str(uid).endswith("_group-aggregate") for uid in first)
    assert len(set(first)) == len(first)
    assert None not in first
    other.get_config().set("table.exec.uid.generation", "DISABLED")
    assert set(_uids(other, again)) == {None}


def test_statement_sets_are_one_plan(tmp_path: Path) -> None:
    tables = _tables(tmp_path)
    both = tables.create_statement_set()
    both.add_insert_sql(QUERIES[0])
    both.add_insert_sql(QUERIES[1])
    content = json.loads(both.compile_plan().as_json_string())
    assert [each["name"].rpartition(".")[2] for each in content["inserts"]] == ["out2", "out2"]


def test_files_are_not_replaced_unless_that_is_wanted(tmp_path: Path) -> None:
    tables = _tables(tmp_path)
    file = tmp_path / "plan.json"
    tables.execute_sql(f"COMPILE PLAN '{file}' FOR {QUERIES[0]}")
    first = file.read_text(encoding="utf-8")
    with pytest.raises(InvalidArgumentError, match="is there already"):
        tables.execute_sql(f"COMPILE PLAN '{file}' FOR {QUERIES[1]}")
    tables.execute_sql(f"COMPILE PLAN '{file}' IF NOT EXISTS FOR {QUERIES[1]}")
    assert file.read_text(encoding="utf-8") == first
    tables.execute_sql("SET 'table.plan.force-recompile' = 'true'")
    tables.execute_sql(f"COMPILE PLAN '{file}' FOR {QUERIES[1]}")
    assert file.read_text(encoding="utf-8") != first


def test_rules_are_not_applied_twice(tmp_path: Path) -> None:
    plan = _tables(tmp_path).compile_plan_sql(QUERIES[4])
    (insert,) = plan._inserts
    assert "Rank" in plan.explain()
    assert plan._t_env._planner(compiled=True).compiled(insert.rel) is insert.rel


def test_what_a_file_cannot_keep_is_refused(tmp_path: Path) -> None:
    tables = _tables(tmp_path)
    tables.create_temporary_view("here", tables.from_elements([("a", 1)], ["a", "b"]))
    with pytest.raises(UnsupportedStepError, match="are in this program"):
        tables.compile_plan_sql("INSERT INTO out2 SELECT a, b FROM here")
    unnamed = udf(lambda v: v, result_type=DataTypes.BIGINT())
    from headrace.table.expressions import col

    shops = tables.from_path("shops").select(col("name"), unnamed(col("id")))
    with pytest.raises(UnsupportedStepError, match="has no name by which"):
        shops.insert_into("out2").compile_plan()
    with pytest.raises(InvalidArgumentError, match="only INSERT and statement sets"):
        tables.compile_plan_sql("SELECT 1")
    with pytest.raises(UnsupportedStepError, match="Smile"):
        PlanReference.from_smile_bytes(b"")


def test_what_is_no_plan_is_told(tmp_path: Path) -> None:
    tables = _tables(tmp_path)
    with pytest.raises(InvalidArgumentError, match="is no plan of this version"):
        tables.load_plan(PlanReference.from_json_string('{"flinkVersion": "2.3", "nodes": []}'))
    with pytest.raises(InvalidArgumentError, match="cannot be read"):
        tables.load_plan(PlanReference.from_file(tmp_path / "nothing.json"))
    plan = tables.compile_plan_sql(QUERIES[7]).as_json_string()
    tables.drop_temporary_system_function("add_one")
    with pytest.raises(InvalidArgumentError, match="calls add_one, and this session has no such"):
        tables.load_plan(PlanReference.from_json_string(plan))
