"""Gathers a task's frames into packets per subtask.

In: frames from exchange outputs and passing frames of other levels.  Out: packets for Spark rows.
"""

from __future__ import annotations

from typing import NamedTuple

# In the JVM a packet is an array. One of half a region (1 MB with a heap below 4 GB) or more is
# "humongous" to G1, and such arrays start one concurrent marking after the other: with packets of
# 4 MB the JVM took 1.23 microseconds an event of benchmark kafka-ads, with these 0.92. A packet can
# be larger by one frame.
PACKET_BYTES = 256 * 1024


class Packet(NamedTuple):
    """Bytes for one subtask of the next stage; `seq` counts from 0 per slot and batch."""

    slot: int
    seq: int
    content: bytes


class Outbox:
    """Packets a task is writing, one per slot at a time.

    Args:
        slots: how many subtasks there are.
        packet_bytes: a packet is full when it is this large; PACKET_BYTES if None.
    """

    def __init__(self, slots: int, packet_bytes: int | None = None) -> None:
        self._packet_bytes = PACKET_BYTES if packet_bytes is None else packet_bytes
        self._pieces: list[list[bytes]] = [[] for _ in range(slots)]
        self._sizes = [0] * slots
        self._sequence = [0] * slots
        self._full: list[Packet] = []
        self._closed_bytes = 0

    @property
    def written_bytes(self) -> int:
        """All that was put into it, sent or not."""
        return self._closed_bytes + sum(self._sizes)

    def add(self, slot: int, pieces: list[bytes]) -> None:
        """Append a frame; it keeps its place behind earlier frames for the same slot."""
        self._pieces[slot].extend(pieces)
        self._sizes[slot] += sum(map(len, pieces))
        if self._sizes[slot] >= self._packet_bytes:
            self._close(slot)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to send."""
        return not (self._full or any(self._sizes))

    def take_full(self) -> list[Packet]:
        """Packets that reached their size: hand them on to keep memory flat."""
        full, self._full = self._full, []
        return full

    def take_all(self) -> list[Packet]:
        """Everything that is left, at the end of a task's batch."""
        for slot, pieces in enumerate(self._pieces):
            if pieces:
                self._close(slot)
        return self.take_full()

    def drop_unfinished(self) -> None:
        """Forget what is not yet in a finished packet; numbers go on where they are."""
        self._pieces = [[] for _ in self._pieces]
        self._sizes = [0] * len(self._sizes)

    def _close(self, slot: int) -> None:
        content = b"".join(self._pieces[slot])
        self._full.append(Packet(slot, self._sequence[slot], content))
        self._sequence[slot] += 1
        self._closed_bytes += len(content)
        self._pieces[slot] = []
        self._sizes[slot] = 0
