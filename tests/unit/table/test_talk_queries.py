"""The queries by which Flink's talks explain SQL on streams, on rows of our own."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pytest

from headrace.common import Types
from headrace.datastream import StreamExecutionEnvironment
from headrace.table import DataTypes, Schema, StreamTableEnvironment

if TYPE_CHECKING:
    from headrace.common.typeinfo import TypeInformation


def at(hour: int, minute: int = 0) -> datetime:
    return datetime(2026, 1, 1, hour, minute)


@pytest.fixture
def t_env() -> StreamTableEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    made = StreamTableEnvironment.create(env)
    made.get_config().set("headrace.execution.host", "local")
    return made


def add(
    t_env: StreamTableEnvironment,
    name: str,
    columns: dict[str, tuple[TypeInformation, Any]],
    rows: list[tuple[Any, ...]],
    rowtime: str | None = None,
) -> None:
    """A table of a stream, whose watermark is five minutes behind."""
    infos = [info for info, _ in columns.values()]
    stream = t_env._env.from_collection(rows, Types.ROW_NAMED(list(columns), infos))
    builder = Schema.new_builder()
    for column, (_, kind) in columns.items():
        builder = builder.column(column, kind)
    if rowtime is not None:
        builder = builder.watermark(rowtime, f"{rowtime} - INTERVAL '5' MINUTES")
    t_env.create_temporary_view(name, t_env.from_data_stream(stream, builder.build()))


INT = (Types.INT(), DataTypes.INT())
TEXT = (Types.STRING(), DataTypes.STRING())
DOUBLE = (Types.DOUBLE(), DataTypes.DOUBLE())
TIME = (Types.SQL_TIMESTAMP(), DataTypes.TIMESTAMP(3))


def rows_of(t_env: StreamTableEnvironment, query: str) -> Counter[tuple[Any, ...]]:
    found: Counter[tuple[Any, ...]] = Counter()
    for row in t_env.execute_sql(query).collect():
        found[tuple(row)] += 1 if str(row.get_row_kind()) in ("+I", "+U") else -1
    return +found


def test_the_mean_temperature_of_rooms_per_hour(t_env: StreamTableEnvironment) -> None:
    readings = [
        (1, 20.0, at(8, 5)),
        (2, 18.0, at(8, 40)),
        (1, 24.0, at(8, 50)),
        (1, 30.0, at(9, 1)),
    ]
    add(t_env, "sensors", {"room": INT, "temp": DOUBLE, "rowtime": TIME}, readings, "rowtime")
    query = """
        SELECT room, TUMBLE_END(rowtime, INTERVAL '1' HOUR), AVG(temp)
        FROM sensors
        GROUP BY TUMBLE(rowtime, INTERVAL '1' HOUR), room"""
    assert rows_of(t_env, query) == Counter(
        {(1, at(9), 22.0): 1, (2, at(9), 18.0): 1, (1, at(10), 30.0): 1}
    )


def test_departures_with_arrivals_within_two_hours(t_env: StreamTableEnvironment) -> None:
    departures = [(1, at(8)), (2, at(8, 30)), (3, at(9))]
    arrivals = [(1, at(9, 15)), (2, at(11)), (4, at(11, 30))]
    add(t_env, "departures", {"ride": INT, "departed": TIME}, departures, "departed")
    add(t_env, "arrivals", {"ride": INT, "arrived": TIME}, arrivals, "arrived")
    query = """
        SELECT d.ride, d.departed, a.arrived
        FROM departures AS d LEFT OUTER JOIN arrivals AS a
        ON d.ride = a.ride
        AND a.arrived BETWEEN d.departed AND d.departed + INTERVAL '2' HOURS"""
    assert rows_of(t_env, query) == Counter(
        {(1, at(8), at(9, 15)): 1, (2, at(8, 30), None): 1, (3, at(9), None): 1}
    )


def test_users_and_their_orders(t_env: StreamTableEnvironment) -> None:
    add(t_env, "users", {"id": INT, "name": TEXT}, [(1, "ada"), (2, "bob")])
    orders = [(10, 1, 5.0), (11, 2, 7.0), (12, 1, 1.0), (13, 9, 2.0)]
    add(t_env, "orders", {"nr": INT, "user_id": INT, "price": DOUBLE}, orders)
    query = "SELECT u.name, o.nr FROM users AS u JOIN orders AS o ON u.id = o.user_id"
    assert rows_of(t_env, query) == Counter({("ada", 10): 1, ("bob", 11): 1, ("ada", 12): 1})
    totals = """
        SELECT name, SUM(price) FROM users JOIN orders ON users.id = orders.user_id GROUP BY name"""
    assert rows_of(t_env, totals) == Counter({("ada", 6.0): 1, ("bob", 7.0): 1})
