"""The answers about jobs that tests/dashboard_server.py gives: figures that move with the clock.

A job's story is told by a few fields (state, slow vertex, skewed subtask, failures); everything
else follows from them and from the time that has passed.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from typing import Any

ATTACK = "<img src=x onerror=\"window.attacked='name'\"><script>window.attacked='script'</script>"


def now_ms() -> int:
    return int(time.time() * 1000)


@dataclass(frozen=True)
class FakeVertex:
    id: str
    name: str
    level: int
    kind: str = "operator"
    runs: str = "python"
    inputs: tuple[tuple[str, str], ...] = ()
    rate: float = 4000.0
    busy: float = 0.35
    pressed: float = 0.0
    call_site: str = "orders.py:12"


def _id(number: int) -> str:
    return f"{number:x}".rjust(32, "a")


ORDERS = (
    FakeVertex(_id(1), "Source: orders (Kafka) -> parse -> assign watermarks", 0, "source",
               busy=0.22, pressed=0.7, rate=12400, call_site="orders.py:18"),
    FakeVertex(_id(2), "Source: customers (Kafka)", 0, "source", rate=310, busy=0.06,
               pressed=0.1, call_site="orders.py:22"),
    FakeVertex(_id(3), "filter valid -> project columns", 0, runs="native",
               inputs=((_id(1), "FORWARD"),), rate=12400, busy=0.12, pressed=0.55,
               call_site="orders.py:27"),
    FakeVertex(_id(4), "enrich with customer (KeyedCoProcess)", 1,
               inputs=((_id(3), "HASH"), (_id(2), "HASH")), rate=12100, busy=0.31, pressed=0.61,
               call_site="orders.py:41"),
    FakeVertex(_id(5), "score fraud: ask the model, 200 features, one call per order", 2,
               inputs=((_id(4), "REBALANCE"),), rate=11900, busy=0.98, call_site="orders.py:58"),
    FakeVertex(_id(6), "TumblingEventTimeWindows(1 min): revenue by shop", 2,
               inputs=((_id(4), "HASH"),), rate=11900, busy=0.41, call_site="orders.py:63"),
    FakeVertex(_id(7), "Sink: alerts (Kafka)", 3, "sink", inputs=((_id(5), "HASH"),), rate=42,
               busy=0.03, call_site="orders.py:71"),
    FakeVertex(_id(8), "Sink: revenue (PostgreSQL)", 3, "sink",
               inputs=((_id(6), "REBALANCE"),), rate=96, busy=0.08, call_site="orders.py:74"),
)  # fmt: skip


@dataclass
class FakeJob:
    """One job."""

    id: str
    name: str
    state: str = "RUNNING"
    vertices: tuple[FakeVertex, ...] = ORDERS
    parallelism: int = 4
    started: int = field(default_factory=lambda: now_ms() - 7_380_000)
    ended: int | None = None
    restarts: int = 0
    queue_position: int | None = None
    waits_for: str | None = None
    failures: list[dict[str, Any]] = field(default_factory=list)
    savepoints: int = 0
    # answers with what Flink itself would say, and nothing more
    plain: bool = False

    # --- what happens to it ------------------------------------------------------------------

    def end(self, state: str) -> None:
        self.state, self.ended = state, now_ms()

    def take_savepoint(self, folder: str) -> str:
        self.savepoints += 1
        return f"{folder}/savepoint-{self.id[:6]}-{self.savepoints:012x}"

    # --- lists and detail --------------------------------------------------------------------

    @property
    def _seconds(self) -> float:
        return ((self.ended or now_ms()) - self.started) / 1000

    def _status(self) -> str:
        return {"RESTARTING": "SCHEDULED", "CREATED": "CREATED"}.get(self.state, self.state)

    def overview(self) -> dict[str, Any]:
        total = 0 if self.state == "CREATED" else len(self.vertices) * self.parallelism
        entry: dict[str, Any] = {
            "jid": self.id,
            "name": self.name,
            "state": self.state,
            "start-time": self.started,
            "end-time": -1 if self.ended is None else self.ended,
            "duration": int(self._seconds * 1000),
            "last-modification": now_ms(),
            "tasks": {"total": total, "running": total if self.state == "RUNNING" else 0},
            "parallelism": self.parallelism,
            "restarts": self.restarts,
        }
        if self.queue_position is not None:
            entry["queue-position"] = self.queue_position
        if self.waits_for is not None:
            entry |= {"waits-for": self.waits_for, "waits-since": now_ms() - 95_000}
        return entry

    def detail(self) -> dict[str, Any]:
        shown = () if self.state == "CREATED" else self.vertices
        return {
            **self.overview(),
            "isStoppable": True,
            "now": now_ms(),
            "maxParallelism": 128,
            "mode": "micro-batch",
            "program": "orders.py",
            "checkpoint": "/data/checkpoints/orders",
            "vertices": [self._vertex(vertex) for vertex in shown],
            "plan": {
                "jid": self.id,
                "name": self.name,
                "type": "STREAMING",
                "nodes": [self._node(vertex) for vertex in shown],
            },
        }

    def _node(self, vertex: FakeVertex) -> dict[str, Any]:
        return {
            "id": vertex.id,
            "parallelism": self.parallelism,
            "description": vertex.name,
            "optimizer_properties": {}
            if self.plain
            else {
                "level": vertex.level,
                "runs": vertex.runs,
                "kind": vertex.kind,
                "call_site": vertex.call_site,
            },
            "inputs": [
                {"num": number, "id": source, "ship_strategy": strategy, "exchange": "pipelined"}
                for number, (source, strategy) in enumerate(vertex.inputs)
            ],
        }

    def _vertex(self, vertex: FakeVertex) -> dict[str, Any]:
        records = [self._records(vertex, subtask) for subtask in range(self.parallelism)]
        return {
            "id": vertex.id,
            "name": vertex.name,
            "parallelism": self.parallelism,
            "maxParallelism": 128,
            "status": self._status(),
            "start-time": self.started,
            "end-time": -1,
            "duration": int(self._seconds * 1000),
            "tasks": {},
            "metrics": _io_metrics(sum(records), vertex),
        }

    def _records(self, vertex: FakeVertex, subtask: int) -> int:
        return int(vertex.rate * self._seconds * self._share(vertex, subtask))

    def _share(self, vertex: FakeVertex, subtask: int) -> float:
        """Subtask 2 of steps behind a hash exchange has most of the records."""
        hashed = any(strategy == "HASH" for _, strategy in vertex.inputs)
        if not hashed or self.parallelism < 3:
            return 1 / self.parallelism
        return 0.62 if subtask == 2 else 0.38 / (self.parallelism - 1)

    def _find(self, vertex_id: str) -> FakeVertex:
        return next(vertex for vertex in self.vertices if vertex.id == vertex_id)

    def vertex_detail(self, vertex_id: str) -> dict[str, Any]:
        vertex = self._find(vertex_id)
        subtasks = [
            {
                "subtask": number,
                "status": self._status(),
                "attempt": self.restarts,
                "endpoint": f"executor-{1 + number % 2}:42010",
                "start-time": self.started,
                "end-time": -1,
                "duration": int(self._seconds * 1000),
                "taskmanager-id": f"executor-{1 + number % 2}",
                "metrics": _io_metrics(self._records(vertex, number), vertex),
            }
            for number in range(self.parallelism)
        ]
        named = {"id": vertex.id, "name": vertex.name, "parallelism": self.parallelism}
        return {**named, "maxParallelism": 128, "now": now_ms(), "subtasks": subtasks}

    # --- load --------------------------------------------------------------------------------

    def _wave(self, vertex: FakeVertex, at_s: float | None = None) -> float:
        """Between 0.9 and 1.1: figures that live."""
        seconds = self._seconds if at_s is None else at_s
        return 1 + 0.1 * math.sin(seconds / 9 + vertex.level)

    def back_pressure(self, vertex_id: str) -> dict[str, Any]:
        vertex = self._find(vertex_id)
        level = "high" if vertex.pressed > 0.5 else "low" if vertex.pressed > 0.1 else "ok"
        subtasks = []
        for number in range(self.parallelism):
            busy = min(1.0, vertex.busy * (1.25 if number == 2 else 0.92))
            ratio = min(vertex.pressed, 1 - busy)
            subtasks.append({
                "subtask": number, "attempt-number": 0, "backpressureLevel": level,
                "ratio": ratio, "busyRatio": busy, "idleRatio": max(0.0, 1 - busy - ratio),
            })  # fmt: skip
        return {
            "status": "ok",
            "backpressureLevel": level,
            "end-timestamp": now_ms(),
            "subtasks": subtasks,
        }

    def watermarks(self, vertex_id: str) -> list[dict[str, str]]:
        mark = self._watermark(self._find(vertex_id))
        return [
            {"id": f"{number}.currentInputWatermark", "value": str(mark - 150 * number)}
            for number in range(self.parallelism)
        ]

    def _watermark(self, vertex: FakeVertex) -> int:
        if vertex.kind == "source" and vertex.rate < 1000:
            return -(1 << 63)
        return now_ms() - 2100 - 1800 * vertex.level

    def _metric(self, vertex: FakeVertex, name: str, at_s: float | None = None) -> dict[str, float]:
        wave = self._wave(vertex, at_s)
        lag = 184_000 if vertex.kind == "source" and vertex.rate > 1000 else 0
        one = {
            "numRecordsInPerSecond": vertex.rate * wave if vertex.kind != "source" else 0,
            "numRecordsOutPerSecond": vertex.rate * wave if vertex.kind != "sink" else 0,
            "busyTimeMsPerSecond": min(1000, vertex.busy * wave * 1000),
            "backPressuredTimeMsPerSecond": vertex.pressed * 1000,
            "idleTimeMsPerSecond": max(0, 1000 - (vertex.busy * wave + vertex.pressed) * 1000),
            "pendingRecords": lag,
            "numLateRecordsDropped": 12 + self._seconds / 60,
            "enrich.cacheHits": self._seconds * 31,
        }[name]
        summed = name.endswith(("Dropped", "Records", "Hits")) or name.startswith("num")
        mean = one / self.parallelism if summed else one
        high = mean * self._share(vertex, 2) * self.parallelism if not summed else mean
        return {"sum": mean * self.parallelism, "avg": mean, "max": min(1000.0, high), "min": mean}

    def vertex_metrics(self, vertex_id: str, names: list[str] | None) -> list[dict[str, Any]]:
        vertex = self._find(vertex_id)
        known = [*_VERTEX_METRICS, "numLateRecordsDropped", "enrich.cacheHits"]
        if names is None:
            return [{"id": name} for name in known]
        found: list[dict[str, Any]] = []
        for name in names:
            if name == "currentInputWatermark":
                mark = float(self._watermark(vertex))
                found.append({"id": name, "min": mark, "max": mark, "avg": mark, "sum": mark})
            elif name in known and (name != "pendingRecords" or vertex.kind == "source"):
                found.append({"id": name, **self._metric(vertex, name)})
        return found

    def job_metrics(self, names: list[str] | None) -> list[dict[str, str]]:
        values = {
            "numRestarts": str(self.restarts),
            "lastCheckpointDuration": str(int(840 * self._wave(self.vertices[0]))),
            "lastCheckpointSize": "73400320",
            "uptime": str(int(self._seconds * 1000)),
        }
        if names is None:
            return [{"id": name} for name in values]
        return [{"id": name, "value": values[name]} for name in names if name in values]

    def metric_history(self, names: list[str]) -> dict[str, Any]:
        end, series = now_ms(), []
        for wanted in names:
            vertex_id, _, name = wanted.partition(".")
            points = []
            for step in range(120, 0, -1):
                at = end - step * 5000
                if vertex_id == "job":
                    scale = 90_000 if name.endswith("FullSize") else 9_000 if "Size" in name else 1
                    value = float(800 + 40 * math.sin(step / 7)) * scale
                elif name == "currentInputWatermark":
                    value = at - 2100.0 - 1800 * self._find(vertex_id).level - 400 * (step % 11)
                else:
                    vertex = self._find(vertex_id)
                    value = self._metric(vertex, name, at / 1000)["sum"]
                    value /= self.parallelism if "Time" in name else 1
                points.append([at, value])
            series.append({"id": wanted, "points": points})
        return {"series": series}

    def diagnosis(self) -> dict[str, Any]:
        if self.state != "RUNNING":
            return {"slow": None, "skews": [], "lags": []}
        slow = max(self.vertices, key=lambda vertex: vertex.busy)
        skewed = [vertex for vertex in self.vertices if self._share(vertex, 2) > 0.5]
        return {
            "slow": {
                "vertex": slow.id, "uid": "score", "name": slow.name.split(":")[0],
                "where": slow.call_site, "busy": slow.busy, "vertex_busy": slow.busy,
                "reason": "at work 98 % of the time, while those in front of it wait 61 % of it",
            } if slow.busy > 0.8 else None,
            "skews": [
                {"vertex": vertex.id, "name": vertex.name, "what": "records", "subtask": 2,
                 "most": 1, "mean": 1.0, "ratio": 0.62 * self.parallelism}
                for vertex in skewed[:1]
            ],
            "lags": [
                {"vertex": vertex.id, "uid": "orders", "name": vertex.name.split(" ->")[0],
                 "pending_records": 184_000, "records_lag_max": 96_000, "seconds": 14.8}
                for vertex in self.vertices[:1]
            ],
            "epochs": {
                "count": 5, "interval_ms": 10_000, "duration_ms": 134_000, "ratio": 4.2,
                "fix": "raise the parallelism or make the slow step faster; lower "
                "source.max-records-per-batch for shorter batches",
            },
        }  # fmt: skip

    # --- checkpoints -------------------------------------------------------------------------

    def _checkpoint(self, number: int) -> dict[str, Any]:
        triggered = self.started + number * 10_000
        took = int(700 + 260 * math.sin(number / 6) + (1900 if number % 37 == 0 else 0))
        state = 60_000_000 + number * 31_000
        failed = number % 53 == 0
        return {
            "id": number,
            "status": "FAILED" if failed else "COMPLETED",
            "is_savepoint": number % 40 == 0,
            "checkpoint_type": "SAVEPOINT" if number % 40 == 0 else "CHECKPOINT",
            "trigger_timestamp": triggered,
            "latest_ack_timestamp": triggered + took,
            "end_to_end_duration": took,
            "checkpointed_size": int(state * (0.11 + 0.03 * math.sin(number / 4))),
            "state_size": state,
            "processed_data": 0,
            "persisted_data": 0,
            "alignment_buffered": 0,
            "num_subtasks": len(self.vertices) * self.parallelism,
            "num_acknowledged_subtasks": len(self.vertices) * self.parallelism,
            "tasks": {},
        }

    def checkpoints(self) -> dict[str, Any]:
        newest = max(0, int(self._seconds / 10))
        history = [self._checkpoint(number) for number in range(newest, max(0, newest - 60), -1)]
        durations = sorted(one["end_to_end_duration"] for one in history) or [0]
        sizes = sorted(one["state_size"] for one in history) or [0]
        failed = sum(1 for number in range(1, newest + 1) if number % 53 == 0)
        counts = {"restored": self.restarts, "total": newest, "in_progress": 0}
        done = {"completed": newest - failed, "failed": failed}
        return {
            "counts": {**counts, **done},
            "summary": {
                "end_to_end_duration": _statistics(durations),
                "state_size": _statistics(sizes),
                "checkpointed_size": _statistics(sizes),
            },
            "latest": {"completed": history[0] if history else None, "savepoint": None,
                       "failed": None, "restored": None},
            "history": history,
        }  # fmt: skip

    def checkpoint(self, number: int) -> dict[str, Any]:
        found = self._checkpoint(number)
        tasks = {
            vertex.id: {
                "id": number, "status": "COMPLETED",
                "end_to_end_duration": found["end_to_end_duration"] // 2,
                "checkpointed_size": found["checkpointed_size"] // len(self.vertices),
                "state_size": found["state_size"] // len(self.vertices),
                "num_subtasks": self.parallelism, "num_acknowledged_subtasks": self.parallelism,
            }
            for vertex in self.vertices
        }  # fmt: skip
        stored = {"external_path": f"/data/checkpoints/orders/{number}", "tasks": tasks}
        return {**found, **stored}

    def checkpoint_config(self) -> dict[str, Any]:
        return {
            "mode": "EXACTLY_ONCE",
            "interval": 10_000,
            "timeout": 600_000,
            "state_backend": "RocksDB",
            "checkpoint_storage": "FileSystem",
            "externalization": {"enabled": True, "delete_on_cancellation": False},
        }

    # --- the rest ----------------------------------------------------------------------------

    def exceptions(self) -> dict[str, Any]:
        return {"exceptionHistory": {"entries": self.failures, "truncated": False}}

    def options(self) -> list[dict[str, str]]:
        options = {
            "execution.checkpointing.dir": "/data/checkpoints/orders",
            "execution.checkpointing.interval": "10 s",
            "parallelism.default": str(self.parallelism),
            "connector.kafka.sasl.password": "******",
        }
        return [{"key": key, "value": value} for key, value in options.items()]

    def configuration(self) -> dict[str, Any]:
        return {
            "jid": self.id,
            "name": self.name,
            "execution-config": {
                "execution-mode": "STREAMING",
                "restart-strategy": "exponential delay, from 1 s to 1 min",
                "job-parallelism": self.parallelism,
                "object-reuse-mode": False,
                "user-config": {"topic": "orders"},
            },
        }

    def accumulators(self) -> dict[str, Any]:
        mine = [{"name": "bad-lines", "type": "IntCounter", "value": "17"}]
        return {"job-accumulators": [], "user-task-accumulators": mine}


_VERTEX_METRICS = [
    "numRecordsInPerSecond",
    "numRecordsOutPerSecond",
    "busyTimeMsPerSecond",
    "idleTimeMsPerSecond",
    "backPressuredTimeMsPerSecond",
    "currentInputWatermark",
    "pendingRecords",
]


def _io_metrics(records: int, vertex: FakeVertex) -> dict[str, Any]:
    reads = 0 if vertex.kind == "source" else records
    writes = 0 if vertex.kind == "sink" else records
    return {
        "read-records": reads,
        "read-bytes": reads * 212,
        "write-records": writes,
        "write-bytes": writes * 184,
    }


def _statistics(values: list[int]) -> dict[str, float]:
    def at(share: float) -> int:
        return values[min(len(values) - 1, int(share * len(values)))]

    mean = sum(values) // len(values)
    ends = {"min": values[0], "max": values[-1], "avg": mean}
    return {**ends, "p50": at(0.5), "p90": at(0.9), "p95": at(0.95), "p99": at(0.99)}


def failure(**changed: Any) -> dict[str, Any]:
    """A failure in a user's function, with headrace's own fields beside Flink's."""
    return {
        "exceptionName": "builtins.ZeroDivisionError",
        "timestamp": now_ms() - 95_000,
        "taskName": "score fraud (3/4)",
        "endpoint": "executor-2:42010",
        "message": "division by zero",
        "condition": "USER_FUNCTION",
        "where": "orders.py:58 .map(score, uid='score')",
        "code": "return order.total / order.items",
        "raised-at": "orders.py:34 in score",
        "fix": "the function raised for the record (order 991, total 12.5, items 0)",
        "stacktrace": "Traceback (most recent call last):\n"
        '  File "/apps/orders.py", line 34, in score\n'
        "    return order.total / order.items\n"
        "           ~~~~~~~~~~~~^~~~~~~~~~~~~\n"
        "ZeroDivisionError: division by zero",
        **changed,
    }


def standard_jobs() -> list[FakeJob]:
    """A cluster on an ordinary day."""
    now = now_ms()
    day = 86_400_000
    return [
        FakeJob("1" * 32, "orders: enrich, score and aggregate"),
        FakeJob("2" * 32, "sessions of the web shop", parallelism=2, started=now - day * 3),
        FakeJob("3" * 32, "fraud alerts", state="RESTARTING", restarts=3, failures=[failure()],
                started=now - 640_000),
        FakeJob("4" * 32, "nightly billing", state="CREATED", queue_position=1,
                started=now - 61_000),
        FakeJob("5" * 32, "stock levels, replayed from March", state="CREATED", queue_position=2,
                started=now - 12_000),
        FakeJob("6" * 32, "click streams to Parquet", state="FINISHED", started=now - day,
                ended=now - day + 4_300_000),
        FakeJob("7" * 32, "ad campaigns", state="CANCELED", started=now - 2 * day,
                ended=now - day),
        FakeJob("8" * 32, "currency rates", state="FAILED", started=now - 9_000_000,
                ended=now - 8_700_000, failures=[failure(), failure(code=None, fix=None)]),
    ]  # fmt: skip


def many_jobs(count: int) -> list[FakeJob]:
    now = now_ms()
    return [
        FakeJob(f"{number:032x}", f"backfill {number:03d}", state="FINISHED",
                started=now - (number + 2) * 600_000, ended=now - (number + 1) * 600_000)
        for number in range(count)
    ]  # fmt: skip
