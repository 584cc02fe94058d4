"""A job tells its way in a few lines."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from headrace.control import progress as module
from headrace.control.progress import Teller
from headrace.control.registry import JobRecord


def record(**fields: Any) -> JobRecord:
    base = {"state": "RUNNING", "host": "h", "pid": 1, "born": "", "started": 1, "updated": 1}
    return JobRecord(job_id="ab12" * 8, name="orders", **{**base, **fields})


def counts(number: int) -> dict[str, Any]:
    return {"count": {"numRecordsIn": number}, "filter": {"numRecordsIn": number // 2}}


def test_start_first_batch_and_end(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "headrace.progress")
    job = record(checkpoint="/data/orders", web={"spark": "http://127.0.0.1:4040"}, log="/x.log")
    teller = Teller(job)
    teller.start()
    teller.look()
    job.batches, job.operators = 1, counts(1000)
    teller.look()
    job.batches = 2
    teller.look()
    job.state = "FINISHED"
    teller.end()
    assert [text.replace("0.0 s", "SECONDS") for text in caplog.messages] == [
        "job ab12ab12ab12 (orders): checkpoint /data/orders, Spark UI http://127.0.0.1:4040, "
        "log /x.log",
        "job ab12ab12ab12: first batch after SECONDS",
        "job ab12ab12ab12: FINISHED after SECONDS, 2 batches, 1,000 records",
    ]


def test_progress_is_told_now_and_then(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.INFO, "headrace.progress")
    monkeypatch.setattr(module, "_EVERY_S", 0.0)
    job = record(batches=1)
    teller = Teller(job)
    teller.look()
    job.batches, job.operators = 14, counts(5230)
    teller.look()
    teller.look()
    assert caplog.messages[1:] == ["job ab12ab12ab12: 14 batches, 5,230 records"]


@pytest.mark.parametrize(
    ("fields", "nothing"),
    [
        ({}, True),
        ({"batches": 1, "operators": counts(0)}, True),
        ({"batches": 1, "operators": {}}, False),  # on Catalyst alone: nobody counted
        ({"batches": 1, "operators": counts(1)}, False),
    ],
)
def test_a_job_that_found_nothing_says_so(
    caplog: pytest.LogCaptureFixture, fields: dict[str, Any], nothing: bool
) -> None:
    caplog.set_level(logging.INFO, "headrace.progress")
    Teller(record(state="FINISHED", **fields)).end()
    assert ("nothing to do: the sources had no new records" in caplog.text) is nothing


def test_previews_go_unmentioned(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "headrace.progress")
    teller = Teller(record(kind="preview", batches=3))
    teller.start()
    teller.look()
    teller.end()
    assert caplog.messages == []
