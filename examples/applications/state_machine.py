"""Sequences of events, checked against the rules of a state machine: Flink's example of that name.

    Kafka ── key_by(address) ── a state a key ── Kafka: an alert for every event that breaks a rule

An address is a client of a server. Its events must follow TRANSITIONS, or something is wrong with
the client. Both ends are exactly once, so a restart neither hides an alert nor makes one up.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from headrace.common import Row, Types, WatermarkStrategy
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors import DeliveryGuarantee
from headrace.datastream.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
)
from headrace.datastream.formats.json import (
    JsonRowDeserializationSchema,
    JsonRowSerializationSchema,
)
from headrace.datastream.functions import KeyedProcessFunction, RuntimeContext
from headrace.datastream.state import ValueStateDescriptor

if TYPE_CHECKING:
    from collections.abc import Iterator

TRANSITIONS = {
    "initial": {"a": "W", "b": "X"},
    "W": {"b": "Y"},
    "X": {"a": "Y", "b": "Z"},
    "Y": {"e": "Z"},
    "Z": {"c": "done", "g": "done"},
    "done": {},
}
EVENT = Types.ROW_NAMED(["address", "kind"], [Types.STRING(), Types.STRING()])
ALERT = Types.ROW_NAMED(
    ["address", "state", "kind"], [Types.STRING(), Types.STRING(), Types.STRING()]
)


class CheckTransition(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.state = runtime_context.get_state(ValueStateDescriptor("state", Types.STRING()))

    def process_element(self, value: Row, ctx: Any) -> Iterator[Row]:
        state = self.state.value() or "initial"
        target = TRANSITIONS[state].get(value.kind)
        if target is None:
            yield Row(address=value.address, state=state, kind=value.kind)
        elif target == "done":
            self.state.clear()  # the address begins anew
        else:
            self.state.update(target)


def build(
    env: StreamExecutionEnvironment, kafka: str, topic: str, alerts: str, *, bounded: bool
) -> None:
    builder = (
        KafkaSource.builder()
        .set_bootstrap_servers(kafka)
        .set_topics(topic)
        .set_group_id("state-machine")
        .set_starting_offsets(KafkaOffsetsInitializer.earliest())
        .set_value_only_deserializer(
            JsonRowDeserializationSchema.builder().type_info(EVENT).build()
        )
    )
    if bounded:  # up to what is there now
        builder.set_bounded(KafkaOffsetsInitializer.latest())
    sink = (
        KafkaSink.builder()
        .set_bootstrap_servers(kafka)
        .set_record_serializer(
            KafkaRecordSerializationSchema.builder()
            .set_topic(alerts)
            .set_value_serialization_schema(
                JsonRowSerializationSchema.builder().with_type_info(ALERT).build()
            )
            .build()
        )
        .set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)
        .set_transactional_id_prefix("state-machine")
        .build()
    )
    events = env.from_source(builder.build(), WatermarkStrategy.no_watermarks(), "events")
    checked = (
        events.uid("events")
        .key_by(lambda event: event.address, key_type=Types.STRING())
        .process(CheckTransition(), output_type=ALERT)
    )
    checked.uid("check").sink_to(sink).uid("alerts")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kafka", default="127.0.0.1:9092", help="bootstrap servers")
    parser.add_argument("--topic", default="machine-events")
    parser.add_argument("--alerts", default="machine-alerts", help="where alerts go")
    parser.add_argument("--bounded", action="store_true", help="end with what is there now")
    options = parser.parse_args()
    env = StreamExecutionEnvironment.get_execution_environment()
    build(env, options.kafka, options.topic, options.alerts, bounded=options.bounded)
    env.execute("state machine")


if __name__ == "__main__":
    main()
