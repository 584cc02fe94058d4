"""MATCH_RECOGNIZE: however lines are cut into batches, and whoever is restarted, matches are equal.

Lines of a large batch stay columns, and most of them never reach the automaton; lines that come one
by one wait in state, and all of them do.
"""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.cep.matching.operator import MatchOperator, MatchSpec
from headrace.rel.functions import call
from headrace.scalars.aggregates import AggregateCall
from headrace.scalars.matches import (
    AggregateLook,
    EventLook,
    MatchExpression,
    MatchSkip,
    MatchStage,
)
from headrace.scalars.nodes import Literal, Ref
from headrace.scalars.session import ScalarSession
from table_operators import BIGINT, END, INT, STRING, T3, OperatorRun, W, at, lines_of, play

LINES = lines_of(STRING, T3, INT)
VALUE = Ref(2, INT)
COUNTED = ((1, 1), (0, 1), (1, None), (0, None), (2, 2), (1, 3), (2, None))
SKIPS = (MatchSkip("PAST LAST ROW"), MatchSkip("NEXT ROW"))
COUNT = AggregateLook(None, AggregateCall("COUNT", (), BIGINT.not_null()), ())
MEASURES = (
    MatchExpression(Ref(3, INT), (EventLook(None, 2, first=True),)),
    MatchExpression(Ref(3, INT), (EventLook(None, 2),)),
    MatchExpression(Ref(3, T3), (EventLook(None, 1),)),
    MatchExpression(Ref(3, BIGINT), (COUNT,)),
)


@st.composite
def stages(draw: Any) -> tuple[MatchStage, ...]:
    """A pattern that can end: its last variable has one line."""
    found: list[Any] = []
    count = draw(st.integers(1, 4))
    for place in range(count):
        least, most = draw(st.sampled_from(COUNTED)) if place < count - 1 else (1, 1)
        # behind a greedy variable the next one needs a line
        if least == 0 and found and found[-1].greedy and found[-1].minimum != found[-1].maximum:
            least, most = 1, 2
        greedy = (least, most) == (0, 1) or draw(st.booleans())
        condition = prefilter = None
        match draw(st.sampled_from(("none", "line", "match", "both"))):
            case "line" | "both" as kind:
                sign = draw(st.sampled_from(("=", "<", ">", "<>")))
                number = Literal(draw(st.integers(0, 3)), INT.not_null())
                prefilter = call(sign, (VALUE, number))
                condition = MatchExpression(prefilter)
                if kind == "both":
                    more = call(">=", (VALUE, Ref(3, INT)))
                    both = call("AND", (prefilter, more))
                    condition = MatchExpression(both, (EventLook(None, 2, first=True),))
            case "match":
                earlier = call("<>", (VALUE, Ref(3, INT)))
                condition = MatchExpression(earlier, (EventLook(None, 2, offset=1),))
        found.append(MatchStage(f"V{place}", condition, prefilter, least, most, greedy))
    return tuple(found)


line = st.tuples(st.sampled_from("ab"), st.integers(0, 60), st.sampled_from((0, 1, 2, 3, None)))


@settings(max_examples=60, deadline=None)
@given(
    stages(),
    st.lists(st.lists(line, max_size=20), min_size=1, max_size=3),
    st.sampled_from(SKIPS),
    st.sampled_from((None, 5, 20)),
    st.sampled_from(((), ((2, True, False),))),
)
def test_matches_do_not_depend_on_batches(
    pattern: tuple[MatchStage, ...],
    parts: list[Any],
    skip: MatchSkip,
    within: int | None,
    order: Any,
) -> None:
    spec = MatchSpec((0,), 1, order, pattern, MEASURES, skip, within)
    operator = MatchOperator(
        spec, LINES, lines_of(STRING, INT, INT, T3, BIGINT), session=ScalarSession()
    )
    script: list[Any] = []
    for number, part in enumerate(parts, start=1):
        script += [("+I", key, at(time), value) for key, time, value in part]
        script.append(W(number * 20))
    script.append(END)
    ways = [
        play(OperatorRun(operator, (0,)), script, size=size, restart=restart)
        for size, restart in ((1_000, False), (1, False), (3, True))
    ]
    by_key = [{key: [f for f in found if f[1] == key] for key in "ab"} for found in ways]
    assert by_key[0] == by_key[1] == by_key[2]
