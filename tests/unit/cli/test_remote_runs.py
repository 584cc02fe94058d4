"""`headrace run -m`: what it says while its job waits and runs, and the code that it ends with."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from headrace.cli import run
from headrace.control.registry import JobRecord

if TYPE_CHECKING:
    from headrace.client import RestClient

JOB = "ab12" * 8
RECORD = JobRecord(JOB, "orders", "RUNNING", "vm", 1, "0", 1000, 1000)


class Client:
    """Shows one record after the other."""

    def __init__(self, *records: JobRecord) -> None:
        self.records = list(records)

    def run(self, program: str, arguments: list[str], settings: dict[str, str]) -> str:
        return JOB

    def find(self, text: str) -> JobRecord:
        return self.records.pop(0)


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "time", type("Time", (), {"sleep": staticmethod(lambda s: None)}))


def remotely(*records: JobRecord, as_json: bool = False) -> int:
    client: RestClient = Client(*records)  # type: ignore[assignment]
    return run.run_remotely(client, "orders.py", [], {}, detached=False, as_json=as_json)


def waiting(place: int) -> JobRecord:
    return replace(RECORD, state="CREATED", queue_position=place)


def test_every_place_in_the_queue_is_a_line_where_there_is_no_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code = remotely(
        waiting(2), waiting(2), waiting(1), replace(RECORD, state="INITIALIZING"), RECORD,
        replace(RECORD, batches=7), replace(RECORD, state="FINISHED"),
    )  # fmt: skip
    told = capsys.readouterr()
    assert code == 0
    assert told.err.splitlines() == [
        f"job {JOB}: CREATED, place 2 in the queue",
        f"job {JOB}: CREATED, place 1 in the queue",
        f"job {JOB}: INITIALIZING",
        f"job {JOB}: RUNNING",
    ]
    assert told.out.strip() == "ab12ab12ab12 orders: FINISHED"


def test_the_exit_code_of_the_program_is_passed_through(
    capsys: pytest.CaptureFixture[str],
) -> None:
    failed = replace(RECORD, state="FAILED", error="[DUPLICATE_UID] it is used twice")
    assert remotely(failed) == 1
    assert remotely(replace(failed, exit_code=2)) == 2
    assert capsys.readouterr().out == ""
    assert remotely(replace(failed, exit_code=2), as_json=True) == 2
    assert json.loads(capsys.readouterr().out)["exit_code"] == 2
