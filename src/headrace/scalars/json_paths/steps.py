"""The steps of a path, and how they walk through a document.

    $.store.book[0]   ──▶   Root ▶ Properties(store) ▶ Properties(book) ▶ Indexes(0)

A path is definite if it leads to one place at most.  Behind a definite part a place that is not
there is an error; behind an indefinite one it is skipped.  `lenient` skips always.

In: scalars/json_paths/compiler.py.  Out: the values that a path leads to.
Next: scalars/json_paths/path_functions.py
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


class PathMissingError(Exception):
    """The path leads nowhere in this document."""


class PathSyntaxError(Exception):
    """The text is not a path, or the path does not fit any document."""


@dataclass
class Walk:
    """One walk of a path through a document.

    Attributes:
        root: the document.
        lenient: whether places that are not there are skipped.
        found: the values so far.
    """

    root: Any
    lenient: bool
    found: list[Any] = field(default_factory=list)


@dataclass(frozen=True)
class PathStep:
    """One step; `following` is the next, `certain` whether all before it are definite."""

    following: PathStep | None = field(default=None, kw_only=True)
    certain: bool = field(default=True, kw_only=True)

    @property
    def definite(self) -> bool:
        """Whether it leads to one place at most."""
        return True

    def go(self, value: Any, walk: Walk) -> None:
        """Takes the step from a value."""
        raise NotImplementedError

    def arrive(self, value: Any, walk: Walk) -> None:
        """Goes on from where the step leads."""
        if self.following is None:
            walk.found.append(value)
        else:
            self.following.go(value, walk)

    def missing(self, walk: Walk, what: str) -> None:
        """There is no such place: an error, unless it is skipped."""
        if self.certain and not walk.lenient:
            raise PathMissingError(what)

    def fits(self, value: Any, walk: Walk) -> bool:
        """Whether a deep scan takes the step at a value."""
        return False


@dataclass(frozen=True)
class Properties(PathStep):
    """``.name``, ``['name']``, ``['a','b']``."""

    names: tuple[str, ...]

    @property
    def definite(self) -> bool:
        """See PathStep."""
        return len(self.names) == 1 or self.following is None

    def go(self, value: Any, walk: Walk) -> None:
        """See PathStep."""
        if not isinstance(value, dict):
            self.missing(walk, f"{self.names} of a value that is no object")
        elif len(self.names) > 1 and self.following is None:
            walk.found.append({name: value[name] for name in self.names if name in value})
        else:
            for name in self.names:
                self.one(name, value, walk)

    def one(self, name: str, value: dict[str, Any], walk: Walk) -> None:
        """Goes to one property; at the end of a path a missing one is no result."""
        if name in value:
            self.arrive(value[name], walk)
        elif self.following is not None and self.certain and self.definite and not walk.lenient:
            raise PathMissingError(name)

    def fits(self, value: Any, walk: Walk) -> bool:
        """See PathStep."""
        if not isinstance(value, dict):
            return False
        return not self.definite or all(name in value for name in self.names)


@dataclass(frozen=True)
class Indexes(PathStep):
    """``[0]``, ``[-1]``, ``[0,2]``."""

    places: tuple[int, ...]

    @property
    def definite(self) -> bool:
        """See PathStep."""
        return len(self.places) == 1

    def go(self, value: Any, walk: Walk) -> None:
        """See PathStep."""
        if not isinstance(value, list):
            self.missing(walk, "an index of a value that is no array")
            return
        for place in self.places:
            self.at(place, value, walk)

    def at(self, place: int, value: list[Any], walk: Walk) -> None:
        """Goes to one item; one that is not there is skipped."""
        place = place + len(value) if place < 0 else place
        if 0 <= place < len(value):
            self.arrive(value[place], walk)

    def fits(self, value: Any, walk: Walk) -> bool:
        """See PathStep."""
        return isinstance(value, list)


@dataclass(frozen=True)
class Slice(Indexes):
    """``[1:3]``, ``[1:]``, ``[:3]``; negative places count from the end."""

    places: tuple[int, ...] = ()
    start: int | None = None
    end: int | None = None

    @property
    def definite(self) -> bool:
        """See PathStep."""
        return False

    def go(self, value: Any, walk: Walk) -> None:
        """See PathStep."""
        if not isinstance(value, list):
            self.missing(walk, "a slice of a value that is no array")
            return
        for place in self.range_of(len(value)):
            self.at(place, value, walk)

    def range_of(self, size: int) -> range:
        """The places of a list of some size."""
        if self.start is None:
            end = self.end or 0
            return range(min(size, end + size if end < 0 else end))
        if self.end is None:
            start = self.start + size if self.start < 0 else self.start
            return range(max(start, 0), size)
        return range(self.start, min(size, self.end))


@dataclass(frozen=True)
class Wildcard(PathStep):
    """``.*``, ``[*]``: all properties or items."""

    @property
    def definite(self) -> bool:
        """See PathStep."""
        return False

    def go(self, value: Any, walk: Walk) -> None:
        """See PathStep."""
        items = value.values() if isinstance(value, dict) else value
        for item in items if isinstance(value, dict | list) else ():
            try:
                self.arrive(item, walk)
            except PathMissingError:
                continue

    def fits(self, value: Any, walk: Walk) -> bool:
        """See PathStep."""
        return True


@dataclass(frozen=True)
class Filter(PathStep):
    """``[?(...)]``: items for which a condition is true."""

    condition: Callable[[Any, Walk], bool]

    @property
    def definite(self) -> bool:
        """See PathStep."""
        return False

    def go(self, value: Any, walk: Walk) -> None:
        """See PathStep."""
        if isinstance(value, dict):
            if self.condition(value, walk):
                self.arrive(value, walk)
        elif isinstance(value, list):
            for item in value:
                if self.condition(item, walk):
                    self.arrive(item, walk)
        elif self.certain:
            raise PathSyntaxError("a filter cannot be applied to a scalar")

    def fits(self, value: Any, walk: Walk) -> bool:
        """See PathStep."""
        return self.condition(value, walk)


@dataclass(frozen=True)
class DeepScan(PathStep):
    """``..``: the next step at every depth."""

    @property
    def definite(self) -> bool:
        """See PathStep."""
        return False

    def go(self, value: Any, walk: Walk) -> None:
        """See PathStep."""
        assert self.following is not None
        self.visit(self.following, value, walk)

    def visit(self, step: PathStep, value: Any, walk: Walk) -> None:
        """Takes the step at a value and at all inside of it."""
        if isinstance(value, dict):
            if step.fits(value, walk):
                step.go(value, walk)
            for item in list(value.values()):
                self.visit(step, item, walk)
        elif isinstance(value, list):
            if step.fits(value, walk):
                self.at_array(step, value, walk)
            for item in value:
                self.visit(step, item, walk)

    @staticmethod
    def at_array(step: PathStep, value: list[Any], walk: Walk) -> None:
        """In an array the step behind is taken at all items, as Flink's library does."""
        if step.following is None:
            step.go(value, walk)
        else:
            for item in value:
                step.following.go(item, walk)


@dataclass(frozen=True)
class Root(PathStep):
    """``$``."""

    def go(self, value: Any, walk: Walk) -> None:
        """See PathStep."""
        self.arrive(value, walk)


@dataclass(frozen=True)
class PathFunction(PathStep):
    """``.length()`` and others: what is computed of the value before it."""

    compute: Callable[[Any], Any]

    def go(self, value: Any, walk: Walk) -> None:
        """See PathStep."""
        self.arrive(self.compute(value), walk)
