"""Fraud detection: a small payment, and a large one within a minute; what is large may change.

    payments (Kafka) ── key_by(account) ──┐
                                          ├── alerts ── Kafka, exactly once
    rules (Kafka) ── broadcast ───────────┘

The rule (`{"small": 1.0, "large": 500.0}`) is data: a new one is sent to the topic of rules and
holds for all accounts from then on, without a restart. A timer forgets a small payment after a
minute.
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
from headrace.datastream.functions import KeyedBroadcastProcessFunction, RuntimeContext
from headrace.datastream.state import MapStateDescriptor, ValueStateDescriptor

if TYPE_CHECKING:
    from collections.abc import Iterator

PAYMENT = Types.ROW_NAMED(
    ["account", "amount", "at_ms"], [Types.LONG(), Types.DOUBLE(), Types.LONG()]
)
RULE = Types.ROW_NAMED(["small", "large"], [Types.DOUBLE(), Types.DOUBLE()])
ALERT = Types.ROW_NAMED(["account", "amount"], [Types.LONG(), Types.DOUBLE()])
RULES = MapStateDescriptor("rules", Types.STRING(), RULE)
MINUTE_MS = 60_000


class SmallThenLarge(KeyedBroadcastProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        # when the timer fires that forgets the small payment
        self.forget_at = runtime_context.get_state(ValueStateDescriptor("small", Types.LONG()))

    def process_broadcast_element(self, value: Row, ctx: Any) -> None:
        ctx.get_broadcast_state(RULES).put("rule", value)

    def process_element(self, value: Row, ctx: Any) -> Iterator[Row]:
        rule = ctx.get_broadcast_state(RULES).get("rule") or Row(small=1.0, large=500.0)
        pending = self.forget_at.value()
        # A timer fires when the watermark gets there, which may be behind this payment.
        in_time = pending is not None and value.at_ms <= pending
        if in_time and value.amount > rule.large:
            yield Row(account=value.account, amount=value.amount)
        if pending is not None:
            ctx.timer_service().delete_event_time_timer(pending)
            self.forget_at.clear()
        if value.amount < rule.small:
            forget_at = value.at_ms + MINUTE_MS
            ctx.timer_service().register_event_time_timer(forget_at)
            self.forget_at.update(forget_at)

    def on_timer(self, timestamp: int, ctx: Any) -> None:
        self.forget_at.clear()


def read(kafka: str, topic: str, type_info: Any, *, bounded: bool) -> KafkaSource:
    builder = (
        KafkaSource.builder()
        .set_bootstrap_servers(kafka)
        .set_topics(topic)
        .set_group_id("fraud")
        .set_starting_offsets(KafkaOffsetsInitializer.earliest())
        .set_value_only_deserializer(
            JsonRowDeserializationSchema.builder().type_info(type_info).build()
        )
    )
    if bounded:  # up to what is there now
        builder.set_bounded(KafkaOffsetsInitializer.latest())
    return builder.build()


def build(
    env: StreamExecutionEnvironment,
    kafka: str,
    payments: str,
    rules: str,
    to: str,
    *,
    bounded: bool,
) -> None:
    in_order = WatermarkStrategy.for_monotonous_timestamps().with_idleness("5 s")
    stamped = in_order.with_timestamp_assigner("at_ms")
    # Rules have no time of their own, and must not hold up that of payments.
    always = in_order.with_timestamp_assigner(lambda rule, _: 1 << 62)
    paid = env.from_source(read(kafka, payments, PAYMENT, bounded=bounded), stamped, "payments")
    sent = env.from_source(read(kafka, rules, RULE, bounded=bounded), always, "rules")
    alerts = (
        paid.uid("payments")
        .key_by(lambda payment: payment.account, key_type=Types.LONG())
        .connect(sent.uid("rules").broadcast(RULES))
        .process(SmallThenLarge(), output_type=ALERT)
        .uid("small then large")
    )
    serializer = KafkaRecordSerializationSchema.builder().set_topic(to)
    json = JsonRowSerializationSchema.builder().with_type_info(ALERT).build()
    sink = (
        KafkaSink.builder()
        .set_bootstrap_servers(kafka)
        .set_record_serializer(serializer.set_value_serialization_schema(json).build())
        .set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)
        .set_transactional_id_prefix("fraud")
        .build()
    )
    alerts.sink_to(sink).uid("alerts")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kafka", default="127.0.0.1:9092", help="bootstrap servers")
    parser.add_argument("--payments", default="payments")
    parser.add_argument("--rules", default="fraud-rules")
    parser.add_argument("--alerts", default="fraud-alerts", help="where alerts go")
    parser.add_argument("--bounded", action="store_true", help="end with what is there now")
    options = parser.parse_args()
    env = StreamExecutionEnvironment.get_execution_environment()
    build(
        env,
        options.kafka,
        options.payments,
        options.rules,
        options.alerts,
        bounded=options.bounded,
    )
    env.execute("fraud detection")


if __name__ == "__main__":
    main()
