"""The pattern of a MATCH_RECOGNIZE: one stage a variable, each right behind the one before.

    A B+? C{2,3}   ──▶   begin(A).next(B).one_or_more().consecutive()
                         .next(C).times(2, 3).consecutive().greedy()

In: scalars/matches.py.  Out: cep/pattern.py's Pattern.  Next: cep/matching/operator.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.cep.conditions import EventCondition
from headrace.cep.pattern import Pattern
from headrace.cep.skip_strategy import AfterMatchSkipStrategy

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from headrace.cep.conditions import ConditionContext
    from headrace.cep.matching.expressions import MatchFunction
    from headrace.scalars.matches import MatchSkip, MatchStage
    from headrace.scalars.parts import RowFunction

    Line = tuple[Any, ...]


class LineCondition(EventCondition):
    """What lines of a variable must fulfil.

    Args:
        variable: whose.
        before: the variables of the pattern up to this one, in order.
        function: the whole condition.
        prefilter: the part of it that looks at the line alone; None if there is none.
        is_iterative: whether there is more than that part.
    """

    def __init__(
        self,
        variable: str,
        before: Sequence[str],
        function: MatchFunction,
        prefilter: RowFunction | None,
        *,
        is_iterative: bool,
    ) -> None:
        self.variable = variable
        self.is_iterative = is_iterative
        self._before = tuple(before)
        self._function = function
        self._prefilter = prefilter

    def test(self, event: Line, ctx: ConditionContext | None) -> bool:
        """Whether it is true for a line and the match so far; NULL is not true."""
        return self._function(event, _MatchSoFar(self, event, ctx)) is True

    def may_hold(self, event: Line) -> bool | None:
        """What the line alone says."""
        if self._prefilter is not None and self._prefilter(event) is not True:
            return False
        return None if self.is_iterative else True

    def __str__(self) -> str:
        return f"the condition of {self.variable} in DEFINE"


class _MatchSoFar:
    """A partial match with the line that is looked at, as if it belonged to it."""

    def __init__(self, condition: LineCondition, line: Line, ctx: ConditionContext | None) -> None:
        self._condition = condition
        self._line = line
        self._ctx = ctx
        self._known: dict[str | None, list[Line]] = {}

    def lines(self, variable: str | None) -> list[Line]:
        """The lines of a variable so far, or of all of them, in order."""
        found = self._known.get(variable)
        if found is None:
            assert self._ctx is not None
            names = self._condition._before if variable is None else (variable,)
            found = [line for name in names for line in self._ctx.get_events_for_pattern(name)]
            if variable in (None, self._condition.variable):
                found.append(self._line)
            self._known[variable] = found
        return found

    def time(self) -> int:
        """Of the line."""
        assert self._ctx is not None
        return self._ctx.timestamp()

    def clock(self) -> int:
        """Now."""
        assert self._ctx is not None
        return self._ctx.current_processing_time()


def pattern_of(
    stages: Sequence[MatchStage],
    conditions: Mapping[str, LineCondition],
    skip: MatchSkip,
    within_ms: int | None,
) -> Pattern:
    """The pattern of some stages.

    Args:
        stages: in order.
        conditions: by variable; those without take any line.
        skip: where the search goes on behind a match.
        within_ms: how long a match may last; None for any time.
    """
    pattern: Pattern | None = None
    for stage in stages:
        if pattern is None:
            pattern = Pattern.begin(stage.variable, _strategy(skip))
        else:
            pattern = pattern.next(stage.variable)
        if stage.variable in conditions:
            pattern.condition = conditions[stage.variable]
        _repeat(pattern, stage)
    assert pattern is not None
    return pattern if within_ms is None else pattern.within(within_ms)


def _repeat(pattern: Pattern, stage: MatchStage) -> None:
    least, most = stage.minimum, stage.maximum
    match least, most:
        case 1, 1 if stage.greedy:
            return
        case 0, 1:
            pattern.optional()
            return
        case 0, None:
            pattern.one_or_more().optional().consecutive()
        case 1, None:
            pattern.one_or_more().consecutive()
        case _, None:
            pattern.times_or_more(least).consecutive()
        case _, int():
            pattern.times(least, most).consecutive()
    if stage.greedy and least != most:
        pattern.greedy()


def _strategy(skip: MatchSkip) -> AfterMatchSkipStrategy:
    if skip.variable is not None:
        made = (
            AfterMatchSkipStrategy.skip_to_first
            if skip.to == "FIRST"
            else AfterMatchSkipStrategy.skip_to_last
        )
        # a search that went on nowhere, or at the same line again, would be silently wrong
        return made(skip.variable).throw_exception_on_miss()
    if skip.to == "NEXT ROW":
        return AfterMatchSkipStrategy.skip_to_next()
    return AfterMatchSkipStrategy.skip_past_last_event()
