"""The Kafka sink keeps the promises of the connector kit, on a real broker."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from headrace.testing.connectors import SinkContract, SinkDriver
from kafka_sinks import id_prefix, new_prefix, numbers, text_sink, unfinished

if TYPE_CHECKING:
    from pathlib import Path

    from headrace.spi.sink import Sink
    from kafka_broker import KafkaServer


class TestExactlyOnce(SinkContract):
    kills: ClassVar = 12

    @pytest.fixture(autouse=True)
    def place(self, kafka: KafkaServer, tmp_path: Path) -> None:
        self.server = kafka
        self.topic = kafka.create_topic(2)
        self.prefix = new_prefix()
        self.folder = tmp_path

    def make_sink(self) -> Sink:
        return text_sink(self.server, self.topic, self.prefix)

    def checkpoint_dir(self) -> str:
        return str(self.folder)

    def stored(self) -> list[int]:
        unfinished(self.server, self.prefix)
        return numbers(self.server, self.topic)

    def bad_records(self) -> list[Any]:
        return ["x" * 2_000_000]  # more than a message may have

    def leftovers(self, job: SinkDriver) -> list[str]:
        return list(unfinished(self.server, id_prefix(self.prefix, job)))
