"""Statements that start no job: their results, with Flink's names and texts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from headrace.errors import HeadraceError, InvalidArgumentError, UnsupportedStepError
from headrace.table import ResultKind, SqlDialect, TableEnvironment

if TYPE_CHECKING:
    from collections.abc import Callable

ORDERS = """
CREATE TABLE orders (
  id INT NOT NULL COMMENT 'the id',
  name STRING,
  twice AS id * 2,
  ts TIMESTAMP(3),
  WATERMARK FOR ts AS ts - INTERVAL '5' SECOND,
  PRIMARY KEY (id) NOT ENFORCED
) COMMENT 'all orders'
PARTITIONED BY (name)
WITH ('number-of-rows' = '3', 'connector' = 'datagen')
"""


def content(env: TableEnvironment, statement: str) -> tuple[list[str], list[tuple[object, ...]]]:
    result = env.execute_sql(statement)
    with result.collect() as rows:
        return result.get_table_schema().get_field_names(), [tuple(row) for row in rows]


def text(env: TableEnvironment, statement: str) -> str:
    return str(content(env, statement)[1][0][0])


def test_ddl_says_ok(t_env: TableEnvironment) -> None:
    result = t_env.execute_sql(ORDERS)
    assert result.get_result_kind() == ResultKind.SUCCESS
    assert result.get_job_client() is None
    assert [tuple(row) for row in result.collect()] == [("OK",)]


def test_show_create_table_writes_it_again(t_env: TableEnvironment) -> None:
    t_env.execute_sql(ORDERS)
    made = text(t_env, "SHOW CREATE TABLE orders")
    assert made.splitlines() == [
        "CREATE TABLE `default_catalog`.`default_database`.`orders` (",
        "  `id` INT NOT NULL COMMENT 'the id',",
        "  `name` VARCHAR(2147483647),",
        "  `twice` AS `id` * 2,",
        "  `ts` TIMESTAMP(3),",
        "  WATERMARK FOR `ts` AS `ts` - INTERVAL '5' SECOND,",
        "  CONSTRAINT `PK_id` PRIMARY KEY (`id`) NOT ENFORCED",
        ")",
        "COMMENT 'all orders'",
        "PARTITIONED BY (`name`)",
        "WITH (",
        "  'connector' = 'datagen',",
        "  'number-of-rows' = '3'",
        ")",
    ]
    t_env.execute_sql("DROP TABLE orders")
    t_env.execute_sql(made)
    assert text(t_env, "SHOW CREATE TABLE orders") == made


def test_describe_tells_types_keys_and_watermarks(t_env: TableEnvironment) -> None:
    t_env.execute_sql(ORDERS)
    names, rows = content(t_env, "DESCRIBE orders")
    assert names == ["name", "type", "null", "key", "extras", "watermark", "comment"]
    assert rows == [
        ("id", "INT", False, "PRI(id)", None, None, "the id"),
        ("name", "STRING", True, None, None, None, None),
        ("twice", "INT", False, None, "AS `id` * 2", None, None),
        ("ts", "TIMESTAMP(3) *ROWTIME*", True, None, None, "`ts` - INTERVAL '5' SECOND", None),
    ]
    assert content(t_env, "SHOW COLUMNS FROM orders LIKE 't%'")[1] == rows[2:]


@pytest.mark.parametrize(
    ("statement", "column", "values"),
    [
        ("SHOW TABLES", "table name", ["orders", "v"]),
        ("SHOW TABLES LIKE 'o%'", "table name", ["orders"]),
        ("SHOW TABLES NOT LIKE 'o%'", "table name", ["v"]),
        ("SHOW VIEWS", "view name", ["v"]),
        ("SHOW CATALOGS", "catalog name", ["default_catalog"]),
        ("SHOW CURRENT CATALOG", "current catalog name", ["default_catalog"]),
        ("SHOW DATABASES", "database name", ["default_database"]),
        ("SHOW CURRENT DATABASE", "current database name", ["default_database"]),
        ("SHOW MODULES", "module name", ["core"]),
        ("SHOW USER FUNCTIONS", "function name", []),
        ("SHOW MATERIALIZED TABLES", "materialized table", []),
    ],
)
def test_show_lists_names(
    t_env: TableEnvironment, statement: str, column: str, values: list[str]
) -> None:
    t_env.execute_sql(ORDERS)
    t_env.execute_sql("CREATE VIEW v AS SELECT id FROM orders")
    assert content(t_env, statement) == ([column], [(value,) for value in values])


def test_a_view_is_resolved_where_it_was_made(t_env: TableEnvironment) -> None:
    t_env.execute_sql(ORDERS)
    t_env.execute_sql("CREATE VIEW v (x) COMMENT 'c' AS SELECT id FROM orders WHERE id > 1")
    t_env.execute_sql("CREATE DATABASE other")
    t_env.execute_sql("USE other")
    assert t_env.from_path("default_database.v").get_schema().get_field_names() == ["x"]
    assert text(t_env, "SHOW CREATE VIEW default_database.v").splitlines()[:5] == [
        "CREATE VIEW `default_catalog`.`default_database`.`v` (",
        "  `x`",
        ")",
        "COMMENT 'c'",
        "AS SELECT `id`",
    ]


def test_alter_changes_columns_and_options(t_env: TableEnvironment) -> None:
    t_env.execute_sql(ORDERS)
    for statement in (
        "ALTER TABLE orders ADD (e INT FIRST, f STRING AFTER name)",
        "ALTER TABLE orders RENAME f TO g",
        "ALTER TABLE orders MODIFY (e BIGINT)",
        "ALTER TABLE orders DROP WATERMARK",
        "ALTER TABLE orders SET ('number-of-rows' = '7')",
        "ALTER TABLE orders RENAME TO renamed",
    ):
        t_env.execute_sql(statement)
    table = t_env._manager.need(("renamed",)).table
    assert [column.name for column in table._schema._columns] == [
        "e", "id", "name", "g", "twice", "ts",
    ]  # fmt: skip
    assert str(table._schema._columns[0].type) == "BIGINT"
    assert table._schema._watermark is None
    assert table._options["number-of-rows"] == "7"


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        ("ALTER TABLE orders ADD id INT", "already exists"),
        ("ALTER TABLE orders DROP nope", "does not exist"),
        ("ALTER TABLE orders DROP id", "referenced by computed column"),
        ("ALTER TABLE orders DROP ts", "referenced by watermark"),
        ("ALTER TABLE orders MODIFY nope INT", "does not exist"),
        ("ALTER TABLE orders RESET ('connector')", "connector"),
        ("ALTER TABLE nope RENAME TO x", "doesn't exist"),
        ("ALTER VIEW orders RENAME TO x", "not allowed"),
    ],
)
def test_alter_refuses_what_cannot_be(t_env: TableEnvironment, statement: str, why: str) -> None:
    t_env.execute_sql(ORDERS)
    before = text(t_env, "SHOW CREATE TABLE orders")
    with pytest.raises(HeadraceError, match=why):
        t_env.execute_sql(statement)
    assert text(t_env, "SHOW CREATE TABLE orders") == before


def test_like_takes_over_what_it_is_told(t_env: TableEnvironment) -> None:
    t_env.execute_sql(ORDERS)
    t_env.execute_sql("CREATE TABLE a (z INT) WITH ('number-of-rows' = '9') LIKE orders")
    made = t_env._manager.need(("a",)).table
    assert made._schema._columns[-1].name == "z"
    assert made._options == {"connector": "datagen", "number-of-rows": "9"}
    assert made._comment is None
    t_env.execute_sql(
        "CREATE TABLE b WITH ('connector' = 'blackhole') "
        "LIKE orders (EXCLUDING ALL INCLUDING CONSTRAINTS)"
    )
    made = t_env._manager.need(("b",)).table
    assert [column.name for column in made._schema._columns] == ["id", "name", "ts"]
    assert made._schema._watermark is None
    assert made._schema._primary_key is not None
    with pytest.raises(InvalidArgumentError, match="already exists an option"):
        t_env.execute_sql("CREATE TABLE c WITH ('connector' = 'x') LIKE orders (INCLUDING OPTIONS)")


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        ("CREATE TABLE t (a INT, a INT) WITH ('connector' = 'x')", "duplicate column"),
        ("CREATE TABLE t (a INT, PRIMARY KEY (b) NOT ENFORCED) WITH ('connector'='x')", "'b'"),
        ("CREATE TABLE t (a INT, PRIMARY KEY (a)) WITH ('connector' = 'x')", "NOT ENFORCED"),
        ("CREATE TABLE t (a INT, b AS nope) WITH ('connector' = 'x')", "nope"),
        ("CREATE TABLE t (a INT, WATERMARK FOR a AS a) WITH ('connector' = 'x')", "TIMESTAMP"),
        ("CREATE TABLE t (a INT) PARTITIONED BY (b) WITH ('connector' = 'x')", "partition"),
    ],
)
def test_create_table_refuses_what_means_nothing(
    t_env: TableEnvironment, statement: str, why: str
) -> None:
    with pytest.raises(HeadraceError, match=why):
        t_env.execute_sql(statement)
    assert t_env.list_tables() == []


def test_create_if_not_exists_keeps_what_is_there(t_env: TableEnvironment) -> None:
    t_env.execute_sql(ORDERS)
    t_env.execute_sql("CREATE TABLE IF NOT EXISTS orders (x INT) WITH ('connector' = 'datagen')")
    assert t_env.from_path("orders").get_schema().get_field_names()[0] == "id"
    with pytest.raises(HeadraceError, match="Could not execute CreateTable in path"):
        t_env.execute_sql("CREATE TABLE orders (x INT) WITH ('connector' = 'datagen')")


def test_drop_tells_tables_from_views(t_env: TableEnvironment) -> None:
    t_env.execute_sql(ORDERS)
    with pytest.raises(HeadraceError, match="View with identifier"):
        t_env.execute_sql("DROP VIEW orders")
    t_env.execute_sql("DROP VIEW IF EXISTS nope")
    t_env.execute_sql("DROP TABLE orders")
    assert t_env.list_tables() == []


def test_set_and_reset_change_the_session(t_env: TableEnvironment) -> None:
    t_env.execute_sql("SET 'table.exec.state.ttl' = '1 h'")
    assert t_env.get_config().get("table.exec.state.ttl", "") == "1 h"
    assert ("table.exec.state.ttl", "1 h") in content(t_env, "SET")[1]
    t_env.execute_sql("RESET 'table.exec.state.ttl'")
    assert t_env.get_config().get("table.exec.state.ttl", "none") == "none"


@pytest.mark.parametrize(
    "statement",
    ["DELETE FROM t", "TRUNCATE TABLE t", "SHOW JOBS", "CALL p()", "UNLOAD MODULE core"],
)
def test_what_is_not_there_says_what_to_do(t_env: TableEnvironment, statement: str) -> None:
    with pytest.raises(UnsupportedStepError) as caught:
        t_env.execute_sql(statement)
    assert caught.value.fix


def test_hives_dialect_is_refused(t_env: TableEnvironment) -> None:
    t_env.get_config().set_sql_dialect(SqlDialect.HIVE)
    with pytest.raises(UnsupportedStepError, match="Hive"):
        t_env.execute_sql("SHOW TABLES")


def test_sql_query_takes_queries_only(t_env: TableEnvironment) -> None:
    with pytest.raises(InvalidArgumentError, match="only accepts a single SQL query"):
        t_env.sql_query("SHOW TABLES")


def test_functions_by_name_are_imported_when_they_are_used(
    t_env: TableEnvironment, rows: Callable[..., list[str]]
) -> None:
    t_env.execute_sql("CREATE FUNCTION f AS 'table_functions_of_tests.twice' LANGUAGE PYTHON")
    with pytest.raises(InvalidArgumentError, match="there is no function"):
        t_env.sql_query("SELECT f(1)")
    with pytest.raises(UnsupportedStepError, match="Java"):
        t_env.execute_sql("CREATE FUNCTION g AS 'my.Class'")
    t_env.execute_sql("DROP FUNCTION f")
    with pytest.raises(HeadraceError):
        t_env.execute_sql("DROP FUNCTION f")


def test_windows_without_a_watermark_name_the_column_of_the_table(t_env: TableEnvironment) -> None:
    t_env.execute_sql("CREATE TABLE t (id INT, made TIMESTAMP(3)) WITH ('connector' = 'datagen')")
    t_env.execute_sql("CREATE VIEW v AS SELECT made AS moment, id FROM t")
    query = (
        "SELECT window_end, COUNT(*) FROM TABLE(TUMBLE(TABLE v, DESCRIPTOR(moment), "
        "INTERVAL '1' HOUR)) GROUP BY window_start, window_end"
    )
    with pytest.raises(HeadraceError, match="go by column made,") as caught:
        t_env.execute_sql(query)
    assert "WATERMARK FOR made AS made" in str(caught.value.fix)


@pytest.mark.parametrize(
    ("name", "instead"), [("STRING_AGG", "LISTAGG"), ("COLLECT_LIST", "ARRAY_AGG")]
)
def test_functions_of_other_systems_are_known(
    t_env: TableEnvironment, name: str, instead: str
) -> None:
    with pytest.raises(HeadraceError) as caught:
        t_env.execute_sql(f"SELECT {name}(x) FROM (VALUES 'a') AS t (x)")
    assert instead in str(caught.value.fix)
