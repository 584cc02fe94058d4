"""Records on their way to the driver, for sinks whose effect happens there.

In: records of a writer.  Out: `RecordChunk`s, and from them the records in order.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from headrace.data.pickling import dumps
from headrace.spi.sink import SinkWriter, WriterContext

if TYPE_CHECKING:
    from collections.abc import Iterator

CHUNK_RECORDS = 1000


@dataclass(frozen=True, slots=True)
class RecordChunk:
    """Some records of one subtask.

    Attributes:
        subtask: who wrote them.
        number: position of the chunk among the subtask's chunks.
        payload: values and timestamps, pickled.
    """

    subtask: int
    number: int
    payload: bytes


class TimedRecord(NamedTuple):
    """A record, with its event time if it has one."""

    value: Any
    timestamp: int | None


class ShippingWriter(SinkWriter):
    """Packs records for the driver; as their bytes, so that a list may change after ``write``."""

    def __init__(self, context: WriterContext) -> None:
        self._subtask = context.subtask_index
        self._chunks: list[RecordChunk] = []

    def write(self, values: list[Any], timestamps: list[int] | None) -> None:
        for start in range(0, len(values), CHUNK_RECORDS):
            end = start + CHUNK_RECORDS
            times = None if timestamps is None else timestamps[start:end]
            payload = dumps((values[start:end], times))
            self._chunks.append(RecordChunk(self._subtask, len(self._chunks), payload))

    def prepare_commit(self) -> list[Any]:
        return self._chunks

    def abort(self) -> None:
        self._chunks = []


def records_in_order(chunks: list[RecordChunk]) -> Iterator[TimedRecord]:
    """The records, subtask by subtask, each in the order of writing; unpacked as they are asked."""
    for chunk in sorted(chunks, key=lambda c: (c.subtask, c.number)):
        values, timestamps = pickle.loads(chunk.payload)
        if timestamps is None:
            yield from (TimedRecord(value, None) for value in values)
        else:
            yield from map(TimedRecord, values, timestamps)
