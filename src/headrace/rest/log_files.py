"""Logs over HTTP: a list, and the end of one.

In: files that somebody else has chosen.  Out: answers.  A request names a file of that list,
never a path.
"""

from __future__ import annotations

import logging
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from starlette.responses import Response

from headrace.rest.answers import not_found

if TYPE_CHECKING:
    from headrace.common.opaque import JsonObject

# Of a long log the end is what is looked for.
_MOST_BYTES = 4 << 20


def own_logs() -> list[Path]:
    """The files that this process writes its log to."""
    handlers = [*logging.getLogger().handlers, *logging.getLogger("headrace").handlers]
    named = [Path(h.baseFilename) for h in handlers if isinstance(h, logging.FileHandler)]
    return list(dict.fromkeys([*named, *_redirected()]))


def _redirected() -> list[Path]:
    """Where standard error goes, if that is a file: a detached dispatcher's log."""
    try:
        if stat.S_ISREG(os.fstat(2).st_mode):
            return [Path(f"/proc/self/fd/{2}").readlink()]
    except OSError:
        pass  # closed, or a system without /proc
    return []


def log_list(files: list[Path]) -> JsonObject:
    """Flink's list of logs."""
    return {"logs": [_entry(file) for file in files if file.is_file()]}


def _entry(file: Path) -> JsonObject:
    found = file.stat()
    return {"name": file.name, "size": found.st_size, "mtime": int(found.st_mtime * 1000)}


def log_answer(files: list[Path], name: str) -> Response:
    """A log as text; of a long one the last 4 MB.

    Raises:
        Refusal: 404, no log has this name.
    """
    for file in files:
        if file.name == name and file.is_file():
            return Response(_tail(file), media_type="text/plain; charset=utf-8")
    known = ", ".join(file.name for file in files) or "there is none"
    raise not_found(f"there is no log {name[:100]!r}", f"known: {known}")


def _tail(file: Path) -> bytes:
    with file.open("rb") as stream:
        size = stream.seek(0, os.SEEK_END)
        stream.seek(max(0, size - _MOST_BYTES))
        return stream.read()
