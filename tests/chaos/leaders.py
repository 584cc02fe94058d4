"""Leaders die, sleep and lose ZooKeeper, with three Spark jobs running: `make chaos JOB=ha`.

In: how long.  Out: a line a fault with its times; exit code 1 if a bar is missed or an answer is
wrong.  Next: tests/ha_cluster.py (the cluster, the jobs, the faults)
"""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from ha_cluster import RUNS_S, Cluster, DispatcherProcess, kill_leader, pause_leader, took
from zookeeper_server import ZooKeeper

if TYPE_CHECKING:
    from collections.abc import Callable

RATE = 50
SPARK = {
    "spark.master": "local[1]",
    "spark.driver.memory": "512m",
    "spark.ui.enabled": "false",
    "headrace.execution.host": "spark",
}
OTHERS = {
    "heartbeat.timeout": "30 s",
    "restart-strategy.type": "fixed-delay",
    "restart-strategy.fixed-delay.attempts": "100",
    "restart-strategy.fixed-delay.delay": "1 s",
}
RESTART_S = 30.0


def main() -> int:
    """Run the experiment."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seconds", type=int, default=300)
    parser.add_argument("--host", choices=("spark", "local"), default="spark")
    parser.add_argument("--slack", type=float, default=1.0, help="wider bars for a busy machine")
    asked = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="headrace-leaders-"))
    zookeeper = ZooKeeper(folder / "zookeeper")
    zookeeper.start()
    options = (
        OTHERS
        | (SPARK if asked.host == "spark" else {"headrace.execution.host": "local"})
        | {
            "high-availability.type": "zookeeper",
            "high-availability.zookeeper.quorum": zookeeper.address,
        }
    )
    cluster = Cluster(folder, options, slack=asked.slack)
    began = time.monotonic()
    until = RATE * asked.seconds
    try:
        cluster.submit(3, until, RATE)
        taken_s = took(lambda: cluster.all_are("RUNNING", batches=1), 300, "jobs do not start")
        _tell(f"3 jobs run after {taken_s:.1f} s")
        _timed("the leader and a driver are killed", lambda: kill_leader(cluster, drivers=1))
        dead = next(d for d in cluster.dispatchers if d.process.poll() is not None)
        cluster.dispatchers.remove(dead)
        high = {"high-availability.storageDir": str(folder / "shared"), **options}
        cluster.dispatchers.append(DispatcherProcess(folder, "dispatcher-again", high))
        _timed("ZooKeeper is killed and started", lambda: _restart(zookeeper, cluster))
        _timed(
            "the leader and a driver sleep for a minute",
            lambda: pause_leader(cluster, 60, drivers=1),
        )
        cluster.check_answers(until, asked.seconds)
        _tell(f"all answers are right after {time.monotonic() - began:.0f} s")
    except AssertionError as error:
        _tell(f"FAILED: {error} (see {folder})")
        return 1
    finally:
        cluster.end()
        zookeeper.stop(signal.SIGKILL)
    return 0


def _restart(zookeeper: ZooKeeper, cluster: Cluster) -> None:
    zookeeper.stop(signal.SIGKILL)
    took(lambda: not any(d.leads() for d in cluster.dispatchers), 15, "still sure to lead")
    zookeeper.start()
    took(lambda: any(d.leads() for d in cluster.dispatchers), RESTART_S, "nobody leads")
    cluster.client = cluster.leader.client
    patience_s = RUNS_S * cluster.slack
    took(lambda: cluster.all_are("RUNNING", "FINISHED"), patience_s, "jobs do not run again")


def _timed(what: str, fault: Callable[[], None]) -> None:
    began = time.monotonic()
    fault()
    _tell(f"{what}: all jobs run again after {time.monotonic() - began:.1f} s")


def _tell(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main())
