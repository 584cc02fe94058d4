"""A driver's own port for Prometheus."""

from __future__ import annotations

import socket
import urllib.error
import urllib.request
from typing import TYPE_CHECKING

import pytest

from headrace.control.registry import JobRegistry
from headrace.datastream import StreamExecutionEnvironment
from headrace.errors import ConfigurationError
from job_files import environment, three_stages
from patience import PATIENCE_S, wait_until

if TYPE_CHECKING:
    from pathlib import Path


def test_a_running_job_answers_on_loopback_until_it_ends(tmp_path: Path) -> None:
    configuration = environment(tmp_path, metrics__reporter__prom__port="0")
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    three_stages(env, 1_000_000, 0.0005)
    client = env.execute_async("served")
    try:
        registry = JobRegistry(tmp_path / "jobs")
        address = registry.all()[0].web["prometheus"]
        assert address.startswith("http://127.0.0.1:")
        text = ""

        def is_told() -> bool:
            nonlocal text
            with urllib.request.urlopen(address, timeout=PATIENCE_S) as answer:
                text = answer.read().decode()
            return "flink_taskmanager_job_task_operator_mine_seen" in text

        wait_until(is_told, lambda: text, every_s=0.1)
        assert 'job_name="served"' in text
    finally:
        client.cancel().result()
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(address, timeout=10)


def test_a_port_that_is_taken_is_refused_before_the_job_starts(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        configuration = environment(tmp_path, metrics__reporter__prom__port=str(port))
        env = StreamExecutionEnvironment.get_execution_environment(configuration)
        three_stages(env, 10, 0.0)
        with pytest.raises(ConfigurationError, match=f"port {port} cannot be used"):
            env.execute("unserved")
    assert JobRegistry(tmp_path / "jobs").all() == []
