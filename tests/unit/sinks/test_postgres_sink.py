"""What a PostgreSQL sink writes, and what it refuses. Faults: test_postgres_faults.py"""

from __future__ import annotations

import dataclasses
import datetime as dt
import decimal
import itertools
import uuid
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from headrace.common.time import Instant
from headrace.common.typeinfo import Types
from headrace.common.types import Row, RowKind
from headrace.connectors.postgres import writer as postgres_writer
from headrace.connectors.postgres.table import KnownTable, describe_table
from headrace.data.codec import codec_for
from headrace.datastream.connectors.postgres import PostgresSink, Retries
from headrace.datastream.connectors.sink import WriterContext
from headrace.errors import (
    ConnectorError,
    EnvironmentSetupError,
    HeadraceError,
    InvalidArgumentError,
    TypeMismatchError,
)
from headrace.io.server_calls import sink_hash
from headrace.spi import staging
from headrace.testing.connectors import SinkDriver

if TYPE_CHECKING:
    from services import PostgresServer

_numbers = itertools.count()


@pytest.fixture
def table(postgres: PostgresServer) -> str:
    """The name for a table that this test may make."""
    return f"t{next(_numbers)}"


@pytest.fixture(params=["inline", "staged"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Rows travel with the committable, or wait in a staging table: the result is the same."""
    if request.param == "staged":
        monkeypatch.setattr(staging, "INLINE_BYTES", -1)
    return str(request.param)


def staging_tables(postgres: PostgresServer, *drivers: SinkDriver) -> list[str]:
    """The staging tables of these jobs; other tests may have left theirs."""
    found = postgres.query("SELECT relname FROM pg_class WHERE relname LIKE 'headrace_stage%'")
    hashes = [sink_hash(driver.job_id, driver.uid) for driver in drivers]
    return [name for (name,) in found if any(sink in name for sink in hashes)]


class Order(NamedTuple):
    id: int
    city: str | None


@dataclasses.dataclass
class OrderClass:
    city: str | None
    id: int


@pytest.mark.parametrize(
    "records",
    [
        [(1, "Rome"), (2, None), (3, "")],
        [[1, "Rome"], [2, None], [3, ""]],
        [Row(1, "Rome"), Row(2, None), Row(3, "")],
        [Row(city="Rome", id=1), Row(id=2, city=None), Row(id=3, city="")],
        [{"city": "Rome", "id": 1}, {"id": 2, "city": None}, {"id": 3, "city": ""}],
        [Order(1, "Rome"), Order(2, None), Order(3, "")],
        [OrderClass("Rome", 1), OrderClass(None, 2), OrderClass("", 3)],
    ],
    ids=["tuples", "lists", "rows", "named rows", "dicts", "named tuples", "dataclasses"],
)
def test_records_of_every_shape_find_their_columns(
    postgres: PostgresServer, table: str, way: str, records: list[Any]
) -> None:
    postgres.query(f"CREATE TABLE {table} (id int, city text)")
    driver = SinkDriver(PostgresSink.append(postgres.url, table))
    driver.run(0, records)
    assert postgres.query(f"SELECT * FROM {table}") == [(1, "Rome"), (2, None), (3, "")]
    assert staging_tables(postgres, driver) == []


def test_values_of_every_type_come_back(postgres: PostgresServer, table: str, way: str) -> None:
    utc = dt.UTC
    values: dict[str, tuple[str, Any]] = {
        "a": ("boolean", True),
        "b": ("smallint", -3),
        "c": ("numeric", decimal.Decimal("1.50")),
        "d": ("double precision", 1e-300),
        "e": ("double precision", float("-inf")),
        "f": ("text", 'a "quoted",\n\\N \\. text\t€'),
        "g": ("varchar(3)", ""),
        "h": ("bytea", b"\x00\xff"),
        "i": ("timestamp", dt.datetime(2024, 2, 29, 1, 2, 3, 456789)),
        "j": ("timestamptz", dt.datetime(1960, 1, 1, 2, tzinfo=utc)),
        "k": ("date", dt.date(2024, 1, 1)),
        "l": ("time", dt.time(23, 59, 59, 1)),
        "m": ("interval", dt.timedelta(days=-2, seconds=5, microseconds=7)),
        "n": ("uuid", uuid.UUID(int=5)),
        "o": ("jsonb", {"a": [1, None, {"b": "€"}]}),
        "p": ("json", [1, 2]),
        "q": ("int[]", [1, None, 3]),
        "r": ("text[]", ['a"b', "c\\d", "", "NULL", "{}"]),
        "s": ("int[]", [[1, 2], [3, 4]]),
        "t": ("bigint", 2**63 - 1),
        "u": ("text", None),
        "v": ("jsonb", None),
    }
    columns = ", ".join(f"{name} {kind}" for name, (kind, _) in values.items())
    postgres.query(f"CREATE TABLE {table} ({columns})")
    record = {name: value for name, (_, value) in values.items()}
    SinkDriver(PostgresSink.append(postgres.url, table)).run(0, [record])
    assert postgres.query(f"SELECT * FROM {table}") == [tuple(record.values())]


def test_a_naive_time_is_utc(postgres: PostgresServer, table: str) -> None:
    postgres.query(f"CREATE TABLE {table} (at timestamptz)")
    moment = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)
    records = [(moment.replace(tzinfo=None),), (Instant(int(moment.timestamp()), 0),), (moment,)]
    SinkDriver(PostgresSink.append(postgres.url, table)).run(0, records)
    assert postgres.query(f"SELECT DISTINCT at FROM {table}") == [(moment,)]


def test_columns_of_arrow_are_written_as_they_are(
    postgres: PostgresServer, table: str, way: str
) -> None:
    kinds = {
        "n": (Types.LONG(), "bigint", [1, None, -5]),
        "x": (Types.DOUBLE(), "float8", [0.1, None, float("nan")]),
        "s": (Types.STRING(), "text", ['a,"b"\n', None, ""]),
        "b": (Types.BOOLEAN(), "boolean", [True, None, False]),
        "t": (Types.SQL_TIMESTAMP(), "timestamp", [dt.datetime(2024, 1, 1), None, None]),
        "i": (Types.INSTANT(), "timestamptz", [Instant(1, 5000), None, None]),
        "d": (Types.SQL_DATE(), "date", [dt.date(1900, 1, 1), None, None]),
        "h": (Types.SQL_TIME(), "time", [dt.time(1, 2, 3, 4), None, None]),
        "m": (Types.BIG_DEC(), "numeric", [decimal.Decimal("1.10"), None, None]),
        "j": (Types.STRING(), "jsonb", ['{"a": 1}', None, None]),
    }
    type_info = Types.ROW_NAMED(list(kinds), [kind[0] for kind in kinds.values()])
    columns = ", ".join(f"{name} {kind[1]}" for name, kind in kinds.items())
    postgres.query(f"CREATE TABLE {table} (id serial, {columns})")
    records = [Row(*values) for values in zip(*(kind[2] for kind in kinds.values()), strict=True)]

    sink = PostgresSink.append(postgres.url, table)
    driver = SinkDriver(sink)
    writer = sink.create_writer(WriterContext(0, 1, "a", driver.job_id, "out", 0, type_info))
    assert writer.write_arrow(codec_for(type_info).encode(records), None)
    driver.committer.commit(0, writer.prepare_commit())
    driver.run(1, records, type_info=type_info)

    names = ", ".join(kinds)
    stored = postgres.query(f"SELECT {names} FROM {table} ORDER BY id")
    assert repr(stored[:3]) == repr(stored[3:])
    assert stored[0][:2] == (1, 0.1)
    assert stored[0][5] == dt.datetime(1970, 1, 1, 0, 0, 1, 5, tzinfo=dt.UTC)
    assert stored[2][2] == ""


def test_columns_that_arrow_cannot_write_come_as_records(
    postgres: PostgresServer, table: str
) -> None:
    postgres.query(f"CREATE TABLE {table} (id int, tags text[])")
    type_info = Types.ROW_NAMED(["id", "tags"], [Types.INT(), Types.OBJECT_ARRAY(Types.STRING())])
    sink = PostgresSink.append(postgres.url, table)
    writer = sink.create_writer(WriterContext(0, 1, "a", "j", "out", 0, type_info))
    assert not writer.write_arrow(codec_for(type_info).encode([Row(1, ["a"])]), None)
    writer.abort()


def test_tuples_of_a_typed_stream_are_the_columns_in_order(
    postgres: PostgresServer, table: str
) -> None:
    postgres.query(f"CREATE TABLE {table} (word text, n int)")
    pair = Types.TUPLE([Types.STRING(), Types.INT()])
    sink = PostgresSink.append(postgres.url, table)
    driver = SinkDriver(sink)
    writer = sink.create_writer(WriterContext(0, 1, "a", driver.job_id, "out", 0, pair))
    assert writer.write_arrow(codec_for(pair).encode([("a", 1), ("b", 2)]), None)
    driver.committer.commit(0, writer.prepare_commit())
    assert postgres.query(f"SELECT * FROM {table}") == [("a", 1), ("b", 2)]


def test_plain_values_fill_the_one_column_that_is_asked_for(
    postgres: PostgresServer, table: str
) -> None:
    postgres.query(f"CREATE TABLE {table} (id serial PRIMARY KEY, word text)")
    sink = PostgresSink.append(postgres.url, table, columns=["word"])
    SinkDriver(sink).run(0, ["tea", "milk", "oil"])
    assert postgres.query(f"SELECT * FROM {table}") == [(1, "tea"), (2, "milk"), (3, "oil")]


def test_columns_choose_among_the_fields(postgres: PostgresServer, table: str) -> None:
    postgres.query(f"CREATE TABLE {table} (a int DEFAULT 7, b int)")
    sink = PostgresSink.append(postgres.url, table, columns=["b"])
    SinkDriver(sink).run(0, [{"b": 1, "c": "not written"}])
    assert postgres.query(f"SELECT * FROM {table}") == [(7, 1)]


def test_appended_rows_keep_the_order_of_each_subtask(
    postgres: PostgresServer, table: str, way: str
) -> None:
    postgres.query(f"CREATE TABLE {table} (id serial, n int)")
    sink = PostgresSink.append(postgres.url, table, columns=["n"])
    SinkDriver(sink).run(0, list(range(5)), list(range(10, 15)), [], [20])
    stored = postgres.query(f"SELECT n FROM {table} ORDER BY id")
    assert [n for (n,) in stored] == [0, 1, 2, 3, 4, 10, 11, 12, 13, 14, 20]


def test_names_are_those_of_sql(postgres: PostgresServer) -> None:
    postgres.query('CREATE SCHEMA "My Sales"')
    postgres.query('CREATE TABLE "My Sales"."Or""ders" ("Id %s" int PRIMARY KEY, "sel;ect" text)')
    name = '"My Sales"."Or""ders"'
    for sink in (
        PostgresSink.append(postgres.url, name, staging_schema="My Sales"),
        PostgresSink.upsert(postgres.url, name, "Id %s", staging_schema="My Sales"),
    ):
        driver = SinkDriver(sink, uid="ünïcode 'uid' %s")
        driver.run(0, [{"Id %s": 1 if "append" in repr(sink) else 2, "sel;ect": "x"}])
    assert postgres.query(f"SELECT * FROM {name}") == [(1, "x"), (2, "x")]
    assert len(postgres.query('SELECT * FROM "My Sales".headrace_commits')) == 2


# upserts


def test_the_last_change_of_a_key_counts(postgres: PostgresServer, table: str, way: str) -> None:
    postgres.query(f"CREATE TABLE {table} (k text PRIMARY KEY, n int, kept text DEFAULT 'yes')")
    driver = SinkDriver(PostgresSink.upsert(postgres.url, table, key="k"))
    driver.run(
        0, [{"k": "a", "n": 1}, {"k": "b", "n": 2}, {"k": "a", "n": 3}], [{"k": "c", "n": 9}]
    )
    assert sorted(postgres.query(f"SELECT * FROM {table}")) == [
        ("a", 3, "yes"),
        ("b", 2, "yes"),
        ("c", 9, "yes"),
    ]
    postgres.query(f"UPDATE {table} SET kept = 'still' WHERE k = 'b'")
    driver.run(1, [{"k": "b", "n": 20}])
    assert postgres.query(f"SELECT * FROM {table} WHERE k = 'b'") == [("b", 20, "still")]
    assert staging_tables(postgres, driver) == []


def test_a_higher_subtask_counts_as_later(postgres: PostgresServer, table: str, way: str) -> None:
    postgres.query(f"CREATE TABLE {table} (k int PRIMARY KEY, n int)")
    driver = SinkDriver(PostgresSink.upsert(postgres.url, table, key="k"))
    driver.run(0, [(1, 10), (1, 11)], [(1, 20)], [(2, 5)])
    assert sorted(postgres.query(f"SELECT * FROM {table}")) == [(1, 20), (2, 5)]


def test_changes_follow_the_kinds_of_rows(postgres: PostgresServer, table: str, way: str) -> None:
    postgres.query(f"CREATE TABLE {table} (k int, l text, n int NOT NULL, PRIMARY KEY (k, l))")
    driver = SinkDriver(PostgresSink.upsert(postgres.url, table, key=["k", "l"]))

    def row(kind: RowKind, k: int, n: int | None) -> Row:
        return Row.of_kind(kind, k=k, l="x", n=n)

    insert, before, after, delete = RowKind
    driver.run(0, [row(insert, 1, 1), row(insert, 2, 2), row(insert, 3, 3), row(insert, 4, 4)])
    driver.run(
        1,
        [row(before, 1, 1), row(after, 1, 10), row(delete, 2, None), row(delete, 5, None)],
        [row(delete, 3, 3), row(insert, 3, 30), row(insert, 6, 6), row(delete, 6, 6)],
    )
    stored = sorted(postgres.query(f"SELECT k, n FROM {table}"))
    assert stored == [(1, 10), (3, 30), (4, 4)]


def test_a_table_of_keys_alone_can_be_upserted(postgres: PostgresServer, table: str) -> None:
    postgres.query(f"CREATE TABLE {table} (k int PRIMARY KEY)")
    driver = SinkDriver(PostgresSink.upsert(postgres.url, table, key="k"))
    driver.run(0, [(1,), (1,), (2,)])
    driver.run(1, [(2,), (3,)])
    assert sorted(postgres.query(f"SELECT * FROM {table}")) == [(1,), (2,), (3,)]


def test_a_process_asks_for_the_columns_once_and_again_after_a_failure(
    postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    postgres.query("CREATE TABLE remembered (n int)")
    asked: list[str] = []

    def describe(connection: Any, table: str, where: str) -> KnownTable:
        asked.append(table)
        return describe_table(connection, table, where)

    monkeypatch.setattr(postgres_writer, "describe_table", describe)
    driver = SinkDriver(PostgresSink.append(postgres.url, "remembered"))
    for batch in range(3):
        driver.run(batch, [{"n": batch}], [{"n": batch}])
    assert len(asked) == 1

    postgres.query("ALTER TABLE remembered ADD COLUMN word text")
    with pytest.raises(TypeMismatchError, match="'word', but that column is not there"):
        driver.stage(3, [{"n": 3, "word": "x"}])
    driver.run(3, [{"n": 3, "word": "x"}])
    assert len(asked) == 2

    # The commit failed on the driver, far from this memory: the batch that comes again asks.
    driver.stage(4, [{"n": 4, "word": "x"}])
    postgres.query("ALTER TABLE remembered DROP COLUMN word")
    with pytest.raises(TypeMismatchError, match="'word', but that column is not there"):
        driver.stage(4, [{"n": 4, "word": "x"}])
    driver.run(4, [{"n": 4}])
    assert postgres.query("SELECT sum(n), count(*) FROM remembered") == [(13, 8)]


# what is refused


def told(error: HeadraceError, *parts: str) -> None:
    """The error has all its three parts, and no password."""
    assert error.where
    assert error.fix
    for part in parts:
        assert part in str(error)
    assert "s3cret" not in str(error)


def test_a_table_that_is_not_there_is_told_before_the_job_runs(postgres: PostgresServer) -> None:
    postgres.query("CREATE TABLE customers_of_test (id int)")
    with pytest.raises(ConnectorError) as caught:
        _ = SinkDriver(PostgresSink.append(postgres.url, "customer_of_test")).committer
    told(caught.value, "no table customer_of_test", "did you mean 'customers_of_test'?")


def test_a_wrong_password_is_not_tried_again(postgres: PostgresServer) -> None:
    url = postgres.url.replace("s3cret%20pass", "s3cret")
    sink = PostgresSink.append(url, "t", retries=Retries(attempts=9, first_delay_s=60))
    with pytest.raises(ConnectorError, match="password authentication failed") as caught:
        _ = SinkDriver(sink).committer
    told(caught.value, "check user and password")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("/headrace", "/nowhere", 'database "nowhere" does not exist'),
        ("//headrace:", "//nobody:", "authentication failed"),
    ],
)
def test_a_database_or_user_that_is_not_there(
    postgres: PostgresServer, old: str, new: str, message: str
) -> None:
    before, _, after = postgres.url.rpartition(old)
    url = before + new + after
    sink = PostgresSink.append(url, "t", retries=Retries(attempts=9, first_delay_s=60))
    with pytest.raises(ConnectorError, match=message) as caught:
        _ = SinkDriver(sink).committer
    told(caught.value)


def test_a_server_that_is_away_is_waited_for_a_while() -> None:
    retries = Retries(attempts=3, first_delay_s=0.01)
    sink = PostgresSink.append("postgresql://me:s3cret@127.0.0.1:1/db", "t", retries=retries)
    with pytest.raises(ConnectorError, match="refused") as caught:
        _ = SinkDriver(sink).committer
    told(
        caught.value, "check that the server runs", "table t of postgresql://me:***@127.0.0.1:1/db"
    )


@pytest.mark.parametrize(
    ("record", "parts"),
    [
        ({"id": 1, "citi": "x"}, ["'citi'", "did you mean 'city'?", "columns are id, city, age"]),
        ({"city": "x"}, ["no value for column id"]),
        ((1, "x"), ["2 fields without names", "id, city, age"]),
        ({"id": 1, "upper": "x"}, ["'upper'", "generated by the database"]),
        ({"id": 1, "city": object()}, ["object", "'city'", "text"]),
        ({"id": 1, "city": {"a": 1}}, ["{'a': 1} (dict)", "json"]),
        ({"id": 1, "city": "\ud800"}, ["not valid Unicode"]),
    ],
)
def test_a_record_that_does_not_fit_is_refused_in_the_worker(
    postgres: PostgresServer, table: str, record: Any, parts: list[str]
) -> None:
    postgres.query(
        f"CREATE TABLE {table} (id int NOT NULL, city text, age smallint, "
        "upper text GENERATED ALWAYS AS (upper(city)) STORED)"
    )
    with pytest.raises(TypeMismatchError) as caught:
        SinkDriver(PostgresSink.append(postgres.url, table)).stage(0, [record])
    told(caught.value, *parts)


@pytest.mark.parametrize(
    ("record", "parts"),
    [
        ({"id": "five", "age": 1}, ['invalid input syntax for type integer: "five"', "column id"]),
        ({"id": 1, "age": 70_000}, ["out of range for type smallint", 'column age: "70000"']),
        ({"id": None, "age": 1}, ['null value in column "id"']),
        ({"id": 1, "age": 1.5}, ["invalid input syntax", "column age"]),
    ],
)
def test_a_value_that_does_not_fit_its_column_is_told_with_the_column(
    postgres: PostgresServer, table: str, way: str, record: Any, parts: list[str]
) -> None:
    postgres.query(f"CREATE TABLE {table} (id int NOT NULL, age smallint)")
    driver = SinkDriver(PostgresSink.append(postgres.url, table))
    good = {"id": 1, "age": 1}
    with pytest.raises(TypeMismatchError) as caught:
        driver.run(0, [good, record])
    told(caught.value, *parts, "convert" if "null" not in parts[0] else "in every record")
    driver.restart()
    driver.run(0, [good])
    assert postgres.query(f"SELECT * FROM {table}") == [(1, 1)]
    assert staging_tables(postgres, driver) == []


def test_records_with_other_fields_than_the_first_are_refused(
    postgres: PostgresServer, table: str
) -> None:
    postgres.query(f"CREATE TABLE {table} (a int, b int)")
    driver = SinkDriver(PostgresSink.append(postgres.url, table))
    for second, message in [
        ({"a": 1}, "no field 'b'"),
        ({"a": 1, "b": 1, "c": 1}, "has the field 'c'"),
        ((1, 2, 3), "has 3 fields"),
    ]:
        with pytest.raises(TypeMismatchError, match=message):
            driver.stage(0, [{"a": 1, "b": 1}, second])


def test_rows_that_take_back_cannot_be_appended(postgres: PostgresServer, table: str) -> None:
    postgres.query(f"CREATE TABLE {table} (a int)")
    with pytest.raises(TypeMismatchError, match=r"kind -D.*only appends") as caught:
        SinkDriver(PostgresSink.append(postgres.url, table)).stage(
            0, [Row.of_kind(RowKind.DELETE, 1)]
        )
    told(caught.value, "PostgresSink.upsert")


def test_a_key_needs_a_unique_index(postgres: PostgresServer, table: str) -> None:
    postgres.query(f"CREATE TABLE {table} (a int, b int, c int, UNIQUE (a, b))")
    postgres.query(f"CREATE UNIQUE INDEX ON {table} (c) WHERE c > 0")
    for key in ("a", "c", ["a", "b", "c"]):
        with pytest.raises(InvalidArgumentError, match="no unique index") as caught:
            _ = SinkDriver(PostgresSink.upsert(postgres.url, table, key)).committer
        told(caught.value, "ADD PRIMARY KEY")
    with pytest.raises(InvalidArgumentError, match="'d' is not in table"):
        _ = SinkDriver(PostgresSink.upsert(postgres.url, table, "d")).committer
    _ = SinkDriver(PostgresSink.upsert(postgres.url, table, ["b", "a"])).committer


def test_a_key_is_never_null(postgres: PostgresServer, table: str, way: str) -> None:
    postgres.query(f"CREATE TABLE {table} (a int UNIQUE, b int)")
    driver = SinkDriver(PostgresSink.upsert(postgres.url, table, "a"))
    with pytest.raises(TypeMismatchError, match='null value in column "a"'):
        driver.run(0, [(None, 1)])
    with pytest.raises(TypeMismatchError, match="no field for the key column a"):
        driver.run(0, [{"b": 1}])
    with pytest.raises(TypeMismatchError, match="some records of the batch"):
        driver.run(0, [{"a": 1, "b": 1}], [{"a": 2}])
    assert postgres.query(f"SELECT * FROM {table}") == []


def test_a_second_row_of_a_key_cannot_be_appended(
    postgres: PostgresServer, table: str, way: str
) -> None:
    postgres.query(f"CREATE TABLE {table} (a int PRIMARY KEY)")
    driver = SinkDriver(PostgresSink.append(postgres.url, table))
    driver.run(0, [(1,)])
    with pytest.raises(ConnectorError, match="duplicate key") as caught:
        driver.run(1, [(2,), (3,), (1,)])
    told(caught.value, "(a)=(1)", "PostgresSink.upsert")
    assert postgres.query(f"SELECT * FROM {table}") == [(1,)]


def test_a_user_without_rights_is_told_which(postgres: PostgresServer, table: str) -> None:
    postgres.query(f"CREATE TABLE {table} (a int)")
    user = f"reader_{table}"
    postgres.query(f"CREATE USER {user} PASSWORD 'x'")
    url = f"postgresql://{user}:x@127.0.0.1:{postgres.port}/headrace"
    with pytest.raises(ConnectorError, match="permission denied") as caught:
        SinkDriver(PostgresSink.append(url, table)).run(0, [(1,)])
    told(caught.value, "grant the user INSERT", "staging_schema")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: PostgresSink.append("no connection string", "t"), "is not a connection string"),
        (lambda: PostgresSink.append(5, "t"), "is not a connection string"),  # type: ignore[arg-type]
        (lambda: PostgresSink.append("host=h password=s3cret foo=1", "t"), "password=\\*\\*\\*"),
        (lambda: PostgresSink.append("host=h", " "), "is not a table name"),
        (lambda: PostgresSink.append("host=h", "t", columns="a"), "columns is the text"),
        (lambda: PostgresSink.upsert("host=h", "t", []), "at least one key"),
        (lambda: PostgresSink.upsert("host=h", "t", "a", columns=["b"]), "not among columns"),
    ],
)
def test_arguments_are_checked_when_the_sink_is_made(make: Any, message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message) as caught:
        make()
    told(caught.value)


def test_without_the_client_library_the_command_to_install_it_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "psycopg", None)
    with pytest.raises(EnvironmentSetupError) as caught:
        PostgresSink.append("host=h", "t")
    told(caught.value, "pip install 'headrace[postgres]'")


def test_no_password_is_shown() -> None:
    for conninfo in ("postgresql://me:s3cret@h/db", "host=h password='s3 cr\\'et' user=me"):
        shown = repr(PostgresSink.append(conninfo, "t")) + repr(
            PostgresSink.upsert(conninfo, "t", "k")
        )
        assert "***" in shown
        assert "s3" not in shown
