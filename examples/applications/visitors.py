"""Visitors per country in windows of a minute, with records that come late.

    Kafka (JSON) ── key_by(country) ── 1 min windows, 5 min of lateness ── stdout
                                              └── later than that: a side output

A window prints when the watermark passes its end, and again for every record that is up to five
minutes late. What is later still is not dropped in silence: it is printed as `too late`.
"""

from __future__ import annotations

import argparse
from typing import Any

from headrace.common import Row, Types, WatermarkStrategy
from headrace.common.time import Time
from headrace.datastream import OutputTag, StreamExecutionEnvironment
from headrace.datastream.connectors.kafka import KafkaOffsetsInitializer, KafkaSource
from headrace.datastream.formats.json import JsonRowDeserializationSchema
from headrace.datastream.functions import AggregateFunction, ProcessWindowFunction
from headrace.datastream.window import TumblingEventTimeWindows

VISIT = Types.ROW_NAMED(
    ["visitor", "country", "at_ms"], [Types.STRING(), Types.STRING(), Types.LONG()]
)
TOO_LATE = OutputTag("too late", VISIT)


class DistinctVisitors(AggregateFunction):
    def create_accumulator(self) -> set[str]:
        return set()

    def add(self, value: Row, accumulator: set[str]) -> set[str]:
        accumulator.add(value.visitor)
        return accumulator

    def get_result(self, accumulator: set[str]) -> int:
        return len(accumulator)

    def merge(self, acc_a: set[str], acc_b: set[str]) -> set[str]:
        return acc_a | acc_b


class WithWindow(ProcessWindowFunction):
    def process(self, key: str, context: Any, elements: Any) -> Any:
        for visitors in elements:
            yield key, context.window().start, visitors


def build(env: StreamExecutionEnvironment, kafka: str, topic: str, *, bounded: bool) -> None:
    builder = (
        KafkaSource.builder()
        .set_bootstrap_servers(kafka)
        .set_topics(topic)
        .set_group_id("visitors")
        .set_starting_offsets(KafkaOffsetsInitializer.earliest())
        .set_value_only_deserializer(
            JsonRowDeserializationSchema.builder().type_info(VISIT).build()
        )
    )
    if bounded:  # up to what is there now
        builder.set_bounded(KafkaOffsetsInitializer.latest())
    strategy = (
        WatermarkStrategy.for_bounded_out_of_orderness("10 s")
        .with_timestamp_assigner("at_ms")
        .with_idleness("30 s")  # a country's partition may be silent at night
    )
    counted = (
        env.from_source(builder.build(), strategy, "visits")
        .uid("visits")
        .key_by(lambda visit: visit.country, key_type=Types.STRING())
        .window(TumblingEventTimeWindows.of(Time.minutes(1)))
        .allowed_lateness(5 * 60 * 1000)
        .side_output_late_data(TOO_LATE)
        .aggregate(
            DistinctVisitors(),
            WithWindow(),
            output_type=Types.TUPLE([Types.STRING(), Types.LONG(), Types.INT()]),
        )
        .uid("count")
    )
    counted.print("visitors")
    counted.get_side_output(TOO_LATE).print("too late")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kafka", default="127.0.0.1:9092", help="bootstrap servers")
    parser.add_argument("--topic", default="visits")
    parser.add_argument("--bounded", action="store_true", help="end with what is there now")
    options = parser.parse_args()
    env = StreamExecutionEnvironment.get_execution_environment()
    build(env, options.kafka, options.topic, bounded=options.bounded)
    env.execute("visitors per country")


if __name__ == "__main__":
    main()
