"""Window assigners: which windows a record belongs to.

    tumbling 10:      |--------|--------|       ts 12 -> [10,20)
    sliding 10 by 5:  |----|----|               ts 12 -> [10,20) [5,15)
    session gap 10:   [ts, ts+10), merged with every session it overlaps or touches

Configuration only: frozen, picklable.  runtime/operators/window.py does the work; what it may know
beforehand an assigner publishes (api/window/shapes.py).
Next: api/window/triggers.py (when a window is evaluated).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from headrace.api.state import ValueStateDescriptor
from headrace.api.time_domain import TimeDomain
from headrace.api.window.shapes import Gap, Grid, WindowShape, is_as_written
from headrace.api.window.triggers import (
    CountTrigger,
    EventTimeTrigger,
    NeverTrigger,
    ProcessingTimeTrigger,
    Trigger,
)
from headrace.api.window.windows import (
    CountWindow,
    CountWindowSerializer,
    GlobalWindow,
    GlobalWindowSerializer,
    TimeWindow,
    TimeWindowSerializer,
)
from headrace.api.window.windows import MergeCallback as _MergeCallback
from headrace.common.constants import MIN_LONG_VALUE
from headrace.common.time import DurationLike, to_millis
from headrace.common.typeinfo import Types
from headrace.errors import InvalidArgumentError, RecordError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from headrace.api.functions import RuntimeContext
    from headrace.common.serializer import TypeSerializer

__all__ = [
    "CountSlidingWindowAssigner",
    "CountTumblingWindowAssigner",
    "DynamicEventTimeSessionWindows",
    "DynamicProcessingTimeSessionWindows",
    "EventTimeSessionWindows",
    "GlobalWindows",
    "MergingWindowAssigner",
    "ProcessingTimeSessionWindows",
    "SessionWindowTimeGapExtractor",
    "SlidingEventTimeWindows",
    "SlidingProcessingTimeWindows",
    "TumblingEventTimeWindows",
    "TumblingProcessingTimeWindows",
    "WindowAssigner",
]

# A subclass that replaces one of these may put records anywhere: its parent's shape says nothing.
_FINDS_WINDOWS = ("assign_windows", "is_event_time", "_time")

T = TypeVar("T")
W = TypeVar("W")
W2 = TypeVar("W2")


class WindowAssigner(ABC, Generic[T, W]):
    """Finds the windows of a record."""

    class WindowAssignerContext(ABC):
        """The clock and the state that an assigner may use."""

        @abstractmethod
        def get_current_processing_time(self) -> int:
            """The machine's clock."""

        @abstractmethod
        def get_runtime_context(self) -> RuntimeContext:
            """State of the key, and the place in the job."""

    @abstractmethod
    def assign_windows(
        self, element: T, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[W]:
        """The windows of a record, possibly none."""

    @abstractmethod
    def get_default_trigger(self, env: Any = None) -> Trigger[Any, Any]:
        """The trigger to use when the user gives none."""

    @abstractmethod
    def get_window_serializer(self) -> TypeSerializer[W]:
        """How windows of this kind are written to bytes."""

    @abstractmethod
    def is_event_time(self) -> bool:
        """Whether windows close by watermark, so that records can be late."""

    def window_shape(self) -> WindowShape:
        """What is known of all windows beforehand; who says more here may run faster. Ours."""
        return WindowShape(
            TimeDomain.EVENT_TIME if self.is_event_time() else TimeDomain.PROCESSING_TIME
        )


class MergingWindowAssigner(WindowAssigner[T, W]):
    """An assigner whose windows grow together."""

    class MergeCallback(_MergeCallback[W2]):
        """Hears which windows become one."""

    @abstractmethod
    def merge_windows(self, windows: Iterable[W], callback: _MergeCallback[W]) -> None:
        """Tell the callback which windows become one."""


class SessionWindowTimeGapExtractor(ABC):
    """Finds the gap that ends a session, record by record."""

    @abstractmethod
    def extract(self, element: Any) -> int:
        """The gap after this record in milliseconds, more than 0."""


class _TimeAssigner(WindowAssigner[T, TimeWindow]):
    """What all assigners of time windows share. ``event_time`` says which clock."""

    event_time: bool

    def get_default_trigger(self, env: Any = None) -> Trigger[Any, Any]:
        """Fires at the end of the window, by the assigner's clock."""
        return EventTimeTrigger() if self.event_time else ProcessingTimeTrigger()

    def get_window_serializer(self) -> TypeSerializer[TimeWindow]:
        """Start and end."""
        return TimeWindowSerializer()

    def is_event_time(self) -> bool:
        """Whether windows close by watermark."""
        return self.event_time

    def _time(self, timestamp: int, context: WindowAssigner.WindowAssignerContext) -> int:
        """The time that decides: the record's, or the clock's."""
        if not self.event_time:
            return context.get_current_processing_time()
        if timestamp is None or timestamp == MIN_LONG_VALUE:
            raise RecordError(
                f"a record without a timestamp reached {self!r}",
                fix="call assign_timestamps_and_watermarks before the window, or use a "
                "processing-time window",
            )
        return timestamp


class _Tumbling(_TimeAssigner[T]):
    def __init__(self, size: int, offset: int) -> None:
        if size <= 0 or abs(offset) >= size:
            raise InvalidArgumentError(
                f"{type(self).__name__} needs size > 0 and |offset| < size, not size {size} ms and "
                f"offset {offset} ms"
            )
        self._size = size
        self._offset = offset

    def assign_windows(
        self, element: T, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[TimeWindow]:
        """The one window around the time."""
        time = self._time(timestamp, context)
        start = time - (time - self._offset) % self._size
        return [TimeWindow(start, start + self._size)]

    def window_shape(self) -> WindowShape:
        """One window after the other, unless a subclass finds its windows in another way."""
        shape = super().window_shape()
        if not is_as_written(self, _Tumbling, *_FINDS_WINDOWS):
            return shape
        return replace(shape, grid=Grid(self._size, self._size, self._offset))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._size}, {self._offset})"


class TumblingEventTimeWindows(_Tumbling[T]):
    """Windows of one size, one after the other, by the records' timestamps."""

    event_time = True

    @staticmethod
    def of(size: DurationLike, offset: DurationLike | None = None) -> TumblingEventTimeWindows[Any]:
        """Windows of that size; they start at multiples of it since the epoch, plus an offset."""
        return TumblingEventTimeWindows(to_millis(size), to_millis(offset or 0))


class TumblingProcessingTimeWindows(_Tumbling[T]):
    """Windows of one size, one after the other, by the machine's clock."""

    event_time = False

    @staticmethod
    def of(
        size: DurationLike, offset: DurationLike | None = None
    ) -> TumblingProcessingTimeWindows[Any]:
        """Windows of that size; they start at multiples of it since the epoch, plus an offset."""
        return TumblingProcessingTimeWindows(to_millis(size), to_millis(offset or 0))


class _Sliding(_TimeAssigner[T]):
    def __init__(self, size: int, slide: int, offset: int) -> None:
        if size <= 0 or slide <= 0 or abs(offset) >= slide:
            raise InvalidArgumentError(
                f"{type(self).__name__} needs size > 0, slide > 0 and |offset| < slide, not size "
                f"{size} ms, slide {slide} ms and offset {offset} ms"
            )
        self._size = size
        self._slide = slide
        self._offset = offset

    def assign_windows(
        self, element: T, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[TimeWindow]:
        """The windows around the time, latest first; none if it falls into a gap."""
        time, size = self._time(timestamp, context), self._size
        last = time - (time - self._offset) % self._slide
        return [TimeWindow(start, start + size) for start in range(last, time - size, -self._slide)]

    def window_shape(self) -> WindowShape:
        """One window every ``slide``, unless a subclass finds its windows in another way."""
        shape = super().window_shape()
        if not is_as_written(self, _Sliding, *_FINDS_WINDOWS):
            return shape
        return replace(shape, grid=Grid(self._size, self._slide, self._offset))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._size}, {self._slide}, {self._offset})"


class SlidingEventTimeWindows(_Sliding[T]):
    """Windows of one size that start every ``slide``, by the records' timestamps."""

    event_time = True

    @staticmethod
    def of(
        size: DurationLike, slide: DurationLike, offset: DurationLike | None = None
    ) -> SlidingEventTimeWindows[Any]:
        """Windows of that size, one every ``slide``."""
        return SlidingEventTimeWindows(to_millis(size), to_millis(slide), to_millis(offset or 0))


class SlidingProcessingTimeWindows(_Sliding[T]):
    """Windows of one size that start every ``slide``, by the machine's clock."""

    event_time = False

    @staticmethod
    def of(
        size: DurationLike, slide: DurationLike, offset: DurationLike | None = None
    ) -> SlidingProcessingTimeWindows[Any]:
        """Windows of that size, one every ``slide``."""
        return SlidingProcessingTimeWindows(
            to_millis(size), to_millis(slide), to_millis(offset or 0)
        )


class _Sessions(_TimeAssigner[T], MergingWindowAssigner[T, TimeWindow]):
    """Sessions: activity with no pause longer than the gap."""

    def _gap(self, element: T) -> int:
        raise NotImplementedError

    def assign_windows(
        self, element: T, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[TimeWindow]:
        """The session of this record alone; it is merged with those it touches."""
        time = self._time(timestamp, context)
        return [TimeWindow(time, time + self._gap(element))]

    def merge_windows(
        self, windows: Iterable[TimeWindow], callback: _MergeCallback[TimeWindow]
    ) -> None:
        """Sessions that overlap or touch become one."""
        TimeWindow.merge_windows(windows, callback)

    # the gap after every record, where there is one
    _fixed_gap: int | None = None

    def window_shape(self) -> WindowShape:
        """The gap, unless a subclass finds or merges its windows in another way."""
        shape = super().window_shape()
        if not is_as_written(self, _Sessions, *_FINDS_WINDOWS, "merge_windows"):
            return shape
        return replace(shape, gap=Gap(self._gap, self._fixed_gap))


class _FixedGapSessions(_Sessions[T]):
    def __init__(self, session_gap: int) -> None:
        if session_gap <= 0:
            raise InvalidArgumentError(
                f"{type(self).__name__} needs a gap longer than 0 ms, not {session_gap} ms"
            )
        self._session_gap = self._fixed_gap = session_gap

    def _gap(self, element: T) -> int:
        return self._session_gap

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._session_gap})"


class _DynamicSessions(_Sessions[T]):
    def __init__(
        self,
        session_window_time_gap_extractor: SessionWindowTimeGapExtractor | Callable[[Any], int],
    ) -> None:
        extractor = session_window_time_gap_extractor
        self._session_gap = extractor
        if not callable(getattr(extractor, "extract", extractor)):
            raise InvalidArgumentError(
                f"a dynamic gap needs a SessionWindowTimeGapExtractor or a function, not "
                f"{extractor!r}"
            )

    def _gap(self, element: T) -> int:
        extractor: Any = self._session_gap
        extract = getattr(extractor, "extract", extractor)
        gap = to_millis(extract(element))
        if gap <= 0:
            raise InvalidArgumentError(
                f"the session gap of {element!r:.200} is {gap} ms", fix="return more than 0"
            )
        return gap

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._session_gap})"


class EventTimeSessionWindows(_FixedGapSessions[T]):
    """Sessions by the records' timestamps."""

    event_time = True

    @staticmethod
    def with_gap(size: DurationLike) -> EventTimeSessionWindows[Any]:
        """Sessions that end after a pause of that size."""
        return EventTimeSessionWindows(to_millis(size))

    @staticmethod
    def with_dynamic_gap(
        extractor: SessionWindowTimeGapExtractor | Callable[[Any], int],
    ) -> DynamicEventTimeSessionWindows[Any]:
        """Sessions whose gap depends on the record."""
        return DynamicEventTimeSessionWindows(extractor)


class ProcessingTimeSessionWindows(_FixedGapSessions[T]):
    """Sessions by the machine's clock."""

    event_time = False

    @staticmethod
    def with_gap(size: DurationLike) -> ProcessingTimeSessionWindows[Any]:
        """Sessions that end after a pause of that size."""
        return ProcessingTimeSessionWindows(to_millis(size))

    @staticmethod
    def with_dynamic_gap(
        extractor: SessionWindowTimeGapExtractor | Callable[[Any], int],
    ) -> DynamicProcessingTimeSessionWindows[Any]:
        """Sessions whose gap depends on the record."""
        return DynamicProcessingTimeSessionWindows(extractor)


class DynamicEventTimeSessionWindows(_DynamicSessions[T]):
    """Sessions by the records' timestamps, with a gap that depends on the record."""

    event_time = True

    @staticmethod
    def with_dynamic_gap(
        extractor: SessionWindowTimeGapExtractor | Callable[[Any], int],
    ) -> DynamicEventTimeSessionWindows[Any]:
        """Sessions whose gap depends on the record."""
        return DynamicEventTimeSessionWindows(extractor)


class DynamicProcessingTimeSessionWindows(_DynamicSessions[T]):
    """Sessions by the machine's clock, with a gap that depends on the record."""

    event_time = False

    @staticmethod
    def with_dynamic_gap(
        extractor: SessionWindowTimeGapExtractor | Callable[[Any], int],
    ) -> DynamicProcessingTimeSessionWindows[Any]:
        """Sessions whose gap depends on the record."""
        return DynamicProcessingTimeSessionWindows(extractor)


class _CountAssigner(WindowAssigner[T, CountWindow]):
    """Counts the records of a key; the count is state of the key."""

    def __init__(self, window_size: int, window_slide: int, state_name: str) -> None:
        if window_size < 1 or window_slide < 1:
            raise InvalidArgumentError(
                f"{type(self).__name__} needs sizes of at least 1 record, not {window_size} and "
                f"{window_slide}"
            )
        self._window_size = window_size
        self._window_slide = window_slide
        self._count_descriptor = ValueStateDescriptor(state_name, Types.LONG())

    def assign_windows(
        self, element: T, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[CountWindow]:
        """The windows of the key's next record, latest first."""
        state = context.get_runtime_context().get_state(self._count_descriptor)
        count = state.value() or 0
        state.update(count + 1)
        last = count // self._window_slide
        first = max(0, -((self._window_size - 1 - count) // self._window_slide))
        return [CountWindow(number) for number in range(last, first - 1, -1)]

    def get_default_trigger(self, env: Any = None) -> Trigger[Any, Any]:
        """Fires when a window is full."""
        return CountTrigger(self._window_size)

    def get_window_serializer(self) -> TypeSerializer[CountWindow]:
        """The window's number."""
        return CountWindowSerializer()

    def is_event_time(self) -> bool:
        """Count windows know no time."""
        return False

    def window_shape(self) -> WindowShape:
        """Count windows know no time."""
        return WindowShape(None)


class CountTumblingWindowAssigner(_CountAssigner[T]):
    """Windows of n records of a key, one after the other."""

    def __init__(self, window_size: int) -> None:
        super().__init__(window_size, window_size, "tumble-count-assigner")

    @staticmethod
    def of(window_size: int) -> CountTumblingWindowAssigner[Any]:
        """Windows of that many records."""
        return CountTumblingWindowAssigner(window_size)

    def __repr__(self) -> str:
        return f"CountTumblingWindowAssigner({self._window_size})"


class CountSlidingWindowAssigner(_CountAssigner[T]):
    """Windows of n records of a key, one every m records."""

    def __init__(self, window_size: int, window_slide: int) -> None:
        super().__init__(window_size, window_slide, "slide-count-assigner")

    @staticmethod
    def of(window_size: int, window_slide: int) -> CountSlidingWindowAssigner[Any]:
        """Windows of that many records, one every ``window_slide`` records."""
        return CountSlidingWindowAssigner(window_size, window_slide)

    def __repr__(self) -> str:
        return f"CountSlidingWindowAssigner({self._window_size}, {self._window_slide})"


class GlobalWindows(WindowAssigner[T, GlobalWindow]):
    """One window for everything; evaluated only by a trigger the user gives."""

    _ALL = (GlobalWindow.get(),)

    @staticmethod
    def create() -> GlobalWindows[Any]:
        """The assigner."""
        return GlobalWindows()

    def assign_windows(
        self, element: T, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[GlobalWindow]:
        """The one window."""
        return self._ALL

    def get_default_trigger(self, env: Any = None) -> Trigger[Any, Any]:
        """Never fires."""
        return NeverTrigger()

    def get_window_serializer(self) -> TypeSerializer[GlobalWindow]:
        """One byte."""
        return GlobalWindowSerializer()

    def is_event_time(self) -> bool:
        """The global window knows no time."""
        return False

    def window_shape(self) -> WindowShape:
        """The global window knows no time."""
        return WindowShape(None)

    def __repr__(self) -> str:
        return "GlobalWindows()"
