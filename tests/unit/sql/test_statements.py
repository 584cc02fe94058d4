"""Statements other than CREATE, ALTER and DROP, and scripts."""

from __future__ import annotations

import pytest

from headrace.errors import SqlParseError
from headrace.sql.ast import FunctionCall
from headrace.sql.parser import (
    parse_identifier,
    parse_query,
    parse_script,
    parse_statement,
)
from headrace.sql.query_ast import QueryHint
from headrace.sql.statement_ast import (
    AnalyzeTable,
    BeginStatementSet,
    CallStatement,
    ClientCommand,
    CompilePlan,
    DeleteStatement,
    DescribeStatement,
    EndStatementSet,
    ExecutePlan,
    ExplainStatement,
    InsertStatement,
    JarStatement,
    LoadModule,
    QueryStatement,
    ResetStatement,
    SetStatement,
    ShowPattern,
    ShowStatement,
    SqlStatement,
    StatementSetStatement,
    StopJob,
    TruncateTable,
    UnloadModule,
    UpdateStatement,
    UseStatement,
)
from sql_trees import col, num, op, statement, text

ONE = parse_query("SELECT 1")
T = col("t")
INSERT = InsertStatement(T, ONE)


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT 1;", QueryStatement(ONE)),
        ("(SELECT 1)", QueryStatement(ONE)),
        ("EXECUTE SELECT 1", QueryStatement(ONE)),
        ("INSERT INTO t SELECT 1", INSERT),
        ("EXECUTE INSERT INTO t SELECT 1", INSERT),
        ("INSERT INTO t (SELECT 1)", INSERT),
        ("INSERT OVERWRITE c.d.t (a, b.c) SELECT 1",
         InsertStatement(col("c", "d", "t"), ONE, (col("a"), col("b", "c")), overwrite=True)),
        ("INSERT INTO t PARTITION (d = '1', h = 2) SELECT 1",
         InsertStatement(T, ONE, partition=(("d", text("1")), ("h", num(2))))),
        ("INSERT INTO t /*+ OPTIONS('a' = 'b') */ SELECT 1",
         InsertStatement(T, ONE, hints=(QueryHint("OPTIONS", (("a", "b"),)),))),
        ("INSERT INTO t SELECT 1 ON CONFLICT DO NOTHING",
         InsertStatement(T, ONE, on_conflict="NOTHING")),
        ("EXECUTE STATEMENT SET BEGIN INSERT INTO t SELECT 1; INSERT INTO t SELECT 1; END",
         StatementSetStatement((INSERT, INSERT))),
        ("BEGIN STATEMENT SET; INSERT INTO t SELECT 1; END;", StatementSetStatement((INSERT,))),
        ("BEGIN STATEMENT SET;", BeginStatementSet()),
        ("END;", EndStatementSet()),
        ("EXPLAIN SELECT 1", ExplainStatement(QueryStatement(ONE))),
        ("EXPLAIN PLAN FOR INSERT INTO t SELECT 1", ExplainStatement(INSERT)),
        ("EXPLAIN CHANGELOG_MODE, ESTIMATED_COST SELECT 1",
         ExplainStatement(QueryStatement(ONE), ("CHANGELOG_MODE", "ESTIMATED_COST"))),
        ("EXPLAIN STATEMENT SET BEGIN INSERT INTO t SELECT 1; END",
         ExplainStatement(StatementSetStatement((INSERT,)))),
        ("DESCRIBE t", DescribeStatement("TABLE", T)),
        ("DESC EXTENDED t", DescribeStatement("TABLE", T, extended=True)),
        ("DESCRIBE CATALOG c", DescribeStatement("CATALOG", col("c"))),
        ("DESC DATABASE EXTENDED c.d", DescribeStatement("DATABASE", col("c", "d"), extended=True)),
        ("DESCRIBE FUNCTION f", DescribeStatement("FUNCTION", col("f"))),
        ("DESCRIBE JOB 'x-1'", DescribeStatement("JOB", col("x-1"))),
        ("DESCRIBE catalog", DescribeStatement("TABLE", col("catalog"))),
        ("USE d", UseStatement("DATABASE", (col("d"),))),
        ("USE CATALOG c", UseStatement("CATALOG", (col("c"),))),
        ("USE MODULES core, hive", UseStatement("MODULES", (col("core"), col("hive")))),
        ("SET", SetStatement()),
        ("SET 'a.b' = 'c'", SetStatement("a.b", "c")),
        ("SET execution.runtime-mode = batch;", SetStatement("execution.runtime-mode", "batch")),
        ("set path=\"C:\\x\"", SetStatement("path", "\"C:\\x\"")),
        ("SET a = 'it''s b'", SetStatement("a", "it's b")),
        ("RESET", ResetStatement()),
        ("RESET 'a.b'", ResetStatement("a.b")),
        ("RESET a.b-c;", ResetStatement("a.b-c")),
        ("LOAD MODULE hive WITH ('v' = '1')", LoadModule("hive", (("v", "1"),))),
        ("UNLOAD MODULE hive", UnloadModule("hive")),
        ("ADD JAR '/x.jar'", JarStatement("ADD", "/x.jar")),
        ("REMOVE JAR '/x.jar'", JarStatement("REMOVE", "/x.jar")),
        ("ANALYZE TABLE t COMPUTE STATISTICS", AnalyzeTable(T)),
        ("ANALYZE TABLE t PARTITION (d = '1', h) COMPUTE STATISTICS FOR COLUMNS a, b",
         AnalyzeTable(T, (("d", text("1")), ("h", None)), ("a", "b"))),
        ("ANALYZE TABLE t COMPUTE STATISTICS FOR ALL COLUMNS", AnalyzeTable(T, all_columns=True)),
        ("TRUNCATE TABLE t", TruncateTable(T)),
        ("DELETE FROM t", DeleteStatement(T)),
        ("DELETE FROM t AS x WHERE a = 1",
         DeleteStatement(T, op("=", col("a"), num(1)), "x")),
        ("UPDATE t SET a = 1, b = b + 1 WHERE a = 1",
         UpdateStatement(T, ((col("a"), num(1)), (col("b"), op("+", col("b"), num(1)))),
                         op("=", col("a"), num(1)))),
        ("COMPILE PLAN '/p.json' IF NOT EXISTS FOR INSERT INTO t SELECT 1",
         CompilePlan("/p.json", INSERT, if_not_exists=True)),
        ("COMPILE AND EXECUTE PLAN '/p' FOR STATEMENT SET BEGIN INSERT INTO t SELECT 1; END",
         CompilePlan("/p", StatementSetStatement((INSERT,)), execute=True)),
        ("EXECUTE PLAN '/p'", ExecutePlan("/p")),
        ("STOP JOB 'j'", StopJob("j")),
        ("STOP JOB 'j' WITH SAVEPOINT WITH DRAIN", StopJob("j", savepoint=True, drain=True)),
        ("CALL c.p(1)", CallStatement(FunctionCall(("c", "p"), (num(1),)))),
        ("QUIT", ClientCommand("QUIT")),
        ("exit;", ClientCommand("QUIT")),
        ("HELP", ClientCommand("HELP")),
        ("CLEAR", ClientCommand("CLEAR")),
    ],
)  # fmt: skip
def test_statements(sql: str, expected: SqlStatement) -> None:
    assert statement(sql) == expected


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("CATALOGS", ShowStatement("CATALOGS")),
        ("CATALOGS NOT ILIKE 'a%'",
         ShowStatement("CATALOGS", pattern=ShowPattern("a%", "ILIKE", negated=True))),
        ("CURRENT CATALOG", ShowStatement("CURRENT CATALOG")),
        ("CURRENT DATABASE", ShowStatement("CURRENT DATABASE")),
        ("DATABASES IN c LIKE 'a'", ShowStatement("DATABASES", col("c"), ShowPattern("a"))),
        ("TABLES", ShowStatement("TABLES")),
        ("TABLES FROM c.d NOT LIKE 'a'",
         ShowStatement("TABLES", col("c", "d"), ShowPattern("a", negated=True))),
        ("VIEWS", ShowStatement("VIEWS")),
        ("MATERIALIZED TABLES", ShowStatement("MATERIALIZED TABLES")),
        ("FUNCTIONS", ShowStatement("FUNCTIONS")),
        ("USER FUNCTIONS IN d", ShowStatement("USER FUNCTIONS", col("d"))),
        ("PROCEDURES", ShowStatement("PROCEDURES")),
        ("COLUMNS FROM t LIKE 'a'", ShowStatement("COLUMNS", T, ShowPattern("a"))),
        ("PARTITIONS t PARTITION (d = 1)",
         ShowStatement("PARTITIONS", T, partition=(("d", num(1)),))),
        ("CREATE TABLE t", ShowStatement("CREATE TABLE", T)),
        ("CREATE VIEW t", ShowStatement("CREATE VIEW", T)),
        ("CREATE CATALOG c", ShowStatement("CREATE CATALOG", col("c"))),
        ("CREATE MATERIALIZED TABLE t", ShowStatement("CREATE MATERIALIZED TABLE", T)),
        ("MODULES", ShowStatement("MODULES")),
        ("FULL MODULES", ShowStatement("FULL MODULES")),
        ("JARS", ShowStatement("JARS")),
        ("JOBS", ShowStatement("JOBS")),
        ("MODELS", ShowStatement("MODELS")),
    ],
)  # fmt: skip
def test_show(sql: str, expected: ShowStatement) -> None:
    assert statement(f"SHOW {sql}") == expected


def test_a_script_is_cut_at_semicolons_outside_of_strings_and_comments() -> None:
    found = parse_script(
        """
        SET 'a' = 'b;c'; -- a; comment
        SET sql.state-ttl = 1d;
        SELECT ';' /* ; */ FROM t;;
        BEGIN STATEMENT SET; INSERT INTO t SELECT 1;; END; QUIT
        """
    )
    assert [type(each).__name__ for each in found] == [
        "SetStatement",
        "SetStatement",
        "QueryStatement",
        "StatementSetStatement",
        "ClientCommand",
    ]


def test_an_empty_script_has_no_statements() -> None:
    assert parse_script(" ; -- nothing\n") == []
    with pytest.raises(SqlParseError, match="but the text ends"):
        parse_statement("")


def test_one_statement_is_one() -> None:
    with pytest.raises(SqlParseError, match="expected the end of the statement"):
        parse_statement("SELECT 1; SELECT 2")


def test_paths_of_the_table_api_may_have_reserved_words() -> None:
    assert parse_identifier("default_catalog.`my db`.table") == col(
        "default_catalog", "my db", "table"
    )


@pytest.mark.parametrize(
    "sql",
    [
        "EXPLAIN DROP TABLE t",
        "EXPLAIN CHANGELOG_MODE, CHANGELOG_MODE SELECT 1",
        "STOP JOB 'j' WITH DRAIN",
        "SHOW DATABASES IN a.b",
        "SHOW TABLES ILIKE 'a'",
        "SHOW COLUMNS",
        "UPSERT INTO t SELECT 1",
        "BEGIN STATEMENT SET; SELECT 1; END",
        "EXECUTE STATEMENT SET BEGIN END",
    ],
)
def test_what_flink_refuses_is_refused(sql: str) -> None:
    with pytest.raises(SqlParseError):
        parse_statement(sql)
