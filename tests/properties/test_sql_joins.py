"""Joins of SQL give what lists give, however lines are cut into calls and batches and restarted."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.common.data_types import DataTypes
from headrace.runtime.table.joins import line_store, run_storage
from headrace.runtime.table.joins.regular import RegularJoinOperator
from headrace.scalars.nodes import Call, Ref
from headrace.scalars.session import ScalarSession
from join_reference import ReferenceJoin, by_line
from table_operators import INT, STRING, OperatorRun, lines_of

SIDE = (STRING, INT)
LESS = Call("<", (Ref(1, INT), Ref(3, INT)), DataTypes.BOOLEAN())
lines = st.tuples(
    st.integers(0, 1),
    st.sampled_from(["+I", "+I", "+U", "-U", "-D"]),
    st.tuples(st.sampled_from(["a", "b", None]), st.integers(0, 2)),
)
# behind a line: go on in the same call, in another one, in another batch, in another process
scripts = st.lists(st.tuples(lines, st.sampled_from(["", "", "", "call", "batch", "restart"])))
uniques = st.sampled_from([None, (0,), (1,)])


@pytest.fixture(autouse=True)
def small_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_storage, "RECENT_WEIGHT", 4)
    monkeypatch.setattr(run_storage, "RANGE_LINES", 6)
    monkeypatch.setattr(run_storage, "RUN_LINES", 8)
    monkeypatch.setattr(run_storage, "LOADED_BYTES", 300)
    monkeypatch.setattr(line_store, "PAIRS_AT_ONCE", 3)


@settings(deadline=None, max_examples=150)
@given(
    kind=st.sampled_from(["inner", "left", "right", "full", "semi", "anti"]),
    script=scripts,
    unique=st.tuples(uniques, uniques),
    null_safe=st.booleans(),
    conditioned=st.booleans(),
)
def test_regular_joins(
    kind: str, script: list[Any], unique: Any, null_safe: bool, conditioned: bool
) -> None:
    both = SIDE if kind in ("semi", "anti") else (*SIDE, *SIDE)
    taken = lines_of(*SIDE, changes=True)
    operator = RegularJoinOperator(
        taken, taken, lines_of(*both, changes=True), kind=kind, left_keys=(0,), right_keys=(0,),
        unique_keys=unique, null_safe=(null_safe,), condition=LESS if conditioned else None,
        session=ScalarSession(),
    )  # fmt: skip
    reference = ReferenceJoin(
        kind, ((0,), (0,)), (2, 2), unique=unique, null_safe=(null_safe,),
        holds=lambda left, right: not conditioned or left[1] < right[1],
    )  # fmt: skip
    run = OperatorRun(operator, (0,), (0,))
    expected: list[Any] = []
    call: list[Any] = []
    for place, ((side, change, values), then) in enumerate(script):
        expected += reference.take(side, change, values)
        call.append((change, *values))
        follows = script[place + 1][0][0] if place + 1 < len(script) else None
        if then or follows != side:
            run.lines(call, side)
            call = []
        if then == "batch":
            run.end_of_batch()
        elif then == "restart":
            run.restart()
    assert by_line(run.taken()) == by_line(expected)
    run.restart()
    for side, kept in zip(run.operator.sides, reference.sides, strict=True):
        counted = [one for one in kept if null_safe or one.values[0] is not None]
        assert len(side) == len(counted)
