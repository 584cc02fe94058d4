"""headrace list, status, cancel and stop against a registry of made-up jobs; no Spark."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from headrace.cli.main import app
from headrace.control.registry import JobRecord, JobRegistry
from headrace.control.requests import Inbox
from headrace.io.processes import this_process
from patience import wait_until

if TYPE_CHECKING:
    from pathlib import Path

DEAD = 2**22 + 1


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> JobRegistry:
    monkeypatch.setenv("HEADRACE_HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "200")
    return JobRegistry(tmp_path / "jobs")


def put(registry: JobRegistry, job_id: str, name: str = "orders", **fields: Any) -> JobRecord:
    me = this_process()
    base: dict[str, Any] = {"state": "RUNNING", "host": me.host, "pid": me.pid, "born": me.born}
    record = JobRecord(
        job_id=job_id, name=name, **{**base, "started": 1000, "updated": 1000, **fields}
    )
    registry.write(record)
    return record


def headrace(*words: str) -> Any:
    return CliRunner().invoke(app, list(words))


def test_list_shows_running_jobs_and_all_of_them_on_demand(registry: JobRegistry) -> None:
    assert headrace("list").stdout.strip() == "no running jobs"
    put(registry, "ab12" * 8, checkpoint="/data/orders", batches=7)
    put(registry, "cd34" * 8, "clicks", state="FINISHED")
    put(registry, "ef56" * 8, "views", pid=DEAD)

    found = headrace("list")
    assert found.exit_code == 0
    assert "ab12ab12ab12  orders  RUNNING" in found.stdout
    assert "/data/orders" in found.stdout
    assert "clicks" not in found.stdout
    assert "1 lost" in found.stderr

    everything = headrace("list", "--all").stdout
    assert all(word in everything for word in ("orders", "clicks", "FINISHED", "views", "LOST"))

    listed = json.loads(headrace("list", "--all", "--json").stdout)
    assert {job["name"]: job["state"] for job in listed} == {
        "orders": "RUNNING",
        "clicks": "FINISHED",
        "views": "LOST",
    }


def test_a_list_fits_eighty_columns_and_leaves_out_previews(
    registry: JobRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    put(registry, "ab12" * 8, "a name that is longer than most names of jobs that people give",
        checkpoint="/data/" + "orders/" * 20, batches=1_234_567, restarts=12)  # fmt: skip
    put(registry, "cd34" * 8, "Preview", kind="preview")
    put(registry, "ef56" * 8, "Collect", kind="collect")

    lines = headrace("list").stdout.rstrip().splitlines()
    assert len(lines) == 2
    assert max(map(len, lines)) <= 80
    assert all(word in lines[1] for word in ("ab12ab12ab12", "a name", "RUNNING", "1,234,567"))
    assert "Preview" in headrace("list", "--all").stdout


def test_status_of_a_name_shows_the_newest_job(registry: JobRegistry) -> None:
    put(registry, "ab12", started=1, state="FINISHED")
    put(registry, "cd34", started=2, state="FINISHED")
    shown = headrace("status", "orders", "--json")
    assert (shown.exit_code, json.loads(shown.stdout)["job_id"]) == (0, "cd34")


def test_status_shows_counts_failures_and_an_exit_code(registry: JobRegistry) -> None:
    counts = {
        "numRecordsIn": 12,
        "numRecordsOut": 3,
        "numLateRecordsDropped": 1,
        "currentInputWatermark": -(1 << 63),
    }
    failure = {
        "when": 1000,
        "type": "ValueError",
        "message": "poison [13]",
        "where": None,
        "batches": 2,
        "delay_ms": 1500,
    }
    put(registry, "ab12", operators={"count": counts}, failures=[failure], restarts=1, last_batch=4)
    put(registry, "cd34", "clicks", state="FAILED", error="[USER_FUNCTION] it raised")

    shown = headrace("status", "ab")
    assert shown.exit_code == 0
    assert "ValueError: poison [13] (restarted after 1.5 s)" in shown.stdout
    assert "where:" not in shown.stdout
    assert any(line.split() == ["count", "12", "3", "1", "-"] for line in shown.stdout.splitlines())
    failed = headrace("status", "clicks")
    assert failed.exit_code == 1
    assert "[USER_FUNCTION] it raised" in failed.stdout
    assert json.loads(headrace("status", "ab12", "--json").stdout)["operators"]["count"] == counts


def test_status_says_what_a_job_waits_for(registry: JobRegistry) -> None:
    put(registry, "ab12" * 8, mode="continuous", waits_for="slots: 4 needed, 1 there")
    shown = headrace("status", "ab12").stdout
    assert "RUNNING, waiting" in shown
    assert "waits for    slots: 4 needed, 1 there" in shown
    assert "RUNNING, waiting" in headrace("list").stdout


def test_status_shows_the_lines_of_a_failure(registry: JobRegistry) -> None:
    failure = {"when": 1000, "type": "UserFunctionError", "message": "it raised", "delay_ms": None}
    places = {"where": "fails.py:12 .map(parse)", "raised_at": "fails.py:10 in parse"}
    put(registry, "ab12", failures=[{**failure, **places}])
    lines = headrace("status", "ab").stdout.splitlines()
    assert lines[-2:] == ["  where: fails.py:12 .map(parse)", "  line:  fails.py:10 in parse"]


def test_status_of_a_continuous_job_shows_epochs_busy_tasks_and_latency(
    registry: JobRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    counts = {
        "numRecordsIn": 12,
        "numRecordsOut": 3,
        "numLateRecordsDropped": 1,
        "currentInputWatermark": -(1 << 63),
        "busyTimeMsPerSecond": 310,
        "backPressuredTimeMsPerSecond": 420,
    }
    sink = {**counts, "backPressuredTimeMsPerSecond": 0, "latencyP50": 7, "latencyP99": 31}
    put(registry, "ab12", mode="continuous", batches=4, operators={"count": counts, "out": sink})
    lines = [line.split() for line in headrace("status", "ab").stdout.splitlines()]
    assert ["mode", "continuous"] in lines
    assert ["epochs", "4"] in [line[:2] for line in lines]
    assert ["count", "12", "3", "1", "-", "31%,", "42%", "back-pressured"] in lines
    assert ["out", "12", "3", "1", "-", "31%", "7", "/", "31", "ms"] in lines


@pytest.mark.parametrize("command", ["status", "cancel", "stop"])
def test_a_job_that_nobody_knows_is_bad_input(registry: JobRegistry, command: str) -> None:
    put(registry, "ab12")
    put(registry, "ab34")
    unknown = headrace(command, "zz")
    assert unknown.exit_code == 2
    assert "[JOB_NOT_FOUND] there is no job 'zz'" in unknown.stderr
    several = headrace(command, "ab", "--json")
    assert several.exit_code == 2
    assert "matches 2 jobs" in json.loads(several.stdout)["error"]["message"]


@pytest.mark.parametrize("command", ["cancel", "stop"])
def test_a_job_without_a_driver_cannot_be_ended(registry: JobRegistry, command: str) -> None:
    put(registry, "ab12", pid=DEAD, checkpoint="/data/orders")
    put(registry, "cd34", "clicks", state="FINISHED")
    lost = headrace(command, "ab12")
    assert lost.exit_code == 2
    assert "is dead" in lost.stderr
    assert "/data/orders" in lost.stderr
    ended = headrace(command, "clicks")
    assert ended.exit_code == 2
    assert "has ended: it is FINISHED" in ended.stderr


class Driver:
    """Answers requests to a job as its agent would."""

    def __init__(
        self,
        registry: JobRegistry,
        record: JobRecord,
        last_state: str,
        answer: dict[str, Any] | None = None,
    ) -> None:
        self.registry, self.record, self.last_state = registry, record, last_state
        self.asked: list[Any] = []
        self.answer = answer or {}
        registry.requests_of(record.job_id).mkdir(parents=True)
        self.inbox = Inbox(registry.requests_of(record.job_id))
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self) -> None:
        for request in wait_until(lambda: list(self.inbox.take()), "nobody asks"):
            self.asked.append((request.action, request.arguments))
            self.inbox.answer(request, self.answer)
        self.record.state = self.last_state
        self.registry.write(self.record)


def test_cancel_and_stop_ask_the_driver_and_wait_for_the_end(registry: JobRegistry) -> None:
    driver = Driver(registry, put(registry, "ab12"), "CANCELED")
    found = headrace("cancel", "orders")
    assert (found.exit_code, driver.asked) == (0, [("cancel", {})])
    assert found.stdout.strip() == "ab12 orders: CANCELED"

    driver = Driver(registry, put(registry, "cd34", "clicks"), "FINISHED")
    found = headrace("stop", "cd", "--drain", "--json")
    assert (found.exit_code, driver.asked) == (0, [("stop", {"drain": True})])
    assert json.loads(found.stdout)["state"] == "FINISHED"

    Driver(registry, put(registry, "ef56", "views"), "FAILED")
    assert headrace("stop", "views").exit_code == 1


def test_checkpoint_prints_the_number_that_the_driver_tells(registry: JobRegistry) -> None:
    driver = Driver(registry, put(registry, "ab12"), "RUNNING", {"checkpoint": 12})
    found = headrace("checkpoint", "orders")
    assert (found.exit_code, found.stdout.strip()) == (0, "12"), found.stderr
    assert driver.asked == [("checkpoint", {})]
    driver = Driver(registry, put(registry, "cd34", "clicks"), "RUNNING", {"checkpoint": 3})
    assert json.loads(headrace("checkpoint", "cd34", "--json").stdout) == {"checkpoint": 3}


def test_a_driver_that_does_not_answer_is_told_in_time(registry: JobRegistry) -> None:
    put(registry, "ab12")
    found = headrace("cancel", "ab12", "--timeout", "0.2")
    assert found.exit_code == 2
    assert "did not answer 'cancel'" in found.stderr


def test_a_job_that_still_ends_is_no_bad_input(registry: JobRegistry) -> None:
    record = put(registry, "ab12")
    Driver(registry, record, "RUNNING")
    found = headrace("stop", "ab12", "--timeout", "1")
    assert found.exit_code == 3
    assert "was asked to end, but is still RUNNING" in found.stderr
    record.stopping = True
    registry.write(record)
    assert "RUNNING, stopping" in headrace("list").stdout
    assert "RUNNING, stopping" in headrace("status", "ab12").stdout


def test_nothing_is_cut_where_there_is_no_terminal(
    registry: JobRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS")
    name, checkpoint = "a long name " * 20, "/data/" + "orders/" * 40
    put(registry, "ab12" * 8, name, checkpoint=checkpoint)
    (line,) = headrace("list").stdout.rstrip().splitlines()[1:]
    assert name.strip() in line
    assert checkpoint in line
    assert checkpoint in headrace("status", "ab12").stdout


def test_of_a_job_that_waits_only_what_is_known_is_shown(registry: JobRegistry) -> None:
    put(registry, "ab12" * 8, state="CREATED", has_driver=False, queue_position=2)
    shown = headrace("status", "ab12").stdout
    labels = [line.split("  ")[0] for line in shown.splitlines()]
    assert labels == ["job", "name", "state", "submitted", "parallelism"]
    assert "CREATED, place 2" in shown
    listed = headrace("list").stdout
    assert "CREATED, place 2" in listed
    assert "temporary" not in listed
    put(registry, "cd34" * 8, "clicks", state="RESTARTING", has_driver=False, restarts=1,
        restart_strategy="fixed-delay", checkpoint="/data/clicks")  # fmt: skip
    shown = headrace("status", "clicks").stdout
    assert "driver" not in shown
    assert "/data/clicks" in shown
    assert "1 (fixed-delay)" in shown


def test_the_help_of_savepoint_shows_how_to_take_one(registry: JobRegistry) -> None:
    usage = headrace("savepoint", "--help").stdout.splitlines()
    assert any("headrace savepoint" in line and "JOB [DIR]" in line for line in usage)


def test_every_command_has_help_with_examples_and_json(registry: JobRegistry) -> None:
    commands = ("run", "list", "status", "cancel", "stop", "explain")
    overview = headrace("--help").stdout
    for command in commands:
        assert f"\n  {command} " in overview
        text = headrace(command, "--help").stdout
        assert f"Examples:\n    headrace {command}" in text
        assert "--json" in text
    assert headrace("--version").stdout.startswith("headrace ")
    assert headrace("dance").exit_code == 2


def test_looking_at_jobs_loads_no_spark(registry: JobRegistry) -> None:
    import subprocess
    import sys

    program = (
        "import sys\nfrom typer.testing import CliRunner\nfrom headrace.cli.main import app\n"
        "assert CliRunner().invoke(app, ['list']).exit_code == 0\n"
        "print({'pyspark', 'pyarrow', 'pandas'} & set(sys.modules))\n"
    )
    answer = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert answer.stdout.strip() == "set()"
