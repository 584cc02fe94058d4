"""Joins line by line, from lists: what runtime/table/joins must give, however input is cut.

A script is a list of (side, kind, values). The reference follows Flink's rules for one line at a
time and looks at every line that is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Line = tuple[Any, ...]
Holds = Callable[[Line, Line], Any]


class Kept:
    """A line of a side, and how many partners it has."""

    def __init__(self, values: Line, partners: int) -> None:
        self.values = values
        self.partners = partners


class ReferenceJoin:
    """A regular join of two lists."""

    def __init__(
        self,
        kind: str,
        keys: tuple[tuple[int, ...], tuple[int, ...]],
        widths: tuple[int, int],
        *,
        holds: Holds = lambda left, right: True,
        unique: tuple[tuple[int, ...] | None, tuple[int, ...] | None] = (None, None),
        null_safe: tuple[bool, ...] = (),
    ) -> None:
        self.kind, self.keys, self.widths, self.holds = kind, keys, widths, holds
        self.unique, self.null_safe = unique, null_safe or (False,) * len(keys[0])
        self.sides: tuple[list[Kept], list[Kept]] = ([], [])
        self.outer = (kind in ("left", "full"), kind in ("right", "full"))

    def key(self, side: int, values: Line) -> Line:
        return tuple(values[place] for place in self.keys[side])

    def partners(self, side: int, values: Line) -> list[Kept]:
        key = self.key(side, values)
        if any(v is None and not safe for v, safe in zip(key, self.null_safe, strict=True)):
            return []
        found = [k for k in self.sides[1 - side] if self.key(1 - side, k.values) == key]
        if side == 0:
            return [k for k in found if self.holds(values, k.values)]
        return [k for k in found if self.holds(k.values, values)]

    def keep(self, side: int, values: Line, partners: int, *, adds: bool) -> None:
        kept, unique = self.sides[side], self.unique[side]

        def same(one: Kept) -> bool:
            if unique is None:
                return one.values == values
            told = [*self.keys[side], *unique]
            return all(one.values[place] == values[place] for place in told)

        found = [one for one in kept if same(one)]
        if unique is not None:
            for one in found:
                kept.remove(one)
            if adds:
                kept.append(Kept(values, partners))
        elif adds:
            for one in found:  # Flink keeps equal lines as one with a count
                one.partners = partners
            kept.append(Kept(values, partners))
        elif found:
            kept.remove(found[0])

    def take(self, side: int, kind: str, values: Line) -> list[Line]:
        """The changes that a line makes."""
        adds = kind in ("+I", "+U")
        found = self.partners(side, values)
        out = list(self._out(side, kind, values, found, adds=adds))
        self.keep(side, values, len(found), adds=adds)
        return out

    def _out(self, side: int, kind: str, values: Line, found: list[Kept], *, adds: bool) -> Any:
        if self.kind in ("semi", "anti"):
            yield from self._left_only(side, kind, values, found, adds=adds)
            return
        outer, other_outer = self.outer[side], self.outer[1 - side]
        if outer and not found:
            yield ("+I" if adds else "-D", *self._both(side, values, None))
        for one in found:
            pair = self._both(side, values, one.values)
            alone = self._both(1 - side, one.values, None)
            if adds:
                if other_outer and one.partners == 0:
                    yield ("-D", *alone)
                yield ("+I" if outer or other_outer else kind, *pair)
            else:
                yield ("-D" if outer else kind, *pair)
                if other_outer and one.partners == 1:
                    yield ("+I", *alone)
            one.partners += (1 if adds else -1) if other_outer else 0

    def _left_only(
        self, side: int, kind: str, values: Line, found: list[Kept], *, adds: bool
    ) -> Any:
        anti = self.kind == "anti"
        if side == 0:
            if bool(found) != anti:
                yield (kind, *values)
            return
        for one in found:
            if adds and one.partners == 0:
                yield ("-D" if anti else kind, *one.values)
            if not adds and one.partners == 1:
                yield ("+I" if anti else kind, *one.values)
            one.partners += 1 if adds else -1

    def _both(self, side: int, values: Line, other: Line | None) -> Line:
        empty = (None,) * self.widths[1 - side]
        other = empty if other is None else other
        return (*values, *other) if side == 0 else (*other, *values)


def by_line(changes: list[Line]) -> dict[str, list[str]]:
    """The kinds of the changes of each line, in order."""
    found: dict[str, list[str]] = {}
    for kind, *values in changes:
        found.setdefault(repr(values), []).append(kind)
    return found
