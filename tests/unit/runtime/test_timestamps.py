"""Where timestamps come from: columns, fields picked by a function, functions, the wall clock."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from headrace.common import IngestionTimeAssigner, Row, TimestampAssigner, Types, WatermarkStrategy
from headrace.common.watermark_strategy import ColumnAssigner
from headrace.data.codec import codec_for
from headrace.data.records import MAX_TIMESTAMP, Records
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.expressions import col
from headrace.datastream.window import TumblingEventTimeWindows
from headrace.errors import InvalidArgumentError, RecordError, UnsupportedStepError
from headrace.runtime.operators.timestamps import TimestampsOperator, picked_timestamp
from headrace.testing import Harness, LocalRunner

ROW = Types.ROW_NAMED(["user", "ts"], [Types.STRING(), Types.LONG()])
TUPLE = Types.TUPLE([Types.STRING(), Types.LONG()])


class Second(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return value[1]  # type: ignore[no-any-return]


class NotQuite(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return record_timestamp[1]  # type: ignore[index, no-any-return]


def strategy(assigner: Any) -> WatermarkStrategy:
    return WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(assigner)


def stamped(assigner: Any, records: Records) -> list[tuple[Any, int | None]]:
    harness = Harness(TimestampsOperator(strategy(assigner), 0))
    harness.operator.process(records, 0)
    return harness.timestamped_output


def in_columns(values: list[Any], record_type: Any) -> Records:
    codec = codec_for(record_type)
    return Records(batch=codec.encode(values), codec=codec)


@pytest.mark.parametrize(
    ("assigner", "field"),
    [
        ("ts", "ts"),
        (col("ts"), "ts"),
        (col("ts") + 1, None),
        (lambda record: record[1], 1),
        (lambda record: record.ts, "ts"),
        (lambda record, previous: record["ts"], "ts"),
        (lambda record, previous: previous, None),
        (lambda record, previous: previous[1], None),
        (lambda record: record[1] * 1000, None),
        (Second(), 1),
        (NotQuite(), None),
        (None, None),
    ],
)
def test_an_assigner_that_only_picks_a_field_is_recognised(assigner: Any, field: Any) -> None:
    found = None if assigner is None else strategy(assigner).timestamp_assigner
    assert picked_timestamp(found) == field


def test_an_assigner_replaced_on_the_object_is_called() -> None:
    assigner = Second()
    assigner.extract_timestamp = lambda value, previous: 7  # type: ignore[method-assign, assignment]
    assert picked_timestamp(assigner) is None


@pytest.mark.parametrize("assigner", ["ts", col("ts"), Second(), lambda r: r[1], lambda r, _: r.ts])
def test_a_timestamp_in_a_column_makes_no_python_record(assigner: Any) -> None:
    records = in_columns([Row("a", 5), Row("b", -3)], ROW)
    operator = TimestampsOperator(strategy(assigner), 0)
    harness = Harness(operator)
    found = harness.operator.stamp(records)  # type: ignore[attr-defined]
    assert found.timestamps == [5, -3]
    assert found._values is None


@pytest.mark.parametrize("assigner", ["f1", col("f1"), Second()])
def test_columns_give_what_records_give(assigner: Any) -> None:
    values = [("a", 5), ("b", MAX_TIMESTAMP), ("c", -9)]
    expected = [(value, value[1]) for value in values]
    assert stamped(assigner, in_columns(values, TUPLE)) == expected
    assert stamped(assigner, Records(values)) == expected


def test_a_column_of_dicts_rows_and_objects() -> None:
    assert stamped("ts", Records([{"ts": 4}]))[0][1] == 4
    assert stamped(col("ts") * 1000, Records([Row(user="a", ts=4)]))[0][1] == 4000
    assert stamped("ts", in_columns([Row("a", 5)], ROW))[0][1] == 5


@pytest.mark.parametrize("time", [None, "5", 5.0, True, MAX_TIMESTAMP + 1, -MAX_TIMESTAMP - 2])
def test_a_timestamp_that_is_no_64_bit_number_is_an_error(time: Any) -> None:
    with pytest.raises(RecordError, match="the timestamp assigner returned") as caught:
        stamped("ts", Records([{"ts": 1}, {"ts": time}]))
    assert str(time) in str(caught.value)
    assert "step 'harness'" in str(caught.value.where)


def test_a_null_in_the_column_is_an_error() -> None:
    with pytest.raises(RecordError, match=r"returned None for \('b', None\)"):
        stamped(col("f1"), in_columns([("a", 1), ("b", None)], TUPLE))


def test_what_is_no_assigner_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="a field name or a column expression"):
        strategy(5)


def test_ingestion_time_is_the_clock_and_never_goes_back() -> None:
    harness = Harness(TimestampsOperator(strategy(IngestionTimeAssigner()), 0))
    for now in (100, 90, 110):
        harness.set_processing_time(now)
        harness.operator.process(Records(["x", "y"]), 0)
        harness.operator.end_of_part()
    assert [time for _, time in harness.timestamped_output] == [100, 100, 100, 100, 110, 110]
    assert harness.watermarks == [99, 109]


def test_ingestion_time_fires_windows_as_the_clock_goes_on() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    now = [1000]
    stream = (
        env.from_collection([], Types.LONG())
        .assign_timestamps_and_watermarks(strategy(IngestionTimeAssigner()))
        .key_by(lambda value: value % 2)
        .window(TumblingEventTimeWindows.of("1 s"))
        .reduce(lambda a, b: a + b)
    )
    with LocalRunner(stream, clock=lambda: now[0]) as runner:
        assert runner.run_batch([1, 2, 3]) == []
        now[0] = 1999
        assert runner.run_batch([5]) == []
        now[0] = 2001
        assert sorted(runner.run_batch([7])) == [2, 9]
        assert runner.end_of_input() == [7]


def test_the_clock_itself_is_epoch_milliseconds() -> None:
    assigner = IngestionTimeAssigner()
    first = assigner.extract_timestamp("x", 0)
    assert 1_600_000_000_000 < first <= assigner.extract_timestamp("x", 0)


class Column:
    """Stands for pyspark's: known by its name and module, and not to be pickled."""

    __module__ = "pyspark.sql.column"

    def __reduce__(self) -> Any:
        raise TypeError("lives in the JVM")


def test_a_spark_column_stays_on_the_driver_and_stamps_natively() -> None:
    assigner = strategy(Column()).timestamp_assigner
    assert isinstance(assigner, ColumnAssigner)
    assert pickle.loads(pickle.dumps(assigner)).column is None
    # Spark has put the timestamps beside the records
    records = Records(["a", "b"], [4, 5])
    assert stamped(Column(), records) == [("a", 4), ("b", 5)]
    with pytest.raises(RecordError, match="returned None for 'b'"):
        stamped(Column(), Records(["a", "b"], [4, None]))  # type: ignore[list-item]


def test_a_spark_column_behind_a_python_function_is_refused() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    mapped = env.from_collection([], ROW).map(lambda r: r, output_type=ROW)
    with pytest.raises(UnsupportedStepError, match="comes after 'Map'"):
        LocalRunner(mapped.assign_timestamps_and_watermarks(strategy(Column())))
