"""bytewax with two processes: each reads half of the files, keys are exchanged over loopback.

Run as a script it starts `bytewax.run` twice; the processes import this file again for the flow.
Keys are strings, because bytewax takes no others; `stateful_map` emits for every event.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import bytewax.operators as op
import pyarrow.parquet as pq
from bytewax.dataflow import Dataflow
from bytewax.inputs import DynamicSource, StatelessSourcePartition
from bytewax.outputs import DynamicSink, StatelessSinkPartition
from measure import Stopwatch, arguments, report

if TYPE_CHECKING:
    from collections.abc import Iterator

PROCESSES = 2
ITEMS_PER_CALL = 10_000


class Files(DynamicSource[Any]):
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def build(self, step_id: str, worker_index: int, worker_count: int) -> FilesPartition:
        return FilesPartition(sorted(self.folder.glob("*.parquet"))[worker_index::worker_count])


class FilesPartition(StatelessSourcePartition[Any]):
    def __init__(self, files: list[Path]) -> None:
        self.batches = self.read(files)

    def read(self, files: list[Path]) -> Iterator[list[tuple[str, float]]]:
        for file in files:
            for batch in pq.ParquetFile(file).iter_batches(
                ITEMS_PER_CALL, columns=["key", "value"]
            ):
                keys, values = (column.to_numpy().tolist() for column in batch.columns)
                yield list(zip(map(str, keys), values, strict=True))

    def next_batch(self) -> list[tuple[str, float]]:
        return next(self.batches)


class Count(DynamicSink[Any]):
    """Drops the results and notes how fast they came."""

    def build(self, step_id: str, worker_index: int, worker_count: int) -> CountPartition:
        return CountPartition(worker_index)


class CountPartition(StatelessSinkPartition[Any]):
    def __init__(self, index: int) -> None:
        self.file = Path(os.environ["BENCH_SCRATCH"]) / f"bytewax-{index}.json"
        self.done = 0
        self.clock = Stopwatch(int(os.environ["BENCH_WARMUP"]) // PROCESSES)

    def write_batch(self, items: list[Any]) -> None:
        self.done += len(items)
        self.clock.passed(self.done)

    def close(self) -> None:
        self.file.write_text(json.dumps({"events": self.done, **self.clock.result(self.done)}))


def reduce_event(total: float | None, value: float) -> tuple[float, float]:
    total = value if total is None else total + value
    return total, total


def state_event(
    state: tuple[int, float] | None, value: float
) -> tuple[tuple[int, float], tuple[int, float]]:
    count, total = state or (0, 0.0)
    state = count + 1, total + value
    return state, state


JOBS = {"reduce": reduce_event, "state": state_event}


def build_flow() -> Dataflow:
    flow = Dataflow("bench")
    events = op.input("read", flow, Files(Path(os.environ["BENCH_DATA"]) / "parquet"))
    results = op.stateful_map("keyed", events, JOBS[os.environ["BENCH_JOB"]])
    op.output("drop", results, Count())
    return flow


def free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def main() -> None:
    options = arguments()
    addresses = ";".join(f"127.0.0.1:{port}" for port in free_ports(PROCESSES))
    environ = {
        **os.environ,
        "PYTHONPATH": str(Path(__file__).parent),
        "BENCH_DATA": str(options.data),
        "BENCH_SCRATCH": str(options.scratch),
        "BENCH_WARMUP": str(options.warmup_events),
        "BENCH_JOB": options.job,
    }
    began = time.perf_counter()
    command = [sys.executable, "-m", "bytewax.run", "bytewax_keyed:build_flow()", "-a", addresses]
    running = [
        subprocess.Popen([*command, "-i", str(number)], env=environ) for number in range(PROCESSES)
    ]
    exit_codes = [process.wait() for process in running]
    if any(exit_codes):
        raise SystemExit("a bytewax process failed")
    seconds = time.perf_counter() - began
    parts = [json.loads(f.read_text()) for f in options.scratch.glob("bytewax-*.json")]
    report(
        system="bytewax",
        job=options.job,
        events=sum(part["events"] for part in parts),
        seconds=round(seconds, 3),
        events_per_s=sum(part["events_per_s"] for part in parts),
    )


if __name__ == "__main__":
    main()
