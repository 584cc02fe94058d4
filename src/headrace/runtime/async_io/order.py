"""In which order results leave, whatever the order in which requests end.

    records       1   2   W   3   4         requests end: 4, 2, 1, 3
    in order                                1 2 W 3 4
    between watermarks                      2 1 W 4 3

Nothing here knows of threads or loops: requests are added, completed, and handed to `release`.
Next: runtime/async_io/requests.py
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable


class AsyncRequest:
    """A record that is asked about."""

    __slots__ = ("deadline", "done", "results", "segment", "task", "timestamp", "value")

    def __init__(self, value: Any, timestamp: int | None) -> None:
        self.value = value
        self.timestamp = timestamp
        self.results: list[Any] = []
        # its results are in; written by the order
        self.done = False
        self.deadline = 0.0
        # whose answer counts: another one when the time is over, none when it is called off
        self.task: asyncio.Task[None] | None = None
        self.segment: _Segment | None = None


@dataclass(frozen=True, slots=True)
class Mark:
    """A watermark among the records, and the channel that it belongs to."""

    timestamp: int
    channel: str


class Order(Protocol):
    """Holds requests, done or not, until they may leave."""

    # how many requests have not left
    size: int

    def add(self, request: AsyncRequest) -> None:
        """A request begins."""
        ...

    def add_mark(self, mark: Mark) -> None:
        """A watermark follows what was added so far."""
        ...

    def complete(self, request: AsyncRequest) -> None:
        """The results of a request are in."""
        ...


class InOrder:
    """Results leave in the order of their records."""

    def __init__(self, release: Callable[[AsyncRequest | Mark], None]) -> None:
        self.size = 0
        self._release = release
        self._queue: deque[AsyncRequest | Mark] = deque()

    def add(self, request: AsyncRequest) -> None:
        """A request begins."""
        self._queue.append(request)
        self.size += 1

    def add_mark(self, mark: Mark) -> None:
        """A watermark follows what was added so far."""
        self._queue.append(mark)
        self._release_done()

    def complete(self, request: AsyncRequest) -> None:
        """The results of a request are in."""
        request.done = True
        self._release_done()

    def _release_done(self) -> None:
        queue = self._queue
        while queue:
            first = queue[0]
            if isinstance(first, AsyncRequest):
                if not first.done:
                    return
                self.size -= 1
            self._release(queue.popleft())


@dataclass(slots=True, eq=False)
class _Segment:
    """Requests between two watermarks."""

    open: int = 0
    # done, while an earlier segment holds them back
    done: list[AsyncRequest] = field(default_factory=list)
    # the watermark that ends it; None for the last segment
    end: Mark | None = None


class BetweenWatermarks:
    """Results leave as they are ready, but stay between the watermarks their record was between."""

    def __init__(self, release: Callable[[AsyncRequest | Mark], None]) -> None:
        self.size = 0
        self._release = release
        self._segments: deque[_Segment] = deque([_Segment()])

    def add(self, request: AsyncRequest) -> None:
        """A request begins."""
        request.segment = self._segments[-1]
        request.segment.open += 1
        self.size += 1

    def add_mark(self, mark: Mark) -> None:
        """A watermark follows what was added so far."""
        self._segments[-1].end = mark
        self._segments.append(_Segment())
        self._advance()

    def complete(self, request: AsyncRequest) -> None:
        """The results of a request are in."""
        segment, request.segment = request.segment, None
        assert segment is not None
        request.done = True
        segment.open -= 1
        segment.done.append(request)
        self._advance()

    def _advance(self) -> None:
        while True:
            first = self._segments[0]
            for request in first.done:
                self.size -= 1
                self._release(request)
            first.done.clear()
            if first.open or first.end is None:
                return
            self._release(first.end)
            self._segments.popleft()
