"""Every metric that the dashboard for Grafana names is one that a real job tells."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from grafana_dashboard import TARGET
from headrace.control.registry import JobRegistry
from headrace.control.views.prometheus import exposition
from headrace.control.views.reader import JobViews
from headrace.datastream import StreamExecutionEnvironment
from job_files import environment, three_stages
from patience import wait_until

if TYPE_CHECKING:
    from pathlib import Path

# told by sources that know what waits for them: tests/kafka
_OF_SOURCES = {
    "flink_taskmanager_job_task_operator_pendingRecords",
    "headrace_job_source_lag_seconds",
}


def test_every_metric_of_the_dashboard_is_told(tmp_path: Path) -> None:
    env = StreamExecutionEnvironment.get_execution_environment(environment(tmp_path))
    three_stages(env, 1_000_000, 0.0003)
    client = env.execute_async("dashboard")
    views = JobViews(JobRegistry(tmp_path / "jobs"))
    named = set(re.findall(r"\b(?:flink|headrace_job)_\w+", TARGET.read_text())) - _OF_SOURCES
    assert len(named) > 12

    def missing() -> set[str]:
        return named - _names(exposition(views).decode())

    try:
        wait_until(lambda: not missing(), lambda: f"nobody tells {sorted(missing())}", every_s=0.2)
    finally:
        client.cancel().result()


def _names(text: str) -> set[str]:
    return set(re.findall(r"^(\w+)\{", text, re.MULTILINE))
