"""Asks a real Flink for every answer of its REST API, and keeps their shapes.

    cd tests && HEADRACE_ORACLE_VENV=... python -m oracle.rest.record

In: oracle/rest/flink_cluster.py.  Out: answers.json beside this file: path -> status and shape.
Next: test_shapes.py compares headrace's answers.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from oracle.rest.flink_cluster import FlinkCluster
from oracle.rest.shapes import shape

ANSWERS = Path(__file__).with_name("answers.json")

PLAIN = (
    "/overview", "/config", "/jobs", "/jobs/overview", "/jobs/metrics",
    "/jobs/metrics?get=uptime,numRestarts", "/jars", "/datasets",
    "/jobmanager/config", "/jobmanager/environment", "/jobmanager/logs", "/jobmanager/metrics",
    "/jobmanager/metrics?get=Status.JVM.CPU.Load", "/jobmanager/thread-dump",
    "/taskmanagers", "/taskmanagers/metrics", "/taskmanagers/metrics?get=Status.JVM.CPU.Load",
    "/taskmanagers/{tm}", "/taskmanagers/{tm}/logs", "/taskmanagers/{tm}/metrics",
    "/taskmanagers/{tm}/metrics?get=Status.JVM.CPU.Load", "/taskmanagers/{tm}/thread-dump",
    "/applications/overview",
)  # fmt: skip
OF_JOB = (
    "", "/status", "/plan", "/config", "/accumulators", "/accumulators?includeSerializedValue=true",
    "/checkpoints", "/checkpoints/config",
    "/checkpoints/details/{cp}", "/checkpoints/details/{cp}/subtasks/{v}", "/exceptions",
    "/execution-result", "/jobmanager/config", "/jobmanager/environment", "/metrics",
    "/metrics?get=uptime,numRestarts",
    "/resource-requirements", "/vertices/{v}", "/vertices/{v}/accumulators",
    "/vertices/{v}/backpressure", "/vertices/{v}/metrics",
    "/vertices/{v}/metrics?get=0.numRecordsIn",
    "/vertices/{v}/subtasks/accumulators", "/vertices/{v}/subtasks/metrics",
    "/vertices/{v}/subtasks/metrics?get=numRecordsIn", "/vertices/{v}/subtasks/0",
    "/vertices/{v}/subtasks/0/attempts/0",
    "/vertices/{v}/subtasks/0/attempts/0/accumulators", "/vertices/{v}/subtasks/0/metrics",
    "/vertices/{v}/subtasktimes", "/vertices/{v}/taskmanagers", "/vertices/{v}/watermarks",
    "/vertices/{v}/flamegraph", "/vertices/{v}/jm-operator-metrics", "/rescales/config",
    "/rescales/history", "/rescales/overview", "/rescales/summary", "/jobmanager/log-url",
    "/taskmanagers/{tm}/log-url",
)  # fmt: skip
BAD: tuple[tuple[str, str, str | None], ...] = (
    ("GET", "/jobs/00000000000000000000000000000000", None),
    ("GET", "/jobs/00000000000000000000000000000000/plan", None),
    ("GET", "/jobs/00000000000000000000000000000000/checkpoints", None),
    ("PATCH", "/jobs/00000000000000000000000000000000", None),
    ("POST", "/jobs/00000000000000000000000000000000/stop", "{}"),
    ("POST", "/jobs/00000000000000000000000000000000/savepoints", "{}"),
    ("GET", "/jobs/nonsense", None),
    ("GET", "/nowhere", None),
    ("DELETE", "/jobs/overview", None),
    ("GET", "/jobs/{job}/vertices/00000000000000000000000000000000", None),
    ("GET", "/jobs/{job}/vertices/{v}/subtasks/99", None),
    ("GET", "/jobs/{job}/checkpoints/details/999999", None),
    ("GET", "/jobs/{job}/savepoints/00000000000000000000000000000000", None),
    ("POST", "/jobs/{job}/savepoints", "{not json"),
    ("POST", "/jobs/{job}/savepoints", '{"unknown-field": 1}'),
    ("PATCH", "/jobs/{job}?mode=sideways", None),
    ("PATCH", "/jobs/{job}/rescaling?parallelism=3", None),
    ("GET", "/taskmanagers/nobody", None),
    ("POST", "/jars/nothing/run", "{}"),
    ("DELETE", "/jars/nothing", None),
    ("PUT", "/jobs/{job}/resource-requirements", "{}"),
    ("POST", "/jobs/{job}/checkpoints", '{"checkpointType": "INCREMENTAL"}'),
    ("POST", "/jobs/{job}/checkpoints", '{"checkpointType": "SIDEWAYS"}'),
    ("POST", "/jobs/00000000000000000000000000000000/checkpoints", "{}"),
    ("GET", "/jobs/{job}/checkpoints/00000000000000000000000000000000", None),
    ("GET", "/jobs/{job}/rescales/details/00000000000000000000000000000000", None),
    ("PATCH", "/jobs/{job}/clientHeartbeat", '{"expiredTimestamp": 1}'),
    ("GET", "/applications/00000000000000000000000000000000", None),
    ("GET", "/applications/00000000000000000000000000000000/exceptions", None),
    ("GET", "/applications/00000000000000000000000000000000/jobmanager/config", None),
    ("POST", "/applications/00000000000000000000000000000000/cancel", None),
    ("GET", "/applications/nonsense", None),
    ("POST", "/jars/nothing/run-application", "{}"),
    ("POST", "/jars/nothing/plan", "{}"),
    ("DELETE", "/datasets/00000000000000000000000000000000", None),
    ("GET", "/savepoint-disposal/00000000000000000000000000000000", None),
    # verbs that a path does not have
    ("POST", "/overview", "{}"),
    ("PUT", "/jobs", "{}"),
    ("DELETE", "/jobs/{job}", None),
    ("POST", "/jobs/{job}/plan", "{}"),
    ("PUT", "/jobs/{job}/savepoints", "{}"),
    ("GET", "/jobs/{job}/stop", None),
    ("GET", "/cluster", None),
    ("HEAD", "/overview", None),
)


def ask(address: str, method: str, path: str, body: str | None = None) -> tuple[int, Any]:
    """Status and parsed answer."""
    request = urllib.request.Request(
        address + path,
        data=None if body is None else body.encode(),
        method=method,
        headers={"Content-Type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            status, text = answer.status, answer.read()
    except urllib.error.HTTPError as error:
        status, text = error.code, error.read()
    try:
        return status, json.loads(text) if text else None
    except ValueError:
        return status, "text"


def _record(cluster: FlinkCluster, kept: dict[str, Any], raw: dict[str, Any]) -> None:
    job = cluster.run_job()
    detail = cluster.get(f"/jobs/{job}")
    names = {
        "job": job,
        "tm": cluster.get("/taskmanagers")["taskmanagers"][0]["id"],
        # the last vertex has an input, and so all figures
        "v": detail["vertices"][-1]["id"],
    }

    def keep(method: str, path: str, body: str | None = None, *, label: str = "") -> Any:
        if "{cp}" in path:  # checkpoints leave the history soon: the newest one now
            latest = cluster.get(f"/jobs/{job}/checkpoints")["latest"]["completed"]["id"]
            filled = path.format(**names, cp=latest)
        else:
            filled = (
                path.replace("{job}", job).replace("{v}", names["v"]).replace("{tm}", names["tm"])
            )
        status, answer = ask(cluster.address, method, filled, body)
        name = f"{method} {label or path}" + (f" {body}" if body and not label else "")
        is_error = isinstance(answer, dict) and "errors" in answer
        kept[name] = {
            "status": status,
            "shape": {"errors": ["text"]} if is_error else shape(answer),
        }
        raw[name] = {"status": status, "answer": answer}
        return answer

    time.sleep(8)  # metrics are fetched every few seconds, back pressure is asked for first
    keep("GET", "/jobs/{job}/vertices/{v}/backpressure")
    time.sleep(4)
    for path in PLAIN:
        keep("GET", path)
    for path in OF_JOB:
        keep("GET", "/jobs/{job}" + path)
    for method, path, body in BAD:
        keep(method, path, body)
    _record_operations(cluster, keep, job)
    _record_failures(cluster, keep)
    _record_jars(cluster, keep)


def _record_failures(cluster: FlinkCluster, keep: Any) -> None:
    job = cluster.run_failing_job()
    keep("GET", f"/jobs/{job}/exceptions", label="/jobs/{job}/exceptions of a failing one")
    application = cluster.get(f"/jobs/{job}")["application-id"]
    keep("GET", f"/applications/{application}/exceptions", label="/applications/{app}/exceptions")


def _record_jars(cluster: FlinkCluster, keep: Any) -> None:
    content = cluster.upload_jar()
    name = content["filename"].rpartition("/")[2]
    keep("GET", "/jars", label="/jars with one")
    keep("POST", f"/jars/{name}/plan", "{}", label="/jars/{jar}/plan of no program")
    keep("DELETE", f"/jars/{name}", label="/jars/{jar}")


def _record_unknown(keep: Any, finished: Any) -> None:
    """Flink takes operations of jobs that it does not know, and tells it with their status."""
    unknown = "/jobs/" + "0" * 32
    for verb, status in (
        ("savepoints", "savepoints"), ("stop", "savepoints"), ("checkpoints", "checkpoints"),
    ):  # fmt: skip
        trigger = keep("POST", f"{unknown}/{verb}", "{}", label=f"/jobs/UNKNOWN/{verb}")
        path = f"{unknown}/{status}/{trigger['request-id']}"
        finished(path)
        keep("GET", path, label=f"/jobs/UNKNOWN/{verb}/{{trigger}}")


def _record_applications(cluster: FlinkCluster, keep: Any, job: str) -> None:
    application = cluster.get(f"/jobs/{job}")["application-id"]
    for below in ("", "/exceptions", "/jobmanager/config"):
        label = "/applications/{app}" + below
        keep("GET", f"/applications/{application}{below}", label=label)


def _record_operations(cluster: FlinkCluster, keep: Any, job: str) -> None:
    def finished(path: str) -> Any:
        for _ in range(60):
            _, answer = ask(cluster.address, "GET", path)
            if answer["status"]["id"] == "COMPLETED":
                return answer
            time.sleep(0.2)
        return None

    _record_unknown(keep, finished)
    _record_applications(cluster, keep, job)
    folder = f"file://{cluster.scratch}/savepoints"
    body = json.dumps({"target-directory": folder, "cancel-job": False})
    trigger = keep("POST", "/jobs/{job}/savepoints", body, label="/jobs/{job}/savepoints")
    done = finished(f"/jobs/{job}/savepoints/{trigger['request-id']}")
    keep(
        "GET",
        "/jobs/{job}/savepoints/" + trigger["request-id"],
        label="/jobs/{job}/savepoints/{trigger}",
    )
    trigger = keep("POST", "/jobs/{job}/checkpoints", "{}", label="/jobs/{job}/checkpoints")
    finished(f"/jobs/{job}/checkpoints/{trigger['request-id']}")
    keep(
        "GET",
        "/jobs/{job}/checkpoints/" + trigger["request-id"],
        label="/jobs/{job}/checkpoints/{trigger}",
    )
    cluster.wait_for(f"/jobs/{job}/checkpoints", lambda found: found["latest"]["savepoint"])
    told = keep("GET", "/jobs/{job}/checkpoints", label="/jobs/{job}/checkpoints after a savepoint")
    saved = told["latest"]["savepoint"]["id"]
    keep(
        "GET", f"/jobs/{job}/checkpoints/details/{saved}",
        label="/jobs/{job}/checkpoints/details/{savepoint}",
    )  # fmt: skip
    body = json.dumps({"savepoint-path": done["operation"]["location"]})
    trigger = keep("POST", "/savepoint-disposal", body, label="/savepoint-disposal")
    finished(f"/savepoint-disposal/{trigger['request-id']}")
    keep(
        "GET", "/savepoint-disposal/" + trigger["request-id"], label="/savepoint-disposal/{trigger}"
    )
    body = json.dumps({"targetDirectory": folder, "drain": False})
    trigger = keep("POST", "/jobs/{job}/stop", body, label="/jobs/{job}/stop")
    finished(f"/jobs/{job}/savepoints/{trigger['request-id']}")
    keep("GET", "/jobs/{job}", label="/jobs/{job} ended")
    keep("GET", "/jobs/{job}/execution-result", label="/jobs/{job}/execution-result ended")
    keep("PATCH", "/jobs/{job}", label="/jobs/{job} ended")
    job = cluster.run_job()
    keep("PATCH", f"/jobs/{job}", label="/jobs/{job}")
    keep("GET", "/jobs/overview", label="/jobs/overview of several")
    application = cluster.get(f"/jobs/{cluster.run_job()}")["application-id"]
    keep("POST", f"/applications/{application}/cancel", label="/applications/{app}/cancel")


def main() -> None:
    """Record, and write what Flink answered as a whole beside it when asked to (an argument)."""
    kept: dict[str, Any] = {}
    raw: dict[str, Any] = {}
    with (
        tempfile.TemporaryDirectory(prefix="oracle-rest-") as scratch,
        FlinkCluster(Path(scratch)) as cluster,
    ):
        try:
            _record(cluster, kept, raw)
        finally:
            if sys.argv[1:]:
                Path(sys.argv[1]).write_text(json.dumps(raw, indent=1))
    ANSWERS.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
