from __future__ import annotations

import csv
import dataclasses
import datetime as dt
import decimal
import json
import os
import pickle
from typing import TYPE_CHECKING, Any, NamedTuple

import cloudpickle
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headrace.common.serialization import Encoder
from headrace.common.typeinfo import Types
from headrace.common.types import Row, RowKind
from headrace.connectors.files import writer as file_writer
from headrace.datastream.connectors.file_system import (
    BucketAssigner,
    FileCompactor,
    FileCompactStrategy,
    FileSink,
    OutputFileConfig,
    RollingPolicy,
    StreamingFileSink,
)
from headrace.datastream.connectors.sink import CommitterContext, WriterContext
from headrace.errors import ConnectorError, InvalidArgumentError, TypeMismatchError
from headrace.formats.writer_factories import ParquetWriters

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from headrace.connectors.files.committer import FileCommitter
    from headrace.connectors.files.writer import FileWriter

PERSON = Types.ROW_NAMED(["name", "age"], [Types.STRING(), Types.INT()])


def new_writer(
    sink: FileSink, type_info: Any = None, batch: int = 0, subtask: int = 0
) -> FileWriter:
    # As the engine does: the sink travels by pickle.
    sink = pickle.loads(cloudpickle.dumps(sink))
    attempt = f"{batch}-{subtask}"
    return sink.create_writer(WriterContext(subtask, 2, attempt, "job", "out", batch, type_info))


def new_committer(sink: FileSink) -> FileCommitter:
    return sink.create_committer(CommitterContext("job", "out"))


def write(
    sink: FileSink, records: list[Any], type_info: Any = None, times: list[int] | None = None
) -> None:
    writer = new_writer(sink, type_info)
    writer.write(records, times)
    committer = new_committer(sink)
    committer.commit(0, writer.prepare_commit())
    committer.end_of_input()
    committer.close()


def files(path: Path) -> list[Path]:
    found = (f for f in path.rglob("*") if f.is_file())
    return sorted(f for f in found if ".headrace" not in f.parts)


def lines(path: Path) -> list[str]:
    return [line for file in files(path) for line in file.read_text().splitlines()]


@dataclasses.dataclass
class Person:
    name: str
    age: int


class Pair(NamedTuple):
    name: str
    age: int


# formats


def test_parquet_has_the_columns_of_the_streams_type(tmp_path: Path) -> None:
    write(FileSink.parquet(str(tmp_path)), [Row("ann", 3), Row(name="bob", age=None)], PERSON)
    (file,) = files(tmp_path)
    table = pq.read_table(file)
    assert table.schema.field("age").type == pa.int32()
    assert table.to_pylist() == [{"name": "ann", "age": 3}, {"name": "bob", "age": None}]
    assert file.suffix == ".parquet"


@pytest.mark.parametrize(
    "record",
    [{"name": "ann", "age": 3}, Row(name="ann", age=3), Person("ann", 3), Pair("ann", 3)],
    ids=["dict", "row", "dataclass", "namedtuple"],
)
def test_untyped_records_become_columns_by_name(record: Any, tmp_path: Path) -> None:
    write(FileSink.parquet(str(tmp_path / "parquet")), [record])
    write(FileSink.json(str(tmp_path / "json")), [record], Types.PICKLED_BYTE_ARRAY())
    write(FileSink.csv(str(tmp_path / "csv")), [record])
    assert pq.read_table(files(tmp_path / "parquet")[0]).to_pylist() == [{"name": "ann", "age": 3}]
    assert lines(tmp_path / "json") == ['{"name":"ann","age":3}']
    assert lines(tmp_path / "csv") == ["name,age", "ann,3"]


def test_tuples_and_plain_values_get_names(tmp_path: Path) -> None:
    write(FileSink.parquet(str(tmp_path / "tuples")), [(1, "a")])
    write(FileSink.parquet(str(tmp_path / "values")), [1, 2])
    assert pq.read_table(files(tmp_path / "tuples")[0]).column_names == ["f0", "f1"]
    assert pq.read_table(files(tmp_path / "values")[0]).column_names == ["value"]


def test_a_schema_names_the_columns_of_unnamed_records(tmp_path: Path) -> None:
    schema = pa.schema([("id", pa.int64()), ("label", pa.string())])
    write(FileSink.parquet(str(tmp_path), schema=schema), [(1, "a"), Row(2, "b")])
    expected = [{"id": 1, "label": "a"}, {"id": 2, "label": "b"}]
    assert pq.read_table(files(tmp_path)[0]).to_pylist() == expected


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ([{"a": 1}] * 1000 + [{"a": "x"}], "field 'a' of the record {'a': 'x'} is 'x' (str)"),
        ([{"a": 1}] * 1000 + [{"b": 2}], "the record {'b': 2} has the field 'b'"),
        ([{"a": 1}, {"a": "x"}], "the values of field 'a' have no common column type"),
    ],
)
def test_an_untyped_record_that_does_not_fit_is_named(
    records: list[Any], message: str, tmp_path: Path
) -> None:
    builder = FileSink.for_bulk_format(str(tmp_path), ParquetWriters())
    with pytest.raises(TypeMismatchError) as caught:
        write(builder.build(), records)
    assert message in str(caught.value)
    assert "output_type=" in str(caught.value)


def test_a_typed_record_that_does_not_fit_is_named(tmp_path: Path) -> None:
    with pytest.raises(TypeMismatchError, match="field 'age' is 'old'"):
        write(FileSink.parquet(str(tmp_path)), [Row("ann", "old")], PERSON)


@pytest.mark.parametrize("form", [FileSink.parquet, FileSink.json, FileSink.csv])
def test_a_changelog_is_refused(form: Callable[[str], FileSink], tmp_path: Path) -> None:
    with pytest.raises(TypeMismatchError, match=r"kind|INSERT|insert"):
        write(form(str(tmp_path)), [Row.of_kind(RowKind.DELETE, "ann", 3)], PERSON)


def test_parquet_takes_arrow_batches_as_they_are(tmp_path: Path) -> None:
    writer = new_writer(FileSink.parquet(str(tmp_path)), PERSON)
    schema = pa.schema([("name", pa.string()), ("age", pa.int32())])
    batch = pa.RecordBatch.from_pylist([{"name": "ann", "age": 3}], schema=schema)
    assert writer.write_arrow(batch, None)
    writer.write([Row("bob", 4)], None)
    new_committer(FileSink.parquet(str(tmp_path))).commit(0, writer.prepare_commit())
    assert pq.read_table(files(tmp_path)[0]).num_rows == 2


def test_formats_and_assigners_that_need_records_refuse_arrow_batches(tmp_path: Path) -> None:
    batch = pa.RecordBatch.from_pylist([{"name": "ann", "age": 3}])
    by_name = FileSink.parquet(str(tmp_path), bucket=lambda r: r.name)
    assert not new_writer(by_name, PERSON).write_arrow(batch, None)
    writer = new_writer(FileSink.json(str(tmp_path)), PERSON)
    assert not writer.write_arrow(batch, None)
    assert writer.prepare_commit() == []


def test_json_writes_what_json_does_not_know(tmp_path: Path) -> None:
    record = {
        "when": dt.datetime(2024, 5, 1, 12),
        "price": decimal.Decimal("12345678901234567.89"),
        "raw": b"ab",
        "who": Person("ann", 3),
        "set": {2, 1},
        "text": "\x00decimal:1\x00 ü",
    }
    write(FileSink.json(str(tmp_path)), [record, 5, "x", [1, (2,)], None])
    first, *rest = lines(tmp_path)
    assert '"price":12345678901234567.89' in first
    parsed = json.loads(first)
    assert parsed["when"] == "2024-05-01T12:00:00"
    assert parsed["raw"] == "YWI="
    assert parsed["who"] == {"name": "ann", "age": 3}
    assert parsed["set"] == [1, 2]
    assert rest == ["5", '"x"', "[1,[2]]", "null"]
    with pytest.raises(TypeMismatchError, match="has no JSON form"):
        write(FileSink.json(str(tmp_path)), [{"a": object()}])


def test_csv_quotes_what_needs_it(tmp_path: Path) -> None:
    tricky = [("a,b", 1), ('say "hi"', None), ("two\nlines", 3), ("", 4)]
    write(FileSink.csv(str(tmp_path)), tricky, Types.TUPLE([Types.STRING(), Types.INT()]))
    with files(tmp_path)[0].open(newline="") as file:
        rows = list(csv.reader(file))
    assert rows == [["f0", "f1"], *[[a, "" if b is None else str(b)] for a, b in tricky]]


def test_text_is_written_in_flinks_notation(tmp_path: Path) -> None:
    kind = Types.ROW([Types.INT(), Types.STRING(), Types.BOOLEAN(), Types.STRING()])
    write(FileSink.text(str(tmp_path / "typed")), [Row(1, "a", True, None)], kind)
    write(FileSink.text(str(tmp_path / "untyped")), [{"a": True}, None])
    assert lines(tmp_path / "typed") == ["+I[1, a, true, null]"]
    assert lines(tmp_path / "untyped") == ["{'a': True}", "None"]


def test_the_simple_string_encoder_knows_whether_the_stream_is_typed(tmp_path: Path) -> None:
    base = BucketAssigner.base_path_bucket_assigner()
    builder = FileSink.for_row_format(str(tmp_path), Encoder.simple_string_encoder("utf-16-le"))
    write(builder.with_bucket_assigner(base).build(), [(1, True)], Types.TUPLE([Types.INT()] * 2))
    assert files(tmp_path)[0].read_bytes().decode("utf-16-le") == "(1,true)\n"


def test_row_format_takes_any_encoder(tmp_path: Path) -> None:
    class Upper:
        def encode(self, value: str) -> bytes:
            return value.upper().encode() + b"|"

    base = BucketAssigner.base_path_bucket_assigner()
    for number, encoder in enumerate([Upper(), lambda value: value.upper() + "|"]):
        path = tmp_path / str(number)
        write(
            FileSink.for_row_format(str(path), encoder).with_bucket_assigner(base).build(),
            ["a", "b"],
        )
        assert lines(path) == ["A|B|"]
    bad = FileSink.for_row_format(str(tmp_path), lambda value: 5).build()
    with pytest.raises(TypeMismatchError, match=r"the encoder returned 5 \(int\)"):
        write(bad, ["a"])
    with pytest.raises(InvalidArgumentError, match="is not an encoder"):
        FileSink.for_row_format(str(tmp_path), "utf-8")


# buckets, rolling, names


def test_the_default_bucket_is_the_hour_of_the_clock(tmp_path: Path) -> None:
    write(FileSink.for_row_format(str(tmp_path), lambda v: v + "\n").build(), ["a"])
    (file,) = files(tmp_path)
    written = dt.datetime.strptime(file.parent.name, "%Y-%m-%d--%H")
    assert abs(dt.datetime.now() - written) < dt.timedelta(hours=2)
    assert file.suffix == ""


def test_a_function_chooses_the_bucket(tmp_path: Path) -> None:
    sink = FileSink.json(str(tmp_path), bucket=lambda r: f"country={r[0]}/n={r[1] % 2}")
    write(sink, [("de", 1), ("fr", 2), ("de", 3)])
    folders = {str(file.parent.relative_to(tmp_path)): file for file in files(tmp_path)}
    assert sorted(folders) == ["country=de/n=1", "country=fr/n=0"]
    assert folders["country=de/n=1"].read_text() == '{"f0":"de","f1":1}\n{"f0":"de","f1":3}\n'


@pytest.mark.parametrize("bucket", ["../up", "/root", "_hidden", "a//b", ".x", 5, None])
def test_a_bucket_that_hides_or_escapes_is_refused(bucket: Any, tmp_path: Path) -> None:
    with pytest.raises(TypeMismatchError, match="not a usable folder name"):
        write(FileSink.json(str(tmp_path), bucket=lambda _: bucket), [1])


@pytest.mark.parametrize(
    ("sink", "grows"),
    [
        (lambda path: FileSink.parquet(path), True),
        (lambda path: FileSink.csv(path), True),
        (lambda path: FileSink.for_row_format(path, str).build(), True),
        (lambda path: FileSink.for_bulk_format(path, ParquetWriters()).build(), False),
        (lambda path: FileSink.for_bulk_format(path, Unmergeable()).with_rolling_policy(
            RollingPolicy.default_rolling_policy()
        ).build(), False),
    ],
    ids=["parquet", "csv", "row format", "bulk format", "cannot be merged"],
)  # fmt: skip
@pytest.mark.parametrize("epochs_overlap", [True, False])
def test_parts_grow_over_epochs_in_continuous_mode_if_the_policy_and_the_format_allow_it(
    sink: Callable[[str], FileSink], grows: bool, epochs_overlap: bool, tmp_path: Path
) -> None:
    context = CommitterContext("job", "out", epochs_overlap=epochs_overlap)
    committer = sink(str(tmp_path)).create_committer(context)
    assert committer.holds_back == (grows and epochs_overlap)


class Unmergeable:
    """A format of the user's whose files nobody can merge."""

    def create(self, out: Any, type_info: Any) -> Any:
        raise NotImplementedError


def test_event_time_buckets(tmp_path: Path) -> None:
    day = BucketAssigner.event_time_bucket_assigner("'day='yyyy-MM-dd")
    write(FileSink.json(str(tmp_path), bucket=day), [1, 2], times=[0, 86_400_000])
    assert [f.parent.name for f in files(tmp_path)] == ["day=1970-01-01", "day=1970-01-02"]


def test_files_roll_by_size_within_a_batch(tmp_path: Path) -> None:
    write(FileSink.text(str(tmp_path), part_size=1000), ["x" * 99] * 500)
    sizes = [file.stat().st_size for file in files(tmp_path)]
    assert sum(sizes) == 50_000
    # The first chunk of a file is written before its records' size is known.
    assert max(sizes) == file_writer.FIRST_CHUNK_RECORDS * 100


def test_many_buckets_do_not_keep_many_files_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_writer, "MAX_OPEN_FILES", 3)
    sink = FileSink.json(str(tmp_path), bucket=lambda n: f"b{n % 10}")
    writer = new_writer(sink)
    for n in range(40):
        writer.write([n], None)
        assert len(writer._open) <= 3
    new_committer(sink).commit(0, writer.prepare_commit())
    assert sorted(map(int, lines(tmp_path))) == list(range(40))


def test_names_tell_batch_subtask_and_part(tmp_path: Path) -> None:
    names = OutputFileConfig.builder().with_part_prefix("pre").with_part_suffix(".ext").build()
    sink = (
        FileSink.for_row_format(str(tmp_path), str)
        .with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
        .with_output_file_config(names)
        .with_rolling_policy(RollingPolicy.on_checkpoint_rolling_policy())
        .with_bucket_check_interval(1000)
        .build()
    )
    writer = new_writer(sink, batch=7, subtask=1)
    writer.write([1], None)
    new_committer(sink).commit(7, writer.prepare_commit())
    (file,) = files(tmp_path)
    prefix, _token, batch, subtask, part = file.stem.split("-")
    assert (prefix, batch, subtask, part) == ("pre", "0000000007", "00001", "00000")
    assert file.suffix == ".ext"
    assert (names.get_part_prefix(), names.get_part_suffix()) == ("pre", ".ext")


# staging


def test_nothing_is_visible_before_the_commit_and_abort_cleans_up(tmp_path: Path) -> None:
    sink = FileSink.json(str(tmp_path), bucket=str)
    writer = new_writer(sink)
    writer.write([1, 2], None)
    writer.prepare_commit()
    writer.write([3], None)
    assert files(tmp_path) == []
    writer.abort()
    assert [f for f in tmp_path.rglob("*") if f.is_file()] == []
    writer.abort()


def test_leftovers_of_dead_attempts_go_with_the_commit(tmp_path: Path) -> None:
    sink = FileSink.json(str(tmp_path))
    dead = new_writer(sink, subtask=1)
    dead.write([0], None)
    dead.prepare_commit()
    write(sink, [1])
    assert lines(tmp_path) == ["1"]
    assert list((tmp_path / ".headrace/out/job/staging").iterdir()) == []


# compaction


def compact(**settings: Any) -> FileCompactStrategy:
    return FileCompactStrategy(**settings)


def run_batches(sink: FileSink, batches: list[list[Any]], type_info: Any = None) -> FileCommitter:
    committer = new_committer(sink)
    for number, records in enumerate(batches):
        writer = new_writer(sink, type_info, number)
        writer.write(records, None)
        committer.commit(number, writer.prepare_commit())
    return committer


def test_small_files_wait_until_enough_batches_passed(tmp_path: Path) -> None:
    strategy = FileCompactStrategy.builder().enable_compaction_on_checkpoint(3).build()
    sink = FileSink.json(str(tmp_path), compact=strategy)
    run_batches(sink, [[1], [2]])
    assert files(tmp_path) == []
    sink = FileSink.json(str(tmp_path / "b"), compact=strategy)
    committer = run_batches(sink, [[1], [2], [3], [4]])
    assert lines(tmp_path / "b") == ["1", "2", "3"]
    assert len(files(tmp_path / "b")) == 1
    committer.end_of_input()
    assert lines(tmp_path / "b") == ["1", "2", "3", "4"]


def test_what_waits_is_published_when_the_job_says_so_and_not_by_close(tmp_path: Path) -> None:
    sink = FileSink.json(str(tmp_path), compact=compact(size_threshold=1 << 20))
    committer = run_batches(sink, [[1], [2]])
    committer.close()
    assert lines(tmp_path) == []
    new_committer(sink).publish_held_back()
    assert lines(tmp_path) == ["1", "2"]


def test_files_above_the_threshold_do_not_wait(tmp_path: Path) -> None:
    sink = FileSink.text(str(tmp_path), compact=compact(size_threshold=50))
    run_batches(sink, [["small"], ["x" * 60], ["small too"], ["y" * 45]])
    assert sorted(len(f.read_bytes()) for f in files(tmp_path)) == [61, 62]


def test_parquet_files_are_merged_into_one_row_group(tmp_path: Path) -> None:
    strategy = compact(num_checkpoints_before_compaction=4)
    sink = FileSink.parquet(str(tmp_path), compact=strategy, compression="zstd")
    run_batches(sink, [[Row("a", n)] for n in range(4)], PERSON)
    (file,) = files(tmp_path)
    merged = pq.ParquetFile(file)
    assert merged.metadata.num_row_groups == 1
    assert merged.metadata.row_group(0).column(0).compression == "ZSTD"
    assert merged.read()["age"].to_pylist() == [0, 1, 2, 3]


def test_files_of_different_columns_are_merged_apart(tmp_path: Path) -> None:
    sink = FileSink.parquet(str(tmp_path), compact=compact(size_threshold=1 << 20))
    committer = run_batches(sink, [[{"a": 1}], [{"a": "x"}], [{"a": 2}]])
    committer.end_of_input()
    found = sorted(str(pq.read_table(file).to_pydict()) for file in files(tmp_path))
    assert found == ["{'a': ['x']}", "{'a': [1, 2]}"]


def test_merged_csv_has_one_header(tmp_path: Path) -> None:
    sink = FileSink.csv(str(tmp_path), compact=compact(num_checkpoints_before_compaction=2))
    run_batches(sink, [[{"a": 1}], [{"a": 2}]])
    assert lines(tmp_path) == ["a", "1", "2"]


def test_compactors_of_pyflink(tmp_path: Path) -> None:
    strategy = compact(num_checkpoints_before_compaction=2)
    base = BucketAssigner.base_path_bucket_assigner()
    for name, compactor, expected in [
        ("concat", FileCompactor.concat_file_compactor(b"--\n"), ["1", "--", "2"]),
        ("identical", FileCompactor.identical_file_compactor(), ["1", "2"]),
    ]:
        builder = FileSink.for_row_format(str(tmp_path / name), lambda v: f"{v}\n")
        sink = builder.with_bucket_assigner(base).enable_compact(strategy, compactor).build()
        run_batches(sink, [[1], [2]])
        assert lines(tmp_path / name) == expected
    assert len(files(tmp_path / "identical")) == 2


def test_waiting_files_are_published_when_compaction_is_turned_off(tmp_path: Path) -> None:
    run_batches(FileSink.json(str(tmp_path), compact=compact(size_threshold=1 << 20)), [[1], [2]])
    assert files(tmp_path) == []
    sink = FileSink.json(str(tmp_path))
    writer = new_writer(sink, batch=2)
    writer.write([3], None)
    new_committer(sink).commit(2, writer.prepare_commit())
    assert lines(tmp_path) == ["1", "2", "3"]


def test_a_compactor_that_would_break_the_format_is_refused(tmp_path: Path) -> None:
    builder = FileSink.for_bulk_format(str(tmp_path), ParquetWriters())
    builder.enable_compact(compact(size_threshold=1), FileCompactor.concat_file_compactor())
    with pytest.raises(InvalidArgumentError, match="cannot be merged by writing one after"):
        builder.build()
    with pytest.raises(InvalidArgumentError, match="never merges"):
        FileCompactStrategy.builder().build()


# targets that cannot work


def test_a_file_as_target_is_refused(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("x")
    with pytest.raises(ConnectorError, match="is a file, but a sink writes into a folder") as e:
        new_committer(FileSink.json(str(tmp_path / "taken")))
    assert e.value.fix
    with pytest.raises(ConnectorError, match="is not a folder"):
        new_committer(FileSink.json(str(tmp_path / "taken" / "below")))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_an_unwritable_folder_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o555)
    with pytest.raises(ConnectorError, match="is not writable"):
        new_committer(FileSink.json(str(tmp_path / "out")))


def test_an_unwritable_folder_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(ConnectorError, match="is not writable for this user"):
        new_committer(FileSink.json(str(tmp_path / "out")))


def test_an_unknown_scheme_is_refused() -> None:
    with pytest.raises(ConnectorError, match="cannot open 'ftp://host/out'") as caught:
        new_committer(FileSink.json("ftp://host/out"))
    assert "s3" in str(caught.value.fix)


def test_a_file_uri_is_a_local_path(tmp_path: Path) -> None:
    write(FileSink.json(f"file://{tmp_path}/out"), [1])
    assert lines(tmp_path / "out") == ["1"]


def test_a_relative_path_is_that_of_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    sink = FileSink.json("out")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    write(sink, [1])
    assert lines(tmp_path / "out") == ["1"]


def test_the_old_name_still_works(tmp_path: Path) -> None:
    with pytest.warns(DeprecationWarning, match="use FileSink"):
        sink = StreamingFileSink.for_row_format(str(tmp_path), str).build()
    write(sink, [1])
    assert lines(tmp_path) == ["1"]


@pytest.mark.parametrize(
    "call",
    [
        lambda b: b.with_bucket_assigner(5),
        lambda b: b.with_rolling_policy("daily"),
        lambda b: b.with_bucket_check_interval(0),
        lambda _: FileSink.for_bulk_format("/x", object()),
        lambda _: RollingPolicy.default_rolling_policy(part_size=0),
        lambda _: OutputFileConfig("_x", ""),
        lambda _: FileSink.text(
            "/x", part_size=9, rolling=RollingPolicy.on_checkpoint_rolling_policy()
        ),
    ],
)
def test_wrong_arguments_are_refused_at_once(call: Callable[[Any], Any], tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        call(FileSink.for_row_format(str(tmp_path), str))
    assert caught.value.fix


def test_the_source_half_is_found_here_too() -> None:
    from headrace.connectors.files import source as file_source
    from headrace.datastream.connectors import file_system

    for name in file_system.__all__:
        assert getattr(file_system, name)
    assert file_system.FileSource is file_source.FileSource


def test_a_job_of_an_earlier_version_goes_on_where_it_was(tmp_path: Path) -> None:
    sink = FileSink.text(str(tmp_path))
    write(sink, ["a"])
    (tmp_path / ".headrace").rename(tmp_path / "_headrace")  # where it was before
    before = files(tmp_path)
    committer = new_committer(sink)
    writer = new_writer(sink)
    writer.write(["a"], None)
    committer.commit(0, writer.prepare_commit())  # the batch that was written, once more
    assert [file for file in files(tmp_path) if "_headrace" not in file.parts] == [
        file for file in before if "_headrace" not in file.parts
    ]
