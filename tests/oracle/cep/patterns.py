"""The pattern of a case, built with headrace's API call by call, as java/Patterns.java does.

In: cases.py's patterns.  Out: `headrace.cep` patterns.  Next: ours.py
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, NamedTuple

from headrace.cep import AfterMatchSkipStrategy, Pattern, WithinType
from headrace.datastream.expressions import col

if TYPE_CHECKING:
    from oracle.cep.cases import Json


class Event(NamedTuple):
    """One event of a case."""

    number: int
    key: str
    name: str
    price: int


def pattern_of(document: Json, *, by_columns: bool = False) -> Pattern:
    """The pattern that a case describes.

    Args:
        document: of the case.
        by_columns: simple conditions are column expressions; else functions.

    Raises:
        HeadraceError: a call is refused.
    """
    return _Builder(by_columns).chain(document, _skip(document.get("skip", {})))


def _skip(skip: Json) -> AfterMatchSkipStrategy | None:
    match skip.get("to"):
        case None:
            return None
        case "no_skip":
            return AfterMatchSkipStrategy.no_skip()
        case "next":
            return AfterMatchSkipStrategy.skip_to_next()
        case "past_last":
            return AfterMatchSkipStrategy.skip_past_last_event()
        case to:
            made = getattr(AfterMatchSkipStrategy, f"skip_to_{to}")(skip["stage"])
    found: AfterMatchSkipStrategy = made.throw_exception_on_miss() if skip["throws"] else made
    return found


class _Builder:
    """Calls the methods that a document lists."""

    def __init__(self, by_columns: bool) -> None:
        self._by_columns = by_columns

    def chain(self, document: Json, skip: AfterMatchSkipStrategy | None) -> Pattern:
        pattern: Any = None
        for stage in document["stages"]:
            what = self.chain(stage["group"], None) if "group" in stage else stage["stage"]
            if stage["after"] == "begin":
                pattern = Pattern.begin(what) if skip is None else Pattern.begin(what, skip)
            else:
                pattern = getattr(pattern, stage["after"])(what)
            for name, *arguments in stage["calls"]:
                pattern = self._called(pattern, name, arguments)
        found: Pattern = pattern
        return found

    def _called(self, pattern: Any, name: str, arguments: list[Any]) -> Any:
        match name, arguments:
            case "where" | "or_" | "until", [condition]:
                given = condition_of(*condition, by_columns=self._by_columns)
                return getattr(pattern, name)(given)
            case "times", [times, window]:
                return pattern.times(times, window_time=window)
            case "times_range", _:
                return pattern.times(*arguments)
            case "within_previous", [time]:
                return pattern.within(time, WithinType.PREVIOUS_AND_CURRENT)
        return getattr(pattern, name)(*arguments)


# --- conditions ----------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Iterative:
    """A condition over the prices that the match has for a stage; picklable."""

    stage: str
    kind: str
    limit: int = 0

    def __call__(self, event: Event, ctx: Any) -> bool:
        prices = [earlier.price for earlier in ctx.get_events_for_pattern(self.stage)]
        match self.kind:
            case "above_last":
                return not prices or event.price > prices[-1]
            case "above_average":
                return bool(event.price * len(prices) > sum(prices))
            case "sum_below":
                return bool(sum(prices) + event.price < self.limit)
        assert self.kind == "fewer_than"
        return len(prices) < self.limit


def condition_of(kind: str, argument: Any, limit: int = 0, *, by_columns: bool = False) -> Any:
    """A condition of the vocabulary of cases.py."""
    if kind == "name":
        return col("name") == argument if by_columns else lambda event: event.name == argument
    if kind == "price_at_least":
        return col("price") >= argument if by_columns else lambda event: event.price >= argument
    return Iterative(argument, kind, limit)
