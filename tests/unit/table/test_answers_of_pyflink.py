"""Small queries with what PyFlink 2.3.0 answered, where headrace once differed."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from headrace.errors import HeadraceError, PlanError
from headrace.table.expressions import col

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.table import Table, TableEnvironment

NUMBERS = (
    "SELECT * FROM (VALUES ('a', 1, CAST(1.5 AS DOUBLE), 1.50), ('a', 2, 2.5, 2.25), "
    "('a', 2, 2.5, CAST(NULL AS DECIMAL(3, 2))), ('a', 3, CAST(NULL AS DOUBLE), 1.0), "
    "('b', 7, 1.0, 1.0), ('c', CAST(NULL AS INT), CAST(NULL AS DOUBLE), "
    "CAST(NULL AS DECIMAL(3, 2)))) AS T(k, x, d, m)"
)
TIMES = (
    "SELECT * FROM (VALUES ('a', 1, TIMESTAMP '2020-01-01 00:00:01'), "
    "('a', 2, TIMESTAMP '2020-01-01 00:00:03'), ('b', 3, TIMESTAMP '2020-01-01 00:00:05'), "
    "('a', 4, TIMESTAMP '2020-01-01 00:00:31')) AS T(k, x, ts)"
)
NESTED = (
    "SELECT * FROM (VALUES (1, CAST(ROW(5, ROW(7, 'deep')) AS ROW<a INT, n ROW<c INT, d STRING>>))"
    ", (2, CAST(NULL AS ROW<a INT, n ROW<c INT, d STRING>>))) AS T(id, at_)"
)


@pytest.fixture
def batch(batch_env: TableEnvironment) -> TableEnvironment:
    for name, query in (("numbers", NUMBERS), ("times", TIMES), ("t", NESTED)):
        batch_env.execute_sql(f"CREATE TEMPORARY VIEW {name} AS {query}")
    return batch_env


def rows_of(table: Table) -> list[tuple[Any, ...]]:
    with table.execute().collect() as found:
        return sorted((tuple(row) for row in found), key=repr)


# --- $SUM0 -----------------------------------------------------------------------------------


def test_sum0_is_zero_where_a_sum_is_null(batch: TableEnvironment) -> None:
    table = batch.from_path("numbers").group_by(col("k"))
    summed = table.select(col("k"), col("x").sum0, col("d").sum0, col("m").sum0, col("x").sum)
    assert rows_of(summed) == [
        ("a", 8, 6.5, Decimal("4.75"), 8),
        ("b", 7, 1.0, Decimal("1.00"), 7),
        ("c", 0, 0.0, Decimal("0.00"), None),
    ]


def test_sum0_of_no_lines_is_zero_and_never_null(batch: TableEnvironment) -> None:
    none = batch.from_path("numbers").where(col("x") > 100)
    summed = none.select(col("x").sum0, col("d").sum0, col("m").sum0, col("x").sum)
    kinds = [str(kind) for kind in summed.get_resolved_schema().get_column_data_types()]
    assert kinds == ["INT NOT NULL", "DOUBLE NOT NULL", "DECIMAL(38, 2) NOT NULL", "INT"]
    assert rows_of(summed) == [(0, 0.0, Decimal("0.00"), None)]


def test_sql_knows_it_by_the_name_that_flink_has(batch: TableEnvironment) -> None:
    for name in ("$SUM0", "`$SUM0`"):
        summed = batch.sql_query(f"SELECT k, {name}(x) FROM numbers GROUP BY k")
        assert rows_of(summed) == [("a", 8), ("b", 7), ("c", 0)]
    with pytest.raises(HeadraceError, match="there is no function 'SUM0'"):
        batch.sql_query("SELECT SUM0(x) FROM numbers")


# --- a zero has a sign -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "sign"), [("ROUND", 1), ("TRUNCATE", 1), ("CEIL", -1)], ids=lambda each: str(each)
)
@pytest.mark.parametrize("kind", ["DOUBLE", "FLOAT"])
def test_rounding_up_to_zero(batch: TableEnvironment, function: str, sign: int, kind: str) -> None:
    values = f"(VALUES CAST(-0.4 AS {kind})) AS T(v)"
    [(found,)] = rows_of(batch.sql_query(f"SELECT {function}(v) FROM {values}"))
    assert (found, math.copysign(1, found)) == (0.0, sign)


# --- group windows in BATCH mode -------------------------------------------------------------


def second(number: int) -> dt.datetime:
    return dt.datetime(2020, 1, 1, 0, 0, number)


def test_tumble_takes_any_timestamp_in_batch_mode(batch: TableEnvironment) -> None:
    size = "INTERVAL '5' SECOND"
    query = f"SELECT k, TUMBLE_START(ts, {size}), SUM(x) FROM times GROUP BY k, TUMBLE(ts, {size})"
    assert rows_of(batch.sql_query(query)) == [
        ("a", second(0), 3),
        ("a", second(30), 4),
        ("b", second(5), 3),
    ]


def test_a_group_window_of_a_stream_wants_a_time_attribute(t_env: TableEnvironment) -> None:
    t_env.execute_sql(f"CREATE TEMPORARY VIEW times AS {TIMES}")
    query = t_env.sql_query("SELECT SUM(x) FROM times GROUP BY TUMBLE(ts, INTERVAL '5' SECOND)")
    with pytest.raises(PlanError, match="which is no time attribute"):
        query.execute()


def test_windows_of_processing_time_are_refused_in_batch_mode(batch: TableEnvironment) -> None:
    query = batch.sql_query(
        "SELECT COUNT(*) FROM (SELECT x, PROCTIME() AS pt FROM times) "
        "GROUP BY TUMBLE(pt, INTERVAL '5' SECOND)"
    )
    with pytest.raises(PlanError, match="windows of processing time"):
        query.execute()


# --- a star over a ROW -----------------------------------------------------------------------

STARS: dict[str, tuple[list[str], list[tuple[Any, ...]]]] = {
    "t.at_.n.*, id": (["c", "d", "id"], [(7, "deep", 1), (None, None, 2)]),
    "at_.n.*": (["c", "d"], [(7, "deep"), (None, None)]),
    "x.at_.a, x.at_.n.*": (["a", "c", "d"], [(5, 7, "deep"), (None, None, None)]),
}


@pytest.mark.parametrize("items", list(STARS))
def test_a_star_lists_the_fields_of_a_row(batch: TableEnvironment, items: str) -> None:
    names, lines = STARS[items]
    found = batch.sql_query(f"SELECT {items} FROM t{' AS x' if 'x.' in items else ''}")
    assert found.get_resolved_schema().get_column_names() == names
    assert rows_of(found) == lines


@pytest.mark.parametrize(
    ("items", "told"),
    [
        ("t.id.*", "t.id is INT NOT NULL, which has no fields"),
        ("t.at_.nope.*", "the ROW has no field nope"),
        ("nope.*", "there is no table nope"),
    ],
)
def test_a_star_over_something_else_is_refused(
    batch: TableEnvironment, items: str, told: str
) -> None:
    with pytest.raises(HeadraceError, match=told):
        batch.sql_query(f"SELECT {items} FROM t")


# --- a table where values may stand ----------------------------------------------------------


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        (lambda value, table: value.in_(table), [(1,), (2,), (2,)]),
        # ~ is "is not true", so NULL is there
        (lambda value, table: ~value.in_(table), [(3,), (7,), (None,)]),
    ],
    ids=["in", "not in"],
)
def test_in_takes_a_table(
    batch: TableEnvironment, chosen: Callable[[Any, Table], Any], expected: list[Any]
) -> None:
    few = batch.from_elements([(1,), (2,)], ["i"])
    table = batch.from_path("numbers")
    assert rows_of(table.where(chosen(col("x"), few)).select(col("x"))) == expected


def test_in_takes_a_table_of_one_column(batch: TableEnvironment) -> None:
    table = batch.from_path("numbers")
    with pytest.raises(HeadraceError, match="one column, and this one has k, x, d, m"):
        table.where(col("x").in_(table))


# --- DESCRIBE --------------------------------------------------------------------------------


def test_batch_mode_has_no_rowtime(batch: TableEnvironment, t_env: TableEnvironment) -> None:
    told = {}
    for env in (batch, t_env):
        env.execute_sql(
            "CREATE TABLE marked (ts TIMESTAMP(3), m MULTISET<INT NOT NULL> NOT NULL, "
            "p AS PROCTIME(), o BIGINT METADATA FROM 'offset' VIRTUAL, WATERMARK FOR ts AS ts) "
            "WITH ('connector' = 'kafka')"
        )
        with env.execute_sql("DESCRIBE marked").collect() as found:
            told[env] = [tuple(row) for row in found]
    rest = [
        ("m", "MULTISET<INT NOT NULL>", False, None, None, None),
        ("p", "TIMESTAMP_LTZ(3) *PROCTIME*", False, None, "AS PROCTIME()", None),
        ("o", "BIGINT", True, None, "METADATA FROM 'offset' VIRTUAL", None),
    ]
    assert told[batch] == [("ts", "TIMESTAMP(3)", True, None, None, "`ts`"), *rest]
    assert told[t_env] == [("ts", "TIMESTAMP(3) *ROWTIME*", True, None, None, "`ts`"), *rest]
