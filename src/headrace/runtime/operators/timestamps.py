"""assign_timestamps_and_watermarks: stamps records and says how far event time has come.

In front of the first exchange a task sees only its part of one batch, so the operator there sends a
*candidate* at the end of the batch: the watermark that its own records allow.  The valve of the next
stage remembers the highest candidate of every split.  A generator of the user's own needs memory,
so the planner puts it behind an exchange, where its state is kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.errors import RecordError
from headrace.runtime.operators.base import Operator, OperatorRuntime
from headrace.runtime.records import MAX_TIMESTAMP, MIN_TIMESTAMP, Records

if TYPE_CHECKING:
    from headrace.common.watermark_strategy import WatermarkStrategy


class TimestampsOperator(Operator):
    """Bounded out-of-orderness (monotonous timestamps have a bound of 0), or no watermarks.

    Args:
        strategy: the user's; its timestamp assigner may be None to keep the source's timestamps.
        delay_ms: the bound, or None for no watermarks at all.
    """

    uses_time = True

    def __init__(self, strategy: WatermarkStrategy, delay_ms: int | None) -> None:
        self.strategy = strategy
        self.delay_ms = delay_ms

    def open(self, runtime: OperatorRuntime) -> None:
        super().open(runtime)
        assigner = self.strategy.timestamp_assigner
        self.extract = None if assigner is None else assigner.extract_timestamp
        self.highest: dict[str, int] = {}  # by split, for the batch at hand

    def process(self, records: Records, input: int) -> None:  # noqa: A002
        stamped = records if self.extract is None else self._stamp(records)
        if stamped.timestamps:
            split = self.runtime.channel.name
            highest = self.highest.get(split, MIN_TIMESTAMP)
            self.highest[split] = max(highest, max(stamped.timestamps))
        self.output.emit(stamped)

    def _stamp(self, records: Records) -> Records:
        extract, times = self.extract, []
        assert extract is not None
        value: Any = None
        try:
            for value, previous in records.pairs():
                times.append(extract(value, MIN_TIMESTAMP if previous is None else previous))
            if times and not all(type(time) is int for time in times):
                times = [_whole(time, value) for time, value in zip(times, records.values, strict=True)]
        except Exception as error:
            raise self.failed(error, value) from error
        records.timestamps = times
        return records

    def watermark(self, timestamp: int, input: int) -> None:  # noqa: A002
        """Upstream watermarks end here, except the last one (W5)."""
        if timestamp == MAX_TIMESTAMP:
            super().watermark(timestamp, input)

    def pass_watermark(self, timestamp: int) -> None:
        if timestamp == MAX_TIMESTAMP:
            super().pass_watermark(timestamp)

    def end_of_part(self) -> None:
        """The task has seen all its records of this batch: emit what they allow, split by split."""
        highest, self.highest = self.highest, {}
        if self.delay_ms is None:
            return
        channel = self.runtime.channel
        own = channel.name
        for split, timestamp in highest.items():
            channel.name = split
            self.emit_candidate(timestamp - self.delay_ms - 1)
        channel.name = own

    def emit_candidate(self, timestamp: int) -> None:
        """Say how far event time has come; never backwards."""
        if self.runtime.at_source:
            self.output.watermark(timestamp)
        elif timestamp > self.current_watermark:
            self.current_watermark = timestamp
            self.output.watermark(timestamp)


def _whole(time: Any, value: Any) -> int:
    if isinstance(time, bool) or not hasattr(time, "__index__"):
        raise RecordError(
            f"the timestamp assigner returned {time!r} for {value!r:.100}, not a whole number",
            fix="return epoch milliseconds as an int",
        )
    return int(time)
