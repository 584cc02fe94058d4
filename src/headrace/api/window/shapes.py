"""The shape of windows, as an assigner publishes it: a grid that all keys share, or a gap.

    Grid(size 10, slide 5)    |----|----|         every window is known from the time alone
                                   |----|----|
    Gap                       [--][-----]  [--]   sessions: each record reaches a gap ahead

Who runs windows asks for the shape (`WindowAssigner.window_shape`) and knows no assigner by name:
runtime/windows/strategies.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headrace.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.api.time_domain import TimeDomain

__all__ = ["Gap", "Grid", "WindowShape"]


@dataclass(frozen=True, slots=True)
class Grid:
    """Windows of one size that start every ``slide_ms``, at ``offset_ms`` from the epoch.

    A time belongs to every window around it; a record's windows come latest first.
    """

    size_ms: int
    slide_ms: int
    offset_ms: int = 0

    def __post_init__(self) -> None:
        if self.size_ms <= 0 or self.slide_ms <= 0:
            raise InvalidArgumentError(
                f"a grid needs size_ms > 0 and slide_ms > 0, not {self.size_ms} and {self.slide_ms}"
            )

    @property
    def overlapping(self) -> bool:
        """Whether a time may belong to several windows."""
        return self.size_ms > self.slide_ms


@dataclass(frozen=True, slots=True)
class Gap:
    """The pause that ends a session: a record's is ``[time, time + gap)``, merged where they meet.

    Attributes:
        after: the gap after a record, in milliseconds.
        fixed_ms: the gap after every record; None if it depends on the record.
    """

    after: Callable[[Any], int]
    fixed_ms: int | None = None


@dataclass(frozen=True, slots=True)
class WindowShape:
    """What is known of all windows of an assigner before any record comes.

    Attributes:
        domain: the clock that closes windows; None if they know no time, and so have no bounds.
        grid: where windows lie, if that depends on the time alone.
        gap: what ends a window, if windows are sessions.
    """

    domain: TimeDomain | None
    grid: Grid | None = None
    gap: Gap | None = None


def is_as_written(thing: object, owner: type, *methods: str) -> bool:
    """Whether methods of an object are those of a class: none was replaced further down."""
    return all(
        getattr(getattr(thing, method), "__func__", None) is getattr(owner, method)
        for method in methods
    )
