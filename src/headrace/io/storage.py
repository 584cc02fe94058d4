"""One output folder on any file system pyarrow knows, with the few operations that sinks need.

In: a path or URI from the user.  Out: reads, writes and moves below it, paths relative to it.
Next: connectors/files/writer.py (stages), connectors/files/committer.py (publishes)
"""

from __future__ import annotations

import contextlib
import os
import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Self

import pyarrow as pa
from pyarrow import fs as pafs

from headrace.errors import ConnectorError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_SCHEME = re.compile(r"^([a-zA-Z][a-zA-Z0-9+.-]*)://")
# Names that Hadoop gives the same store; pyarrow only knows the first.
_SAME_STORE = {"s3a": "s3", "s3n": "s3"}
_KNOWN = "file, s3 (also s3a), gs, abfs, hdfs, viewfs"


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file as a listing shows it: its name without folder, and its size."""

    name: str
    size_bytes: int


def absolute_target(path: str | os.PathLike[str]) -> str:
    """The path as every process will understand it.

    Called where the user's program runs: workers have another working directory, so a relative
    path must be resolved here and not there.
    """
    path = os.fspath(path)
    if _SCHEME.match(path):
        return path
    return str(Path(path).expanduser().absolute())


def local_path(target: str) -> Path | None:
    """The folder behind a path or URI on this machine; None if it is elsewhere."""
    path = target.removeprefix("file://")
    return None if _SCHEME.match(path) else Path(path)


class Storage:
    """A folder and the operations on it; ``durable`` folders are local and get fsync."""

    def __init__(self, filesystem: pafs.FileSystem, root: str, *, shown_as: str | None = None):
        self._fs = filesystem
        self._root = root.rstrip("/") or "/"
        self._shown_as = shown_as or root
        self._durable = isinstance(filesystem, pafs.LocalFileSystem)
        self._made: set[str] = set()

    @classmethod
    def open(cls, target: str) -> Self:
        """The folder behind a path or URI.

        Raises:
            ConnectorError: the scheme is unknown or its library is missing.
        """
        match = _SCHEME.match(target)
        if match is None:
            return cls(pafs.LocalFileSystem(), absolute_target(target), shown_as=target)
        scheme = match.group(1).lower()
        uri = _SAME_STORE.get(scheme, scheme) + target[match.end(1) :]
        try:
            filesystem, root = pafs.FileSystem.from_uri(uri)
        except (pa.ArrowException, OSError, ImportError) as error:
            raise ConnectorError(
                f"cannot open {target!r}: {_first_line(error)}",
                where=f"file system of scheme {scheme!r}",
                fix=f"use a local path or a URI of one of: {_KNOWN}; check host and bucket, and "
                "that the credentials are visible to driver and workers",
            ) from error
        return cls(filesystem, root, shown_as=target)

    def __str__(self) -> str:
        return self._shown_as

    def check_target(self) -> None:
        """Fails early, with a fix, when this folder cannot take output.

        Raises:
            ConnectorError: the target is a file, or cannot be created or written.
        """
        with self.explained("look at", ""):
            kind = self._fs.get_file_info(self._root).type
        if kind == pafs.FileType.File:
            raise ConnectorError(
                f"the output path {self._shown_as!r} is a file, but a sink writes into a folder",
                where=self._shown_as,
                fix="give the sink another path, or move the file away",
            )
        if self._durable:
            self._check_local_rights()

    def _check_local_rights(self) -> None:
        nearest = Path(self._root)
        while not nearest.exists() and nearest != nearest.parent:
            nearest = nearest.parent
        if nearest.is_dir() and os.access(nearest, os.W_OK | os.X_OK):
            return
        what = "is not a folder" if not nearest.is_dir() else "is not writable for this user"
        raise ConnectorError(
            f"the output folder {self._shown_as!r} cannot be written: {str(nearest)!r} {what}",
            where=self._shown_as,
            fix=f"change the rights of {str(nearest)!r}, run as another user, or write elsewhere",
        )

    # reading

    def list(self, folder: str) -> list[StoredFile]:
        """The files directly in a folder, sorted by name; empty when there is no such folder."""
        selector = pafs.FileSelector(self._at(folder), allow_not_found=True)
        with self.explained("list", folder):
            found = self._fs.get_file_info(selector)
        files = [StoredFile(f.base_name, f.size) for f in found if f.type == pafs.FileType.File]
        return sorted(files, key=lambda file: file.name)

    def folders(self, folder: str) -> tuple[str, ...]:
        """The names of the folders directly in a folder; empty when there is no such folder."""
        selector = pafs.FileSelector(self._at(folder), allow_not_found=True)
        with self.explained("list", folder):
            found = self._fs.get_file_info(selector)
        return tuple(sorted(f.base_name for f in found if f.type == pafs.FileType.Directory))

    def walk(self, folder: str) -> Iterator[str]:
        """The paths of all files below a folder, relative to this storage."""
        for file in self.list(folder):
            yield f"{folder}/{file.name}"
        for name in self.folders(folder):
            yield from self.walk(f"{folder}/{name}")

    def find(self) -> tuple[tuple[str, int, int], ...] | None:
        """(path, size, time of the last change in ns) of every file below; None without any place.

        Paths are relative to this storage; if it is itself a file, that one has the path "".
        """
        with self.explained("list", ""):
            info = self._fs.get_file_info(self._root)
            if info.type == pafs.FileType.NotFound:
                return None
            if info.type == pafs.FileType.File:
                return (("", info.size, info.mtime_ns or 0),)
            found = self._fs.get_file_info(pafs.FileSelector(self._root, recursive=True))
        below = len(self._root.rstrip("/")) + 1
        return tuple(
            (file.path[below:], file.size, file.mtime_ns or 0)
            for file in found
            if file.type == pafs.FileType.File
        )

    def exists(self, path: str) -> bool:
        """Whether there is a file at this path."""
        with self.explained("look at", path):
            info: pafs.FileInfo = self._fs.get_file_info(self._at(path))
            return bool(info.type == pafs.FileType.File)

    def read(self, path: str) -> bytes:
        """The whole content of a small file."""
        with self.explained("read", path), self._fs.open_input_stream(self._at(path)) as stream:
            return bytes(stream.read())

    def open_input(self, path: str) -> pa.NativeFile:
        """A seekable stream over a file."""
        with self.explained("read", path):
            return self._fs.open_input_file(self._at(path))

    # writing

    def make(self) -> None:
        """Makes the folder itself, if it is not there."""
        with self.explained("make", ""):
            self._fs.create_dir(self._root, recursive=True)

    def open_output(self, path: str) -> pa.NativeFile:
        """A buffered stream to a new file; its folder is made when missing."""
        self._make_folder_of(path)
        with self.explained("write", path):
            return self._fs.open_output_stream(self._at(path), buffer_size=256 * 1024)

    def seal(self, path: str) -> None:
        """Forces a closed file to disk, so that a manifest never names data that is not there."""
        if self._durable:
            with self.explained("write", path):
                _fsync(self._at(path))

    def write_atomic(self, path: str, content: bytes) -> None:
        """Writes a small file that is either wholly there or not at all, also after a crash."""
        # hidden, so that a Spark stream over the folder does not look at it
        draft = str(PurePosixPath(path).with_name(f".{PurePosixPath(path).name}.tmp"))
        with self.explained("write", path):
            with self.open_output(draft) as stream:
                stream.write(content)
            self.seal(draft)
        self.move(draft, path)
        self.sync_folders([path])

    def move(self, source: str, target: str) -> None:
        """Renames a file, replacing the target; atomic where the file system can rename."""
        self._make_folder_of(target)
        with self.explained(f"move to {target!r} from", source):
            self._fs.move(self._at(source), self._at(target))

    def sync_folders(self, paths: Iterable[str]) -> None:
        """Forces the renames into the folders of these paths to disk."""
        if self._durable:
            for folder in {str(PurePosixPath(self._at(path)).parent) for path in paths}:
                # A reader that clears away files may take the emptied folder along.
                with self.explained("write", folder), contextlib.suppress(FileNotFoundError):
                    _fsync(folder)

    def delete(self, path: str) -> None:
        """Removes a file; none being there is fine."""
        with self.explained("delete", path):
            try:
                self._fs.delete_file(self._at(path))
            except OSError:
                # Stores tell a missing file in different words, so ask instead of parsing.
                if self._fs.get_file_info(self._at(path)).type != pafs.FileType.NotFound:
                    raise

    def delete_folder(self, path: str) -> None:
        """Removes a folder and what is left in it; no error when it is not there."""
        if self._fs.get_file_info(self._at(path)).type == pafs.FileType.Directory:
            with self.explained("delete", path):
                self._fs.delete_dir(self._at(path))

    def _make_folder_of(self, path: str) -> None:
        folder = str(PurePosixPath(self._at(path)).parent)
        if folder not in self._made:
            with self.explained("make the folder", folder):
                self._fs.create_dir(folder, recursive=True)
            # Somebody may clear away an empty local folder while the job runs, and asking again is
            # cheap there; in a store every call is a request and folders do not really exist.
            if not self._durable:
                self._made.add(folder)

    def _at(self, path: str) -> str:
        return f"{self._root.rstrip('/')}/{path}" if path else self._root

    @contextlib.contextmanager
    def explained(self, verb: str, path: str) -> Iterator[None]:
        """Turns errors of the file system into ours, with what was tried and where."""
        try:
            yield
        except (pa.ArrowException, OSError) as error:
            raise ConnectorError(
                f"cannot {verb} {path or 'the folder'!r}: {_first_line(error)}",
                where=self._shown_as,
                fix="check that the folder exists, that driver and workers may write to it, and "
                "that there is space; then try again (a job that has failed: start it again, "
                "nothing is written twice)",
            ) from error


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


def _fsync(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
