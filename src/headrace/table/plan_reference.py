"""``PlanReference``: where a compiled plan is.  Next: table/compiled_plan.py reads it"""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn

from headrace.errors import UnsupportedStepError

__all__ = [
    "BytesContentPlanReference",
    "FilePlanReference",
    "JsonContentPlanReference",
    "PlanReference",
]


class PlanReference:
    """A plan in a file, or as text."""

    def __init__(self, content: str) -> None:
        self._content = content

    def _json(self) -> str:
        """The plan as text."""
        return self._content

    def __hash__(self) -> int:
        return hash(self._content)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other._content == self._content

    def __str__(self) -> str:
        return f"Plan: {self._content[:200]}"

    @staticmethod
    def from_file(path: str | Path) -> FilePlanReference:
        """A plan in a file."""
        return FilePlanReference(str(path))

    @staticmethod
    def from_json_string(json_string: str) -> JsonContentPlanReference:
        """A plan as text."""
        return JsonContentPlanReference(json_string)

    @staticmethod
    def from_smile_bytes(smile_bytes: bytes) -> NoReturn:
        """Refused: Smile is a form of JSON that Java programs read."""
        raise no_smile()


class FilePlanReference(PlanReference):
    """A plan in a file."""

    def get_file(self) -> Path:
        """The file."""
        return Path(self._content).resolve()

    def _json(self) -> str:
        return self.get_file().read_text(encoding="utf-8")

    def __str__(self) -> str:
        return f"Plan from file: {self._content}"


class JsonContentPlanReference(PlanReference):
    """A plan as text."""

    def get_content(self) -> str:
        """The text."""
        return self._content


class BytesContentPlanReference(PlanReference):
    """A plan as Smile bytes, which headrace does not write or read."""

    def get_content(self) -> bytes:
        """Refused: there is none."""
        raise no_smile()


def no_smile() -> UnsupportedStepError:
    """The error of what is asked for in Smile's form."""
    return UnsupportedStepError(
        "plans are not written or read in Smile's form",
        fix="use as_json_string, write_to_file and PlanReference.from_json_string",
    )
