"""Positions in partitions: the offset to read next, with the one to stop at if there is one.

In: offsets of a checkpoint.  Out: what they mean, the same for one cluster and for several.
Next: connectors/kafka/source.py, connectors/kafka/dynamic/source.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.spi.python_source import Offset


class PartitionPositions:
    """The part of a PythonSource that knows positions, where splits are partitions."""

    def is_exhausted(self, position: Mapping[str, Offset]) -> bool:
        return all(map(is_over, position.values()))

    def records_between(self, split: str, start: Offset, end: Offset) -> int:
        return next_of(end) - next_of(start)

    def offset_after(self, split: str, start: Offset, end: Offset, records: int) -> Offset:
        return moved(start, min(next_of(start) + records, next_of(end)))


def next_of(offset: Offset) -> int:
    """The next record to read."""
    return int(offset[0] if isinstance(offset, list) else offset)


def moved(offset: Offset, to: int) -> Offset:
    """A position further on in the same partition, at most where it stops."""
    if isinstance(offset, list):
        at, stop = offset
        return [max(at, min(to, stop)), stop]
    return to


def is_over(offset: Offset) -> bool:
    """Whether a partition was read to where reading stops."""
    return isinstance(offset, list) and offset[0] >= offset[1]
