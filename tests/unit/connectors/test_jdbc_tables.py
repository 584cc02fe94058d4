"""Tables of PostgreSQL, on the local host: read, written, and asked for keys."""

from __future__ import annotations

import datetime
import decimal
import itertools
import pickle
from typing import TYPE_CHECKING, Any

import pytest

from headrace.common.changes import Changes
from headrace.common.data_types import DataTypes, RowType
from headrace.errors import ConfigurationError, UnsupportedStepError
from headrace.rel.connected_tables import origin_of, target_of
from headrace.spi.lookup_cache import CacheRules, LookupCache
from services import PASSWORD
from table_runs import read, row_type, table, write

if TYPE_CHECKING:
    from headrace.spi.table_connector import TableDefinition
    from services import PostgresServer

UTC = datetime.UTC
D = decimal.Decimal
_numbers = itertools.count()
PAIR = row_type(id=DataTypes.INT(nullable=False), name=DataTypes.STRING())


def jdbc(
    server: PostgresServer, name: str, columns: RowType = PAIR, **more: Any
) -> TableDefinition:
    options = {
        "url": f"jdbc:postgresql://127.0.0.1:{server.port}/headrace",
        "table-name": name,
        "username": "headrace",
        "password": PASSWORD,
        **more.pop("options", {}),
    }
    return table("jdbc", columns, options=options, **more)


@pytest.fixture
def name(postgres: PostgresServer) -> str:
    found = f"jdbc_table_{next(_numbers)}"
    postgres.query(f"CREATE TABLE {found} (id int primary key, name text)")
    return found


def test_values_of_all_types_go_there_and_back(postgres: PostgresServer) -> None:
    place = f"jdbc_types_{next(_numbers)}"
    postgres.query(
        f"CREATE TABLE {place} (a int, b text, c numeric(10, 2), d date, e time, f timestamp, "
        "h timestamptz, i int[], l bytea, m boolean, n double precision, o real, p bigint)"
    )
    columns = row_type(
        a=DataTypes.INT(), b=DataTypes.STRING(), c=DataTypes.DECIMAL(10, 2), d=DataTypes.DATE(),
        e=DataTypes.TIME(), f=DataTypes.TIMESTAMP(6), h=DataTypes.TIMESTAMP_LTZ(6),
        i=DataTypes.ARRAY(DataTypes.INT()), l=DataTypes.BYTES(), m=DataTypes.BOOLEAN(),
        n=DataTypes.DOUBLE(), o=DataTypes.FLOAT(), p=DataTypes.BIGINT(),
    )  # fmt: skip
    moment = datetime.datetime(2020, 1, 2, 3, 4, 5, 678901)
    lines = [
        (
            1, "ü", D("1.50"), moment.date(), datetime.time(3, 4, 5), moment,
            moment.replace(tzinfo=UTC), [1, 2], b"\x00", True, 0.1, 0.5, 2**40,
        ),
        (None,) * 13,
    ]  # fmt: skip
    definition = jdbc(postgres, place, columns)
    write(definition, lines)
    assert read(definition) == lines
    assert origin_of(definition).bounded


def test_lines_with_a_key_are_kept_once(postgres: PostgresServer, name: str) -> None:
    definition = jdbc(postgres, name, primary_key=("id",))
    assert target_of(definition).accepts(Changes.ALL) == Changes.UPSERT
    changes = [(1, "a", 0), (2, "b", 0), (1, "c", 2), (2, "b", 3), (3, "d", 0)]
    write(definition, changes, changes=Changes.UPSERT)
    assert sorted(read(definition)) == [(1, "c"), (3, "d")]
    keyless = jdbc(postgres, name)
    assert target_of(keyless).accepts(Changes.ALL) == Changes.INSERT


def test_a_table_can_be_read_in_parts(postgres: PostgresServer, name: str) -> None:
    postgres.query(f"INSERT INTO {name} SELECT n, 'x' || n FROM generate_series(1, 100) n")
    options = {
        "scan.partition.column": "id",
        "scan.partition.num": "7",
        "scan.partition.lower-bound": "1",
        "scan.partition.upper-bound": "95",
    }
    found = read(jdbc(postgres, name, options=options))
    assert sorted(found) == [(n, f"x{n}") for n in range(1, 96)]
    with pytest.raises(ConfigurationError, match=r"scan\.partition\.num"):
        origin_of(jdbc(postgres, name, options={"scan.partition.column": "id"}))


def test_keys_are_looked_up_and_remembered(postgres: PostgresServer, name: str) -> None:
    postgres.query(f"INSERT INTO {name} VALUES (1, 'a'), (2, 'b')")
    options = {"lookup.cache": "PARTIAL", "lookup.partial-cache.max-rows": "10"}
    make = origin_of(jdbc(postgres, name, options=options)).lookup
    assert make is not None
    lookup = pickle.loads(pickle.dumps(make(("id",))))
    lookup.open()
    keys: list[tuple[Any, ...]] = [(1,), (3,), (None,), (2,), (1,)]
    assert lookup.lookup(keys) == [[(1, "a")], [], [], [(2, "b")], [(1, "a")]]
    postgres.query(f"UPDATE {name} SET name = 'new' WHERE id = 1")
    postgres.query(f"INSERT INTO {name} VALUES (3, 'c')")
    assert lookup.lookup([(1,), (3,)]) == [[(1, "a")], []]
    lookup.close()
    without = origin_of(jdbc(postgres, name)).lookup
    assert without is not None
    fresh = without(("id", "name"))
    fresh.open()
    assert fresh.lookup([(1, "new"), (1, "a")]) == [[(1, "new")], []]
    fresh.close()


def test_a_cache_forgets_by_age_and_by_number() -> None:
    now = [0.0]
    cache = LookupCache(CacheRules(2, 1000, 500, missing_keys=False), lambda: now[0])
    cache.put((1,), [("a",)])
    cache.put((9,), [])
    assert (cache.get((1,)), cache.get((9,))) == ([("a",)], None)
    now[0] = 0.4
    assert cache.get((1,)) == [("a",)]
    now[0] = 0.8
    assert cache.get((1,)) == [("a",)], "used meanwhile"
    now[0] = 1.0
    assert cache.get((1,)) is None, "written too long ago"
    cache.put((1,), [("a",)])
    cache.put((2,), [("b",), ("c",)])
    assert len(cache) == 1
    now[0] = 1.6
    assert cache.get((2,)) is None, "not used for too long"


def test_other_databases_are_refused() -> None:
    options = {"url": "jdbc:mysql://localhost/x", "table-name": "t"}
    with pytest.raises(UnsupportedStepError, match="not a JDBC URL for PostgreSQL"):
        origin_of(table("jdbc", PAIR, options=options))
    with pytest.raises(ConfigurationError, match="needs the option 'table-name'"):
        origin_of(table("jdbc", PAIR, options={"url": "jdbc:postgresql://localhost/x"}))
