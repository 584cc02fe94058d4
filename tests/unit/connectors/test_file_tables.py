"""Tables of files, on the local host; what they write was compared with PyFlink 2.3."""

from __future__ import annotations

import datetime
import decimal
from typing import TYPE_CHECKING, Any

import pytest

from headrace.common.changes import Changes
from headrace.common.data_types import DataType, DataTypes, RowType
from headrace.common.row_data_type import RowDataTypeInfo
from headrace.connectors.files import committer
from headrace.connectors.files.committer import FileCommitter
from headrace.connectors.files.table import FileTables
from headrace.datastream.connectors.sink import CommitterContext, WriterContext
from headrace.errors import BadMessageError, ConfigurationError, UnsupportedStepError
from headrace.rel.connected_tables import origin_of, target_of
from headrace.spi.table_connector import TableDefinition, TableMetadataColumn
from table_runs import read, row_type, table, write

if TYPE_CHECKING:
    from pathlib import Path

UTC = datetime.UTC
D = decimal.Decimal
COLUMNS = row_type(
    a=DataTypes.INT(), b=DataTypes.STRING(), c=DataTypes.DECIMAL(10, 2),
    c2=DataTypes.DECIMAL(38, 18), d=DataTypes.DATE(), e=DataTypes.TIME(), f=DataTypes.TIMESTAMP(3),
    g=DataTypes.TIMESTAMP(6), i=DataTypes.ARRAY(DataTypes.INT()),
    k=row_type(x=DataTypes.INT(), y=DataTypes.STRING()), l=DataTypes.BYTES(),
    m=DataTypes.BOOLEAN(), n=DataTypes.DOUBLE(), o=DataTypes.FLOAT(),
    h=DataTypes.TIMESTAMP_LTZ(3), p=DataTypes.BIGINT(), n2=DataTypes.DOUBLE(),
)  # fmt: skip
FIRST = (
    1, 'a "q" , ü', D("100.00"), D("1.500000000000000000"), datetime.date(2020, 1, 2),
    datetime.time(10), datetime.datetime(2020, 1, 2),
    datetime.datetime(2020, 1, 2, 3, 4, 5, 123450), [1, None], (1, "yy"), b"\x01\xff", True, 1e-5,
    1.100000023841858, datetime.datetime(1970, 1, 1, 0, 0, 1, 500000, UTC), 9000000000, 1e10,
)  # fmt: skip
SECOND = (
    None, None, None, D("-0.000001000000000000"), None, None, None, None, None, None, None, False,
    1.5, None, None, None, 0.0,
)  # fmt: skip


def files(path: Path, form: str, columns: RowType = COLUMNS, **more: Any) -> TableDefinition:
    options = {"path": str(path), "format": form, **more.pop("options", {})}
    return table("filesystem", columns, options=options, **more)


def content(path: Path) -> str:
    found = [file for file in path.rglob("*") if file.is_file() and not _hidden(file, path)]
    return "".join(file.read_text() for file in sorted(found))


def _hidden(file: Path, path: Path) -> bool:
    return any(part.startswith((".", "_")) for part in file.relative_to(path).parts)


# each as PyFlink 2.3 has written it
WRITTEN = {
    "json": (
        {},
        '{"a":1,"b":"a \\"q\\" , ü","c":1E+2,"c2":1.5,"d":"2020-01-02","e":"10:00:00",'
        '"f":"2020-01-02 00:00:00","g":"2020-01-02 03:04:05.12345","i":[1,null],'
        '"k":{"x":1,"y":"yy"},"l":"Af8=","m":true,"n":1.0E-5,"o":1.1,'
        '"h":"1970-01-01 00:00:01.5Z","p":9000000000,"n2":1.0E10}\n'
        '{"a":null,"b":null,"c":null,"c2":-0.000001,"d":null,"e":null,"f":null,"g":null,"i":null,'
        '"k":null,"l":null,"m":false,"n":1.5,"o":null,"h":null,"p":null,"n2":0.0}\n',
    ),
    "iso json": (
        {
            "json.timestamp-format.standard": "ISO-8601",
            "json.encode.decimal-as-plain-number": "true",
            "json.encode.ignore-null-fields": "true",
        },
        '{"a":1,"b":"a \\"q\\" , ü","c":100.00,"c2":1.500000000000000000,"d":"2020-01-02",'
        '"e":"10:00:00","f":"2020-01-02T00:00:00","g":"2020-01-02T03:04:05.12345","i":[1,null],'
        '"k":{"x":1,"y":"yy"},"l":"Af8=","m":true,"n":1.0E-5,"o":1.1,'
        '"h":"1970-01-01T00:00:01.5Z","p":9000000000,"n2":1.0E10}\n'
        '{"c2":-0.000001000000000000,"m":false,"n":1.5,"n2":0.0}\n',
    ),
    "csv": (
        {},
        '1,"a ""q"" , ü",1E+2,1.5,2020-01-02,10:00:00,"2020-01-02 00:00:00",'
        '"2020-01-02 03:04:05.12345",1;,1;yy,Af8=,true,1.0E-5,1.1,"1970-01-01 00:00:01.5Z",'
        "9000000000,1.0E10\n"
        ",,,-0.000001,,,,,,,,false,1.5,,,,0.0\n",
    ),
    "other csv": (
        {
            "csv.null-literal": "n/a",
            "csv.field-delimiter": "|",
            "csv.array-element-delimiter": "#",
        },
        '1|"a ""q"" , ü"|1E+2|1.5|"2020-01-02"|"10:00:00"|"2020-01-02 00:00:00"|'
        '"2020-01-02 03:04:05.12345"|"1#n/a"|"1#yy"|"Af8="|true|1.0E-5|1.1|'
        '"1970-01-01 00:00:01.5Z"|9000000000|1.0E10\n'
        "n/a|n/a|n/a|-0.000001|n/a|n/a|n/a|n/a|n/a|n/a|n/a|false|1.5|n/a|n/a|n/a|0.0\n",
    ),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_files_are_written_as_flink_writes_them_and_read_again(name: str, tmp_path: Path) -> None:
    options, text = WRITTEN[name]
    definition = files(tmp_path / "t", name.split()[-1], options=options)
    write(definition, [FIRST, SECOND])
    assert content(tmp_path / "t") == text
    if name.endswith("json"):
        assert read(definition) == [FIRST, SECOND]
        return
    # as in Flink: an empty cell is no number, and a literal for NULL is no row
    with pytest.raises(BadMessageError, match="field 'i'" if name == "csv" else "field 'k'"):
        read(definition)


def test_csv_is_read_as_flink_reads_it(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text(',a\n1,\n"y ","z" \n', encoding="utf-8")
    columns = row_type(a=DataTypes.INT(), b=DataTypes.STRING())
    ignoring = {"csv.ignore-parse-errors": "true"}
    assert read(files(tmp_path, "csv", columns, options=ignoring)) == [
        (None, "a"), (1, ""), (None, "z")
    ]  # fmt: skip
    (tmp_path / "x.csv").write_text(",a\n1,\n", encoding="utf-8")
    assert read(files(tmp_path, "csv", columns, options={"csv.null-literal": ""})) == [
        (None, "a"), (1, None)
    ]  # fmt: skip
    (tmp_path / "x.csv").write_text("2020-1-2,10:00,2020-01-02 03:04:05.123456\n")
    times = row_type(a=DataTypes.DATE(), b=DataTypes.TIME(), c=DataTypes.TIMESTAMP(3))
    assert read(files(tmp_path, "csv", times)) == [
        (
            datetime.date(2020, 1, 2),
            datetime.time(10),
            datetime.datetime(2020, 1, 2, 3, 4, 5, 123000),
        )
    ]
    (tmp_path / "x.csv").write_text('a,"two\nlines"\n')
    with pytest.raises(BadMessageError, match="a quote does not end"):
        read(files(tmp_path, "csv", row_type(a=DataTypes.STRING(), b=DataTypes.STRING())))


@pytest.mark.parametrize("form", ["parquet", "avro"])
def test_files_of_columns_and_records(form: str, tmp_path: Path) -> None:
    fields = [f for f in COLUMNS if form != "parquet" or f.name != "e"]
    columns = RowType(fields)
    places = [COLUMNS.names.index(f.name) for f in fields]
    lines = [tuple(line[place] for place in places) for line in (FIRST, SECOND)]
    options = {"avro.timestamp_mapping.legacy": "false", "avro.codec": "deflate"}
    definition = files(tmp_path / "t", form, columns, options=options if form == "avro" else {})
    write(definition, lines)
    assert read(definition) == lines


def test_raw_files_are_texts(tmp_path: Path) -> None:
    definition = files(tmp_path / "t", "raw", row_type(line=DataTypes.STRING()))
    write(definition, [("a b",), ("c",)])
    assert read(definition) == [("a b",), ("c",)]


def test_partitions_are_folders(tmp_path: Path) -> None:
    columns = row_type(
        a=DataTypes.INT(), day=DataTypes.DATE(), b=DataTypes.STRING(), s=DataTypes.STRING()
    )
    definition = files(
        tmp_path / "t", "json", columns, partition_keys=("day", "s"),
        options={
            "sink.partition-commit.policy.kind": "success-file",
            "sink.partition-commit.trigger": "process-time",
        },
    )  # fmt: skip
    day = datetime.date(2020, 1, 1)
    lines = [(1, day, "x", "a/b=c d"), (2, None, "y", None), (3, day, "z", "ü")]
    write(definition, lines)
    folders = sorted(
        str(file.parent.relative_to(tmp_path / "t")) for file in tmp_path.rglob("_SUCCESS")
    )
    assert folders == [
        "day=2020-01-01/s=a%2Fb%3Dc d",
        "day=2020-01-01/s=ü",
        "day=__DEFAULT_PARTITION__/s=__DEFAULT_PARTITION__",
    ]
    assert '{"a":1,"b":"x"}' in content(tmp_path / "t")
    assert sorted(read(definition)) == lines


@pytest.mark.parametrize(
    ("kind", "folder", "value"),
    [
        (DataTypes.DATE(), "2020-01-01", datetime.date(2020, 1, 1)),
        (DataTypes.DATE(), "18262", datetime.date(2020, 1, 1)),  # as Flink writes it
        (DataTypes.DATE(), "-1", datetime.date(1969, 12, 31)),
        (DataTypes.TIME(), "3723000", datetime.time(1, 2, 3)),
        (DataTypes.TIME(), "01%3A02%3A03", datetime.time(1, 2, 3)),
        (
            DataTypes.TIMESTAMP(3),
            "2020-01-01T01%3A02%3A03.004",
            datetime.datetime(2020, 1, 1, 1, 2, 3, 4000),
        ),
        (
            DataTypes.TIMESTAMP(3),
            "2020-01-01 01%3A02%3A03",
            datetime.datetime(2020, 1, 1, 1, 2, 3),
        ),
        (
            DataTypes.TIMESTAMP_LTZ(3),
            "1970-01-01T00%3A00%3A01Z",
            datetime.datetime(1970, 1, 1, 0, 0, 1, tzinfo=datetime.UTC),
        ),
        (DataTypes.BOOLEAN(), "true", True),
        (DataTypes.INT(), "7", 7),
    ],
)
def test_names_of_folders_are_values(
    tmp_path: Path, kind: DataType, folder: str, value: object
) -> None:
    columns = row_type(a=DataTypes.INT(), p=kind)
    definition = files(tmp_path / "t", "csv", columns, partition_keys=("p",))
    (tmp_path / "t" / f"p={folder}").mkdir(parents=True)
    (tmp_path / "t" / f"p={folder}" / "x.csv").write_text("1\n", encoding="utf-8")
    assert read(definition) == [(1, value)]


def test_times_in_names_of_folders_are_read_as_they_are_written(tmp_path: Path) -> None:
    moment = datetime.datetime(2020, 1, 1, 1, 2, 3, 4000)
    columns = row_type(a=DataTypes.INT(), p=DataTypes.TIMESTAMP(3), t=DataTypes.TIME())
    definition = files(tmp_path / "t", "csv", columns, partition_keys=("p", "t"))
    write(definition, [(1, moment, datetime.time(1, 2, 3))])
    assert read(definition) == [(1, moment, datetime.time(1, 2, 3))]


def test_bytes_are_no_names_of_folders(tmp_path: Path) -> None:
    columns = row_type(a=DataTypes.INT(), p=DataTypes.BYTES())
    definition = files(tmp_path / "t", "csv", columns, partition_keys=("p",))
    with pytest.raises(UnsupportedStepError, match="cannot be names of folders"):
        read(definition)


def test_what_is_known_of_files_is_metadata(tmp_path: Path) -> None:
    file = tmp_path / "data.json"
    file.write_text('{"a": 1}\n')
    metadata = tuple(
        TableMetadataColumn(name, f"file.{name}", kind, virtual=True)
        for name, kind in [
            ("path", DataTypes.STRING()),
            ("name", DataTypes.STRING()),
            ("size", DataTypes.BIGINT()),
        ]
    )
    definition = files(file, "json", row_type(a=DataTypes.INT()), metadata=metadata)
    assert read(definition) == [(1, str(file), "data.json", 9)]


def test_changes_are_read_from_files_and_written_to_them(tmp_path: Path) -> None:
    columns = row_type(id=DataTypes.INT(), name=DataTypes.STRING())
    (tmp_path / "in.json").write_text(
        '{"before": null, "after": {"id": 1, "name": "a"}, "op": "c"}\n'
        '{"before": {"id": 1, "name": "a"}, "after": {"id": 1, "name": "b"}, "op": "u"}\n'
        '{"before": {"id": 1, "name": "b"}, "after": null, "op": "d"}\n'
    )
    changes = [("+I", (1, "a")), ("-U", (1, "a")), ("+U", (1, "b")), ("-D", (1, "b"))]
    assert read(files(tmp_path / "in.json", "debezium-json", columns)) == changes
    out = files(tmp_path / "out", "debezium-json", columns)
    assert target_of(out).accepts(Changes.ALL) == Changes.ALL
    write(out, [(1, "a", 0), (1, "a", 1), (1, "b", 2), (1, "b", 3)], changes=Changes.ALL)
    assert read(out) == [("+I", (1, "a")), ("-D", (1, "a")), ("+I", (1, "b")), ("-D", (1, "b"))]
    write(files(tmp_path / "more", "debezium-json", columns), [(2, "c")])
    assert read(files(tmp_path / "more", "debezium-json", columns)) == [("+I", (2, "c"))]


def test_a_line_that_names_the_columns_is_told_as_such(tmp_path: Path) -> None:
    columns = row_type(a=DataTypes.INT(), b=DataTypes.STRING())
    (tmp_path / "in.csv").write_text("A, b\n1,x\n")
    with pytest.raises(BadMessageError, match="'A' is not a whole number") as caught:
        read(files(tmp_path / "in.csv", "csv", columns))
    assert "names the columns" in str(caught.value.fix)
    assert str(caught.value.where).endswith("in.csv:1")


def test_bad_lines_fail_or_are_left_out(tmp_path: Path) -> None:
    columns = row_type(a=DataTypes.INT(), b=DataTypes.STRING())
    (tmp_path / "in.json").write_text('{"a": 1, "b": 2.5}\n{"a": "x"}\nnot json\n\n{"b": "z"}\n')
    with pytest.raises(BadMessageError, match="field 'a'") as caught:
        read(files(tmp_path / "in.json", "json", columns))
    assert "json.ignore-parse-errors" in str(caught.value.fix)
    assert str(caught.value.where).endswith("in.json:2")
    lenient = files(
        tmp_path / "in.json", "json", columns, options={"json.ignore-parse-errors": "true"}
    )
    assert read(lenient) == [(1, "2.5"), (None, None), (None, "z")]
    strict = files(
        tmp_path / "in.json", "json", columns, options={"json.fail-on-missing-field": "true"}
    )
    with pytest.raises(BadMessageError):
        read(strict)


def test_monitored_folders_do_not_end(tmp_path: Path) -> None:
    columns = row_type(a=DataTypes.INT())
    once = files(tmp_path, "json", columns)
    monitored = files(tmp_path, "json", columns, options={"source.monitor-interval": "1 s"})
    assert origin_of(once).bounded
    assert not origin_of(monitored).bounded


def test_a_pattern_chooses_files(tmp_path: Path) -> None:
    for name in ("one.json", "two.json", "three.json"):
        (tmp_path / name).write_text('{"a": 1}\n')
    options = {"source.path.regex-pattern": ".*/t[^/]*.json"}
    definition = files(tmp_path, "json", row_type(a=DataTypes.INT()), options=options)
    assert read(definition) == [(1,), (1,)]


@pytest.mark.parametrize(
    ("form", "columns", "options", "message"),
    [
        ("jsn", {"a": DataTypes.INT()}, {}, "no table format 'jsn'"),
        ("json", {"a": DataTypes.INT()}, {"json.ignore-parse-error": "true"}, "has no option"),
        ("json", {"a": DataTypes.INT()}, {"csv.null-literal": "x"}, "has no option"),
        ("csv", {"a": DataTypes.INT()}, {"csv.field-delimiter": "ab"}, "field-delimiter"),
        ("raw", {"a": DataTypes.INT(), "b": DataTypes.INT()}, {}, "one column"),
    ],
)
def test_options_of_formats_are_checked(
    form: str, columns: Any, options: dict[str, str], message: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigurationError, match=message):
        origin_of(files(tmp_path, form, row_type(**columns), options=options))


def test_types_that_a_format_cannot_hold_are_refused(tmp_path: Path) -> None:
    maps = row_type(a=DataTypes.MAP(DataTypes.INT(), DataTypes.INT()))
    for form in ("json", "csv", "avro"):
        with pytest.raises(UnsupportedStepError):
            origin_of(files(tmp_path, form, maps))
        with pytest.raises(UnsupportedStepError):
            target_of(files(tmp_path, form, maps))


# --- parts over epochs ---------------------------------------------------------------------------

N = row_type(n=DataTypes.INT())
HOUR_MS, MINUTE_MS = 3_600_000, 60_000


def seen_after_epochs(
    path: Path, form: str, seconds: int, monkeypatch: pytest.MonkeyPatch, **options: str
) -> list[int]:
    """How many files stand there after each of some epochs of a second in continuous mode."""
    sink = FileTables().sink(files(path, form, N, options=options)).sink
    now_ms = 1_000_000
    monkeypatch.setattr(committer, "wall_clock", lambda: now_ms)
    driver = sink.create_committer(CommitterContext("job", "out", epochs_overlap=True))
    found = []
    for epoch in range(seconds):
        staged = []
        for subtask in range(2):
            place = WriterContext(
                *(subtask, 2, f"{epoch}", "job", "out", epoch, RowDataTypeInfo(N)),
                epochs_overlap=True,
            )
            writer = sink.create_writer(place)
            writer.write([(epoch,)], None)
            staged += writer.prepare_commit()
        now_ms += 1000
        driver.commit(epoch, staged)
        found.append(len([file for file in path.glob("*") if not _hidden(file, path)]))
    return found


@pytest.mark.parametrize(
    ("form", "options", "expected"),
    [
        ("json", {"rollover-interval": "3 s"}, [0, 0, 0, 2, 2, 2, 4]),
        ("json", {"inactivity-interval": "1 s"}, [0] * 7),  # each epoch has a line
        ("json", {"file-size": "24 b"}, [0, 0, 2, 2, 2, 4, 4]),
        ("json", {"rollover-interval": "3 s", "auto-compaction": "true"}, [0, 0, 0, 1, 1, 1, 2]),
        ("parquet", {"rollover-interval": "3 s"}, [0, 0, 0, 2, 2, 2, 4]),
    ],
)
def test_a_rolling_policy_acts_over_epochs(
    form: str,
    options: dict[str, str],
    expected: list[int],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told = {
        key if key == "auto-compaction" else f"sink.rolling-policy.{key}": value
        for key, value in options.items()
    }
    assert seen_after_epochs(tmp_path, form, 7, monkeypatch, **told) == expected


@pytest.mark.parametrize(("form", "age_ms"), [("csv", HOUR_MS // 2), ("parquet", MINUTE_MS)])
def test_who_reads_columns_does_not_wait_for_half_an_hour(
    form: str, age_ms: int, tmp_path: Path
) -> None:
    sink = FileTables().sink(files(tmp_path, form, N)).sink
    driver = sink.create_committer(CommitterContext("job", "out", epochs_overlap=True))
    assert isinstance(driver, FileCommitter)
    rolling = driver._planner.rolling
    assert rolling is not None
    assert rolling.rollover_ms == age_ms
