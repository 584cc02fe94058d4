"""The lines of a Kafka topic that match a regular expression, in another topic.

Kafka ── filter ── Kafka

python grep.py --topic logs --to errors 'ERROR|FATAL'
"""

from __future__ import annotations

import argparse
import re

from headrace.common import SimpleStringSchema, WatermarkStrategy
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors import DeliveryGuarantee
from headrace.datastream.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
)


def build(
    env: StreamExecutionEnvironment, kafka: str, topic: str, to: str, pattern: str, *, bounded: bool
) -> None:
    builder = (
        KafkaSource.builder()
        .set_bootstrap_servers(kafka)
        .set_topics(topic)
        .set_group_id("grep")
        .set_starting_offsets(KafkaOffsetsInitializer.earliest())
        .set_value_only_deserializer(SimpleStringSchema())
    )
    if bounded:  # up to what is there now
        builder.set_bounded(KafkaOffsetsInitializer.latest())
    serializer = KafkaRecordSerializationSchema.builder().set_topic(to)
    sink = (
        KafkaSink.builder()
        .set_bootstrap_servers(kafka)
        .set_record_serializer(
            serializer.set_value_serialization_schema(SimpleStringSchema()).build()
        )
        .set_delivery_guarantee(DeliveryGuarantee.AT_LEAST_ONCE)
        .build()
    )
    found = re.compile(pattern).search
    lines = env.from_source(builder.build(), WatermarkStrategy.no_watermarks(), "lines")
    lines.uid("lines").filter(lambda line: found(line) is not None).sink_to(sink).uid("found")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pattern", help="a regular expression of Python's")
    parser.add_argument("--kafka", default="127.0.0.1:9092", help="bootstrap servers")
    parser.add_argument("--topic", default="lines")
    parser.add_argument("--to", default="found", help="the topic for what matches")
    parser.add_argument("--bounded", action="store_true", help="end with what is there now")
    options = parser.parse_args()
    env = StreamExecutionEnvironment.get_execution_environment()
    build(env, options.kafka, options.topic, options.to, options.pattern, bounded=options.bounded)
    env.execute("grep")


if __name__ == "__main__":
    main()
