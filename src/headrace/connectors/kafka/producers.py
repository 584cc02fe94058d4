"""The producers of a worker process: made once, used for many batches.

In: a sink's settings and a batch.  Out: a producer that can take the batch's messages.
Making a transactional producer known to the broker takes 0.1 to 1 s, so a process keeps its own and
uses them again, whichever subtasks it gets.  Next: writer.py (uses them)
"""

from __future__ import annotations

import logging
import os
import threading
import time
import uuid
from typing import TYPE_CHECKING, Any

from headrace.connectors.kafka.client import kafka_library
from headrace.connectors.kafka.client_errors import Refusals, explained, passes, undelivered
from headrace.connectors.kafka.transactions import Reuse, reuse_for
from headrace.io.waiting import at_most, told_when_long

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from headrace.connectors.kafka.client import ClientSettings
    from headrace.connectors.kafka.transaction_admin import TransactionAdmin
    from headrace.connectors.kafka.transactions import Found
    from headrace.errors import ConnectorError

_log = logging.getLogger(__name__)

# Calls are made in pieces: librdkafka tells only between them that brokers do not let it in.
_PIECE_S = 1.0
_METADATA_S = 5.0
_SHORTEST_S = 0.01
_ABORT_S = 10.0
_TOPIC_S = 10.0
# How long the partitions of a topic are believed to be the same.
_SAME_PARTITIONS_S = 300.0
# Of so many sinks a process keeps producers; the worker processes of a session outlive its jobs.
_SINKS_KEPT = 16


class SinkProducer:
    """A producer of librdkafka's and what became of its messages.

    Args:
        settings: of the sink's clients.
        transactional_id: of its transactions; None for a producer without.
    """

    def __init__(self, settings: ClientSettings, transactional_id: str | None = None) -> None:
        library = kafka_library()
        self.settings = settings
        self.transactional_id = transactional_id
        self.failures: list[tuple[str, int, Any]] = []
        self.prepared_batch: int | None = None
        self._error = library.KafkaException
        self.errors: tuple[type[Exception], ...] = (library.KafkaException, SystemError)
        self._partitions: dict[str, list[int]] = {}
        self._asked_at = time.monotonic()
        self._refusals = Refusals()
        calls = {"on_delivery": self._note_failure, "error_cb": self._refusals.note}
        own = {} if transactional_id is None else {"transactional.id": transactional_id}
        self.client = library.Producer(settings.producer(**calls, **own))
        if transactional_id is not None:
            self._ask("begin to write to Kafka", self.client.init_transactions)

    def begin(self) -> None:
        """Begins a transaction, if this producer has any."""
        self.failures.clear()
        if time.monotonic() > self._asked_at + _SAME_PARTITIONS_S:
            self._partitions.clear()
            self._asked_at = time.monotonic()
        if self.transactional_id is not None:
            self._call("begin a transaction", self.client.begin_transaction)

    def flush(self) -> None:
        """Waits until Kafka has taken all messages.

        Raises:
            ConnectorError: it has not.
        """
        try:
            while self._flush_some():
                pass
            self._refusals.forget()
        except self.errors as error:
            raise self.explained(error) from error
        self.check()

    def _flush_some(self) -> bool:
        """Waits until Kafka has taken some messages; returns whether more are to be taken."""
        before = len(self.client)
        with self._told("take the messages", "until message.timeout.ms is over"):
            while (left := self.client.flush(_PIECE_S)) >= before > 0 and not self.failures:
                self._refusals.check()
        return left > 0 and not self.failures

    def poll(self, timeout_s: float = 0.0) -> None:
        """Lets librdkafka report failures, waiting for at most so long; raises for them."""
        try:
            self.client.poll(timeout_s)
        except self.errors as error:
            raise self.explained(error) from error
        self.check()

    def check(self) -> None:
        """Raises for messages that were not delivered."""
        if self.failures:
            raise undelivered(self.failures, self.settings)

    def explained(self, error: Exception) -> ConnectorError:
        """What an error in a call of the producer means.

        confluent_kafka raises a fatal error while it still runs callbacks, which Python reports as
        a SystemError; then the next call tells what it was.
        """
        what = "write to Kafka"
        if isinstance(error, SystemError):
            if not isinstance(error.__cause__, self._error):
                return self._fatal_error(error, what)
            error = error.__cause__
        return explained(error, what, self.settings)

    def _fatal_error(self, error: Exception, what: str) -> ConnectorError:
        try:
            self.client.begin_transaction()
        except self._error as told:
            return explained(told, what, self.settings)
        return explained(error, what, self.settings)

    def commit(self) -> None:
        """Ends the transaction, which the driver has committed already."""
        patience_s = self.settings.patience_s
        with self._told("end a transaction", self.settings.patience):
            self._call("end a transaction", lambda: self.client.commit_transaction(patience_s))

    def abort(self) -> None:
        """Aborts the transaction."""
        with self._told("abort a transaction", at_most(_ABORT_S)):
            self._call("abort a transaction", lambda: self.client.abort_transaction(_ABORT_S))
        self.client.flush(1.0)  # the reports of messages that it threw away

    def partitions(self, topic: str) -> list[int]:
        """The partitions of a topic, asked for when it is new.

        librdkafka itself would wait 30 s for a topic that does not exist.
        """
        known = self._partitions.get(topic)
        if known is None:
            known = self._ask(
                f"find the topic {topic}",
                lambda piece_s: self._find_topic(topic, piece_s),
                longest_s=_METADATA_S,
            )
            self._partitions[topic] = known
        return known

    def _find_topic(self, topic: str, piece_s: float) -> list[int]:
        deadline = time.monotonic() + _TOPIC_S
        while True:  # a topic may just be being made, by the broker itself perhaps
            found = self.client.list_topics(topic, timeout=piece_s).topics[topic]
            if found.error is None:
                return sorted(found.partitions)
            if time.monotonic() > deadline:
                raise self._error(found.error)
            time.sleep(0.2)

    def _note_failure(self, error: Any, message: Any) -> None:
        if error is not None:
            self.failures.append((message.topic(), message.partition(), error))

    def _ask(self, what: str, piece: Callable[[float], Any], *, longest_s: float = _PIECE_S) -> Any:
        """Calls until it is done; brokers may be away for as long as the patience lasts.

        Args:
            what: the call in words, after "cannot".
            piece: gets the seconds that it may take at once.
            longest_s: no piece gets more.
        """
        deadline = time.monotonic() + self.settings.patience_s

        def next_piece() -> Any:
            return piece(max(_SHORTEST_S, min(longest_s, deadline - time.monotonic())))

        with self._told(what, self.settings.patience):
            return self._ask_patiently(what, next_piece, deadline)

    def _ask_patiently(self, what: str, piece: Callable[[], Any], deadline: float) -> Any:
        while True:
            try:
                found = piece()
            except self._error as error:
                if not passes(error.args[0]) or time.monotonic() > deadline:
                    raise explained(error, what, self.settings, self._refusals) from error
            else:
                self._refusals.forget()
                return found
            self._call(what, self._look_at_refusals)

    def _told(self, what: str, limit: str) -> AbstractContextManager[None]:
        waits_for = f"{self.settings.where} to {what}"
        return told_when_long(waits_for, limit, lambda: self._refusals.last_text)

    def _look_at_refusals(self) -> None:
        self.client.poll(0)
        self._refusals.check()

    def _call(self, what: str, action: Callable[[], Any]) -> Any:
        try:
            return action()
        except self._error as error:
            raise explained(error, what, self.settings) from error


class ProducerPool:
    """The transactional producers that this process has for one sink of one job.

    Args:
        make: makes one, given its transactional id.
        admin: looks at transactions.
        id_prefix: how the ids begin.
    """

    def __init__(
        self, make: Callable[[str], SinkProducer], admin: TransactionAdmin, id_prefix: str
    ) -> None:
        self._make = make
        self._admin = admin
        self._prefix = id_prefix
        self._free: list[SinkProducer] = []
        self._prepared: list[SinkProducer] = []
        self._lock = threading.Lock()

    def take(self, batch_id: int) -> SinkProducer:
        """A producer without an open transaction; `prepared` or `give_back` ends its use.

        Args:
            batch_id: of a batch such that all before it are committed.
        """
        with self._lock:
            if not self._free and self._prepared:
                self._look_at_prepared(batch_id)
            if self._free:
                return self._free.pop()
        return self._make(f"{self._prefix}{uuid.uuid4().hex[:16]}")

    def prepared(self, producer: SinkProducer, batch_id: int) -> None:
        """Takes a producer back whose transaction waits for the driver."""
        producer.prepared_batch = batch_id
        with self._lock:
            self._prepared.append(producer)

    def give_back(self, producer: SinkProducer) -> None:
        """Takes a producer back whose transaction is not wanted.

        After a message that was not delivered librdkafka's count of messages has a gap, and the
        next transaction fails as well; such a producer is not used again.
        """
        failed = bool(producer.failures)
        try:
            producer.abort()
        except Exception as error:
            _log.info("dropping a producer: %s", error)  # the driver aborts what it leaves open
            return
        if not failed:
            with self._lock:
                self._free.append(producer)

    def _look_at_prepared(self, batch_id: int) -> None:
        waiting, self._prepared = self._prepared, []
        found = self._admin.describe(str(each.transactional_id) for each in waiting)
        for each in waiting:
            self._settle(each, batch_id, found.get(str(each.transactional_id)))

    def _settle(self, producer: SinkProducer, batch_id: int, now: Found | None) -> None:
        assert producer.prepared_batch is not None
        step = reuse_for(producer.prepared_batch, batch_id, now)
        if step is Reuse.KEEP:
            self._prepared.append(producer)
            return
        if step is Reuse.DROP:
            return
        try:
            producer.commit() if step is Reuse.COMMIT else producer.abort()
        except Exception as error:
            _log.info("dropping a producer: %s", error)
            return
        producer.prepared_batch = None
        self._free.append(producer)


_lock = threading.Lock()
_pools: dict[tuple[Any, ...], Any] = {}


def shared(key: tuple[Any, ...], make: Callable[[], Any]) -> Any:
    """What this process has for a sink, such as its pool; the longest unused ones are dropped."""
    own = (os.getpid(), *key)  # a forked process has none of the threads that a producer needs
    with _lock:
        found = _pools.pop(own, None)
        _pools[own] = made = make() if found is None else found
        while len(_pools) > _SINKS_KEPT:
            del _pools[next(iter(_pools))]
        return made
