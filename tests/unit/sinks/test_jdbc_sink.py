"""PyFlink's JDBC sink on PostgreSQL: PyFlink's names, and every statement once."""

from __future__ import annotations

import datetime as dt
import itertools
from typing import TYPE_CHECKING, Any

import pytest

from headrace.common.typeinfo import Types
from headrace.common.types import Row
from headrace.connectors.jdbc.sink import (
    JdbcConnectionOptions,
    JdbcExecutionOptions,
    JdbcSink,
    _with_percents,
)
from headrace.errors import (
    ConnectorError,
    InvalidArgumentError,
    TypeMismatchError,
    UnsupportedStepError,
)
from headrace.testing.connectors import SinkDriver
from services import PASSWORD

if TYPE_CHECKING:
    from services import PostgresServer

PAIR = Types.ROW([Types.STRING(), Types.LONG()])
_numbers = itertools.count()


@pytest.fixture
def table(postgres: PostgresServer) -> str:
    name = f"jdbc{next(_numbers)}"
    postgres.query(f"CREATE TABLE {name} (word text, n bigint)")
    return name


@pytest.fixture
def options(postgres: PostgresServer) -> JdbcConnectionOptions:
    return (
        JdbcConnectionOptions.JdbcConnectionOptionsBuilder()
        .with_url(f"jdbc:postgresql://127.0.0.1:{postgres.port}/headrace?ApplicationName=jdbc%20it")
        .with_driver_name("org.postgresql.Driver")
        .with_user_name("headrace")
        .with_password(PASSWORD)
        .build()
    )


def test_a_statement_is_run_once_for_every_record(
    postgres: PostgresServer, table: str, options: JdbcConnectionOptions
) -> None:
    execution = JdbcExecutionOptions.builder().with_batch_size(2).with_max_retries(0).build()
    sql = f"INSERT INTO {table} (word, n) VALUES (? || ' 100%?', ?)"
    driver = SinkDriver(JdbcSink.sink(sql, PAIR, options, execution))
    driver.run(0, [Row("a", 1), Row("b", None), ("c", 3)], [["d", 4]])
    driver.restart()
    driver.run(0, [Row("a", 1)])
    driver.run(1, [Row("e", 5)])
    stored = postgres.query(f"SELECT word, n FROM {table}")
    assert stored == [(f"{w} 100%?", n) for w, n in zip("abcde", [1, None, 3, 4, 5], strict=True)]


def test_statements_of_a_batch_are_run_in_order_and_together(
    postgres: PostgresServer, table: str, options: JdbcConnectionOptions
) -> None:
    postgres.query(f"INSERT INTO {table} VALUES ('x', 1)")
    sql = f"UPDATE {table} SET n = n * 10 + ?"
    driver = SinkDriver(JdbcSink.sink(sql, Types.ROW([Types.INT()]), options))
    driver.run(0, [Row(2), Row(3)])
    assert postgres.query(f"SELECT n FROM {table}") == [(123,)]
    with pytest.raises(TypeMismatchError, match="out of range"):
        driver.run(1, [Row(4), Row(2**62), Row(2**62)])
    assert postgres.query(f"SELECT n FROM {table}") == [(123,)]
    driver.run(1, [Row(4)])
    assert postgres.query(f"SELECT n FROM {table}") == [(1234,)]


def test_values_keep_their_types(postgres: PostgresServer, options: JdbcConnectionOptions) -> None:
    postgres.query("CREATE TABLE jdbc_types (a boolean, b timestamp, c bytea, d float8, e int[])")
    kinds = [Types.BOOLEAN(), Types.SQL_TIMESTAMP(), Types.PRIMITIVE_ARRAY(Types.BYTE())]
    kinds += [Types.DOUBLE(), Types.LIST(Types.INT())]
    sql = "INSERT INTO jdbc_types VALUES (?, ?, ?, ?, ?)"
    record = (True, dt.datetime(2024, 1, 1), b"\x00", 0.5, [1, 2])
    SinkDriver(JdbcSink.sink(sql, Types.ROW(kinds), options)).run(0, [Row(*record)])
    assert postgres.query("SELECT * FROM jdbc_types") == [record]


def test_a_statement_that_does_not_work_is_told(options: JdbcConnectionOptions) -> None:
    for sql, message in [
        ("INSERT INTO nowhere VALUES (?, ?)", 'relation "nowhere" does not exist'),
        ("INSRET INTO nowhere VALUES (?, ?)", "syntax error"),
    ]:
        with pytest.raises(ConnectorError, match=message) as caught:
            SinkDriver(JdbcSink.sink(sql, PAIR, options)).run(0, [Row("a", 1)])
        assert caught.value.fix
        assert PASSWORD not in str(caught.value)


def test_records_that_are_no_rows_are_refused(options: JdbcConnectionOptions) -> None:
    driver = SinkDriver(JdbcSink.sink("INSERT INTO t VALUES (?, ?)", PAIR, options))
    for record in ("ab", Row("a"), ("a", 1, 2), {"a": 1, "b": 2}):
        with pytest.raises(TypeMismatchError, match="is not a row of 2 fields"):
            driver.stage(0, [record])


def test_every_field_has_its_place(options: JdbcConnectionOptions) -> None:
    for sql in ("INSERT INTO t VALUES (?)", "INSERT INTO t VALUES (?, '?', \"?\")"):
        with pytest.raises(InvalidArgumentError, match=r"has 1 '\?', but the type has 2 fields"):
            JdbcSink.sink(sql, PAIR, options)


@pytest.mark.parametrize(
    ("sql", "statement", "marks"),
    [
        ("INSERT INTO t VALUES (?, ?)", "INSERT INTO t VALUES (%s, %s)", 2),
        ("SELECT '?''?' -- ?\n, ?", "SELECT '?''?' -- ?\n, %s", 1),
        ('SELECT "a?" /* ? \n ? */ % ?', 'SELECT "a?" /* ? \n ? */ %% %s', 1),
        ("SELECT $$?$$, $a$ ? $$ ? $a$, ?", "SELECT $$?$$, $a$ ? $$ ? $a$, %s", 1),
        ("SELECT j ?? 'a%' FROM t WHERE x = ?", "SELECT j ? 'a%%' FROM t WHERE x = %s", 1),
    ],
)
def test_question_marks_are_found_where_they_are_places(
    sql: str, statement: str, marks: int
) -> None:
    assert _with_percents(sql) == (statement, marks)


def test_options_give_back_what_they_were_given(options: JdbcConnectionOptions) -> None:
    assert options.get_db_url().startswith("jdbc:postgresql://127.0.0.1:")
    assert options.get_driver_name() == "org.postgresql.Driver"
    assert (options.get_user_name(), options.get_password()) == ("headrace", PASSWORD)
    defaults = JdbcExecutionOptions.defaults()
    assert defaults.get_batch_size() == 5000
    assert defaults.get_batch_interval_ms() == 0
    assert defaults.get_max_retries() == 3
    made = JdbcExecutionOptions.builder().with_batch_interval_ms(7).with_max_retries(1).build()
    assert (made.get_batch_interval_ms(), made.get_max_retries()) == (7, 1)


def test_user_and_password_may_stand_in_the_url() -> None:
    url = "jdbc:postgresql://h:5432/db?user=a%40b&password=x%2Fy&sslmode=require&prepareThreshold=1"
    options = JdbcConnectionOptions.JdbcConnectionOptionsBuilder().with_url(url).build()
    assert options._conninfo() == "postgresql://a%40b:x%2Fy@h:5432/db?sslmode=require"


@pytest.mark.parametrize(
    ("make", "kind", "message"),
    [
        (
            lambda b: b.with_url("jdbc:mysql://me:s3cret@h/db").build(),
            UnsupportedStepError,
            r"'jdbc:mysql://me:\*\*\*@h/db' is not a JDBC URL for PostgreSQL",
        ),
        (lambda b: b.build(), InvalidArgumentError, "has no URL"),
        (
            lambda _: JdbcExecutionOptions.builder().with_batch_size(0),
            InvalidArgumentError,
            "too small",
        ),
        (
            lambda _: JdbcExecutionOptions.builder().with_max_retries(-1),
            InvalidArgumentError,
            "too small",
        ),
    ],
)
def test_options_are_checked(make: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        make(JdbcConnectionOptions.JdbcConnectionOptionsBuilder())
