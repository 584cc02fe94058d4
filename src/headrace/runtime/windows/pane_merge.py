"""What overlapping windows hold, from the panes they share: about three merges a key and slide.

Each window would need all its panes merged, sixty for a minute that slides by a second.  Instead
the panes up to an edge are merged from the edge backwards, once, and those behind it forwards:

    panes       a    b    c    d  |  e    f
    front      abcd  bcd  cd   d  |             what is left of the front, window by window
    back                          |  e    ef    what has come since
    windows    abcd, bcd+e, cd+ef, ...          one merge each

When the front is used up, the edge moves to the end of the window at hand (a queue of two stacks,
for all keys at once).  Nothing here is stored: after a restart it is built again from the panes.

Merging may reuse an accumulator as its result, as Flink allows, so accumulators that can be changed
are copied before they are handed out.  Reduce functions get the values themselves, as everywhere:
they must leave them alone.
"""

from __future__ import annotations

import datetime as dt
import decimal
from itertools import chain
from typing import TYPE_CHECKING, Any

from headrace.data.pickling import dumps, loads
from headrace.runtime.pages.table import NO_ENTRY

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from headrace.runtime.windows.panes import Panes

_ATOMS = frozenset(
    {
        *(int, float, complex, bool, str, bytes, type(None)),
        *(decimal.Decimal, dt.date, dt.datetime, dt.time, dt.timedelta),
    }
)


class PaneMerge:
    """The contents of one window after the other.

    Args:
        panes: what is merged; only read.
        merge: two accumulators become one; the earlier one comes first.
        reuses: `merge` may change what it is given and return it.
    """

    def __init__(self, panes: Panes, merge: Callable[[Any, Any], Any], *, reuses: bool) -> None:
        self._panes = panes
        self._merge = merge
        # whether accumulators must be copied; found out from those that are there
        self._suspicious = reuses
        self._combine = merge
        self._copying = False
        # panes whose accumulators need none
        self._checked: set[int] = set()
        self.reset()

    def reset(self) -> None:
        """Forget what was merged."""
        # panes before the edge are in the front, from the edge up to `done` in the back
        self._edge: int | None = None
        self.done = -(1 << 63)
        self._front: dict[Any, Any] = {}
        self._back: dict[Any, Any] = {}
        # by pane: what is left in the front of each of its keys once the pane is left behind
        self._leaving: dict[int, dict[Any, Any]] = {}
        self._touched: set[Any] = set()

    def touch(self, key: Any, pane: int) -> None:
        """A pane that may have been merged already got another record of this key."""
        self._touched.add(key)
        self._checked.discard(pane)

    def contents(self, start: int, end: int) -> dict[Any, Any]:
        """By key what a window holds; windows are asked for in the order of time."""
        accumulators = self.accumulators(start, end)
        keys = chain(self._front, (key for key in self._back if key not in self._front))
        return dict(zip(keys, accumulators, strict=True))

    def accumulators(self, start: int, end: int) -> list[Any]:
        """The same without the keys."""
        if self._edge is None or start >= self._edge:
            self._turn(start, end)
        else:
            self._leave(start)
            if not (self._take_in(end) and self._redo(start)):
                self._turn(start, end)
        front, back, combine = self._front, self._back, self._combine
        # `combine` copies where that is needed; what goes out as it is must be copied as well
        alone: Any = _copy if self._copying else _as_it_is
        found = [
            combine(first, back[key]) if key in back else alone(first)
            for key, first in front.items()
        ]
        found += [alone(rest) for key, rest in back.items() if key not in front]
        return found

    def content_of(self, key: Any, start: int, end: int) -> Any:
        """What a window that has been asked for before holds of one key by now."""
        merged = self._fold(key, start, end, self._copy_and_merge)
        return _copy(merged) if self._suspicious else merged

    def _fold(self, key: Any, start: int, end: int, combine: Callable[[Any, Any], Any]) -> Any:
        merged = NO_ENTRY
        for pane in self._panes.between(start, end):
            found = pane.find(key)
            if found is not NO_ENTRY:
                merged = found if merged is NO_ENTRY else combine(merged, found)
        return merged

    def _turn(self, start: int, end: int) -> None:
        """Move the edge to the end of the window: all its panes are in front."""
        front: dict[Any, Any] = {}
        combine, before = self._combine, front.get
        self._leaving = {}
        for pane in reversed(self._panes.between(start, end)):
            contents = pane.read()
            if not self._check(pane.start, contents):
                return self._turn(start, end)
            left = self._leaving[pane.start] = {}
            for key, first in contents.items():
                rest = left[key] = before(key, NO_ENTRY)
                front[key] = first if rest is NO_ENTRY else combine(first, rest)
        if self._must_copy(front.values()):
            return self._turn(start, end)
        self._front, self._back = front, {}
        self._edge = self.done = end
        self._touched.clear()
        return None

    def _leave(self, start: int) -> None:
        """The window begins here: take what is earlier out of the front."""
        front = self._front
        for pane in sorted(self._leaving):
            if pane >= start:
                break
            self._checked.discard(pane)
            for key, rest in self._leaving.pop(pane).items():
                if rest is NO_ENTRY:
                    del front[key]
                else:
                    front[key] = rest

    def _take_in(self, end: int) -> bool:
        """The window ends here: add what is new to the back; False if that went wrong."""
        back = self._back
        combine, before = self._combine, back.get
        for pane in self._panes.between(self.done, end):
            contents = pane.read()
            if not self._check(pane.start, contents):
                return False
            last = NO_ENTRY
            for key, rest in contents.items():
                first = before(key, NO_ENTRY)
                last = back[key] = rest if first is NO_ENTRY else combine(first, rest)
            # one look at what `merge` made is enough here; _turn looks at all of it
            if last is not NO_ENTRY and self._must_copy((last,)):
                return False
        self.done = end
        return True

    def _redo(self, start: int) -> bool:
        """Merge again what was merged too early for some keys; False if that went wrong."""
        assert self._edge is not None
        panes = self._panes.between(start, self._edge)
        for key in self._touched:
            rest = NO_ENTRY
            for pane in reversed(panes):
                first = pane.find(key)
                if first is not NO_ENTRY:
                    self._leaving.setdefault(pane.start, {})[key] = rest
                    rest = first if rest is NO_ENTRY else self._combine(first, rest)
            behind = self._fold(key, self._edge, self.done, self._combine)
            if self._must_copy([part for part in (rest, behind) if part is not NO_ENTRY]):
                return False
            _set(self._front, key, rest)
            _set(self._back, key, behind)
        self._touched.clear()
        return True

    def _check(self, pane: int, contents: dict[Any, Any]) -> bool:
        """Whether the accumulators of a pane may be used as planned so far."""
        if pane not in self._checked:
            if self._must_copy(contents.values()):
                return False
            self._checked.add(pane)
        return True

    def _must_copy(self, accumulators: Collection[Any]) -> bool:
        """Whether accumulators turn out to need copies, which none got so far."""
        if not self._suspicious or self._copying or _unchangeable(accumulators):
            return False
        self._copying, self._combine = True, self._copy_and_merge
        return True

    def _copy_and_merge(self, first: Any, rest: Any) -> Any:
        if not self._suspicious:
            return self._merge(first, rest)
        return self._merge(_copy(first), _copy(rest))


def _set(entries: dict[Any, Any], key: Any, entry: Any) -> None:
    if entry is NO_ENTRY:
        entries.pop(key, None)
    else:
        entries[key] = entry


def _unchangeable(things: Collection[Any]) -> bool:
    """Whether all things are numbers, texts and the like, or tuples of such."""
    kinds = set(map(type, things))
    others = kinds - _ATOMS
    if not others:
        return True
    if not all(map(_is_plain_tuple, others)):
        return False
    tuples = things if others == kinds else [thing for thing in things if type(thing) in others]
    return _unchangeable(list(chain.from_iterable(tuples)))


def _is_plain_tuple(kind: type) -> bool:
    return kind is tuple or (issubclass(kind, tuple) and getattr(kind, "__slots__", None) == ())


def _as_it_is(thing: Any) -> Any:
    return thing


def _copy(thing: Any) -> Any:
    """A copy that shares nothing which could be changed."""
    if type(thing) is list and _ATOMS.issuperset(map(type, thing)):
        return thing[:]
    if _unchangeable((thing,)):
        return thing
    return loads(dumps(thing))
