"""The programs of docs/kafka-sink.md run on a real broker, and write what the page says."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from headrace.datastream import StreamExecutionEnvironment
from kafka_sinks import unfinished
from local_programs import run_locally

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from kafka_broker import KafkaServer


def test_the_programs_of_the_page_run(
    repository: Path, monkeypatch: pytest.MonkeyPatch, kafka: KafkaServer
) -> None:
    monkeypatch.setattr(StreamExecutionEnvironment, "execute", run_locally)
    page = (repository / "docs" / "kafka-sink.md").read_text(encoding="utf-8")
    page = page.replace("127.0.0.1:9092", kafka.bootstrap)
    words, orders = (kafka.create_topic(name=name) for name in ("words", "orders-fi"))
    names: dict[str, Any] = {"__name__": "snippet"}
    for program in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        exec(compile(program, "kafka-sink.md", "exec"), names)
    assert unfinished(kafka, "word-splitter") == {}
    assert sorted(m.value().decode() for m in kafka.read(words)) == ["be", "not", "or", "to"]
    found = [(m.key(), m.value(), m.headers()) for m in kafka.read(orders)]
    headers = [("source", b"shop")]
    assert found == [(b"fi", b"30", headers), (b"fi", b"12", headers)]
