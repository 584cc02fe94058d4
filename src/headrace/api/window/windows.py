"""Windows: finite pieces of a stream.

    TimeWindow(start=0, end=10)   0 <= timestamp < 10, so max_timestamp() is 9
    CountWindow(id=3)             the fourth window of a key
    GlobalWindow                  everything

Next: api/window/assigners.py (which records belong to which windows).
"""

from __future__ import annotations

import struct
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Generic, TypeVar

from headrace.common.constants import MAX_LONG_VALUE
from headrace.common.serializer import TypeSerializer

if TYPE_CHECKING:
    from collections.abc import Iterable
    from io import BytesIO

__all__ = [
    "CountWindow",
    "CountWindowSerializer",
    "GlobalWindow",
    "GlobalWindowSerializer",
    "TimeWindow",
    "TimeWindowSerializer",
    "Window",
]

W = TypeVar("W")


class Window(ABC):
    """A finite piece of a stream. Windows are values: equal by content, usable as dict keys."""

    __slots__ = ()

    @abstractmethod
    def max_timestamp(self) -> int:
        """The last timestamp that still belongs to the window."""


class MergeCallback(ABC, Generic[W]):
    """Hears which windows become one."""

    @abstractmethod
    def merge(self, to_be_merged: Iterable[W], merge_result: W) -> None:
        """The windows to be merged, and the window they become."""


class TimeWindow(Window):
    """The time from ``start`` (inclusive) to ``end`` (exclusive), in epoch milliseconds."""

    __slots__ = ("end", "start")

    def __init__(self, start: int, end: int) -> None:
        self.start = start
        self.end = end

    def max_timestamp(self) -> int:
        """One less than the end."""
        return self.end - 1

    def intersects(self, other: TimeWindow) -> bool:
        """Whether the windows overlap or touch."""
        return self.start <= other.end and self.end >= other.start

    def cover(self, other: TimeWindow) -> TimeWindow:
        """The smallest window that contains both."""
        return TimeWindow(min(self.start, other.start), max(self.end, other.end))

    @staticmethod
    def get_window_start_with_offset(timestamp: int, offset: int, window_size: int) -> int:
        """The start of the window that a timestamp falls into; also right before 1970."""
        return timestamp - (timestamp - offset) % window_size

    @staticmethod
    def merge_windows(windows: Iterable[TimeWindow], callback: MergeCallback[TimeWindow]) -> None:
        """Tell the callback of every group of windows that overlap or touch.

        [0,5) [3,9) [9,12) [20,25)  ->  merge({[0,5) [3,9) [9,12)}, [0,12))
        """
        group: set[TimeWindow] = set()
        covered: TimeWindow | None = None
        for window in sorted(windows):
            if covered is not None and covered.intersects(window):
                covered = covered.cover(window)
            else:
                _report(group, covered, callback)
                group, covered = set(), window
            group.add(window)
        _report(group, covered, callback)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TimeWindow) and self.start == other.start and self.end == other.end

    def __hash__(self) -> int:
        return hash((self.start, self.end))

    def __lt__(self, other: TimeWindow) -> bool:
        return (self.start, self.end) < (other.start, other.end)

    def __le__(self, other: TimeWindow) -> bool:
        return (self.start, self.end) <= (other.start, other.end)

    def __reduce__(self) -> tuple[type[TimeWindow], tuple[int, int]]:
        return TimeWindow, (self.start, self.end)

    def __repr__(self) -> str:
        return f"TimeWindow(start={self.start}, end={self.end})"


def _report(
    group: set[TimeWindow], covered: TimeWindow | None, callback: MergeCallback[TimeWindow]
) -> None:
    if len(group) > 1 and covered is not None:
        callback.merge(group, covered)


class CountWindow(Window):
    """A number of consecutive records of a key; windows of a key are counted from 0."""

    __slots__ = ("id",)

    def __init__(self, id: int) -> None:
        self.id = id

    def max_timestamp(self) -> int:
        """The end of time: count windows do not close by time."""
        return MAX_LONG_VALUE

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CountWindow) and self.id == other.id

    def __hash__(self) -> int:
        return hash((CountWindow, self.id))

    def __reduce__(self) -> tuple[type[CountWindow], tuple[int]]:
        return CountWindow, (self.id,)

    def __repr__(self) -> str:
        return f"CountWindow(id={self.id})"


class GlobalWindow(Window):
    """The one window that holds everything."""

    __slots__ = ()

    @staticmethod
    def get() -> GlobalWindow:
        """The window."""
        return _GLOBAL

    def max_timestamp(self) -> int:
        """The end of time."""
        return MAX_LONG_VALUE

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GlobalWindow)

    def __hash__(self) -> int:
        return hash(GlobalWindow)

    def __repr__(self) -> str:
        return "GlobalWindow"


_GLOBAL = GlobalWindow()
_TWO_LONGS = struct.Struct(">qq")
_ONE_LONG = struct.Struct(">q")


class TimeWindowSerializer(TypeSerializer[TimeWindow]):
    """Start and end, eight bytes each."""

    def serialize(self, element: TimeWindow, stream: BytesIO) -> None:
        """Append the window."""
        stream.write(_TWO_LONGS.pack(element.start, element.end))

    def deserialize(self, stream: BytesIO) -> TimeWindow:
        """The window at the stream's position."""
        return TimeWindow(*_TWO_LONGS.unpack(stream.read(16)))


class CountWindowSerializer(TypeSerializer[CountWindow]):
    """The number, eight bytes."""

    def serialize(self, element: CountWindow, stream: BytesIO) -> None:
        """Append the window."""
        stream.write(_ONE_LONG.pack(element.id))

    def deserialize(self, stream: BytesIO) -> CountWindow:
        """The window at the stream's position."""
        return CountWindow(_ONE_LONG.unpack(stream.read(8))[0])


class GlobalWindowSerializer(TypeSerializer[GlobalWindow]):
    """One byte: there is only one such window."""

    def serialize(self, element: GlobalWindow, stream: BytesIO) -> None:
        """Append the byte."""
        stream.write(b"\0")

    def deserialize(self, stream: BytesIO) -> GlobalWindow:
        """Skip the byte."""
        stream.read(1)
        return _GLOBAL
