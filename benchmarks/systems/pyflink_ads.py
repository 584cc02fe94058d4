"""The ad campaigns on PyFlink: Flink's own Kafka source and JSON, Python functions.

Runs in PyFlink's own environment, with the settings of pyflink_keyed.py.  `--data` is the jar of
Flink's Kafka connector.  PyFlink has no sink for Redis: results are dropped in the JVM, and the
table of ads is part of the program, which is to its advantage.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from measure import arguments, report
from pyflink.common import Row, Types, WatermarkStrategy
from pyflink.common.time import Duration, Time
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream.connectors.kafka import KafkaOffsetsInitializer, KafkaSource
from pyflink.datastream.formats.json import JsonRowDeserializationSchema
from pyflink.datastream.functions import (
    AggregateFunction,
    FlatMapFunction,
    ProcessWindowFunction,
)
from pyflink.datastream.window import CountTrigger, TumblingEventTimeWindows
from pyflink.table import StreamTableEnvironment
from pyflink_keyed import PARALLELISM, Marks, environment, rate_of

from ads import ADS

NAMES = ["user_id", "page_id", "ad_id", "ad_type", "event_type", "event_time", "ip_address"]
EVENT = Types.ROW_NAMED(NAMES, [Types.STRING()] * 5 + [Types.LONG(), Types.STRING()])
VIEWS = Types.TUPLE([Types.STRING(), Types.LONG()])
RESULT = Types.TUPLE([Types.STRING(), Types.LONG(), Types.LONG()])


class EventTime(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value[5])


class Campaign(FlatMapFunction):
    """Filter, projection and join in one Python function: the cheapest form in PyFlink."""

    def __init__(self, marks: Marks) -> None:
        self.marks, self.campaigns = marks, ADS

    def flat_map(self, value: Row) -> Any:
        self.marks.event()
        if value[4] == "view":
            yield self.campaigns.get(value[2], "unknown")

    def close(self) -> None:
        self.marks.write()


class Count(AggregateFunction):
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: Any, accumulator: int) -> int:
        return accumulator + 1

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, a: int, b: int) -> int:
        return a + b


class WithKey(ProcessWindowFunction):
    def process(self, key: str, context: Any, elements: Any) -> Any:
        for views in elements:
            yield key, views


class WithWindow(ProcessWindowFunction):
    def process(self, key: str, context: Any, elements: Any) -> Any:
        for _, views in elements:
            yield key, context.window().start, views


def main() -> None:
    options = arguments()
    env = environment()
    env.add_jars(f"file://{options.data}")
    marks = Marks(str(options.scratch), options.warmup_events // PARALLELISM)
    source = (
        KafkaSource.builder()
        .set_bootstrap_servers(options.kafka)
        .set_topics(options.topic)
        .set_group_id("pyflink")
        .set_starting_offsets(KafkaOffsetsInitializer.earliest())
        .set_bounded(KafkaOffsetsInitializer.latest())
        .set_value_only_deserializer(
            JsonRowDeserializationSchema.builder().type_info(EVENT).build()
        )
        .build()
    )
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(
        Duration.of_seconds(1)
    ).with_timestamp_assigner(EventTime())
    results = (
        env.from_source(source, WatermarkStrategy.no_watermarks(), "ads")
        .assign_timestamps_and_watermarks(strategy)
        .flat_map(Campaign(marks), output_type=Types.STRING())
        .key_by(lambda campaign: campaign, key_type=Types.STRING())
        .window(TumblingEventTimeWindows.of(Time.seconds(1)))
        .aggregate(Count(), WithKey(), accumulator_type=Types.LONG(), output_type=VIEWS)
        .key_by(lambda views: views[0], key_type=Types.STRING())
        .window(TumblingEventTimeWindows.of(Time.seconds(10)))
        .trigger(CountTrigger.of(1))
        .reduce(lambda a, b: (a[0], a[1] + b[1]), WithWindow(), output_type=RESULT)
    )
    tables = StreamTableEnvironment.create(env)
    tables.execute_sql(
        "CREATE TABLE dropped (f0 STRING, f1 BIGINT, f2 BIGINT) WITH ('connector' = 'blackhole')"
    )
    tables.from_data_stream(results).execute_insert("dropped").wait()
    report(system="pyflink_ads", job=options.job, **rate_of(options))


if __name__ == "__main__":
    main()
