"""Two dispatchers and three jobs: what happens to the leader is not noticed in the answers.

The jobs run without a JVM, so that leaders can die often; `make chaos JOB=ha` does it with Spark.
"""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest

from ha_cluster import Cluster, kill_leader, pause_leader
from patience import SLOWER, wait_until
from zookeeper_server import ZooKeeper

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.cluster

OPTIONS = {
    "headrace.execution.host": "local",
    "heartbeat.timeout": "20 s",
    "restart-strategy.type": "fixed-delay",
    "restart-strategy.fixed-delay.attempts": "10",
    "restart-strategy.fixed-delay.delay": "1 s",
}
FILES = {**OPTIONS, "high-availability.type": "filesystem"}
# `make chaos JOB=ha` measures against the bars; here other tests run beside.
SLACK = 4.0 * SLOWER


@pytest.fixture
def zookeeper(tmp_path: Path) -> Iterator[ZooKeeper]:
    server = ZooKeeper(tmp_path / "zookeeper")
    server.start()
    yield server
    server.stop(signal.SIGKILL)


def by_zookeeper(server: ZooKeeper) -> dict[str, str]:
    return {
        **OPTIONS,
        "high-availability.type": "zookeeper",
        "high-availability.zookeeper.quorum": server.address,
    }


def test_a_standby_takes_over_from_a_leader_that_was_killed(tmp_path: Path) -> None:
    """One driver dies with the leader, two go on and are adopted."""
    cluster = Cluster(tmp_path, FILES, slack=SLACK)
    try:
        cluster.submit(3, until=1000, rate=100)
        wait_until(lambda: cluster.all_are("RUNNING", batches=3), "jobs do not start")
        before = {record.job_id: record.pid for record in cluster.records()}
        kill_leader(cluster, drivers=1)
        after = {record.job_id: record.pid for record in cluster.records()}
        assert sum(before[job] == after[job] for job in before) == 2
        cluster.check_answers(1000)
    finally:
        cluster.end()


@pytest.mark.slow
def test_a_leader_that_was_suspended_for_a_minute_changes_nothing(tmp_path: Path) -> None:
    """Nor does a driver that slept with it: the next leader has given its job to another one."""
    cluster = Cluster(tmp_path, FILES, slack=SLACK)
    try:
        cluster.submit(3, until=12_000, rate=100)
        wait_until(lambda: cluster.all_are("RUNNING", batches=3), "jobs do not start")
        pause_leader(cluster, 60, drivers=1)
        cluster.check_answers(12_000)
    finally:
        cluster.end()


@pytest.mark.slow
def test_zookeeper_may_be_restarted_and_the_leader_killed(
    tmp_path: Path, zookeeper: ZooKeeper
) -> None:
    cluster = Cluster(tmp_path, by_zookeeper(zookeeper), slack=SLACK)
    try:
        cluster.submit(3, until=6000, rate=100)
        wait_until(lambda: cluster.all_are("RUNNING", batches=3), "jobs do not start")
        zookeeper.stop(signal.SIGKILL)
        wait_until(lambda: not any(d.leads() for d in cluster.dispatchers), "still sure")
        zookeeper.start()
        wait_until(lambda: any(d.leads() for d in cluster.dispatchers), "nobody leads")
        wait_until(lambda: cluster.all_are("RUNNING", "FINISHED"), "jobs do not run again")
        kill_leader(cluster, drivers=1)
        cluster.check_answers(6000)
    finally:
        cluster.end()
