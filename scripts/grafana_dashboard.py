"""Writes docs/grafana.json: a dashboard for Grafana over the names of control/views/prometheus.py.

In: PANELS.  Out: the file.  tests/unit/test_grafana.py compares its names with a real exposition.
"""

from __future__ import annotations

import json
from pathlib import Path

TARGET = Path(__file__).resolve().parent.parent / "docs" / "grafana.json"
_TASK, _STEP, _JOB = (
    "flink_taskmanager_job_task",
    "flink_taskmanager_job_task_operator",
    "flink_jobmanager_job",
)
_OF_JOB = '{job_name=~"$job"}'
# title, unit, (expression, legend)...
PANELS: tuple[tuple[str, str, tuple[tuple[str, str], ...]], ...] = (
    (
        "Records a second by vertex",
        "cps",
        (
            (f"sum by (task_name) ({_TASK}_numRecordsInPerSecond{_OF_JOB})", "in {{task_name}}"),
            (f"sum by (task_name) ({_TASK}_numRecordsOutPerSecond{_OF_JOB})", "out {{task_name}}"),
        ),
    ),
    (
        "Busy (busiest subtask)",
        "percentunit",
        ((f"max by (task_name) ({_TASK}_busyTimeMsPerSecond{_OF_JOB}) / 1000", "{{task_name}}"),),
    ),
    (
        "Back-pressured (worst subtask)",
        "percentunit",
        (
            (
                f"max by (task_name) ({_TASK}_backPressuredTimeMsPerSecond{_OF_JOB}) / 1000",
                "{{task_name}}",
            ),
        ),
    ),
    (
        "Time of each step",
        "percentunit",
        (
            (
                f"max by (operator_name) ({_STEP}_ownTimeMsPerSecond{_OF_JOB}) / 1000",
                "{{operator_name}}",
            ),
        ),
    ),
    (
        "The slow step",
        "percentunit",
        ((f"headrace_job_slow_operator_busy_ratio{_OF_JOB}", "{{operator_name}} {{where}}"),),
    ),
    (
        "Uneven subtasks (times the mean)",
        "none",
        ((f"headrace_job_skew_ratio{_OF_JOB}", "{{task_name}} {{what}} #{{subtask_index}}"),),
    ),
    (
        "Records that wait in sources",
        "short",
        ((f"sum by (operator_name) ({_STEP}_pendingRecords{_OF_JOB})", "{{operator_name}}"),),
    ),
    (
        "Lag of sources",
        "s",
        ((f"headrace_job_source_lag_seconds{_OF_JOB}", "{{operator_name}}"),),
    ),
    (
        "Lag of event time",
        "ms",
        (
            (
                f"time() * 1000 - min by (task_name) ({_TASK}_currentInputWatermark{_OF_JOB} > 0)",
                "{{task_name}}",
            ),
        ),
    ),
    (
        "Late records dropped",
        "short",
        ((f"sum by (task_name) ({_TASK}_numLateRecordsDropped{_OF_JOB})", "{{task_name}}"),),
    ),
    (
        "Duration of checkpoints",
        "ms",
        ((f"{_JOB}_lastCheckpointDuration{_OF_JOB}", "{{job_name}}"),),
    ),
    (
        "Size of checkpoints",
        "bytes",
        (
            (f"{_JOB}_lastCheckpointSize{_OF_JOB}", "written {{job_name}}"),
            (f"{_JOB}_lastCheckpointFullSize{_OF_JOB}", "all state {{job_name}}"),
        ),
    ),
    (
        "State by subtask",
        "bytes",
        ((f"{_TASK}_stateBytes{_OF_JOB}", "{{task_name}} #{{subtask_index}}"),),
    ),
    (
        "Restarts and failed checkpoints",
        "short",
        (
            (f"{_JOB}_numRestarts{_OF_JOB}", "restarts {{job_name}}"),
            (f"{_JOB}_numberOfFailedCheckpoints{_OF_JOB}", "failed checkpoints {{job_name}}"),
        ),
    ),
)


def dashboard() -> dict[str, object]:
    """The document that Grafana imports."""
    return {
        "title": "headrace",
        "uid": "headrace-jobs",
        "tags": ["headrace"],
        "timezone": "browser",
        "schemaVersion": 39,
        "refresh": "10s",
        "time": {"from": "now-30m", "to": "now"},
        "templating": {
            "list": [
                {
                    "name": "datasource",
                    "type": "datasource",
                    "query": "prometheus",
                    "label": "Data source",
                },
                {
                    "name": "job",
                    "type": "query",
                    "label": "Job",
                    "datasource": {"type": "prometheus", "uid": "${datasource}"},
                    "query": f"label_values({_JOB}_numRestarts, job_name)",
                    "includeAll": True,
                    "multi": True,
                    "refresh": 2,
                },
            ]
        },
        "panels": [
            _panel(number, title, unit, queries)
            for number, (title, unit, queries) in enumerate(PANELS)
        ],
    }


def _panel(
    number: int, title: str, unit: str, queries: tuple[tuple[str, str], ...]
) -> dict[str, object]:
    source = {"type": "prometheus", "uid": "${datasource}"}
    return {
        "id": number + 1,
        "type": "timeseries",
        "title": title,
        "datasource": source,
        "gridPos": {"h": 8, "w": 12, "x": 12 * (number % 2), "y": 8 * (number // 2)},
        "fieldConfig": {"defaults": {"unit": unit, "min": 0}, "overrides": []},
        "targets": [
            {
                "refId": chr(ord("A") + n),
                "datasource": source,
                "expr": query,
                "legendFormat": legend,
            }
            for n, (query, legend) in enumerate(queries)
        ],
    }


if __name__ == "__main__":
    TARGET.write_text(json.dumps(dashboard(), indent=1) + "\n", encoding="utf-8")
