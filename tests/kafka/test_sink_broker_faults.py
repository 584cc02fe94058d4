"""The Kafka sink and a broker that restarts, is away, or gives transactions up."""

from __future__ import annotations

import json
import signal
from typing import TYPE_CHECKING, Any

import pytest

from headrace.connectors.kafka.transaction_admin import TransactionAdmin
from headrace.errors import ConnectorError
from headrace.testing.connectors import SinkDriver
from kafka_broker import KafkaServer, need_kafka
from kafka_sinks import admin_of, new_prefix, numbers, text_sink, unfinished
from patience import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaServer]:
    """A broker of its own, which looks for timed-out transactions twice a second."""
    need_kafka()
    cleanup = "transaction.abort.timed.out.transaction.cleanup.interval.ms"
    server = KafkaServer(tmp_path_factory.mktemp("broker"), {cleanup: "500"})
    server.start()
    yield server
    server.stop()


class Place:
    def __init__(self, server: KafkaServer, folder: Path, **properties: str) -> None:
        self.server = server
        self.topic = server.create_topic(2)
        self.prefix = new_prefix()
        sink = text_sink(server, self.topic, self.prefix, **properties)
        self.job = SinkDriver(sink, state_dir=str(folder))
        self.folder = folder

    @property
    def decision(self) -> Path:
        """The file with the newest decision."""
        (found,) = self.folder.glob("kafka-transactions-*.json")
        return found

    def expect(self, expected: list[int]) -> None:
        assert unfinished(self.server, self.prefix) == {}
        assert sorted(numbers(self.server, self.topic)) == expected

    def wait_for_timeout(self) -> None:
        admin = admin_of(self.server)
        wait_until(
            lambda: not admin.open_ids(self.prefix), "the transactions do not time out", every_s=0.2
        )
        admin.close()


class DiedError(BaseException):
    """Stands for the end of the driver."""


def die_in_commit(monkeypatch: pytest.MonkeyPatch, *, after: int) -> Any:
    """The driver dies when so many transactions of a decision are committed."""
    commit = TransactionAdmin.commit

    def some(admin: TransactionAdmin, transactions: Any) -> None:
        commit(admin, dict(list(transactions.items())[:after]))
        raise DiedError

    monkeypatch.setattr(TransactionAdmin, "commit", some)


@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGKILL])
def test_a_broker_that_restarts_between_prepare_and_commit(
    broker: KafkaServer, tmp_path: Path, sign: signal.Signals
) -> None:
    place = Place(broker, tmp_path)
    place.job.run(0, [0, 1], [2])
    staged = place.job.stage(1, [3], [4, 5])
    broker.stop(sign)
    broker.start()
    place.job.committer.commit(1, staged)
    place.expect(list(range(6)))
    place.job.run(2, [6], [7])  # the producers of before, or new ones
    place.expect(list(range(8)))


def test_a_decided_batch_is_committed_although_the_broker_was_away(
    broker: KafkaServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Place(broker, tmp_path)
    with monkeypatch.context() as patch:
        die_in_commit(patch, after=1)
        with pytest.raises(DiedError):
            place.job.run(0, [0, 1], [2])
    broker.stop(signal.SIGKILL)
    broker.start()
    place.job.crash()
    _ = place.job.committer
    place.expect([0, 1, 2])
    place.job.run(0, [0, 1, 2])
    place.expect([0, 1, 2])


def test_a_transaction_that_timed_out_before_the_decision_is_told_and_the_batch_comes_again(
    broker: KafkaServer, tmp_path: Path
) -> None:
    place = Place(broker, tmp_path, transaction_timeout_ms="1000")
    staged = place.job.stage(0, [0, 1])
    place.wait_for_timeout()
    with pytest.raises(ConnectorError, match="batch 0 is not committed") as caught:
        place.job.committer.commit(0, staged)
    assert "transaction.timeout.ms" in (caught.value.fix or "")
    place.job.crash()
    place.job.run(0, [0, 1])
    place.expect([0, 1])


def test_a_decision_none_of_which_was_committed_is_void_when_its_transactions_time_out(
    broker: KafkaServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Place(broker, tmp_path, transaction_timeout_ms="1000")
    with monkeypatch.context() as patch:
        die_in_commit(patch, after=0)
        with pytest.raises(DiedError):
            place.job.run(0, [0, 1], [2])
    place.wait_for_timeout()
    place.job.crash()
    _ = place.job.committer
    assert json.loads(place.decision.read_text())["stage"] == "void"
    place.expect([])
    place.job.run(0, [0, 1], [2])
    place.expect([0, 1, 2])


@pytest.mark.parametrize("choice", ["write it again", "go on without"])
def test_a_transaction_that_timed_out_after_the_decision_is_a_loud_error(
    broker: KafkaServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, choice: str
) -> None:
    place = Place(broker, tmp_path, transaction_timeout_ms="1000")
    with monkeypatch.context() as patch:
        die_in_commit(patch, after=1)
        with pytest.raises(DiedError):
            place.job.run(0, [0, 1], [2])
    place.wait_for_timeout()
    for _ in range(2):  # it does not go away by itself
        place.job.crash()
        with pytest.raises(ConnectorError, match="only partly written") as caught:
            _ = place.job.committer
        assert "1 messages of subtask 1 are missing" in caught.value.message
        assert str(place.decision) in (caught.value.where or "")
    if choice == "write it again":
        place.decision.unlink()
        place.job.run(0, [0, 1], [2])
        place.expect([0, 0, 1, 1, 2])
    else:
        place.decision.write_text(place.decision.read_text().replace('"decided"', '"done"'))
        place.job.run(0, [0, 1], [2])
        place.expect([0, 1])
