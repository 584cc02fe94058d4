"""Beside the driver: which partitions there are, where they begin, how far they can be read.

In: a subscription and questions of the source.  Out: offsets, each question answered in one round
trip to the brokers, whatever the number of partitions.  Next: source.py asks; reader.py reads
"""

from __future__ import annotations

import logging
import re
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from headrace.connectors.kafka.client import ClientSettings, admin_library, kafka_library
from headrace.connectors.kafka.client_errors import NEW_BEGINNING, Refusals, explained, passes
from headrace.connectors.kafka.offsets import (
    KafkaOffsetResetStrategy,
    KafkaOffsetsInitializer,
    KafkaTopicPartition,
)
from headrace.errors import ConnectorError
from headrace.io.waiting import told_when_long

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

T = TypeVar("T")
Offsets = dict[KafkaTopicPartition, int]

log = logging.getLogger(__name__)

_ASKED_EVERY_S = 1.0
_SHORTEST_S = 0.01  # a client takes no limit of nothing
_FORGOTTEN = ("UNKNOWN_TOPIC_OR_PART", "_UNKNOWN_PARTITION")
# What a client says whose idea of the partitions' leaders is of before a broker's restart: its
# admin calls go on with it for longer than anybody waits.
_OUTDATED = ("FENCED_LEADER_EPOCH", "UNKNOWN_LEADER_EPOCH", "NOT_LEADER_FOR_PARTITION")


@dataclass(frozen=True)
class Subscription:
    """What is read: topics, the topics of a pattern, or partitions.

    Attributes:
        topics: names.
        pattern: of names; the whole name must match, as in Flink.
        partitions: these and no others.
    """

    topics: tuple[str, ...] = ()
    pattern: str | None = None
    partitions: frozenset[KafkaTopicPartition] = frozenset()

    def takes(self, partition: KafkaTopicPartition) -> bool:
        """Whether a partition is part of it."""
        if self.partitions:
            return partition in self.partitions
        if self.pattern is not None:
            return re.fullmatch(self.pattern, partition.topic) is not None
        return partition.topic in self.topics

    def __str__(self) -> str:
        if self.partitions:
            return ", ".join(sorted(partition.split for partition in self.partitions))
        return f"/{self.pattern}/" if self.pattern is not None else ", ".join(self.topics)


class Planner:
    """Asks the brokers; kept open while the job runs."""

    def __init__(self, settings: ClientSettings, subscription: Subscription) -> None:
        self._settings = settings
        self._subscription = subscription
        self._refusals = Refusals()
        self._admin = self._new_admin()
        self._watcher: Any = None  # a consumer, for the offsets of the group
        self._ids: dict[str, str] = {}  # of topics: one that was recreated has another

    def subscribe(self, subscription: Subscription) -> None:
        """Something else is read from now on; connections and what is known of topics stay."""
        self._subscription = subscription

    # --- partitions --------------------------------------------------------------------------

    def partitions(self) -> list[KafkaTopicPartition]:
        """The partitions of the subscription that exist now.

        Raises:
            ConnectorError: a topic does not exist, or is not the same topic any more.
        """
        topics = self.topics()
        found = self._described(topics) if topics else {}
        every = [
            KafkaTopicPartition(topic, partition.id)
            for topic, description in found.items()
            for partition in description.partitions
        ]
        missing = self._subscription.partitions.difference(every)
        if missing:
            raise self._error(
                f"there is no partition {min(missing).split}", "correct set_partitions"
            )
        return sorted(filter(self._subscription.takes, every))

    def topics(self) -> list[str]:
        """The names of its topics; those of a pattern exist."""
        subscription = self._subscription
        if subscription.pattern is None:
            named = (partition.topic for partition in subscription.partitions)
            return sorted({*subscription.topics, *named})
        metadata = self._ask("list topics", self._metadata)
        pattern = re.compile(subscription.pattern)
        return sorted(filter(pattern.fullmatch, metadata.topics))

    def _metadata(self, timeout_s: float) -> Any:
        deadline = time.monotonic() + timeout_s
        if not self._ids:  # the list is waited for in silence; a login that fails is told
            self._answer(self._admin.describe_cluster(request_timeout=timeout_s))
        return self._admin.list_topics(timeout=max(_SHORTEST_S, deadline - time.monotonic()))

    def _described(self, topics: list[str]) -> dict[str, Any]:
        library = kafka_library()

        def ask(timeout_s: float) -> dict[str, Any]:
            wanted = library.TopicCollection(topics)
            futures = self._admin.describe_topics(wanted, request_timeout=timeout_s)
            return {topic: self._answer(future) for topic, future in futures.items()}

        found = self._ask(f"find the topic {', '.join(topics)}", ask)
        for topic, description in found.items():
            identity = str(description.topic_id)
            if self._ids.setdefault(topic, identity) != identity:
                raise self._error(
                    f"the topic {topic!r} was deleted and created anew while the job ran, so its "
                    "offsets mean other records now",
                    f"{NEW_BEGINNING} to read the new topic",
                )
        return found

    def gone(self, positions: Mapping[KafkaTopicPartition, int]) -> None:
        """Partitions of the checkpoint are not there: told if they should be."""
        lost = sorted(partition for partition in positions if self._subscription.takes(partition))
        if lost:
            raise self._error(
                f"the partition {lost[0].split} was read up to offset {positions[lost[0]]} and is "
                "not there any more: its topic was deleted",
                "the checkpoint is good, keep it: bring the topic back with its records, or check "
                f"that these are the right brokers. If it is gone for good, {NEW_BEGINNING}",
            )
        log.warning(
            "not subscribed any more, and left where they are: %s",
            ", ".join(sorted(partition.split for partition in positions)),
        )

    # --- offsets -----------------------------------------------------------------------------

    def ends(self, partitions: Iterable[KafkaTopicPartition]) -> Offsets:
        """How far each can be read now: without open transactions, if they are not to be seen."""
        return self._listed("find the end of", partitions, admin_library().OffsetSpec.latest())

    def begins(self, partitions: Iterable[KafkaTopicPartition]) -> Offsets:
        """The oldest record of each."""
        return self._listed("find the begin of", partitions, admin_library().OffsetSpec.earliest())

    def offsets(
        self, initializer: KafkaOffsetsInitializer, partitions: Iterable[KafkaTopicPartition]
    ) -> Offsets:
        """What an initializer says about partitions."""
        wanted = list(partitions)
        kinds: dict[str, Callable[[], Offsets]] = {
            "earliest": lambda: self.begins(wanted),
            "latest": lambda: self.ends(wanted),
            "timestamp": lambda: self._at(initializer.at, wanted),
            "committed": lambda: self._committed(wanted),
            "offsets": lambda: {p: o for p, o in (initializer.given or {}).items() if p in wanted},
        }
        found = kinds[initializer.kind]()
        rest = [partition for partition in wanted if partition not in found]
        return {**found, **self._reset(initializer, rest)} if rest else found

    def _reset(
        self, initializer: KafkaOffsetsInitializer, partitions: list[KafkaTopicPartition]
    ) -> Offsets:
        if initializer.reset is KafkaOffsetResetStrategy.EARLIEST:
            return self.begins(partitions)
        if initializer.reset is KafkaOffsetResetStrategy.LATEST:
            return self.ends(partitions)
        group = self._settings.librdkafka.get("group.id")
        raise self._error(
            f"the group {group!r} has committed no offset for {partitions[0].split}",
            "pass a KafkaOffsetResetStrategy to committed_offsets(), such as EARLIEST",
        )

    def _at(self, timestamp: int, partitions: list[KafkaTopicPartition]) -> Offsets:
        spec = admin_library().OffsetSpec.for_timestamp(timestamp)
        found = self._listed("find the records of a time in", partitions, spec)
        return {partition: offset for partition, offset in found.items() if offset >= 0}

    def _listed(self, what: str, partitions: Iterable[KafkaTopicPartition], spec: Any) -> Offsets:
        library = kafka_library()
        wanted = {library.TopicPartition(p.topic, p.partition): spec for p in partitions}
        if not wanted:
            return {}
        levels = library.IsolationLevel
        committed = self._settings.committed_only
        level = levels.READ_COMMITTED if committed else levels.READ_UNCOMMITTED

        def ask(timeout_s: float) -> Offsets:
            futures = self._admin.list_offsets(
                wanted, isolation_level=level, request_timeout=timeout_s
            )
            return {
                KafkaTopicPartition(place.topic, place.partition): self._answer(future).offset
                for place, future in futures.items()
            }

        return self._ask(f"{what} {self._subscription}", ask)

    # --- the group's offsets, for those who watch it ----------------------------------------

    def _committed(self, partitions: list[KafkaTopicPartition]) -> Offsets:
        library = kafka_library()
        wanted = [library.TopicPartition(p.topic, p.partition) for p in partitions]
        watcher = self._group()
        found = self._ask(
            "read the group's offsets",
            lambda timeout_s: watcher.committed(wanted, timeout=timeout_s),
        )
        return {KafkaTopicPartition(p.topic, p.partition): p.offset for p in found if p.offset >= 0}

    def commit(self, offsets: Offsets) -> None:
        """Tells the group how far the job is; nobody waits for it and no job fails by it."""
        library = kafka_library()
        places = [library.TopicPartition(p.topic, p.partition, o) for p, o in offsets.items()]
        try:
            watcher = self._group()
            watcher.commit(offsets=places, asynchronous=True)
            watcher.poll(0)  # has the answers to earlier commits told
        except library.KafkaException as error:
            log.warning("the group's offsets were not committed: %s", error)

    def _group(self) -> Any:
        if self._watcher is None:
            settings = self._settings.consumer("group", on_commit=_told)
            self._watcher = kafka_library().Consumer(settings)
        return self._watcher

    def close(self) -> None:
        """Ends the connections; commits that are under way get a moment."""
        if self._watcher is not None:
            self._watcher.poll(0.1)
            self._watcher.close()
        self._watcher = self._admin = None

    # --- calls -------------------------------------------------------------------------------

    def _ask(self, what: str, call: Callable[[float], T]) -> T:
        """Asks until there is an answer; brokers may be away for as long as the patience lasts.

        Args:
            what: the call in words, after "cannot".
            call: gets the seconds that are left.
        """
        settings, refusals = self._settings, self._refusals
        with told_when_long(
            f"{settings.where} to {what}", settings.patience, lambda: refusals.last_text
        ):
            return self._ask_patiently(what, call, time.monotonic() + settings.patience_s)

    def _ask_patiently(self, what: str, call: Callable[[float], T], deadline: float) -> T:
        library = kafka_library()
        while True:
            try:
                return call(max(_SHORTEST_S, deadline - time.monotonic()))
            except library.KafkaException as error:
                reason = error.args[0]
                if not self._may_pass(reason) or time.monotonic() + _ASKED_EVERY_S > deadline:
                    raise explained(reason, what, self._settings, self._refusals) from error
                log.info("cannot %s, trying again: %s", what, reason.str())
                time.sleep(_ASKED_EVERY_S)
                if reason.name() in _OUTDATED:
                    self._admin = self._new_admin()

    def _may_pass(self, reason: Any) -> bool:
        # a broker that has just come back may not know its topics yet
        forgot = bool(self._ids) and reason.name() in _FORGOTTEN
        return forgot or passes(reason)

    def _new_admin(self) -> Any:
        """A client that has to ask who leads the partitions; one of old may not ask again."""
        settings = self._settings.admin(error_cb=self._refusals.note)
        return admin_library().AdminClient(settings)

    def _answer(self, future: Any) -> Any:
        return self._refusals.answer(future, self._admin)

    def _error(self, what: str, fix: str) -> ConnectorError:
        return ConnectorError(what, where=self._settings.where, fix=fix)


def _told(error: Any, _places: Any) -> None:
    if error is not None:
        log.warning("the group's offsets were not committed: %s", error)
