"""Sensors: an alert when smoke follows heat in the same room within ten minutes.

    Kafka (JSON) ── key_by(room) ── heat remembered for ten minutes ── stdout

The timer clears what is remembered, so state holds only rooms that were hot within ten minutes.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from headrace.common import Row, Types, WatermarkStrategy
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors.kafka import KafkaOffsetsInitializer, KafkaSource
from headrace.datastream.formats.json import JsonRowDeserializationSchema
from headrace.datastream.functions import KeyedProcessFunction, RuntimeContext
from headrace.datastream.state import ValueStateDescriptor

if TYPE_CHECKING:
    from collections.abc import Iterator

READING = Types.ROW_NAMED(
    ["room", "celsius", "smoke", "at_ms"],
    [Types.STRING(), Types.DOUBLE(), Types.BOOLEAN(), Types.LONG()],
)
HOT = 60.0
TEN_MINUTES_MS = 10 * 60 * 1000


class SmokeAfterHeat(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        # when it was last hot
        self.hot_at = runtime_context.get_state(ValueStateDescriptor("hot", Types.LONG()))

    def process_element(self, value: Row, ctx: Any) -> Iterator[str]:
        hot_at = self.hot_at.value()
        if value.smoke and hot_at is not None and value.at_ms - hot_at <= TEN_MINUTES_MS:
            yield f"fire in {value.room}: hot at {hot_at}, smoke at {value.at_ms}"
        if value.celsius > HOT:
            self.hot_at.update(value.at_ms)
            ctx.timer_service().register_event_time_timer(value.at_ms + TEN_MINUTES_MS)

    def on_timer(self, timestamp: int, ctx: Any) -> None:
        hot_at = self.hot_at.value()
        if hot_at is not None and hot_at + TEN_MINUTES_MS <= timestamp:  # not hot again since
            self.hot_at.clear()


def build(env: StreamExecutionEnvironment, kafka: str, topic: str, *, bounded: bool) -> None:
    builder = (
        KafkaSource.builder()
        .set_bootstrap_servers(kafka)
        .set_topics(topic)
        .set_group_id("sensors")
        .set_starting_offsets(KafkaOffsetsInitializer.earliest())
        .set_value_only_deserializer(
            JsonRowDeserializationSchema.builder().type_info(READING).build()
        )
    )
    if bounded:  # up to what is there now
        builder.set_bounded(KafkaOffsetsInitializer.latest())
    strategy = (
        WatermarkStrategy.for_bounded_out_of_orderness("5 s")
        .with_timestamp_assigner("at_ms")
        .with_idleness("30 s")
    )
    (
        env.from_source(builder.build(), strategy, "readings")
        .uid("readings")
        .key_by(lambda reading: reading.room, key_type=Types.STRING())
        .process(SmokeAfterHeat(), output_type=Types.STRING())
        .uid("smoke after heat")
        .print()
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kafka", default="127.0.0.1:9092", help="bootstrap servers")
    parser.add_argument("--topic", default="readings")
    parser.add_argument("--bounded", action="store_true", help="end with what is there now")
    options = parser.parse_args()
    env = StreamExecutionEnvironment.get_execution_environment()
    build(env, options.kafka, options.topic, bounded=options.bounded)
    env.execute("sensors")


if __name__ == "__main__":
    main()
