"""Temporal and lookup joins from SQL text to lines, on the local runner."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from headrace.datastream import StreamExecutionEnvironment
from headrace.rel import nodes as n
from headrace.rel.planner import PlanSettings, TablePlanner
from headrace.rel.resolve.resolver import Resolver
from headrace.sql.parser import parse_query
from headrace.testing import collect_locally
from rel_tables import INT, STRING, TIMESTAMP, TestCatalogs, at, scan

ORDERS = scan(
    "orders",
    {"id": INT, "currency": STRING, "ts": TIMESTAMP},
    [(1, "EUR", at(1)), (2, "EUR", at(5)), (3, "USD", at(6)), (4, "EUR", at(9)), (5, None, at(9))],
    rowtime="ts",
)
RATES = scan(
    "rates",
    {"currency": STRING, "rate": INT, "since": TIMESTAMP},
    [("EUR", 10, at(2)), ("USD", 7, at(3)), ("EUR", 11, at(8))],
    key=(0,),
    rowtime="since",
)


class Names:
    """A table outside."""

    def open(self) -> None:
        self.known = {"EUR": [("EUR", "Euro", 2)], "USD": [("USD", "Dollar", 2)]}

    def lookup(self, keys: list[tuple[Any, ...]]) -> list[list[tuple[Any, ...]]]:
        return [self.known.get(key[0], []) for key in keys]

    def close(self) -> None:
        pass


def outside() -> n.Rel:
    made = scan("names", {"code": STRING, "name": STRING, "digits": INT})
    assert isinstance(made, n.Scan)
    return replace(made, table=replace(made.table, lookup=lambda names: Names()))


def run(text: str) -> list[tuple[Any, ...]]:
    catalogs = TestCatalogs({"orders": ORDERS, "rates": RATES, "names": outside()})
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    rel = Resolver(catalogs).query(parse_query(text))
    stream, _, schema = TablePlanner(env, PlanSettings()).to_stream(rel)
    return sorted((line[: len(schema)] for line in collect_locally(stream)), key=repr)


def test_a_temporal_join_in_event_time() -> None:
    query = (
        "SELECT o.id, r.rate FROM orders AS o {} rates FOR SYSTEM_TIME AS OF o.ts AS r "
        "ON o.currency = r.currency"
    )
    assert run(query.format("JOIN")) == [(2, 10), (3, 7), (4, 11)]
    assert run(query.format("LEFT JOIN")) == [(1, None), (2, 10), (3, 7), (4, 11), (5, None)]


def test_a_lookup_join() -> None:
    query = (
        "SELECT o.id, x.name FROM (SELECT *, PROCTIME() AS pt FROM orders) AS o "
        "LEFT JOIN names FOR SYSTEM_TIME AS OF o.pt AS x ON o.currency = x.code AND o.id < 4"
    )
    assert run(query) == [(1, "Euro"), (2, "Euro"), (3, "Dollar"), (4, None), (5, None)]
