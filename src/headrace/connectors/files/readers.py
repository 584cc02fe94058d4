"""Ranges of one file as columns: one reader for each format.

    offset   text, JSON   byte of the unpacked content; lines that begin in a range belong to it
             CSV          byte at which a record begins
             CSV, escapes number of a record
             Parquet      number of a row
    and DONE behind the last record of every file

In: a path and a range.  Out: Arrow batches with the columns of the format's type.
Next: python_reader.py, which makes a source of it; formats/ has the rules of each format
"""

from __future__ import annotations

import contextlib
import io
from abc import ABC, abstractmethod
from itertools import islice
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from headrace.common.typeinfo import RowTypeInfo
from headrace.connectors.files import content
from headrace.connectors.files.parquet_parts import column_batches, explained
from headrace.data.codec import codec_for
from headrace.errors import ConnectorError, TypeMismatchError
from headrace.formats.csv_escaped import escaped_records, wrong_header
from headrace.formats.csv_file import HEAD_BYTES, CsvFileReader, line_end_of
from headrace.formats.csv_reader import CORRUPT_FIELD, CsvReaderFormat
from headrace.formats.file_format import MalformedRecords, TextLineFormat
from headrace.formats.json_file import JsonFileReader
from headrace.formats.parquet_columns import refuse_times

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.formats.file_format import FileFormat
    from headrace.formats.json_file import FileRows
    from headrace.spi.python_source import Offset

__all__ = ["DONE", "FileReader", "reader_of"]

DONE = "done"
_MARK = b"\xef\xbb\xbf"
_SAMPLE_BYTES = 1 << 16
_RECORDS_AT_ONCE = 10_000
# How much larger packed text becomes, nearly: only what a batch takes is told by it.
_UNPACKED = 4


def reader_of(file_format: FileFormat, line_end: str | None) -> FileReader:
    """The reader of a format.

    Args:
        file_format: of the source.
        line_end: what ends a line of text or JSON, if it is not one of the standard ends.

    Raises:
        UnsupportedStepError: a declared column cannot be read from such files.
    """
    ends = content.StandardLineEnds() if line_end is None else content.LineEnds(line_end.encode())
    if isinstance(file_format, TextLineFormat):
        return TextReader(file_format, ends)
    if isinstance(file_format, CsvReaderFormat):
        escapes = file_format.schema.escape_char is not None
        return EscapedCsvReader(file_format) if escapes else CsvReader(file_format)
    if file_format.reader_name() == "parquet":
        return ParquetReader(file_format)
    return JsonReader(file_format, ends)


class FileReader(ABC):
    """Reads files of one format; travels to workers, so it holds settings only."""

    @abstractmethod
    def batches(self, path: str, start: int, end: Offset) -> Iterator[pa.RecordBatch]:
        """The records of ``[start, end)``."""

    @abstractmethod
    def count(self, path: str, size_bytes: int, start: int, end: Offset) -> int:
        """How many records a range has, nearly; negative if the file ends before it begins."""

    @abstractmethod
    def after(self, path: str, start: int, end: Offset, records: int) -> Offset:
        """The offset behind the next records, at most ``end``."""

    def pieces(
        self, path: str, size_bytes: int, start: int, end: Offset, wanted: int
    ) -> list[tuple[int, Offset]]:
        """A range in contiguous parts that can be read at the same time; most often one."""
        return [(start, end)]


# --- lines ----------------------------------------------------------------------------------------


class _ContentReader(FileReader):
    """What text, JSON and CSV share: bytes, lines, bad records."""

    def __init__(self, file_format: FileFormat) -> None:
        self._malformed = getattr(file_format, "malformed", None)
        schema = codec_for(file_format.produced_type()).schema
        assert schema is not None
        self._schema = schema
        # of packed files, whose place is not found as easily
        self._packed_record_bytes: dict[str, float] = {}

    def count(self, path: str, size_bytes: int, start: int, end: Offset) -> int:
        if end != DONE and end <= start:
            return int(end) - start
        packed = content.is_packed(path)
        size = size_bytes * _UNPACKED if packed else size_bytes
        if not packed and start > size:
            return size - start
        length = (max(size, start + 1) if end == DONE else int(end)) - start
        return max(1, round(length / self._record_bytes(path, start, length)))

    def _record_bytes(self, path: str, start: int, length: int) -> float:
        """The size of a record, from those that come next; exact for the last of a file."""
        if path in self._packed_record_bytes:
            return self._packed_record_bytes[path]
        packed = content.is_packed(path)
        with content.reading(path), content.unpacked(path, 0 if packed else start) as file:
            sample = file.read(min(_SAMPLE_BYTES, length))
        ends = self._line_ends()
        known = len(sample) if len(sample) == length else ends.last(sample) or len(sample)
        count = ends.count(sample) + (known == length and ends.last(sample) != known)
        found = max(known, 1) / max(count, 1)
        if packed:
            self._packed_record_bytes[path] = found
        return found

    def _line_ends(self) -> content.LineEnds:
        return content.StandardLineEnds()

    def _kept(self, rows: FileRows, path: str, at: int, lines: list[bytes]) -> pa.RecordBatch:
        """A batch after what is to become of bad records has become of them."""
        batch = rows.batch
        if rows.bad and self._malformed is MalformedRecords.FAIL:
            raise self._bad_line(path, rows.bad[0][1], at, lines)
        if self._malformed is MalformedRecords.KEEP:
            texts: list[str | None] = [None] * batch.num_rows
            for row, text in rows.bad:
                texts[row] = text
            column = pa.array(texts, pa.string())
            place = self._schema.get_field_index(CORRUPT_FIELD)
            arrays = [*batch.columns[:place], column, *batch.columns[place:]]
            return pa.RecordBatch.from_arrays(arrays, schema=self._schema)
        if rows.bad:
            bad = {row for row, _ in rows.bad}
            good = [row for row in range(batch.num_rows) if row not in bad]
            batch = batch.take(pa.array(good, pa.int64()))
        return batch

    def _bad_line(self, path: str, text: str, at: int, lines: list[bytes]) -> TypeMismatchError:
        position = at
        for line in lines:
            if line.decode("utf-8", "replace").rstrip("\r\n") == text.rstrip("\r\n"):
                break
            position += len(line)
        return TypeMismatchError(
            f"a line does not fit the declared type: {text!r:.300}",
            where=f"{path}:{_line_number(path, position)}",
            fix="correct the file, or pass malformed=MalformedRecords.DROP or KEEP to the format",
        )


def _line_number(path: str, position: int) -> int:
    """Which line begins at a place of the content; asked when a job fails, never before."""
    number = 1
    with content.unpacked(path) as file:
        while position > 0 and (block := file.read(min(position, content.BLOCK_BYTES))):
            position -= len(block)
            number += content.StandardLineEnds().count(block)
    return number


class _LinesReader(_ContentReader):
    """Text and JSON: a record is a line, and any byte may end a range."""

    def __init__(self, file_format: FileFormat, ends: content.LineEnds) -> None:
        super().__init__(file_format)
        self._ends = ends

    def _line_ends(self) -> content.LineEnds:
        return self._ends

    def batches(self, path: str, start: int, end: Offset) -> Iterator[pa.RecordBatch]:
        stop = None if end == DONE else int(end)
        with content.reading(path), content.unpacked(path, max(start - 1, 0)) as file:
            for at, piece in content.line_pieces(file, start, stop, self._ends):
                mark = len(_MARK) if at == 0 and piece.startswith(_MARK) else 0
                yield from self._batches(path, at + mark, piece[mark:])

    @abstractmethod
    def _batches(self, path: str, at: int, piece: bytes) -> Iterator[pa.RecordBatch]:
        """The records of some whole lines."""

    def after(self, path: str, start: int, end: Offset, records: int) -> Offset:
        if not self._ends.can_be_cut:
            return end
        at, left = start, records
        with content.reading(path), content.unpacked(path, start) as file:
            while block := file.read(content.BLOCK_BYTES):
                found = self._ends.count(block)
                if found >= left:
                    cut = at + _behind(block, self._ends.text, left)
                    more = cut < at + len(block) or bool(file.read(1))
                    return min_offset(cut if more else DONE, end)
                at, left = at + len(block), left - found
        return end

    def pieces(
        self, path: str, size_bytes: int, start: int, end: Offset, wanted: int
    ) -> list[tuple[int, Offset]]:
        stop = size_bytes if end == DONE else int(end)
        if not self._ends.can_be_cut or content.is_packed(path) or stop <= start:
            return [(start, end)]
        cuts = [start + (stop - start) * number // wanted for number in range(wanted)]
        places = sorted(set(cuts))
        return list(zip(places, [*places[1:], end], strict=True))

    def _lines(self, piece: bytes) -> pa.BinaryArray:
        if len(self._ends.text) > 1 or not isinstance(self._ends, content.StandardLineEnds):
            return pa.array(self._ends.split(piece), pa.binary())
        if b"\r" in piece:
            piece = piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        lines = pc.split_pattern(pa.array([piece], pa.binary()), b"\n").values
        return lines.slice(0, len(lines) - 1) if piece.endswith(b"\n") or not piece else lines


def min_offset(one: Offset, other: Offset) -> Offset:
    """The earlier of two offsets."""
    if one == DONE or other == DONE:
        return other if one == DONE else one
    return min(one, other)


def _behind(block: bytes, text: bytes, count: int) -> int:
    """Behind the last of some line ends in a block."""
    end = text if text in block else b"\r"
    places: Any = np.flatnonzero(np.frombuffer(block, np.uint8) == end[0])
    return int(places[count - 1]) + 1


class TextReader(_LinesReader):
    """Lines as they are."""

    def __init__(self, file_format: TextLineFormat, ends: content.LineEnds) -> None:
        super().__init__(file_format, ends)
        self._charset = file_format.charset

    def _batches(self, path: str, at: int, piece: bytes) -> Iterator[pa.RecordBatch]:
        try:
            if self._charset == "ISO-8859-1" and not piece.isascii():
                texts = self._lines(piece.decode("latin-1").encode()).cast(pa.string())
            elif self._charset == "US-ASCII" and not piece.isascii():
                raise pa.ArrowInvalid
            else:
                texts = self._lines(piece).cast(pa.string())
        except pa.ArrowInvalid:
            raise self._not_text(path, at, piece) from None
        yield pa.RecordBatch.from_arrays([texts], schema=self._schema)

    def _not_text(self, path: str, at: int, piece: bytes) -> TypeMismatchError:
        charset = {"US-ASCII": "ascii"}.get(self._charset, "utf-8")
        for line in piece.splitlines(keepends=True):
            try:
                line.decode(charset)
            except UnicodeDecodeError:
                return TypeMismatchError(
                    f"a line is not text in {self._charset}: {line!r:.200}",
                    where=f"{path}:{_line_number(path, at)}",
                    fix="convert the file, or say its charset, as in "
                    "StreamFormat.text_line_format('ISO-8859-1')",
                )
            at += len(line)
        raise AssertionError("every line is text")


class JsonReader(_LinesReader):
    """A JSON object a line."""

    def __init__(self, file_format: FileFormat, ends: content.LineEnds) -> None:
        super().__init__(file_format, ends)
        self._row = _without_text_of_bad_lines(file_format)
        JsonFileReader(self._row)  # refuses bad types now
        self._reader: JsonFileReader | None = None

    def _batches(self, path: str, at: int, piece: bytes) -> Iterator[pa.RecordBatch]:
        if self._reader is None:
            self._reader = JsonFileReader(self._row)
        for rows in self._reader.read(self._lines(piece)):
            lines = piece.splitlines(keepends=True) if rows.bad else []
            yield self._kept(rows, path, at, lines)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_reader": None}


def _without_text_of_bad_lines(file_format: FileFormat) -> RowTypeInfo:
    row = file_format.produced_type()
    assert isinstance(row, RowTypeInfo)
    if getattr(file_format, "malformed", None) is not MalformedRecords.KEEP:
        return row
    return RowTypeInfo(row.get_field_types()[:-1], row.get_field_names()[:-1])


# --- CSV ------------------------------------------------------------------------------------------


class CsvReader(_ContentReader):
    """Records of CSV, which may have several lines: a range begins where a record does."""

    def __init__(self, file_format: CsvReaderFormat) -> None:
        super().__init__(file_format)
        self._csv = file_format.schema
        CsvFileReader(self._csv)  # refuses bad types now
        self._line_ends_of: dict[str, bytes] = {}

    def batches(self, path: str, start: int, end: Offset) -> Iterator[pa.RecordBatch]:
        with content.reading(path), self._opened(path, start) as (file, head):
            for at, piece, reader in self._pieces(file, head, path, start, end):
                for rows in reader.rows(piece):
                    lines = _cut_at(piece.data, piece.ends) if rows.bad else []
                    yield self._kept(rows, path, at, lines)

    def after(self, path: str, start: int, end: Offset, records: int) -> Offset:
        left = records
        with content.reading(path), self._opened(path, start) as (file, head):
            for at, piece, _ in self._pieces(file, head, path, start, end):
                if len(piece.ends) >= left:
                    cut = at + int(piece.ends[left - 1])
                    more = left < len(piece.ends) or bool(file.read(1))
                    return min_offset(cut if more else end, end)
                left -= len(piece.ends)
        return end

    @contextlib.contextmanager
    def _opened(self, path: str, start: int) -> Iterator[tuple[IO[bytes], bytes]]:
        """A file at a place, and what is read already of it; the file's line end is known then."""
        if start and path not in self._line_ends_of:
            with content.unpacked(path) as file:
                self._line_ends_of[path] = line_end_of(_read_fully(file, HEAD_BYTES))
        with content.unpacked(path, start) as file:
            head = b"" if start else _read_fully(file, HEAD_BYTES)
            if not start:
                self._line_ends_of[path] = line_end_of(head)
            yield file, head

    def _pieces(
        self, file: IO[bytes], head: bytes, path: str, start: int, end: Offset
    ) -> Iterator[tuple[int, Any, CsvFileReader]]:
        """(place, records, their reader), some at a time."""
        reader = CsvFileReader(self._csv, self._line_ends_of[path])
        at, data = start, head
        if start == 0:
            at, data = self._behind_header(file, path, head, reader)
        final = False
        while not final:
            block = file.read(content.BLOCK_BYTES)
            data, final = data + block, not block
            if end != DONE and at + len(data) >= end:
                data, final = data[: max(end - at, 0)], True
            piece = reader.cut(data, final=final)
            if piece.data:
                yield at, piece, reader
            at, data = at + len(piece.data), data[len(piece.data) :]

    def _behind_header(
        self, file: IO[bytes], path: str, data: bytes, reader: CsvFileReader
    ) -> tuple[int, bytes]:
        mark = len(_MARK) if data.startswith(_MARK) else 0
        data = data[mark:]
        if not (self._csv.use_header or self._csv.skip_first_data_row):
            return mark, data
        while (found := reader.header(data, final=False)) is None:
            block = file.read(content.BLOCK_BYTES)
            data += block
            if not block:
                found = reader.header(data, final=True)
                break
        assert found is not None
        cells, end = found
        if self._csv.use_header and cells:
            self._check_header([cell or "" for cell in cells], path)
        return mark + end, data[end:]

    def _check_header(self, header: list[str], path: str) -> None:
        names = [*self._csv.names]
        if self._csv.strict_headers:
            if [name.lower() for name in header] != [name.lower() for name in names]:
                raise wrong_header(header, self._csv, path)
        elif header != names and sorted(header) == sorted(names):
            raise ConnectorError(
                f"the header of {path} is {header}, but the columns are {names}",
                where=path,
                fix="add the columns to the schema in the order of the file",
            )


def _read_fully(file: IO[bytes], size: int) -> bytes:
    blocks = []
    while size > 0 and (block := file.read(size)):
        blocks.append(block)
        size -= len(block)
    return b"".join(blocks)


def _cut_at(data: bytes, ends: Any) -> list[bytes]:
    begin, parts = 0, []
    for end in ends.tolist():
        parts.append(data[begin:end])
        begin = end
    return parts


class EscapedCsvReader(_ContentReader):
    """CSV with an escape character, which Python's own reader cuts: offsets number records."""

    def __init__(self, file_format: CsvReaderFormat) -> None:
        super().__init__(file_format)
        self._csv = file_format.schema
        CsvFileReader(self._csv)

    def batches(self, path: str, start: int, end: Offset) -> Iterator[pa.RecordBatch]:
        reader = CsvFileReader(self._csv)
        with content.reading(path), content.unpacked_anew(path) as file:
            records = islice(self._records(file, path), start, None if end == DONE else end)
            while some := list(islice(records, _RECORDS_AT_ONCE)):
                yield self._kept(reader.rows_of_cells(some), path, 0, [])

    def _records(self, file: IO[bytes], path: str) -> Iterator[tuple[list[str], str]]:
        lines = io.TextIOWrapper(file, encoding="utf-8-sig", errors="replace", newline="")
        return escaped_records(lines, self._csv, path)

    def count(self, path: str, size_bytes: int, start: int, end: Offset) -> int:
        if end != DONE:
            return int(end) - start
        return max(1, super().count(path, size_bytes, 0, DONE) - start)

    def after(self, path: str, start: int, end: Offset, records: int) -> Offset:
        with content.reading(path), content.unpacked_anew(path) as file:
            more = next(islice(self._records(file, path), start + records, None), None)
        return end if more is None else min_offset(start + records, end)

    def _bad_line(self, path: str, text: str, at: int, lines: list[bytes]) -> TypeMismatchError:
        error = super()._bad_line(path, text, at, lines)
        error.where = path  # records were rewritten, so that nobody knows their lines
        return error


# --- Parquet --------------------------------------------------------------------------------------


class ParquetReader(FileReader):
    """Rows of Parquet files; of row groups outside of a range nothing is read."""

    def __init__(self, file_format: FileFormat) -> None:
        schema = codec_for(file_format.produced_type()).schema
        assert schema is not None
        refuse_times(schema)
        self._schema = schema
        self._rows: dict[str, int] = {}

    def batches(self, path: str, start: int, end: Offset) -> Iterator[pa.RecordBatch]:
        with explained(path), self._file(path) as file:
            below = 0
            for group in range(file.num_row_groups):
                rows = file.metadata.row_group(group).num_rows
                low, high = start - below, rows if end == DONE else min(rows, end - below)
                below += rows
                if high <= 0 or low >= rows:
                    continue
                yield from _between(
                    column_batches(file, self._schema, path, [group]), max(low, 0), high
                )

    def _file(self, path: str) -> pq.ParquetFile:
        source: Any = content.opened(path) if "://" in path else path
        return pq.ParquetFile(source, memory_map=True, coerce_int96_timestamp_unit="us")

    def _length(self, path: str) -> int:
        if path not in self._rows:
            with explained(path), self._file(path) as file:
                self._rows[path] = file.metadata.num_rows
        return self._rows[path]

    def count(self, path: str, size_bytes: int, start: int, end: Offset) -> int:
        return (self._length(path) if end == DONE else int(end)) - start

    def after(self, path: str, start: int, end: Offset, records: int) -> Offset:
        if start + records >= self._length(path):
            return end
        return min_offset(start + records, end)

    def pieces(
        self, path: str, size_bytes: int, start: int, end: Offset, wanted: int
    ) -> list[tuple[int, Offset]]:
        stop = self._length(path) if end == DONE else int(end)
        with explained(path), self._file(path) as file:
            sizes = [file.metadata.row_group(n).num_rows for n in range(file.num_row_groups)]
        begins = [sum(sizes[:n]) for n in range(len(sizes))]
        inside = [begin for begin in begins if start < begin < stop]
        step = max(1, -(-(len(inside) + 1) // wanted))
        places = [start, *inside[step - 1 :: step]]
        return list(zip(places, [*places[1:], end], strict=True))


def _between(batches: Iterator[pa.RecordBatch], low: int, high: int) -> Iterator[pa.RecordBatch]:
    """Some of the rows of batches."""
    at = 0
    for batch in batches:
        begin, end = max(low - at, 0), min(high - at, batch.num_rows)
        at += batch.num_rows
        if begin < end:
            yield batch.slice(begin, end - begin)
        if at >= high:
            return
