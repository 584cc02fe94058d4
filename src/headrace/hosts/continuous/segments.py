"""The state of a subtask as segments: files that are written once, one for each epoch.

    put, delete ─▶ the open segment ── barrier ─▶ sealed, its name is told to the driver
    get ─▶ index (in memory): name of a page ─▶ which segment, where in it

A checkpoint is a list of segment names, so an epoch writes only what it has changed, and recovery
reads no page before it is asked for.  Pages that were replaced are left behind; when they outweigh
the others a thread writes neighbouring segments anew, while the old ones are still in use.

Where the checkpoint is on another machine, a segment is written here first and copied there; the
copy here is what a restarted task reads (local recovery), the checkpoint if it is gone.

A segment: pages one behind the other, the index, its place.  In: pages.  Out: names of segments.
Next: hosts/continuous/epochs.py says which of them count
"""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import struct
import threading
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple

from headrace.errors import StateError
from headrace.io.storage import Storage, local_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

__all__ = ["SegmentStore", "Segments"]

log = logging.getLogger(__name__)

_MAGIC = b"hrs1"
_ENTRY = struct.Struct("<HQIIB")  # length of the name, place, length, checksum, is it a page
_TAIL = struct.Struct("<QII4s")  # where the index begins, how many entries, its checksum
# what is put waits in memory until it is this much
_BUFFER_BYTES = 8 << 20
# so many segments may stand side by side before the smallest are joined
_MOST_SEGMENTS = 12
# segments whose live part is below this share of their size are written anew
_LIVE_SHARE = 0.5
_COPY_BYTES = 4 << 20


class PagePlace(NamedTuple):
    """Where a page is."""

    segment: str
    start: int
    length: int
    checksum: int


@dataclass(slots=True)
class _SealedSegment:
    """A sealed segment in use."""

    name: str
    size_bytes: int
    file: IO[bytes]
    live_bytes: int = 0
    # what it says of names: a page, or None where it was deleted
    entries: dict[bytes, PagePlace | None] = field(default_factory=dict)


class Sealed(NamedTuple):
    """What an epoch left: its segments, and those of them that are not durable yet."""

    names: list[str]
    new: list[str]


class Segments:
    """The segments of one subtask, in the checkpoint and, if that is elsewhere, in a folder here.

    Args:
        checkpoint: the folder in the job's checkpoint.
        cache: a folder on this machine; used if the checkpoint is on another one.
    """

    def __init__(self, checkpoint: str, cache: str) -> None:
        here = local_path(checkpoint)
        self._remote = None if here is not None else Storage.open(checkpoint)
        self.folder = here or Path(cache)
        self.folder.mkdir(parents=True, exist_ok=True)

    def path(self, name: str) -> Path:
        """Where a segment is on this machine, brought here if it is not."""
        path = self.folder / name
        if self._remote is not None and not path.exists():
            draft = path.with_suffix(".part")
            with self._remote.open_input(name) as source, draft.open("wb") as target:
                shutil.copyfileobj(source, target, _COPY_BYTES)
            draft.rename(path)
        return path

    def secure(self, name: str) -> None:
        """Force a sealed segment to disk, and copy it to where it is safe."""
        with (self.folder / name).open("rb") as here:
            os.fsync(here.fileno())
            if self._remote is not None:
                with self._remote.open_output(name) as target:
                    shutil.copyfileobj(here, target, _COPY_BYTES)
        if self._remote is None:
            folder = os.open(self.folder, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)

    def forget(self, names: Iterable[str]) -> None:
        """Copies of this machine that no checkpoint asks for any more."""
        if self._remote is not None:
            for name in names:
                with contextlib.suppress(OSError):
                    (self.folder / name).unlink()


class _Writer:
    """Writes one segment."""

    def __init__(self, segments: Segments, name: str) -> None:
        self.name = name
        self.entries: dict[bytes, PagePlace | None] = {}
        self._segments = segments
        self._path = segments.folder / name
        self._file = self._path.open("w+b")
        self._place = 0

    def add(self, key: bytes, content: bytes | None) -> None:
        if content is None:
            self.entries[key] = None
            return
        self._file.write(content)
        self.entries[key] = PagePlace(self.name, self._place, len(content), zlib.crc32(content))
        self._place += len(content)

    def read(self, place: PagePlace) -> bytes:
        self._file.flush()
        return os.pread(self._file.fileno(), place.length, place.start)

    def seal(self) -> _SealedSegment:
        index = b"".join(map(_encoded, self.entries.items()))
        tail = _TAIL.pack(self._place, len(self.entries), zlib.crc32(index), _MAGIC)
        self._file.write(index + tail)
        self._file.close()
        size = self._place + len(index) + len(tail)
        live = sum(place.length for place in self.entries.values() if place is not None)
        return _SealedSegment(self.name, size, self._path.open("rb"), live, self.entries)

    def abandon(self) -> None:
        self._file.close()
        self._path.unlink(missing_ok=True)


def _encoded(entry: tuple[bytes, PagePlace | None]) -> bytes:
    key, place = entry
    if place is None:
        return _ENTRY.pack(len(key), 0, 0, 0, 0) + key
    return _ENTRY.pack(len(key), place.start, place.length, place.checksum, 1) + key


def _opened(segments: Segments, name: str) -> _SealedSegment:
    """A sealed segment, its index read."""
    try:
        file = segments.path(name).open("rb")
        size = os.fstat(file.fileno()).st_size
        end = size - _TAIL.size
        begin, count, checksum, magic = _TAIL.unpack(os.pread(file.fileno(), _TAIL.size, end))
        index = os.pread(file.fileno(), end - begin, begin)
    except (OSError, struct.error) as error:
        raise _corrupt(segments, name, str(error)) from error
    if magic != _MAGIC or zlib.crc32(index) != checksum:
        raise _corrupt(segments, name, "its index does not fit its checksum")
    found = _SealedSegment(name, size, file)
    position = 0
    for _ in range(count):
        length, start, size_bytes, crc, is_page = _ENTRY.unpack_from(index, position)
        position += _ENTRY.size
        key = index[position : position + length]
        position += length
        found.entries[key] = PagePlace(name, start, size_bytes, crc) if is_page else None
    return found


def _corrupt(segments: Segments, name: str, why: str) -> StateError:
    return StateError(
        f"the state in {name} cannot be read: {why}",
        where=str(segments.folder),
        fix="start from a savepoint, or from an earlier copy of the checkpoint's directory",
    )


class SegmentStore:
    """A PageStore of segments, used by one thread; it also lists its names.

    Args:
        segments: where they are.
        names: those that make up the state, the oldest first.
    """

    def __init__(self, segments: Segments, names: Sequence[str] = ()) -> None:
        self._segments = segments
        self._sealed: list[_SealedSegment] = [_opened(segments, name) for name in names]
        self._index: dict[bytes, PagePlace] = {}
        for segment in self._sealed:
            for key, place in segment.entries.items():
                self._point(key, place)
        self._by_name = {segment.name: segment for segment in self._sealed}
        self._count_live()
        # changes that are in no sealed segment
        self._buffer: dict[bytes, bytes | None] = {}
        self._buffered_bytes = 0
        self._open: _Writer | None = None
        self._drafts = 0
        self._joining: _Joining | None = None
        self._told = False  # that they cannot be joined
        self._prefix = "0"

    def _point(self, key: bytes, place: PagePlace | None) -> None:
        if place is None:
            self._index.pop(key, None)
        else:
            self._index[key] = place

    def _count_live(self) -> None:
        for segment in self._sealed:
            segment.live_bytes = 0
        for place in self._index.values():
            self._by_name[place.segment].live_bytes += place.length

    # --- pages -----------------------------------------------------------------------------------

    def get(self, key: bytes) -> bytes | None:
        """The stored content, or None."""
        if key in self._buffer:
            return self._buffer[key]
        place = self._index.get(key)
        return None if place is None else self._read(key, place)

    def _read(self, key: bytes, place: PagePlace) -> bytes:
        if self._open is not None and place.segment == self._open.name:
            content = self._open.read(place)
        else:
            file = self._by_name[place.segment].file
            content = os.pread(file.fileno(), place.length, place.start)
        if zlib.crc32(content) != place.checksum:
            raise _corrupt(self._segments, place.segment, f"page {key!r:.80} is not as written")
        return content

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """The stored contents of several keys."""
        return list(map(self.get, keys))

    def put(self, key: bytes, content: bytes) -> None:
        """Store or replace."""
        self._change(key, bytes(content))
        self._buffered_bytes += len(content)
        if self._buffered_bytes > _BUFFER_BYTES:
            self._drain()

    def delete(self, key: bytes) -> None:
        """Remove; unknown keys are ignored."""
        if key in self._buffer or key in self._index:
            self._change(key, None)

    def _change(self, key: bytes, content: bytes | None) -> None:
        self._buffer[key] = content

    def __iter__(self) -> Iterator[bytes]:
        names = set(self._index) | set(self._buffer)
        return iter(sorted(key for key in names if self._buffer.get(key, b"") is not None))

    def _drain(self) -> None:
        """Write what waits in memory to the open segment."""
        if self._open is None:
            self._open = _Writer(self._segments, self._new_name())
        for key, content in self._buffer.items():
            self._open.add(key, content)
            self._point(key, self._open.entries[key])
        self._buffer.clear()
        self._buffered_bytes = 0

    def _new_name(self) -> str:
        self._drafts += 1
        return f"{self._prefix}-{self._drafts}.pages"

    # --- epochs ----------------------------------------------------------------------------------

    def begin_epoch(self, number: int, attempt: str) -> None:
        """New segments are named after the epoch that they are first part of."""
        self._prefix = f"{number:010d}-{attempt}"

    def end_epoch(self) -> Sealed:
        """Seal what has changed; the segments that are the state now, once they are secured."""
        new = []
        if self._buffer or self._open is not None:
            self._drain()
            assert self._open is not None
            self._adopt(self._open.seal())
            new.append(self._open.name)
            self._open = None
        self._take_joined()
        self._join_where_due()
        return Sealed([segment.name for segment in self._sealed], new)

    def secure(self, sealed: Sealed) -> list[str]:
        """Make an epoch's segments durable; may be called in another thread.  Their names."""
        for name in sealed.new:
            self._segments.secure(name)
        return sealed.names

    def _adopt(self, segment: _SealedSegment) -> None:
        self._sealed.append(segment)
        self._by_name[segment.name] = segment

    # --- joining ---------------------------------------------------------------------------------

    def _take_joined(self) -> None:
        """Use a segment that was written anew, in the place of those it was made of."""
        joining = self._joining
        if joining is None or joining.thread.is_alive():
            return
        self._joining = None
        if joining.result is None or joining.error is not None:
            self._tell_not_joined(joining)
            return
        joined, old = joining.result, {segment.name for segment in joining.parts}
        first = self._sealed.index(joining.parts[0])
        for key, place in joined.entries.items():
            now = self._index.get(key)
            if place is not None and now is not None and now.segment in old:
                self._index[key] = place
        self._by_name[joined.name] = joined
        self._sealed = [
            *self._sealed[:first], joined, *(s for s in self._sealed[first:] if s.name not in old)
        ]  # fmt: skip
        for part in joining.parts:
            part.file.close()
            del self._by_name[part.name]
        self._segments.forget(old)

    def _tell_not_joined(self, joining: _Joining) -> None:
        """The old ones are as good, only larger; they are joined at the end of a later epoch."""
        if joining.result is not None:
            joining.result.file.close()
        if not self._told:
            log.warning(
                "segments of state in %s could not be joined, and stay as they are: %s",
                self._segments.folder, joining.error,
            )  # fmt: skip
        self._told = True

    def _join_where_due(self) -> None:
        if self._joining is not None or len(self._sealed) < 2:
            return
        self._count_live()
        parts = _worth_joining(self._sealed)
        if parts:
            live = {
                key: place
                for part in parts
                for key in part.entries
                if (place := self._index.get(key)) is not None and place.segment == part.name
            }
            # a deletion matters as long as an older segment may have the page
            gone = {
                key
                for part in parts
                for key, place in part.entries.items()
                if place is None and key not in self._index
            }
            keep_gone = gone if parts[0] is not self._sealed[0] else set()
            self._joining = _Joining(self._segments, self._new_name(), parts, live, keep_gone)

    def close(self) -> None:
        """Let go of all files; what no epoch has sealed is thrown away."""
        if self._joining is not None:
            self._joining.thread.join()
        if self._open is not None:
            self._open.abandon()
            self._open = None
        for segment in self._sealed:
            segment.file.close()

    @property
    def size_bytes(self) -> int:
        """Of all segments in use."""
        return sum(segment.size_bytes for segment in self._sealed)


class _Joining:
    """Writes live pages of neighbouring segments into one, in a thread of its own."""

    def __init__(
        self,
        segments: Segments,
        name: str,
        parts: list[_SealedSegment],
        live: dict[bytes, PagePlace],
        gone: set[bytes],
    ) -> None:
        self.parts = parts
        self.result: _SealedSegment | None = None
        self.error: Exception | None = None
        self.thread = threading.Thread(
            target=self._run, args=(segments, name, live, gone), name="headrace-join", daemon=True
        )
        self.thread.start()

    def _run(
        self, segments: Segments, name: str, live: dict[bytes, PagePlace], gone: set[bytes]
    ) -> None:
        files = {part.name: part.file for part in self.parts}
        writer = _Writer(segments, name)
        try:
            for key, place in sorted(live.items(), key=lambda item: item[1][:2]):
                writer.add(key, os.pread(files[place.segment].fileno(), place.length, place.start))
            for key in gone:
                writer.add(key, None)
            self.result = writer.seal()
            segments.secure(name)
        except Exception as error:
            self.error = error
            writer.abandon()


def _worth_joining(sealed: list[_SealedSegment]) -> list[_SealedSegment]:
    """Neighbours to write anew: those that are mostly dead, or the many small ones at the end."""
    size = sum(segment.size_bytes for segment in sealed)
    live = sum(segment.live_bytes for segment in sealed)
    if live < _LIVE_SHARE * size and size > _BUFFER_BYTES:
        return list(sealed)
    if len(sealed) <= _MOST_SEGMENTS:
        return []
    # as long as the next older one is not much larger than all behind it, it is worth joining
    parts = [sealed[-1]]
    joined = sealed[-1].size_bytes
    for segment in reversed(sealed[:-1]):
        if len(parts) >= _MOST_SEGMENTS // 2 and segment.size_bytes > 2 * joined:
            break
        parts.insert(0, segment)
        joined += segment.size_bytes
    return parts
