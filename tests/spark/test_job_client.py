"""Jobs in the background: status, cancel, metrics, accumulators; looking at streams; sessions."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from headrace.common import Configuration, Duration, Types
from headrace.common.accumulators import IntCounter
from headrace.common.job_status import JobStatus
from headrace.datastream import RuntimeExecutionMode, StreamExecutionEnvironment
from headrace.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from headrace.datastream.connectors.file_system import FileSource, StreamFormat
from headrace.datastream.functions import MapFunction, RuntimeContext
from headrace.errors import UserFunctionError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession


class Counting(MapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.seen = IntCounter()
        runtime_context.add_accumulator("seen", self.seen)
        self.counter = runtime_context.get_metrics_group().counter("mapped")

    def map(self, value: int) -> int:
        self.seen.add(1)
        self.counter.inc()
        return value + 1


def test_a_finished_job_tells_its_status_metrics_and_accumulators(
    env: StreamExecutionEnvironment, scratch_dir: Path
) -> None:
    found: list[int] = []
    mapped = env.from_collection(list(range(12)), Types.LONG()).map(Counting(), Types.LONG())
    mapped.uid("counting").add_sink(found.append)

    client = env.execute_async("counts")
    assert client.get_job_status().result() in (JobStatus.RUNNING, JobStatus.FINISHED)
    result = client.get_job_execution_result().result(240)

    assert client.wait(1)
    assert client.get_job_status().result() is JobStatus.FINISHED
    assert sorted(found) == list(range(1, 13))
    assert result.get_accumulator_result("seen") == 12
    assert client.get_accumulators().result() == {"seen": 12}
    assert result.get_job_id() == client.get_job_id()
    counts = client.get_metrics()["operators"]["counting"]
    assert (counts["numRecordsIn"], counts["numRecordsOut"]) == (12, 12)
    assert [value for name, value in counts.items() if name.endswith("mapped")] == [12]
    assert list(scratch_dir.iterdir()) == []


def test_cancel_does_not_wait_without_a_limit_for_a_batch_that_nothing_interrupts(
    env: StreamExecutionEnvironment,
) -> None:
    env.configure(Configuration.from_dict({"spark.sql.streaming.stopTimeout": "1s"}))
    in_batch, go_on = threading.Event(), threading.Event()

    def hang(number: int) -> None:
        in_batch.set()
        assert go_on.wait(240)

    env.from_collection([1], Types.LONG()).add_sink(hang)  # called by the driver
    client = env.execute_async("hangs")
    assert in_batch.wait(240)
    ended = client.cancel()  # returned before the batch did
    assert client.get_job_status().result() is JobStatus.CANCELLING
    go_on.set()
    ended.result(240)
    assert client.get_job_status().result() is JobStatus.CANCELED


def test_cancel_ends_an_endless_job_and_its_query(
    env: StreamExecutionEnvironment,
    wait_for: Callable[..., None],
    running_queries: Callable[[], int],
    scratch_dir: Path,
) -> None:
    found: list[int] = []
    source = DataGeneratorSource(lambda n: n, None, RateLimiterStrategy.per_second(50))
    env.from_source(source, None, "numbers").add_sink(found.append)

    client = env.execute_async("endless")
    wait_for(lambda: found)
    assert not client.wait(0.01)
    assert client.get_job_status().result() is JobStatus.RUNNING
    assert running_queries() == 1
    client.cancel().result(60)

    assert client.get_job_status().result() is JobStatus.CANCELED
    assert running_queries() == 0
    assert found == list(range(len(found)))
    assert list(scratch_dir.iterdir()) == []
    client.cancel().result(60)  # a second time does no harm


def test_a_failed_job_tells_its_error_to_whoever_waits(
    env: StreamExecutionEnvironment, running_queries: Callable[[], int], scratch_dir: Path
) -> None:
    env.from_collection([1, 0]).map(lambda x: 1 // x).print()

    client = env.execute_async("fails")

    with pytest.raises(UserFunctionError, match="ZeroDivisionError"):
        client.get_job_execution_result().result(240)
    assert client.get_job_status().result() is JobStatus.FAILED
    assert running_queries() == 0
    assert list(scratch_dir.iterdir()) == []


def test_a_preview_of_an_endless_stream_ends_and_leaves_nothing_behind(
    env: StreamExecutionEnvironment, running_queries: Callable[[], int], scratch_dir: Path
) -> None:
    written: list[int] = []
    source = DataGeneratorSource(lambda n: n, None, RateLimiterStrategy.per_second(100))
    squares = env.from_source(source, None, "numbers").map(lambda n: n * n)
    squares.add_sink(written.append)

    assert squares.preview(4, timeout="100s") == [0, 1, 4, 9]

    assert running_queries() == 0
    assert list(scratch_dir.iterdir()) == []
    assert written == []  # other sinks of the program do not run


def test_a_preview_gives_what_it_has_when_time_is_up(
    env: StreamExecutionEnvironment, running_queries: Callable[[], int]
) -> None:
    source = DataGeneratorSource(lambda n: n, None, RateLimiterStrategy.per_second(20))
    never = env.from_source(source, None, "numbers").filter(lambda n: n < 0)

    found = never.preview(3, timeout="2s")

    assert found == []
    assert found.stopped_because == "time ran out after 2 s; the stream continues"
    assert running_queries() == 0


def test_a_preview_of_a_huge_source_reads_little_of_it(env: StreamExecutionEnvironment) -> None:
    huge = env.from_sequence(1, 10_000_000_000).key_by(lambda n: n % 10).map(lambda n: n)

    found = huge.preview(5, timeout="1s")

    assert len(found) == 5
    assert found.stopped_because is None


def look_at_no_late_line(line: str) -> str:
    assert not line.startswith("late"), "the preview has read too much"
    return line


@pytest.mark.parametrize("mode", [RuntimeExecutionMode.STREAMING, RuntimeExecutionMode.BATCH])
def test_a_preview_of_a_large_file_reads_its_beginning(
    env: StreamExecutionEnvironment,
    tmp_path: Path,
    scratch_dir: Path,
    mode: RuntimeExecutionMode,
) -> None:
    with (tmp_path / "lines.txt").open("w") as lines:
        lines.writelines(f"{n:099d}\n" for n in range(500_000))
        lines.write("late\n")
    source = FileSource.for_record_stream_format(
        StreamFormat.text_line_format(), str(tmp_path / "lines.txt")
    ).build()
    env.set_runtime_mode(mode)
    stream = env.from_source(source, None, "lines").map(look_at_no_late_line, Types.STRING())

    found = stream.preview(3, timeout="60s")

    assert [int(line) for line in found] == [0, 1, 2]
    assert found.stopped_because is None
    assert list(scratch_dir.iterdir()) == []


def test_a_preview_of_more_than_there_is_gives_all_of_a_large_file(
    env: StreamExecutionEnvironment, tmp_path: Path
) -> None:
    with (tmp_path / "lines.txt").open("w") as lines:
        lines.writelines(f"{n:099d}\n" for n in range(60_000))
    source = FileSource.for_record_stream_format(
        StreamFormat.text_line_format(), str(tmp_path / "lines.txt")
    ).build()
    numbers = env.from_source(source, None, "lines").map(int, Types.LONG())

    rare = numbers.filter(lambda n: n % 20_000 == 0).preview(10, timeout="60s")
    ends = numbers.key_by(lambda n: n % 2).reduce(max).preview(60_001, timeout="60s")

    assert (rare, rare.stopped_because) == ([0, 20_000, 40_000], None)
    assert (sorted(ends), ends.stopped_because) == (list(range(60_000)), None)


def test_a_preview_of_a_source_without_records_ends_and_says_so(
    env: StreamExecutionEnvironment, tmp_path: Path
) -> None:
    lines = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(tmp_path))
    watched = lines.monitor_continuously(Duration.of_seconds(1)).build()

    found = env.from_source(watched, None, "lines").preview(5, timeout="1s")

    assert repr(found) == "[]  # time ran out after 1 s; the stream continues"


def test_collect_with_a_limit_gives_a_list_of_so_many_and_ends_the_job(
    env: StreamExecutionEnvironment, running_queries: Callable[[], int], scratch_dir: Path
) -> None:
    stream = env.from_collection([5, 6, 7, 8, 9])

    assert stream.map(lambda x: x * 2).execute_and_collect(limit=3) == [10, 12, 14]

    assert running_queries() == 0
    assert list(scratch_dir.iterdir()) == []


def test_a_session_of_the_user_is_used_and_lives_on(spark: SparkSession) -> None:
    own = spark.newSession()
    partitions = own.conf.get("spark.sql.shuffle.partitions")
    env = StreamExecutionEnvironment.get_execution_environment(spark=own)
    env.set_parallelism(1)

    assert env.get_spark_session() is own
    assert list(env.from_collection([1, 2]).map(lambda x: x + 1).execute_and_collect()) == [2, 3]
    env.close()

    assert own.conf.get("spark.sql.shuffle.partitions") == partitions
    assert own.range(3).count() == 3
    assert not spark.sparkContext._jsc.sc().isStopped()
