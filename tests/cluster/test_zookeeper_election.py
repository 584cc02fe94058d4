"""Who leads, by a real ZooKeeper: the one among Spark's jars."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest

from dispatching import fake_dispatcher, pretend, wait_for, wait_for_state
from headrace.dispatcher.zookeeper import ZooKeeperElection
from zookeeper_server import ZooKeeper

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from headrace.dispatcher.dispatcher import Dispatcher

pytestmark = pytest.mark.cluster


@pytest.fixture
def zookeeper(tmp_path: Path) -> Iterator[ZooKeeper]:
    server = ZooKeeper(tmp_path / "zookeeper")
    server.start()
    yield server
    server.stop(signal.SIGKILL)


def member(folder: Path, zookeeper: ZooKeeper, name: str) -> Dispatcher:
    options = {
        "high-availability.type": "zookeeper",
        "high-availability.storageDir": str(folder / "shared"),
        "high-availability.zookeeper.quorum": zookeeper.address,
        "high-availability.zookeeper.client.session-timeout": "4 s",
        "high-availability.cluster-id": "/orders",
    }
    dispatcher = fake_dispatcher(folder, address=f"http://{name}", **options)
    dispatcher.start()
    return dispatcher


def test_one_leads_jobs_are_pointed_to_and_a_restart_of_zookeeper_is_survived(
    tmp_path: Path, zookeeper: ZooKeeper
) -> None:
    one = member(tmp_path, zookeeper, "one")
    wait_for(lambda: one.is_leader)
    two = member(tmp_path, zookeeper, "two")
    wait_for(lambda: two.leader is not None)
    assert two.leader is not None
    assert two.leader.address == "http://one"
    job_id = one.submit(pretend())
    pid = wait_for_state(one, job_id, "RUNNING").pid
    election = two._election
    assert isinstance(election, ZooKeeperElection)
    pointer = election.noted_jobs()[job_id]
    assert pointer["folder"] == str(one.settings.folder / "submitted" / job_id)
    assert pointer["checkpoint"].endswith(job_id)

    zookeeper.stop(signal.SIGKILL)
    wait_for(lambda: not one.is_leader)  # it cannot be sure, and acts no more
    zookeeper.start()
    wait_for(lambda: one.is_leader or two.is_leader)
    leader, other = (one, two) if one.is_leader else (two, one)
    assert leader.job(job_id).pid == pid  # the job has not noticed

    leader.close()
    wait_for(lambda: other.is_leader)
    assert other.job(job_id).pid == pid
    other.cancel(job_id)
    wait_for_state(other, job_id, "CANCELED")
    wait_for(lambda: election.noted_jobs() == {} if other is two else True)
    other.close()
