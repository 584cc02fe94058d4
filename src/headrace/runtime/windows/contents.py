"""What a window holds: all its records, one reduced value, or one accumulator.

    record ─▶ added ─▶ content of (key, window) ─▶ elements ─▶ the window function, or the output
    two windows become one ─▶ merged

Contents know nothing of windows, keys or time: every strategy (windows/strategy.py) keeps them in
its own way.  `NO_ENTRY` stands for the content of a window that holds nothing yet.
"""

from __future__ import annotations

import operator
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from headrace.runtime.operators.functions import callable_of
from headrace.runtime.pages.table import NO_ENTRY
from headrace.runtime.windows.rolling import RollingAggregate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from headrace.runtime.windows.description import WindowDescription


class ContentKind(StrEnum):
    """What a content is, for loops that are written once for each kind."""

    RECORDS = "records"
    REDUCED = "reduced"
    AGGREGATED = "aggregated"


class Contents:
    """How records become what a window holds."""

    kind: ContentKind
    # whether `merge` may change what it is given and return it
    reuses = False

    @property
    def merge(self) -> Callable[[Any, Any], Any]:
        """Makes one of two contents; the earlier one comes first."""
        raise NotImplementedError

    def added(self, old: Any, value: Any, time: int) -> Any:
        """A content with a record more."""
        raise NotImplementedError

    def merged(self, old: Any, moved: Any) -> Any:
        """The content of two windows that become one."""
        return moved if old is NO_ENTRY else self.merge(old, moved)

    def elements(self, content: Any) -> list[Any]:
        """What a window function is given."""
        raise NotImplementedError

    def results(self, contents: Iterable[Any]) -> Iterable[Any]:
        """What windows without a function emit, where each holds one value."""
        raise NotImplementedError

    def can_share_panes(self) -> bool:
        """Whether overlapping windows can be merged from what they have in common."""
        return False

    def begin_batch(self, now: int, batch_id: int) -> None:
        """A new batch starts."""


class KeptRecords(Contents):
    """All records with their timestamps; folded only when a window is evaluated, if at all.

    Args:
        fold: makes one value of the records that an evictor has left.
    """

    kind = ContentKind.RECORDS

    def __init__(self, fold: Contents | None) -> None:
        self._fold = fold

    def added(self, old: Any, value: Any, time: int) -> Any:
        if old is NO_ENTRY:
            return [(value, time)]
        old.append((value, time))
        return old

    @property
    def merge(self) -> Callable[[Any, Any], Any]:
        return operator.add

    def elements(self, content: Any) -> list[Any]:
        values = [value for value, _ in content]
        if self._fold is None or not values:
            return values
        folded: Any = NO_ENTRY
        for value, time in content:
            folded = self._fold.added(folded, value, time)
        return self._fold.elements(folded)

    def begin_batch(self, now: int, batch_id: int) -> None:
        if self._fold is not None:
            self._fold.begin_batch(now, batch_id)


class ReducedValue(Contents):
    """One value, by a reduce function."""

    kind = ContentKind.REDUCED

    def __init__(self, reduce: Any) -> None:
        self.reduce = callable_of(reduce, "reduce")

    @property
    def merge(self) -> Callable[[Any, Any], Any]:
        return self.reduce

    def added(self, old: Any, value: Any, time: int) -> Any:
        return value if old is NO_ENTRY else self.reduce(old, value)

    def elements(self, content: Any) -> list[Any]:
        return [content]

    def results(self, contents: Iterable[Any]) -> Iterable[Any]:
        return contents

    def can_share_panes(self) -> bool:
        return True


class AccumulatedValue(Contents):
    """One accumulator of an AggregateFunction."""

    kind = ContentKind.AGGREGATED
    reuses = True

    def __init__(self, aggregate: Any) -> None:
        self.aggregate = aggregate

    def added(self, old: Any, value: Any, time: int) -> Any:
        accumulator = self.aggregate.create_accumulator() if old is NO_ENTRY else old
        return self.aggregate.add(value, accumulator)

    @property
    def merge(self) -> Callable[[Any, Any], Any]:
        """The user's own: panes call it three times a key and slide."""
        merge: Callable[[Any, Any], Any] = self.aggregate.merge
        return merge

    def elements(self, content: Any) -> list[Any]:
        return [self.aggregate.get_result(content)]

    def results(self, contents: Iterable[Any]) -> Iterable[Any]:
        return map(self.aggregate.get_result, contents)

    def can_share_panes(self) -> bool:
        """If `merge` does something; many are never written."""
        aggregate = self.aggregate
        try:
            merged = aggregate.merge(aggregate.create_accumulator(), aggregate.create_accumulator())
        except Exception:
            return False
        return merged is not None


class RollingValue(AccumulatedValue):
    """One numbered record; windows/rolling.py says why."""

    reuses = False

    def can_share_panes(self) -> bool:
        return True

    def begin_batch(self, now: int, batch_id: int) -> None:
        self.aggregate.begin_batch(now, batch_id)


def contents_of(described: WindowDescription) -> Contents:
    """What the windows of a step hold; an evictor needs all records."""
    fold: Contents | None = None
    if described.reduce is not None:
        fold = ReducedValue(described.reduce)
    elif isinstance(described.aggregate, RollingAggregate):
        fold = RollingValue(described.aggregate)
    elif described.aggregate is not None:
        fold = AccumulatedValue(described.aggregate)
    return KeptRecords(fold) if fold is None or described.evictor is not None else fold
