"""How much of each split goes into the next batch: the part of reading that all hosts share.

In: a `PythonSource`, where each of its splits stands, how many records a batch may have.
Out: where the batch ends.  Positions are plain JSON, so that a host can store them before anything
is read.  Next: hosts/spark/sources/python_source.py, hosts/local/sources.py.  Imports no pyspark,
so it is tested in microseconds.
"""

from __future__ import annotations

import contextlib
import json
import zlib
from operator import itemgetter
from typing import TYPE_CHECKING, TypeVar

from headrace.errors import ConnectorError, HeadraceError
from headrace.runtime.operators.base import user_code_error
from headrace.spi.python_source import PythonSource

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from headrace.spi.python_source import Offset, Position

T = TypeVar("T")

__all__ = [
    "asking",
    "cut_range",
    "initial_position",
    "latest_position",
    "next_offsets",
    "next_position",
    "ranges_between",
    "share_fairly",
    "spread_evenly",
    "stored_offset",
    "take_in_turn",
]


def initial_position(source: PythonSource) -> Position:
    """Where a source that was never read begins."""
    return {split: _initial(source, split) for split in sorted(_splits(source))}


def latest_position(source: PythonSource, start: Position) -> Position:
    """How far the splits that exist now can be read; a new one up to its beginning only.

    So a new split gets its first offset into the checkpoint before anything of it is read, and a
    replayed batch begins where the first attempt began.

    Raises:
        ConnectorError: a split ends before ``start``, or an offset cannot be stored.
    """
    splits = _splits(source)
    known = set(splits)
    gone = {split: offset for split, offset in start.items() if split not in known}
    if gone:
        with asking(source, "splits_are_gone()"):
            source.splits_are_gone(gone)
    found = _ends(source, {split: start[split] for split in splits if split in start})
    latest: Position = {}
    for split in splits:
        if split not in start:
            latest[split] = _initial(source, split)
            continue
        latest[split] = stored_offset(source, split, found[split])
        if latest[split] == start[split]:
            continue  # the usual case: a source may have thousands of splits that are read
        if source.records_between(split, start[split], latest[split]) < 0:
            raise _went_backwards(source, split, start[split], latest[split])
    return latest


def next_position(
    source: PythonSource, start: Position, latest: Position, limit: int | None
) -> Position:
    """Where a batch that begins at ``start`` ends, new splits included.

    Keys come sorted: Spark compares positions as text.
    """
    appeared = {split: offset for split, offset in latest.items() if split not in start}
    return dict(sorted({**next_offsets(source, start, latest, limit), **appeared}.items()))


def next_offsets(
    source: PythonSource, start: Position, latest: Position, limit: int | None
) -> Position:
    """The end offsets of a batch that begins at ``start`` and has at most ``limit`` records.

    Splits without news keep their offset.
    """
    if limit is None:
        return {split: latest.get(split, start[split]) for split in sorted(start)}
    waiting = {
        split: source.records_between(split, begin, latest.get(split, begin))
        for split, begin in start.items()
    }
    waiting = dict(source.most_of_batch(waiting, start))
    if source.reads_in_turn:
        taken = take_in_turn(waiting, limit)
    else:
        # Without the turn, a limit below the number of splits would feed the same ones forever.
        turn = sum(_turn(offset) for offset in start.values())
        taken = share_fairly(waiting, limit, turn=turn)
    return {
        split: stored_offset(
            source, split, source.offset_after(split, start[split], latest[split], taken[split])
        )
        if taken[split]
        else start[split]
        for split in sorted(start)
    }


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


def take_in_turn(waiting: Mapping[str, int], limit: int) -> dict[str, int]:
    """Gives ``limit`` to the first split, what it does not need to the next one, and so on."""
    taken = {}
    for split, count in waiting.items():
        taken[split] = max(min(count, limit), 0)
        limit -= taken[split]
    return taken


def cut_range(
    start: Offset, end: Offset, pieces: int, *, at_least: int
) -> Iterator[tuple[Offset, Offset]]:
    """``[start, end)`` in contiguous pieces of nearly equal size, none below ``at_least``.

    Only whole numbers can be cut.
    """
    if not (isinstance(start, int) and isinstance(end, int)):
        yield start, end
        return
    count = end - start
    pieces = max(1, min(pieces, count // at_least))
    low = start
    for number in range(pieces):
        high = start + count * (number + 1) // pieces
        yield low, high
        low = high


def ranges_between(
    source: PythonSource, start: Position, end: Position
) -> Iterator[tuple[str, Offset, Offset]]:
    """(split, from, to) of a batch; an empty range for a split that waits for its turn or for news.

    A split holds event time before its first record, too: docs/semantics.md#w10. One that rests
    does not: it has None for a range.
    """
    for split in sorted(end):
        low, high = start.get(split, end[split]), end[split]
        if source.records_between(split, low, high) > 0:
            yield split, low, high
        elif source.has_splits() and source.rests(split, high):
            yield split, None, None
        elif source.has_splits() and _waits(source, split, high):
            yield split, high, high


def _waits(source: PythonSource, split: str, at: Offset) -> bool:
    """Whether more records of a split may come."""
    if not source.is_bounded():
        return True
    with asking(source, f"latest_offset({split!r}, {at!r})"):
        return source.records_between(split, at, source.latest_offset(split, at)) > 0


def spread_evenly(sizes: Iterable[tuple[int, T]], tasks: int) -> list[list[T]]:
    """Items to at most ``tasks`` tasks, so that all have nearly the same to do.

    The same items always go to the same tasks: what a worker has at hand of one is of use again.
    """
    largest_first = sorted(enumerate(sizes), key=lambda entry: (-entry[1][0], entry[0]))
    shares: list[tuple[int, list[tuple[int, T]]]] = [(0, []) for _ in range(tasks)]
    for number, (size, item) in largest_first:
        place = min(range(tasks), key=lambda task: shares[task][0])
        load, share = shares[place]
        share.append((number, item))
        shares[place] = load + size, share
    # in the order they came: the parts of a split stay in the order of its offsets
    return [[item for _, item in sorted(share, key=itemgetter(0))] for _, share in shares if share]


def stored_offset(source: PythonSource, split: str, offset: Offset) -> Offset:
    """An offset as it comes back from a checkpoint: a tuple is a list, keys are in order."""
    if type(offset) is int or type(offset) is str:
        return offset
    try:
        return json.loads(json.dumps(offset, sort_keys=True, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise ConnectorError(
            f"the offset {offset!r:.100} ({type(offset).__name__}) of split {split!r} of "
            f"{source.describe()} cannot be stored: {error}",
            fix="use a whole number, or a JSON value: text, numbers, lists and dicts of them",
        ) from error


@contextlib.contextmanager
def asking(source: PythonSource, question: str) -> Iterator[None]:
    """Around a call of the source's code: its errors name the question and the line."""
    try:
        yield
    except HeadraceError:
        raise
    except Exception as error:
        raise user_code_error(error, f"{question} of {source.describe()}", None) from error


def _splits(source: PythonSource) -> list[str]:
    with asking(source, "splits()"):
        return source.splits()


def _initial(source: PythonSource, split: str) -> Offset:
    with asking(source, f"initial_offset({split!r})"):
        offset = source.initial_offset(split)
    return stored_offset(source, split, offset)


def _ends(source: PythonSource, starts: Position) -> Mapping[str, Offset]:
    if type(source).latest_offsets is not PythonSource.latest_offsets:
        with asking(source, "latest_offsets()"):
            return source.latest_offsets(starts)
    ends: Position = {}
    for split, start in starts.items():
        with asking(source, f"latest_offset({split!r}, {start!r})"):
            ends[split] = source.latest_offset(split, start)
    return ends


def _turn(offset: Offset) -> int:
    return offset if isinstance(offset, int) else zlib.crc32(json.dumps(offset).encode())


def _went_backwards(
    source: PythonSource, split: str, start: Offset, latest: Offset
) -> ConnectorError:
    return ConnectorError(
        f"split {split!r} of {source.describe()} ends at offset {latest}, but the checkpoint says "
        f"that it was already read up to {start}",
        fix="the checkpoint is good, keep it: the source is asked again when the job starts again. "
        "If records are missing there, bring them back, or correct where it reads; offsets: "
        f"{json.dumps({split: latest})}",
    )
