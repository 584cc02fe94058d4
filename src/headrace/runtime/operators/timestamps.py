"""assign_timestamps_and_watermarks: stamps records and says how far event time has come.

In front of the first exchange a task sees only its part of one batch, so the operator there sends a
*candidate* at the end of the batch: the watermark that its own records allow.  The valve of the
next stage remembers the highest candidate of every split.  A generator of the user's own needs
memory, so the planner puts it after an exchange, where its state is kept.

A timestamp that stands in a field is read from the Arrow column, without a call per record: where
the strategy names a column, and where the assigner's code does nothing but pick a field.
"""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from headrace.common.watermark_strategy import (
    CallableAssigner,
    ColumnAssigner,
    IngestionTimeAssigner,
    WatermarkOutput,
)
from headrace.data.records import MAX_TIMESTAMP, MIN_TIMESTAMP, Records
from headrace.errors import RecordError
from headrace.expr.rows import RowEvaluator
from headrace.runtime.key_selectors import Keying, picked_field
from headrace.runtime.operators.base import Operator, OperatorRuntime
from headrace.runtime.watermarks import GONE
from headrace.spi.state import StateSpec

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.common.watermark_strategy import (
        TimestampAssigner,
        WatermarkGenerator,
        WatermarkStrategy,
    )
    from headrace.runtime.watermarks import InputClocks

# The attributes of a generator; behind a savepoint it starts again, as in Flink.
_GENERATOR = StateSpec("generator", None, "subtask")


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
        self.assigner = self.strategy.timestamp_assigner
        field = picked_timestamp(self.assigner)
        self.picked = None if field is None else Keying(_untouched, field)
        assigner = self.assigner
        if field is None and isinstance(assigner, ColumnAssigner) and not assigner.spark_only:
            self.picked = Keying(RowEvaluator(assigner.column.node))
        self.highest: dict[str, int] = {}  # by split, for the batch at hand
        self.released: list[str] = []  # splits that nobody waits for any more
        self.reached: dict[str, int] = {}  # watermarks by split, of the batch that ends

    def process(self, records: Records, input: int) -> None:  # noqa: A002
        stamped = self.stamp(records)
        if stamped.timestamps and not self.runtime.bounded:
            split = self.runtime.channel.name
            highest = self.highest.get(split, MIN_TIMESTAMP)
            self.highest[split] = max(highest, max(stamped.timestamps))
        self.output.emit(stamped)

    def await_split(self) -> None:
        self.highest.setdefault(self.runtime.channel.name, MIN_TIMESTAMP)

    def release_split(self) -> None:
        self.released.append(self.runtime.channel.name)

    def stamp(self, records: Records) -> Records:
        """The records with the timestamps that the strategy says."""
        assigner = self.assigner
        if assigner is None:
            return records
        if isinstance(assigner, IngestionTimeAssigner):
            now = assigner.advance(self.runtime.clock())
            return records.with_timestamps([now] * len(records))
        times = self._times_in_columns(records)
        return records.with_timestamps(self._extracted(records) if times is None else times)

    def _times_in_columns(self, records: Records) -> list[int] | None:
        """Timestamps that need no call per record, if they are all whole numbers."""
        if isinstance(self.assigner, ColumnAssigner) and self.assigner.spark_only:
            return self._checked(records, records.timestamps or [None] * len(records))
        column = None if self.picked is None else self.picked.column(records)
        if column is None or not pa.types.is_integer(column.type):
            return None
        times: list[int] = column.to_numpy(zero_copy_only=False).tolist()
        return times

    def _extracted(self, records: Records) -> list[int]:
        assert self.assigner is not None
        extract, times = self.assigner.extract_timestamp, []
        value: Any = None
        try:
            for value, previous in records.pairs():
                times.append(extract(value, MIN_TIMESTAMP if previous is None else previous))
        except Exception as error:
            raise self.failed(error, value) from error
        return self._checked(records, times)

    def _checked(self, records: Records, times: list[Any]) -> list[int]:
        if set(map(type, times)) <= {int} and not _too_large(times):
            return times
        for time, value in zip(times, records.values, strict=True):
            if (problem := _problem(time, value)) is not None:
                raise self.failed(problem, value)
        return list(map(int, times))

    def watermark(self, timestamp: int, input: int) -> None:  # noqa: A002
        """Upstream watermarks end here, except the last one: docs/semantics.md#w5."""
        if timestamp == MAX_TIMESTAMP:
            super().watermark(timestamp, input)

    def idle(self, input: int) -> None:  # noqa: A002
        """Nor does it matter who is idle upstream."""

    def pass_watermark(self, timestamp: int) -> None:
        if timestamp == MAX_TIMESTAMP:
            super().pass_watermark(timestamp)

    def emit_watermark_now(self) -> None:
        """Emit what the records since the last time allow, split by split."""
        highest, self.highest = self.highest, {}
        released, self.released = self.released, []
        if self.delay_ms is None or self.runtime.bounded:
            return
        channel = self.runtime.channel
        own = channel.name
        reached = {
            split: time if time == MIN_TIMESTAMP else time - self.delay_ms - 1
            for split, time in highest.items()
        }
        # low ones first: a split that is back from idleness must hold what the others bring
        for split in sorted(reached, key=reached.__getitem__):
            channel.name = split
            self.emit_candidate(reached[split])
        if self.runtime.at_source:
            for split in released:
                channel.name = split
                self.output.watermark(GONE)
        channel.name = own
        self.reached.update((n, time) for n, time in reached.items() if time > MIN_TIMESTAMP)

    def messages(self) -> Iterator[Any]:
        return self.news()

    def news(self) -> Iterator[Any]:
        """How far each split came, for those who must wait for it: docs/semantics.md#w13."""
        alignment, reached = self.strategy.alignment, self.reached
        self.reached = {}
        if alignment is not None and reached and self.runtime.at_source:
            told = (alignment.group, alignment.max_drift_ms, self.strategy.idle_timeout_ms)
            yield ("aligned", *told, reached)

    def emit_candidate(self, timestamp: int) -> None:
        """Say how far event time has come; never backwards."""
        if self.runtime.at_source:
            self.output.watermark(timestamp)
        elif timestamp > self.current_watermark:
            self.current_watermark = timestamp
            self.output.watermark(timestamp)
        else:
            self._say_active()

    def _say_active(self) -> None:
        """Records came that do not move event time: nobody must think the stream is idle."""
        if self.strategy.idle_timeout_ms is not None and self.current_watermark > MIN_TIMESTAMP:
            self.output.watermark(self.current_watermark)


class GeneratorOperator(TimestampsOperator, WatermarkOutput):
    """A WatermarkGenerator of the user's own: asked for every record, and at the end of each batch.

    Its attributes are kept with the state after every batch, so that it goes on where it was.
    """

    asks_the_clock = True

    def __init__(self, strategy: WatermarkStrategy) -> None:
        super().__init__(strategy, None)

    def state_specs(self) -> tuple[StateSpec, ...]:
        return (_GENERATOR,)

    def open(self, runtime: OperatorRuntime) -> None:
        super().open(runtime)
        self.generator = self._new_generator()
        self._store_key = f"{runtime.uid}/{_GENERATOR.name}".encode()
        self._stored: bytes | None = None
        self._pending: list[tuple[Any, int]] = []
        self._had_records = False  # in the batch at hand

    def _new_generator(self) -> WatermarkGenerator:
        supplier = self.strategy.generator_supplier
        assert supplier is not None
        return supplier()

    def reload(self, clocks: InputClocks) -> None:
        super().reload(clocks)
        self._stored = self.runtime.store.get(self._store_key)
        self.generator = self._new_generator()
        if self._stored is not None:
            attributes, self.current_watermark = pickle.loads(self._stored)
            self.generator.__dict__.update(attributes)

    def process(self, records: Records, input: int) -> None:  # noqa: A002
        stamped = self.stamp(records)
        if self.runtime.bounded:  # no event time before the end, so nobody is asked for it
            self.output.emit(stamped)
            return
        self._had_records = True
        waiting: list[tuple[Any, int]] = []
        value: Any = None
        try:
            for value, timestamp in stamped.pairs():
                waiting.append((value, MIN_TIMESTAMP if timestamp is None else timestamp))
                before = self.current_watermark
                # the record goes first: a watermark made from it must follow it,
                # docs/semantics.md#w3
                self._pending = waiting
                self.generator.on_event(value, waiting[-1][1], self)
                if self.current_watermark != before:
                    waiting = []
        except Exception as error:
            raise self.failed(error, value) from error
        self._release(waiting)

    def _release(self, waiting: list[tuple[Any, int]]) -> None:
        if waiting:
            self.output.emit(Records([v for v, _ in waiting], [t for _, t in waiting]))

    def emit_watermark(self, watermark: Any) -> None:
        """The generator says how far event time has come."""
        timestamp = int(getattr(watermark, "timestamp", watermark))
        if timestamp > self.current_watermark:
            self._release(self._pending)
            self._pending = []
            self.emit_candidate(timestamp)

    def mark_idle(self) -> None:
        """Nothing to do: a silent generator delays nothing within a batch."""

    def mark_active(self) -> None:
        """Nothing to do."""

    def emit_watermark_now(self) -> None:
        """The periodic call."""
        self._pending = []
        if self.runtime.bounded:
            return
        before = self.current_watermark
        try:
            self.generator.on_periodic_emit(self)
        except Exception as error:
            raise self.failed(error) from error
        if self._had_records and self.current_watermark == before:
            self._say_active()
        self._had_records = False

    def flush(self) -> None:
        if self.current_watermark == MAX_TIMESTAMP:  # the end: the next run has a new generator
            self.runtime.store.delete(self._store_key)
            self._stored = None
            return
        attributes = {k: v for k, v in self.generator.__dict__.items() if not callable(v)}
        content = pickle.dumps((attributes, self.current_watermark), 5)
        if content != self._stored:
            self.runtime.store.put(self._store_key, content)
            self._stored = content


def picked_timestamp(assigner: TimestampAssigner | None) -> int | str | None:
    """The field that holds the timestamp, if the assigner does nothing but pick it."""
    if isinstance(assigner, ColumnAssigner):
        return assigner.field
    if isinstance(assigner, CallableAssigner):
        return picked_field(assigner.function, 0, 1 if assigner.takes_one else 2)
    if assigner is None or "extract_timestamp" in vars(assigner):
        return None
    return picked_field(type(assigner).extract_timestamp, 1, 3)


def _untouched(record: Any) -> Any:
    return record


def _too_large(times: list[int]) -> bool:
    return bool(times) and (max(times) > MAX_TIMESTAMP or min(times) < MIN_TIMESTAMP)


def _problem(time: Any, value: Any) -> RecordError | None:
    """What is wrong with a timestamp."""
    if isinstance(time, bool) or not hasattr(time, "__index__"):
        return RecordError(
            f"the timestamp assigner returned {time!r} for {value!r:.100}, not a whole number",
            fix="return epoch milliseconds as an int",
        )
    if _too_large([int(time)]):
        return RecordError(
            f"the timestamp assigner returned {time} for {value!r:.100}, which does not fit into "
            "64 bits",
            fix="return epoch milliseconds, not smaller units",
        )
    return None
