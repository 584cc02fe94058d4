"""Reads the text of a path into steps.

    $.store['book'][0:2]..price.length()

In: text.  Out: a chain of steps (scalars/json_paths/steps.py), or `PathSyntaxError`.
Next: scalars/json_paths/filters.py reads what stands in [?(...)].
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from headrace.scalars.json_paths.filters import read_filter
from headrace.scalars.json_paths.path_functions import function_named
from headrace.scalars.json_paths.steps import (
    DeepScan,
    Filter,
    Indexes,
    PathFunction,
    PathMissingError,
    PathStep,
    PathSyntaxError,
    Properties,
    Root,
    Slice,
    Walk,
    Wildcard,
)

if TYPE_CHECKING:
    from collections.abc import Callable

_INDEXES = re.compile(r"\[\s*(-?\d[\d\s,-]*)\]")
_SLICE = re.compile(r"\[\s*(-?\d*)\s*:\s*(-?\d*)\s*\]")
_WILDCARD = re.compile(r"\[\s*\*\s*\]")
_NAME = re.compile(r"[^.\[(\s*]+")
_ARGUMENTS = re.compile(r"\(([^()]*)\)")


@dataclass(frozen=True)
class CompiledPath:
    """A path: its first step, whether it is definite, and whether a function stands at its end."""

    first: PathStep
    definite: bool
    function: bool

    def read(self, document: Any, root: Any, *, lenient: bool) -> Any:
        """What the path leads to: one value, or a list if it is not definite.

        Raises:
            PathMissingError: a definite path leads nowhere.  If it is lenient, None instead.
        """
        walk = Walk(root, lenient)
        self.first.go(document, walk)
        if not self.definite and not self.function:
            return walk.found
        if walk.found:
            return walk.found[-1]
        if lenient:
            return None
        raise PathMissingError("the path leads nowhere")


@lru_cache(maxsize=1024)
def compile_path(text: str) -> CompiledPath:
    """The path that a text stands for.

    Raises:
        PathSyntaxError: it stands for none.
    """
    text = text.strip()
    if not text:
        raise PathSyntaxError("the path is empty")
    if text[0] not in "$@":
        text = f"$.{text}"
    if text.endswith("."):
        raise PathSyntaxError("the path ends with a dot")
    return _chained(_PathReader(text).steps())


def _chained(steps: list[PathStep]) -> CompiledPath:
    following: PathStep | None = None
    certain = [True]
    for i, step in enumerate(steps):
        last = i == len(steps) - 1
        # A list of names leads to one object at the end of a path, to several places before it.
        several = isinstance(step, Properties) and len(step.names) > 1 and not last
        certain.append(certain[-1] and step.definite and not several)
    for step, sure in zip(reversed(steps), reversed(certain[:-1]), strict=True):
        following = replace(step, following=following, certain=sure)
    assert following is not None
    return CompiledPath(following, certain[-1], isinstance(steps[-1], PathFunction))


class _PathReader:
    """Reads a path from left to right."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.place = 1
        self.found: list[PathStep] = [Root()]

    def steps(self) -> list[PathStep]:
        if len(self.text) > 1 and self.text[1] not in ".[":
            raise PathSyntaxError(f"{self.text!r} has no dot and no bracket behind its root")
        while self.place < len(self.text):
            self.step()
        if isinstance(self.found[-1], DeepScan):
            raise PathSyntaxError("the path ends with ..")
        return self.found

    def step(self) -> None:
        if isinstance(self.found[-1], PathFunction):
            raise PathSyntaxError("nothing can stand behind a function")
        if self.text.startswith("..", self.place):
            self.place += 2
            self.found.append(DeepScan())
            if self.text.startswith(".", self.place):
                raise PathSyntaxError("there is a dot too many")
            if not self.text.startswith("[", self.place):
                self.name()
        elif self.text[self.place] == ".":
            self.place += 1
            if self.text.startswith("[", self.place):
                self.bracket()
            else:
                self.name()
        elif self.text[self.place] == "[":
            self.bracket()
        else:
            raise PathSyntaxError(f"{self.text[self.place :]!r} is no step")

    def name(self) -> None:
        if self.text.startswith("*", self.place):
            self.place += 1
            self.found.append(Wildcard())
            return
        found = _NAME.match(self.text, self.place)
        if found is None:
            raise PathSyntaxError(f"a name is missing in {self.text!r}")
        self.place = found.end()
        if not self.text.startswith("(", self.place):
            if self.text[self.place : self.place + 1].isspace():
                raise PathSyntaxError("a name with blanks needs brackets and quotes")
            self.found.append(Properties((found[0],)))
            return
        arguments = _ARGUMENTS.match(self.text, self.place)
        if arguments is None:
            raise PathSyntaxError("the arguments of a function are not closed")
        self.place = arguments.end()
        self.found.append(PathFunction(function_named(found[0], arguments[1])))

    def bracket(self) -> None:
        readers: tuple[Callable[[], PathStep | None], ...] = (
            self.quoted_names,
            self.indexes,
            self.wildcard,
            self.filter,
        )
        for reader in readers:
            step = reader()
            if step is not None:
                self.found.append(step)
                return
        raise PathSyntaxError(f"{self.text[self.place :]!r} is no step")

    def quoted_names(self) -> PathStep | None:
        place = self._blanks(self.place + 1)
        names: list[str] = []
        while self.text[place : place + 1] in ("'", '"'):
            name, place = read_quoted(self.text, place)
            names.append(name)
            place = self._blanks(place)
            if self.text.startswith("]", place):
                self.place = place + 1
                return Properties(tuple(names))
            if not self.text.startswith(",", place):
                break
            place = self._blanks(place + 1)
        if names:
            raise PathSyntaxError("names in brackets are not closed")
        return None

    def _blanks(self, place: int) -> int:
        while self.text[place : place + 1] == " ":
            place += 1
        return place

    def indexes(self) -> PathStep | None:
        found = _SLICE.match(self.text, self.place)
        if found is not None:
            if not found[1] and not found[2]:
                raise PathSyntaxError("a slice needs a place")
            self.place = found.end()
            bounds = [int(text) if text else None for text in found.groups()]
            return Slice(start=bounds[0], end=bounds[1])
        found = _INDEXES.match(self.text, self.place)
        if found is None:
            return None
        self.place = found.end()
        try:
            return Indexes(tuple(int(part) for part in found[1].split(",")))
        except ValueError:
            raise PathSyntaxError(f"{found[0]} is no index") from None

    def wildcard(self) -> PathStep | None:
        found = _WILDCARD.match(self.text, self.place)
        if found is None:
            return None
        self.place = found.end()
        return Wildcard()

    def filter(self) -> PathStep | None:
        if not re.match(r"\[\s*\?\s*\(", self.text[self.place :]):
            return None
        condition, self.place = read_filter(self.text, self.place, compile_path)
        return Filter(condition)


def read_quoted(text: str, place: int) -> tuple[str, int]:
    """A text in quotes and the place behind it; a backslash takes the next character as it is."""
    quote = text[place]
    done: list[str] = []
    place += 1
    while place < len(text):
        sign = text[place]
        if sign == quote:
            return "".join(done), place + 1
        if sign == "\\" and place + 1 < len(text):
            place += 1
            sign = text[place]
        done.append(sign)
        place += 1
    raise PathSyntaxError("a quote is not closed")
