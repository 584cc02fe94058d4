"""What users implement to get something out of matches, and what they are called with.

    PatternProcessFunction    any results for a match, side outputs, time; timed-out matches too
    PatternSelectFunction     one result for a match
    PatternFlatSelectFunction any results for a match

In: `MatchedEvents`, a dict from the name of a stage to its events.  Called by cep/operator.py
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from headrace.api.functions import Function

if TYPE_CHECKING:
    from collections.abc import Iterable

    from headrace.api.output_tag import OutputTag
    from headrace.cep.nfa import PatternMatch

__all__ = [
    "MatchedEvents",
    "PatternFlatSelectFunction",
    "PatternProcessFunction",
    "PatternSelectFunction",
]


class MatchedEvents(dict[str, list[Any]]):
    """The events of a match by the name of their stage, each stage's in order.

    Attributes:
        path: (stage, event, timestamp), from the first event to the last.
    """

    def __init__(self, match: PatternMatch) -> None:
        super().__init__(match.events())
        self.path = match.path
        self._match = match

    def explain(self) -> str:
        """How the match came about: which stage took which event, when, how long after the last."""
        from headrace.cep.explain import explain_match

        return explain_match(self._match)

    def __reduce__(self) -> tuple[Any, ...]:
        return MatchedEvents, (self._match,)


class PatternProcessFunction(Function):
    """Makes results of matches.

    Define `process_timed_out_match(match, ctx)` as well to hear of partial matches whose time was
    over: it gives to side outputs, by ``ctx.output(tag, value)`` or ``yield tag, value``.
    """

    class Context(ABC):
        """Time, and side outputs."""

        @abstractmethod
        def timestamp(self) -> int:
            """The match's time: that of its last event; of a timed-out one, when it was over."""

        @abstractmethod
        def current_processing_time(self) -> int:
            """The wall clock in epoch milliseconds."""

        @abstractmethod
        def output(self, output_tag: OutputTag, value: Any) -> None:
            """Emit a record to a side output."""

        @abstractmethod
        def explain(self, match: MatchedEvents) -> str:
            """How a match came about, as text for people who debug an alert."""

    @abstractmethod
    def process_match(
        self, match: MatchedEvents, ctx: PatternProcessFunction.Context
    ) -> Iterable[Any] | None:
        """The records to emit for a match: usually a generator."""


class PatternSelectFunction(Function):
    """Makes one result of a match."""

    @abstractmethod
    def select(self, match: MatchedEvents) -> Any:
        """The record to emit for a match."""


class PatternFlatSelectFunction(Function):
    """Makes any number of results of a match."""

    @abstractmethod
    def flat_select(self, match: MatchedEvents) -> Iterable[Any]:
        """The records to emit for a match."""
