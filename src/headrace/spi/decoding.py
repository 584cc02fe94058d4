"""Raw messages to records: a step of its own, right behind a source that hands over bytes.

    source ── raw columns ──▶ DecodeOperator ── records, with the message's timestamp ──▶

In: a source whose `decoding()` is not None.  Out: a `Decoding`: the decoder, and what happens to a
message that cannot be decoded.  Next: runtime/operators/decode.py runs it;
datastream/stream_execution_environment.py puts it behind the source.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pyarrow as pa

    from headrace.api.output_tag import OutputTag
    from headrace.common.opaque import Message, Record
    from headrace.common.typeinfo import TypeInformation
    from headrace.errors import HeadraceError

__all__ = ["Decoder", "Decoding", "OnError"]


class OnError(StrEnum):
    """What happens to a message that cannot be decoded."""

    FAIL = "fail"
    SKIP = "skip"
    SIDE_OUTPUT = "side output"


class Decoder(ABC):
    """Makes records of raw messages; travels by pickle, opened once in a worker."""

    def open(self) -> None:  # noqa: B027
        """Called once before the first message."""

    @abstractmethod
    def produced_type(self) -> TypeInformation:
        """The type of the records."""

    def decode_columns(self, raw: pa.RecordBatch) -> pa.RecordBatch | None:
        """All messages at once, one record each; None if that cannot be done.

        It may raise anything for a bad message: then messages are decoded one by one.
        """
        return None

    @abstractmethod
    def messages(self, raw: pa.RecordBatch) -> list[Message]:
        """The messages of raw columns, one a row."""

    @abstractmethod
    def decode(self, message: Message) -> Iterable[Record]:
        """The records of one message: most often one."""

    @abstractmethod
    def failure(self, message: Message, error: Exception) -> HeadraceError:
        """What the user is told of a message that cannot be decoded."""

    @abstractmethod
    def bad_record(self, message: Message, error: Exception, timestamp: int | None) -> Record:
        """What a side output gets of a message that cannot be decoded."""


@dataclass(frozen=True, slots=True)
class Decoding:
    """How what a source hands over becomes records.

    Attributes:
        decoder: makes records of messages.
        on_error: what happens to a message that cannot be decoded.
        tag: the side output of such messages.
    """

    decoder: Decoder
    on_error: OnError = OnError.FAIL
    tag: OutputTag | None = None
