"""What looking at jobs costs: a dispatcher beside the job `state`, asked by 100 clients a second.

Variant `alone`: the job by itself.  Variant `polled`: a dispatcher in a process of its own shows
it, and each of 100 clients asks once a second for an overview, the job, a vertex's back pressure,
checkpoints or metrics.  Variant `history`: no job; the dispatcher knows 200 ended and 5 running
ones, and one client asks for their overview.

The bars: p99 of the answers below 100 ms, `polled` at least 0.95 of `alone`; the dispatcher below
300 MB, an overview below 50 ms.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

os.environ["PYSPARK_PYTHON"] = sys.executable

from headrace_keyed import build, events_of
from measure import arguments, measure_query, report, rss_mb, spark_session

from headrace.connectors.discarding import DiscardingSink
from headrace.datastream import StreamExecutionEnvironment
from headrace.io.processes import this_process

if TYPE_CHECKING:
    from collections.abc import Iterator

CLIENTS = 100
ENDED, RUNNING = 200, 5


@contextlib.contextmanager
def dispatcher(home: Path) -> Iterator[tuple[str, int]]:
    """A dispatcher over the jobs of a home: its host and port, and its process."""
    process = subprocess.Popen(
        [sys.executable, "-m", "headrace.cli", "cluster", "start", "--port", "0", "--json"],
        env={**os.environ, "HEADRACE_HOME": str(home)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert process.stdout is not None
        text = ""
        while not text.rstrip().endswith("}"):
            line = process.stdout.readline()
            if not line:
                raise SystemExit("the dispatcher did not start")
            text += line
        address = json.loads(text)["address"]
        yield address.partition("://")[2].rstrip("/"), process.pid
    finally:
        process.terminate()
        process.wait(30)


class Clients:
    """Clients in a process of their own, so that asking costs the job's driver nothing."""

    def __init__(self, address: str, count: int) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__, "--clients", address, str(count)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def stop(self) -> list[float]:
        """How long every answer took, in milliseconds."""
        told, _ = self._process.communicate("stop\n", timeout=60)
        times: list[float] = json.loads(told)
        return times


def be_clients(address: str, count: int) -> None:
    """Ask once a second each, until somebody says stop."""
    times: list[float] = []
    over = threading.Event()
    threads = [
        threading.Thread(target=be_client, args=(address, number / count, over, times), daemon=True)
        for number in range(count)
    ]
    for thread in threads:
        thread.start()
    sys.stdin.readline()
    over.set()
    for thread in threads:
        thread.join(5)
    print(json.dumps([round(took, 2) for took in times]), flush=True)


def be_client(address: str, first_s: float, over: threading.Event, times: list[float]) -> None:
    connection = http.client.HTTPConnection(address, timeout=30)
    asked = 0
    paths = ["/jobs/overview"]
    over.wait(first_s)
    while not over.is_set():
        path = paths[asked % len(paths)]
        began = time.perf_counter()
        connection.request("GET", path)
        answer = connection.getresponse()
        content = answer.read()
        times.append((time.perf_counter() - began) * 1000)
        if answer.status != 200:
            raise SystemExit(f"{path}: {answer.status} {content[:200]!r}")
        if len(paths) == 1:
            paths = more_paths(json.loads(content)) or paths
        asked += 1
        over.wait(max(0.0, 1.0 - (time.perf_counter() - began)))


def more_paths(overview: dict[str, list[dict[str, str]]]) -> list[str]:
    """What a dashboard asks for, once there is a running job."""
    running = [job["jid"] for job in overview["jobs"] if job["state"] == "RUNNING"]
    if not running:
        return []
    job = f"/jobs/{running[0]}"
    return ["/jobs/overview", job, f"{job}/checkpoints", f"{job}/metrics", f"{job}/exceptions"]


def percentile(times: list[float], share: float) -> float:
    return sorted(times)[int(share * (len(times) - 1))] if times else 0.0


def latencies(times: list[float]) -> list[float]:
    """p50, p99, p99.9, the largest."""
    return [percentile(times, share) for share in (0.5, 0.99, 0.999, 1.0)]


# --- the job -------------------------------------------------------------------------------------


def run_job(variant: str) -> None:
    options = arguments()
    home = options.scratch / "home"
    os.environ["HEADRACE_HOME"] = str(home)
    spark = spark_session(options.scratch)
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    build("state", events_of(env, options.data)).sink_to(DiscardingSink())
    if variant == "alone":
        measure_query(options, lambda: env.execute("control"), system="headrace_alone")
        spark.stop()
        return
    with dispatcher(home) as (address, pid):
        clients = Clients(address, CLIENTS)
        measure_query(
            options,
            lambda: env.execute("control"),
            system="headrace_polled",
            note=lambda: told(clients.stop(), rss_mb(pid)),
        )
    spark.stop()


def told(times: list[float], memory_mb: float) -> str:
    """What the clients saw."""
    p50, p99, _, most = latencies(times)
    return (
        f"{len(times):,} answers, p50 {p50:.1f} ms, p99 {p99:.1f} ms, the slowest {most:.1f} ms; "
        f"the dispatcher has {memory_mb:.0f} MB"
    )


# --- many jobs -----------------------------------------------------------------------------------


def fill(home: Path) -> None:
    """Records and histories of many jobs, as drivers would have left them."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
    from job_files import run_three_stages

    views, job_id = run_three_stages(home / "seed", records=500, sleep_s=0.0)
    jobs, source = home / "jobs", views.registry.folder
    jobs.mkdir(parents=True)
    seed = json.loads((source / f"{job_id}.json").read_text())
    me = this_process()
    for number in range(ENDED + RUNNING):
        name = f"{number:032x}"
        runs = number < RUNNING
        record = seed | {"job_id": name, "name": f"job {number}", "started": 1_000 + number}
        if runs:
            record |= {"state": "RUNNING", "ended": None, "pid": me.pid, "born": me.born}
        (jobs / f"{name}.json").write_text(json.dumps(record))
        shutil.copytree(source / f"{job_id}.history", jobs / f"{name}.history")


def look_at_many() -> None:
    options = arguments()
    home = options.scratch / "home"
    fill(home)
    with dispatcher(home) as (address, pid):
        connection = http.client.HTTPConnection(address, timeout=30)
        times = []
        for _ in range(200):
            began = time.perf_counter()
            connection.request("GET", "/jobs/overview")
            jobs = json.loads(connection.getresponse().read())["jobs"]
            times.append((time.perf_counter() - began) * 1000)
            time.sleep(0.01)  # so that no two of them share an answer that is kept for a moment
        assert len(jobs) == ENDED + RUNNING, len(jobs)
        for job in jobs:  # all details of all jobs, once
            for path in ("", "/checkpoints", "/exceptions", "/config"):
                connection.request("GET", f"/jobs/{job['jid']}{path}")
                connection.getresponse().read()
        memory = rss_mb(pid)
    p50, p99, _, most = latencies(times)
    report(
        system="headrace_history",
        job=options.job,
        events=len(times),
        seconds=round(sum(times) / 1000, 3),
        events_per_s=round(1000 * len(times) / sum(times)),
        worker_rss_mb=[round(memory)],
        note=f"overview of {len(jobs)} jobs: p50 {p50:.1f} ms, p99 {p99:.1f} ms, the slowest "
        f"{most:.1f} ms; {memory:.0f} MB after a look at all",
    )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--clients"]:
        be_clients(sys.argv[2], int(sys.argv[3]))
    elif arguments().variant == "history":
        look_at_many()
    else:
        run_job(arguments().variant)
