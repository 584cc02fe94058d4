"""What happens to other partial matches once a match was found.

    no_skip                 nothing: every match is found
    skip_to_next            those that began with the same event are dropped
    skip_past_last_event    those that began at or before the match's last event are dropped
    skip_to_first(name)     those that began before the first event of a stage are dropped
    skip_to_last(name)      those that began before the last event of a stage are dropped

In: a match, as numbers of events by stage.  Out: the number up to which others are dropped.
Next: cep/nfa.py
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from headrace.errors import InvalidArgumentError, UserFunctionError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["AfterMatchSkipStrategy"]

Kind = Literal["no_skip", "to_next", "past_last", "to_first", "to_last"]


@dataclass(frozen=True, slots=True)
class AfterMatchSkipStrategy:
    """How much is skipped after a match; made by the functions below."""

    kind: Kind = "no_skip"
    pattern_name: str | None = None
    throws_on_miss: bool = False

    @staticmethod
    def no_skip() -> AfterMatchSkipStrategy:
        """Every possible match is emitted."""
        return AfterMatchSkipStrategy()

    @staticmethod
    def skip_to_next() -> AfterMatchSkipStrategy:
        """Partial matches that began with the same event as the match are dropped."""
        return AfterMatchSkipStrategy("to_next")

    @staticmethod
    def skip_past_last_event() -> AfterMatchSkipStrategy:
        """Partial matches that began before the match ended are dropped."""
        return AfterMatchSkipStrategy("past_last")

    @staticmethod
    def skip_to_first(pattern_name: str) -> AfterMatchSkipStrategy:
        """Partial matches that began before the first event of `pattern_name` are dropped."""
        return AfterMatchSkipStrategy("to_first", _name(pattern_name))

    @staticmethod
    def skip_to_last(pattern_name: str) -> AfterMatchSkipStrategy:
        """Partial matches that began before the last event of `pattern_name` are dropped."""
        return AfterMatchSkipStrategy("to_last", _name(pattern_name))

    def throw_exception_on_miss(self) -> AfterMatchSkipStrategy:
        """Fail where a match has no event of the named pattern, or begins with it."""
        if self.pattern_name is None:
            raise InvalidArgumentError(
                f"{self} skips to no named pattern, so there is none that could be missing",
                fix="AfterMatchSkipStrategy.skip_to_first(name).throw_exception_on_miss()",
            )
        return replace(self, throws_on_miss=True)

    def is_skip_strategy(self) -> bool:
        """Whether anything is skipped at all."""
        return self.kind != "no_skip"

    def get_pattern_name(self) -> str | None:
        """The pattern that is skipped to, if any."""
        return self.pattern_name

    def __str__(self) -> str:
        called = {"no_skip": "no_skip", "past_last": "skip_past_last_event"}
        name = called.get(self.kind, f"skip_{self.kind}")
        return f"{name}({self.pattern_name or ''})"

    def first_kept(self, match: Mapping[str, Sequence[int]]) -> int | None:
        """The number of the first event with which a partial match may begin and stay.

        Args:
            match: the numbers of its events by stage, in order.

        Returns:
            None where nothing is dropped.
        """
        match self.kind:
            case "no_skip":
                return None
            case "to_next":
                return min(numbers[0] for numbers in match.values()) + 1
            case "past_last":
                return max(numbers[-1] for numbers in match.values()) + 1
        return self._named(match)

    def _named(self, match: Mapping[str, Sequence[int]]) -> int | None:
        assert self.pattern_name is not None
        numbers = match.get(self.pattern_name)
        if not numbers:
            if self.throws_on_miss:
                raise _missed(
                    f"could not skip to {self.pattern_name!r}: the match has no such event"
                )
            return None
        found = numbers[0 if self.kind == "to_first" else -1]
        if self.throws_on_miss and found == min(events[0] for events in match.values()):
            raise _missed(f"could not skip to {self.pattern_name!r}: the match begins with it")
        return found


def _missed(message: str) -> UserFunctionError:
    return UserFunctionError(
        message,
        fix="skip to a pattern that every match has behind its first event, or, in Python, leave "
        "out throw_exception_on_miss()",
    )


def _name(pattern_name: str) -> str:
    if not isinstance(pattern_name, str):
        raise InvalidArgumentError(
            f"a skip strategy expects the name of a pattern, not {type(pattern_name).__name__}",
            fix="AfterMatchSkipStrategy.skip_to_first('name')",
        )
    return pattern_name
