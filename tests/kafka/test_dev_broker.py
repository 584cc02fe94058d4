"""`headrace dev kafka`: a broker to try things with, from its first line to Ctrl-C."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from headrace.cli.main import app
from kafka_broker import need_kafka

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
def test_a_broker_runs_until_it_is_told_to_end(end: signal.Signals, tmp_path: Path) -> None:
    from confluent_kafka import Producer
    from confluent_kafka.admin import AdminClient

    need_kafka()
    command = [sys.executable, "-m", "headrace.cli", "dev", "kafka", "--topic", "clicks:3"]
    with subprocess.Popen(
        [*command, "--dir", str(tmp_path / "data")], stdout=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout is not None
        bootstrap = running.stdout.readline().strip().removeprefix("bootstrap.servers=")
        topics = AdminClient({"bootstrap.servers": bootstrap}).list_topics(timeout=30).topics
        assert len(topics["clicks"].partitions) == 3
        producer = Producer({"bootstrap.servers": bootstrap})
        producer.produce("made-when-used", b"x")
        assert producer.flush(60) == 0
        running.send_signal(end)
        assert running.wait(60) == 0
    host, port = bootstrap.split(":")
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((host, int(port)), timeout=5)


def test_wrong_topics_and_taken_ports_are_told_at_once() -> None:
    told = CliRunner().invoke(app, ["dev", "kafka", "--topic", "clicks:none"])
    assert told.exit_code == 2
    assert "'clicks:none' is no topic" in told.output
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        told = CliRunner().invoke(app, ["dev", "kafka", "--port", port])
    assert told.exit_code == 2
    assert "cannot be had" in told.output
