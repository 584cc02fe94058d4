"""What a user reads when a statement is wrong: every text is in tests/golden/sql/errors.txt."""

from __future__ import annotations

import pickle

import pytest

from golden.compare import assert_golden
from headrace.errors import SqlError, SqlParseError
from headrace.sql.habits import function_advice
from headrace.sql.parser import parse_expression, parse_script, parse_statement, parse_type

WRONG = [
    # words that are misspelled, forgotten or at the wrong place
    "",
    "SELCT 1",
    "SELECT a FORM t",
    "SELECT a FROM t GRUOP BY a",
    "SELECT a FROM t WHRE a = 1",
    "SELECT a FROM t ORDER a",
    "SELECT FROM t",
    "SELECT a FROM t WHERE (a = 1",
    "SELECT a FROM t JOIN",
    "SELECT CASE a END FROM t",
    "SELECT CASE WHEN a, b THEN 1 END FROM t",
    "SELECT a FROM (t)",
    "SELECT value FROM t",
    "SELECT t.value FROM t",
    "SELECT 1 AS day",
    "SELECT * FROM order",
    "SELECT * FROM order WHERE a = 1",
    "SELECT * FROM t JOIN group ON a = b",
    "SELECT * FROM table",
    "SELECT order.a FROM t",
    "SELECT a, order FROM t",
    "SELECT a, FROM t",
    "SELECT a FROM WHERE a = 1",
    "DROP TABLE order",
    "INSERT t VALUES (1)",
    "INSERT INTO TABLE t SELECT 1",
    "CREATE TABEL t (a INT)",
    "CREATE TABLE t (a INT,)",
    "CREATE TABLE t (a INT) WITH (connector = 'x')",
    "CREATE TABLE t (a INT) WITH ('parallelism' = 2)",
    "CREATE TABLE t (a INT) WITH ('a' 'b')",
    "CREATE TABLE t (timestamp TIMESTAMP(3))",
    "CREATE TABLE t (a INT, b)",
    "CREATE TABLE t (a, b)",
    "CREATE TABLE t (WATERMARK FOR a AS a, WATERMARK FOR b AS b)",
    "CREATE SYSTEM FUNCTION f AS 'x'",
    "CREATE OR REPLACE DATABASE d",
    "CREATE TEMPORARY MATERIALIZED TABLE t AS SELECT 1",
    "ALTER TABLE t ADD COLUMN a INT",
    "ALTER TABLE t DROP COLUMN a",
    "ALTER TABLE t RENAME COLUMN a TO b",
    "ALTER TABLE t ADD a",
    "ALTER VIEW v SET ('a' = 'b')",
    "ALTER TABLE t ADD PARTITION (d = x)",
    "EXPLAIN ANALYZE SELECT 1",
    "EXPLAIN DROP TABLE t",
    "EXPLAIN CHANGELOG_MODE, CHANGELOG_MODE SELECT 1",
    "SHOW TABEL",
    "SHOW DATABASES IN a.b",
    "STOP JOB 'j' WITH DRAIN",
    "BEGIN STATEMENT SET; SELECT 1; END",
    "SELECT 1; SELECT 2",
    "SET a",
    "SELECT\n  a,\n  b\nFROM t\nWHERE a = = 1",
    # literals
    "SELECT 'abc",
    "SELECT `abc FROM t",
    "SELECT DATE '2024-02-30'",
    "SELECT TIME '24:00:00'",
    "SELECT TIMESTAMP '2024-01-31 10:30'",
    "SELECT TIMESTAMP '2024-01-31 10:30:00.1234567890'",
    "SELECT INTERVAL '1 25' DAY TO HOUR",
    "SELECT INTERVAL '1' FORTNIGHT",
    "SELECT ts + INTERVAL '5 minutes' FROM t",
    "SELECT INTERVAL (a) DAY TO HOUR",
    "SELECT x'123'",
    r"SELECT U&'\12'",
    "SELECT U&'x' UESCAPE '+'",
    "SELECT MAP['a']",
    "SELECT MAP(1, 2)",
    "SELECT ARRAY(1, 2)",
    "SELECT EXTRACT(MINUTES FROM ts)",
    "SELECT FLOOR(ts TO WEEK(SUNDAY))",
    # habits of Spark, PostgreSQL, MySQL and others
    "SELECT a::INT FROM t",
    'SELECT "a" FROM t',
    "SELECT a FROM t WHERE a != 1",
    "SELECT a FROM t WHERE a == 1",
    "SELECT a FROM t WHERE a = 1 && b = 2",
    "SELECT a FROM t WHERE a ILIKE 'x'",
    "SELECT a FROM t WHERE a NOT RLIKE 'x'",
    "SELECT a FROM t WHERE a REGEXP 'x'",
    "SELECT a FROM t WHERE a ~ 'x'",
    "SELECT a & b FROM t",
    "SELECT a -> 'x' FROM t",
    "SELECT a DIV b FROM t",
    "SELECT {d '2024-01-31'}",
    "SELECT a FROM t LIMIT 1, 2",
    "SELECT a FROM t OFFSET 1 LIMIT 2",
    "SELECT TOP 10 a FROM t",
    r"SELECT 'it\'s' FROM t",
    "SELECT DISTINCT ON (a) a FROM t",
    "SELECT a FROM t WHERE a = ?",
    "SELECT a FROM t MINUS SELECT a FROM u",
    "SELECT DATEADD(DAY, 1, a) FROM t",
    "SELECT DATE_TRUNC('day', a) FROM t",
    "SELECT SAFE_CAST(a AS INT) FROM t",
    "SELECT CAST(a AS TEXT) FROM t",
    "SELECT CAST(a AS STRUCT<x INT>) FROM t",
    "SELECT CAST(a AS INT NOT NULL) FROM t",
    "SELECT CAST(a AS DATE FORMAT 'yyyy') FROM t",
    "SELECT CAST(a AS TIME WITH TIME ZONE) FROM t",
    "SELECT a FROM t TABLESAMPLE BERNOULLI (10)",
    "SELECT a FROM t PIVOT (SUM(x) FOR y IN (1))",
    "SELECT a FROM t ASOF JOIN u ON a = b",
    "SELECT a FROM t CROSS APPLY f(a)",
    "SELECT a FROM t LATERAL VIEW EXPLODE(x) e",
    "SELECT a FROM t WHERE a IN UNNEST(b)",
    "SELECT SUM(a) OVER (ORDER BY b GROUPS 1 PRECEDING) FROM t",
    "SELECT SUM(a) OVER (ORDER BY b ROWS 1 PRECEDING EXCLUDE TIES) FROM t",
    "SELECT JSON_VALUE(a, '$' PASSING b AS c) FROM t",
    "SELECT a FROM t GROUP BY DISTINCT a",
    "SELECT a, COUNT(*) FROM t GROUP BY ALL",
    "SELECT a, COUNT(*) FROM t GROUP BY ALL ORDER BY a",
    "SELECT a FROM t ORDER BY ALL",
    "SELECT * EXCEPT (a) FROM t",
    "SELECT t.* EXCEPT a, b FROM t",
    "SELECT * EXCLUDE (a) FROM t",
    "SELECT * REPLACE (a + 1 AS a) FROM t",
    "CREATE TABLE t (a INT DEFAULT 1)",
    "CREATE TABLE t (a INT) USING parquet",
    "CREATE TABLE t (a INT) TBLPROPERTIES ('a' = 'b')",
    "CREATE SCHEMA s",
    "ALTER TABLE t SET TBLPROPERTIES ('a' = 'b')",
    "MERGE INTO t USING u ON a = b",
    "UPSERT INTO t SELECT 1",
    "# comment\nSELECT 1",
]


def shown(sql: str) -> str:
    with pytest.raises(SqlParseError) as caught:
        parse_statement(sql)
    return f"{sql}\n{caught.value}\n"


def test_golden_texts_of_all_errors() -> None:
    assert_golden("sql/errors.txt", "\n".join(map(shown, WRONG)))


@pytest.mark.parametrize("sql", WRONG)
def test_every_error_says_where(sql: str) -> None:
    with pytest.raises(SqlParseError) as caught:
        parse_script(sql) if sql and ";" not in sql else parse_statement(sql)
    error = caught.value
    assert error.line is not None
    assert error.column is not None
    assert error.text.count("^") >= 1
    assert error.where == f"line {error.line}, column {error.column}"


def test_errors_travel_with_their_place() -> None:
    with pytest.raises(SqlError) as caught:
        parse_statement("SELECT\n a FORM t")
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value)
    assert (again.line, again.column) == (2, 9)


def test_the_mark_stands_below_the_place() -> None:
    with pytest.raises(SqlParseError) as caught:
        parse_statement("SELECT a\nFROM t\n\tWHERE a ILIKE 'x'")
    number, mark = caught.value.text.splitlines()
    assert number == "3 | \tWHERE a ILIKE 'x'"
    assert mark == "  | \t        ^^^^^"


def test_long_lines_are_cut_around_the_place() -> None:
    with pytest.raises(SqlParseError) as caught:
        parse_statement("SELECT " + ", ".join(["column_name"] * 50) + " FORM t")
    line, mark = caught.value.text.splitlines()
    assert len(line) < 120
    assert line[mark.index("^")] == "t"


def test_types_and_expressions_complain_alike() -> None:
    with pytest.raises(SqlParseError, match="expected '>'"):
        parse_type("ARRAY<INT")
    with pytest.raises(SqlParseError, match="expected the end of the statement"):
        parse_expression("a b")


def test_functions_of_other_dialects_have_advice() -> None:
    assert function_advice("nvl") == "write COALESCE(a, b) instead of NVL"
    assert function_advice("upper") is None
