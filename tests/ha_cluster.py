"""Several dispatchers as real processes, with jobs whose answers show what was lost or repeated."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.client import RestClient
from headrace.errors import HeadraceError
from patience import PATIENCE_S, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from headrace.control.registry import JobRecord

# Bars of the issue: a standby leads, and all jobs run again.
LEADS_S, RUNS_S = 15.0, 60.0
_KEYS = 7

# Every number adds to the sum of its key, and every sum is written: one number that is lost or
# counted twice changes all later sums of its key.
PROGRAM = """
import sys

from headrace.common import Types, WatermarkStrategy
from headrace.common.serialization import Encoder
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from headrace.datastream.connectors.file_system import FileSink

out, until, rate = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
PAIR = Types.TUPLE([Types.LONG(), Types.LONG()])
env = StreamExecutionEnvironment.get_execution_environment()
env.enable_checkpointing(500)
numbers = env.from_source(
    DataGeneratorSource(lambda n: n, until, RateLimiterStrategy.per_second(rate), Types.LONG()),
    WatermarkStrategy.no_watermarks(),
    "numbers",
)
pairs = numbers.map(lambda n: (n % 7, n), PAIR).key_by(lambda pair: pair[0], Types.LONG())
sums = pairs.reduce(lambda a, b: (a[0], a[1] + b[1])).uid("sum")
lines = sums.map(lambda pair: f"{pair[0]} {pair[1]}", Types.STRING())
lines.sink_to(FileSink.for_row_format(out, Encoder.simple_string_encoder()).build()).uid("out")
env.execute()
"""


# The same with counts in place of sums, which do not depend on the order of the numbers: for jobs
# whose parallelism changes.
COUNTING_PROGRAM = PROGRAM.replace("(n % 7, n)", "(n % 7, 1)")
ENDLESS = ("1000000000", "50")


def check_counts(folder: Path) -> None:
    """Every key was counted from one without a gap, and without a repetition."""
    by_key: dict[str, list[int]] = defaultdict(list)
    for line, times in written_lines(folder).items():
        key, _, count = line.partition(" ")
        by_key[key] += [int(count)] * times
    assert len(by_key) == _KEYS
    for key, counts in by_key.items():
        assert sorted(counts) == list(range(1, len(counts) + 1)), f"key {key}: {sorted(counts)}"


def right_lines(until: int) -> Counter[str]:
    """What the program writes if nothing is lost and nothing is repeated."""
    sums, lines = [0] * _KEYS, Counter[str]()
    for number in range(until):
        sums[number % _KEYS] += number
        lines[f"{number % _KEYS} {sums[number % _KEYS]}"] += 1
    return lines


def written_lines(folder: Path) -> Counter[str]:
    """What it has published."""
    files = [f for f in folder.rglob("*") if f.is_file() and not _is_hidden(f, folder)]
    return Counter(line for file in files for line in file.read_text().splitlines())


def _is_hidden(file: Path, folder: Path) -> bool:
    return any(part.startswith((".", "_")) for part in file.relative_to(folder).parts)


def took(what: Callable[[], bool], bar_s: float, why: str) -> float:
    """How long it took until it was so; no longer than the bar allows."""
    began = time.monotonic()
    while not what():
        assert time.monotonic() - began < bar_s, f"it takes too long: {why}"
        time.sleep(0.05)
    return time.monotonic() - began


class DispatcherProcess:
    """`headrace cluster start` as a process that can be killed and suspended."""

    def __init__(self, folder: Path, name: str, options: dict[str, str]) -> None:
        """Starts it."""
        self.log = folder / f"{name}.log"
        defined = [word for key, value in options.items() for word in ("-D", f"{key}={value}")]
        command = [sys.executable, "-m", "headrace.cli", "cluster", "start", "--port", "0"]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [*command, "--json", *defined],
                stdout=subprocess.PIPE,
                stderr=log,
                env={**os.environ, "HEADRACE_HOME": str(folder / "home")},
                cwd=folder,
            )
        assert self.process.stdout is not None
        text = ""
        for line in self.process.stdout:
            text += line.decode()
            if line == b"}\n":
                break
        assert text, self.log.read_text()
        self.address: str = json.loads(text)["address"]
        self.client = RestClient((self.address,))

    def leads(self) -> bool:
        """Whether it says that it leads."""
        try:
            return bool(self.client.dispatcher()["leads"])
        except HeadraceError:
            return False

    def send(self, sign: signal.Signals) -> None:
        """Kill, suspend or wake it."""
        self.process.send_signal(sign)

    def end(self) -> None:
        """The end of a test."""
        self.send(signal.SIGCONT)
        self.process.terminate()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Cluster:
    """Dispatchers that share a folder, and jobs.

    Attributes:
        slack: by how much the bars are wider; for machines that are busy with something else.
    """

    def __init__(
        self, folder: Path, options: dict[str, str], dispatchers: int = 2, slack: float = 1.0
    ) -> None:
        """Starts the dispatchers."""
        self.folder = folder
        self.slack = slack
        self.jobs: dict[str, int] = {}
        self.dispatchers: list[DispatcherProcess] = []
        options = {"high-availability.storageDir": str(folder / "shared"), **options}
        for number in range(dispatchers):
            self.dispatchers.append(DispatcherProcess(folder, f"dispatcher-{number}", options))
        self.client = RestClient(tuple(d.address for d in self.dispatchers))
        wait_until(lambda: any(d.leads() for d in self.dispatchers), "nobody leads")

    @property
    def leader(self) -> DispatcherProcess:
        """The one that leads."""
        return next(d for d in self.dispatchers if d.leads())

    def submit(self, count: int, until: int, rate: float) -> None:
        """Start jobs."""
        program = self.folder / "sums.py"
        program.write_text(PROGRAM)
        for number in range(count):
            out = str(self.folder / f"out-{number}")
            settings = {"pipeline.name": f"sums-{number}", "parallelism.default": "1"}
            job_id = self.client.run(str(program), [out, str(until), str(rate)], settings)
            self.jobs[job_id] = number

    def records(self) -> list[JobRecord]:
        """The jobs, as the cluster tells."""
        return [self.client.find(job_id) for job_id in self.jobs]

    def all_are(self, *states: str, batches: int = 0) -> bool:
        """Whether all jobs are in one of these states, and have committed so many batches."""
        try:
            records = self.records()
        except HeadraceError:
            return False
        assert not [r for r in records if r.state == "FAILED" and "FAILED" not in states], [
            r.error for r in records
        ]
        return all(record.state in states and record.batches >= batches for record in records)

    def check_answers(self, until: int, work_s: float = 0.0) -> None:
        """Nothing is lost, and nothing is there twice; jobs may have as much work before them."""
        patience_s = PATIENCE_S * self.slack + work_s
        took(lambda: self.all_are("FINISHED"), patience_s, "jobs do not end")
        right = right_lines(until)
        for number in self.jobs.values():
            written = written_lines(self.folder / f"out-{number}")
            assert not written - right, f"twice or wrong: {list((written - right).items())[:5]}"
            assert not right - written, f"lost: {list((right - written).items())[:5]}"

    def end(self) -> None:
        """The end of a test: no process is left."""
        for dispatcher in self.dispatchers:
            dispatcher.end()
        for record in self._left():
            for pid in _session(record.pid):
                os.kill(pid, signal.SIGKILL)

    def _left(self) -> list[JobRecord]:
        from headrace.control.registry import JobRegistry

        folder = self.folder / "shared" / "default" / "jobs"
        return [record for record in JobRegistry(folder).all() if record.is_running]


def _session(pid: int) -> list[int]:
    found = subprocess.run(["ps", "-o", "pid=", "-s", str(pid)], capture_output=True, text=True)
    return [int(word) for word in found.stdout.split()]


# --- faults --------------------------------------------------------------------------------------


def kill_leader(cluster: Cluster, *, drivers: int = 0) -> None:
    """`kill -9` for the leader, and for some drivers as well, as if their machine had died."""
    fault = _strike(cluster, signal.SIGKILL, drivers, os.killpg)
    left = RUNS_S * cluster.slack - (time.monotonic() - fault.began)
    took(lambda: cluster.all_are("RUNNING", "FINISHED"), left, "jobs do not run again")


def pause_leader(cluster: Cluster, seconds: float, *, drivers: int = 0) -> None:
    """SIGSTOP for the leader and some drivers; the rest goes on without them."""
    fault = _strike(cluster, signal.SIGSTOP, drivers, os.kill)
    old, new = fault.old, fault.new
    time.sleep(max(0.0, seconds - (time.monotonic() - fault.began)))
    old.send(signal.SIGCONT)
    for pid in fault.pids:
        if pid in _session(pid):
            os.kill(pid, signal.SIGCONT)
    took(lambda: not old.leads() and new.leads(), LEADS_S, "two leaders")
    patience_s = RUNS_S * cluster.slack
    took(lambda: cluster.all_are("RUNNING", "FINISHED"), patience_s, "jobs do not run again")


@dataclass(frozen=True)
class _Fault:
    """The leader before and after it, the drivers that were hit, and when."""

    old: DispatcherProcess
    new: DispatcherProcess
    pids: list[int]
    began: float


def _strike(
    cluster: Cluster, sign: signal.Signals, drivers: int, hit: Callable[[int, int], None]
) -> _Fault:
    """Hit the leader and some drivers, and wait until a standby has taken over."""
    standby = next(d for d in cluster.dispatchers if not d.leads())
    leader = cluster.leader
    pids = [record.pid for record in cluster.records()][:drivers]
    leader.send(sign)
    for pid in pids:
        hit(pid, sign)
    began = time.monotonic()
    taken_s = took(standby.leads, LEADS_S * cluster.slack, "no standby leads")
    print(f"a standby leads after {taken_s:.1f} s")
    cluster.client = RestClient((standby.address,))
    return _Fault(leader, standby, pids, began)
