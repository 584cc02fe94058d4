"""window(...).select(...): aggregates over columns, in Python."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pytest

from golden.compare import assert_golden
from headrace.common import Row, Types, WatermarkStrategy
from headrace.common.typeinfo import RowTypeInfo
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.expressions import col, count, lit, window_end, window_start
from headrace.datastream.window import (
    CountTrigger,
    EventTimeSessionWindows,
    GlobalWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from headrace.errors import InvalidArgumentError
from headrace.runtime.windows.column_aggregates import ColumnAggregates
from headrace.testing import LocalRunner, collect_locally

if TYPE_CHECKING:
    from headrace.datastream import DataStream

EVENT = Types.ROW_NAMED(["user", "value", "ts"], [Types.STRING(), Types.DOUBLE(), Types.LONG()])
EVENTS = [("a", 1.0, 0), ("b", None, 3), ("a", 2.5, 4), ("a", None, 9), ("a", 7.0, 12)]
TIMES = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner("ts")
TEN = TumblingEventTimeWindows.of(10)


def events(rows: Any = EVENTS) -> DataStream:
    env = StreamExecutionEnvironment.get_execution_environment()
    records = [Row(user=user, value=value, ts=ts) for user, value, ts in rows]
    return env.from_collection(records, EVENT).assign_timestamps_and_watermarks(TIMES)


def rows_of(stream: DataStream) -> list[tuple[Any, ...]]:
    return sorted(map(tuple, collect_locally(stream)), key=repr)


# --- results -------------------------------------------------------------------------------------


def test_every_aggregate_leaves_none_out() -> None:
    value = col("value")
    windows = events().key_by("user").window(TEN)

    result = windows.select(
        col("user"), count(), value.count(), value.sum(), value.min(), value.max(), value.avg()
    )

    assert rows_of(result) == [
        ("a", 1, 1, 7.0, 7.0, 7.0, 7.0),
        ("a", 3, 2, 3.5, 1.0, 2.5, 1.75),
        ("b", 1, 0, None, None, None, None),
    ]


def test_results_are_rows_with_the_names_in_the_given_order() -> None:
    windows = events(EVENTS[:1]).key_by(lambda event: event.user).window(TEN)
    result = windows.select(
        window_end(), col("user").alias("who"), col("value").sum(), count().alias("n")
    )

    [row] = collect_locally(result)

    assert row.as_dict() == {"window_end": 10, "who": "a", "sum(value)": 1.0, "n": 1}
    kind = result.get_type()
    assert isinstance(kind, RowTypeInfo)
    assert list(row.as_dict()) == kind.get_field_names()


def test_aggregates_the_key_and_the_bounds_can_be_combined() -> None:
    value = col("value")
    sessions = events().key_by(col("user")).window(EventTimeSessionWindows.with_gap(5))

    result = sessions.select(
        col("user").upper().alias("who"),
        (value.sum() / count()).alias("per record"),
        (window_end() - window_start()).alias("length"),
        (value * 2 + lit(1)).max().alias("most"),
    )

    assert rows_of(result) == [("A", 10.5 / 4, 17, 15.0), ("B", None, 5, None)]


def test_sliding_windows_share_panes_and_give_what_single_windows_give() -> None:
    numbers = [("a", float(n % 7), n) for n in range(60)]
    windows = events(numbers).key_by("user").window(SlidingEventTimeWindows.of(20, 5))

    result = rows_of(windows.select(col("value").sum(), col("value").min(), window_start()))

    expected = []
    for start in range(-15, 60, 5):
        inside = [value for _, value, ts in numbers if start <= ts < start + 20]
        expected.append((sum(inside), min(inside), start))
    assert result == sorted(expected, key=repr)


def test_windows_over_the_whole_stream_have_no_key() -> None:
    result = events().window_all(TEN).select(count(), window_start())
    assert rows_of(result) == [(1, 10), (4, 0)]


def test_a_computed_key_and_windows_without_time_work_in_python() -> None:
    keyed = events().key_by(lambda event: event.ts % 2)
    assert rows_of(keyed.count_window(2).select(col("value").sum().alias("s"))) == [
        (3.5,),
        (None,),
    ]
    every = keyed.window(GlobalWindows.create()).trigger(CountTrigger.of(3))
    assert rows_of(every.select(count())) == [(3,)]


def test_a_key_can_be_an_expression() -> None:
    keyed = events().key_by(col("ts") % 2)
    assert rows_of(keyed.window(TEN).select(count(), window_start())) == [(1, 10), (2, 0), (2, 0)]


def test_a_restart_between_batches_changes_nothing() -> None:
    def stream() -> DataStream:
        windows = events([]).key_by("user").window(EventTimeSessionWindows.with_gap(5))
        return windows.select(col("user"), count(), col("value").avg(), window_end())

    def run(*, restart: bool) -> list[Any]:
        found: list[Any] = []
        with LocalRunner(stream()) as job:
            for user, value, ts in EVENTS:
                found += job.run_batch([Row(user=user, value=value, ts=ts)])
                if restart:
                    job.restart()
            found += job.end_of_input()
        return found

    assert run(restart=True) == run(restart=False)


def test_nan_is_above_all_numbers_as_in_spark() -> None:
    aggregates = ColumnAggregates([col("v").min(), col("v").max()])
    for order in ([1.0, math.nan, 3.0], [math.nan, 1.0, 3.0], [3.0, 1.0, math.nan]):
        kept = aggregates.create_accumulator()
        for value in order:
            kept = aggregates.add({"v": value}, kept)
        least, most = aggregates.get_result(kept)
        assert least == 1.0
        assert math.isnan(most)


def test_parts_of_a_window_merge_to_the_whole() -> None:
    value = col("v")
    kinds = [count(), value.count(), value.sum(), value.min(), value.max(), value.avg()]
    aggregates = ColumnAggregates(kinds)
    values = [None, 4, 1, None, 9, 2]
    for cut in range(len(values) + 1):
        parts = []
        for part in (values[:cut], values[cut:]):
            kept = aggregates.create_accumulator()
            for each in part:
                kept = aggregates.add({"v": each}, kept)
            parts.append(kept)
        assert aggregates.get_result(aggregates.merge(*parts)) == (6, 4, 16, 1, 9, 4.0)


# --- types and plans ------------------------------------------------------------------------------


def test_results_have_the_types_of_what_they_are_made_of() -> None:
    kinds = [Types.STRING(), Types.INT(), Types.LONG()]
    record_type = Types.ROW_NAMED(["user", "value", "ts"], kinds)
    env = StreamExecutionEnvironment.get_execution_environment()
    stream = env.from_collection([Row(user="a", value=1, ts=1)], record_type)
    value = col("value")
    windows = stream.assign_timestamps_and_watermarks(TIMES).key_by("user").window(TEN)

    result = windows.select(
        col("user"), count(), value.min(), value.sum(), value.avg(), window_start(), value.max() > 1
    )

    assert result.get_type() == Types.ROW_NAMED(
        [
            "user",
            "count()",
            "min(value)",
            "sum(value)",
            "avg(value)",
            "window_start",
            "max(value) > 1",
        ],
        [
            Types.STRING(),
            Types.LONG(),
            Types.INT(),
            Types.LONG(),
            Types.DOUBLE(),
            Types.LONG(),
            Types.BOOLEAN(),
        ],
    )


def test_golden_text_of_a_window_of_columns() -> None:
    stream = events().key_by("user").window(EventTimeSessionWindows.with_gap(5))
    stream.select(count().alias("n")).print()
    env = stream.get_execution_environment()
    assert_golden("plans/window_of_columns.txt", env.explain())


# --- mistakes ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("program", "told"),
    [
        (lambda s: s.key_by("user").window(TEN).select(col("ts")), "column 'ts' is not aggregated"),
        (lambda s: s.key_by("user").window(TEN).select(count() + col("ts")), "the key is 'user'"),
        (lambda s: s.key_by(len).window(TEN).select(col("user")), "computed by a function"),
        (lambda s: s.window_all(TEN).select(col("user")), "the whole stream have no key"),
        (lambda s: s.key_by("user").window(TEN).select(), "at least one expression"),
        (lambda s: s.key_by("user").window(TEN).select("user"), "takes headrace's column"),
        (lambda s: s.key_by("user").window(TEN).select(count(), count()), "named 'count()'"),
        (
            lambda s: s.key_by("user").window(TEN).select(count().sum()),
            "a value of the window itself",
        ),
        (lambda s: s.key_by("user").count_window(2).select(window_end()), "has no window_end()"),
        (lambda s: s.key_by("user").window(TEN).select(col("no").max()), "column 'no' of max(no)"),
        (lambda s: s.key_by("value").window(TEN).select(col("user").sum()), "needs a number"),
        (lambda s: s.select(col("value").sum()), "sum(value): it needs a window"),
        (lambda s: s.filter(count() > 1), "it needs a window"),
    ],
)
def test_mistakes_are_told_at_the_users_line(program: Any, told: str) -> None:
    stream = events()
    with pytest.raises(InvalidArgumentError) as caught:
        program(stream)
    assert told in str(caught.value)
    if "at least" not in told:
        assert "test_window_select.py" in str(caught.value.where)
