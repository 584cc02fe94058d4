"""Queries against a reference that computes their table from scratch, at every cut of the input.

The reference knows no state and no changes: it takes all lines that were read so far and evaluates
the plan as a formula.  What the operators gave, change by change, must leave the same table after
each batch, however lines are cut into batches, and also if the job restarts between them.
"""

from __future__ import annotations

from collections import Counter
from functools import cmp_to_key
from itertools import product
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headrace.datastream import StreamExecutionEnvironment
from headrace.rel import nodes as n
from headrace.rel.planner import PlanSettings, TablePlanner
from headrace.rel.resolve.resolver import Resolver
from headrace.scalars.evaluate import row_function
from headrace.scalars.session import ScalarSession
from headrace.sql.parser import parse_query
from headrace.testing import LocalRunner
from rel_tables import BIGINT, INT, STRING, TestCatalogs, planned, scan

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.common.data_types import DataType
    from headrace.scalars.aggregates import AggregateCall

    Row = tuple[Any, ...]
    Tables = dict[str, list[Row]]

QUERIES = (
    "SELECT k, v + 1 FROM t WHERE v > 0",
    "SELECT k, COUNT(*), SUM(v), MAX(v), MIN(v) FROM t GROUP BY k",
    "SELECT COUNT(DISTINCT k), SUM(v) FROM t",
    "SELECT k, COUNT(*) FROM t GROUP BY k HAVING COUNT(*) > 1",
    "SELECT c, COUNT(*) FROM (SELECT k, COUNT(*) AS c FROM t GROUP BY k) GROUP BY c",
    "SELECT MAX(s) FROM (SELECT k, SUM(v) AS s FROM t GROUP BY k)",
    "SELECT t.id, u.id FROM t JOIN u ON t.k = u.k",
    "SELECT t.id, u.id FROM t LEFT JOIN u ON t.k = u.k AND t.v > u.v",
    "SELECT t.id, u.id FROM t RIGHT JOIN u ON t.k = u.k",
    "SELECT t.id, u.id FROM t FULL JOIN u ON t.k = u.k AND u.v > 0",
    "SELECT id FROM t WHERE k IN (SELECT k FROM u)",
    "SELECT id FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.k = t.k AND u.v < t.v)",
    "SELECT a.k, a.c, b.c FROM (SELECT k, COUNT(*) AS c FROM t GROUP BY k) a "
    "LEFT JOIN (SELECT k, COUNT(*) AS c FROM u GROUP BY k) b ON a.k = b.k",
    "SELECT k, SUM(v) FROM (SELECT k, v FROM t UNION ALL SELECT k, v FROM u) GROUP BY k",
    "SELECT k FROM t INTERSECT SELECT k FROM u",
    "SELECT k FROM t EXCEPT SELECT k FROM u",
    "SELECT id, v FROM t ORDER BY v DESC, id LIMIT 3",
    "SELECT k, id, rn FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v, id) AS rn "
    "FROM t) WHERE rn <= 2",
    "SELECT k, s FROM (SELECT k, s, ROW_NUMBER() OVER (ORDER BY s DESC, k) AS rn FROM "
    "(SELECT k, SUM(v) AS s FROM t GROUP BY k)) WHERE rn <= 2",
    "SELECT t.id, (SELECT MAX(v) FROM u WHERE u.k = t.k) FROM t",
    "SELECT k, v, COUNT(*) FROM t GROUP BY GROUPING SETS ((k), (v), ())",
)

CELLS = st.tuples(
    st.one_of(st.none(), st.sampled_from("abc")), st.one_of(st.none(), st.integers(-2, 2))
)
COLUMNS: dict[str, DataType] = {"id": INT, "k": STRING, "v": BIGINT}


def numbered(cells: list[tuple[Any, Any]]) -> list[Row]:
    return [(number, *rest) for number, rest in enumerate(cells)]


# --- the reference -------------------------------------------------------------------------------


def table_of(node: n.Rel, tables: Tables) -> list[Row]:
    """The lines of a node, in any order."""
    below = [table_of(part, tables) for part in node.inputs]
    match node:
        case n.Scan():
            return tables[node.table.name]
        case n.Values():
            return list(node.rows)
        case n.Calc():
            cells = [row_function(each, session=ScalarSession()) for each in node.projections]
            keep = (
                None
                if node.condition is None
                else row_function(node.condition, session=ScalarSession())
            )
            return [
                tuple(cell(row) for cell in cells)
                for row in below[0]
                if keep is None or keep(row) is True
            ]
        case n.Expand():
            sets = [
                [row_function(each, session=ScalarSession()) for each in part]
                for part in node.projections
            ]
            return [tuple(c(row) for c in cells) for row in below[0] for cells in sets]
        case n.Union():
            return [row for part in below for row in part]
        case n.GroupAggregate():
            return aggregated(node, below[0])
        case n.Join():
            return joined(node, *below)
        case n.Rank():
            return ranked(node, below[0])
        case n.Sort():
            ordered = in_order(below[0], node.order)[node.offset :]
            return ordered if node.fetch is None else ordered[: node.fetch]
    raise AssertionError(node)


def aggregated(node: n.GroupAggregate, rows: list[Row]) -> list[Row]:
    groups: dict[Row, list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[key] for key in node.keys), []).append(row)
    return [
        (*key, *(value_of(call, lines) for call in node.calls)) for key, lines in groups.items()
    ]


def value_of(call: AggregateCall, rows: list[Row]) -> Any:
    if not call.arguments:
        return len(rows)
    values = [row[call.arguments[0]] for row in rows if row[call.arguments[0]] is not None]
    if call.distinct:
        values = list(set(values))
    if call.function == "COUNT":
        return len(values)
    known: dict[str, Callable[[list[Any]], Any]] = {"SUM": sum, "MAX": max, "MIN": min}
    return known[call.function](values) if values else None


def joined(node: n.Join, left: list[Row], right: list[Row]) -> list[Row]:
    condition = (
        None if node.condition is None else row_function(node.condition, session=ScalarSession())
    )

    def meet(one: Row, other: Row) -> bool:
        pairs = zip(node.left_keys, node.right_keys, node.null_safe, strict=True)
        for mine, theirs, safe in pairs:
            a, b = one[mine], other[theirs]
            if a != b or (a is None and not safe):
                return False
        return condition is None or condition((*one, *other)) is True

    matches = [
        (i, j) for i, j in product(range(len(left)), range(len(right))) if meet(left[i], right[j])
    ]
    found_left, found_right = {i for i, _ in matches}, {j for _, j in matches}
    if node.kind is n.JoinKind.SEMI:
        return [left[i] for i in sorted(found_left)]
    if node.kind is n.JoinKind.ANTI:
        return [row for i, row in enumerate(left) if i not in found_left]
    rows = [(*left[i], *right[j]) for i, j in matches]
    if node.kind in (n.JoinKind.LEFT, n.JoinKind.FULL):
        nothing = (None,) * len(node.right.schema)
        rows += [(*row, *nothing) for i, row in enumerate(left) if i not in found_left]
    if node.kind in (n.JoinKind.RIGHT, n.JoinKind.FULL):
        nothing = (None,) * len(node.left.schema)
        rows += [(*nothing, *row) for j, row in enumerate(right) if j not in found_right]
    return rows


def ranked(node: n.Rank, rows: list[Row]) -> list[Row]:
    partitions: dict[Row, list[Row]] = {}
    for row in rows:
        partitions.setdefault(tuple(row[each] for each in node.partition), []).append(row)
    found = []
    for lines in partitions.values():
        for number, row in enumerate(in_order(lines, node.order), start=1):
            if node.first <= number <= node.last:
                found.append((*row, number) if node.with_number else row)
    return found


def in_order(rows: list[Row], order: tuple[n.SortKey, ...]) -> list[Row]:
    def compare(one: Row, other: Row) -> int:
        for key in order:
            a, b = one[key.column], other[key.column]
            if a == b:
                continue
            if a is None or b is None:
                return 1 if (a is None) == key.nulls_last else -1
            return 1 if (a > b) != key.descending else -1
        return 0

    return sorted(rows, key=cmp_to_key(compare))


# --- the comparison ------------------------------------------------------------------------------


class ChangingTable:
    """A table that changes are applied to; what is not in it cannot be taken back."""

    def __init__(self, width: int, *, changes: bool) -> None:
        self.rows: Counter[Row] = Counter()
        self._width = width
        self._changes = changes

    def apply(self, lines: list[Row]) -> None:
        for line in lines:
            row = line[: self._width]
            if not self._changes or line[-1] in (0, 2):
                self.rows[row] += 1
            else:
                assert self.rows[row] > 0, f"{row} is taken back, and is not there: {self.rows}"
                self.rows[row] -= 1


@pytest.mark.parametrize("text", QUERIES)
@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    left=st.lists(CELLS, max_size=8),
    right=st.lists(CELLS, max_size=6),
    cut=st.integers(1, 5),
    restarts=st.booleans(),
)
def test_the_table_is_right_after_every_batch(
    text: str,
    left: list[tuple[Any, Any]],
    right: list[tuple[Any, Any]],
    cut: int,
    restarts: bool,
) -> None:
    tables = {"t": numbered(left), "u": numbered(right)}
    catalogs = TestCatalogs({name: scan(name, COLUMNS, rows) for name, rows in tables.items()})
    rel = Resolver(catalogs).query(parse_query(text))
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    stream, changes, schema = TablePlanner(env, PlanSettings()).to_stream(rel)
    result = ChangingTable(len(schema), changes=not changes.only_inserts)
    reads = {name for name in tables if f" {name}" in text}
    with LocalRunner(stream) as job:
        for batch in range(max(map(len, tables.values())) // cut + 2):
            result.apply(job.read_batch(cut))
            if restarts:
                job.restart()
            seen = {name: rows[: cut * (batch + 1)] for name, rows in tables.items()}
            expected = Counter(table_of(planned(rel), seen))
            assert +result.rows == expected, (reads, seen)
