"""Large files in small pieces, for a preview: Spark's file stream takes a file as a whole.

    orders.csv, 2 GB ── records 1 MB, 2 MB, 4 MB, ... ──▶ pieces/000000-orders.csv, 000001-...
                                                            └─▶ Spark's file stream, one a batch

A thread writes pieces a little ahead of the query, so a look at the first records of a file reads
no more than its beginning.  Pieces are cut between records and read in the order of the file, with
the reader of the whole file: results are those of a job with small batches.
In: a bounded FileSource.  Out: one that reads the pieces.  Next: hosts/spark/sources/file_reader.py
"""

from __future__ import annotations

import copy
import csv
import logging
import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from headrace.formats.csv_reader import CsvReaderFormat

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.connectors.files.source import FileSource

log = logging.getLogger(__name__)

# A file up to this size is no reason to cut anything.
_SMALL_BYTES = 4 << 20
_FIRST_BYTES, _LARGEST_BYTES = 1 << 20, 32 << 20
# so many pieces wait for the query at most
_AHEAD = 2
_POLL_S = 0.02
_PACKED = (".gz", ".bz2", ".deflate", ".zst", ".lz4", ".snappy", ".xz")
_CUT = ("text", "json", "csv", "parquet")


class PieceWriter:
    """Writes the files of one path as pieces, while a query reads them."""

    def __init__(self, source: FileSource, files: list[Path], folder: Path, checkpoint: Path):
        self._source = source
        self._files = files
        self._folder = folder
        self._commits = checkpoint / "commits"
        self._stopped = threading.Event()
        self._done = False
        self._was_done = False
        self._written = 0
        folder.mkdir(parents=True, exist_ok=True)
        self._thread = threading.Thread(target=self._run, name="headrace-pieces", daemon=True)
        self._thread.start()

    def is_read(self) -> bool:
        """Whether all is read; asked again and again when the query has nothing to do.

        The last piece may have come after the query was idle: so the second yes counts.
        """
        before, self._was_done = self._was_done, self._done
        return before

    def stop(self) -> None:
        """Write nothing more; the folder can be removed afterwards."""
        self._stopped.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            for file in self._files:
                for piece in _pieces(self._source, file):
                    if not self._wait():
                        return
                    self._write(file, piece)
        except Exception:
            if not self._stopped.is_set():
                log.exception("a preview cannot read all of its files")
        finally:
            self._done = True

    def _wait(self) -> bool:
        """Until the query has caught up; False if nobody wants more."""
        while not self._stopped.is_set() and self._folder.exists():
            if self._written - _count(self._commits) < _AHEAD:
                return True
            self._stopped.wait(_POLL_S)
        return False

    def _write(self, file: Path, piece: bytes | pa.Table) -> None:
        target = self._folder / f"{self._written:06d}-{file.name}"
        draft = self._folder / f".{target.name}"  # which Spark does not look at
        if isinstance(piece, bytes):
            draft.write_bytes(piece)
        else:
            pq.write_table(piece, draft)
        # Spark reads files in the order of their times, which may be equal here
        os.utime(draft, (self._written + 1, self._written + 1))
        draft.rename(target)
        self._written += 1


def _count(commits: Path) -> int:
    """How many batches are committed; Spark removes old ones, so the newest number tells."""
    try:
        numbers = [int(file.name) for file in commits.iterdir() if file.name.isdigit()]
    except FileNotFoundError:  # the query has not begun
        return 0
    return max(numbers, default=-1) + 1


def in_pieces(
    source: FileSource, folder: Path, checkpoint: Path
) -> tuple[FileSource, list[PieceWriter]]:
    """A source that reads large files in pieces, and who writes them; the source itself if small.

    Args:
        source: the program's.
        folder: for the pieces, inside of the preview's own directory.
        checkpoint: of the query that will read them.
    """
    writers, paths = [], []
    for number, path in enumerate(source.paths):
        files = _files_of(source, path)
        if any(file.stat().st_size > _SMALL_BYTES for file in files):
            place = folder / f"pieces-{number}"
            writers.append(PieceWriter(source, files, place, checkpoint))
            path = str(place)
        paths.append(path)
    if not writers:
        return source, []
    cut = copy.copy(source)
    cut.paths = tuple(paths)
    return cut, writers


def _files_of(source: FileSource, path: str) -> list[Path]:
    """The files of a path in the order of Spark's; none if they cannot be cut."""
    place = Path(path.removeprefix("file:"))
    file_format = source.file_format
    if (
        not source.is_bounded()
        or source.options  # which may name other files, or other line ends
        or "://" in path
        or not place.exists()
        or file_format.reader_name() not in _CUT
        or (isinstance(file_format, CsvReaderFormat) and file_format.schema.escape_char is not None)
    ):
        return []
    files = [place] if place.is_file() else [file for file in place.rglob("*") if file.is_file()]
    seen = [file for file in files if not _is_hidden(file.relative_to(place))]
    if any(file.suffix.lower() in _PACKED for file in seen):
        return []
    return sorted(seen, key=lambda file: (file.stat().st_mtime, str(file)))


def _is_hidden(file: Path) -> bool:
    return any(part.startswith((".", "_")) for part in file.parts)


# --- cutting -------------------------------------------------------------------------------------


def _pieces(source: FileSource, file: Path) -> Iterator[bytes | pa.Table]:
    file_format = source.file_format
    if file_format.reader_name() == "parquet":
        return _row_pieces(file)
    if isinstance(file_format, CsvReaderFormat):
        return _csv_pieces(file, file_format)
    return _line_pieces(file)


def _sizes() -> Iterator[int]:
    size = _FIRST_BYTES
    while True:
        yield size
        size = min(2 * size, _LARGEST_BYTES)


def _line_pieces(file: Path) -> Iterator[bytes]:
    sizes = _sizes()
    with file.open("rb") as content:
        while piece := content.read(next(sizes)):
            yield piece + content.readline()


def _csv_pieces(file: Path, file_format: CsvReaderFormat) -> Iterator[bytes]:
    """A record may have several lines, where a line end is inside of quotes."""
    schema, sizes = file_format.schema, _sizes()
    lines: list[bytes] = []
    header = b""
    with file.open("rb") as content:
        taken = _remembered(content, lines)
        records = csv.reader(
            taken,
            delimiter=schema.column_separator,
            quotechar=schema.quote_char or None,
            quoting=csv.QUOTE_MINIMAL if schema.quote_char else csv.QUOTE_NONE,
        )
        if schema.use_header or schema.skip_first_data_row:
            next(records, None)
            header = b"".join(lines)
            lines.clear()
        limit, size, seen = next(sizes), 0, 0
        for _ in records:
            size += sum(map(len, lines[seen:]))
            seen = len(lines)
            if size >= limit:
                yield header + b"".join(lines)
                lines.clear()
                limit, size, seen = next(sizes), 0, 0
    if lines:
        yield header + b"".join(lines)


def _remembered(content: Iterator[bytes], lines: list[bytes]) -> Iterator[str]:
    for line in content:
        lines.append(line)
        yield line.decode("latin-1")  # every byte is a character: only quotes and ends count


def _row_pieces(file: Path) -> Iterator[pa.Table]:
    """As many rows as fill a piece, told by the size of a row in memory."""
    sizes, found, size = _sizes(), [], 0
    limit = next(sizes)
    for batch in pq.ParquetFile(file).iter_batches(batch_size=10_000):
        found.append(batch)
        size += batch.nbytes
        if size >= limit:
            yield pa.Table.from_batches(found)
            found, size, limit = [], 0, next(sizes)
    if found:
        yield pa.Table.from_batches(found)
