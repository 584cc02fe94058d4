"""Finds the line of the user's program that made a step.

Every step of the graph keeps one, so that an error hours later can point at it.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from headrace.errors import line_of_code

_PACKAGE = str(Path(__file__).resolve().parent.parent) + "/"


@dataclass(frozen=True, slots=True)
class CallSite:
    """File, line and text of a call in the user's program."""

    file: str
    line: int
    text: str = ""

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}"
        return f"{place} {self.text}" if self.text else place


def call_site() -> CallSite:
    """The innermost frame of the running program that is not headrace's own."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    name, line = frame.f_code.co_filename, frame.f_lineno
    return CallSite(Path(name).name, line, line_of_code(name, line))
