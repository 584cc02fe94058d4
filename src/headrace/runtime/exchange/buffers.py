"""Frames and packets: how records, watermarks and messages look as bytes on an exchange.

A *frame* is one list of records, one watermark, or one message to the driver:
``kind, has timestamps, edge, count, length | timestamps | body``, padded to 8 bytes so that an
Arrow body can be read in place.  A *packet* is a run of frames for one subtask; Spark moves packets
as rows ``(slot, channel, seq, packet)``.  Neither carries a schema: both ends know the edge's type
from the plan.  Next: runtime/exchange/outbox.py (writing), runtime/task.py (reading)
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from headrace.data.pickling import dumps, loads
from headrace.data.records import Records

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.data.codec import Codec

ARROW, PICKLED, WATERMARK, MESSAGE = 1, 2, 3, 4
END = 5  # of the input: whatever a later batch brings belongs to another run of the job
BARRIER = 6  # ends an epoch on its channel, where epochs are not batches
LATENCY = 7  # when it left its source: runtime/latency.py
TO_DRIVER = 0xFFFF  # the edge number of messages that no stage reads

_HEADER = struct.Struct("<BBHIQ")
_PADDING = b"\0" * 8
_BARRIER_BYTE = bytes([BARRIER])


class Frame(NamedTuple):
    """A frame as it lies in a packet; `raw` is the whole of it, header included."""

    kind: int
    edge: int
    records: int
    timestamps: memoryview | None
    body: memoryview
    raw: memoryview


def frames_of(packet: bytes | memoryview) -> Iterator[Frame]:
    """The frames of a packet, without copying."""
    view = memoryview(packet)
    position = 0
    while position < len(view):
        kind, timed, edge, count, length = _HEADER.unpack_from(view, position)
        start = position + _HEADER.size
        body_start = start + (count * 8 if timed else 0)
        end = start + length
        padded_end = end + (-length % 8)
        times = view[start:body_start] if timed else None
        yield Frame(kind, edge, count, times, view[body_start:end], view[position:padded_end])
        position = padded_end


def data_frame(records: Records, edge: int, codec: Codec, *, pickled: bool = False) -> list[bytes]:
    """A list of records as the pieces of a frame, to be joined by the packet."""
    times = records.timestamps
    time_bytes = b"" if times is None else np.asarray(times, dtype=np.int64).tobytes()
    body: Any
    if codec.schema is not None and not pickled:
        kind, body = ARROW, records.encoded(codec).serialize()
        size = body.size
    else:
        kind, body = PICKLED, dumps(records.values)
        size = len(body)
    length = len(time_bytes) + size
    header = _HEADER.pack(kind, times is not None, edge, len(records), length)
    return [header, time_bytes, body, _PADDING[: -length % 8]]


def message_frame(kind: int, edge: int, content: Any) -> list[bytes]:
    """A watermark or a message to the driver."""
    body = dumps(content)
    header = _HEADER.pack(kind, 0, edge, 0, len(body))
    return [header, body, _PADDING[: -len(body) % 8]]


def is_barrier(packet: bytes | memoryview) -> bool:
    """Whether a packet ends an epoch; a barrier travels alone."""
    return packet[:1] == _BARRIER_BYTE


def records_in(frame: Frame, codec: Codec) -> Records:
    """The records of a data frame; Arrow bodies stay Arrow until values are needed."""
    times: list[int] | None = None
    if frame.timestamps is not None:
        times = np.frombuffer(frame.timestamps, dtype=np.int64).tolist()
    if frame.kind == ARROW:
        batch = pa.ipc.read_record_batch(pa.py_buffer(frame.body), codec.schema)
        return Records(timestamps=times, batch=batch, codec=codec)
    return Records(loads(frame.body), times)


def content_of(frame: Frame) -> Any:
    """What a watermark or message frame says."""
    return loads(frame.body)
