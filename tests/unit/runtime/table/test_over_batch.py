"""OVER in BATCH mode against frames by definition."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.common.data_types import DataTypes
from headrace.runtime.table.over import OverSpec, over_operator
from headrace.scalars.aggregates import AggregateCall
from headrace.scalars.session import ScalarSession
from table_operators import INT, STRING, lines_of, whole_input

BIGINT, DOUBLE = DataTypes.BIGINT(), DataTypes.DOUBLE()
COUNT = AggregateCall("COUNT", (), BIGINT)
SUM = AggregateCall("SUM", (2,), INT)
MIN = AggregateCall("MIN", (2,), INT)


def run(
    calls: tuple[AggregateCall, ...], lines: list[Any], kind: Any = INT, **frame: Any
) -> list[Any]:
    frame.setdefault("order", ((1, False, False),))
    spec = OverSpec(calls, domain="other", **frame)
    columns = (STRING, INT, kind)
    operator = over_operator(
        spec,
        lines_of(*columns),
        lines_of(*columns, *(c.type for c in calls)),
        bounded=True,
        session=ScalarSession(),
    )
    return [line[1:] for line in whole_input(operator, [("+I", *line) for line in lines], (0,))]


@pytest.mark.parametrize("kind", [DOUBLE, DataTypes.FLOAT()])
@pytest.mark.parametrize(
    ("preceding", "following", "expected"),
    [
        (1, 0, [1e20, 1e20, 3.0, 5.0]),
        (1, 1, [1e20, 1e20, 6.0, 5.0]),
        (-1, 2, [3.0, 5.0, 3.0, None]),
        (0, None, [1e20, 6.0, 5.0, 3.0]),
        (None, None, [1e20, 1e20, 1e20, 1e20]),
    ],
)
def test_what_has_left_a_frame_takes_nothing_along(
    kind: Any, preceding: Any, following: Any, expected: list[float | None]
) -> None:
    lines = [("a", n, value) for n, value in enumerate([1e20, 1.0, 2.0, 3.0])]
    total, first = AggregateCall("SUM", (2,), kind), AggregateCall("FIRST_VALUE", (2,), kind)
    frame = {"rows": True, "preceding": preceding, "following": following}
    for calls in ((total,), (total, COUNT), (total, first)):
        found = run(calls, lines, kind, **frame)
        assert [line[3] for line in found] == pytest.approx(expected)


bounds = st.one_of(st.none(), st.integers(-2, 3))


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 9)), max_size=8),
    bounds, bounds, st.booleans(), st.booleans(),
)  # fmt: skip
def test_frames_hold_what_they_are_said_to(
    pairs: list[tuple[int, int]], preceding: Any, following: Any, rows: bool, down: bool
) -> None:
    lines = [("a", order, value) for order, value in pairs]
    found = run(
        (COUNT, SUM, MIN), lines,
        order=((1, down, False),), rows=rows, preceding=preceding, following=following,
    )  # fmt: skip
    ordered = sorted(lines, key=lambda line: -line[1] if down else line[1])
    expected = []
    places = [n if rows else -line[1] if down else line[1] for n, line in enumerate(ordered)]
    for line, mine in zip(ordered, places, strict=True):
        inside = [
            other[2]
            for other, place in zip(ordered, places, strict=True)
            if (preceding is None or place >= mine - preceding)
            and (following is None or place <= mine + following)
        ]
        results = (len(inside), sum(inside) if inside else None, min(inside, default=None))
        expected.append((*line, *results))
    assert found == expected


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (AggregateCall("ROW_NUMBER", (), BIGINT), [1, 2, 3, 4, 5]),
        (AggregateCall("RANK", (), BIGINT), [1, 2, 2, 4, 5]),
        (AggregateCall("DENSE_RANK", (), BIGINT), [1, 2, 2, 3, 4]),
        (AggregateCall("PERCENT_RANK", (), DOUBLE), [0.0, 0.25, 0.25, 0.75, 1.0]),
        (AggregateCall("CUME_DIST", (), DOUBLE), [0.2, 0.6, 0.6, 0.8, 1.0]),
        (AggregateCall("NTILE", (2,), BIGINT), [1, 1, 1, 2, 2]),
        (AggregateCall("LEAD", (1,), INT), [20, 20, 30, 40, None]),
        (AggregateCall("LAG", (1,), INT), [None, 10, 20, 20, 30]),
    ],
)
def test_functions_of_order(call: AggregateCall, expected: list[Any]) -> None:
    lines = [("a", order, 2) for order in (20, 10, 20, 40, 30)]
    assert [line[-1] for line in run((call,), lines)] == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [("LAG", [-10, None, 3, None, 4, 4]), ("LEAD", [None, None, None, None, 6, -60])],
)
def test_a_default_is_for_a_line_that_is_not_there(name: str, expected: list[Any]) -> None:
    """Not for a NULL that is there; an offset that is NULL gives NULL."""
    columns = (STRING, INT, INT, INT, INT)
    call = AggregateCall(name, (2, 3, 4), INT)
    operator = over_operator(
        OverSpec((call,), ((1, False, False),), domain="other"),
        lines_of(*columns),
        lines_of(*columns, INT),
        bounded=True,
        session=ScalarSession(),
    )
    values, offsets = (3, None, 3, 4, None, 6), (1, 0, 2, None, 1, 2)
    lines = [
        ("+I", "a", place, value, offset, -10 * place)
        for place, (value, offset) in enumerate(zip(values, offsets, strict=True), start=1)
    ]
    assert [line[-1] for line in whole_input(operator, lines, (0,))] == expected
