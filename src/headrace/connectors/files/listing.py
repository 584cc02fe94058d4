"""Which files a source has: below folders and wildcards, on this machine or in a store.

In: paths of a `FileSource`.  Out: `FoundFile`, the names that Spark's reader would skip left out.
Next: python_reader.py (every file is a split), content.py (what is in one)
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.errors import ConnectorError
from headrace.io.storage import Storage, local_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["FoundFile", "files_of", "glob_pattern", "has_wildcards", "missing_path", "plain_path"]


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file that can be read.

    Attributes:
        path: absolute, or a URI of the scheme that the user wrote: the name of the split.
        size_bytes: as it is stored, packed or not.
        modified_ns: when it was written last.
    """

    path: str
    size_bytes: int
    modified_ns: int


def files_of(path: str, name_filter: str | None = None) -> list[FoundFile] | None:
    """The files of one path; None if there is nothing at it.

    Args:
        path: of a file or folder, or with wildcards.
        name_filter: wildcards that the last part of a name must fit.

    Raises:
        ConnectorError: its file system cannot be reached.
    """
    path = plain_path(path)
    root = _fixed_part(path) if has_wildcards(path) else path.rstrip("/") or "/"
    found = _below(root)
    if has_wildcards(path):
        found = None if found is None else _fitting(found, path)
    elif found is not None:
        found = [file for file in found if not _is_hidden(_rest(file.path, root))]
    if found is None or name_filter is None:
        return found
    fits = re.compile(glob_pattern(name_filter) + r"\Z").match
    return [file for file in found if fits(file.path.rpartition("/")[2])]


def plain_path(path: str) -> str:
    """A path of this machine without a scheme; a URI of any other place as it is."""
    if not path.startswith("file:"):
        return path
    rest = path.removeprefix("file:")
    return "/" + rest.lstrip("/") if rest.startswith("//") else rest


def has_wildcards(path: str) -> bool:
    """Whether a path names many."""
    return any(char in path for char in "*?[{")


def missing_path(path: str) -> ConnectorError:
    """What a user is told who names a path that is not there."""
    near = Path(path)
    while not near.exists() and near != near.parent:
        near = near.parent
    hint = "" if "://" in path else f"; {str(near)!r} exists"
    return ConnectorError(
        f"there is nothing to read at {path!r}{hint}",
        fix="correct the path; for a directory that is filled later, create it first; if a job of "
        "this script writes it, wait for the job: SET 'table.dml-sync' = 'true' in front of INSERT",
    )


# --- names ----------------------------------------------------------------------------------------


def _rest(path: str, root: str) -> str:
    """What stands below a root; of the root itself, its own name."""
    return path[len(root) :].strip("/") if path != root else path.rpartition("/")[2]


def _is_hidden(rest: str) -> bool:
    """Whether Spark's listing leaves a file out: for its own name, or that of a folder of it."""
    return any(
        part.startswith(".")
        or part.endswith("._COPYING_")
        or (part.startswith("_") and "=" not in part)
        for part in rest.split("/")
    )


def _fixed_part(path: str) -> str:
    """The folder above the first wildcard."""
    parts = path.split("/")
    first = next(number for number, part in enumerate(parts) if has_wildcards(part))
    return "/".join(parts[:first]) or "/"


def _fitting(found: list[FoundFile], path: str) -> list[FoundFile] | None:
    """The files that a path with wildcards names, and those below folders that it names."""
    pattern = re.compile(glob_pattern(path.rstrip("/")) + r"(?=/|\Z)")
    fitting = [(file, match.end()) for file in found if (match := pattern.match(file.path))]
    seen = [
        file
        for file, end in fitting
        if not _is_hidden(file.path[end:].strip("/") or file.path.rpartition("/")[2])
    ]
    return seen if fitting else None


def glob_pattern(glob: str) -> str:
    """Hadoop's wildcards as a regular expression: ``*``, ``?``, ``[a-z]``, ``{a,b}``."""
    out, depth, at = [], 0, 0
    while at < len(glob):
        char = glob[at]
        at += 1
        if char == "\\" and at < len(glob):
            out.append(re.escape(glob[at]))
            at += 1
        elif char == "[" and "]" in glob[at + 1 :]:
            end = glob.index("]", at + 1)
            inside = glob[at:end].replace("\\", "\\\\")
            out.append("[^" + inside[1:] + "]" if inside[0] in "!^" else f"[{inside}]")
            at = end + 1
        elif char == "{" or (char == "}" and depth):
            depth += 1 if char == "{" else -1
            out.append("(?:" if char == "{" else ")")
        elif char == "," and depth:
            out.append("|")
        else:
            out.append({"*": "[^/]*", "?": "[^/]"}.get(char, re.escape(char)))
    return "".join(out)


# --- places ---------------------------------------------------------------------------------------


def _below(root: str) -> list[FoundFile] | None:
    """All files below a folder, or the file itself; None if there is nothing."""
    here = local_path(root)
    if here is None:
        return _in_store(root)
    if here.is_file():
        return list(_local_files(root, [here]))
    if not here.is_dir():
        return None
    inside = (Path(folder, name) for folder, _, names in os.walk(here) for name in names)
    return list(_local_files(root, inside, here))


def _local_files(root: str, files: Iterable[Path], top: Path | None = None) -> Iterator[FoundFile]:
    for file in files:
        try:
            stat = file.stat()
        except FileNotFoundError:  # gone since it was listed
            continue
        name = root if top is None else f"{root.rstrip('/')}/{file.relative_to(top)}"
        yield FoundFile(name, stat.st_size, stat.st_mtime_ns)


def _in_store(root: str) -> list[FoundFile] | None:
    found = Storage.open(root).find()
    if found is None:
        return None
    return [
        FoundFile(f"{root}/{name}" if name else root, size, modified_ns)
        for name, size, modified_ns in found
    ]
