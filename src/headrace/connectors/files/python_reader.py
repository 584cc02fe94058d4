"""A `FileSource` read in Python: every file a split, ranges of it as columns.

    FileSource ── files_in_python ──▶ FilesInPython, a PythonSource

In: what the user described (source.py).  Out: the records that Spark's own readers give for it, for
hosts that read by themselves: hosts/local/sources.py.  Next: listing.py (which files there are),
readers.py (what is in them); file_log.py turns positions into Spark's and back.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from headrace.connectors.files.content import refuse_unknown_packing
from headrace.connectors.files.listing import FoundFile, files_of, missing_path
from headrace.connectors.files.readers import DONE, reader_of
from headrace.data.codec import codec_for
from headrace.errors import ConnectorError, UnsupportedStepError
from headrace.spi.python_source import PythonSource

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pyarrow as pa

    from headrace.common.opaque import Record
    from headrace.common.typeinfo import TypeInformation
    from headrace.connectors.files.readers import FileReader
    from headrace.connectors.files.source import FileSource
    from headrace.spi.python_source import Offset, Position
    from headrace.spi.source import Boundedness

__all__ = ["DONE", "FilesInPython", "files_in_python"]

# Options that hold for both ways of reading, or that change nothing here: no file's age counts, and
# which file comes first is not promised.
_KNOWN = {"pathGlobFilter", "maxFilesPerTrigger", "maxFileAge", "maxCachedFiles"}
_OF_LINES = {"lineSep"}


def files_in_python(source: FileSource) -> FilesInPython:
    """The same files as a source that Python reads.

    Args:
        source: as the user built it.

    Raises:
        UnsupportedStepError: an option of Spark's reader is set that there is nothing like here, or
            a declared column cannot be read from such files.
    """
    return FilesInPython(source)


class FilesInPython(PythonSource):
    """Reads the files of a `FileSource`, with its records, types and errors.

    A split is a file, its name the path; an offset is a number (readers.py says of what), or
    ``"done"`` for a file that was read to its end. Files are read the older one first.

    A position names every file that was ever read, as Flink's does and as Spark's log of files
    does: a file is never read twice, and a position grows by one short entry a file. A folder that
    gets new files for years should be emptied at times, and the job restarted without a savepoint
    or with another folder.

    Records have no splits of their own for watermarks, since Spark's files have none either: one
    watermark for all of them.
    """

    reads_in_turn = True

    def __init__(self, source: FileSource) -> None:
        options = dict(source.options)
        self._source = source
        self._name_filter = options.get("pathGlobFilter")
        self._files_per_batch = _number(source, "maxFilesPerTrigger")
        _check_options(source)
        self._reader = self._made_reader(source)
        # rebuilt on open
        self._found: dict[str, FoundFile] = {}
        self._looked_at: float | None = None

    def _made_reader(self, source: FileSource) -> FileReader:
        """What reads the files; tables have some of their own (table_files.py)."""
        return reader_of(source.file_format, source.options.get("lineSep"))

    # --- which files --------------------------------------------------------------------------

    def open(self) -> None:
        """Look for the paths.

        Raises:
            ConnectorError: there is nothing at one of them.
        """
        self._found, self._looked_at = {}, None
        self.splits()

    def splits(self) -> list[str]:
        """The files that are there; looked for at most once in a discovery interval."""
        if self._is_time_to_look():
            self._look()
        return list(self._found)

    def _is_time_to_look(self) -> bool:
        interval_ms = self._source.discovery_interval_ms
        if self._looked_at is None or interval_ms is None:
            return self._looked_at is None
        return time.monotonic() - self._looked_at >= interval_ms / 1000

    def _look(self) -> None:
        found: dict[str, FoundFile] = {}
        for path in self._source.paths:
            files = files_of(path, self._name_filter)
            if files is None and self._looked_at is None:
                raise missing_path(path)
            found.update((file.path, file) for file in files or ())
        self._found = found
        self._looked_at = time.monotonic()

    def splits_are_gone(self, positions: Mapping[str, Offset]) -> None:
        """Files were removed: fine once they are read.

        Raises:
            ConnectorError: one of them was not read to its end.
        """
        for path, offset in sorted(positions.items()):
            if offset != DONE:
                raise ConnectorError(
                    f"a file is gone before it was read to its end: {path} (read up to {offset})",
                    where=path,
                    fix="restore the file; remove files only after a job has read them",
                )

    # --- how far ------------------------------------------------------------------------------

    def initial_offset(self, split: str) -> Offset:
        """The beginning; an empty file is done."""
        file = self._found.get(split)
        if self._source.file_format.reader_name() != "parquet":
            refuse_unknown_packing(split)
        return DONE if file is not None and file.size_bytes == 0 else 0

    def latest_offset(self, split: str, start: Offset) -> Offset:
        """The end: a file is complete when it appears."""
        return DONE

    def records_between(self, split: str, start: Offset, end: Offset) -> int:
        """How many records a range has: exact for Parquet and the last of a file, else nearly."""
        if start == end:
            return 0
        if start == DONE:
            return -1
        if split not in self._found:
            return 1  # of a batch that is read again, and will tell that its file is gone
        return self._reader.count(split, self._size(split), start, end)

    def _size(self, split: str) -> int:
        file = self._found.get(split)
        return 0 if file is None else file.size_bytes

    def offset_after(self, split: str, start: Offset, end: Offset, records: int) -> Offset:
        """Where the next records end; finding out reads the range once."""
        return self._reader.after(split, start, end, records)

    def most_of_batch(
        self, waiting: Mapping[str, int], starts: Mapping[str, Offset]
    ) -> Mapping[str, int]:
        """All that waits, the oldest file first; ``maxFilesPerTrigger`` files at most."""
        pending = [split for split, count in waiting.items() if count > 0]
        pending.sort(key=self._age)
        if self._files_per_batch is not None:
            pending = pending[: self._files_per_batch]
        return {**{split: waiting[split] for split in pending}, **_nothing(waiting, pending)}

    def _age(self, split: str) -> tuple[int, str]:
        file = self._found.get(split)
        return (0 if file is None else file.modified_ns), split

    def pieces(
        self, split: str, start: Offset, end: Offset, wanted: int
    ) -> list[tuple[Offset, Offset]]:
        """A range in parts that can be read at the same time, in the order of the file.

        Text and JSON that is not packed can be cut anywhere, Parquet between row groups; all else,
        and every file of a source that asks for whole files, is one part.
        """
        if start == DONE or wanted < 2 or self._source.splittable is False:
            return [(start, end)]
        return self._reader.pieces(split, self._size(split), start, end, wanted)

    # --- records ------------------------------------------------------------------------------

    def read_columns(self, split: str, start: Offset, end: Offset) -> Iterator[pa.RecordBatch]:
        """The records of a range, some at a time."""
        if start != DONE:
            yield from self._reader.batches(split, start, end)

    def read(self, split: str, start: Offset, end: Offset) -> Iterator[Record]:
        """The same, one by one."""
        codec = codec_for(self.produced_type())
        for batch in self.read_columns(split, start, end):
            yield from codec.decode(batch)

    # --- what the FileSource says -------------------------------------------------------------

    def produced_type(self) -> TypeInformation:
        return self._source.produced_type()

    def boundedness(self) -> Boundedness:
        return self._source.boundedness()

    def describe(self) -> str:
        return self._source.describe()

    def kind_name(self) -> str:
        return self._source.kind_name()

    def has_splits(self) -> bool:
        """No: as on Spark, one watermark for all files."""
        return False

    def __getstate__(self) -> dict[str, Any]:
        # a copy in a worker knows its files by their names, and all the others are none of its own
        return {**self.__dict__, "_found": {}, "_looked_at": None}


def _nothing(waiting: Mapping[str, int], but: list[str]) -> Position:
    others = set(but)
    return {split: 0 for split in waiting if split not in others}


def _number(source: FileSource, option: str) -> int | None:
    text = source.options.get(option)
    return None if text is None else int(text)


def _check_options(source: FileSource) -> None:
    lines = source.file_format.reader_name() in ("text", "json")
    known = _KNOWN | (_OF_LINES if lines else set())
    for name, value in source.options.items():
        is_default = name == "recursiveFileLookup" and value.lower() == "true"
        if name not in known and not is_default:
            raise UnsupportedStepError(
                f"{source.describe()} has the option {name!r} of Spark's reader, which nothing "
                "corresponds to where Python reads the files",
                fix="leave the option out, or run the job where Spark reads: "
                "headrace.execution.host = spark",
            )
