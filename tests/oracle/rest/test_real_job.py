"""A real job of a real dispatcher: answers have Flink's keys, Flink's command line steers it."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import httpx
import pytest

from ha_cluster import PROGRAM, DispatcherProcess
from oracle.rest.flink_cluster import run_flink
from oracle.rest.shapes import differences, shape
from oracle.session import missing_reason
from patience import wait_until
from skips import give_up

ANSWERS = json.loads(Path(__file__).with_name("answers.json").read_text(encoding="utf-8"))
# asked for by names that only Flink has, or refused: tests/unit/rest/test_flink_shapes.py
LEFT_OUT = ("Status.JVM", "flamegraph", "thread-dump", "resource-requirements", "{trigger}",
            "includeSerializedValue", " ended", " after ", " of several", "{savepoint}", "{tm}/log",
            "/applications/000")  # fmt: skip


@pytest.mark.slow
def test_a_real_job_is_read_and_steered_as_flinks(tmp_path: Path) -> None:
    reason = missing_reason()
    if reason is not None:
        give_up(reason)
    options = {
        "headrace.cluster.dir": str(tmp_path / "cluster"),
        "spark.master": "local[2]",
        "spark.ui.enabled": "false",
        "spark.driver.memory": "512m",
    }
    dispatcher = DispatcherProcess(tmp_path, "dispatcher", options)
    port = int(dispatcher.address.rpartition(":")[2])
    try:
        with httpx.Client(base_url=dispatcher.address, timeout=30) as client:
            job = _run(client, tmp_path)
            wait_until(
                lambda: client.get(f"/jobs/{job}/checkpoints").json()["counts"]["completed"] > 3,
                what="no checkpoints",
            )
            time.sleep(2)  # rates need a few looks
            assert _wrong(client, job) == {}

            listed = run_flink(tmp_path, port, "list")
            assert f"{job} : sums (RUNNING)" in listed.stdout, listed.stdout + listed.stderr
            saved = run_flink(tmp_path, port, "savepoint", job, f"file://{tmp_path}/saved")
            assert saved.returncode == 0, saved.stdout + saved.stderr
            assert list((tmp_path / "saved").glob("savepoint-*/metadata.json"))
            made = run_flink(tmp_path, port, "checkpoint", job)
            assert made.returncode == 0, made.stdout + made.stderr
            assert re.search(rf"Checkpoint \d+ for job {job} completed", made.stdout)
            wait_until(
                lambda: client.get(f"/jobs/{job}/checkpoints").json()["latest"]["savepoint"],
                what="the savepoint is not told",
            )
            number = client.get(f"/jobs/{job}/checkpoints").json()["latest"]["savepoint"]["id"]
            told = client.get(f"/jobs/{job}/checkpoints/details/{number}").json()
            wanted = ANSWERS["GET /jobs/{job}/checkpoints/details/{savepoint}"]["shape"]
            assert differences(wanted, shape(told)) == []
            _check_slots(client)
            stopped = run_flink(
                tmp_path, port, "stop", "--savepointPath", f"file://{tmp_path}/saved", job
            )
            assert stopped.returncode == 0, stopped.stdout + stopped.stderr
            assert len(list((tmp_path / "saved").glob("savepoint-*/metadata.json"))) == 2
            wait_until(
                lambda: client.get(f"/jobs/{job}/status").json()["status"] == "FINISHED",
                what="its end",
            )
            result = client.get(f"/jobs/{job}/execution-result").json()
            assert result["job-execution-result"]["application-status"] == "SUCCEEDED"
    finally:
        for record in dispatcher.client.jobs():
            if record.is_running:
                dispatcher.client.cancel(record.job_id)
        dispatcher.end()


def _run(client: httpx.Client, folder: Path) -> str:
    upload = {"jarfile": ("sums.py", PROGRAM.encode())}
    stored = client.post("/jars/upload", files=upload).json()["filename"].rpartition("/")[2]
    body = {"programArgsList": [str(folder / "out"), "100000", "200"], "name": "sums",
            "parallelism": 2}  # fmt: skip
    answer = client.post(f"/jars/{stored}/run", json=body)
    assert answer.status_code == 200, answer.text
    return str(answer.json()["jobid"])


def _check_slots(client: httpx.Client) -> None:
    """All are taken by the one job of parallelism 2, at work or not."""
    cluster = client.get("/overview").json()
    assert (cluster["slots-total"], cluster["slots-available"]) == (2, 0)
    (executor,) = client.get("/taskmanagers").json()["taskmanagers"]
    assert (executor["slotsNumber"], executor["freeSlots"]) == (2, 0)
    slots = client.get(f"/taskmanagers/{executor['id']}").json()["allocatedSlots"]
    assert len(slots) == 2
    assert sum(slot["assignedTasks"] for slot in slots) == executor["assignedTasks"] > 0


def _wrong(client: httpx.Client, job: str) -> dict[str, object]:
    """Answers whose keys or types are not Flink's."""
    detail = client.get(f"/jobs/{job}").json()
    executor = client.get("/taskmanagers").json()["taskmanagers"][0]["id"]
    latest = client.get(f"/jobs/{job}/checkpoints").json()["latest"]["completed"]["id"]
    names = {
        "job": job,
        "app": job,
        "v": detail["vertices"][-1]["id"],
        "tm": executor,
        "cp": str(latest),
    }
    wrong: dict[str, object] = {}
    for name, wanted in ANSWERS.items():
        left_out = any(part in name for part in LEFT_OUT)
        if not name.startswith("GET ") or left_out or wanted["status"] != 200:
            continue
        path = name.split(" ")[1]
        for placeholder, value in names.items():
            path = path.replace("{" + placeholder + "}", value)
        answer = client.get(path)
        found = differences(wanted["shape"], shape(answer.json()))
        if answer.status_code != 200 or found:
            wrong[name] = found or answer.text
    return wrong
