"""The queries of TPC-H: Spark's own batch SQL against headrace's answers, and some on Spark's host.

Next: tpch/engines.py says what is compared; oracle/test_tpch.py has DuckDB and streams.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tpch.data import COLUMNS
from tpch.engines import assert_order, assert_same, headrace_on, write_tables
from tpch.queries import QUERIES

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tpch.engines import Lines

# For some thousand lines compiling and adapting plans takes longer than running them.
SMALL = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tables(tmp_path_factory.mktemp("tpch"))


@pytest.fixture(scope="module")
def answers(spark: SparkSession, folder: Path) -> dict[int, tuple[list[str], Lines]]:
    """Spark's, by number: the columns and the lines."""
    session = spark.newSession()  # views of its own
    for key, value in SMALL.items():
        session.conf.set(key, value)
    for name in COLUMNS:
        session.read.parquet(str(folder / name)).createOrReplaceTempView(name)
    found = {}
    for number, query in QUERIES.items():
        for view in query.views:
            session.sql(view)
        frame = session.sql(query.text)
        found[number] = (frame.columns, [tuple(row) for row in frame.collect()])
    return found


def test_a_batch_gives_what_spark_gives(
    folder: Path, answers: dict[int, tuple[list[str], Lines]]
) -> None:
    t_env = headrace_on(folder, batch=True, host="local")
    for number, query in QUERIES.items():
        names, wanted = answers[number]
        got = [tuple(row) for row in t_env.execute_sql(query.text).collect()]
        assert_same(query, names, wanted, got)
        assert_order(query, names, wanted, got)


# An aggregate of one table, a join with a Top-N, and a NOT EXISTS of groups.
@pytest.mark.parametrize("number", [1, 3, 22])
def test_spark_runs_the_same_plan(
    number: int, folder: Path, answers: dict[int, tuple[list[str], Lines]]
) -> None:
    names, wanted = answers[number]
    t_env = headrace_on(folder, batch=True, host="spark")
    got = [tuple(row) for row in t_env.execute_sql(QUERIES[number].text).collect()]
    assert_same(QUERIES[number], names, wanted, got)
    assert_order(QUERIES[number], names, wanted, got)
