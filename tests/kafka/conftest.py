"""What the tests of Kafka share; the broker is the fixture `kafka` (tests/kafka_broker.py)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from headrace.common import SimpleStringSchema
from headrace.connectors.kafka.reader import close_readers
from headrace.datastream.connectors.kafka import KafkaSource

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from headrace.datastream.connectors.kafka import KafkaSourceBuilder
    from kafka_broker import KafkaServer


@pytest.fixture(autouse=True)
def _no_readers_left() -> Iterator[None]:
    yield
    close_readers()


@pytest.fixture
def reading(kafka: KafkaServer) -> Callable[..., KafkaSourceBuilder]:
    """A builder for the texts of topics: ``reading(topic).build()``."""

    def make(*topics: str) -> KafkaSourceBuilder:
        found = (
            KafkaSource.builder()
            .set_bootstrap_servers(kafka.bootstrap)
            .set_property("partition.discovery.interval.ms", "1")
            .set_value_only_deserializer(SimpleStringSchema())
        )
        return found.set_topics(*topics) if topics else found

    return make
