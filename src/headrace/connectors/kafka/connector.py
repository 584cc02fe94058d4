"""The name by which this connector is found (pyproject.toml).  Next: source.py, sink.py"""

from __future__ import annotations

from headrace.connectors.kafka.dynamic.source import DynamicKafkaSource
from headrace.connectors.kafka.sink import KafkaSink
from headrace.connectors.kafka.source import KafkaSource
from headrace.spi.connector import Connector

CONNECTOR = Connector(
    "Topics of Apache Kafka", sources=(KafkaSource, DynamicKafkaSource), sinks=(KafkaSink,)
)
