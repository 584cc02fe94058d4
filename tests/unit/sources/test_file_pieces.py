"""Large files are cut between records, in order, and no further than a query has read."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headrace.common import Types
from headrace.datastream.connectors.file_system import FileSource, StreamFormat
from headrace.datastream.formats.parquet import ParquetColumnarRowInputFormat
from headrace.formats.csv_reader import CsvReaderFormat, CsvSchema
from headrace.hosts.spark.sources import file_pieces
from headrace.hosts.spark.sources.file_pieces import in_pieces
from patience import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

TEXT = StreamFormat.text_line_format()


class Reader:
    """Reads pieces as Spark would: the oldest one that it has not seen, then a commit."""

    def __init__(self, source: Any, folder: Path) -> None:
        self.checkpoint = folder / "query"
        self.source, self.writers = in_pieces(source, folder / "pieces", self.checkpoint)
        self.seen: list[Path] = []

    def waiting(self) -> list[Path]:
        found = [file for file in self.folder().glob("*") if not file.name.startswith(".")]
        return sorted(set(found) - set(self.seen), key=lambda file: file.stat().st_mtime)

    def folder(self) -> Path:
        return Path(self.source.paths[0])

    def read_all(self) -> list[Path]:
        (writer,) = self.writers
        while not writer.is_read():
            for file in self.waiting():
                self.take(file)
        return self.seen

    def take(self, file: Path) -> None:
        (self.checkpoint / "commits").mkdir(parents=True, exist_ok=True)
        (self.checkpoint / "commits" / str(len(self.seen))).touch()
        self.seen.append(file)


@pytest.fixture
def reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Reader]]:
    monkeypatch.setattr(file_pieces, "_SMALL_BYTES", 1_000)
    monkeypatch.setattr(file_pieces, "_FIRST_BYTES", 500)
    monkeypatch.setattr(file_pieces, "_LARGEST_BYTES", 2_000)
    made: list[Reader] = []

    def make(format_: Any, *paths: Path) -> Reader:
        source = FileSource.for_record_stream_format(format_, *map(str, paths)).build()
        made.append(Reader(source, tmp_path / "job"))
        return made[-1]

    yield make
    for each in made:
        for writer in each.writers:
            writer.stop()


def test_lines_stay_whole_and_in_order(reader: Callable[..., Reader], tmp_path: Path) -> None:
    file = tmp_path / "lines.txt"
    content = "".join(f"line {n} {'x' * (n % 50)}\n" for n in range(1000)).encode() + b"no end"
    file.write_bytes(content)
    parts = [piece.read_bytes() for piece in reader(TEXT, file).read_all()]
    assert b"".join(parts) == content
    assert all(part.endswith(b"\n") for part in parts[:-1])
    assert 500 <= len(parts[0]) < 600
    assert max(map(len, parts)) < 2_100


def test_no_more_is_written_than_the_query_is_about_to_read(
    reader: Callable[..., Reader], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = file_pieces._count
    looks: list[Any] = []

    def noted(to: Any) -> Any:
        looks.append(to)
        return count(to)

    monkeypatch.setattr(file_pieces, "_count", noted)
    (tmp_path / "lines.txt").write_text("a line\n" * 10_000)
    reading = reader(TEXT, tmp_path / "lines.txt")
    wait_until(lambda: len(reading.waiting()) >= 2)
    # it looks again and again whether the query has read one, and writes nothing in between
    before = len(looks)
    wait_until(lambda: len(looks) > before + 3)
    assert len(reading.waiting()) == 2
    assert not reading.writers[0].is_read()
    reading.take(reading.waiting()[0])
    wait_until(lambda: len(reading.waiting()) >= 2)
    assert len(reading.waiting()) == 2


def test_csv_records_of_several_lines_stay_whole_behind_their_header(
    reader: Callable[..., Reader], tmp_path: Path
) -> None:
    file = tmp_path / "orders.csv"
    rows = [[str(n), f'two "lines"\nof {n}, with a comma', 'a 5" disk'] for n in range(300)]
    with file.open("w", newline="") as target:
        csv.writer(target).writerows([["id", "note", "what"], *rows])
    schema = CsvSchema.builder().set_use_header()
    for name in ("id", "note", "what"):
        schema.add_string_column(name)
    pieces = reader(CsvReaderFormat.for_schema(schema.build()), file).read_all()
    found = [list(csv.reader(io.StringIO(piece.read_text(), newline=""))) for piece in pieces]
    assert len(found) > 3
    assert all(part[0] == ["id", "note", "what"] for part in found)
    assert [row for part in found for row in part[1:]] == rows


def test_rows_of_parquet_keep_their_columns(reader: Callable[..., Reader], tmp_path: Path) -> None:
    table = pa.table({"n": pa.array(range(50_000), pa.int64()), "s": ["x"] * 50_000})
    pq.write_table(table, tmp_path / "rows.parquet")
    row = Types.ROW_NAMED(["n", "s"], [Types.LONG(), Types.STRING()])
    pieces = reader(ParquetColumnarRowInputFormat(row), tmp_path / "rows.parquet").read_all()
    assert len(pieces) == 5
    assert pa.concat_tables(map(pq.read_table, pieces)).equals(table)


def test_what_cannot_be_cut_is_left_as_it_is(reader: Callable[..., Reader], tmp_path: Path) -> None:
    (tmp_path / "small.txt").write_text("small")
    (tmp_path / "lines.txt.gz").write_bytes(b"x" * 5_000)
    large = tmp_path / "large.txt"
    large.write_text("a line\n" * 1_000)
    assert reader(TEXT, tmp_path / "small.txt").writers == []
    assert reader(TEXT, tmp_path).writers == []  # one of them is compressed
    assert reader(TEXT, tmp_path / "*.txt").writers == []
    options = FileSource.for_record_stream_format(TEXT, str(large)).set_option("lineSep", "|")
    assert in_pieces(options.build(), tmp_path / "p", tmp_path / "q")[1] == []
    watched = FileSource.for_record_stream_format(TEXT, str(large)).monitor_continuously("1 s")
    assert in_pieces(watched.build(), tmp_path / "p", tmp_path / "q")[1] == []
