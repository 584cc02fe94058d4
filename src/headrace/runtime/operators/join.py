"""Joins: what a window join does with the contents of a window, and the interval join.

    window join    (0, left) (1, right) ... ─▶ window operator ─▶ Grouped ─▶ pairs or groups
    interval join  left at t  ─▶ late? ─▶ kept until W >= t + upper, joined with what is kept of
                   right in [t + lower, t + upper]; right at t likewise with the bounds mirrored

A window join has no operator of its own: its records carry the number of their side through
runtime/operators/window.py.  Next: datastream/joined_streams.py, datastream/interval_join.py
"""

from __future__ import annotations

import functools
import inspect
from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, Any

from headrace.api.functions import FlatJoinFunction, ProcessJoinFunction
from headrace.data.records import MAX_TIMESTAMP, MIN_TIMESTAMP, Records
from headrace.errors import RecordError
from headrace.runtime.operators.base import wrong_results
from headrace.runtime.operators.functions import callable_of
from headrace.runtime.operators.keyed import TimedOperator
from headrace.runtime.operators.late import LateRecords
from headrace.runtime.operators.process import ProcessOutput
from headrace.spi.state import StateSpec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from headrace.api.functions import RuntimeContext
    from headrace.api.output_tag import OutputTag
    from headrace.common.opaque import UserFunction
    from headrace.runtime.operators.base import OperatorRuntime
    from headrace.runtime.pages.table import PagedTable
    from headrace.runtime.state.provider import StateProvider

LEFT = 0
BUCKET_MS = 4096


def gives_many(function: UserFunction) -> bool:
    """Whether a join function gives an iterable of results for a pair, and not one result."""
    if isinstance(function, FlatJoinFunction | ProcessJoinFunction):
        return True
    target = getattr(function, "join", None) or getattr(function, "process_element", function)
    while isinstance(target, functools.partial):
        target = target.func
    if not inspect.isroutine(target):
        target = type(target).__call__
    return inspect.isgeneratorfunction(target)


def many_results(call: Callable[..., Any]) -> Callable[..., Iterable[Any]]:
    """A function with one result as one with an iterable of results; None means no result."""

    def listed(*arguments: Any) -> Iterable[Any]:
        result = call(*arguments)
        return () if result is None else (result,)

    return listed


def _pair_function(function: UserFunction, method: str) -> Callable[..., Iterable[Any] | None]:
    call = callable_of(function, method)
    return call if gives_many(function) else many_results(call)


# --- window join and co_group --------------------------------------------------------------------


class SideOf:
    """Marks the records of one side: record -> (side, record)."""

    def __init__(self, side: int) -> None:
        self.side = side

    def __call__(self, record: Any) -> tuple[int, Any]:
        return self.side, record


class KeyOfSide:
    """The key of a marked record, by the selector of its side."""

    def __init__(self, first: Callable[[Any], Any], second: Callable[[Any], Any]) -> None:
        self.selectors = (first, second)

    def __call__(self, marked: tuple[int, Any]) -> Any:
        return self.selectors[marked[0]](marked[1])


class CoGrouped:
    """Hands the contents of a window to a CoGroupFunction, in the place of a WindowFunction."""

    method = "co_group"

    def __init__(self, function: UserFunction) -> None:
        self.function = function

    def open(self, runtime_context: RuntimeContext) -> None:
        """Open the user's function."""
        self.call = self._resolve()
        opening = getattr(self.function, "open", None)
        if callable(opening):
            opening(runtime_context)

    def _resolve(self) -> Callable[..., Iterable[Any] | None]:
        return callable_of(self.function, self.method)

    def close(self) -> None:
        """Close the user's function."""
        closing = getattr(self.function, "close", None)
        if callable(closing):
            closing()

    def apply(self, key: Any, window: Any, inputs: Iterable[tuple[int, Any]]) -> Any:
        """The results of a window; each side keeps the order of arrival."""
        sides: tuple[list[Any], list[Any]] = ([], [])
        for side, record in inputs:
            sides[side].append(record)
        return self.evaluate(*sides)

    def evaluate(self, first: list[Any], second: list[Any]) -> Iterable[Any] | None:
        """The results for both groups."""
        return self.call(first, second)


class Joined(CoGrouped):
    """Hands every pair of a window to a join function: inner join, the first side outermost."""

    method = "join"

    def _resolve(self) -> Callable[..., Iterable[Any] | None]:
        return _pair_function(self.function, self.method)

    def evaluate(self, first: list[Any], second: list[Any]) -> Iterator[Any]:
        """The results of all pairs."""
        for left in first:
            for right in second:
                results = self.call(left, right)
                wrong = None if results is None else wrong_results(results)
                if wrong is not None:
                    raise wrong
                yield from results or ()


# --- interval join -------------------------------------------------------------------------------


class IntervalJoinOperator(TimedOperator):
    """Pairs with ``left + lower_ms <= right <= left + upper_ms``, both inclusive, per key."""

    inputs = 2

    def __init__(
        self,
        function: UserFunction,
        lower_ms: int,
        upper_ms: int,
        late_tags: tuple[str | None, str | None] = (None, None),
    ) -> None:
        super().__init__(function)
        self.late_tags = late_tags
        # for each side: where partners lie, relative to the record
        self.reach = ((lower_ms, upper_ms), (-upper_ms, -lower_ms))

    def state_specs(self) -> tuple[StateSpec, ...]:
        return (*super().state_specs(), *TimeBuffer.specs("left"), *TimeBuffer.specs("right"))

    def open(self, runtime: OperatorRuntime) -> None:
        super().open(runtime)
        # survives restart
        self.buffers = (TimeBuffer(self.states, "left"), TimeBuffer(self.states, "right"))
        # rebuilt on open
        self.call = _pair_function(self.function, "process_element")
        self.out = ProcessOutput(self.output)
        self.context = PairContext(self.out)
        self.late = tuple(LateRecords(runtime, tag) for tag in self.late_tags)

    def process(self, records: Records, input: int) -> None:  # noqa: A002
        keys, late = self.keys(records, input), self.late[input]
        value: Any = None
        try:
            for key, (value, time) in zip(keys, records.pairs(), strict=True):
                self.scope.set(key)
                if time is None or time == MIN_TIMESTAMP:
                    raise RecordError(
                        "a record without a timestamp reached an interval join",
                        fix="call assign_timestamps_and_watermarks on both streams before key_by",
                    )
                if time < self.current_watermark:
                    late.add(value, time)
                else:
                    self._join(key, value, time, input)
        except Exception as error:
            raise self.failed(error, value) from error
        late.flush()
        self.out.flush()

    def _join(self, key: Any, value: Any, time: int, side: int) -> None:
        lower, upper = self.reach[side]
        self.buffers[side].add(key, time, value)
        partners = self.buffers[1 - side].between(key, time + lower, time + upper)
        call, context, extend = self.call, self.context, self.out.extend
        for partner_time, partner in partners:
            context.left, context.right = (
                (time, partner_time) if side == LEFT else (partner_time, time)
            )
            pair = (value, partner) if side == LEFT else (partner, value)
            extend(call(*pair, context), max(time, partner_time))
        # The time is in the namespace: it cannot be told from the timer's once that is capped.
        self.event_timers.register(min(time + max(upper, 0), MAX_TIMESTAMP), key, (side, time))

    def fire_event_timer(self, timestamp: int, key: Any, namespace: Any) -> None:
        """No partner of these records can come any more."""
        side, time = namespace
        self.buffers[side].remove(key, time)


class PairContext(ProcessJoinFunction.Context):
    """The ctx of a ProcessJoinFunction."""

    def __init__(self, out: ProcessOutput) -> None:
        self._out = out
        self.left = self.right = MIN_TIMESTAMP

    def get_left_timestamp(self) -> int:
        """The timestamp of the left record."""
        return self.left

    def get_right_timestamp(self) -> int:
        """The timestamp of the right record."""
        return self.right

    def get_timestamp(self) -> int:
        """The timestamp of the results."""
        return max(self.left, self.right)

    def output(self, output_tag: OutputTag, value: Any) -> None:
        """Emit a record to a side output."""
        self._out.extend(((output_tag, value),), self.get_timestamp())


class TimeBuffer:
    """The records of one side, by key and timestamp; a map state by timestamp that scales.

    A key's records are cut into buckets of time, each an entry of its own, so that a batch reads
    and writes only the buckets it touches, however much of a key is kept:

        index    key           -> [bucket, ...]                        in order
        records  (key, bucket) -> ([time, ...], [[record, ...], ...])  in order of time
    """

    def __init__(self, states: StateProvider, name: str) -> None:
        index, records = self.specs(name)
        self._index: PagedTable = states.table(index.name)
        self._records: PagedTable = states.table(records.name)

    @staticmethod
    def specs(name: str) -> tuple[StateSpec, StateSpec]:
        """The two states of a buffer."""
        return StateSpec(f"{name}-buckets", "table"), StateSpec(f"{name}-records", "paired")

    def add(self, key: Any, time: int, record: Any) -> None:
        """Keep a record; those of one time stay in order of arrival."""
        bucket = time // BUCKET_MS
        entry = (key, bucket)
        found = self._records.get(entry)
        if found is None:
            self._records.put(entry, ([time], [[record]]))
            self._add_bucket(key, bucket)
            return
        times, records = found
        place = bisect_left(times, time)
        if place < len(times) and times[place] == time:
            records[place].append(record)
        else:
            times.insert(place, time)
            records.insert(place, [record])
        self._records.put(entry, found)

    def _add_bucket(self, key: Any, bucket: int) -> None:
        buckets = self._index.get(key, [])
        buckets.insert(bisect_left(buckets, bucket), bucket)
        self._index.put(key, buckets)

    def between(self, key: Any, first: int, last: int) -> Iterator[tuple[int, Any]]:
        """(time, record) of all records from `first` to `last`, in order of time."""
        buckets = self._index.get(key, ())
        start = bisect_left(buckets, first // BUCKET_MS)
        end = bisect_right(buckets, last // BUCKET_MS)
        for bucket in buckets[start:end]:
            times, records = self._records.get((key, bucket))
            for place in range(bisect_left(times, first), bisect_right(times, last)):
                for record in records[place]:
                    yield times[place], record

    def remove(self, key: Any, time: int) -> None:
        """Forget the records of one time; unknown ones are ignored."""
        bucket = time // BUCKET_MS
        found = self._records.get((key, bucket))
        if found is None:
            return
        times, records = found
        place = bisect_left(times, time)
        if place == len(times) or times[place] != time:
            return
        del times[place], records[place]
        if times:
            self._records.put((key, bucket), found)
        else:
            self._records.remove((key, bucket))
            self._remove_bucket(key, bucket)

    def _remove_bucket(self, key: Any, bucket: int) -> None:
        left = [b for b in self._index.get(key, ()) if b != bucket]
        if left:
            self._index.put(key, left)
        else:
            self._index.remove(key)
