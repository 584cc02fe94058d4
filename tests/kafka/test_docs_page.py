"""The programs of docs/kafka.md run with a broker."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.data_stream import DataStream
from headrace.datastream.stream_builder import Origin
from headrace.testing import LocalRunner

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from kafka_broker import KafkaServer


def run_locally(env: StreamExecutionEnvironment, job_name: str | None = None) -> None:
    """What `env.execute` does, in this process: all sinks of the program, one batch."""
    graph = env._graph
    whole = graph.reachable_from(graph.sinks())
    graph.reachable_from = lambda ends: whole  # type: ignore[method-assign]
    first = whole.steps[0]
    with LocalRunner(DataStream(env, [Origin(first, None, first.output_type)])) as job:
        job.read_batch()
    del graph.reachable_from
    graph.steps.clear()


def test_the_programs_of_the_page_run(
    repository: Path,
    monkeypatch: pytest.MonkeyPatch,
    kafka: KafkaServer,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(StreamExecutionEnvironment, "execute", run_locally)
    kafka.create_topic(2, "clicks")
    kafka.send("clicks", [{"key": "ann", "value": "home"}], partition=0)
    page = (repository / "docs" / "kafka.md").read_text(encoding="utf-8")
    page = page.replace("127.0.0.1:9092", kafka.bootstrap)
    names: dict[str, Any] = {"__name__": "snippet"}
    for number, program in enumerate(re.findall(r"```python\n(.*?)```", page, re.DOTALL)):
        if number == 2:
            kafka.send("clicks", [b"\xff"], partition=1)
        exec(compile(program, "kafka.md", "exec"), names)
    lines = capfd.readouterr().out.splitlines()
    assert lines[:3] == ["1> HOME", "user:1> (ann,home,0,0)", "good:1> home"]
    assert lines[3].startswith("bad:1> ('clicks', 1, 0, \"UnicodeDecodeError")
    assert lines[4:] == ["stream:1> home"]
