"""The name by which this connector is found (pyproject.toml).  Next: source.py"""

from __future__ import annotations

from headrace.connectors.kafka.source import KafkaSource
from headrace.spi.connector import Connector

CONNECTOR = Connector("Topics of Kafka", sources=(KafkaSource,))
