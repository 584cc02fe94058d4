"""What a task does for as long as a run lasts: takes what comes, hands on, aligns barriers.

    driver ── ranges, barriers ──▶ SourceLoop ── packets ──▶ StageLoop ── packets ──▶ StageLoop
                                       │                        │ waits until every channel has
                                       └── ended, news, errors ─┴── sent its barrier ──▶ driver

A barrier flows between the records.  A task that has it on one channel puts aside what that channel
brings next; when all channels have sent theirs, everything before the barrier is in and nothing
behind it: its state is the state of the epoch (Flink's aligned checkpoints).

In: a task, its store, a line to the driver.  Out: packets, as a generator that Spark drains.
Next: runtime/continuous_task.py
"""

from __future__ import annotations

import contextlib
import queue
import struct
import tempfile
import threading
import time
from collections import deque
from dataclasses import dataclass
from enum import Enum
from typing import IO, TYPE_CHECKING, TypeAlias

import pyarrow as pa

from headrace.data.pickling import dumps, loads
from headrace.data.records import Records
from headrace.errors import InternalError
from headrace.hosts.source_ranges import read_range
from headrace.runtime.exchange.buffers import BARRIER, TO_DRIVER, is_barrier, message_frame
from headrace.runtime.exchange.outbox import Packet
from headrace.runtime.task import pickle_error

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from headrace.common.opaque import TaskMessage
    from headrace.data.codec import Codec
    from headrace.hosts.continuous.segments import SegmentStore
    from headrace.hosts.continuous.wire import Line
    from headrace.runtime.continuous_task import ContinuousTask
    from headrace.spi.python_source import Offset, PythonSource

__all__ = ["LoopSettings", "Row", "SourceLoop", "StageLoop"]

# a packet as it came: bytes, or where they lie in Arrow's memory
Content: TypeAlias = "bytes | memoryview"
# (channel, number on it, packet)
Row: TypeAlias = "tuple[int, int, Content]"

# packets that wait in a stage's process: beyond them Spark's own back pressure begins
_INBOX_PACKETS = 4
# what waits for a barrier is kept in memory up to this, then in a file
_HELD_BYTES = 32 << 20
# how often operators are asked for what came back meanwhile (asynchronous requests)
_ASK_S = 0.005
_FOREVER_S = 3600.0
# how often the driver is told how far a task is, while records come
_TELL_S = 1.0


@dataclass(frozen=True, slots=True)
class LoopSettings:
    """What a program's options say about all loops.

    Attributes:
        buffer_timeout_ms: how long records may wait for a packet to fill; None for as long as that
            takes, 0 not to wait.
        watermark_interval_ms: how often watermarks are emitted; 0 for never, as in Flink.
        latency_interval_ms: how often a source sends a latency marker; 0 for never.
    """

    buffer_timeout_ms: int | None = 100
    watermark_interval_ms: int = 200
    latency_interval_ms: int = 0


class _Alarm:
    """Rings every so often, or so long after it was set."""

    __slots__ = ("_at", "interval_s")

    def __init__(self, interval_s: float) -> None:
        self.interval_s = interval_s
        self._at: float | None = None

    def set(self, now: float) -> None:
        """Ring after the interval, unless it is set already."""
        if self._at is None:
            self._at = now + self.interval_s

    def rings(self, now: float) -> bool:
        """Whether it is time; then it has to be set again."""
        if self._at is None or now < self._at:
            return False
        self._at = None
        return True

    def patience(self, now: float) -> float:
        """How long until it rings."""
        return _FOREVER_S if self._at is None else max(0.0, self._at - now)


class _Loop:
    """What both kinds of loops share: time, packets that wait, the line to the driver."""

    def __init__(
        self,
        task: ContinuousTask,
        line: Line,
        settings: LoopSettings,
        *,
        epoch: int,
        attempt: str,
        store: SegmentStore | None = None,
    ) -> None:
        self.task = task
        self.line = line
        self.epoch = epoch
        self._attempt = attempt
        self._store = store
        timeout_ms = settings.buffer_timeout_ms
        self._at_once = timeout_ms == 0
        self._buffers = None if timeout_ms is None else _Alarm(timeout_ms / 1000)
        self._watermarks = _Alarm(settings.watermark_interval_ms / 1000)
        self._has_watermarks = settings.watermark_interval_ms > 0
        # generators of the user's own may look at the clock
        self._always = any(op.asks_the_clock for op in task.operators.values())
        self._sequence = [0] * task.stage.slots
        # requests that come back between two records have to be asked for
        self._asks = any(op.asks_outside for op in task.operators.values())
        self._securing: threading.Thread | None = None
        self._wake_at: int | None = None
        self._times = task.times
        self._told = _Alarm(_TELL_S)

    def _begin(self) -> None:
        if self._store is not None:
            self._store.begin_epoch(self.epoch, self._attempt)
        self.task.begin_epoch(self.epoch, f"{self._attempt}-{self.epoch}")

    def _hand_on(self, now: float, *, moved: bool) -> Iterator[list[Packet]]:
        """After some records, or some time: what is due leaves."""
        task = self.task
        if self._watermarks.rings(now):
            task.emit_watermarks()
        task.settle()
        if self._has_watermarks and (moved or self._always):
            self._watermarks.set(now)
        news = task.take_news()
        if news:
            self.line.send("news", news)
        if self._told.rings(now):
            self.line.send("progress", self.epoch, *task.progress())
        if moved:
            self._told.set(now)
        outbox = task.outbox
        yield from self._numbered(outbox.take_all() if self._is_due(now) else outbox.take_full())

    def _is_due(self, now: float) -> bool:
        if self._at_once:
            return True
        if self._buffers is None or self.task.outbox.is_empty:
            return False
        if self._buffers.rings(now):
            return True
        self._buffers.set(now)
        return False

    def _patience(self, now: float) -> float:
        """How long nothing has to be done, if no record comes."""
        patience = min(self._watermarks.patience(now), self._told.patience(now))
        if self._buffers is not None and not self.task.outbox.is_empty:
            patience = min(patience, self._buffers.patience(now))
        if self._asks:
            patience = min(patience, _ASK_S)
        if self._wake_at is not None:
            patience = min(patience, max(0.0, (self._wake_at - self.task.clock()) / 1000))
        return patience

    def _numbered(self, packets: Iterable[Packet]) -> Iterator[list[Packet]]:
        """A burst of packets, if there are any, numbered through: a gap would be noticed."""
        burst = [
            Packet(packet.slot, self._next_number(packet.slot), packet.content)
            for packet in packets
        ]
        if burst:
            times = self._times
            times.watch.switch(times.blocked)
            yield burst  # comes back when whoever carries packets has taken it
            times.watch.switch(times.own)

    def _next_number(self, slot: int) -> int:
        number = self._sequence[slot]
        self._sequence[slot] = number + 1
        return number

    def _end_epoch(self) -> Iterator[list[Packet]]:
        """All of the epoch is in: hand it on, send the barrier behind it, and store the state."""
        self._finish_securing()
        news = self.task.take_news()
        if news:
            self.line.send("news", news)
        messages = self.task.end_epoch()
        yield from self._numbered(self.task.outbox.take_all())
        barrier = b"".join(message_frame(BARRIER, TO_DRIVER, self.epoch))
        yield from self._numbered(Packet(n, 0, barrier) for n in range(self.task.stage.slots))
        self._secure(messages)
        self.epoch += 1
        self._begin()

    def _secure(self, messages: list[TaskMessage]) -> None:
        """Tell the driver when the state is safe; records go on meanwhile."""
        store, epoch = self._store, self.epoch
        if store is None:
            self.line.send("ended", epoch, messages, None)
            return
        sealed = store.end_epoch()

        def secure() -> None:
            try:
                self.line.send("ended", epoch, messages, store.secure(sealed))
            except Exception as error:
                self._tell_error(error)

        self._securing = threading.Thread(target=secure, name="headrace-secure", daemon=True)
        self._securing.start()

    def _finish_securing(self) -> None:
        if self._securing is not None:
            self._securing.join()
            self._securing = None

    def _tell_error(self, error: Exception) -> None:
        with contextlib.suppress(OSError):  # the driver is gone, and who could act on it
            self.line.send("error", pickle_error(error))

    def guarded(self, packets: Iterator[list[Packet]]) -> Iterator[list[Packet]]:
        """Run; an error goes to the driver with the user's line, not through Spark."""
        try:
            yield from packets
        except (EOFError, ConnectionError):
            pass  # the driver has hung up: the run is over
        except Exception as error:
            for operator in self.task.operators.values():
                operator.abandon_batch()
            self._tell_error(error)
        finally:
            self._finish_securing()
            self.task.close()
            if self._store is not None:
                self._store.close()


class SourceLoop(_Loop):
    """Reads what the driver says: ranges of a source, or records that it has read itself.

    Args:
        source: its own copy, which reads.
        codec: of its records.
        rest: what every loop has.
    """

    def __init__(
        self,
        task: ContinuousTask,
        line: Line,
        settings: LoopSettings,
        *,
        source: PythonSource,
        codec: Codec,
        epoch: int,
        attempt: str,
    ) -> None:
        super().__init__(task, line, settings, epoch=epoch, attempt=attempt)
        self._source = source
        self._codec = codec
        self._markers = _Alarm(settings.latency_interval_ms / 1000)
        self._has_markers = settings.latency_interval_ms > 0

    def packets(self) -> Iterator[list[Packet]]:
        """Until the driver says that it is over."""
        self._begin()
        while True:
            now = time.monotonic()
            if self._has_markers:
                self._markers.set(now)
            patience = min(self._patience(now), self._markers.patience(now))
            self._times.watch.switch(self._times.waiting)
            has_message = self.line.poll(patience)
            self._times.watch.switch(self._times.own)
            if not has_message:
                yield from self._after(moved=False)
                continue
            kind, *content = self.line.receive()
            if kind == "stop":
                return
            if kind == "barrier":
                yield from self._end_epoch()
            else:
                yield from getattr(self, f"_on_{kind}")(*content)

    def _after(self, *, moved: bool) -> Iterator[list[Packet]]:
        now = time.monotonic()
        if self._has_markers and self._markers.rings(now):
            self.task.latency.send(self.task)
        yield from self._hand_on(now, moved=moved)

    def _on_splits(self, splits: list[str]) -> Iterator[list[Packet]]:
        """These exist; they hold event time before their first record."""
        self.task.announce(splits)
        return self._after(moved=True)

    def _on_rest(self, splits: list[str]) -> Iterator[list[Packet]]:
        """Nothing more comes of these: event time does not wait for them."""
        for split in splits:
            self.task.take_part(split, None)
        return self._after(moved=True)

    def _on_read(self, ranges: list[tuple[str, str, Offset, Offset]]) -> Iterator[list[Packet]]:
        """Read ranges; each comes with the name of its channel."""
        for channel, split, start, end in ranges:
            parts = read_range(self._source, split, start, end, self._codec)
            for records in self._times.awaited(parts, self.task.source_metrics):
                self.task.take_part(channel, records)
                yield from self._after(moved=True)
        self.line.send("read")

    def _on_records(
        self, channel: str, kind: str, content: bytes, times: list[int] | None
    ) -> Iterator[list[Packet]]:
        """Records that the driver has read."""
        if kind == "arrow":
            batch = pa.ipc.read_record_batch(pa.py_buffer(content), self._codec.schema)
            records = Records(timestamps=times, batch=batch, codec=self._codec)
        else:
            records = Records(loads(content), times)
        self.task.take_part(channel, records)
        yield from self._after(moved=True)
        self.line.send("read")

    def _on_active(self, channels: list[str]) -> Iterator[list[Packet]]:
        """These are held back, and not idle."""
        self.task.say_active(channels)
        return self._after(moved=False)

    def _on_end(self) -> Iterator[list[Packet]]:
        """The input has ended; a barrier stands on both sides of it."""
        self.task.end_input()
        return self._after(moved=False)


class StageLoop(_Loop):
    """Takes packets of the stage in front of it.

    Args:
        channels: the tasks that send.
        rest: what every loop has.
    """

    def __init__(
        self,
        task: ContinuousTask,
        line: Line,
        settings: LoopSettings,
        *,
        channels: Sequence[int],
        store: SegmentStore,
        epoch: int,
        attempt: str,
    ) -> None:
        super().__init__(task, line, settings, epoch=epoch, attempt=attempt, store=store)
        self._expected = dict.fromkeys(channels, 0)
        self._aligned: set[int] = set()
        self._held = _HeldPackets()

    def packets(self, rows: Iterable[Row]) -> Iterator[list[Packet]]:
        """Until the input ends."""
        self._begin()
        inbox = _Inbox(rows)
        moved = False
        while True:
            if moved and inbox.is_empty:  # under load the next packet wakes us anyway
                self._wake_at = self.task.wake_at()
                moved = False
            now = time.monotonic()
            self._times.watch.switch(self._times.waiting)
            row = inbox.next(self._patience(now))
            self._times.watch.switch(self._times.own)
            if row is _Sign.OVER:
                return
            if row is not _Sign.NOTHING:
                moved = True
                yield from self._take(*row)
            yield from self._hand_on(time.monotonic(), moved=moved)

    def _take(self, channel: int, number: int, content: Content) -> Iterator[list[Packet]]:
        if number != self._expected[channel]:
            raise InternalError(
                f"packet {number} of channel {channel} came where {self._expected[channel]} is due"
            )
        self._expected[channel] = number + 1
        if channel in self._aligned:
            self._held.add(channel, content)
        elif is_barrier(content):
            self._aligned.add(channel)
            yield from self._align()
        else:
            self.task.take_packet(content)

    def _align(self) -> Iterator[list[Packet]]:
        """When all channels have sent their barrier the epoch ends, and what waited is taken."""
        while len(self._aligned) == len(self._expected):
            yield from self._end_epoch()
            self._aligned.clear()
            held, self._held = self._held, _HeldPackets()
            for channel, content in held:
                if channel in self._aligned:
                    self._held.add(channel, content)
                elif is_barrier(content):
                    self._aligned.add(channel)
                else:
                    self.task.take_packet(content)
                    yield from self._numbered(self.task.outbox.take_full())


class _Sign(Enum):
    """What an inbox says instead of a row."""

    NOTHING = "nothing has come"
    OVER = "nothing more will come"


class _Inbox:
    """Reads rows in a thread, so that the task can wait for them with a timeout."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self._queue: queue.Queue[Row | _Sign] = queue.Queue(_INBOX_PACKETS)
        self._rows = rows
        threading.Thread(target=self._read, name="headrace-inbox", daemon=True).start()

    def _read(self) -> None:
        try:
            for row in self._rows:
                self._queue.put(row)
        except Exception:  # Spark has hung up: whoever asks learns that it is over
            pass
        self._queue.put(_Sign.OVER)

    @property
    def is_empty(self) -> bool:
        return self._queue.empty()

    def next(self, patience_s: float) -> Row | _Sign:
        try:
            return self._queue.get(timeout=patience_s)
        except queue.Empty:
            return _Sign.NOTHING


class _HeldPackets:
    """Packets that wait for the barriers of other channels: in memory, then in a file."""

    _HEAD = struct.Struct("<iI")

    def __init__(self) -> None:
        self._packets: deque[tuple[int, bytes]] = deque()
        self._size_bytes = 0
        self._file: IO[bytes] | None = None

    def add(self, channel: int, packet: Content) -> None:
        content = bytes(packet)
        self._size_bytes += len(content)
        if self._size_bytes <= _HELD_BYTES:
            self._packets.append((channel, content))
            return
        if self._file is None:
            self._file = tempfile.TemporaryFile(prefix="headrace-held-")  # noqa: SIM115
        self._file.write(self._HEAD.pack(channel, len(content)) + content)

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        while self._packets:
            yield self._packets.popleft()
        if self._file is not None:
            self._file.seek(0)
            while head := self._file.read(self._HEAD.size):
                channel, length = self._HEAD.unpack(head)
                yield channel, self._file.read(length)
            self._file.close()


def packed(records: Records) -> tuple[str, bytes, list[int] | None]:
    """Records for `SourceLoop`, as bytes."""
    if records.batch is not None:
        return "arrow", records.batch.serialize().to_pybytes(), records.timestamps
    return "pickled", dumps(records.values), records.timestamps
