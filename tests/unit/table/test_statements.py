"""Statements that start no job: their results, with Flink's names and texts."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from headrace.errors import (
    ConfigurationError,
    HeadraceError,
    InvalidArgumentError,
    UnsupportedStepError,
)
from headrace.table import ResultKind, SqlDialect, TableEnvironment
from headrace.table.udf import udf, udtf
from headrace.util.exceptions import CatalogException

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

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
        "AS SELECT `orders`.`id`",
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
    ["DELETE FROM t", "TRUNCATE TABLE t", "SHOW JOBS", "CALL p()"],
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


TWICE = """
from headrace.table import DataTypes
from headrace.table.udf import udf

@udf(result_type=DataTypes.BIGINT())
def twice(n):
    return 2 * n
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A module with functions that nothing has imported and Python does not find."""
    file = tmp_path / "functions_in_a_file.py"
    file.write_text(TWICE)
    monkeypatch.setattr("sys.path", list(sys.path))
    yield file
    sys.modules.pop(file.stem, None)


def test_functions_by_name_are_imported_when_they_are_created(
    t_env: TableEnvironment, rows: Callable[..., list[str]], module: Path
) -> None:
    create = "CREATE TEMPORARY FUNCTION f AS 'functions_in_a_file.{}' LANGUAGE PYTHON"
    with pytest.raises(InvalidArgumentError, match=r"there is no function.*No module named"):
        t_env.execute_sql(create.format("twice"))
    t_env.add_python_file(str(module))
    with pytest.raises(InvalidArgumentError, match="has no attribute 'thrice'"):
        t_env.execute_sql(create.format("thrice"))
    t_env.execute_sql(create.format("twice"))
    assert rows(t_env.execute_sql("SELECT f(21)")) == ["+I(42,)"]


def test_a_module_that_fails_is_told_with_its_line(t_env: TableEnvironment, module: Path) -> None:
    module.write_text("twice = 1 / 0")
    t_env.add_python_file(str(module))
    with pytest.raises(InvalidArgumentError, match="ZeroDivisionError") as caught:
        t_env.execute_sql("CREATE FUNCTION f AS 'functions_in_a_file.twice' LANGUAGE PYTHON")
    assert caught.value.where == f"{module}:1 twice = 1 / 0"


@pytest.mark.parametrize("form", ["folder", "zip"])
def test_files_for_python_are_folders_and_zips_too(
    t_env: TableEnvironment, rows: Callable[..., list[str]], module: Path, form: str
) -> None:
    place = module.parent
    if form == "zip":
        place = Path(shutil.make_archive(str(module.parent / "z"), "zip", module.parent))
        module.unlink()
    t_env.get_config().set("python.files", str(place))
    t_env.execute_sql("CREATE FUNCTION f AS 'functions_in_a_file.twice' LANGUAGE PYTHON")
    assert rows(t_env.execute_sql("SELECT f(4)")) == ["+I(8,)"]


def test_a_file_for_python_that_is_not_there_is_told(t_env: TableEnvironment) -> None:
    t_env.get_config().set("python.files", "/no/such.py")
    with pytest.raises(ConfigurationError, match=r"there is no file '/no/such\.py'"):
        t_env.execute_sql("CREATE FUNCTION f AS 'json.dumps' LANGUAGE PYTHON")


def test_a_jar_that_is_not_there_is_told(t_env: TableEnvironment, tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match="it is not there"):
        t_env.execute_sql("ADD JAR '/no/such.jar'")
    with pytest.raises(InvalidArgumentError, match="it is a folder"):
        t_env.execute_sql(f"ADD JAR 'file://{tmp_path}'")
    jar = tmp_path / "a.jar"
    jar.touch()
    t_env.execute_sql(f"ADD JAR 'file://{jar}'")
    assert str(jar) in str(list(t_env.execute_sql("SHOW JARS").collect()))


def test_functions_of_java_are_refused(t_env: TableEnvironment) -> None:
    with pytest.raises(UnsupportedStepError, match="Java"):
        t_env.execute_sql("CREATE FUNCTION g AS 'my.Class'")
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


# --- what is current, and what must stay as it was -------------------------------------------


def test_a_catalog_that_is_not_there_does_not_become_the_current_one(
    t_env: TableEnvironment,
) -> None:
    with pytest.raises(CatalogException, match="nowhere"):
        t_env.execute_sql("USE CATALOG nowhere")
    assert text(t_env, "SHOW CURRENT CATALOG") == "default_catalog"
    assert text(t_env, "SHOW CURRENT DATABASE") == "default_database"


@pytest.mark.parametrize("name", ["default_database", "default_catalog.default_database"])
def test_the_current_database_cannot_be_dropped(t_env: TableEnvironment, name: str) -> None:
    for statement in (f"DROP DATABASE {name}", f"DROP DATABASE IF EXISTS {name} CASCADE"):
        with pytest.raises(CatalogException, match="currently in use"):
            t_env.execute_sql(statement)
    t_env.execute_sql("CREATE DATABASE other")
    t_env.execute_sql("USE other")
    t_env.execute_sql(f"DROP DATABASE {name}")
    assert content(t_env, "SHOW DATABASES")[1] == [("other",)]


def test_a_catalogs_options_are_reset_by_name(t_env: TableEnvironment) -> None:
    t_env.execute_sql("CREATE CATALOG c WITH ('type' = 'generic_in_memory')")
    with pytest.raises(InvalidArgumentError, match="does not support empty key"):
        t_env.execute_sql("ALTER CATALOG c RESET ()")


# --- functions -----------------------------------------------------------------------------------


@pytest.fixture
def functions(t_env: TableEnvironment) -> TableEnvironment:
    t_env.execute_sql("CREATE DATABASE other")
    add = udf(lambda i: i + 1, result_type="BIGINT", name="add")
    t_env.create_temporary_system_function("anywhere", add)
    t_env.create_temporary_function("here", add)
    t_env.create_temporary_function("other.there", add)
    t_env.create_temporary_function("other.anywhere", add)
    return t_env


@pytest.mark.parametrize(
    ("statement", "names"),
    [
        ("SHOW USER FUNCTIONS", ["anywhere", "here"]),
        ("SHOW USER FUNCTIONS FROM other", ["anywhere", "anywhere", "there"]),
        ("SHOW USER FUNCTIONS IN default_catalog.other LIKE 't%'", ["there"]),
        ("SHOW FUNCTIONS FROM other ILIKE '%HERE'", ["anywhere", "there"]),
        ("SHOW FUNCTIONS LIKE '%r_sum%'", []),
        ("SHOW FUNCTIONS LIKE 'coun_'", ["count"]),
    ],
)
def test_functions_are_shown_of_the_database_that_is_named(
    functions: TableEnvironment, statement: str, names: list[str]
) -> None:
    assert content(functions, statement) == (["function name"], [(name,) for name in names])


def test_functions_of_a_database_that_is_not_there_are_not_shown(
    functions: TableEnvironment,
) -> None:
    with pytest.raises(HeadraceError, match="nowhere"):
        functions.execute_sql("SHOW USER FUNCTIONS FROM nowhere")


@pytest.mark.parametrize(
    ("name", "system", "temporary"),
    [
        ("`SUM`", "true", "false"),
        ("`row_number`", "true", "false"),
        ("`upper`", "true", "false"),
        ("anywhere", "true", "true"),
        ("here", "false", "true"),
        ("other.anywhere", "false", "true"),
    ],
)
def test_describe_function_tells_what_a_call_means(
    functions: TableEnvironment, name: str, system: str, temporary: str
) -> None:
    functions.create_temporary_function("`upper`", udf(lambda text: text, result_type="STRING"))
    _, rows = content(functions, f"DESCRIBE FUNCTION {name}")
    assert rows[:2] == [("is system function", system), ("is temporary", temporary)]
    assert len(rows) == (2 if system == "true" else 4)


@pytest.mark.parametrize(
    ("name", "kind", "deterministic", "signature"),
    [
        ("`Sum`", "AGGREGATE", "true", "SUM(number)"),
        ("`upper`", "SCALAR", "true", "UPPER(string)"),
        ("uuid", "SCALAR", "false", "UUID()"),
        ("anywhere", "SCALAR", "true", "anywhere(...)"),
        ("typed", "TABLE", "false", "default_catalog.default_database.typed(arg0 => INT)"),
    ],
)
def test_describe_function_extended_tells_how_it_is_called(
    functions: TableEnvironment, name: str, kind: str, deterministic: str, signature: str
) -> None:
    typed = udtf(lambda i: [i], input_types=["INT"], result_types=["INT"], deterministic=False)
    functions.create_temporary_function("typed", typed)
    _, rows = content(functions, f"DESCRIBE FUNCTION EXTENDED {name}")
    assert rows[-3:] == [
        ("kind", kind),
        ("is deterministic", deterministic),
        ("signature", signature),
    ]


# --- views keep the columns that they had --------------------------------------------------------


@pytest.fixture
def tables(t_env: TableEnvironment) -> TableEnvironment:
    for name in ("t", "u"):
        t_env.execute_sql(
            f"CREATE TABLE {name} (a INT, r ROW<x INT, y STRING>, p AS PROCTIME()) "
            "WITH ('connector' = 'datagen', 'number-of-rows' = '1')"
        )
    t_env.execute_sql("CREATE VIEW v AS SELECT * FROM t")
    return t_env


def test_a_view_does_not_get_the_columns_that_its_table_gets_later(
    tables: TableEnvironment,
) -> None:
    tables.execute_sql("CREATE VIEW named (b, s, q) AS SELECT * FROM t")
    tables.execute_sql("CREATE VIEW joined AS SELECT t.*, z.a AS b FROM t JOIN u AS z ON t.a = z.a")
    tables.execute_sql("ALTER VIEW v AS SELECT *, a + 1 AS n FROM t")
    names = ("v", "named", "joined")
    before = [tables.from_path(name).get_schema().get_field_names() for name in names]
    tables.execute_sql("ALTER TABLE t ADD later INT FIRST")
    after = [tables.from_path(name).get_schema().get_field_names() for name in names]
    assert after == before
    assert before == [["a", "r", "p", "n"], ["b", "s", "q"], ["a", "r", "p", "b"]]


@pytest.mark.parametrize(
    ("query", "spelled"),
    [
        ("SELECT * FROM t",
         "SELECT `t`.`a`, `t`.`r`, `t`.`p` FROM `d`.`t` AS `t`"),
        ("SELECT a AS b, r.x, y FROM default_database.t AS z WHERE z.a > 1 ORDER BY b",
         "SELECT `z`.`a` AS `b`, `z`.`r`.`x`, `z`.`r`.`y` FROM `d`.`t` AS `z` "
         "WHERE `z`.`a` > 1 ORDER BY `b`"),
        ("SELECT default_database.t.a FROM default_database.t",
         "SELECT `t`.`a` FROM `d`.`t` AS `t`"),
        ("SELECT * FROM (SELECT a FROM v)",
         "SELECT `a` FROM (SELECT `v`.`a` FROM `d`.`v` AS `v`)"),
        ("SELECT a, COUNT(*) AS n FROM t GROUP BY a HAVING MAX(r.x) > a",
         "SELECT `t`.`a`, COUNT(*) AS `n` FROM `d`.`t` AS `t` GROUP BY `t`.`a` "
         "HAVING MAX(`t`.`r`.`x`) > `t`.`a`"),
        ("SELECT a FROM t WHERE EXISTS (SELECT * FROM u WHERE u.a = t.a)",
         "SELECT `t`.`a` FROM `d`.`t` AS `t` WHERE EXISTS (SELECT `u`.`a`, `u`.`r`, `u`.`p` "
         "FROM `d`.`u` AS `u` WHERE `u`.`a` = `t`.`a`)"),
        ("SELECT * FROM t JOIN u USING (a)",
         "SELECT `t`.`a`, `t`.`r`, `t`.`p`, `u`.`r`, `u`.`p` FROM `d`.`t` AS `t` "
         "INNER JOIN `d`.`u` AS `u` USING (`a`)"),
        ("WITH w AS (SELECT a FROM t) SELECT * FROM w",
         "WITH `w` AS (SELECT `t`.`a` FROM `d`.`t` AS `t`) SELECT `w`.`a` FROM `w`"),
        ("SELECT * FROM t UNION ALL SELECT * FROM u",
         "SELECT `t`.`a`, `t`.`r`, `t`.`p` FROM `d`.`t` AS `t` UNION ALL "
         "SELECT `u`.`a`, `u`.`r`, `u`.`p` FROM `d`.`u` AS `u`"),
        ("TABLE t", "SELECT `t`.`a`, `t`.`r`, `t`.`p` FROM `d`.`t` AS `t`"),
        ("SELECT * FROM (VALUES (1, 'a')) AS k (n, s)",
         "SELECT `k`.`n`, `k`.`s` FROM (VALUES (1, 'a')) AS `k` (`n`, `s`)"),
        ("SELECT * FROM TABLE(CUMULATE(TABLE e, DESCRIPTOR(ts), INTERVAL '1' MINUTE, "
         "INTERVAL '1' DAY))",
         "SELECT `a`, `ts`, `window_start`, `window_end`, `window_time` FROM TABLE(CUMULATE(TABLE "
         "`e`, DESCRIPTOR(`ts`), INTERVAL '1' MINUTE, INTERVAL '1' DAY))"),
    ],
)  # fmt: skip
def test_a_views_query_is_kept_in_full(tables: TableEnvironment, query: str, spelled: str) -> None:
    tables.execute_sql(
        "CREATE TABLE e (a INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) "
        "WITH ('connector' = 'datagen')"
    )
    tables.execute_sql(f"CREATE VIEW w AS {query}")
    made = text(tables, "SHOW CREATE VIEW w")
    shown = " ".join(made.partition(")\nAS ")[2].split()).replace("( ", "(")
    assert shown == spelled.replace("`d`", "`default_catalog`.`default_database`")
    tables.execute_sql("DROP VIEW w")
    tables.execute_sql(made)
    assert text(tables, "SHOW CREATE VIEW w") == made
