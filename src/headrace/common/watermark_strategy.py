"""How records get their event time, and how far event time has come.

In: ``WatermarkStrategy.for_bounded_out_of_orderness("5s").with_timestamp_assigner(...)``.
Out: a frozen description the planner reads.  Next: runtime/operators/timestamps.py
"""

from __future__ import annotations

import inspect
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from headrace.common.time import DurationLike, to_millis
from headrace.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.common.opaque import ColumnLike

__all__ = [
    "AssignerWithPeriodicWatermarksWrapper",
    "IngestionTimeAssigner",
    "TimestampAssigner",
    "WatermarkAlignment",
    "WatermarkGenerator",
    "WatermarkOutput",
    "WatermarkStrategy",
]


class TimestampAssigner(ABC):
    """Finds the event time of a record."""

    @abstractmethod
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        """The event time in epoch milliseconds.

        Args:
            value: the record.
            record_timestamp: its timestamp so far; the smallest 64-bit number if it has none.
        """


class IngestionTimeAssigner(TimestampAssigner):
    """Stamps records with the clock of the machine that reads them. Ours, from Java.

    Right behind a source that is Flink's ingestion time; times never go back within one reader::

        WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
            IngestionTimeAssigner()
        )

    Machines whose clocks differ need ``for_bounded_out_of_orderness`` with that difference.
    """

    def __init__(self) -> None:
        self._latest = 0

    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        """The time now, or the latest one given so far."""
        return self.advance(time.time_ns() // 1_000_000)

    def advance(self, now: int) -> int:
        """What the clock shows, unless it went back."""
        self._latest = max(self._latest, now)
        return self._latest


class ColumnAssigner(TimestampAssigner):
    """Reads the event time from a column, without a call per record where records are columns.

    Args:
        column: the name of a field, one of headrace's column expressions, or a pyspark Column.

    Attributes:
        column: what Spark can read the timestamp from, on the driver.
        field: the name of the field, if it is a field and nothing more.
        spark_only: whether only Spark can evaluate it.
    """

    def __init__(self, column: ColumnLike) -> None:
        self.column: ColumnLike = f"`{column}`" if isinstance(column, str) else column
        self.field: str | None = column if isinstance(column, str) else None
        self.spark_only = _is_spark_column(column)
        if not self.spark_only and self.field is None:
            self.field = column.column_name

    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        """What the column holds for this record."""
        found: int
        if self.field is None:
            found = self.column.evaluate(value)
        elif isinstance(value, dict):
            found = value[self.field]
        elif isinstance(value, tuple) and not hasattr(value, self.field):
            found = value[int(self.field.removeprefix("f"))]  # the columns of tuples are f0, f1...
        else:
            found = getattr(value, self.field)
        return found

    def __getstate__(self) -> dict[str, object]:
        # a Spark column stands for something in the driver's JVM, and stays there
        return {**self.__dict__, "column": None if self.spark_only else self.column}


def _is_column(thing: object) -> bool:
    """Whether something is a column expression, or the name of a field."""
    return isinstance(thing, str) or hasattr(type(thing), "column_name") or _is_spark_column(thing)


def _is_spark_column(thing: object) -> bool:
    return any(
        base.__name__ == "Column" and base.__module__.startswith("pyspark")
        for base in type(thing).__mro__
    )


class WatermarkOutput(ABC):
    """Where a watermark generator sends its findings. Ours, from Java."""

    @abstractmethod
    def emit_watermark(self, watermark: int) -> None:
        """No record at or before this time is expected any more."""

    @abstractmethod
    def mark_idle(self) -> None:
        """Others need not wait for this input."""

    @abstractmethod
    def mark_active(self) -> None:
        """Others must wait for this input again."""


class WatermarkGenerator(ABC):
    """Decides how far event time has come. Ours, from Java."""

    @abstractmethod
    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        """Called for every record; may emit at once."""

    @abstractmethod
    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        """Called at the end of every batch: docs/semantics.md#w2."""


@dataclass(frozen=True)
class WatermarkAlignment:
    """Splits of one group wait for the slowest."""

    group: str
    max_drift_ms: int
    update_interval_ms: int = 1000


class CallableAssigner(TimestampAssigner):
    """A function of the record, or of the record and its timestamp so far."""

    def __init__(self, function: Callable[..., int]) -> None:
        self.function = function
        self.takes_one = _takes_one_argument(function)

    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        if self.takes_one:
            return self.function(value)
        return self.function(value, record_timestamp)


def _takes_one_argument(function: Callable[..., Any]) -> bool:
    try:
        inspect.signature(function).bind(None, None)
    except TypeError:
        return True
    except ValueError:  # a builtin without a signature
        return True
    return False


@dataclass(frozen=True)
class WatermarkStrategy:
    """Timestamps and watermarks of a stream. Every ``with_`` method gives a new strategy.

    Attributes:
        delay_ms: bound on how late a record may come; None without a bound (no watermarks, or a
            generator).
        generator_supplier: makes a WatermarkGenerator for each input; None for the built-in ones.
        timestamp_assigner: None to keep the timestamps that records have.
        idle_timeout_ms: after this long without records others need not wait; None for never.
        alignment: None without alignment.
    """

    delay_ms: int | None = None
    generator_supplier: Callable[[], WatermarkGenerator] | None = None
    timestamp_assigner: TimestampAssigner | None = None
    idle_timeout_ms: int | None = None
    alignment: WatermarkAlignment | None = None

    @staticmethod
    def for_monotonous_timestamps() -> WatermarkStrategy:
        """Timestamps only grow."""
        return WatermarkStrategy(delay_ms=0)

    @staticmethod
    def for_bounded_out_of_orderness(max_out_of_orderness: DurationLike) -> WatermarkStrategy:
        """Records are at most that much later than the newest one before them."""
        delay_ms = to_millis(max_out_of_orderness)
        if delay_ms < 0:
            raise InvalidArgumentError(
                f"max_out_of_orderness is {max_out_of_orderness}; it cannot be negative"
            )
        return WatermarkStrategy(delay_ms=delay_ms)

    @staticmethod
    def no_watermarks() -> WatermarkStrategy:
        """Event time does not move until the end of input."""
        return WatermarkStrategy()

    @staticmethod
    def for_generator(supplier: Callable[[], WatermarkGenerator]) -> WatermarkStrategy:
        """The user's own generator. Ours, from Java.

        Args:
            supplier: a WatermarkGenerator class, or a function that makes one.
        """
        if not callable(supplier):
            raise InvalidArgumentError(
                f"for_generator needs a class or function that makes a generator, not {supplier!r}"
            )
        return WatermarkStrategy(generator_supplier=supplier)

    def with_timestamp_assigner(
        self, timestamp_assigner: TimestampAssigner | Callable[..., int] | ColumnLike
    ) -> WatermarkStrategy:
        """Read the event time from the record.

        Args:
            timestamp_assigner: a TimestampAssigner; a function of the record, or of the record and
                its timestamp so far; the name of a field; or a column expression such as
                ``col("ts")``. A pyspark Column works right behind a source. All of them give
                epoch milliseconds.
        """
        assigner: Any = timestamp_assigner
        if _is_column(assigner):
            assigner = ColumnAssigner(assigner)
        elif not callable(getattr(assigner, "extract_timestamp", None)):
            if not callable(assigner):
                raise InvalidArgumentError(
                    f"a TimestampAssigner, a function, a field name or a column expression is "
                    f"expected, not {assigner!r}"
                )
            assigner = CallableAssigner(assigner)
        return replace(self, timestamp_assigner=assigner)

    def with_idleness(self, idle_timeout: DurationLike) -> WatermarkStrategy:
        """Do not wait for an input that has been silent for that long."""
        timeout_ms = to_millis(idle_timeout)
        if timeout_ms <= 0:
            raise InvalidArgumentError(f"the idle timeout is {idle_timeout}; it must be positive")
        return replace(self, idle_timeout_ms=timeout_ms)

    def with_watermark_alignment(
        self,
        watermark_group: str,
        max_allowed_watermark_drift: DurationLike,
        update_interval: DurationLike | None = None,
    ) -> WatermarkStrategy:
        """Let splits that are ahead in event time wait for the slowest of their group.

        Acts right behind sources with splits (Kafka, a `PythonSource`), epoch by epoch: a split
        whose watermark is too far ahead gets no records in the next one. Elsewhere it has no
        effect, and the log says so. See docs/semantics.md#w13.

        Args:
            watermark_group: splits of all sources of the job whose strategies name it.
            max_allowed_watermark_drift: how far a watermark may be ahead of the lowest one.
            update_interval: has no effect: an epoch is the interval.
        """
        interval_ms = 1000 if update_interval is None else to_millis(update_interval)
        drift_ms = to_millis(max_allowed_watermark_drift)
        if drift_ms < 0:
            raise InvalidArgumentError(
                f"max_allowed_watermark_drift is {max_allowed_watermark_drift}; it cannot be "
                "negative"
            )
        if interval_ms <= 0:
            raise InvalidArgumentError(f"update_interval is {update_interval}; it must be positive")
        return replace(self, alignment=WatermarkAlignment(watermark_group, drift_ms, interval_ms))


class AssignerWithPeriodicWatermarksWrapper:
    """PyFlink's holder of a Java object of old; there is no Java object here to hold."""

    def __init__(self, j_assigner_with_periodic_watermarks: object) -> None:
        raise InvalidArgumentError(
            "AssignerWithPeriodicWatermarksWrapper wraps a Java object, and headrace has none",
            fix="use WatermarkStrategy.for_generator(YourGenerator)",
        )
