"""What every source is to the engine: a type, a bound, and what its positions mean.

Out: `Source`, subclassed by each connector.  What a source says about itself holds
on every host; how a host reads it is in the host's adapter for the class (source_adapters.py).
Next: python_source.py (sources written in Python), connectors/files/source.py;
hosts/spark/sources/opening.py and hosts/local/sources.py open them.  Sinks: sink.py
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, ClassVar

from headrace.spi.sink import Sink

if TYPE_CHECKING:
    from headrace.common.opaque import JsonValue, Record
    from headrace.common.typeinfo import TypeInformation
    from headrace.datastream.data_stream import DataStream
    from headrace.spi.decoding import Decoding

__all__ = [
    "Boundedness",
    "DeliveryGuarantee",
    "Obstacle",
    "Sink",
    "Source",
    "StreamTransformer",
    "SupportsPreprocessing",
]


class Boundedness(Enum):
    """Whether a source comes to an end."""

    BOUNDED = "bounded"
    CONTINUOUS_UNBOUNDED = "unbounded"


class DeliveryGuarantee(Enum):
    """What a sink promises when a job fails and restarts.

    A pipeline as a whole promises the least of what its source and its sinks promise.

    Attributes:
        EXACTLY_ONCE: every record has its effect once, also after a failure.
        AT_LEAST_ONCE: no record is lost; after a failure some may be written twice.
        NONE: best effort; after a failure records may be lost or written twice.
    """

    EXACTLY_ONCE = 0
    AT_LEAST_ONCE = 1
    NONE = 2


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Why something cannot be done with a source, and what to do about it.

    Attributes:
        what: follows the source's name, as in "is a batch DataFrame, whose ...".
        fix: what the user can do.
    """

    what: str
    fix: str


class Source(ABC):
    """Where records come from; pass it to ``env.from_source``.

    A source is a description: it holds settings, opens nothing, and travels by pickle.
    """

    counts_pending: ClassVar[bool] = False
    """True to have the records that wait behind a batch shown as its metric ``pendingRecords``."""

    @abstractmethod
    def produced_type(self) -> TypeInformation:
        """The type of the records; ``Types.PICKLED_BYTE_ARRAY()`` when it is not known."""

    @abstractmethod
    def boundedness(self) -> Boundedness:
        """Whether the source ends."""

    def describe(self) -> str:
        """One line for plans and logs, such as ``NumberSequenceSource(1..100)``."""
        return type(self).__name__

    def is_bounded(self) -> bool:
        """Whether a job that has only such sources finishes by itself."""
        return self.boundedness() is Boundedness.BOUNDED

    def kind_name(self) -> str:
        """What checkpoints and savepoints call this kind of source.

        A position belongs to a kind: override it when a class is renamed, so that positions
        stored under the old name are still found.
        """
        return type(self).__name__

    # What its records bring along.

    def has_splits(self) -> bool:
        """Whether records come in splits, each with a watermark of its own."""
        return False

    def has_timestamps(self) -> bool:
        """Whether records carry their own event time."""
        return False

    def without_timestamps(self) -> Source:
        """The same source where nobody asks for its records' own event time.

        Called where timestamps are picked from a field. Override it if telling them has a cost.
        """
        return self

    def first_records(self) -> list[Record]:
        """Records that are known while the program is written, to find mistakes early."""
        return []

    def doubts(self) -> list[str]:
        """What is probably a mistake, found by a look at what there is to read.

        Called on the driver before a job starts, which logs each line with the source's place in
        the program.  What cannot be looked at is none: reading it will tell.
        """
        return []

    def decoding(self) -> Decoding | None:
        """How its records become those of the stream, if it hands over raw messages.

        `produced_type` is the type of the raw messages then, and a step that decodes them follows
        the source (runtime/operators/decode.py).
        """
        return None

    # What a position in it means.

    def is_exhausted(self, position: JsonValue) -> bool:
        """Whether a bounded source that has nothing to read now has been read to its end.

        Override it only if the source holds records back, as a rate limit does.

        Args:
            position: how far it was read, in the source's own terms: for a `PythonSource` the
                offset of every split.
        """
        return True

    def may_hold_back(self) -> bool:
        """Whether a bounded source can be idle before its end."""
        return type(self).is_exhausted is not Source.is_exhausted

    def gives_all_at_once(self) -> bool:
        """Whether all of a bounded source can be had in one batch, as BATCH mode takes it."""
        return True

    def place_obstacle(self) -> Obstacle | None:
        """Why no other job can continue at a position, as from a savepoint; None if it can."""
        return None


class StreamTransformer(ABC):
    """Rewrites a stream before it reaches a sink."""

    @abstractmethod
    def apply(self, ds: DataStream) -> DataStream:
        """The stream the sink should receive instead of ``ds``."""


class SupportsPreprocessing(ABC):
    """A sink that wants its input transformed first, as Flink's sinks with a topic selector do."""

    @abstractmethod
    def get_transformer(self) -> StreamTransformer | None:
        """The transformation to apply to the sink's input, or None."""
