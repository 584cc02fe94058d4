"""How much of each split goes into the next batch.

In: where every split stands and how far it could be read.  Out: the batch's end offsets.
Next: hosts/spark/sources/python_source.py.  Imports no pyspark, so it is tested in microseconds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["cut_range", "next_offsets", "share_fairly"]


def next_offsets(
    start: Mapping[str, int], latest: Mapping[str, int], limit: int | None
) -> dict[str, int]:
    """The end offsets of a batch that begins at ``start`` and has at most ``limit`` records.

    Splits without news keep their offset. Keys come sorted: Spark compares offsets as text.
    """
    waiting = {split: latest.get(split, begin) - begin for split, begin in start.items()}
    # Without the turn, a limit below the number of splits would feed the same ones for ever.
    turn = sum(start.values())
    taken = waiting if limit is None else share_fairly(waiting, limit, turn=turn)
    return {split: start[split] + taken[split] for split in sorted(start)}


def share_fairly(waiting: Mapping[str, int], limit: int, *, turn: int = 0) -> dict[str, int]:
    """Shares ``limit`` between splits: equal parts, what one does not need goes to the others.

    Args:
        waiting: how many records each split has.
        limit: how many may be taken together.
        turn: rotates who gets the remainder among queues of the same length.
    """
    names = sorted(waiting)
    shift = turn % len(names) if names else 0
    # Smallest first: what a split cannot use stays for those after it, and the remainder of the
    # division for the one with the longest queue.
    order = sorted(names[shift:] + names[:shift], key=lambda name: waiting[name])
    taken = {}
    for position, name in enumerate(order):
        share = limit // (len(order) - position)
        taken[name] = min(waiting[name], share)
        limit -= taken[name]
    return taken


def cut_range(start: int, end: int, pieces: int, *, at_least: int) -> Iterator[tuple[int, int]]:
    """``[start, end)`` in contiguous pieces of nearly equal size, none below ``at_least``."""
    count = end - start
    pieces = max(1, min(pieces, count // at_least))
    low = start
    for number in range(pieces):
        high = start + count * (number + 1) // pieces
        yield low, high
        low = high
