"""How the lines of a batch change what their own side of a join keeps.

Nobody looks at a side while lines of that side come, so only what is left of them at the end of a
batch counts:

    lines that nothing tells apart   as many of equal ones as come minus as many as are taken back,
                                     never below none (Flink ignores what takes back the unknown)
                                     and the number of partners of the last to come counts for all
    lines with a unique key          the last one of each key, or none if that takes it back

In: lines with their kinds.  Out: changes of a LineStore.  Next: runtime/table/joins/line_store.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from headrace.runtime.key_codes import codes_of_values
from headrace.runtime.table.joins.hashes import equal_lines
from headrace.runtime.table.joins.runs import identity_hashes
from headrace.runtime.table.keying import key_values

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.runtime.table.joins.hashes import Hashes, Mask
    from headrace.runtime.table.joins.line_store import LineStore
    from headrace.runtime.table.joins.runs import Numbers, Places


class LinesOfSide:
    """Lines of a batch that a side may keep.

    Args:
        columns: of the lines.
        hashes: of their keys.
        retracts: which of them take back; None for none.
        partners: how many each has; None if nobody asks.
    """

    def __init__(
        self,
        columns: Sequence[pa.Array],
        hashes: Hashes,
        retracts: Mask | None,
        partners: Numbers | None,
    ) -> None:
        self.columns = list(columns)
        self.hashes = hashes
        self.retracts = retracts
        self.partners = partners

    def pick(self, places: Places) -> LinesOfSide:
        """Some of them."""
        chosen = pa.array(places)
        return LinesOfSide(
            [column.take(chosen) for column in self.columns],
            self.hashes[places],
            None if self.retracts is None else self.retracts[places],
            None if self.partners is None else self.partners[places],
        )

    def __len__(self) -> int:
        return len(self.hashes)


def change_side(side: LineStore, lines: LinesOfSide, *, appends: bool) -> None:
    """Let a side take lines.

    Args:
        side: takes them.
        lines: which.
        appends: whether nothing is taken back on either side, so that there is no need to look for
            equal ones: they have as many partners.
    """
    if side.shape.unique is not None:
        _keep_last(side, lines)
    elif lines.retracts is not None or side.shape.expires or (side.shape.counts and not appends):
        _keep_count(side, lines)
    else:
        side.append(lines.columns, lines.hashes, partners=lines.partners)


def _keep_last(side: LineStore, lines: LinesOfSide) -> None:
    groups = identity_groups(side, lines)
    last = np.zeros(int(groups.max(initial=-1)) + 1, np.int64)
    last[groups] = np.arange(len(lines))  # of several the last is assigned
    final = lines.pick(np.sort(last))
    side.kill(side.find(final.columns, final.hashes))
    if final.retracts is not None:
        final = final.pick(np.flatnonzero(~final.retracts))
    side.append(final.columns, final.hashes, partners=final.partners)


def _keep_count(side: LineStore, lines: LinesOfSide) -> None:
    groups = identity_groups(side, lines)
    count = int(groups.max(initial=-1)) + 1
    adds = np.ones(len(lines), np.bool_) if lines.retracts is None else ~lines.retracts
    last = np.zeros(count, np.int64)
    last[groups] = np.arange(len(lines))
    kept = side.find([column.take(pa.array(last)) for column in lines.columns], lines.hashes[last])
    before = np.bincount(kept.line, minlength=count)
    after = _counts_after(groups, adds, before)
    # the oldest go first, and of the new ones the last stay
    surplus = np.maximum(before - after, 0)
    gone = _rank(kept.line) < surplus[kept.line]
    refreshed = np.bincount(groups[adds], minlength=count)[kept.line] > 0
    stays = kept.where(~gone & refreshed)
    if lines.partners is not None and len(stays):
        newest = np.zeros(count, np.int64)
        newest[groups[adds]] = np.flatnonzero(adds)
        side.set_partners(stays, lines.partners[newest[stays.line]])
    else:
        side.refresh(stays)
    side.kill(kept.where(gone))
    wanted = np.maximum(after - before, 0)
    added = np.flatnonzero(adds)
    from_end = _rank(groups[added][::-1])[::-1]
    new = lines.pick(added[from_end < wanted[groups[added]]])
    side.append(new.columns, new.hashes, partners=new.partners)


def _counts_after(groups: Places, adds: Mask, before: Places) -> Places:
    """How many of each group there are behind all steps; a step below none is ignored."""
    by_group = np.argsort(groups, kind="stable")
    steps = np.where(adds, 1, -1)[by_group]
    sums = np.cumsum(steps)
    starts = np.flatnonzero(np.diff(groups[by_group], prepend=-1))
    offset = sums[starts] - steps[starts]
    sizes = np.diff(starts, append=len(groups))
    within = sums - np.repeat(offset, sizes)
    lowest = np.minimum(np.minimum.reduceat(within, starts), 0)
    total = within[starts + sizes - 1]
    after: Places = total + np.maximum(before, -lowest)
    return after


def _rank(groups: Places) -> Places:
    """For each item how many of its group come before it."""
    by_group = np.argsort(groups, kind="stable")
    ordered = groups[by_group]
    first = np.flatnonzero(np.diff(ordered, prepend=-1))
    sizes = np.diff(first, append=len(groups))
    found = np.empty(len(groups), np.int64)
    found[by_group] = np.arange(len(groups)) - np.repeat(first, sizes)
    return found


def identity_groups(side: LineStore, lines: LinesOfSide) -> Places:
    """For each line the number of its key and identity, from 0."""
    shape = side.shape
    columns = [lines.columns[place] for place in (*shape.keys, *shape.identity)]
    hashes = identity_hashes(lines.columns, lines.hashes, shape)
    order = np.argsort(hashes, kind="stable")
    ordered = hashes[order]
    same = ordered[1:] == ordered[:-1]
    if same.any() and columns:
        pairs = np.flatnonzero(same)
        one, other = pa.array(order[pairs]), pa.array(order[pairs + 1])
        equal = equal_lines([c.take(one) for c in columns], [c.take(other) for c in columns])
        if not equal.all():  # two that differ have one hash: compare values
            rows = list(zip(*map(key_values, columns), strict=True))
            return codes_of_values(rows).numbers
    groups = np.empty(len(lines), np.int64)
    groups[order] = np.cumsum(np.concatenate([[False], ~same])) if len(lines) else 0
    return groups
