"""The board of watermark alignment as small files: the sources are asked in processes of their own.

In: a folder on the driver's disk.  Out: `DriverBoard` for the driver, which writes the marks, and
`SourceBoard` for the process beside the driver in which a source is planned, which reads them and
writes its own posts.  Every file has one writer, and is replaced as a whole.
Next: hosts/alignment.py decides; python_source.py asks before it plans.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from dataclasses import astuple
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.hosts.alignment import Board, Post, SplitMark

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.common.opaque import JsonObject, JsonValue
    from headrace.spi.host import AlignedSplit

__all__ = ["DriverBoard", "SourceBoard"]

_MARKS = "marks.json"


class DriverBoard(Board):
    """The driver's end, for one run: the folder is new, and goes with it."""

    def __init__(self) -> None:
        super().__init__()
        self._folder = tempfile.TemporaryDirectory(prefix="headrace-alignment-")

    @property
    def folder(self) -> Path:
        """Where the sources look."""
        return Path(self._folder.name)

    def note(self, reported: Mapping[str, Mapping[str, AlignedSplit]]) -> None:
        """Take in what the tasks of an epoch reported, before the next one is planned."""
        if not reported:
            return
        super().note(reported)
        marks = {
            group: {name: list(astuple(mark)) for name, mark in splits.items()}
            for group, splits in self.marks().items()
        }
        _replace(self.folder / _MARKS, marks)

    def close(self) -> None:
        """The run has ended."""
        self._folder.cleanup()


class SourceBoard:
    """The end of one source.

    Args:
        folder: the driver's.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def marks(self) -> dict[str, dict[str, SplitMark]]:
        """How far all splits are, after the last epoch."""
        return {
            group: {name: SplitMark(*fields) for name, fields in splits.items()}
            for group, splits in _content(self._folder / _MARKS).items()
        }

    def posts(self) -> dict[str, Post]:
        """What all sources said when they last planned."""
        return {
            name: Post(*fields)
            for file in self._folder.glob("source-*.json")
            for name, fields in _content(file).items()
        }

    def post(self, source_id: str, posts: dict[str, Post]) -> None:
        """What this source says now."""
        name = hashlib.sha256(source_id.encode()).hexdigest()[:24]
        said = {name: list(astuple(post)) for name, post in posts.items()}
        _replace(self._folder / f"source-{name}.json", said)


def _content(file: Path) -> JsonObject:
    try:
        found: JsonObject = json.loads(file.read_text())
    except FileNotFoundError:  # no epoch has ended yet, or the run is over
        return {}
    return found


def _replace(file: Path, content: JsonValue) -> None:
    draft = file.with_suffix(".draft")
    try:
        draft.write_text(json.dumps(content))
        draft.replace(file)
    except FileNotFoundError:
        pass  # the run is over, and its folder gone: nobody will ask
