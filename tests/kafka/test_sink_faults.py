"""Exactly once into Kafka when processes die, dead attempts come back, and jobs are rescaled."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from headrace.errors import ConnectorError
from headrace.testing.connectors import SinkDriver
from kafka_killed import POINTS
from kafka_sinks import end_offset_is_stable, new_prefix, numbers, text_sink, unfinished

if TYPE_CHECKING:
    from pathlib import Path

    from kafka_broker import KafkaServer


class Place:
    """A topic, a prefix and the directory of a job."""

    def __init__(self, server: KafkaServer, folder: Path) -> None:
        self.server = server
        self.topic = server.create_topic(2)
        self.prefix = new_prefix()
        self.folder = folder

    def job(self, job_id: str | None = None) -> SinkDriver:
        """A run of the job; with another id a job of its own, of the same program."""
        sink = text_sink(self.server, self.topic, self.prefix)
        folder = self.folder / (job_id or "job")
        return SinkDriver(sink, job_id=job_id or f"{self.prefix}-job", state_dir=str(folder))

    def expect(self, numbers_: range) -> None:
        """What a reader finds, and that nothing holds readers back."""
        assert unfinished(self.server, self.prefix) == {}
        assert sorted(numbers(self.server, self.topic)) == list(numbers_)
        assert end_offset_is_stable(self.server, self.topic)


@pytest.fixture
def place(kafka: KafkaServer, tmp_path: Path) -> Place:
    return Place(kafka, tmp_path)


@pytest.mark.parametrize("point", POINTS)
def test_a_process_that_is_killed_loses_nothing_and_repeats_nothing(
    place: Place, point: str, repository: Path
) -> None:
    job = place.job()
    assert job.state_dir is not None
    run = [sys.executable, str(repository / "tests" / "kafka_killed.py")]
    run += [place.server.bootstrap, place.topic, place.prefix, job.job_id, job.state_dir, point]
    path = os.pathsep.join([str(repository / "tests"), str(repository / "src")])
    died = subprocess.run(run, env={**os.environ, "PYTHONPATH": path}, timeout=120, check=False)
    assert died.returncode == -signal.SIGKILL

    decided = point not in ("while writing", "before the decision")
    _ = job.committer  # the next run begins: what was decided is committed before it writes
    place.expect(range(12 if decided else 6))
    job.run(1, [6, 7, 8, 9], [10, 11])
    place.expect(range(12))
    job.run(2, [12, 13], [14])
    place.expect(range(15))


def test_a_writer_of_a_run_that_is_over_is_fenced(place: Place) -> None:
    old = place.job()
    old.run(0, [0, 1])
    zombie = old.writer(1)
    zombie.write([2, 3], None)
    zombie._producer.flush()  # type: ignore[attr-defined]

    new = place.job()
    new.run(1, [2, 3])
    place.expect(range(4))
    zombie.write([2, 3], None)
    with pytest.raises(ConnectorError, match="_FENCED") as caught:
        zombie.prepare_commit()
    assert "another run" in (caught.value.fix or "")
    zombie.abort()
    new.run(2, [4])
    place.expect(range(5))


def test_an_attempt_that_ends_after_its_batch_was_committed_is_never_committed(
    place: Place,
) -> None:
    """A task that Spark has given up may go on writing, in a process that gets the next batch."""
    job = place.job()
    late = job.writer(0)
    job.run(0, [0, 1])
    late.write([0, 1], None)  # its transaction begins behind the sweep of the commit
    late.prepare_commit()
    job.run(1, [2, 3])
    place.expect(range(4))


def test_an_attempt_that_was_not_chosen_does_not_disturb_the_one_that_was(place: Place) -> None:
    job = place.job()
    chosen = job.stage(0, [0, 1], [2])
    job.stage(0, [0, 1])  # the same subtask again, later, in the same process
    job.committer.commit(0, chosen)
    place.expect(range(3))


def test_producers_are_used_again_and_not_made_for_every_batch(place: Place) -> None:
    job = place.job()
    used = set()
    for batch in range(4):
        staged = job.stage(batch, [2 * batch], [2 * batch + 1])
        used |= {part.transactional_id for part in staged}
        job.committer.commit(batch, staged)
    assert len(used) == 2
    place.expect(range(8))


def test_a_producer_whose_attempt_was_aborted_is_used_again(place: Place) -> None:
    """Also when most of its messages were not sent yet: they must not count as failures later."""
    job = place.job()
    for _ in range(3):
        writer = job.writer(0)
        writer.write(list(range(5000)), None)
        writer.abort()
    job.run(0, [0, 1])
    assert len(unfinished(place.server, place.prefix)) == 0
    place.expect(range(2))


def test_transactions_of_a_dead_job_with_the_prefix_are_aborted_at_the_start(place: Place) -> None:
    dead = place.job("dead")
    dead.run(0, [0])
    dead.stage(1, [1], [2], [3])
    assert len(unfinished(place.server, place.prefix)) == 3
    assert not end_offset_is_stable(place.server, place.topic)
    job = place.job("next")
    _ = job.committer
    place.expect(range(1))
    job.run(0, [1, 2, 3])
    place.expect(range(4))


def test_a_new_job_in_the_directory_of_another_begins_at_its_first_batch(place: Place) -> None:
    old, new = place.job("old"), place.job("new")
    new.state_dir = old.state_dir
    old.run(5, [0])
    new.run(0, [1])
    place.expect(range(2))


def test_jobs_with_other_prefixes_are_left_alone(place: Place) -> None:
    other, prefix = place.job("other"), place.prefix
    staged = other.stage(0, [0, 1])
    place.prefix = new_prefix()
    place.job("job").run(0, [2, 3])
    other.committer.commit(0, staged)
    assert unfinished(place.server, prefix) == {}
    place.expect(range(4))


def test_a_job_that_is_rescaled_between_crashes_loses_nothing_and_repeats_nothing(
    place: Place,
) -> None:
    place.job().run(0, [0], [1], [2], [3])
    place.job().stage(1, [4], [5], [6], [7])  # four subtasks, and the driver dies
    job = place.job()
    job.run(1, [4, 5], [6, 7])
    place.expect(range(8))
    job.stage(2, [8], [9])  # two
    job = place.job()
    job.run(2, [8], [9], [10])  # three
    job.run(3, [11], [], [12])
    place.expect(range(13))


def test_a_sink_that_becomes_at_least_once_commits_what_was_decided_before(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    from headrace.connectors.kafka.transaction_admin import TransactionAdmin
    from headrace.datastream.connectors.base import DeliveryGuarantee

    job = place.job()
    with monkeypatch.context() as patch:
        patch.setattr(TransactionAdmin, "commit", _interrupted)
        with pytest.raises(KeyboardInterrupt):
            job.run(0, [0, 1])
    at_least_once = DeliveryGuarantee.AT_LEAST_ONCE
    job.sink = text_sink(place.server, place.topic, place.prefix, at_least_once)
    job.crash()
    _ = job.committer
    place.expect(range(2))
    job.run(1, [2])
    place.expect(range(3))


def _interrupted(*_: object) -> None:
    raise KeyboardInterrupt
