"""The modules of the package, each read and parsed once for all tests of the structure.

In: src/headrace.  Out: their paths, texts and trees, and `tell`, which reports every problem at
once as `path:line what is wrong (what mends it)`.  Next: structure/test_signposts.py
"""

from __future__ import annotations

import ast
import gc
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src"
PACKAGE = SOURCE / "headrace"


@dataclass(frozen=True)
class SourceFile:
    """A module of the package."""

    path: Path
    text: str
    tree: ast.Module

    @property
    def inside(self) -> str:
        """The path inside the package: ``runtime/task.py``."""
        return str(self.path.relative_to(PACKAGE))

    def at(self, line: int) -> str:
        """How a problem in a line begins: editors and terminals lead from it to the place."""
        return place(self.path, line)


@cache
def source_files() -> tuple[SourceFile, ...]:
    # A million nodes live to the end: looking among them for garbage takes five times as long.
    gc.disable()
    try:
        return tuple(source_file(path) for path in sorted(PACKAGE.rglob("*.py")))
    finally:
        gc.freeze()
        gc.enable()


def source_file(path: Path) -> SourceFile:
    text = path.read_text(encoding="utf-8")
    return SourceFile(path, text, ast.parse(text, str(path)))


def place(path: Path, line: int) -> str:
    return f"{path.relative_to(ROOT) if path.is_relative_to(ROOT) else path}:{line}"


def line_of(text: str, offset: int) -> int:
    return text.count("\n", 0, offset) + 1


def module_name(path: Path) -> str:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def tell(problems: Iterable[str]) -> None:
    """Fails with all problems, a line each, and without the traceback of the test."""
    if found := list(problems):
        pytest.fail("\n".join([f"{len(found)} to mend:", *found]), pytrace=False)


def tell_if_stale(page: Path, wanted: str, command: str) -> None:
    """Fails with the first line in which a generated file differs from what would be written."""
    there = page.read_text(encoding="utf-8") if page.exists() else ""
    if there == wanted:
        return
    old, new = there.split("\n"), wanted.split("\n")
    same = (number for number, (a, b) in enumerate(zip(old, new, strict=False), 1) if a != b)
    line = next(same, min(len(old), len(new)))
    tell([f"{place(page, line)} is not what would be generated today (run `{command}`)"])
