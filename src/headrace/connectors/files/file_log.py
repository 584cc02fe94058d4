"""Which files were read, in Spark's words and in ours: positions move between the two.

    Spark, for each path of the source          Python, for the whole source
    {"logOffset": 3}, and a log of files   ◀──▶ {"/in/a.csv": "done", "/in/b.csv": "done"}

Spark's log is a folder of files: 0, 1, 2, ... one a batch, and N.compact, which has all of the
batches up to N.  In: what a savepoint holds of a source (spi/host.py, `SourcePosition`, and its
folder ``sources/N``).  Out: the same for the other way of reading.  Pure: who reads and writes the
files is hosts/spark/state/checkpoints.py.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import unquote

from headrace.connectors.files.listing import glob_pattern, has_wildcards, plain_path
from headrace.connectors.files.readers import DONE
from headrace.errors import StateError
from headrace.spi.source import Obstacle

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from headrace.connectors.files.source import FileSource
    from headrace.spi.python_source import Position

__all__ = [
    "SparkFileLog",
    "position_for_spark",
    "position_from_spark",
    "restored_position",
    "saved_logs",
    "why_not_for_spark",
]

_VERSION = "v1"
# Of a position that has no form in Spark's words: where the offset of a log would stand.
_IN_PYTHON = "filesInPython"
# What Java leaves alone in the path of a URI; letters of other alphabets it leaves alone, too.
_QUOTED = re.compile(r"[^A-Za-z0-9_\-!.~'()*,;:$&+=@/\x80-\U0010ffff]")
_LOG_NAME = re.compile(r"(\d+)(\.compact)?")


@dataclass(frozen=True, slots=True)
class SparkFileLog:
    """Where one of Spark's file streams is: one of them for each path of a source.

    Attributes:
        offset: as it stands in Spark's offset log; None if it has read nothing.
        files: the log of what it has read: name in its folder, content.
    """

    offset: str | None = None
    files: Mapping[str, bytes] = field(default_factory=dict)


def position_from_spark(logs: Iterable[SparkFileLog]) -> Position:
    """Where a source is in Python that Spark has read up to some logs.

    Args:
        logs: of its paths, in any order. Entries behind a log's offset were never committed: their
            files are read again.

    Raises:
        StateError: a log is not of the form that this version knows.
    """
    position = {path: DONE for log in logs for path in _read_files(log)}
    return dict(sorted(position.items()))


def _read_files(log: SparkFileLog) -> list[str]:
    if log.offset is None:
        return []
    last = int(json.loads(log.offset)["logOffset"])
    return [
        _path_of(entry["path"])
        for name, content in log.files.items()
        if _LOG_NAME.fullmatch(name)
        for entry in _entries(name, content)
        if int(entry["batchId"]) <= last
    ]


def _entries(name: str, content: bytes) -> list[dict[str, str]]:
    version, *lines = content.decode().split("\n")
    if version != _VERSION:
        raise StateError(
            f"Spark wrote file {name!r} of its log of files in form {version!r}, which this "
            "version does not know"
        )
    return [json.loads(line) for line in lines if line]


def position_for_spark(
    source: FileSource, position: Position, modified_ms: Mapping[str, int] | None = None
) -> list[SparkFileLog] | Obstacle:
    """Where Spark's streams of a source are that Python has read up to a position.

    Args:
        source: whose paths are the streams.
        position: of the source in Python.
        modified_ms: when files were changed last, if it is known; Spark goes by names.

    Returns:
        A log for each path, in the order of the paths; or what stands in the way.
    """
    obstacle = _half_read(position)
    if obstacle is not None:
        return obstacle
    read = sorted(path for path, offset in position.items() if offset == DONE)
    times = modified_ms or {}
    return [_log(_below(path, read), times) for path in source.paths]


def _half_read(position: Position) -> Obstacle | None:
    half = sorted(path for path, offset in position.items() if offset not in (DONE, 0))
    if not half:
        return None
    others = f" and of {len(half) - 1} other files" if len(half) > 1 else ""
    return Obstacle(
        f"has read a part of {half[0]}{others}, which Spark's reader cannot continue with: it "
        "knows whole files only",
        "take the savepoint when the files are read to their end, or continue on a host that reads "
        "files in Python",
    )


# --- savepoints -----------------------------------------------------------------------------------


def saved_logs(source: FileSource, position: Position) -> list[SparkFileLog]:
    """What a savepoint keeps of a source that Python reads: Spark's logs, wherever it can.

    A position inside of a file is kept as it is, for `restored_position` alone.
    """
    logs = position_for_spark(source, position)
    if isinstance(logs, Obstacle):
        return [SparkFileLog(json.dumps({_IN_PYTHON: position}))]
    return logs


def restored_position(logs: Sequence[SparkFileLog]) -> Position:
    """Where a source is in Python, from what a savepoint keeps of it, whoever has read it."""
    inside = [_in_python(log.offset) for log in logs]
    found = next((position for position in inside if position is not None), None)
    return position_from_spark(logs) if found is None else found


def why_not_for_spark(offset: str | None) -> Obstacle | None:
    """Why Spark cannot continue at what a savepoint keeps of a source; None if it can."""
    position = _in_python(offset)
    return None if position is None else _half_read(position)


def _in_python(offset: str | None) -> Position | None:
    if offset is None or _IN_PYTHON not in offset:
        return None
    found: Position | None = json.loads(offset).get(_IN_PYTHON)
    return found


# --- Spark's log ----------------------------------------------------------------------------------


def _log(files: Sequence[str], modified_ms: Mapping[str, int]) -> SparkFileLog:
    if not files:
        return SparkFileLog()
    entries = [
        {"path": _uri_of(path), "timestamp": modified_ms.get(path, 0), "batchId": 0}
        for path in files
    ]
    lines = [json.dumps(e, separators=(",", ":"), ensure_ascii=False) for e in entries]
    return SparkFileLog('{"logOffset":0}', {"0": "\n".join([_VERSION, *lines]).encode()})


def _below(path: str, files: list[str]) -> list[str]:
    """The files that belong to a path of the source."""
    path = plain_path(path).rstrip("/")
    pattern = glob_pattern(path) if has_wildcards(path) else re.escape(path)
    belongs = re.compile(pattern + r"(?=/|\Z)").match
    return [file for file in files if belongs(file)]


def _path_of(uri: str) -> str:
    """A URI of Spark's log as the name of a split."""
    scheme, separator, rest = uri.partition("://")
    if not separator:
        return unquote(uri.removeprefix("file:"))
    if scheme == "file":
        return unquote(rest)
    authority, slash, path = rest.partition("/")
    return f"{scheme}://{authority}{slash}{unquote(path)}"


def _uri_of(path: str) -> str:
    scheme, separator, rest = path.partition("://")
    if not separator:
        return f"file://{_quoted(path)}"
    authority, slash, below = rest.partition("/")
    return f"{scheme}://{authority}{slash}{_quoted(below)}"


def _quoted(path: str) -> str:
    return _QUOTED.sub(lambda char: f"%{ord(char[0]):02X}", path)
