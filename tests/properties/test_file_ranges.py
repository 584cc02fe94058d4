"""However a file is cut into ranges, the records are those of the whole, each once and in order."""

from __future__ import annotations

import gzip
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.common.typeinfo import Types
from headrace.connectors.files import content
from headrace.connectors.files.python_reader import DONE, FilesInPython, files_in_python
from headrace.connectors.files.source import FileSource
from headrace.formats.csv_reader import CsvReaderFormat, CsvSchema
from headrace.formats.file_format import FileFormat, MalformedRecords, StreamFormat
from headrace.formats.json_reader import JsonReaderFormat
from headrace.formats.parquet_reader import ParquetColumnarRowInputFormat

TEXT = StreamFormat.text_line_format()
ROW = Types.ROW_NAMED(["id", "name"], [Types.LONG(), Types.STRING()])
JSON = JsonReaderFormat.for_type_info(ROW, malformed=MalformedRecords.KEEP)
COLUMNS = CsvSchema.builder().add_number_column("id").add_string_column("name")
CSV = CsvReaderFormat.for_schema(COLUMNS.build(), malformed=MalformedRecords.KEEP)

LINES = st.lists(st.sampled_from(["", "a", "two words", "grün", "x" * 40, '"', "1,2"]), max_size=12)
ENDS = st.sampled_from(["\n", "\r\n", "\r"])
CELLS = st.sampled_from(
    ["", "1", "-5", "x", '"q"', '"a,b"', '"two\nlines"', '"say ""hi"""', '5" disk', '"a"b', '"']
)
RECORDS = st.lists(st.lists(CELLS, min_size=1, max_size=3), max_size=10)
OBJECTS = st.lists(
    st.sampled_from(
        ['{"id":1,"name":"a"}', "{}", "", "null", '{"id":"x"}', '[{"id":1},{"id":2}]', "{"]
    ),
    max_size=12,
)
SIZES = st.lists(st.integers(1, 5), max_size=20)
BLOCKS = st.sampled_from([1, 3, 16, 1 << 16])


def write(folder: str, name: str, text: str, *, packed: bool) -> str:
    path = Path(folder) / (f"{name}.gz" if packed else name)
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    return str(path)


def source_of(file_format: FileFormat, path: str) -> FilesInPython:
    source = files_in_python(FileSource.for_record_stream_format(file_format, path).build())  # type: ignore[arg-type]
    source.open()
    return source


def read_in_steps(source: FilesInPython, split: str, sizes: list[int]) -> list[Any]:
    """As admission does it: some records, some more, and at last the rest."""
    found: list[Any] = []
    at = source.initial_offset(split)
    for size in sizes:
        if at == DONE:
            break
        end = source.offset_after(split, at, DONE, size)
        assert end != at
        found += source.read(split, at, end)
        at = end
    return found if at == DONE else found + list(source.read(split, at, DONE))


def check_steps(file_format: FileFormat, path: str, sizes: list[int], block: int) -> list[Any]:
    source = source_of(file_format, path)
    start = source.initial_offset(path)
    whole = list(source.read(path, start, DONE)) if start != DONE else []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(content, "BLOCK_BYTES", block)
        assert read_in_steps(source, path, sizes) == whole
    return whole


@given(LINES, ENDS, st.booleans(), SIZES, BLOCKS, st.data())
def test_lines_of_text(
    lines: list[str], end: str, packed: bool, sizes: list[int], block: int, data: st.DataObject
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        text = "".join(line + end for line in lines)
        path = write(folder, "a.txt", text, packed=packed)
        assert check_steps(TEXT, path, sizes, block) == lines
        # lines may be cut at any byte, too
        size = len(text.encode())
        cuts = sorted(data.draw(st.sets(st.integers(0, size))) | {0})
        source = source_of(TEXT, path)
        found = [
            record
            for low, high in pairwise([*cuts, DONE])
            for record in source.read(path, low, high)
        ]
        assert found == lines


@given(OBJECTS, ENDS, st.booleans(), SIZES, BLOCKS)
def test_lines_of_json(
    lines: list[str], end: str, packed: bool, sizes: list[int], block: int
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = write(folder, "a.json", end.join(lines), packed=packed)
        check_steps(JSON, path, sizes, block)


@given(RECORDS, ENDS, st.booleans(), SIZES, BLOCKS)
def test_records_of_csv(
    records: list[list[str]], end: str, packed: bool, sizes: list[int], block: int
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        text = "".join(",".join(cells) + end for cells in records)
        path = write(folder, "a.csv", text, packed=packed)
        check_steps(CSV, path, sizes, block)


@given(st.integers(0, 60), st.integers(1, 20), SIZES)
def test_rows_of_parquet(count: int, group: int, sizes: list[int]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/a.parquet"
        table = pa.table({"id": pa.array(range(count), pa.int64()), "name": ["x"] * count})
        pq.write_table(table, path, row_group_size=group)
        file_format = ParquetColumnarRowInputFormat(ROW)
        found = check_steps(file_format, path, sizes, 1)
        assert [row.id for row in found] == list(range(count))
