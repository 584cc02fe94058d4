"""What every source is to the engine: a type, a bound and one line for the plan.

In: nothing.  Out: `Source`, subclassed by each connector.
Next: python_source.py (sources written in Python), connectors/files/source.py;
hosts/spark/sources/opening.py opens them.  Sinks: sink.py
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import Enum
from typing import TYPE_CHECKING, Any

from headrace.spi.sink import Sink

if TYPE_CHECKING:
    from headrace.common.typeinfo import TypeInformation
    from headrace.datastream.data_stream import DataStream

__all__ = [
    "Boundedness",
    "DeliveryGuarantee",
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
    """What a sink promises when a job fails and is restarted.

    A pipeline as a whole promises the least of what its source and its sinks promise.

    Attributes:
        EXACTLY_ONCE: every record has its effect once, also after a failure.
        AT_LEAST_ONCE: no record is lost; after a failure some may be written twice.
        NONE: best effort; after a failure records may be lost or written twice.
    """

    EXACTLY_ONCE = 0
    AT_LEAST_ONCE = 1
    NONE = 2


class Source(ABC):
    """Where records come from; pass it to ``env.from_source``.

    A source is a description: it holds settings, opens nothing, and travels by pickle.
    """

    @abstractmethod
    def produced_type(self) -> TypeInformation:
        """The type of the records; ``Types.PICKLED_BYTE_ARRAY()`` when it is not known."""

    @abstractmethod
    def boundedness(self) -> Boundedness:
        """Whether the source ends."""

    def describe(self) -> str:
        """One line for plans and logs, such as ``NumberSequenceSource(1..100)``."""
        return type(self).__name__

    def may_hold_back(self) -> bool:
        """Whether a bounded source can be idle before its end, as with a rate limit."""
        return False

    def is_exhausted(self, offsets: Any) -> bool:
        """Whether a bounded source that may hold back has been read to its end."""
        return True

    def gives_all_at_once(self) -> bool:
        """Whether all of a bounded source can be had in one batch."""
        return True

    def is_bounded(self) -> bool:
        """Whether a job that has only such sources finishes by itself."""
        return self.boundedness() is Boundedness.BOUNDED


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
