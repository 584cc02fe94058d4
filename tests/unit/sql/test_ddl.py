"""CREATE, ALTER and DROP."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from headrace.errors import SqlParseError
from headrace.sql.ast import IntervalLiteral, TypeName
from headrace.sql.ddl_ast import (
    AddPartitionsAction,
    AlterAction,
    AlterFunction,
    AlterStatement,
    ColumnPlacement,
    CommentAction,
    ComputedColumnDefinition,
    ConstraintDefinition,
    CreateCatalog,
    CreateConnection,
    CreateDatabase,
    CreateFunction,
    CreateMaterializedTable,
    CreateModel,
    CreateTable,
    CreateView,
    DistributionAction,
    DistributionDefinition,
    DropAction,
    DropColumnsAction,
    DropPartitionsAction,
    DropStatement,
    FreshnessAction,
    LikeClause,
    MetadataColumnDefinition,
    NewQueryAction,
    PhysicalColumnDefinition,
    RefreshAction,
    RefreshModeAction,
    RenameAction,
    RenameColumnAction,
    ResetOptionsAction,
    ResumeAction,
    SchemaAction,
    SetOptionsAction,
    StartMode,
    SuspendAction,
    TableSchemaDefinition,
    WatermarkDefinition,
)
from headrace.sql.parser import parse_query, parse_statement
from sql_trees import call, col, num, op, statement, text

if TYPE_CHECKING:
    from headrace.sql.statement_ast import SqlStatement

ONE = parse_query("SELECT 1")
T = col("t")
INT, STRING = TypeName("INT"), TypeName("STRING")
A = PhysicalColumnDefinition(col("a"), INT)


def test_everything_a_table_may_have() -> None:
    found = statement(
        "CREATE TEMPORARY TABLE IF NOT EXISTS c.d.t ("
        " id INT NOT NULL COMMENT 'the key',"
        " ts TIMESTAMP(3) METADATA FROM 'timestamp' VIRTUAL,"
        " `offset` BIGINT METADATA COMMENT 'where',"
        " cost AS price * 2 COMMENT 'twice',"
        " p AS PROCTIME(),"
        " WATERMARK FOR ts AS ts - INTERVAL '5' SECOND,"
        " CONSTRAINT pk PRIMARY KEY (id) NOT ENFORCED"
        ") COMMENT 'all of it' DISTRIBUTED BY HASH (id) INTO 4 BUCKETS"
        " PARTITIONED BY (day_, hour_) WITH ('connector' = 'kafka', 'topic' = 'it''s')"
    )
    assert found == CreateTable(
        col("c", "d", "t"),
        TableSchemaDefinition(
            columns=(
                PhysicalColumnDefinition(col("id"), TypeName("INT", nullable=False), "the key"),
                MetadataColumnDefinition(
                    col("ts"), TypeName("TIMESTAMP", (3,)), "timestamp", virtual=True
                ),
                MetadataColumnDefinition(col("offset"), TypeName("BIGINT"), comment="where"),
                ComputedColumnDefinition(col("cost"), op("*", col("price"), num(2)), "twice"),
                ComputedColumnDefinition(col("p"), call("PROCTIME")),
            ),
            constraints=(ConstraintDefinition("PRIMARY KEY", ("id",), "pk", enforced=False),),
            watermark=WatermarkDefinition(
                col("ts"), op("-", col("ts"), IntervalLiteral("5", "SECOND"))
            ),
        ),
        comment="all of it",
        distribution=DistributionDefinition("HASH", ("id",), 4),
        partitioned_by=("day_", "hour_"),
        options=(("connector", "kafka"), ("topic", "it's")),
        temporary=True,
        if_not_exists=True,
    )


def test_a_key_behind_a_column_is_a_constraint() -> None:
    found = statement("CREATE TABLE t (a INT PRIMARY KEY NOT ENFORCED)")
    assert found == CreateTable(
        T,
        TableSchemaDefinition((A,), (ConstraintDefinition("PRIMARY KEY", ("a",), enforced=False),)),
    )


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("CREATE TABLE t", CreateTable(T)),
        ("CREATE TABLE t LIKE u", CreateTable(T, like=LikeClause(col("u")))),
        ("CREATE TABLE t (a INT) WITH ('k' = 'v') LIKE u (INCLUDING ALL OVERWRITING OPTIONS)",
         CreateTable(T, TableSchemaDefinition((A,)), options=(("k", "v"),),
                     like=LikeClause(
                         col("u"), (("INCLUDING", "ALL"), ("OVERWRITING", "OPTIONS"))))),
        ("CREATE TABLE t WITH ('k' = 'v') AS SELECT 1",
         CreateTable(T, options=(("k", "v"),), query=ONE)),
        ("CREATE TABLE t (a, b) AS SELECT 1",
         CreateTable(T, TableSchemaDefinition(names=(col("a"), col("b"))), query=ONE)),
        ("CREATE OR REPLACE TABLE t AS SELECT 1",
         CreateTable(T, query=ONE, replace=True, or_create=True)),
        ("REPLACE TABLE t AS SELECT 1", CreateTable(T, query=ONE, replace=True)),
        ("CREATE TABLE t DISTRIBUTED INTO 3 BUCKETS",
         CreateTable(T, distribution=DistributionDefinition(buckets=3))),
        ("CREATE TABLE t USING CONNECTION c", CreateTable(T, connection=col("c"))),
        ("CREATE VIEW v AS SELECT 1", CreateView(col("v"), ONE)),
        ("CREATE TEMPORARY VIEW IF NOT EXISTS v (a, b) COMMENT 'x' AS SELECT 1",
         CreateView(col("v"), ONE, ("a", "b"), "x", temporary=True, if_not_exists=True)),
        ("CREATE CATALOG IF NOT EXISTS c COMMENT 'x' WITH ('type' = 'generic_in_memory')",
         CreateCatalog("c", (("type", "generic_in_memory"),), "x", if_not_exists=True)),
        ("CREATE DATABASE c.d COMMENT 'x' WITH ('a' = 'b')",
         CreateDatabase(col("c", "d"), (("a", "b"),), "x")),
        ("CREATE FUNCTION f AS 'm.f' LANGUAGE PYTHON",
         CreateFunction(col("f"), "m.f", "PYTHON")),
        ("CREATE TEMPORARY SYSTEM FUNCTION IF NOT EXISTS f AS 'C' USING JAR '/a', ARTIFACT '/b'",
         CreateFunction(col("f"), "C", resources=(("JAR", "/a"), ("ARTIFACT", "/b")),
                        temporary=True, system=True, if_not_exists=True)),
        ("CREATE MODEL m INPUT (a INT) OUTPUT (b STRING) COMMENT 'x' WITH ('k' = 'v')",
         CreateModel(col("m"), (A,), (PhysicalColumnDefinition(col("b"), STRING),), "x",
                     (("k", "v"),))),
        ("CREATE CONNECTION c WITH ('k' = 'v')", CreateConnection(col("c"), (("k", "v"),))),
        ("CREATE MATERIALIZED TABLE t FRESHNESS = INTERVAL '3' MINUTE REFRESH_MODE = FULL "
         "AS SELECT 1",
         CreateMaterializedTable(T, ONE, freshness=IntervalLiteral("3", "MINUTE"),
                                 refresh_mode="FULL")),
        ("CREATE OR ALTER MATERIALIZED TABLE t START_MODE = FROM_NOW(INTERVAL '1' DAY) AS SELECT 1",
         CreateMaterializedTable(T, ONE, start_mode=StartMode(
             "FROM_NOW", IntervalLiteral("1", "DAY")), or_alter=True)),
        ("DROP TABLE t", DropStatement("TABLE", T)),
        ("DROP TEMPORARY TABLE IF EXISTS t",
         DropStatement("TABLE", T, if_exists=True, temporary=True)),
        ("DROP VIEW v", DropStatement("VIEW", col("v"))),
        ("DROP CATALOG c", DropStatement("CATALOG", col("c"))),
        ("DROP DATABASE d CASCADE", DropStatement("DATABASE", col("d"), cascade=True)),
        ("DROP DATABASE d RESTRICT", DropStatement("DATABASE", col("d"))),
        ("DROP TEMPORARY SYSTEM FUNCTION f",
         DropStatement("FUNCTION", col("f"), temporary=True, system=True)),
        ("DROP MATERIALIZED TABLE t", DropStatement("MATERIALIZED TABLE", T)),
        ("ALTER FUNCTION f AS 'C' LANGUAGE JAVA", AlterFunction(col("f"), "C", "JAVA")),
        ("ALTER TEMPORARY SYSTEM FUNCTION IF EXISTS f AS 'C'",
         AlterFunction(col("f"), "C", temporary=True, system=True, if_exists=True)),
    ],
)  # fmt: skip
def test_create_and_drop(sql: str, expected: SqlStatement) -> None:
    assert statement(sql) == expected


@pytest.mark.parametrize(
    ("sql", "action"),
    [
        ("RENAME TO c.u", RenameAction(col("c", "u"))),
        ("RENAME a TO b", RenameColumnAction(col("a"), col("b"))),
        ("SET ('k' = 'v')", SetOptionsAction((("k", "v"),))),
        ("RESET ('k', 'l')", ResetOptionsAction(("k", "l"))),
        ("ADD a INT FIRST", SchemaAction("ADD", (ColumnPlacement(A, first=True),))),
        ("ADD (a INT AFTER b, PRIMARY KEY (a) NOT ENFORCED, WATERMARK FOR ts AS ts)",
         SchemaAction("ADD", (ColumnPlacement(A, after=col("b")),),
                      (ConstraintDefinition("PRIMARY KEY", ("a",), enforced=False),),
                      WatermarkDefinition(col("ts"), col("ts")))),
        ("MODIFY a.b INT",
         SchemaAction("MODIFY", (ColumnPlacement(
             PhysicalColumnDefinition(col("a", "b"), INT)),))),
        ("ADD DISTRIBUTION BY (a)",
         DistributionAction("ADD", DistributionDefinition(None, ("a",)))),
        ("DROP a", DropColumnsAction((col("a"),))),
        ("DROP (a, b.c)", DropColumnsAction((col("a"), col("b", "c")))),
        ("DROP PRIMARY KEY", DropAction("PRIMARY KEY")),
        ("DROP CONSTRAINT k", DropAction("CONSTRAINT", "k")),
        ("DROP WATERMARK", DropAction("WATERMARK")),
        ("DROP DISTRIBUTION", DropAction("DISTRIBUTION")),
        ("ADD IF NOT EXISTS PARTITION (d = '1') WITH ('k' = 'v') PARTITION (d = '2')",
         AddPartitionsAction((((("d", text("1")),), (("k", "v"),)), ((("d", text("2")),), ())),
                             if_not_exists=True)),
        ("DROP IF EXISTS PARTITION (d = '1'), PARTITION (d = '2')",
         DropPartitionsAction(((("d", text("1")),), (("d", text("2")),)), if_exists=True)),
    ],
)  # fmt: skip
def test_alter_table(sql: str, action: AlterAction) -> None:
    assert statement(f"ALTER TABLE t {sql}") == AlterStatement("TABLE", T, action)
    assert statement(f"ALTER TABLE IF EXISTS t {sql}") == AlterStatement("TABLE", T, action, True)


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("VIEW t AS SELECT 1", AlterStatement("VIEW", T, NewQueryAction(ONE))),
        ("VIEW t RENAME TO u", AlterStatement("VIEW", T, RenameAction(col("u")))),
        ("DATABASE t SET ('k' = 'v')",
         AlterStatement("DATABASE", T, SetOptionsAction((("k", "v"),)))),
        ("CATALOG t COMMENT 'x'", AlterStatement("CATALOG", T, CommentAction("x"))),
        ("CATALOG t RESET ('k')", AlterStatement("CATALOG", T, ResetOptionsAction(("k",)))),
        ("MATERIALIZED TABLE t SUSPEND",
         AlterStatement("MATERIALIZED TABLE", T, SuspendAction())),
        ("MATERIALIZED TABLE t RESUME WITH ('k' = 'v')",
         AlterStatement("MATERIALIZED TABLE", T, ResumeAction((("k", "v"),)))),
        ("MATERIALIZED TABLE t REFRESH PARTITION (d = 1)",
         AlterStatement("MATERIALIZED TABLE", T, RefreshAction((("d", num(1)),)))),
        ("MATERIALIZED TABLE t SET FRESHNESS = INTERVAL '1' HOUR",
         AlterStatement("MATERIALIZED TABLE", T, FreshnessAction(IntervalLiteral("1", "HOUR")))),
        ("MATERIALIZED TABLE t SET REFRESH_MODE = CONTINUOUS",
         AlterStatement("MATERIALIZED TABLE", T, RefreshModeAction("CONTINUOUS"))),
        ("MATERIALIZED TABLE t AS SELECT 1",
         AlterStatement("MATERIALIZED TABLE", T, NewQueryAction(ONE))),
        ("MODEL t RENAME TO u", AlterStatement("MODEL", T, RenameAction(col("u")))),
    ],
)  # fmt: skip
def test_alter_others(sql: str, expected: SqlStatement) -> None:
    assert statement(f"ALTER {sql}") == expected


def test_a_view_keeps_the_text_of_its_query() -> None:
    found = parse_statement("CREATE VIEW v AS  SELECT a,  b -- c\n FROM t ;")
    assert isinstance(found, CreateView)
    assert found.query.position is not None
    assert found.query.position.source == "SELECT a,  b -- c\n FROM t"


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE SYSTEM FUNCTION f AS 'C'",
        "CREATE OR REPLACE FUNCTION f AS 'C'",
        "CREATE TEMPORARY MATERIALIZED TABLE t AS SELECT 1",
        "CREATE OR ALTER TABLE t (a INT)",
        "CREATE TABLE t (a, b)",
        "CREATE TABLE t (a INT, b)",
        "REPLACE TABLE t (a INT)",
        "CREATE TABLE t (WATERMARK FOR a AS a, WATERMARK FOR b AS b)",
        "CREATE TABLE t ()",
        "ALTER TABLE t ADD a",
        "ALTER VIEW t SET ('k' = 'v')",
        "ALTER DATABASE t RENAME TO u",
        "CREATE CONNECTION c",
        "ALTER TABLE t ADD PARTITION (d = x)",
    ],
)
def test_what_flink_refuses_is_refused(sql: str) -> None:
    with pytest.raises(SqlParseError):
        parse_statement(sql)
