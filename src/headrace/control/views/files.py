"""Files of jobs as they are now: each is parsed once for every time that it changes.

In: paths.  Out: parsed JSON, shared by all who ask: nobody may change it.
Next: control/views/reader.py
"""

from __future__ import annotations

import json
import os
import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from headrace.common.opaque import JsonObject

__all__ = ["GrowingFiles", "JsonFiles", "Version"]

# what tells one content of a file from another: replaced files have another number
Version = tuple[int, int, int]


def version_of(found: os.stat_result) -> Version:
    """The version of a file that was looked at."""
    return found.st_mtime_ns, found.st_size, found.st_ino


class JsonFiles:
    """Parsed files; of many the last used ones are kept.

    Args:
        kept: how many.
    """

    def __init__(self, kept: int) -> None:
        self._kept = kept
        self._lock = threading.Lock()
        self._parsed: OrderedDict[Path, tuple[Version, JsonObject]] = OrderedDict()

    def get(self, path: Path) -> tuple[Version | None, JsonObject]:
        """The content and its version; None and nothing if it is not there or not ours."""
        try:
            version = version_of(path.stat())
        except OSError:
            return None, {}
        with self._lock:
            known = self._parsed.get(path)
            if known is not None and known[0] == version:
                self._parsed.move_to_end(path)
                return known
        try:
            content = json.loads(path.read_bytes())
        except (OSError, ValueError):
            return None, {}
        if not isinstance(content, dict):
            return None, {}
        with self._lock:
            self._parsed[path] = (version, content)
            self._parsed.move_to_end(path)
            while len(self._parsed) > self._kept:
                self._parsed.popitem(last=False)
        return version, content


@dataclass(slots=True)
class _Tail:
    number: int
    size: int = 0
    lines: list[JsonObject] = field(default_factory=list)


class GrowingFiles:
    """Files that grow by lines: only what was added is read.

    Args:
        kept: how many files.
    """

    def __init__(self, kept: int) -> None:
        self._kept = kept
        self._lock = threading.Lock()
        self._known: OrderedDict[Path, _Tail] = OrderedDict()

    def get(self, path: Path) -> list[JsonObject]:
        """All whole lines of a file."""
        with self._lock:
            try:
                with path.open("rb") as file:
                    return list(self._read(path, file.fileno()))
            except OSError:
                self._known.pop(path, None)
                return []

    def _read(self, path: Path, file: int) -> list[JsonObject]:
        found = os.fstat(file)
        tail = self._known.get(path)
        if tail is None or tail.number != found.st_ino or tail.size > found.st_size:
            tail = _Tail(found.st_ino)
        if found.st_size > tail.size:
            added = os.pread(file, found.st_size - tail.size, tail.size)
            whole = added[: added.rfind(b"\n") + 1]
            parsed = [_parsed(line) for line in whole.splitlines()]
            tail.lines += [line for line in parsed if line is not None]
            tail.size += len(whole)
        self._known[path] = tail
        self._known.move_to_end(path)
        while len(self._known) > self._kept:
            self._known.popitem(last=False)
        return tail.lines


def _parsed(line: bytes) -> JsonObject | None:
    """A line; None where a driver was killed while it wrote."""
    try:
        content = json.loads(line)
    except ValueError:
        return None
    return content if isinstance(content, dict) else None
