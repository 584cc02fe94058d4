"""Where reading of a partition begins or ends: PyFlink's names.

In: a program.  Out: `KafkaOffsetsInitializer`, a description.  Next: planner.py finds the offsets
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from headrace.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["KafkaOffsetResetStrategy", "KafkaOffsetsInitializer", "KafkaTopicPartition"]


@dataclass(frozen=True, order=True)
class KafkaTopicPartition:
    """A partition of a topic.

    Attributes:
        topic: its name.
        partition: its number.
    """

    topic: str
    partition: int

    @property
    def split(self) -> str:
        """The name of the split: the number is what follows the last dash, whatever the topic."""
        return f"{self.topic}-{self.partition}"

    @staticmethod
    def of_split(split: str) -> KafkaTopicPartition:
        """The partition of a split's name."""
        topic, _, number = split.rpartition("-")
        return KafkaTopicPartition(topic, int(number))


class KafkaOffsetResetStrategy(Enum):
    """Where to begin when a group has no committed offset.

    Attributes:
        LATEST: behind the newest record.
        EARLIEST: at the oldest record.
        NONE: with an error.
    """

    LATEST = 0
    EARLIEST = 1
    NONE = 2


@dataclass(frozen=True)
class KafkaOffsetsInitializer:
    """Where reading of each partition begins, or ends; made by its static methods.

    Attributes:
        kind: earliest, latest, committed, timestamp or offsets.
        reset: where a partition without an answer begins.
        at: the timestamp.
        given: the offsets.
    """

    kind: str
    reset: KafkaOffsetResetStrategy = KafkaOffsetResetStrategy.EARLIEST
    at: int = 0
    given: Mapping[KafkaTopicPartition, int] | None = None

    @staticmethod
    def committed_offsets(
        offset_reset_strategy: KafkaOffsetResetStrategy = KafkaOffsetResetStrategy.NONE,
    ) -> KafkaOffsetsInitializer:
        """What the consumer group has committed.

        Args:
            offset_reset_strategy: for partitions of which it has committed nothing.
        """
        return KafkaOffsetsInitializer("committed", offset_reset_strategy)

    @staticmethod
    def timestamp(timestamp: int) -> KafkaOffsetsInitializer:
        """The first record whose timestamp is not before this one; the end if there is none.

        Args:
            timestamp: epoch milliseconds.
        """
        if isinstance(timestamp, bool) or not isinstance(timestamp, int) or timestamp < 0:
            raise InvalidArgumentError(
                f"a timestamp is a number of milliseconds since 1970, not {timestamp!r}",
                fix="KafkaOffsetsInitializer.timestamp(1_700_000_000_000)",
            )
        return KafkaOffsetsInitializer("timestamp", KafkaOffsetResetStrategy.LATEST, timestamp)

    @staticmethod
    def earliest() -> KafkaOffsetsInitializer:
        """The oldest record that the topic has."""
        return KafkaOffsetsInitializer("earliest")

    @staticmethod
    def latest() -> KafkaOffsetsInitializer:
        """Behind the newest record."""
        return KafkaOffsetsInitializer("latest", KafkaOffsetResetStrategy.LATEST)

    @staticmethod
    def offsets(
        offsets: Mapping[KafkaTopicPartition, int],
        offset_reset_strategy: KafkaOffsetResetStrategy = KafkaOffsetResetStrategy.EARLIEST,
    ) -> KafkaOffsetsInitializer:
        """Offsets partition by partition.

        Args:
            offsets: by partition.
            offset_reset_strategy: for partitions that are not among them.
        """
        for partition, offset in dict(offsets).items():
            fits = isinstance(partition, KafkaTopicPartition) and isinstance(offset, int)
            if not fits or offset < 0:
                raise InvalidArgumentError(
                    f"offsets are whole numbers by KafkaTopicPartition, not {partition!r}: "
                    f"{offset!r}",
                    fix="KafkaOffsetsInitializer.offsets({KafkaTopicPartition('topic', 0): 42})",
                )
        return KafkaOffsetsInitializer("offsets", offset_reset_strategy, given=dict(offsets))
