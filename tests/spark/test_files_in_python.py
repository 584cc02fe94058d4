"""The same files, read by Spark's readers and in Python: the same records, types and bad lines."""

from __future__ import annotations

import datetime as dt
import decimal
import gzip
import math
import random
import shutil
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headrace.common.typeinfo import TypeInformation, Types
from headrace.connectors.files.file_log import (
    SparkFileLog,
    position_for_spark,
    position_from_spark,
)
from headrace.connectors.files.python_reader import DONE, files_in_python
from headrace.connectors.files.source import FileSource
from headrace.errors import ConnectorError, HeadraceError, TypeMismatchError
from headrace.formats.csv_reader import CsvReaderFormat, CsvSchema
from headrace.formats.file_format import FileFormat, MalformedRecords, StreamFormat
from headrace.formats.json_reader import JsonReaderFormat
from headrace.formats.parquet_reader import ParquetColumnarRowInputFormat
from headrace.hosts.admission import initial_position, latest_position
from headrace.hosts.spark.sources.file_reader import explain_read_failure, open_file_source
from headrace.spi.source import Obstacle

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

TEXT = StreamFormat.text_line_format()
KEEP, DROP, FAIL = MalformedRecords.KEEP, MalformedRecords.DROP, MalformedRecords.FAIL


class OneBatch:
    """A session in which a stream of files is a batch of them: the same readers, and no query."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    @property
    def readStream(self) -> Any:
        return self._spark.read

    def __getattr__(self, name: str) -> Any:
        return getattr(self._spark, name)


class Both:
    """Reads a file in both ways."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self._spark: Any = OneBatch(spark)
        self._folder = folder

    def compare(self, file_format: FileFormat, data: bytes, name: str = "a", **options: str) -> Any:
        """The records, the same ones in both ways; or our error, of one kind in both ways."""
        path = self._folder / name
        path.write_bytes(data)
        return self.compare_file(file_format, path, **options)

    def compare_file(self, file_format: FileFormat, path: Path, **options: str) -> Any:
        builder = FileSource.for_record_stream_format(file_format, str(path))  # type: ignore[arg-type]
        for key, value in options.items():
            builder.set_option(key, value)
        by_spark, by_python = self._by_spark(builder.build()), self._by_python(builder.build())
        assert _plain(by_python) == _plain(by_spark), path.read_bytes()[:2000]
        return by_python

    def _by_spark(self, source: FileSource) -> Any:
        try:
            rows = open_file_source(source, self._spark, max_files_per_batch=None).collect()
        except Exception as error:
            if isinstance(error, HeadraceError):
                return error
            return explain_read_failure(error) or error
        return [list(row) for row in rows]

    def _by_python(self, source: FileSource) -> Any:
        reading = files_in_python(source)
        reading.open()
        try:
            return [
                list(row.values())
                for split in sorted(reading.splits())
                for batch in reading.read_columns(split, reading.initial_offset(split), DONE)
                for row in batch.to_pylist(maps_as_pydicts="strict")
            ]
        except HeadraceError as error:
            return error


def _plain(value: Any) -> Any:
    """A value in a form that both sides have."""
    if isinstance(value, HeadraceError):
        return type(value)
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else repr(value)
    if isinstance(value, dt.datetime):
        return value.astimezone(dt.UTC).replace(tzinfo=None) if value.tzinfo else value
    if isinstance(value, bytes | bytearray):
        return bytes(value)
    if hasattr(value, "asDict"):
        return _plain(value.asDict())
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value


@pytest.fixture
def both(spark: SparkSession, tmp_path: Path) -> Both:
    return Both(spark, tmp_path)


# --- text --------------------------------------------------------------------------------------


def test_text(both: Both) -> None:
    for data in (b"a\r\nb\rc\n\n\r\n\nd", b"\xef\xbb\xbfa\nb\n", b"\n", b"a\xe2\x80\xa8b\nx\0y\n"):
        assert both.compare(TEXT, data)
        both.compare(TEXT, gzip.compress(data) + gzip.compress(b"\nmore"), "a.GZ")
    latin = StreamFormat.text_line_format("latin1")
    assert both.compare(latin, "\ufeffx\ngrün".encode("latin-1", "ignore")) == [["x"], ["grün"]]
    assert both.compare(TEXT, b"a|b\n|", lineSep="|") == [["a"], ["b\n"]]
    assert isinstance(both.compare(TEXT, gzip.compress(b"a\n" * 9)[:-9], "b.gz"), ConnectorError)


def test_which_files_are_read(both: Both, tmp_path: Path) -> None:
    for name in ("a", "_b", "_c=1", "d._COPYING_", ".e", "sub/x", "_sub/x", "_sub=2/x", "sub/.y"):
        (tmp_path / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "in" / name).write_text(name)
    for glob in ("in", "in/*", "in/{a,sub}", "in/[!_]*", "in/_s*"):
        source = FileSource.for_record_stream_format(TEXT, f"{tmp_path}/{glob}").build()
        found = sorted(both._by_python(source))
        assert found
        assert found == sorted(both._by_spark(source)), glob


# --- CSV ---------------------------------------------------------------------------------------

CELLS = [
    "", "a", "1", "-5", '""', '"a"', '"x""y"', '"q\nr"', '"a,b"', " 7", '"12"', 'z"', '"a" ',
    "#k", '"a"b', "é",
]  # fmt: skip


def three_columns(rnd: random.Random) -> CsvSchema:
    builder = CsvSchema.builder().add_string_column("a").add_number_column("b")
    builder.add_string_column("c")
    if rnd.random() < 0.3:
        builder.set_null_value("a")
    if rnd.random() < 0.3:
        builder.set_allow_comments()
    if rnd.random() < 0.3:
        builder.set_use_header()
    if rnd.random() < 0.1:
        builder.disable_quote_char()
    return builder.build()


def test_cells_of_csv(both: Both) -> None:
    """Well-formed records and others: quotes, line ends, too many and too few cells."""
    rnd = random.Random(7)
    for number in range(60):
        end = rnd.choice(["\n", "\n", "\r\n"])
        lines = [
            ",".join(rnd.choice(CELLS) for _ in range(rnd.choice([3, 3, 3, 2, 4])))
            for _ in range(rnd.randrange(8))
        ]
        text = end.join(lines).replace("q\nr", f"q{end}r")
        if number % 4 == 0:
            text = "".join(rnd.choice('ab1,"\n ') for _ in range(40))
        malformed = rnd.choice([KEEP, KEEP, DROP])
        both.compare(
            CsvReaderFormat.for_schema(three_columns(rnd), malformed=malformed), text.encode()
        )


VALUES: list[tuple[Any, list[str]]] = [
    (Types.INT(), ["+5", " 5", "007", "0x10", "5.0", "1e2", "2147483648", "", '""', '"7"', "٣"]),
    (Types.BYTE(), ["128", "-128"]),
    (Types.DOUBLE(), ["+5", " 5 ", "NaN", "nan", "Inf", "-Infinity", "1f", ".5", "1e400", "-0"]),
    (Types.FLOAT(), ["1e40", "0.1", "16777217", "1.00000017881393432617187499"]),
    (Types.BOOLEAN(), ["true", "TRUE", "1", " true"]),
    (Types.SQL_DATE(), ["2020-01-02", "2020-1-2", "2020", "2020-01-02 x", "2020-02-30", "1.2.20"]),
    (Types.SQL_TIMESTAMP(), ["2020-01-02 03:04:05.1", "2020-01-02T03:04", "2020", "2020-01-02 3Z"]),
    (Types.TIMESTAMP_LTZ(), ["2020-01-02 03:04:05", "2020-01-02T03:04:05.5+02:30", "x"]),
    (Types.BIG_DEC(), ["1.50", "", "1e3"]),
]


@pytest.mark.parametrize(("kind", "cells"), VALUES, ids=lambda value: str(value)[:20])
def test_values_of_csv(both: Both, kind: Any, cells: list[str]) -> None:
    schema = CsvSchema.builder().add_number_column("x", kind).add_string_column("k").build()
    for malformed in (KEEP, DROP):
        file_format = CsvReaderFormat.for_schema(schema, malformed=malformed)
        assert both.compare(file_format, "".join(f"{cell},k\n" for cell in cells).encode())


def test_bad_lines_of_csv_and_wrong_headers_fail(both: Both) -> None:
    columns = CsvSchema.builder().add_number_column("id").add_string_column("name")
    failing = CsvReaderFormat.for_schema(columns.build(), malformed=FAIL)
    error = both.compare(failing, b"1,a\nx,b\n2,c\n")
    assert isinstance(error, TypeMismatchError)
    assert error.message == "a line does not fit the declared type: 'x,b'"
    assert str(error.where).endswith("a:2")
    strict = CsvReaderFormat.for_schema(columns.set_use_header().set_strict_headers().build())
    assert isinstance(both.compare(strict, b"id,other\n1,a\n"), ConnectorError)
    assert both.compare(strict, b"ID,name\n1,a\n") == [[1, "a"]]


def test_arrays_decimals_and_escapes_of_csv(both: Both) -> None:
    from headrace.table import DataTypes

    columns = (
        CsvSchema.builder()
        .add_array_column("ints", ";", Types.INT())
        .add_array_column("one", "")
        .add_number_column("dec", DataTypes.DECIMAL(4, 2))
    )
    kept = CsvReaderFormat.for_schema(columns.build(), malformed=KEEP)
    assert both.compare(kept, b"1; 2,q;r,1.555\n,,\n3,x,123.4\n4,y,1e1\n")
    texts = CsvSchema.builder().add_string_column("a").add_string_column("b").set_escape_char("\\")
    for data in (b'a,b\\,c\n\n"x\ny",z\nq\n1,2,3\n', b'a,"b\\"c"\r\nd,e\r\n', b'"a"b,"c'):
        both.compare(CsvReaderFormat.for_schema(texts.build(), malformed=KEEP), data)


# --- JSON --------------------------------------------------------------------------------------

PAIR = Types.ROW_NAMED(["p", "q"], [Types.INT(), Types.STRING()])
NODES: list[tuple[TypeInformation, list[str]]] = [
    (Types.STRING(), ["1.50", "true", '{"b" : 1}', "[1, 2]", "'q'", '"\\ud800"', '"a\tb"', "01"]),
    (Types.INT(), ["-0", "1.0", "1e2", "2147483648", '"1"', '""', "null", "true", "NaN"]),
    (Types.BYTE(), ["128", "255", "256", "-129"]),
    (Types.DOUBLE(), ["-0", "-0.0", '"NaN"', '"+INF"', '"INF"', "NaN", "-INF", "INF", "1e400"]),
    (Types.FLOAT(), ["16777217", "1.00000017881393432617187499", "1e40"]),
    (Types.SQL_DATE(), ['"2020-1-2"', '"2020-01-02"', '"2020-01-02T03"', "1", '"x"']),
    (Types.SQL_TIMESTAMP(), ['"2020-01-02 03:04:05"', '"2020-01-02T03:04:05Z"', "5"]),
    (Types.TIMESTAMP_LTZ(), ['"2020-01-02T03:04:05.123Z"', "5", "1.5"]),
    (Types.BIG_DEC(), ["1.50", '"x"']),
    (Types.PRIMITIVE_ARRAY(Types.BYTE()), ['"aGk="', '"?"', '""']),
    (Types.LIST(Types.INT()), ["[1,null]", '[1,"a"]', "1", "[]", "null"]),
    (Types.MAP(Types.STRING(), Types.INT()), ['{"a":1,"b":null}', '{"a":"x"}', "[]", "{}"]),
    (PAIR, ['{"p":1,"q":"z"}', '{"p":"bad","q":"z"}', "{}", "null", "1"]),
    (Types.LIST(PAIR), ['[{"p":1},{"p":"x"},null]', "[]"]),
]


@pytest.mark.parametrize(("kind", "nodes"), NODES, ids=lambda value: str(value)[:20])
def test_values_of_json(both: Both, kind: TypeInformation, nodes: list[str]) -> None:
    row = Types.ROW_NAMED(["x", "k"], [kind, Types.INT()])
    for malformed in (KEEP, DROP):
        file_format = JsonReaderFormat.for_type_info(row, malformed=malformed)
        lines = [f'{{"x":{node},"k":1}}' for node in nodes]
        assert both.compare(file_format, "\n".join(lines).encode())
    # where Arrow reads all of them at once
    good = [line for line in lines if not isinstance(_strict(both, row, line), HeadraceError)]
    assert both.compare(JsonReaderFormat.for_type_info(row), "\n".join(good * 50).encode())


def _strict(both: Both, row: Any, line: str) -> Any:
    return both.compare(JsonReaderFormat.for_type_info(row), line.encode())


def test_lines_of_json(both: Both) -> None:
    row = Types.ROW_NAMED(["x", "k"], [Types.INT(), Types.STRING()])
    file_format = JsonReaderFormat.for_type_info(row, malformed=KEEP)
    parts = [
        "{", "}", '"x"', ":", "1", ",", "[", "]", '"k"', "null", '"a"', " ", "\n", '{"x":1}\n',
    ]  # fmt: skip
    rnd = random.Random(11)
    for _ in range(40):
        text = "".join(rnd.choice(parts) for _ in range(rnd.randrange(1, 25)))
        both.compare(file_format, f"{text}\n".encode())
    lines = [
        '[{"x":1},{"x":"b"}]', '{"x":1} junk', "{'x':1}", '{"x":3,"x":"a"}', '{"X":1}', "null",
        '{"x":1,"y":tru}', '{"k":{"a":[1]},"x":2}', "", "  ", '{"x":1', "[]",
    ]  # fmt: skip
    found = both.compare(file_format, "\r\n".join(lines).encode() + b'\n{"k":"\xff"}\n')
    assert len(found) == 11
    error = both.compare(JsonReaderFormat.for_type_info(row), b'\n{"x":1}\n{"x":"a"}\n')
    assert isinstance(error, TypeMismatchError)
    assert str(error.where).endswith("a:3")


# --- Parquet -----------------------------------------------------------------------------------

MOMENT = dt.datetime(2020, 1, 2, 3, 4, 5, 123456)
COLUMNS: list[tuple[pa.Array, TypeInformation]] = [
    (pa.array([MOMENT, None], pa.timestamp("us")), Types.SQL_TIMESTAMP()),
    (pa.array([MOMENT, None], pa.timestamp("us")), Types.TIMESTAMP_LTZ()),
    (pa.array([MOMENT, None], pa.timestamp("us", "UTC")), Types.SQL_TIMESTAMP()),
    (pa.array([MOMENT, None], pa.timestamp("ns")), Types.SQL_TIMESTAMP()),
    (pa.array([MOMENT.date(), None], pa.date32()), Types.SQL_DATE()),
    (pa.array([decimal.Decimal("1.50")], pa.decimal128(5, 2)), Types.BIG_DEC()),
    (pa.array([7, None], pa.int64()), Types.INT()),
    (pa.array([7, None], pa.int32()), Types.LONG()),
    (pa.array([7, None], pa.int32()), Types.DOUBLE()),
    (pa.array([7, None], pa.int64()), Types.DOUBLE()),
    (pa.array([0.5, None], pa.float32()), Types.DOUBLE()),
    (pa.array([0.5, None], pa.float64()), Types.FLOAT()),
    (pa.array([7, None], pa.uint32()), Types.LONG()),
    (pa.array([b"ab", None], pa.binary()), Types.STRING()),
    (pa.array(["ab", None]).dictionary_encode(), Types.STRING()),
    (pa.array(["ab", None], pa.large_string()), Types.STRING()),
    (pa.array([True, None]), Types.INT()),
    (pa.array([[1, None], None, []], pa.list_(pa.int32())), Types.LIST(Types.LONG())),
    (pa.array([[("a", 1)], None, []], pa.map_(pa.string(), pa.int64())),
     Types.MAP(Types.STRING(), Types.LONG())),
    (pa.array([{"P": 1, "r": 2}, None, {"P": None, "r": 1}]), PAIR),
]  # fmt: skip


def test_columns_of_parquet(both: Both, tmp_path: Path) -> None:
    for number, (column, kind) in enumerate(COLUMNS):
        path = tmp_path / f"{number}.parquet"
        pq.write_table(pa.table({"X": column}), path)
        row = Types.ROW_NAMED(["x", "missing"], [kind, Types.STRING()])
        both.compare_file(ParquetColumnarRowInputFormat(row), path)


def test_row_groups_of_parquet(both: Both, tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    table = pa.table({"id": range(1000), "name": [f"n{n}" for n in range(1000)]})
    pq.write_table(table, path, row_group_size=64)
    row = Types.ROW_NAMED(["name", "id"], [Types.STRING(), Types.LONG()])
    assert len(both.compare_file(ParquetColumnarRowInputFormat(row), path)) == 1000
    path.write_bytes(b"no parquet")
    broken = both.compare_file(ParquetColumnarRowInputFormat(row), path)
    assert isinstance(broken, ConnectorError)


# --- positions ---------------------------------------------------------------------------------


def test_positions_move_from_spark_to_python_and_back(spark: SparkSession, tmp_path: Path) -> None:
    folder, checkpoint = tmp_path / "in", tmp_path / "checkpoint"
    folder.mkdir()
    source = FileSource.for_record_stream_format(TEXT, str(folder)).build()

    def run() -> list[str]:
        found: list[str] = []
        frame = open_file_source(source, spark, max_files_per_batch=1)
        query = (
            frame.writeStream.foreachBatch(lambda b, _: found.extend(r[0] for r in b.collect()))
            .option("checkpointLocation", str(checkpoint))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        return sorted(found)

    names = [f"a b%{n}+é[{n}].txt" for n in range(11)]
    for name in names:
        (folder / name).write_text(name)
    assert run() == sorted(names)

    offset = (checkpoint / "offsets" / "10").read_text().split("\n")[-1]
    files = {file.name: file.read_bytes() for file in (checkpoint / "sources" / "0").iterdir()}
    position = position_from_spark([SparkFileLog(offset, files)])
    assert position == {str(folder / name): DONE for name in names}
    (folder / "late.txt").write_text("late")
    reading = files_in_python(source)
    reading.open()
    latest = latest_position(reading, position)
    assert [path for path in latest if latest[path] != DONE] == [str(folder / "late.txt")]

    read = {**initial_position(reading), **position, str(folder / "late.txt"): DONE}
    logs = position_for_spark(source, read)
    assert not isinstance(logs, Obstacle)
    # a checkpoint in which one batch has read all of that
    for number in range(1, 11):
        for kind in ("offsets", "commits"):
            (checkpoint / kind / str(number)).unlink()
            (checkpoint / kind / f".{number}.crc").unlink(missing_ok=True)
    shutil.rmtree(checkpoint / "sources")
    (checkpoint / "sources" / "0").mkdir(parents=True)
    for name, content in logs[0].files.items():
        (checkpoint / "sources" / "0" / name).write_bytes(content)
    (checkpoint / "offsets" / ".0.crc").unlink(missing_ok=True)
    lines = (checkpoint / "offsets" / "0").read_text().split("\n")[:-1]
    (checkpoint / "offsets" / "0").write_text("\n".join([*lines, str(logs[0].offset)]))
    (folder / "later.txt").write_text("later")
    assert run() == ["later"]
