"""What can happen to a job, and in which order it does: the faults and their schedule.

In: a seed.  Out: faults, each with all that chance has to say about it; the same seed, the same
faults.  FAULTS is the table of what can be done.  Next: chaos/runner.py carries the schedule out
"""

from __future__ import annotations

import random
import signal
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from chaos.failing_sink import POINTS
from chaos.media import Kafka
from chaos.sql_media import SqlMedium
from standalone import Process, kill, kill_session, processes_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from chaos.job import Driver
    from chaos.media import Medium
    from standalone import Cluster

EXECUTOR = "CoarseGrainedExecutorBackend"
# of a cluster, and of a local Spark that headrace has started (hosts/spark/daemon.py)
PYTHON = ("pyspark.daemon", "headrace.hosts.spark.daemon")
STOP_PATIENCE_S = 120.0
BUSY_PATIENCE_S = 5.0  # for a batch to begin
FULL_PATIENCE_S = 30.0  # for a batch to end
# Faults of what some media have, and why others have them not.
OF_MEDIA = {
    "failing sink": "its sink is the connector's own",
    "broker": "needs Kafka",
    "database": "needs PostgreSQL",
    "connection": "needs PostgreSQL",
}


@dataclass(frozen=True)
class Fault:
    """One thing that will happen.

    Attributes:
        kind: a key of FAULTS.
        pause_s: quiet time before it.
        overlaps: whether it does not wait until the job has recovered from the one before.
        dice: a number in [0, 1) for every choice within the fault.
    """

    kind: str
    pause_s: float
    overlaps: bool
    dice: tuple[float, float, float]


def schedule(seed: int, kinds: tuple[str, ...]) -> Iterator[Fault]:
    """Faults without end; every kind comes once before any comes again."""
    chance = random.Random(f"{seed}/faults")
    while True:
        for kind in chance.sample(kinds, len(kinds)):
            yield Fault(
                kind,
                round(chance.uniform(0.5, 6.0), 2),
                chance.random() < 0.2,
                (chance.random(), chance.random(), chance.random()),
            )


class Monkey:
    """Does it."""

    def __init__(self, driver: Driver, cluster: Cluster | None, medium: Medium) -> None:
        self.driver = driver
        self.medium = medium
        self.cluster = cluster
        self._strikes = 0

    def kinds(self) -> tuple[str, ...]:
        """The faults that are possible here."""
        return tuple(kind for kind in FAULTS if not self.why_not(kind))

    def why_not(self, kind: str) -> str:
        """Why a fault is not possible; empty if it is."""
        if kind in ("executor", "worker") and self.cluster is None:
            return "needs a cluster"
        if kind in OF_MEDIA and kind not in self.medium.faults:
            return OF_MEDIA[kind]
        return self.driver.disk.why_not if kind == "full disk" else ""

    def strike(self, fault: Fault) -> str:
        """Let a fault happen; what exactly was done."""
        self._strikes += 1
        return FAULTS[fault.kind](self, fault.dice)

    # --- faults ------------------------------------------------------------------------------

    def kill_executor(self, dice: tuple[float, ...]) -> str:
        return self._kill_one([p for p in self._processes() if EXECUTOR in p.command], dice[0])

    def kill_python_worker(self, dice: tuple[float, ...]) -> str:
        """A busy worker, or (one time in five) the process that an executor forks them from."""
        daemons, workers = self._pythons()
        if dice[1] < 0.2:
            return self._kill_one(daemons, dice[0])
        deadline = time.monotonic() + BUSY_PATIENCE_S
        while not (busy := [p for p in workers if p.state == "R"]) and time.monotonic() < deadline:
            time.sleep(0.01)
            _, workers = self._pythons()
        return self._kill_one(busy or workers, dice[0]) + (", busy" if busy else "")

    def _pythons(self) -> tuple[list[Process], list[Process]]:
        """The daemons, and the workers that they forked."""
        pythons = [p for p in self._processes() if any(name in p.command for name in PYTHON)]
        pids = {p.pid for p in pythons}
        forked = [p for p in pythons if p.parent in pids]
        return [p for p in pythons if p.parent not in pids], forked

    def kill_worker(self, dice: tuple[float, ...]) -> str:
        """A worker alone, or with all of its processes as if its machine had died."""
        assert self.cluster is not None
        name = _choose(sorted(self.cluster.workers), dice[0])
        process = self.cluster.workers[name]
        if whole := dice[1] < 0.5:
            kill_session(process)
        else:
            kill(process.pid)
            process.wait(20)
        away_s = 1 + 4 * dice[2]
        time.sleep(away_s)
        kill_session(process)  # executors end with their worker, but not always at once
        self.cluster.start_worker(name)
        return f"{name}{' and its processes' if whole else ''}, away for {away_s:.1f} s"

    def kill_driver(self, dice: tuple[float, ...]) -> str:
        with_spark = dice[0] < 0.5
        self.driver.kill(with_spark=with_spark)
        self.driver.start()
        return "Python and JVM" if with_spark else "Python, the JVM left to itself"

    def stop_and_rescale(self, dice: tuple[float, ...]) -> str:
        driver = self.driver
        before = driver.parallelism
        if not driver.stop(drain=False, patience_s=STOP_PATIENCE_S):
            driver.start()
            return "no savepoint was taken; started again from the checkpoint"
        driver.rescale(_choose([p for p in (1, 2, 3, 4) if p != before], dice[0]))
        driver.start()
        return f"parallelism {before} to {driver.parallelism}"

    def break_sink(self, dice: tuple[float, ...]) -> str:
        point, after = _choose(POINTS, dice[0]), int(dice[1] * 6)
        self.driver.orders.give(f"{self._strikes:04d}", point, after)
        return str(point) + (f", after {after} changes" if point == "commit torn" else "")

    def fill_disk(self, dice: tuple[float, ...]) -> str:
        """Until a batch has failed of it, and a while longer."""
        driver = self.driver
        began, read = time.monotonic(), driver.log.stat().st_size
        hit = False
        while not hit and time.monotonic() - began < FULL_PATIENCE_S:
            driver.disk.fill()
            time.sleep(0.1)
            hit = b"is started again" in driver.log.read_bytes()[read:] or not driver.alive
        time.sleep(3 * dice[0])
        driver.disk.free()
        met = "a batch failed of it" if hit else "no batch met it"
        return f"for {time.monotonic() - began:.1f} s, {met}"

    def kill_broker(self, dice: tuple[float, ...]) -> str:
        """The broker at once, or in good order; its topics stay."""
        assert isinstance(self.medium, Kafka)
        hard = dice[0] < 0.7
        self.medium.broker.stop(signal.SIGKILL if hard else signal.SIGTERM)
        away_s = 1 + 9 * dice[1]
        time.sleep(away_s)
        self.medium.broker.start()
        return f"{'killed' if hard else 'stopped'}, away for {away_s:.1f} s"

    def kill_database(self, dice: tuple[float, ...]) -> str:
        """The database at once, which empties unlogged tables, or in good order."""
        assert isinstance(self.medium, SqlMedium)
        hard = dice[0] < 0.7
        self.medium.database.stop(signal.SIGQUIT if hard else signal.SIGINT)
        away_s = 1 + 9 * dice[1]
        time.sleep(away_s)
        self.medium.database.start()
        return f"{'killed' if hard else 'stopped'}, away for {away_s:.1f} s"

    def cut_connection(self, dice: tuple[float, ...]) -> str:
        """At one of the next messages; the database may still get it, COMMIT for one."""
        assert isinstance(self.medium, SqlMedium)
        message, deliver = int(dice[0] * 12), dice[1] < 0.5
        self.medium.proxy.cut_at(message, deliver=deliver)
        return f"message {message}, {'only its answer is' if deliver else 'it is'} lost"

    # --- processes ---------------------------------------------------------------------------

    def _processes(self) -> list[Process]:
        workers = self.cluster.workers.values() if self.cluster is not None else ()
        found = [p for worker in workers for p in processes_of(worker.pid)]
        return sorted(found + self.driver.processes(), key=lambda process: process.pid)

    def _kill_one(self, processes: list[Process], dice: float) -> str:
        if not processes:
            return "none was running"
        chosen = _choose(processes, dice)
        kill(chosen.pid)
        return f"process {chosen.pid}, one of {len(processes)}"


def _choose(things: Any, dice: float) -> Any:
    return things[int(dice * len(things))]


FAULTS: dict[str, Callable[[Monkey, tuple[float, ...]], str]] = {
    "executor": Monkey.kill_executor,
    "python worker": Monkey.kill_python_worker,
    "worker": Monkey.kill_worker,
    "driver": Monkey.kill_driver,
    "savepoint and rescale": Monkey.stop_and_rescale,
    "failing sink": Monkey.break_sink,
    "full disk": Monkey.fill_disk,
    "broker": Monkey.kill_broker,
    "database": Monkey.kill_database,
    "connection": Monkey.cut_connection,
}
