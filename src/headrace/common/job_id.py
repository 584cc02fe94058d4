"""The identity of a job: 32 hexadecimal digits."""

from __future__ import annotations

import re
import uuid

from headrace.errors import InvalidArgumentError

__all__ = ["JobID"]


class JobID:
    """The identity of a job."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        if not re.fullmatch(r"[0-9a-f]{32}", text):
            raise InvalidArgumentError(f"a job id is 32 hexadecimal digits, not {text!r}")
        self._text = text

    @staticmethod
    def generate() -> JobID:
        """A fresh id."""
        return JobID(uuid.uuid4().hex)

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"JobID({self._text!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, JobID) and self._text == other._text

    def __hash__(self) -> int:
        return hash(self._text)
