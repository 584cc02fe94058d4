"""Continuous mode on Spark: what is killed, slow or broken, and what comes of it."""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from headrace.common import Configuration, Types
from headrace.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from headrace.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from headrace.datastream.connectors.file_system import FileSink, RollingPolicy
from headrace.datastream.state import ValueStateDescriptor
from patience import PATIENCE_S, wait_until

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Total(KeyedProcessFunction):
    """Running sums; a file tells the process id of a task, and a sleep how slow it is."""

    def __init__(self, pids: str, sleep_s: float = 0.0) -> None:
        self.pids = pids
        self.sleep_s = sleep_s

    def open(self, runtime_context: Any) -> None:
        self.total = runtime_context.get_state(ValueStateDescriptor("total", Types.LONG()))
        Path(self.pids, str(os.getpid())).touch()

    def process_element(self, value: Any, ctx: Any) -> Any:
        if self.sleep_s:
            time.sleep(self.sleep_s)
        self.total.update((self.total.value() or 0) + value)
        yield f"{value} {self.total.value()}"


def environment(spark: SparkSession, folder: Path, **options: str) -> Any:
    configuration = Configuration()
    configuration.set_string("headrace.execution.mode", "continuous")
    configuration.set_string("execution.checkpointing.dir", str(folder / "checkpoint"))
    configuration.set_string("execution.checkpointing.interval", "300 ms")
    configuration.set_string("execution.buffer-timeout.interval", "5 ms")
    configuration.set_string("restart-strategy.type", "fixed-delay")
    configuration.set_string("restart-strategy.fixed-delay.attempts", "10")
    configuration.set_string("restart-strategy.fixed-delay.delay", "0 ms")
    for key, value in options.items():
        configuration.set_string(key.replace("__", ".").replace("_", "-"), value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration, spark)
    return env.set_parallelism(2)


def numbers(env: Any, count: int | None, rate: float | None = None) -> Any:
    limit = None if rate is None else RateLimiterStrategy.per_second(rate)
    source = DataGeneratorSource(lambda n: n + 1, count, limit, Types.LONG())
    return env.from_source(source, None, "numbers").uid("numbers")


def rows(folder: Path) -> list[tuple[int, int]]:
    lines = [f.read_text().splitlines() for f in (folder / "out").glob("part-*")]
    return [tuple(map(int, line.split())) for found in lines for line in found]  # type: ignore[misc]


def test_a_killed_python_worker_costs_no_record(spark: SparkSession, tmp_path: Path) -> None:
    count = 15_000
    pids = tmp_path / "pids"
    pids.mkdir()
    env = environment(spark, tmp_path)
    totals = numbers(env, count, 1500).key_by(lambda n: n % 5).process(Total(str(pids)))
    rolling = RollingPolicy.on_checkpoint_rolling_policy()
    sink = FileSink.text(str(tmp_path / "out"), rolling=rolling)
    totals.uid("totals").sink_to(sink).uid("out")
    client = env.execute_async("killed")
    wait_until(lambda: rows(tmp_path))
    first = sorted(pids.iterdir())
    os.kill(int(first[0].name), signal.SIGKILL)
    wait_until(lambda: len(list(pids.iterdir())) > len(first))
    assert client.wait(PATIENCE_S)
    found = rows(tmp_path)
    assert sorted(value for value, _ in found) == list(range(1, count + 1))
    for key in range(5):
        totals_of_key = [total for value, total in found if value % 5 == key]
        assert len(set(totals_of_key)) == len(totals_of_key)
        assert max(totals_of_key) == sum(n for n in range(1, count + 1) if n % 5 == key)
    assert "ended without a word" in str(client.get_exception_history()[0]) or "Spark" in str(
        client.get_exception_history()[0]
    )


def test_a_slow_operator_slows_its_source_down(spark: SparkSession, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    pids.mkdir()
    seen: Counter[str] = Counter()
    env = environment(spark, tmp_path, source__max_records_per_batch="500")
    wide = numbers(env, None).map(lambda n: n)
    slow = wide.key_by(lambda n: n % 4).process(Total(str(pids), sleep_s=0.002))
    slow.add_sink(lambda line: seen.update(["records"]))
    client = env.execute_async("slow")
    feeds = client._job._run._feeds

    def read() -> int:
        return sum(feeds.feeds[0].position.values())

    def source_rests_while_records_are_processed() -> bool:
        before, done = read(), seen["records"]
        wait_until(lambda: seen["records"] >= done + 500)
        return read() == before

    # once all is full that lies between: ranges, packets in queues, the shuffle's own buffers.  A
    # source that nobody slows down reads a million records meanwhile, and never rests.
    wait_until(source_rests_while_records_are_processed)
    client.cancel().result()


def test_processing_time_timers_fire_within_milliseconds(
    spark: SparkSession, tmp_path: Path
) -> None:
    class Alarm(KeyedProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> None:
            service = ctx.timer_service()
            service.register_processing_time_timer(service.current_processing_time() + 50)

        def on_timer(self, timestamp: int, ctx: Any) -> Any:
            yield timestamp

    late: list[float] = []
    env = environment(spark, tmp_path)
    alarms = numbers(env, None, 20).key_by(lambda n: n).process(Alarm(), Types.LONG())
    alarms.add_sink(lambda due: late.append(time.time() * 1000 - due))
    client = env.execute_async("alarms")
    wait_until(lambda: len(late) > 40)
    client.cancel().result()
    # the quickest: other work on this machine delays some, and waiting for a batch all
    assert min(late[10:]) < 200


@pytest.mark.parametrize("buffer_ms", ["0 ms", "-1 ms"])
def test_latency_is_shown_for_every_sink(
    spark: SparkSession, tmp_path: Path, buffer_ms: str
) -> None:
    env = environment(
        spark,
        tmp_path,
        execution__buffer_timeout__interval=buffer_ms,
        metrics__latency__interval="10 ms",
    )
    totals = numbers(env, 2000, 1000).key_by(lambda n: n % 5).map(lambda n: n).uid("map")
    totals.add_sink(lambda n: None).uid("sink")
    client = env.execute_async("latency")
    assert client.wait(PATIENCE_S)
    counts = client._job.metrics.snapshot()["operators"]
    assert 0 <= counts["sink"]["latencyP50"] <= counts["sink"]["latencyP99"]
    assert {"busyTimeMsPerSecond", "idleTimeMsPerSecond"} <= set(counts["map"])
