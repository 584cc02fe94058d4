"""Patterns over streams of events, with the names of Flink's CEP library.

    Pattern.begin("heat").where(...)      ─┐
        .followed_by("smoke").where(...)   ├─▶ stages, each with a link to the one before
        .within(Duration.of_minutes(10))  ─┘

In: calls of the user's program.  Out: a chain of stages.  What cannot work is refused at the line
that says it.  Next: cep/compiler.py makes states and edges of it, cep/explain.py draws them
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import TYPE_CHECKING, Any, Self

from headrace.cep.conditions import (
    AllOf,
    Always,
    AnyOf,
    EventCondition,
    condition_of,
    subtype_condition,
)
from headrace.cep.skip_strategy import AfterMatchSkipStrategy
from headrace.common.call_site import CallSite, call_site
from headrace.common.time import to_millis
from headrace.errors import ArgumentTypeError, InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.common.time import DurationLike

__all__ = ["GroupPattern", "Pattern", "WithinType"]

NAME_DELIMITER = ":"
END_STATE = "$endState$"


class WithinType(Enum):
    """What a time limit is measured between."""

    FIRST_AND_LAST = "first and last"
    PREVIOUS_AND_CURRENT = "previous and current"


class Contiguity(StrEnum):
    """What may lie between an event and the one before it in a match."""

    STRICT = "next"
    RELAXED = "followed_by"
    ANY = "followed_by_any"
    NOT_NEXT = "not_next"
    NOT_FOLLOWED = "not_followed_by"

    @property
    def is_negative(self) -> bool:
        """Whether the stage says what must not come."""
        return self in (Contiguity.NOT_NEXT, Contiguity.NOT_FOLLOWED)


class Repetition(StrEnum):
    """How often a stage takes an event."""

    ONCE = "once"
    TIMES = "times"
    LOOP = "or more"


@dataclass(frozen=True, slots=True)
class Times:
    """How often, at least and at most; a loop has no upper bound beyond its least."""

    least: int = 1
    most: int = 1
    within_ms: int | None = None


class Pattern:
    """A stage of a pattern, with the stages before it; methods change it and return it.

    Coming from Flink: the same methods in snake_case. Conditions are functions of the event, of
    the event and a context, or column expressions.

    Example:
        >>> alert = (
        ...     Pattern.begin("heat").where(lambda event: event["degrees"] > 80)
        ...     .followed_by("smoke").where(lambda event: event["kind"] == "smoke")
        ...     .within(600_000)
        ... )
    """

    def __init__(
        self,
        name: str,
        previous: Pattern | None,
        contiguity: Contiguity,
        skip_strategy: AfterMatchSkipStrategy,
    ) -> None:
        self.name = name
        self.previous = previous
        self.contiguity = contiguity
        self.skip_strategy = skip_strategy
        self.repetition = Repetition.ONCE
        self.inner_contiguity = Contiguity.RELAXED
        self.is_optional = False
        self.is_greedy = False
        self.times_range: Times | None = None
        self.condition: EventCondition | None = None
        self.until_condition: EventCondition | None = None
        self.windows_ms: dict[WithinType, int] = {}
        self.where_made: CallSite = call_site()

    # --- the first stage -------------------------------------------------------------------------

    @staticmethod
    def begin(
        name_or_pattern: str | Pattern,
        after_match_skip_strategy: AfterMatchSkipStrategy | None = None,
    ) -> Pattern:
        """The first stage of a pattern.

        Args:
            name_or_pattern: its name; or a whole pattern, which then is a group.
            after_match_skip_strategy: what happens to other partial matches once a match was found;
                nothing if not given.
        """
        skip = after_match_skip_strategy
        if skip is None:
            skip = AfterMatchSkipStrategy.no_skip()
        elif not isinstance(skip, AfterMatchSkipStrategy):
            raise ArgumentTypeError(
                f"begin expects an AfterMatchSkipStrategy, not {type(skip).__name__}",
                fix="Pattern.begin('name', AfterMatchSkipStrategy.skip_past_last_event())",
            )
        return _stage("begin", name_or_pattern, None, Contiguity.STRICT, skip)

    # --- conditions ------------------------------------------------------------------------------

    def where(self, condition: Any) -> Self:
        """Take an event only if it satisfies the condition; called again, both."""
        given = condition_of("where", condition, call_site())
        self.condition = given if self.condition is None else AllOf(self.condition, given)
        return self

    def or_(self, condition: Any) -> Self:
        """Take an event also if it satisfies this condition."""
        given = condition_of("or_", condition, call_site())
        self.condition = given if self.condition is None else AnyOf(self.condition, given)
        return self

    def subtype(self, subtype_class: type) -> Self:
        """Take only events of a class."""
        if not isinstance(subtype_class, type):
            raise ArgumentTypeError(
                f"subtype expects a class, not {type(subtype_class).__name__}",
                fix="subtype(Login), with the class of the events",
            )
        given = subtype_condition(subtype_class, call_site())
        self.condition = given if self.condition is None else AllOf(self.condition, given)
        return self

    def until(self, until_condition: Any) -> Self:
        """An event that satisfies it ends a loop, and is not taken by it."""
        given = condition_of("until", until_condition, call_site())
        if self.until_condition is not None:
            raise InvalidArgumentError(
                f"pattern {self.name!r} has an until condition already",
                fix="say both in one: until(lambda event: first(event) or second(event))",
            )
        if self.repetition is not Repetition.LOOP:
            raise InvalidArgumentError(
                f"until ends a loop, and pattern {self.name!r} has none: it is taken "
                f"{self.quantifier_text()}",
                fix="call one_or_more() or times_or_more(n) before until",
            )
        self.until_condition = given
        return self

    # --- the next stage --------------------------------------------------------------------------

    def next(self, name_or_pattern: str | Pattern) -> Pattern:
        """A stage for the very next event."""
        return self._then("next", name_or_pattern, Contiguity.STRICT)

    def followed_by(self, name_or_pattern: str | Pattern) -> Pattern:
        """A stage for the next event that satisfies it; others in between are passed over."""
        return self._then("followed_by", name_or_pattern, Contiguity.RELAXED)

    def followed_by_any(self, name_or_pattern: str | Pattern) -> Pattern:
        """A stage for any later event that satisfies it: also those behind the first one."""
        return self._then("followed_by_any", name_or_pattern, Contiguity.ANY)

    def not_next(self, name: str) -> Pattern:
        """The very next event must not be like this."""
        return self._then_not("not_next", name, Contiguity.NOT_NEXT)

    def not_followed_by(self, name: str) -> Pattern:
        """No such event may come before the next stage; last, before the time limit."""
        return self._then_not("not_followed_by", name, Contiguity.NOT_FOLLOWED)

    def _then(self, call: str, name_or_pattern: str | Pattern, how: Contiguity) -> Pattern:
        return _stage(call, name_or_pattern, self, how, self.skip_strategy)

    def _then_not(self, call: str, name: str, how: Contiguity) -> Pattern:
        if self.is_optional:
            raise InvalidArgumentError(
                f"{call} follows pattern {self.name!r}, which is optional: what must not come "
                "needs a fixed place",
                fix="use two patterns, one with the optional part and one without it",
            )
        if not isinstance(name, str):
            raise ArgumentTypeError(
                f"{call} expects a name, not {type(name).__name__}", fix=f"{call}('name')"
            )
        return _stage(call, name, self, how, self.skip_strategy)

    # --- how often -------------------------------------------------------------------------------

    def optional(self) -> Self:
        """The stage may be left out."""
        if self.previous is not None and self.previous.is_greedy:
            raise InvalidArgumentError(
                f"pattern {self.name!r} cannot be optional: {self.previous.name!r} before it is "
                "greedy",
                fix="leave out greedy() there, or optional() here",
            )
        if self.is_optional:
            raise InvalidArgumentError(
                f"pattern {self.name!r} is optional already", fix="leave out one optional()"
            )
        self._refuse_negative("optional")
        self.is_optional = True
        return self

    def one_or_more(self, window_time: DurationLike | None = None) -> Self:
        """The stage takes one event or more.

        Args:
            window_time: the longest time between one of them and the next.
        """
        return self._repeat("one_or_more", Repetition.LOOP, 1, 1, window_time)

    def times(
        self,
        times: int,
        to_times: int | DurationLike | None = None,
        window_time: DurationLike | None = None,
    ) -> Self:
        """The stage takes so many events.

        Args:
            times: how many; with `to_times` at least. 0 makes the stage optional.
            to_times: at most; or, as in Java's overload, the window time.
            window_time: the longest time between one of them and the next.
        """
        if to_times is not None and not _is_number(to_times):
            if window_time is not None:
                raise ArgumentTypeError(
                    f"times expects a number as its second argument, not {to_times!r}",
                    fix="times(2, 4, Duration.of_seconds(10))",
                )
            to_times, window_time = None, to_times
        if to_times is None:
            return self._repeat("times", Repetition.TIMES, times, times, window_time)
        assert isinstance(to_times, int)
        optional = times == 0
        self._repeat("times", Repetition.TIMES, times or 1, to_times, window_time)
        self.is_optional = self.is_optional or optional
        return self

    def times_or_more(self, times: int, window_time: DurationLike | None = None) -> Self:
        """The stage takes so many events or more."""
        return self._repeat("times_or_more", Repetition.LOOP, times, times, window_time)

    def greedy(self) -> Self:
        """The stage takes as many events as it can, before the next stage gets one."""
        self._refuse_negative("greedy")
        if isinstance(self, GroupPattern):
            raise InvalidArgumentError(
                "a group of patterns cannot be greedy", fix="make a pattern inside it greedy"
            )
        if self.inner_contiguity is Contiguity.ANY:
            raise InvalidArgumentError(
                f"pattern {self.name!r} cannot be greedy and allow combinations",
                fix="leave out allow_combinations() or greedy()",
            )
        if self.repetition is Repetition.ONCE:
            raise InvalidArgumentError(
                f"pattern {self.name!r} takes one event, so it cannot be greedy",
                fix="call one_or_more(), times(n, m) or times_or_more(n) before greedy",
            )
        self.is_greedy = True
        return self

    def consecutive(self) -> Self:
        """The events of the stage must come one directly after the other."""
        return self._inner("consecutive", Contiguity.STRICT)

    def allow_combinations(self) -> Self:
        """The stage may pass over events that satisfy it."""
        return self._inner("allow_combinations", Contiguity.ANY)

    def _inner(self, call: str, how: Contiguity) -> Self:
        if self.repetition is Repetition.ONCE:
            raise InvalidArgumentError(
                f"{call} is about the events of one stage, and pattern {self.name!r} takes one",
                fix=f"call one_or_more(), times(n) or times_or_more(n) before {call}",
            )
        if self.inner_contiguity is how:
            raise InvalidArgumentError(
                f"{call} was called on pattern {self.name!r} already", fix=f"leave out one {call}()"
            )
        if self.inner_contiguity is not Contiguity.RELAXED:
            raise InvalidArgumentError(
                f"pattern {self.name!r} cannot be consecutive and allow combinations",
                fix="choose one of consecutive() and allow_combinations()",
            )
        self.inner_contiguity = how
        return self

    def _repeat(
        self,
        call: str,
        repetition: Repetition,
        least: int,
        most: int,
        window_time: DurationLike | None,
    ) -> Self:
        self._refuse_negative(call)
        if self.repetition is not Repetition.ONCE:
            raise InvalidArgumentError(
                f"pattern {self.name!r} has a quantifier already: {self.quantifier_text()}",
                fix="give each pattern one of one_or_more, times and times_or_more",
            )
        for number in (least, most):
            if not _is_number(number):
                raise ArgumentTypeError(
                    f"{call} expects a whole number, not {number!r}", fix=f"{call}(2)"
                )
        if least < 1 or most < least:
            raise InvalidArgumentError(
                f"{call} of pattern {self.name!r} expects a positive number"
                + (f", and the second not below the first: {least}, {most}" if least > 0 else ""),
                fix="times(2), times(2, 4), times(0, 3) or times_or_more(2)",
            )
        if self.is_optional:  # Flink forgets it here
            raise InvalidArgumentError(
                f"{call} was called on pattern {self.name!r} after optional",
                fix=f"call optional() after {call}()",
            )
        self.repetition = repetition
        self.times_range = Times(least, most, _positive_ms(call, window_time))
        return self

    # --- time ------------------------------------------------------------------------------------

    def within(
        self, window_time: DurationLike | None, within_type: WithinType = WithinType.FIRST_AND_LAST
    ) -> Self:
        """A match must be complete in less than this time.

        Args:
            window_time: a duration, or milliseconds; None changes nothing.
            within_type: whether it counts from the first event of the match, for which the
                smallest of all stages holds, or from the event before this stage's.
        """
        if not isinstance(within_type, WithinType):
            raise ArgumentTypeError(
                f"within expects a WithinType, not {within_type!r}",
                fix="within(Duration.of_minutes(10), WithinType.PREVIOUS_AND_CURRENT)",
            )
        time_ms = _positive_ms("within", window_time)
        if time_ms is not None:
            self.windows_ms[within_type] = time_ms
        return self

    # --- looking at it ---------------------------------------------------------------------------

    def get_name(self) -> str:
        """The name of this stage."""
        return self.name

    def get_previous(self) -> Pattern | None:
        """The stage before, or None for the first one."""
        return self.previous

    def get_after_match_skip_strategy(self) -> AfterMatchSkipStrategy:
        """What happens after a match."""
        return self.skip_strategy

    def stages(self) -> Iterator[Pattern]:
        """This stage and those before it, the last one first."""
        stage: Pattern | None = self
        while stage is not None:
            yield stage
            stage = stage.previous

    def take_condition(self) -> EventCondition:
        """The condition; every event satisfies a stage that has none."""
        return Always() if self.condition is None else self.condition

    def quantifier_text(self) -> str:
        """How often the stage takes an event, in words."""
        times = self.times_range
        if times is None:
            text = "once"
        elif self.repetition is Repetition.LOOP:
            text = f"{times.least} times or more"
        else:
            text = f"{times.least}" + (f" to {times.most}" if times.most > times.least else "")
            text += " times"
        words = [text, *["optional"] * self.is_optional, *["greedy"] * self.is_greedy]
        if self.repetition is not Repetition.ONCE and self.inner_contiguity is Contiguity.STRICT:
            words.append("consecutive")
        if self.inner_contiguity is Contiguity.ANY:
            words.append("with combinations")
        return ", ".join(words)

    def explain(self) -> str:
        """The automaton that looks for this pattern: states, edges and conditions, as text."""
        from headrace.cep.explain import explain_pattern

        return explain_pattern(self)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}: {self.quantifier_text()}>"

    def _refuse_negative(self, call: str) -> None:
        if self.contiguity.is_negative:
            raise InvalidArgumentError(
                f"{call} is not possible for pattern {self.name!r}, which says what must not come",
                fix=f"leave out {call}()",
            )


class GroupPattern(Pattern):
    """A pattern as a stage of another one; its quantifiers repeat the whole of it."""

    def __init__(
        self,
        group: Pattern,
        previous: Pattern | None,
        contiguity: Contiguity,
        skip_strategy: AfterMatchSkipStrategy,
    ) -> None:
        super().__init__("GroupPattern", previous, contiguity, skip_strategy)
        self.group = group

    def where(self, condition: Any) -> Self:
        """Not for a group."""
        raise self._no_condition("where")

    def or_(self, condition: Any) -> Self:
        """Not for a group."""
        raise self._no_condition("or_")

    def subtype(self, subtype_class: type) -> Self:
        """Not for a group."""
        raise self._no_condition("subtype")

    def get_raw_pattern(self) -> Pattern:
        """The last stage of the group."""
        return self.group

    def _no_condition(self, call: str) -> InvalidArgumentError:
        return InvalidArgumentError(
            f"a group of patterns has no condition of its own, so {call} has nothing to add to",
            fix=f"call {call} on a pattern inside the group",
        )


def _stage(
    call: str,
    name_or_pattern: str | Pattern,
    previous: Pattern | None,
    how: Contiguity,
    skip: AfterMatchSkipStrategy,
) -> Pattern:
    if isinstance(name_or_pattern, Pattern):
        return GroupPattern(name_or_pattern, previous, how, skip)
    if not isinstance(name_or_pattern, str):
        raise ArgumentTypeError(
            f"{call} expects a name or a pattern, not {type(name_or_pattern).__name__}",
            fix=f"{call}('name')",
        )
    if NAME_DELIMITER in name_or_pattern or not name_or_pattern:
        raise InvalidArgumentError(
            f"a pattern cannot be named {name_or_pattern!r}: the automaton numbers its states "
            f"with {NAME_DELIMITER!r} behind the name",
            fix="use letters, digits and underscores",
        )
    return Pattern(name_or_pattern, previous, how, skip)


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _positive_ms(call: str, window_time: DurationLike | None) -> int | None:
    if window_time is None:
        return None
    time_ms = to_millis(window_time)
    if time_ms <= 0:
        raise InvalidArgumentError(
            f"{call} expects a time above zero, not {time_ms} ms", fix=f"{call}(60_000)"
        )
    return time_ms
