"""What `headrace status` says of what limits a job, and `headrace rescale --propose`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from headrace.cli.jobs import limits
from headrace.cli.main import app
from job_files import run_three_stages

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def job_id(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The id of an ended job that the commands know."""
    monkeypatch.setenv("HEADRACE_HOME", str(tmp_path))
    return run_three_stages(tmp_path, records=2500)[1]


def test_status_names_the_slow_step_for_people_and_for_scripts(job_id: str) -> None:
    told = CliRunner().invoke(app, ["status", job_id], env={"COLUMNS": "200"})
    assert told.exit_code == 0, told.output
    assert "slow step" in told.output
    assert "slow at job_files.py:" in told.output
    assert "times the mean" in told.output
    found = json.loads(CliRunner().invoke(app, ["status", job_id, "--json"]).stdout)
    assert found["diagnosis"]["slow"]["uid"] == "slow"


def test_a_proposal_changes_nothing_and_gives_its_reason(job_id: str) -> None:
    told = CliRunner().invoke(app, ["rescale", job_id, "--propose"])
    assert told.exit_code == 0, told.output
    assert told.stdout.splitlines() == ["2", "it is FINISHED"]
    found = json.loads(CliRunner().invoke(app, ["rescale", job_id, "--propose", "--json"]).stdout)
    assert (found["current"], found["parallelism"]) == (2, 2)
    refused = CliRunner().invoke(app, ["rescale", job_id])
    assert refused.exit_code == 2
    assert "no parallelism was given" in refused.output


def test_limits_are_told_in_a_line_each() -> None:
    lag = {"name": "clicks", "pending_records": 12_000, "seconds": 8.0}
    skew = {"name": "sum", "what": "state", "subtask": 3, "most": 1_000_000, "ratio": 2.5}
    quiet = {"name": "orders", "pending_records": 0, "seconds": None}
    assert list(limits({"slow": None, "skews": [skew], "lags": [lag, quiet]})) == [
        ("uneven", "sum: subtask 3 has 1,000,000 bytes of state, 2.5 times the mean"),
        ("lag", "clicks: 12,000 records wait, 8 s at its present rate"),
    ]
    assert list(limits({})) == []


def test_epochs_that_are_too_long_are_told_with_what_to_do() -> None:
    epochs = {"count": 5, "interval_ms": 1000, "duration_ms": 134_021, "ratio": 12.3, "fix": "do"}
    assert list(limits({"epochs": epochs})) == [
        ("long epochs", "each of the last 5 took at least 12.3 times the interval of 1 s, the "
                        "newest 134 s: do"),
    ]  # fmt: skip
