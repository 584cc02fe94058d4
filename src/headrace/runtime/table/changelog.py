"""The changes of results that are known after each line, as columns.

    after each line          1   3   6      +I 1   -U 1  +U 3   -U 3  +U 6

In: the results along segments (`Running`).  Out: for every change its kind and where its values
are.  Next: runtime/table/group_aggregate.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from headrace.runtime.table.lines import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from headrace.runtime.table.accumulators import Running
    from headrace.runtime.table.segments import KeySegments

    Places = NDArray[np.int64]
    Mask = NDArray[np.bool_]


class ChangedLines(NamedTuple):
    """Changes in the order of the lines that made them.

    Attributes:
        kinds: of each.
        values: the place of its values in those of a `Running`.
        lines: the sorted line that made it.
    """

    kinds: NDArray[np.int8]
    values: Places
    lines: Places


def changes_after_each_line(
    segments: KeySegments,
    results: Sequence[Running],
    is_empty: Mask | None,
    *,
    before: bool,
    always: bool,
) -> ChangedLines:
    """The changes that every line makes.

    Args:
        segments: of the lines.
        results: of each aggregate.
        is_empty: the lines after which nothing is left of their group; None for none.
        before: whether -U is wanted.
        always: whether there is a change although nothing changed: entries of consumers expire.
    """
    count = segments.lines
    old = np.arange(-1, count - 1)
    old[segments.starts] = count + np.arange(len(segments))
    is_first = np.zeros(count, dtype=np.bool_)
    is_first[segments.starts[segments.fresh]] = True
    updates = ~is_first
    if is_empty is not None:
        updates &= ~is_empty
    if not always:
        updates &= differs(results, np.arange(count), old)
    deletes = np.zeros(count, np.bool_) if is_empty is None else is_empty & ~is_first
    inserts = is_first if is_empty is None else is_first & ~is_empty
    return _in_order(_arrival(segments.order), old, (inserts, updates, deletes), before=before)


def _arrival(order: Places) -> Places:
    """The sorted lines in the order in which they came."""
    last = int(order.max()) + 1 if len(order) else 0
    sorted_line = np.full(last, -1)
    sorted_line[order] = np.arange(len(order))
    return sorted_line if last == len(order) else sorted_line[sorted_line >= 0]


def _in_order(
    arrival: Places, old: Places, marks: tuple[Mask, Mask, Mask], *, before: bool
) -> ChangedLines:
    """Each line, in order, gives none, one or two changes."""
    inserts, updates, deletes = marks
    inserts, updates, deletes = inserts[arrival], updates[arrival], deletes[arrival]
    old = old[arrival]
    width = inserts.astype(np.int64) + updates * (2 if before else 1) + deletes
    place = np.cumsum(width) - width
    total = int(width.sum())
    kinds = np.empty(total, dtype=np.int8)
    values = np.empty(total, dtype=np.int64)
    lines = np.empty(total, dtype=np.int64)
    steps = [(inserts, 0, INSERT, arrival), (deletes, 0, DELETE, old)]
    if before:
        steps.append((updates, 0, UPDATE_BEFORE, old))
    steps.append((updates, int(before), UPDATE_AFTER, arrival))
    for mask, offset, kind, source in steps:
        target = place[mask] + offset
        kinds[target] = kind
        values[target] = source[mask]
        lines[target] = arrival[mask]
    return ChangedLines(kinds, values, lines)


def differs(results: Sequence[Running], new: Places, old: Places) -> Mask:
    """Where any value is another one; NULL equals NULL, NaN does not equal NaN."""
    found = np.zeros(len(new), dtype=np.bool_)
    for values, valid, _ in results:
        other = np.asarray(values[new] != values[old], dtype=np.bool_)
        if valid is not None:
            there, was = valid[new], valid[old]
            other = np.where(there & was, other, there != was)
        found |= other
    return found


def changes_of_groups(
    segments: KeySegments,
    results: Sequence[Running],
    is_left: Mask,
    *,
    before: bool,
    always: bool,
) -> ChangedLines:
    """One change, at most, of every group, in the order of the lines that came last.

    Args:
        segments: one for each group.
        results: of each aggregate.
        is_left: the groups of which something is left.
        before: whether -U is wanted.
        always: whether there is a change although nothing changed.
    """
    new = segments.ends
    old = segments.lines + np.arange(len(segments))
    updates = ~segments.fresh & is_left
    if not always:
        updates &= differs(results, new, old)
    inserts, deletes = segments.fresh & is_left, ~segments.fresh & ~is_left
    arrival = np.argsort(segments.order[new])
    found = _in_order(arrival, old, (inserts, updates, deletes), before=before)
    # what is new was counted in groups
    is_new = (found.kinds == INSERT) | (found.kinds == UPDATE_AFTER)
    values = np.where(is_new, new[found.lines], found.values)
    return ChangedLines(found.kinds, values, new[found.lines])
