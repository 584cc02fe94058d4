"""Gathers a task's frames into packets per subtask.

In: frames from exchange outputs and passing frames of other levels.  Out: packets for Spark rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKET_BYTES = 4 * 1024 * 1024


class Packet(NamedTuple):
    """Bytes for one subtask of the next stage; `seq` counts from 0 per slot and batch."""

    slot: int
    seq: int
    content: bytes


class Outbox:
    """Packets a task is writing, one per slot at a time."""

    def __init__(self, slots: int) -> None:
        self._pieces: list[list[bytes]] = [[] for _ in range(slots)]
        self._sizes = [0] * slots
        self._sequence = [0] * slots
        self._full: list[Packet] = []

    def add(self, slot: int, pieces: list[bytes]) -> None:
        """Append a frame; it keeps its place behind earlier frames for the same slot."""
        self._pieces[slot].extend(pieces)
        self._sizes[slot] += sum(map(len, pieces))
        if self._sizes[slot] >= PACKET_BYTES:
            self._close(slot)

    def take_full(self) -> Iterator[Packet]:
        """Packets that reached their size: hand them on to keep memory flat."""
        full, self._full = self._full, []
        return iter(full)

    def take_all(self) -> Iterator[Packet]:
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
        self._pieces[slot] = []
        self._sizes[slot] = 0
