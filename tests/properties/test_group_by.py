"""GROUP BY against a table that is computed anew after each line, at every cut and restart."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal
from statistics import pvariance
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.common.data_types import DataTypes as D
from headrace.runtime.table.group_aggregate import GroupAggregateOperator
from headrace.scalars.aggregates import AggregateCall
from headrace.scalars.session import ScalarSession
from table_operators import OperatorRun, lines_of

B, INT, S, BOOL = D.BIGINT(), D.INT(), D.STRING(), D.BOOLEAN()
Line = tuple[Any, ...]  # kind, key, value, flag

# (call, the same from a list of values with their flags)
CALLS: dict[str, tuple[AggregateCall, Any]] = {
    "COUNT(*)": (AggregateCall("COUNT", (), B), len),
    "COUNT(v)": (AggregateCall("COUNT", (1,), B), lambda rows: len(_values(rows))),
    "SUM": (
        AggregateCall("SUM", (1,), INT),
        lambda rows: sum(_values(rows)) if _values(rows) else None,
    ),
    "SUM FILTER": (
        AggregateCall("SUM", (1,), INT, filter=2),
        lambda rows: sum(_kept(rows)) if _kept(rows) else None,
    ),
    "AVG": (
        AggregateCall("AVG", (1,), INT),
        lambda rows: int(sum(_values(rows)) / len(_values(rows))) if _values(rows) else None,
    ),
    "MIN": (AggregateCall("MIN", (1,), INT), lambda rows: min(_values(rows), default=None)),
    "MAX": (AggregateCall("MAX", (1,), INT), lambda rows: max(_values(rows), default=None)),
    "FIRST": (AggregateCall("FIRST_VALUE", (1,), INT), lambda rows: (_values(rows) or [None])[0]),
    "LAST": (AggregateCall("LAST_VALUE", (1,), INT), lambda rows: (_values(rows) or [None])[-1]),
    "DISTINCT": (
        AggregateCall("COUNT", (1,), B, distinct=True, filter=2),
        lambda rows: len(set(_kept(rows))),
    ),
    "SUM DISTINCT": (
        AggregateCall("SUM", (1,), INT, distinct=True),
        lambda rows: sum(set(_values(rows))) if _values(rows) else None,
    ),
    "ARRAY": (AggregateCall("ARRAY_AGG", (1,), D.ARRAY(INT)), lambda rows: [v for v, _ in rows]),
    "VAR": (
        AggregateCall("VAR_POP", (1,), D.DECIMAL(38, 6)),
        lambda rows: _rounded(pvariance(_values(rows))) if _values(rows) else None,
    ),
}  # fmt: skip


def _values(rows: list[Any]) -> list[Any]:
    return [value for value, _ in rows if value is not None]


def _rounded(value: float) -> Decimal:
    return Decimal(repr(float(value))).quantize(Decimal("0.000001"), ROUND_HALF_UP)


def _kept(rows: list[Any]) -> list[int]:
    return [value for value, flag in rows if flag and value is not None]


class RecomputedTable:
    """The changelog of a grouped table, computed from scratch after each line."""

    def __init__(self, functions: list[Any], *, before: bool, counts: bool = False) -> None:
        self.functions = functions
        # whether a variance is among them: Flink sends an equal one again if its count has changed
        self.counts = counts
        self.before = before
        self.groups: dict[Any, list[Any]] = {}

    def take(self, line: Line) -> list[Line]:
        kind, key, *row = line
        rows = self.groups.get(key, [])
        old = self._result(key, rows)
        if kind in ("+I", "+U"):
            rows = [*rows, tuple(row)]
        elif tuple(row) in rows:
            place = rows.index(tuple(row))
            rows = rows[:place] + rows[place + 1 :]
        else:
            assert not rows
            return []
        self.groups[key] = rows
        new = self._result(key, rows)
        if old is None:
            return [("+I", *new)] if new else []
        if new is None:
            return [("-D", *old)]
        if old == new and not (self.counts and row[0] is not None):
            return []
        return [*([("-U", *old)] if self.before else []), ("+U", *new)]

    def _result(self, key: Any, rows: list[Any]) -> Any:
        return (key, *(function(rows) for function in self.functions)) if rows else None


@st.composite
def changelogs(draw: Any, *, retracts: bool) -> list[Line]:
    """Lines of a few keys; only what is there is taken back, or what is of no group."""
    keys = draw(st.lists(st.sampled_from(["a", "b", None, "c"]), min_size=1, max_size=30))
    values = st.one_of(st.none(), st.integers(-3, 3))
    there: dict[Any, list[Any]] = {}
    found: list[Line] = []
    for key in keys:
        rows = there.setdefault(key, [])
        if retracts and draw(st.booleans()):
            row = draw(st.sampled_from(rows)) if rows else (draw(values), True)
            if rows:
                rows.remove(row)
            found.append((draw(st.sampled_from(["-U", "-D"])), key, *row))
        else:
            row = (draw(values), draw(st.sampled_from([True, False, None])))
            rows.append(row)
            found.append(("+I", key, *row))
    return found


def operator(names: list[str], *, retracts: bool, **options: Any) -> GroupAggregateOperator:
    calls = [CALLS[name][0] for name in names]
    types = [call.type for call in calls]
    return GroupAggregateOperator(
        lines_of(S, INT, BOOL, changes=retracts), lines_of(S, *types, changes=True), (0,), calls,
        **options, session=ScalarSession()
    )  # fmt: skip


def in_cuts(op: Any, lines: list[Line], sizes: list[int], restarts: list[bool]) -> list[Line]:
    run, place = OperatorRun(op, (0,)), 0
    for size, restart in zip([*sizes, len(lines)], [*restarts, False], strict=True):
        part = lines[place : place + size]
        place += size
        if part:
            run.lines(part)
        run.end_of_batch()
        if restart:
            run.restart()
    return run.taken()


@pytest.mark.parametrize("retracts", [False, True])
@pytest.mark.parametrize("before", [False, True])
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_the_changelog_is_that_of_a_table_computed_anew(
    retracts: bool, before: bool, data: Any
) -> None:
    names = data.draw(st.lists(st.sampled_from(sorted(CALLS)), min_size=1, max_size=4))
    lines = data.draw(changelogs(retracts=retracts))
    sizes = data.draw(st.lists(st.integers(1, 9), max_size=5))
    restarts = data.draw(st.lists(st.booleans(), min_size=len(sizes), max_size=len(sizes)))
    functions = [CALLS[name][1] for name in names]
    table = RecomputedTable(functions, before=before, counts="VAR" in names)
    expected = [change for line in lines for change in table.take(line)]
    found = in_cuts(operator(names, retracts=retracts, before=before), lines, sizes, restarts)
    assert found == expected


@pytest.mark.parametrize("retracts", [False, True])
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_once_a_batch_the_table_is_the_same(retracts: bool, data: Any) -> None:
    names = data.draw(st.lists(st.sampled_from(sorted(CALLS)), min_size=1, max_size=3))
    lines = data.draw(changelogs(retracts=retracts))
    if retracts:  # Flink counts within a batch below zero: only what is there may be taken back
        lines = _without_strangers(lines)
    sizes = data.draw(st.lists(st.integers(1, 9), max_size=3))
    table = RecomputedTable([CALLS[name][1] for name in names], before=True)
    expected = _table([change for line in lines for change in table.take(line)])
    op = operator(names, retracts=retracts, mini_batch=True)
    changes = in_cuts(op, lines, sizes, [False] * len(sizes))
    assert _table(changes) == expected
    if not retracts:
        whole = OperatorRun(operator(names, retracts=False), (0,), bounded=True)
        whole.lines(lines)
        whole.operator.finish_keys()
        assert _table(whole.taken()) == expected


def _without_strangers(lines: list[Line]) -> list[Line]:
    there: dict[Any, int] = {}
    found = []
    for line in lines:
        step = 1 if line[0] == "+I" else -1
        if there.get(line[1], 0) + step >= 0:
            there[line[1]] = there.get(line[1], 0) + step
            found.append(line)
    return found


def _table(changes: list[Line]) -> list[str]:
    """What a changelog adds up to; each -U and -D takes back a line that is there."""
    rows: list[Any] = []
    for kind, *row in changes:
        if kind in ("+I", "+U"):
            rows.append(row)
        else:
            rows.remove(row)
    return sorted(map(repr, rows))
