"""Vector forms of aggregates give what row forms give; merged states are those of the whole."""

from __future__ import annotations

import copy
import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.common.data_types import DataTypes as D
from headrace.data.codec import codec_for
from headrace.data.row_data import column_of
from headrace.runtime.table.accumulators import ArgumentLines, LineAggregate, Running
from headrace.runtime.table.aggregates.registry import aggregate_for
from headrace.runtime.table.segments import KeySegments
from headrace.scalars.aggregates import AggregateCall
from headrace.scalars.session import ScalarSession
from table_operators import lines_of

_INTS = st.one_of(st.integers(-3, 3), st.integers(-(1 << 31), (1 << 31) - 1))
_LONGS = st.one_of(st.integers(-3, 3), st.integers(-(1 << 63), (1 << 63) - 1))
_FLOATS = st.one_of(
    st.sampled_from([0.0, -0.0, 1.5, 1e300, -1e300, float("inf"), float("nan")]),
    st.floats(-1e6, 1e6),
)
_DECIMALS = st.one_of(st.integers(-500, 500), st.integers(-(10**37) + 1, 10**37 - 1)).map(
    lambda n: Decimal(n).scaleb(-2)
)
_DATES = st.dates(dt.date(1900, 1, 1), dt.date(2100, 1, 1))
_TIMES = st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2100, 1, 1))
VALUES: dict[str, tuple[Any, st.SearchStrategy[Any]]] = {
    "TINYINT": (D.TINYINT(), st.integers(-128, 127)),
    "INT": (D.INT(), _INTS),
    "BIGINT": (D.BIGINT(), _LONGS),
    "FLOAT": (D.FLOAT(), st.floats(width=32)),
    "DOUBLE": (D.DOUBLE(), _FLOATS),
    "DECIMAL": (D.DECIMAL(38, 2), _DECIMALS),
    "STRING": (D.STRING(), st.text("ab", max_size=2)),
    "DATE": (D.DATE(), _DATES),
    "TIMESTAMP": (D.TIMESTAMP(3), _TIMES),
    "BOOLEAN": (D.BOOLEAN(), st.booleans()),
}
_NUMBERS = ("TINYINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL")
AVERAGE_OF_DECIMALS = D.DECIMAL(38, 6)
CASES: list[tuple[str, str, Any]] = [
    *(("SUM", name, VALUES[name][0]) for name in _NUMBERS),
    *(("$SUM0", name, VALUES[name][0]) for name in _NUMBERS),
    *(("AVG", name, VALUES[name][0]) for name in _NUMBERS[:-1]),
    ("AVG", "DECIMAL", AVERAGE_OF_DECIMALS),
    *(("COUNT", name, D.BIGINT()) for name in VALUES),
    *((f, name, VALUES[name][0]) for name in VALUES for f in ("MIN", "MAX")),
    *((f, name, VALUES[name][0]) for name in VALUES for f in ("FIRST_VALUE", "LAST_VALUE")),
    ("STDDEV_SAMP", "DOUBLE", D.DOUBLE()),
    ("LISTAGG", "STRING", D.STRING()),
    ("ARRAY_AGG", "INT", D.ARRAY(D.INT())),
    ("COLLECT", "STRING", D.MULTISET(D.STRING())),
]  # fmt: skip


Line = tuple[Any, bool | None, bool]  # value, filter, taken back


def groups(data: Any, values: Any, *, retracts: bool) -> list[list[Line]]:
    """The lines of some groups, of which some are long; values come from a few."""
    pool = [None, *data.draw(st.lists(values, min_size=1, max_size=6))]
    random = data.draw(st.randoms(use_true_random=False))
    lengths = data.draw(st.lists(st.sampled_from([1, 2, 5, 70]), min_size=1, max_size=4))
    return [
        [
            (
                random.choice(pool),
                random.choice([True, True, False, None]),
                retracts and random.random() < 0.4,
            )
            for _ in range(length)
        ]
        for length in lengths
    ]


def lines_and_segments(found: Any, kind: Any, *, fresh: bool) -> tuple[ArgumentLines, KeySegments]:
    flat = [line for group in found for line in group]
    line_type = lines_of(kind, D.BOOLEAN())
    batch = codec_for(line_type).encode([line[:2] for line in flat])
    lengths = np.array([len(group) for group in found])
    starts = np.cumsum(lengths) - lengths
    order = np.arange(len(flat))
    segments = KeySegments(order, starts, np.arange(len(found)), np.full(len(found), fresh))
    retracts = np.array([line[2] for line in flat])
    codecs = [column_of(t) for t in line_type.get_data_types()]
    lines = ArgumentLines(batch.columns, codecs, order, retracts if retracts.any() else None)
    return lines.of_call((0,), 1), segments


def shown(aggregate: LineAggregate, running: Running) -> Any:
    return [repr(v) for v in aggregate.column(running.values, running.valid).to_pylist()]


@pytest.mark.parametrize(("function", "name", "result"), CASES)
@pytest.mark.parametrize("retracts", [False, True])
@pytest.mark.parametrize("distinct", [False, True])
@settings(max_examples=6, deadline=None)
@given(data=st.data())
def test_the_vector_form_is_the_row_form(
    function: str, name: str, result: Any, retracts: bool, distinct: bool, data: Any
) -> None:
    kind, values = VALUES[name]
    call = AggregateCall(function, (0,), result, distinct=distinct, filter=1)
    aggregate = aggregate_for(
        call, lines_of(kind, D.BOOLEAN()), retracts=retracts, session=ScalarSession()
    )
    found = groups(data, values, retracts=retracts)
    later = list(reversed(found))
    states: list[Any] = [None] * len(found)
    by_row: list[Any] = [None] * len(found)
    for part, fresh in ((found, True), (later, False)):
        lines, segments = lines_and_segments(part, kind, fresh=fresh)
        expected = aggregate.run_by_row(lines, segments, copy.deepcopy(by_row))
        got = aggregate.run(lines, segments, copy.deepcopy(states))
        assert shown(aggregate, got) == shown(aggregate, expected)
        assert repr(_sorted(got.states)) == repr(_sorted(expected.states))
        states, by_row = list(got.states), list(expected.states)


def _sorted(states: Any) -> list[Any]:
    """Maps in an order that says nothing."""
    return [
        [sorted(state[0].items(), key=repr), *state[1:]]
        if isinstance(state, list) and state and isinstance(state[0], dict)
        else state
        for state in states
    ]


_MERGED = [case for case in CASES if case[:2] not in [("SUM", "FLOAT"), ("SUM", "DOUBLE")]]


@pytest.mark.parametrize(("function", "name", "result"), _MERGED)
@pytest.mark.parametrize("distinct", [False, True])
@settings(max_examples=5, deadline=None)
@given(data=st.data())
def test_a_merged_state_has_the_value_of_all_lines(
    function: str, name: str, result: Any, distinct: bool, data: Any
) -> None:
    kind, values = VALUES[name]
    if name in ("FLOAT", "DOUBLE"):
        values = st.integers(-100, 100).map(float)
    call = AggregateCall(function, (0,), result, distinct=distinct)
    aggregate = aggregate_for(call, lines_of(kind), retracts=False, session=ScalarSession())
    left = data.draw(st.lists(st.one_of(st.none(), values), max_size=5))
    right = data.draw(st.lists(st.one_of(st.none(), values), max_size=5))
    states = []
    for part in (left, right, left + right):
        state = aggregate.create()
        for value in part:
            state = aggregate.accumulate(state, (value,))
        states.append(state)
    before = repr(states[1])
    merged = aggregate.value(aggregate.merge(states[0], states[1]))
    assert repr(states[1]) == before
    if isinstance(merged, float):
        assert merged == pytest.approx(aggregate.value(states[2]), nan_ok=True)
    else:
        assert merged == aggregate.value(states[2])
