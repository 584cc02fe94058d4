"""A window of aggregates over columns on Catalyst: what one would write by hand.

    source ─ steps ─ event time ─┐
    control: end of input ───────┴─ withWatermark ─ filter, select ─ groupBy(window, key).agg

Flink's watermark is the highest timestamp minus the bound minus 1, and a window fires once it
reaches its last millisecond; Spark's is without the 1, and a window fires once it reaches its end:
the same.  At the end of input Flink fires what is open.  Spark does not, so the end command becomes
a row far in the future: it moves the watermark past every window but its own, which stays open.

In: a NativeWindow (plan/physical.py).  Out: a DataFrame of results.  Next:
hosts/spark/native/job.py
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from headrace.errors import RecordError
from headrace.hosts.spark.native.columns import column_of
from headrace.hosts.spark.native.steps import analysed, apply_native, spark_column, timestamps
from headrace.hosts.spark.state.checkpoint_files import set_back_watermark
from headrace.plan.native_windows import timestamp_column
from headrace.runtime.windows.column_aggregates import END, START, cell

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from headrace.graph.nodes import Step
    from headrace.plan.physical import NativeWindow

EVENT_TIME = "__event_time"
_WINDOW = "__window"
# Spark starts at 1970 and drops what is before it; behind the end of input nothing may come.
_FIRST_MS, _LAST_MS, _END_MS = 0, 1 << 52, 9_000_000_000_000_000
_BAD_TIME = "headrace cannot use the timestamp "

# A batch must follow when the watermark has moved, or its windows would wait for the next record.
QUERY_SETTINGS = {"spark.sql.streaming.noDataMicroBatches.enabled": "true"}
# Spark judges late records by the watermark before the last one, so that several stateful steps
# can follow each other.  A job has one, and Flink's rule is the last watermark.
JOB_SETTINGS = {**QUERY_SETTINGS, "spark.sql.streaming.statefulOperator.allowMultiple": "false"}


def windowed(frame: DataFrame, window: NativeWindow, control: DataFrame | None) -> DataFrame:
    """The results of a window over a source's DataFrame.

    Args:
        frame: the source.
        window: the window, and the steps before it.
        control: the stream of commands; None if there are none.
    """
    for step in window.before:
        frame = apply_native(frame, step)
    frame = _stamped(frame, window.timestamps)
    if control is not None:
        frame = frame.unionByName(_end_rows(control), allowMissingColumns=True)
    delay_ms = window.timestamps.operator.strategy.delay_ms  # type: ignore[union-attr]
    frame = frame.withWatermark(EVENT_TIME, f"{delay_ms} milliseconds")
    # Catalyst moves a filter in front of the watermark unless it looks at the event time. There
    # it would hide records that move time, and the end of input.
    at_end = F.col(EVENT_TIME) >= F.timestamp_millis(F.lit(_END_MS))
    for step in window.between:
        frame = apply_native(frame, step, always_keep=at_end)
    return aggregated(frame, window.step, _grouping(window.step))


def is_at_end(watermark_ms: int) -> bool:
    """Whether a watermark says that the input has ended: all windows have fired."""
    return watermark_ms > _LAST_MS


def begin_event_time_anew(checkpoint: str) -> None:
    """A finished job runs again: what is new must not be late because an earlier run has ended."""
    set_back_watermark(checkpoint, above_ms=_LAST_MS)


def _stamped(frame: DataFrame, step: Step) -> DataFrame:
    """With a column for the event time; a record without one fails the job, as in Flink."""
    strategy = step.operator.strategy  # type: ignore[union-attr]
    with analysed(frame, step):
        time = timestamps(frame, step, spark_column(timestamp_column(strategy)))
    usable = (time >= F.lit(_FIRST_MS)) & (time <= F.lit(_LAST_MS))
    told = F.coalesce(time.cast("string"), F.lit("None"))
    failure = F.raise_error(F.concat(F.lit(_BAD_TIME), told, F.lit(f" at {step.call_site}")))
    stamp = F.when(usable, F.timestamp_millis(time)).otherwise(failure.cast("timestamp"))
    return frame.withColumn(EVENT_TIME, stamp)


def _end_rows(control: DataFrame) -> DataFrame:
    end = F.timestamp_millis(F.lit(_END_MS)).alias(EVENT_TIME)
    return control.filter(F.col("value") == "end").select(end)


def explain_timestamp_failure(error: BaseException) -> RecordError | None:
    """What `_stamped` raised in a worker, as the error of a Python operator would be."""
    found = re.search(rf"{_BAD_TIME}(\S+) at (.*?)(?: SQLSTATE|\n|$)", str(error))
    if found is None:
        return None
    return RecordError(
        f"a record has the timestamp {found[1]}, which a native window cannot use",
        where=found[2],
        fix="filter such records out first; for timestamps before 1970 set "
        "headrace.windows.native: false, so that the window runs in Python",
    )


def _grouping(step: Step) -> Column:
    """The window of a record."""
    shape = step.native.window.windows.assigner.window_shape()  # type: ignore[union-attr]
    time, grid = F.col(EVENT_TIME), shape.grid
    if grid is None:
        assert shape.gap is not None  # or plan/native_windows.py would have refused
        return F.session_window(time, f"{shape.gap.fixed_ms} milliseconds")
    durations = (grid.size_ms, grid.slide_ms, grid.offset_ms % grid.slide_ms)
    return F.window(time, *(f"{duration} milliseconds" for duration in durations))


def aggregated(frame: DataFrame, step: Step, window: Column) -> DataFrame:
    """Group by window and key, aggregate, and make the results of it.

    Raises:
        InvalidArgumentError: the expressions name a column that is not there, or misuse one.
    """
    assert step.native is not None
    select = step.native.window
    assert select is not None
    keys = [] if select.key is None else [select.key]
    with analysed(frame, step):
        grouped = frame.groupBy(window.alias(_WINDOW), *(F.col(f"`{key}`") for key in keys))
        cells = [spark_column(aggregate) for aggregate in select.aggregates]
        kept = grouped.agg(*cells or [F.count(F.lit(1))])
        given = kept.columns[-len(cells) :]  # Spark names the user's own Columns
        numbers = range(len(kept.columns) - len(keys) - 1)
        kept = kept.toDF(_WINDOW, *keys, *(cell(number) for number in numbers)).withColumns(
            {
                START: F.unix_millis(F.col(f"{_WINDOW}.start")),
                END: F.unix_millis(F.col(f"{_WINDOW}.end")),
            }
        )
        results = [
            column_of(result.node).alias(
                given[int(result.output_name[2:])] if name is None else name
            )
            for result, name in zip(select.results, select.names, strict=True)
        ]
        return kept.select(*results)
