r"""The bytes of a file, unpacked, and the lines in a range of them.

    range [a, b):   "one\ntwo\nthree\n"      every line that begins in it, wherever it ends
                        a      b             ──▶ "two\n", and not "three\n"

So any bytes will do as ends of ranges, and no line is read twice or not at all.
In: a path, as listing.py gives it.  Out: pieces of whole lines.  Next: readers.py
"""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import zlib
from typing import IO, TYPE_CHECKING, Any, cast

import pyarrow as pa

from headrace.errors import ConnectorError, UnsupportedStepError
from headrace.io.storage import Storage, local_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = [
    "BLOCK_BYTES",
    "LineEnds",
    "StandardLineEnds",
    "is_packed",
    "line_pieces",
    "opened",
    "reading",
    "refuse_unknown_packing",
    "unpacked",
    "unpacked_anew",
]

BLOCK_BYTES = 4 << 20


# --- files ----------------------------------------------------------------------------------------


@contextlib.contextmanager
def reading(path: str) -> Iterator[None]:
    """Around all that reads a file: errors of its file system and its packing name it."""
    try:
        yield
    except (OSError, EOFError, zlib.error, pa.ArrowException) as error:
        lines = str(error).strip().splitlines()
        raise ConnectorError(
            f"a file could not be read: {lines[0] if lines else type(error).__name__:.300}",
            where=path,
            fix="restore the file; one that does not belong here is kept out by "
            "set_name_filter('*.csv'), say",
        ) from error


def opened(path: str) -> IO[bytes]:
    """A file as it is stored; can seek."""
    here = local_path(path)
    if here is not None:
        return here.open("rb")
    parent, _, name = path.rpartition("/")
    return cast("IO[bytes]", Storage.open(parent).open_input(name))


def _suffix(path: str) -> str:
    return path.rpartition("/")[2].rpartition(".")[2].lower()


def is_packed(path: str) -> bool:
    """Whether a file is compressed, by its name."""
    return _suffix(path) in _UNPACK


def refuse_unknown_packing(path: str) -> None:
    """Refuses what only Hadoop's own codecs can unpack.

    Raises:
        UnsupportedStepError: the file's name says that it is packed in such a way.
    """
    if _suffix(path) in ("snappy", "lz4", "zst"):
        raise UnsupportedStepError(
            f"{path} is packed in a form of Hadoop's own, which Python does not read",
            fix="pack files with gzip, bzip2 or deflate; Parquet packs its columns in any of these",
        )


@contextlib.contextmanager
def unpacked(path: str, at: int = 0) -> Iterator[IO[bytes]]:
    """The content of a file, from a place on; cannot seek if it is packed.

    To find a place in a packed file, all before it has to be unpacked. So a process keeps some of
    them open, and a range that follows one that it has read costs no more than itself.
    """
    if is_packed(path):
        with _unpacking(path, at) as content:
            yield content
        return
    with opened(path) as file:
        file.seek(at)
        yield file


class _PackedContent(io.RawIOBase):
    """What is in a packed file, in order; a little of what was read can be read again."""

    def __init__(self, path: str, identity: tuple[object, ...]) -> None:
        self.identity = identity
        self._file = opened(path)
        self._content = _UNPACK[_suffix(path)](self._file)
        self._behind = b""  # what was read last
        self._end = 0  # where the content behind it begins
        self.position = 0

    def reaches(self, position: int) -> bool:
        """Whether a place is not too far back."""
        return position >= self._end - len(self._behind)

    def go_to(self, position: int) -> None:
        """Let the next byte be that of a place; the last one, if the content ends before it."""
        self.position = min(position, self._end)
        while self.position < position and self.read(position - self.position):
            pass

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        assert size > 0
        if self.position == self._end:
            block = self._content.read(min(size, BLOCK_BYTES))
            self._behind = (self._behind + block)[-2 * BLOCK_BYTES :]
            self._end += len(block)
        at = len(self._behind) - (self._end - self.position)
        found = self._behind[at : at + size]
        self.position += len(found)
        return found

    def close(self) -> None:
        self._content.close()
        self._file.close()
        super().close()


_MOST_OPEN = 4
_OPEN: list[_PackedContent] = []  # of this process; the one that was used last comes last


@contextlib.contextmanager
def _unpacking(path: str, at: int) -> Iterator[IO[bytes]]:
    identity = _identity(path)
    usable = [each for each in _OPEN if each.identity == identity and each.reaches(at)]
    content = max(usable, key=lambda each: each.position, default=None)
    if content is None:
        content = _PackedContent(path, identity)
    else:
        _OPEN.remove(content)
    try:
        content.go_to(at)
        yield cast("IO[bytes]", content)
    except BaseException:
        content.close()
        raise
    _OPEN.append(content)
    while len(_OPEN) > _MOST_OPEN:
        _OPEN.pop(0).close()


def _identity(path: str) -> tuple[object, ...]:
    """Tells a file from another one that has come to its place."""
    here = local_path(path)
    if here is None:
        return (path,)
    stat = here.stat()
    return path, stat.st_ino, stat.st_size, stat.st_mtime_ns


def unpacked_anew(path: str) -> IO[bytes]:
    """The content of a file from its beginning, for somebody who closes it."""
    unpack = _UNPACK.get(_suffix(path))
    file = opened(path)
    return file if unpack is None else unpack(file)


class _Deflated(io.RawIOBase):
    """A zlib stream."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._unpack = zlib.decompressobj()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while True:
            packed = self._unpack.unconsumed_tail or self._file.read(1 << 16)
            content = self._unpack.decompress(packed, len(buffer))
            if content or self._unpack.eof:
                buffer[: len(content)] = content
                return len(content)
            if not packed:
                raise EOFError("the file ends before its packed content does")

    def close(self) -> None:
        self._file.close()
        super().close()


_UNPACK: dict[str, Callable[[IO[bytes]], IO[bytes]]] = {
    "gz": lambda file: cast("IO[bytes]", gzip.GzipFile(fileobj=file)),
    "gzip": lambda file: cast("IO[bytes]", gzip.GzipFile(fileobj=file)),
    "bz2": lambda file: cast("IO[bytes]", bz2.BZ2File(file)),
    "deflate": lambda file: io.BufferedReader(_Deflated(file)),
}


# --- lines ----------------------------------------------------------------------------------------


class LineEnds:
    """Where lines end: behind one text."""

    def __init__(self, text: bytes) -> None:
        self.text = text
        # Cut anywhere, a range could begin inside of an end that has several bytes.
        self.can_be_cut = len(text) == 1

    def first(self, data: bytes, begin: int, *, final: bool) -> int | None:
        """Behind the first end that is not before ``begin``; None if none is there for sure."""
        found = data.find(self.text, begin)
        return None if found < 0 else found + len(self.text)

    def last(self, data: bytes) -> int:
        """Behind the last end that is there for sure; 0 if there is none."""
        if len(self.text) == 1:
            return data.rfind(self.text) + 1
        at = 0
        while (found := data.find(self.text, at)) >= 0:  # from the left: ends do not overlap
            at = found + len(self.text)
        return at

    def split(self, piece: bytes) -> list[bytes]:
        """The lines of a piece."""
        lines = piece.split(self.text)
        return lines if lines[-1] else lines[:-1]

    def count(self, block: bytes) -> int:
        """How many ends there are, nearly."""
        return block.count(self.text)


class StandardLineEnds(LineEnds):
    r"""``\n``, ``\r\n`` and ``\r``, all three in any file."""

    def __init__(self) -> None:
        super().__init__(b"\n")

    def first(self, data: bytes, begin: int, *, final: bool) -> int | None:
        feed = data.find(b"\n", begin)
        back = data.find(b"\r", begin, feed if feed >= 0 else len(data))
        if back < 0:
            return None if feed < 0 else feed + 1
        if back + 1 < len(data):
            return back + (2 if data[back + 1] == 10 else 1)
        return back + 1 if final else None

    def last(self, data: bytes) -> int:
        # The half of an end may come with the next block.
        sure = len(data) - data.endswith(b"\r")
        return max(data.rfind(b"\n", 0, sure), data.rfind(b"\r", 0, sure)) + 1

    def split(self, piece: bytes) -> list[bytes]:
        if b"\r" in piece:
            piece = piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        return super().split(piece)

    def count(self, block: bytes) -> int:
        return block.count(b"\n") or block.count(b"\r")


def line_pieces(
    file: IO[bytes], start: int, end: int | None, ends: LineEnds
) -> Iterator[tuple[int, bytes]]:
    """(place, whole lines) of all lines that begin in ``[start, end)``, some at a time.

    Args:
        file: at the byte before ``start``, if there is one.
        start: first byte of the range.
        end: behind its last one; None for all that follows.
        ends: where lines end.
    """
    at = max(start - 1, 0)
    data, seeks = b"", start > 0
    while True:
        block = file.read(BLOCK_BYTES)
        final = not block
        data += block
        if seeks:
            begin = ends.first(data, 0, final=final)
            if begin is None:
                if final:
                    return
                at, data = at + len(data) - 1, data[-1:]
                continue
            at, data, seeks = at + begin, data[begin:], False
        if end is not None and at >= end:
            return
        stop = len(data) if final else ends.last(data)
        over = None
        if end is not None and at + len(data) >= end:
            over = ends.first(data, end - at - 1, final=final)
            stop = stop if over is None else over
        if stop:
            yield at, data[:stop]
        if final or over is not None:
            return
        at, data = at + stop, data[stop:]
