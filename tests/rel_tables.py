"""Tables for tests of plans: a catalog in memory, and queries run without Spark."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from headrace.common import data_types as t
from headrace.common.changes import Changes
from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.connectors.collection.source import CollectionSource
from headrace.datastream import StreamExecutionEnvironment
from headrace.rel import nodes as n
from headrace.rel.explain import tree
from headrace.rel.planner import PlanSettings, TablePlanner, optimised
from headrace.rel.resolve.resolver import Resolver
from headrace.rel.steps import line_type
from headrace.rel.tables import TableOrigin
from headrace.scalars.nodes import Ref
from headrace.scalars.session import ScalarSession
from headrace.sql.parser import parse_query
from headrace.testing import collect_locally

if TYPE_CHECKING:
    from headrace.api.table.definitions import UserFunctionDefinition
    from headrace.datastream.data_stream import DataStream

INT, BIGINT, STRING = t.IntType(), t.BigIntType(), t.DataTypes.STRING()
TIMESTAMP = t.TimestampType(3)


def at(minute: int) -> dt.datetime:
    """A moment of one morning."""
    return dt.datetime(2020, 4, 15, 8) + dt.timedelta(minutes=minute)


def scan(
    name: str,
    columns: dict[str, t.DataType],
    rows: list[tuple[Any, ...]] | None = None,
    key: tuple[int, ...] = (),
    rowtime: str | None = None,
) -> n.Rel:
    """A table of some lines; its watermark is the largest `rowtime`."""
    schema = tuple(n.Field(each, kind) for each, kind in columns.items())
    lines = line_type(schema, changes=False)

    def stream(env: StreamExecutionEnvironment) -> DataStream:
        source = CollectionSource(list(rows or ()), lines)
        return env.from_source(source, WatermarkStrategy.no_watermarks(), name)

    made: n.Rel = n.Scan(TableOrigin(name, stream, Changes.INSERT, key), schema=schema)
    if rowtime is not None:
        place = list(columns).index(rowtime)
        marked = [*schema]
        marked[place] = schema[place]._replace(time=n.TimeAttribute.ROWTIME)
        made = n.WatermarkAssigner(made, place, Ref(place, TIMESTAMP), schema=tuple(marked))
    return made


@dataclass
class TestCatalogs:
    """Tables by name."""

    __test__ = False
    tables: dict[str, n.Rel]
    functions: dict[str, UserFunctionDefinition] = field(default_factory=dict)

    def find_table(
        self, path: tuple[str, ...], options: dict[str, str] | None = None
    ) -> tuple[tuple[str, ...], n.Rel] | None:
        found = self.tables.get(path[-1])
        return None if found is None else (path, found)

    def find_function(self, path: tuple[str, ...]) -> UserFunctionDefinition | None:
        return self.functions.get(path[-1])

    def table_names(self) -> list[str]:
        return list(self.tables)


CATALOGS = TestCatalogs(
    {
        "orders": scan(
            "orders",
            {"k": STRING, "a": INT, "b": BIGINT},
            [("x", 1, 10), ("y", 2, 20), ("x", 3, 30), (None, 4, None)],
        ),
        "users": scan("users", {"name": STRING, "age": INT}, [("x", 40), ("z", 5)], key=(0,)),
        "bids": scan(
            "bids",
            {"ts": TIMESTAMP, "item": STRING, "price": INT},
            [
                (at(5), "A", 4),
                (at(7), "B", 2),
                (at(9), "A", 5),
                (at(11), "B", 3),
                (at(13), "A", 1),
                (at(17), "C", 6),
            ],
            rowtime="ts",
        ),
        "asks": scan(
            "asks", {"moment": TIMESTAMP, "what": STRING}, [(at(6), "A")], rowtime="moment"
        ),
    }
)


def resolved(text: str) -> n.Rel:
    """What a query means."""
    return Resolver(CATALOGS).query(parse_query(text))


def planned(rel: n.Rel) -> n.Rel:
    """What of a plan runs, in a session without options."""
    return optimised(rel, ScalarSession())


def plan_of(text: str) -> list[str]:
    """The nodes of a query that run, top down, each with its depth."""
    return [line.split("(")[0].strip() for line in tree(planned(resolved(text)))]


def run(text: str) -> list[tuple[Any, ...]]:
    """The lines that a query gives, on one subtask; with changes the last cell is the kind."""
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    stream, _, _ = TablePlanner(env, PlanSettings()).to_stream(resolved(text))
    return collect_locally(stream)


def final_table(text: str) -> list[tuple[Any, ...]]:
    """The table that is left when all changes of a query were applied, sorted."""
    env = StreamExecutionEnvironment.get_execution_environment()
    stream, changes, schema = TablePlanner(env, PlanSettings()).to_stream(resolved(text))
    found = collect_locally(stream)
    if changes.only_inserts:
        return sorted(found, key=repr)
    table: list[tuple[Any, ...]] = []
    for line in found:
        row, kind = line[: len(schema)], line[-1]
        if kind in (0, 2):
            table.append(row)
        else:
            table.remove(row)
    return sorted(table, key=repr)
