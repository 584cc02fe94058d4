"""Files read in Python: every format, packed or not, in ranges, watched, broken."""

from __future__ import annotations

import bz2
import gzip
import os
import time
import zlib
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import cloudpickle
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import fs as pafs

from headrace.common import Configuration, Row, Types
from headrace.connectors.files import content, readers
from headrace.connectors.files.python_reader import DONE, FilesInPython, files_in_python
from headrace.connectors.files.source import FileEnumeratorProvider, FileSource
from headrace.data.codec import codec_for
from headrace.datastream import StreamExecutionEnvironment
from headrace.errors import ConnectorError, TypeMismatchError, UnsupportedStepError
from headrace.formats.csv_reader import CsvReaderFormat, CsvSchema
from headrace.formats.file_format import FileFormat, MalformedRecords, StreamFormat
from headrace.formats.json_reader import JsonReaderFormat
from headrace.formats.parquet_reader import ParquetColumnarRowInputFormat
from headrace.hosts.admission import (
    initial_position,
    latest_position,
    next_position,
    ranges_between,
)
from headrace.hosts.source_ranges import read_range
from headrace.io.storage import Storage

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from headrace.spi.python_source import Position

TEXT = StreamFormat.text_line_format()
PERSON = Types.ROW_NAMED(["id", "name"], [Types.LONG(), Types.STRING()])
JSON = JsonReaderFormat.for_type_info(PERSON)
PARQUET = ParquetColumnarRowInputFormat(PERSON)
PACKINGS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".deflate": zlib.compress,
}


def csv_format(malformed: MalformedRecords = MalformedRecords.FAIL, **syntax: Any) -> Any:
    schema = CsvSchema.builder().add_number_column("id").add_string_column("name")
    for name, value in syntax.items():
        getattr(schema, name)(value)
    return CsvReaderFormat.for_schema(schema.build(), malformed=malformed)


def source_of(file_format: FileFormat, *paths: Path | str, **options: str) -> FilesInPython:
    builder = FileSource.for_record_stream_format(file_format, *map(str, paths))  # type: ignore[arg-type]
    for name, value in options.items():
        builder.set_option(name, value)
    source = files_in_python(builder.build())
    source.open()
    return source


class Job:
    """Batches over a source, as a host makes them; every position goes through JSON."""

    def __init__(self, source: FilesInPython, position: Position | None = None) -> None:
        self.source = source
        self.position = initial_position(source) if position is None else position
        self.batches: list[list[Any]] = []

    def batch(self, limit: int | None) -> list[Any]:
        end = next_position(
            self.source, self.position, latest_position(self.source, self.position), limit
        )
        worker = cloudpickle.loads(cloudpickle.dumps(self.source))
        codec = codec_for(self.source.produced_type())
        found = [
            record
            for split, low, high in ranges_between(self.source, self.position, end)
            for records in read_range(worker, split, low, high, codec)
            for record in records.values
        ]
        self.position = end
        return found

    def run(self, limit: int | None = None) -> list[Any]:
        while True:
            before = self.position
            found = self.batch(limit)
            if self.position == before:
                return [record for batch in self.batches for record in batch]
            self.batches.append(found)


def read(file_format: FileFormat, *paths: Path | str, **options: str) -> list[Any]:
    return Job(source_of(file_format, *paths, **options)).run()


def rows(*pairs: tuple[Any, ...]) -> list[Row]:
    return [Row(id=first, name=second) for first, second in pairs]


# --- formats -----------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", PACKINGS)
def test_lines_of_text_with_any_line_end(tmp_path: Path, suffix: str) -> None:
    file = tmp_path / f"a.txt{suffix}"
    file.write_bytes(PACKINGS[suffix](b"\xef\xbb\xbfone\r\ntwo\rthree\n\n\r\nlast"))
    assert read(TEXT, file) == ["one", "two", "three", "", "", "last"]


@pytest.mark.parametrize("suffix", PACKINGS)
@pytest.mark.parametrize("limit", [1, 2, 7, None])
def test_batches_take_as_many_records_as_they_may(
    tmp_path: Path, suffix: str, limit: int | None
) -> None:
    lines = [f"line {n}" for n in range(20)]
    people = [(n, f"name\n{n}" if n % 3 else "") for n in range(20)]
    quoted = "".join(f'{n},"{name}"\n' for n, name in people)
    texts = [f'{{"id": {n}, "name": "n{n}"}}' for n in range(20)]
    files = {"a.txt": "\n".join(lines), "a.csv": quoted, "a.json": "\n".join(texts)}
    expected = {
        "a.txt": lines,
        "a.csv": rows(*people),
        "a.json": rows(*((n, f"n{n}") for n in range(20))),
    }
    formats: dict[str, FileFormat] = {"a.txt": TEXT, "a.csv": csv_format(), "a.json": JSON}
    for name, text in files.items():
        file = tmp_path / f"{name}{suffix}"
        file.write_bytes(PACKINGS[suffix](text.encode()))
        job = Job(source_of(formats[name], file))
        assert job.run(limit) == expected[name]
        assert job.position == {str(file): DONE}
        if limit is not None:
            assert max(map(len, job.batches)) <= limit


def test_a_long_file_is_read_in_pieces_that_fit_into_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(content, "BLOCK_BYTES", 7)
    (tmp_path / "a.txt").write_bytes(b"a long line\r\nb\rc\r\n\r\nd" * 3)
    text = [*["a long line", "b", "c", "", "da long line", "b", "c", "", "da long line", "b", "c"]]
    assert read(TEXT, tmp_path / "a.txt") == [*text, "", "d"]
    (tmp_path / "a.csv").write_text('1,"two\nlines"\n2,"say ""hi"""\n3,5" disk\n4,end')
    expected = rows((1, "two\nlines"), (2, 'say "hi"'), (3, '5" disk'), (4, "end"))
    assert read(csv_format(), tmp_path / "a.csv") == expected
    assert Job(source_of(csv_format(), tmp_path / "a.csv")).run(1) == expected


def test_text_in_other_charsets(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("grün\nblau\n".encode("latin-1"))
    assert read(StreamFormat.text_line_format("latin1"), tmp_path) == ["grün", "blau"]
    for charset in ("ascii", "utf-8"):
        with pytest.raises(TypeMismatchError, match="is not text in") as caught:
            read(StreamFormat.text_line_format(charset), tmp_path)
        assert caught.value.where == f"{tmp_path}/a.txt:1"


def test_cells_of_csv(tmp_path: Path) -> None:
    schema = (
        CsvSchema.builder()
        .add_number_column("id", number_type=Types.INT())
        .add_string_column("name")
        .add_array_column("tags", ";")
        .set_use_header()
        .set_allow_comments()
    )
    file = tmp_path / "a.csv"
    file.write_text('id,name,tags\n1,"say ""hi"", x","a;b"\n# note\n2,,\n\n3,"two\nlines",c\n')
    found = [tuple(row) for row in read(CsvReaderFormat.for_schema(schema.build()), file)]
    assert found == [(1, 'say "hi", x', ["a", "b"]), (2, "", None), (3, "two\nlines", ["c"])]
    assert Job(source_of(CsvReaderFormat.for_schema(schema.build()), file)).run(1) == [
        Row(id=i, name=n, tags=t) for i, n, t in found
    ]


def test_csv_with_escapes(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text('1,string\\,\n2,"a ""b"" \\"c\\", d"\n3,"two\nlines"\n')
    escapes = csv_format(set_escape_char="\\")
    expected = rows((1, "string,"), (2, 'a "b" "c", d'), (3, "two\nlines"))
    assert read(escapes, file) == expected
    job = Job(source_of(escapes, file))
    assert job.run(1) == expected
    assert [len(batch) for batch in job.batches if batch] == [1, 1, 1]


def test_the_header_is_checked_in_every_file(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("h1,h2\n1,x\n")
    header = csv_format(set_use_header=True)
    assert read(header, tmp_path) == rows((1, "x"))
    strict = csv_format(set_use_header=True, set_strict_headers=True)
    with pytest.raises(ConnectorError, match="the header is") as caught:
        read(strict, tmp_path)
    assert caught.value.where == f"{tmp_path}/a.csv"
    (tmp_path / "a.csv").write_text("name,id\nx,1\n")
    with pytest.raises(ConnectorError, match="but the columns are"):
        read(header, tmp_path)


def test_rows_of_several_row_groups(tmp_path: Path) -> None:
    file = tmp_path / "a.parquet"
    ids = pa.array(range(100), pa.int32())
    table = pa.table({"NAME": [f"n{n}" for n in range(100)], "id": ids})
    pq.write_table(table, file, row_group_size=30)
    expected = rows(*((n, f"n{n}") for n in range(100)))
    assert read(PARQUET, file) == expected
    for limit in (1, 7, 30, 45):
        job = Job(source_of(PARQUET, file))
        assert job.run(limit) == expected
        assert {len(batch) for batch in job.batches[:-1]} <= {limit}


def test_nested_columns_of_parquet(tmp_path: Path) -> None:
    kind = Types.ROW_NAMED(
        ["list", "map", "row", "missing"],
        [
            Types.LIST(Types.LONG()),
            Types.MAP(Types.STRING(), Types.LONG()),
            Types.ROW_NAMED(["b", "a", "c"], [Types.STRING(), Types.LONG(), Types.INT()]),
            Types.STRING(),
        ],
    )
    table = pa.table(
        {
            "list": pa.array([[1, None], None, []], pa.list_(pa.int32())),
            "map": pa.array([[("k", 1)], None, []], pa.map_(pa.string(), pa.int32())),
            "row": pa.array([{"a": 1, "b": "x"}, None, {"a": None, "b": None}]),
        }
    )
    pq.write_table(table, tmp_path / "a.parquet")
    found = read(ParquetColumnarRowInputFormat(kind), tmp_path)
    assert [tuple(row) for row in found] == [
        ([1, None], {"k": 1}, Row(b="x", a=1, c=None), None),
        (None, None, None, None),
        ([], {}, Row(b=None, a=None, c=None), None),
    ]


# --- bad input ---------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["csv", "json"])
@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_bad_lines_fail_or_are_dropped_or_kept(tmp_path: Path, kind: str, suffix: str) -> None:
    good = {"csv": "{},n\n", "json": '{{"id": {}, "name": "n"}}\n'}[kind]
    bad = {"csv": "x,bob", "json": '{"id":'}[kind]
    text = "".join(good.format(n) for n in range(500)) + f"\n{bad}\n" + good.format(500)
    file = tmp_path / f"a.{kind}{suffix}"
    file.write_bytes(PACKINGS[suffix](text.encode()))

    def format_for(malformed: MalformedRecords) -> FileFormat:
        if kind == "csv":
            found: FileFormat = csv_format(malformed)
            return found
        return JsonReaderFormat.for_type_info(PERSON, malformed=malformed)

    with pytest.raises(TypeMismatchError, match="does not fit the declared type") as caught:
        read(format_for(MalformedRecords.FAIL), file)
    assert repr(bad) in caught.value.message
    assert caught.value.where == f"{file}:502"
    assert len(read(format_for(MalformedRecords.DROP), file)) == 501
    kept = read(format_for(MalformedRecords.KEEP), file)
    assert [row["_corrupt_record"] for row in kept] == [*[None] * 500, bad, None]
    assert kept[500]["id"] is None


def test_broken_and_unknown_packing(tmp_path: Path) -> None:
    (tmp_path / "a.gz").write_bytes(gzip.compress(b"one\n" * 1000)[:-10])
    with pytest.raises(ConnectorError, match="could not be read") as caught:
        read(TEXT, tmp_path / "a.gz")
    assert caught.value.where == f"{tmp_path}/a.gz"
    (tmp_path / "a.deflate").write_bytes(zlib.compress(b"one\n" * 1000)[:-10])
    with pytest.raises(ConnectorError, match="could not be read"):
        read(TEXT, tmp_path / "a.deflate")
    (tmp_path / "a.zst").write_bytes(b"x")
    with pytest.raises(UnsupportedStepError, match="Hadoop"):
        read(TEXT, tmp_path / "a.zst")
    (tmp_path / "a.parquet").write_bytes(b"no parquet")
    with pytest.raises(ConnectorError, match="could not be read"):
        read(PARQUET, tmp_path / "a.parquet")


def test_what_python_cannot_read_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    times = Types.ROW_NAMED(["at"], [Types.SQL_TIME()])
    for file_format in (
        JsonReaderFormat.for_type_info(times),
        ParquetColumnarRowInputFormat(times),
        CsvReaderFormat.for_schema(
            CsvSchema.builder().add_number_column("at", number_type=Types.SQL_TIME()).build()
        ),
    ):
        with pytest.raises(UnsupportedStepError, match="cannot be read"):
            source_of(file_format, tmp_path)
    with pytest.raises(UnsupportedStepError, match="'dateFormat'"):
        source_of(JSON, tmp_path, dateFormat="dd/MM/yyyy")


# --- which files -------------------------------------------------------------------------------


def test_names_that_are_skipped_and_folders_that_are_not(tmp_path: Path) -> None:
    names = ["a", "_b", "_c=1", "d._COPYING_", ".e", "sub/x", "_sub/x", "_sub=2/x", "sub/.y", "[g]"]
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    assert sorted(read(TEXT, tmp_path)) == ["[g]", "_c=1", "_sub=2/x", "a", "sub/x"]
    assert sorted(read(TEXT, f"file://{tmp_path}")) == ["[g]", "_c=1", "_sub=2/x", "a", "sub/x"]
    assert sorted(read(TEXT, tmp_path, pathGlobFilter="{x,a*}")) == ["_sub=2/x", "a", "sub/x"]
    by_glob = {
        "*": ["[g]", "_c=1", "_sub/x", "_sub=2/x", "a", "sub/x"],
        "_b": [],
        "{a,sub/x}": ["a", "sub/x"],
        "[!_]*": ["[g]", "a", "sub/x"],
        "\\[g\\]": ["[g]"],
        "s?b": ["sub/x"],
    }
    for glob, expected in by_glob.items():
        assert sorted(read(TEXT, f"{tmp_path}/{glob}")) == expected, glob


@pytest.mark.parametrize("path", ["nowhere/x", "*.none"])
def test_a_path_without_anything_is_told(tmp_path: Path, path: str) -> None:
    with pytest.raises(ConnectorError, match="nothing to read"):
        source_of(TEXT, tmp_path / path)


def test_the_oldest_file_comes_first_and_is_read_to_its_end(tmp_path: Path) -> None:
    for age, name in enumerate("cab"):
        (tmp_path / name).write_text("".join(f"{name}{n}\n" for n in range(5)))
        os.utime(tmp_path / name, (1000 + age, 1000 + age))
    job = Job(source_of(TEXT, tmp_path))
    job.run(4)
    assert job.batches == [
        ["c0", "c1", "c2", "c3"],
        ["a0", "a1", "a2", "c4"],
        ["a3", "a4", "b0", "b1"],
        ["b2", "b3", "b4"],
    ]
    by_file = Job(source_of(TEXT, tmp_path, maxFilesPerTrigger="1"))
    by_file.run(100)
    assert [batch[0] for batch in by_file.batches] == ["c0", "a0", "b0"]


class Clock:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        monkeypatch.setattr(time, "monotonic", lambda: self.now)


def test_a_watched_folder_is_looked_at_once_in_an_interval(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock(monkeypatch)
    (tmp_path / "a").write_text("a\n")
    watched = FileSource.for_record_stream_format(TEXT, str(tmp_path)).monitor_continuously("10 s")
    source = files_in_python(watched.build())
    source.open()
    assert not source.is_bounded()
    job = Job(source)
    assert job.run() == ["a"]
    (tmp_path / "b").write_text("b\n")
    (tmp_path / "empty").write_text("")
    clock.now = 9.0
    assert job.run() == ["a"]
    clock.now = 10.0
    assert job.run() == ["a", "b"]
    (tmp_path / "a").unlink()
    clock.now = 20.0
    assert job.run() == ["a", "b"]
    assert job.position == {str(tmp_path / name): DONE for name in ("a", "b", "empty")}
    (tmp_path / "a").write_text("another a\n")  # the same name is the same file
    clock.now = 30.0
    assert job.run() == ["a", "b"]


def test_a_static_set_is_that_of_the_start(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("a\n")
    job = Job(source_of(TEXT, tmp_path))
    (tmp_path / "b").write_text("b\n")
    assert job.run() == ["a"]
    assert job.source.is_exhausted(job.position)
    assert Job(source_of(TEXT, tmp_path), job.position).run() == ["b"]


def test_a_file_that_is_gone_before_its_end_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1\n2\n3\n")
    job = Job(source_of(TEXT, tmp_path))
    assert job.batch(2) == ["1", "2"]
    (tmp_path / "a").unlink()
    with pytest.raises(ConnectorError, match="gone before it was read"):
        Job(source_of(TEXT, tmp_path), job.position).batch(2)
    with pytest.raises(ConnectorError, match="could not be read"):
        job.batch(2)
    # a batch that was planned, and is read again
    again = list(ranges_between(source_of(TEXT, tmp_path), job.position, {f"{tmp_path}/a": DONE}))
    assert again == [(f"{tmp_path}/a", 4, DONE)]


def test_a_description_is_that_of_the_file_source(tmp_path: Path) -> None:
    source = source_of(JSON, tmp_path)
    assert source.describe() == f"FileSource(json, {tmp_path}, once)"
    assert source.kind_name() == "FileSource"
    assert source.produced_type() == PERSON
    assert not source.has_splits()  # one watermark for all files, as on Spark


def test_files_of_a_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Any file system of pyarrow; here a folder plays the store."""

    def open_store(target: str) -> Storage:
        below = target.removeprefix("s3a://bucket").strip("/")
        return Storage(pafs.LocalFileSystem(), str(tmp_path / below))

    monkeypatch.setattr(Storage, "open", open_store)
    (tmp_path / "in" / "deep").mkdir(parents=True)
    (tmp_path / "in" / "a b.txt").write_text("1\n2\n3\n")
    (tmp_path / "in" / "deep" / "b.gz").write_bytes(gzip.compress(b"4\n5\n"))
    (tmp_path / "in" / "_hidden").write_text("no")
    job = Job(source_of(TEXT, "s3a://bucket/in"))
    assert sorted(job.run(2)) == ["1", "2", "3", "4", "5"]
    assert sorted(job.position) == ["s3a://bucket/in/a b.txt", "s3a://bucket/in/deep/b.gz"]
    assert read(TEXT, "s3a://bucket/in/a b.txt") == ["1", "2", "3"]
    assert read(TEXT, "s3a://bucket/in/d*") == ["4", "5"]
    pq.write_table(pa.table({"id": [1], "name": ["x"]}), tmp_path / "in" / "a.parquet")
    assert read(PARQUET, "s3a://bucket/in/a.parquet") == rows((1, "x"))
    with pytest.raises(ConnectorError, match="nothing to read"):
        source_of(TEXT, "s3a://bucket/nowhere")


# --- ranges ------------------------------------------------------------------------------------


def test_parts_of_a_range_are_the_range(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("".join(f"line {n}\n" for n in range(100)))
    table = pa.table({"id": range(100), "name": ["x"] * 100})
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=10)
    formats: dict[str, FileFormat] = {"a.txt": TEXT, "a.parquet": PARQUET}
    for name, file_format in formats.items():
        source = source_of(file_format, tmp_path / name)
        split = str(tmp_path / name)
        whole = list(source.read(split, 0, DONE))
        pieces = source.pieces(split, 0, DONE, 4)
        assert len(pieces) == 4
        assert all(one[1] == other[0] for one, other in pairwise(pieces))
        assert [record for piece in pieces for record in source.read(split, *piece)] == whole
    whole_files = FileEnumeratorProvider.default_non_splittable_file_enumerator()
    builder = FileSource.for_record_stream_format(TEXT, str(tmp_path / "a.txt"))
    asked = files_in_python(builder.set_file_enumerator(whole_files).build())
    assert asked.pieces(str(tmp_path / "a.txt"), 0, DONE, 4) == [(0, DONE)]


def test_lines_may_end_otherwise(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a|b\n|c|")
    assert read(TEXT, tmp_path, lineSep="|") == ["a", "b\n", "c"]
    assert Job(source_of(TEXT, tmp_path, lineSep="|")).run(1) == ["a", "b\n", "c"]
    (tmp_path / "a.txt").write_text("aXXbXXXc")
    assert read(TEXT, tmp_path, lineSep="XX") == ["a", "b", "Xc"]


def test_counts_of_records_are_near(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("".join(f"{n:09}\n" for n in range(100_000)))
    source = source_of(TEXT, file)
    assert source.records_between(str(file), 0, DONE) == 100_000
    cut = source.offset_after(str(file), 0, DONE, 60_000)
    assert cut == 600_000
    assert source.records_between(str(file), 0, cut) == 60_000
    assert source.records_between(str(file), DONE, DONE) == 0
    assert source.offset_after(str(file), 0, DONE, 100_000) == DONE
    assert source.records_between(str(file), 2_000_000, DONE) < 0  # it became shorter


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".deflate"])
def test_a_packed_file_is_unpacked_once_for_many_batches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    monkeypatch.setattr(content, "BLOCK_BYTES", 512)
    lines = [f"{n:05},some text" for n in range(2_000)]
    file = tmp_path / f"a.csv{suffix}"
    file.write_bytes(PACKINGS[suffix]("\n".join(lines).encode()))
    unpacked: list[str] = []
    original = content.opened

    def opened(path: str) -> Any:
        unpacked.append(path)
        return original(path)

    monkeypatch.setattr(content, "opened", opened)
    for file_format in (TEXT, csv_format()):
        unpacked.clear()
        assert len(Job(source_of(file_format, file)).run(50)) == 2_000
        assert len(unpacked) <= 4  # one to look ahead, one to read, one for the beginning


def test_another_file_in_the_place_of_a_packed_one_is_seen(tmp_path: Path) -> None:
    file = tmp_path / "a.gz"
    for text in ("one\ntwo\n", "three\nfour\n"):
        file.write_bytes(gzip.compress(text.encode()))
        assert Job(source_of(TEXT, file)).run(1) == text.split()


def test_a_sample_is_enough_to_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readers, "_SAMPLE_BYTES", 100)
    (tmp_path / "a.csv").write_text("".join(f"{n:03},{'x' * (n % 7)}\n" for n in range(1000)))
    found = source_of(csv_format(), tmp_path).records_between(str(tmp_path / "a.csv"), 0, DONE)
    assert 800 < found < 1200


# --- the local host ----------------------------------------------------------------------------


def test_a_job_without_spark_reads_files(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for day in range(3):
        lines = "".join(f'{{"id": {day}, "name": "n{n}"}}\n' for n in range(4))
        (tmp_path / "in" / f"{day}.json").write_text(lines)
    settings = Configuration()
    settings.set_string("headrace.execution.host", "local")
    settings.set_string("execution.checkpointing.dir", str(tmp_path / "job"))
    settings.set_string("source.max-records-per-batch", "5")

    def sums() -> list[int]:
        env = StreamExecutionEnvironment.get_execution_environment(settings)
        files = FileSource.for_record_stream_format(JSON, str(tmp_path / "in")).build()
        people = env.from_source(files, None, "people").uid("people")
        names = people.key_by(lambda row: row.name).sum("id").uid("sum")
        with names.execute_and_collect() as found:
            return [row.id for row in found if row.name == "n3"]

    assert sums() == [0, 1, 3]
    (tmp_path / "in" / "late.json").write_text('{"id": 10, "name": "n3"}\n')
    assert sums() == [13]
