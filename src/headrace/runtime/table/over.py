"""OVER: aggregates over the lines around each line, which come out with it.

    order by            frame                  lines leave
    event time          any                    when event time has passed them; late ones never
    processing time     all before, or rows    at once
    processing time     a range of time        a millisecond later, with all that came in it
    another column      all before             at once; those behind change: runtime/table/
                                               over_changes.py
    anything, in BATCH  any                    when their key is whole: runtime/table/over_batch.py

Late means: by an unbounded frame at or before the watermark; by a bounded one at or before the line
of its key that left last, as in Flink.
In: lines, keyed by PARTITION BY.  Out: the lines, then the results.
Next: runtime/table/over_unbounded.py, runtime/table/over_sliding.py
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from headrace.data.records import MAX_TIMESTAMP
from headrace.errors import UnsupportedStepError
from headrace.runtime.table.base import TimedTableOperator
from headrace.runtime.table.over_functions import (
    DENSE_RANK,
    LOOKING_AHEAD,
    RANK,
    over_function,
)
from headrace.runtime.table.times import rowtimes
from headrace.runtime.table.waiting import WaitingLines
from headrace.runtime.table.windows.states import WindowAggregates
from headrace.spi.state import StateSpec

if TYPE_CHECKING:
    from headrace.common.row_data_type import RowDataTypeInfo
    from headrace.data.records import Records
    from headrace.runtime.operators.base import OperatorRuntime
    from headrace.runtime.table.accumulators import LineAggregate
    from headrace.runtime.table.lines import Lines
    from headrace.runtime.table.ordering import Part
    from headrace.scalars.aggregates import AggregateCall
    from headrace.scalars.session import ScalarSession

    Line = tuple[Any, ...]
    Timed = tuple[int, Line]

EVENT_TIME, PROCESSING_TIME, OTHER = "event", "processing", "other"
_FRAMES = StateSpec("frames", "table")


@dataclass(frozen=True, slots=True)
class OverSpec:
    """What OVER asks for.

    Attributes:
        calls: the functions.
        order: of each column of ORDER BY its place, whether descending, whether NULL comes last.
        domain: whether the first of them is `event` time, `processing` time, or `other`.
        rows: whether the frame counts lines, or is a range of the first column.
        preceding: where it begins: how many lines or milliseconds before; None for all.
        following: in BATCH mode where it ends, likewise; 0 for the current line, None for all.
            A frame may begin behind the current line with a negative `preceding`, too.
        ttl_ms: after which time without a line a key is forgotten; 0 for never.
        once: with another order than time whether results change at most once a batch.
    """

    calls: tuple[AggregateCall, ...]
    order: tuple[Part, ...] = ()
    domain: str = EVENT_TIME
    rows: bool = False
    preceding: int | None = None
    following: int | None = 0
    ttl_ms: int = 0
    once: bool = False

    def ordered_calls(self) -> tuple[AggregateCall, ...]:
        """The calls; those that look at the order have its columns as arguments."""
        places = tuple(part[0] for part in self.order)
        return tuple(
            replace(call, arguments=places) if call.function.upper() in (RANK, DENSE_RANK) else call
            for call in self.calls
        )


class OverOperator(TimedTableOperator):
    """What all frames of a stream share."""

    def __init__(
        self,
        spec: OverSpec,
        input_type: RowDataTypeInfo,
        output_type: RowDataTypeInfo,
        session: ScalarSession,
    ) -> None:
        super().__init__([input_type], output_type)
        self.spec = spec
        self.session = session

    def open(self, runtime: OperatorRuntime) -> None:
        super().open(runtime)
        ahead = [c.function for c in self.spec.calls if c.function.upper() in LOOKING_AHEAD]
        behind = self.spec.preceding is not None and self.spec.preceding < 0
        if self.spec.following is not None and self.spec.following < 0:
            raise UnsupportedStepError(
                "a frame of OVER that ends before the current row is not there for streams",
                where=runtime.where,
                fix="run the query in BATCH mode, or let the frame end with CURRENT ROW",
            )
        if ahead or behind or self.spec.following != 0:
            raise UnsupportedStepError(
                f"{ahead[0] if ahead else 'a frame with lines that FOLLOW'} needs lines that have "
                "not come yet, which OVER of a stream does not wait for",
                where=runtime.where,
                fix="run the query in BATCH mode, or turn the order round (LAG for LEAD)",
            )
        self.aggregates = WindowAggregates(
            self.spec.ordered_calls(),
            self.input_types[0],
            self.session,
            retracts=self.spec.preceding is not None,
            special=self.special_form,
        )
        self.aggregates.open(self)

    def special_form(self, call: AggregateCall) -> LineAggregate | None:
        """The form of a call that is another one than for GROUP BY; None for others."""
        return over_function(call)

    def close(self) -> None:
        self.aggregates.close()
        super().close()

    def emit_with_values(self, rows: list[Line], values: list[tuple[Any, ...]]) -> None:
        """Hand on lines, each with its results."""
        if rows:
            inner = self.in_lines[0]
            columns = zip(*rows, strict=True)
            arrays = [inner.array(number, list(column)) for number, column in enumerate(columns)]
            self.emit_columns([*arrays, *self.aggregates.columns_of_values(values)])


class TimedOverOperator(OverOperator):
    """OVER by a time attribute."""

    def state_specs(self) -> tuple[StateSpec, ...]:
        return (*super().state_specs(), *WaitingLines.specs(), _FRAMES)

    def open(self, runtime: OperatorRuntime) -> None:
        super().open(runtime)
        spec = self.spec
        self.event_time = spec.domain == EVENT_TIME
        self.timers = self.event_timers if self.event_time else self.processing_timers
        self.waits = self.event_time or not (spec.rows or spec.preceding is None)
        self.time = spec.order[0][0] if spec.order else 0
        # survives restart: key -> what its frame holds
        self.waiting = WaitingLines(self.states)
        self.frames = self.expiring_table(_FRAMES.name, spec.ttl_ms)
        # of the timers that fire at the moment: key -> its lines in order
        self.due: dict[Any, list[Timed]] = {}

    # --- lines -------------------------------------------------------------------------------

    def process(self, records: Records, input: int) -> None:  # noqa: A002
        lines = self.lines(records)
        if not len(lines):
            return
        try:
            if self.waits:
                self.wait(lines)
            else:
                self.run_lines(lines, self.line_keys(lines))
        except Exception as error:
            raise self.failed(error) from error

    def wait(self, lines: Lines) -> None:
        """Keep lines until their time has come."""
        times = [self.runtime.clock()] * len(lines)
        if self.event_time:
            times = rowtimes(lines.columns[self.time], self.runtime.name).tolist()
        for key, row, time in zip(self.line_keys(lines), lines.rows(), times, strict=True):
            if self.event_time and time <= self.late_until(key):
                self.runtime.metrics.late_records_dropped += 1
                continue
            if self.waiting.add(key, time, row):
                self.timers.register(self._wake_at(time), key)

    def _wake_at(self, time: int) -> int:
        return time if self.event_time else time + 1

    def late_until(self, key: Any) -> int:
        """The time up to which lines of a key come too late."""
        return self.current_watermark

    def fire_event_timer(self, timestamp: int, key: Any, namespace: Any) -> None:
        self._take(self.current_watermark, key)

    def fire_processing_timer(self, timestamp: int, key: Any, namespace: Any) -> None:
        self._take(timestamp - 1 if self.timers.takes_more else MAX_TIMESTAMP, key)

    def _take(self, until: int, key: Any) -> None:
        due = self.waiting.take(key, until)
        if due:
            self.due.setdefault(key, []).extend(due)
        following = self.waiting.next_time(key)
        if following is not None:
            self.timers.register(self._wake_at(following), key)

    def after_timers(self) -> None:
        due, self.due = list(self.due.items()), {}
        if due:
            try:
                self.run_due(due)
            except Exception as error:
                raise self.failed(error) from error

    # --- for subclasses ----------------------------------------------------------------------

    def run_lines(self, lines: Lines, keys: list[Any]) -> None:
        """Lines that need not wait."""
        raise NotImplementedError

    def run_due(self, due: list[tuple[Any, list[Timed]]]) -> None:
        """Lines that have waited, those of a key in the order of time."""
        raise NotImplementedError


def over_operator(
    spec: OverSpec,
    input_type: RowDataTypeInfo,
    output_type: RowDataTypeInfo,
    session: ScalarSession,
    *,
    bounded: bool = False,
) -> OverOperator:
    """The operator of OVER; its input is keyed by PARTITION BY.

    Args:
        spec: what is asked for.
        input_type: of the lines.
        output_type: the columns of the input, then the results.
        session: of the query.
        bounded: whether it runs in BATCH mode.
    """
    from headrace.runtime.table.over_batch import BatchOverOperator
    from headrace.runtime.table.over_changes import ChangingOverOperator
    from headrace.runtime.table.over_sliding import SlidingOverOperator
    from headrace.runtime.table.over_unbounded import UnboundedOverOperator

    if bounded:
        return BatchOverOperator(spec, input_type, output_type, session)
    if spec.domain == OTHER:
        return ChangingOverOperator(spec, input_type, output_type, session)
    kind = UnboundedOverOperator if spec.preceding is None else SlidingOverOperator
    return kind(spec, input_type, output_type, session)
