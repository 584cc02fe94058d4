"""Tables and SQL on Spark: changes through exchanges, windows, files, and a restart with state."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from headrace.common import Configuration
from headrace.table import EnvironmentSettings, TableEnvironment

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


def tables(batch: bool = False, **settings: str) -> TableEnvironment:
    configuration = Configuration()
    for key, value in {"parallelism.default": "2", **settings}.items():
        configuration.set_string(key, value)
    builder = EnvironmentSettings.new_instance().with_configuration(configuration)
    mode = builder.in_batch_mode() if batch else builder.in_streaming_mode()
    return TableEnvironment.create(mode.build())


def final_table(t_env: TableEnvironment, query: str) -> Counter[tuple[Any, ...]]:
    found: Counter[tuple[Any, ...]] = Counter()
    for row in t_env.execute_sql(query).collect():
        found[tuple(row)] += 1 if str(row.get_row_kind()) in ("+I", "+U") else -1
    return +found


def test_a_join_and_a_group_by_of_what_it_gives(spark: SparkSession) -> None:
    t_env = tables()
    orders = [(n % 7, n) for n in range(200)]
    t_env.create_temporary_view("orders", t_env.from_elements(orders, ["k", "v"]))
    names = [(k, f"n{k % 3}") for k in range(5)]
    t_env.create_temporary_view("names", t_env.from_elements(names, ["k", "name"]))
    query = """
        SELECT name, COUNT(*) AS c, SUM(v) AS s, MAX(v) AS m
        FROM orders LEFT JOIN names ON orders.k = names.k GROUP BY name"""
    by_name: dict[Any, list[int]] = {}
    for k, v in orders:
        by_name.setdefault(dict(names).get(k), []).append(v)
    expected = Counter((n, len(vs), sum(vs), max(vs)) for n, vs in by_name.items())
    assert final_table(t_env, query) == expected


def test_windows_from_files_into_files(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    lines = [{"ts": f"2026-01-01 08:{n:02}:00", "item": "ab"[n % 2], "n": n} for n in range(40)]
    text = "\n".join(map(json.dumps, lines))
    (tmp_path / "in" / "one.json").write_text(text, encoding="utf-8")
    t_env = tables()
    t_env.execute_sql(f"""
        CREATE TABLE clicks (
            ts TIMESTAMP(3), item STRING, n INT, WATERMARK FOR ts AS ts - INTERVAL '1' MINUTE
        ) WITH ('connector' = 'filesystem', 'path' = '{tmp_path / "in"}', 'format' = 'json')""")
    t_env.execute_sql(f"""
        CREATE TABLE totals (e TIMESTAMP(3), item STRING, s INT) WITH (
            'connector' = 'filesystem', 'path' = '{tmp_path / "out"}', 'format' = 'json')""")
    t_env.execute_sql("""
        INSERT INTO totals SELECT window_end, item, SUM(n) FROM TABLE(
            TUMBLE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '10' MINUTES))
        GROUP BY window_start, window_end, item""").wait()
    # what begins with a dot or an underscore is the sink's own
    files = [path for path in (tmp_path / "out").glob("[!._]*") if path.is_file()]
    rows = [json.loads(line) for path in files for line in path.read_text().splitlines()]
    expected: dict[tuple[str, str], int] = {}
    for line in lines:
        end = (int(str(line["ts"])[14:16]) // 10 + 1) * 10
        key = (f"2026-01-01 08:{end:02}:00", str(line["item"]))
        expected[key] = expected.get(key, 0) + int(str(line["n"]))
    assert {(row["e"][:19], row["item"]): row["s"] for row in rows} == expected


@pytest.mark.parametrize("batch", [False, True])
def test_patterns_over_the_lines_of_files(spark: SparkSession, tmp_path: Path, batch: bool) -> None:
    # each key goes up four times by one, and then falls to its number
    lines = [
        {"ts": f"2026-01-01 08:{n // 60:02}:{n % 60:02}", "k": n % 3, "v": n // 3 % 5 + n % 3}
        for n in range(300)
    ]
    (tmp_path / "one.json").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    t_env = tables(batch=batch)
    t_env.execute_sql(f"""
        CREATE TABLE steps (
            ts TIMESTAMP(3), k INT, v INT, WATERMARK FOR ts AS ts - INTERVAL '1' SECOND
        ) WITH ('connector' = 'filesystem', 'path' = '{tmp_path}', 'format' = 'json')""")
    found = t_env.execute_sql("""
        SELECT * FROM steps MATCH_RECOGNIZE (
            PARTITION BY k ORDER BY ts
            MEASURES FIRST(v) AS low, LAST(UP.v) AS high, COUNT(UP.v) AS n, SUM(v) AS s
            AFTER MATCH SKIP TO LAST DOWN
            PATTERN (LOW UP+ DOWN) WITHIN INTERVAL '1' MINUTE
            DEFINE UP AS UP.v > LAST(v, 1), DOWN AS DOWN.v < LAST(UP.v))""").collect()
    expected = {(k, k, k + 4, 4, 6 * k + 10): 19 for k in range(3)}
    assert Counter(tuple(row) for row in found) == expected


def test_batch_mode_gives_what_spark_gives(spark: SparkSession) -> None:
    rows = [(n, n % 5, n * 3 % 11) for n in range(60)]
    spark.createDataFrame(rows, ["id", "k", "v"]).createOrReplaceTempView("t_of_tables_test")
    t_env = tables(batch=True)
    t_env.create_temporary_view("t_of_tables_test", t_env.from_elements(rows, ["id", "k", "v"]))
    for query in (
        "SELECT k, COUNT(*) AS c, SUM(v) AS s FROM t_of_tables_test GROUP BY k HAVING SUM(v) > 50",
        "SELECT a.id, b.id FROM t_of_tables_test a JOIN t_of_tables_test b "
        "ON a.v = b.v AND a.id < b.id WHERE a.k = 1",
        "SELECT id FROM t_of_tables_test WHERE v > (SELECT AVG(v) FROM t_of_tables_test)",
        "SELECT k, v FROM t_of_tables_test ORDER BY v DESC, k, id LIMIT 7",
    ):
        expected = Counter(tuple(row) for row in spark.sql(query).collect())
        assert final_table(t_env, query) == expected, query
