"""A server that answers like Flink's REST, for a browser: states that are hard to produce.

Serves the dashboard's own files with their headers, and a cluster that a test may change while the
page is open: jobs that fail, lag, are skewed, vanish; names that attack; a server that goes away.
Next: tests/dashboard_jobs.py (the answers), tests/dashboard/conftest.py
"""

from __future__ import annotations

import json
import re
import threading
import time
from email.parser import BytesParser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, unquote, urlsplit

from dashboard_jobs import FakeJob, standard_jobs
from headrace.dashboard import SECURITY_HEADERS, assets
from ports import free_port

if TYPE_CHECKING:
    from collections.abc import Callable

_ENDED = {"FINISHED", "FAILED", "CANCELED"}


class Refused(Exception):
    """An answer that is an error."""

    def __init__(self, status: int, message: str, **parts: str) -> None:
        super().__init__(message)
        self.status, self.message, self.parts = status, message, parts


class FakeCluster:
    """What the server knows; tests write to its fields.

    Attributes:
        jobs: by id.
        token: what a request must bring; None for an open server.
        requests: method and path of everything that was asked.
        bodies: what was sent, by method and path.
        refuse: errors for the next request that matches a pattern.
        links: logs that Spark serves, by name.
        missing: patterns of paths that this server does not have.
    """

    def __init__(self) -> None:
        self.jobs: dict[str, FakeJob] = {job.id: job for job in standard_jobs()}
        self.programs: dict[str, dict[str, Any]] = {}
        self.token: str | None = None
        self.requests: list[str] = []
        self.bodies: list[tuple[str, Any]] = []
        self.refuse: dict[str, Refused] = {}
        self.missing: list[str] = []
        self.operations: dict[str, tuple[float, Callable[[], dict[str, Any]]]] = {}
        self.config = _config()
        self.options = {"rest.port": "8081", "security.token": "******", "cluster.id": "mill"}
        self.logs = {"dispatcher.log": _log(), "dispatcher.out": ""}
        self.links: dict[str, str] = {}
        self.executors = [_executor("executor-1", 0.42), _executor("executor-2", 0.93)]
        self.operation_s = 0.4
        self.flame_graphs = flames()
        self.threads = {
            "MainThread (Python worker mill-3:4711)": '"MainThread" Id=1 runs subtask 1 of score'
            '\n  File "orders.py", line 58, in score\n    return model(order)\n',
            "dispatcher-event-loop-0": '"dispatcher-event-loop-0" daemon prio=5 Id=33 WAITING\n'
            "\tat jdk.internal.misc.Unsafe.park(Native Method)\n",
        }

    def job(self, job_id: str) -> FakeJob:
        if job_id not in self.jobs:
            raise Refused(404, f"Job {job_id} not found", kind="JobNotFoundError")
        return self.jobs[job_id]

    def overview(self) -> dict[str, Any]:
        states = [job.state for job in self.jobs.values()]
        return {
            "taskmanagers": len(self.executors),
            "slots-total": 16,
            "slots-available": 4,
            "jobs-running": sum(state not in _ENDED for state in states),
            "jobs-finished": states.count("FINISHED"),
            "jobs-cancelled": states.count("CANCELED"),
            "jobs-failed": states.count("FAILED"),
            "flink-version": "2.3.0",
            "flink-commit": "0000000",
        }

    def begin(self, act: Callable[[], dict[str, Any]]) -> dict[str, str]:
        """An operation that is done a little later."""
        trigger = f"{len(self.operations):032x}"
        self.operations[trigger] = (time.monotonic() + self.operation_s, act)
        return {"request-id": trigger}

    def operation(self, trigger: str) -> dict[str, Any]:
        if trigger not in self.operations:
            raise Refused(404, f"no operation {trigger}")
        when, act = self.operations[trigger]
        if time.monotonic() < when:
            return {"status": {"id": "IN_PROGRESS"}}
        result = act()
        self.operations[trigger] = (when, lambda: result)
        return {"status": {"id": "COMPLETED"}, "operation": result}


def _config() -> dict[str, Any]:
    return {
        "refresh-interval": 300,
        "timezone-name": "Coordinated Universal Time",
        "timezone-offset": 0,
        "flink-version": "2.3.0",
        "flink-revision": "headrace 0.1.0",
        "headrace-version": "0.1.0",
        "features": {
            "web-submit": True,
            "web-cancel": True,
            "web-rescale": True,
            "web-history": False,
        },
    }


def _executor(name: str, used: float) -> dict[str, Any]:
    total = 4 << 30
    return {
        "id": name,
        "path": f"127.0.0.1:{42000 + len(name)}",
        "dataPort": 0,
        "jmxPort": -1,
        "timeSinceLastHeartbeat": int(time.time() * 1000) - 900,
        "slotsNumber": 8,
        "freeSlots": 2,
        "hardware": {
            "cpuCores": 8,
            "physicalMemory": total,
            "freeMemory": int(total * (1 - used)),
            "managedMemory": 0,
        },
        "memoryConfiguration": {"totalProcessMemory": total},
        "metrics": {
            "heapUsed": int(1.2 * (1 << 30)),
            "heapMax": 2 << 30,
            "garbageCollectors": [{"name": "G1 Young Generation", "count": 41, "time": 612}],
        },
        "allocatedSlots": [],
    }


def _log() -> str:
    lines = [
        "2026-11-18 12:40:01,102 INFO  headrace.dispatcher: leads cluster mill, epoch 7",
        "2026-11-18 12:40:02,380 INFO  headrace.dispatcher: job orders: driver 4711 started",
        "2026-11-18 12:41:07,911 WARN  headrace.dispatcher: job fraud: driver 4713 ended with 1",
        "2026-11-18 12:41:07,940 ERROR headrace.dispatcher: job fraud: restart 1 of 3",
        "<script>window.attacked = 'log'</script>",
    ]
    return "\n".join(lines * 12) + "\n"


# --- the routes ----------------------------------------------------------------------------------

Answer = Any  # what json writes; a text is a log


def _jobs_overview(cluster: FakeCluster, *_: Any) -> Answer:
    return {"jobs": [job.overview() for job in cluster.jobs.values()]}


def _of_job(read: Callable[[FakeJob], Answer]) -> Any:
    return lambda cluster, match, _query, _body: read(cluster.job(match[1]))


def _vertex_metrics(cluster: FakeCluster, match: re.Match[str], query: Any, _: Any) -> Answer:
    return cluster.job(match[1]).vertex_metrics(match[2], _names(query))


def _names(query: dict[str, list[str]]) -> list[str] | None:
    return query["get"][0].split(",") if "get" in query else None


def _metrics(cluster: FakeCluster, match: re.Match[str], query: Any, _: Any) -> Answer:
    return cluster.job(match[1]).job_metrics(_names(query))


def _history(cluster: FakeCluster, match: re.Match[str], query: Any, _: Any) -> Answer:
    return cluster.job(match[1]).metric_history(_names(query) or [])


def _savepoint(cluster: FakeCluster, match: re.Match[str], _: Any, body: Any) -> Answer:
    job = cluster.job(match[1])
    folder = body.get("target-directory") or "/data/savepoints"
    return cluster.begin(lambda: {"location": job.take_savepoint(folder)})


def _checkpoint(cluster: FakeCluster, match: re.Match[str], *_: Any) -> Answer:
    number = cluster.job(match[1]).checkpoints()["history"][0]["id"]
    return cluster.begin(lambda: {"checkpointId": number})


def _stop(cluster: FakeCluster, match: re.Match[str], _: Any, body: Any) -> Answer:
    job = cluster.job(match[1])
    folder = body.get("targetDirectory") or "/data/savepoints"

    def end() -> dict[str, Any]:
        job.end("FINISHED")
        return {"location": job.take_savepoint(folder)}

    return cluster.begin(end)


def _cancel(cluster: FakeCluster, match: re.Match[str], *_: Any) -> Answer:
    cluster.job(match[1]).end("CANCELED")
    return {}


def _rescale(cluster: FakeCluster, match: re.Match[str], _: Any, body: Any) -> Answer:
    job = cluster.job(match[1])

    def change() -> dict[str, Any]:
        job.end("FINISHED")
        again = FakeJob(f"{len(cluster.jobs):032x}", job.name, parallelism=body["parallelism"])
        cluster.jobs[again.id] = again
        return {"job-id": again.id, "savepoint": job.take_savepoint("/data/savepoints")}

    return cluster.begin(change)


def _proposal(cluster: FakeCluster, match: re.Match[str], *_: Any) -> Answer:
    current = cluster.job(match[1]).parallelism
    return {"current": current, "proposed": current * 2, "reason": "the busiest step needs 1.9"}


def _operation(cluster: FakeCluster, match: re.Match[str], *_: Any) -> Answer:
    return cluster.operation(match[2])


def _list_logs(cluster: FakeCluster, *_: Any) -> Answer:
    now = int(time.time() * 1000)
    logs = [{"name": n, "size": len(text), "mtime": now} for n, text in cluster.logs.items()]
    links = [{"name": n, "size": 0, "mtime": 0, "url": url} for n, url in cluster.links.items()]
    return {"logs": [*logs, *links]}


def _read_log(cluster: FakeCluster, match: re.Match[str], *_: Any) -> Answer:
    name = unquote(match[match.lastindex or 1])
    if name not in cluster.logs:
        raise Refused(404, f"no log {name}")
    return cluster.logs[name]


def _executor_of(cluster: FakeCluster, match: re.Match[str], *_: Any) -> Answer:
    found = [one for one in cluster.executors if one["id"] == unquote(match[1])]
    if not found:
        raise Refused(404, f"no executor {match[1]}")
    return found[0]


def _flame_graph(cluster: FakeCluster, match: re.Match[str], query: Any, _: Any) -> Answer:
    cluster.job(match[1])
    return cluster.flame_graphs.get(query["type"][0], {"endTimestamp": -2})


def _call(name: str, value: int, *children: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "value": value, "children": list(children)}


def flames() -> dict[str, dict[str, Any]]:
    """Flame graphs by type: of a task that asks a model, and waits for its answers."""
    on = _call("requests.post:61", 0)
    score = _call("orders.score:58", 60, _call("orders.<b>features</b>:31", 40), on)
    waits = _call("orders.score:61", 30, _call("socket.recv:718", 30))
    work = _call("headrace.runtime.task.Task.run:204", 90, score, waits)
    busy = _call("headrace.runtime.task.Task.run:204", 60, score)
    now = int(time.time() * 1000)
    return {
        "full": {"endTimestamp": now, "data": _call("root", 90, work)},
        "on_cpu": {"endTimestamp": now, "data": _call("root", 60, busy)},
        "off_cpu": {"endTimestamp": -3},
    }


def _threads(cluster: FakeCluster, *_: Any) -> Answer:
    return {
        "threadInfos": [
            {"threadName": name, "stringifiedThreadInfo": told}
            for name, told in cluster.threads.items()
        ]
    }


def _some_metrics(_: FakeCluster, __: re.Match[str], query: Any, ___: Any) -> Answer:
    values = {"Status.JVM.Memory.Heap.Used": "1288490188", "Status.JVM.CPU.Load": "0.41"}
    names = _names(query)
    if names is None:
        return [{"id": name} for name in values]
    return [{"id": name, "value": values[name]} for name in names]


def _upload(cluster: FakeCluster, _: re.Match[str], __: Any, body: Any) -> Answer:
    name = body
    program = f"{len(cluster.programs):04x}_{name}"
    uploaded = int(time.time() * 1000)
    cluster.programs[program] = {"id": program, "name": name, "uploaded": uploaded, "entry": []}
    return {"filename": program, "status": "success"}


def _run_program(cluster: FakeCluster, match: re.Match[str], _: Any, body: Any) -> Answer:
    name = cluster.programs[unquote(match[1])]["name"]
    job = FakeJob(f"{len(cluster.jobs):032x}", name.removesuffix(".py"), parallelism=2)
    cluster.jobs[job.id] = job
    return {"jobid": job.id}


def _delete_program(cluster: FakeCluster, match: re.Match[str], *_: Any) -> Answer:
    del cluster.programs[unquote(match[1])]
    return {}


_JOB = r"/jobs/([^/]+)"
_VERTEX = _JOB + r"/vertices/([^/]+)"
ROUTES: list[tuple[str, str, Any]] = [
    ("GET", r"/config", lambda c, *_: c.config),
    ("GET", r"/overview", lambda c, *_: c.overview()),
    ("GET", r"/jobs/overview", _jobs_overview),
    ("GET", _JOB, _of_job(FakeJob.detail)),
    ("GET", _JOB + "/diagnosis", _of_job(FakeJob.diagnosis)),
    ("GET", _JOB + "/checkpoints", _of_job(FakeJob.checkpoints)),
    ("GET", _JOB + "/checkpoints/config", _of_job(FakeJob.checkpoint_config)),
    ("GET", _JOB + r"/checkpoints/details/(\d+)",
     lambda c, m, *_: c.job(m[1]).checkpoint(int(m[2]))),
    ("GET", _JOB + "/exceptions", _of_job(FakeJob.exceptions)),
    ("GET", _JOB + "/config", _of_job(FakeJob.configuration)),
    ("GET", _JOB + "/jobmanager/config", _of_job(FakeJob.options)),
    ("GET", _JOB + "/accumulators", _of_job(FakeJob.accumulators)),
    ("GET", _JOB + "/metrics", _metrics),
    ("GET", _JOB + "/metrics/history", _history),
    ("GET", _JOB + "/logs", _list_logs),
    ("GET", _JOB + "/logs/([^/]+)", _read_log),
    ("GET", _JOB + "/rescale", _proposal),
    ("POST", _JOB + "/rescale", _rescale),
    ("GET", _JOB + "/rescaling/([^/]+)", _operation),
    ("POST", _JOB + "/savepoints", _savepoint),
    ("GET", _JOB + "/savepoints/([^/]+)", _operation),
    ("POST", _JOB + "/checkpoints", _checkpoint),
    ("GET", _JOB + "/checkpoints/([0-9a-f]{32})", _operation),
    ("POST", _JOB + "/stop", _stop),
    ("PATCH", _JOB, _cancel),
    ("GET", _VERTEX, lambda c, m, *_: c.job(m[1]).vertex_detail(m[2])),
    ("GET", _VERTEX + "/backpressure", lambda c, m, *_: c.job(m[1]).back_pressure(m[2])),
    ("GET", _VERTEX + "/watermarks", lambda c, m, *_: c.job(m[1]).watermarks(m[2])),
    ("GET", _VERTEX + "/subtasks/metrics", _vertex_metrics),
    ("GET", _VERTEX + "/flamegraph", _flame_graph),
    ("GET", r"/taskmanagers", lambda c, *_: {"taskmanagers": c.executors}),
    ("GET", r"/taskmanagers/([^/]+)", _executor_of),
    ("GET", r"/taskmanagers/([^/]+)/metrics", _some_metrics),
    ("GET", r"/taskmanagers/([^/]+)/logs", _list_logs),
    ("GET", r"/taskmanagers/([^/]+)/logs/([^/]+)", _read_log),
    ("GET", r"(?:/taskmanagers/[^/]+|/jobmanager|/jobs/[^/]+)/thread-dump", _threads),
    ("GET", r"/jobmanager/config",
     lambda c, *_: [{"key": k, "value": v} for k, v in c.options.items()]),
    ("GET", r"/jobmanager/environment",
     lambda *_: {"jvm": {"version": "CPython 3.11.7", "arch": "x86_64", "options": []}}),
    ("GET", r"/jobmanager/metrics", _some_metrics),
    ("GET", r"/jobmanager/logs", _list_logs),
    ("GET", r"/jobmanager/logs/([^/]+)", _read_log),
    ("GET", r"/jars", lambda c, *_: {"address": "", "files": list(c.programs.values())}),
    ("POST", r"/jars/upload", _upload),
    ("POST", r"/jars/([^/]+)/run", _run_program),
    ("DELETE", r"/jars/([^/]+)", _delete_program),
]  # fmt: skip


class _Handler(BaseHTTPRequestHandler):
    # a connection per request: a server that stops is gone at once
    protocol_version = "HTTP/1.0"
    cluster: FakeCluster

    def do_GET(self) -> None:
        path = urlsplit(self.path).path
        asset = assets().get("index.html" if path == "/" else path.removeprefix("/"))
        if asset is not None:
            self._send(200, asset.content, asset.media_type, SECURITY_HEADERS)
        else:
            self._answer("GET")

    def do_POST(self) -> None:
        self._answer("POST")

    def do_PATCH(self) -> None:
        self._answer("PATCH")

    def do_DELETE(self) -> None:
        self._answer("DELETE")

    def _answer(self, method: str) -> None:
        body = self._body()
        try:
            found = self._find(method, body)
        except Refused as error:
            content = {"errors": [error.message], **error.parts}
            self._send(error.status, json.dumps(content).encode(), "application/json")
            return
        if isinstance(found, str):
            self._send(200, found.encode(), "text/plain; charset=utf-8")
        else:
            status = 202 if method in ("POST", "PATCH") else 200
            self._send(status, json.dumps(found).encode(), "application/json")

    def _find(self, method: str, body: Any) -> Answer:
        cluster, parts = self.cluster, urlsplit(self.path)
        asked = f"{method} {parts.path}"
        cluster.requests.append(asked)
        if body is not None:
            cluster.bodies.append((asked, body))
        if cluster.token and self.headers.get("Authorization") != f"Bearer {cluster.token}":
            raise Refused(401, "a token is needed")
        for pattern in list(cluster.refuse):
            if re.fullmatch(pattern, asked):
                raise cluster.refuse.pop(pattern)
        if any(re.fullmatch(pattern, asked) for pattern in cluster.missing):
            raise Refused(404, "Not found.")
        for verb, pattern, act in ROUTES:
            match = re.fullmatch(pattern, parts.path)
            if verb == method and match:
                return act(cluster, match, parse_qs(parts.query), body)
        raise Refused(404, f"no such path: {parts.path}")

    def _body(self) -> Any:
        length = int(self.headers.get("Content-Length") or 0)
        if not length:
            return None
        content = self.rfile.read(length)
        kind = self.headers.get("Content-Type", "")
        if kind.startswith("multipart/"):
            whole = f"Content-Type: {kind}\r\n\r\n".encode() + content
            parts: Any = BytesParser().parsebytes(whole).get_payload()
            return parts[0].get_filename()
        return json.loads(content)

    def _send(self, status: int, content: bytes, kind: str, headers: Any = None) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        pass


class _QuietServer(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True

    def handle_error(self, *_: Any) -> None:
        """A browser that closes a tab closes its connections; nobody wants to read of it."""


class DashboardServer:
    """The server on a port of its own; it can go away and come back."""

    def __init__(self) -> None:
        self.cluster = FakeCluster()
        self.port = free_port()
        self._server: ThreadingHTTPServer | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    def start(self) -> None:
        handler = type("Handler", (_Handler,), {"cluster": self.cluster})
        self._server = _QuietServer(("127.0.0.1", self.port), handler)
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def stop(self) -> None:
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None
