"""A job that fails or is stopped, and goes on from its checkpoint: nothing lost, nothing twice."""

from __future__ import annotations

import json
import sqlite3
from typing import TYPE_CHECKING, Any

import pytest

from headrace.common import Types, WatermarkStrategy
from headrace.common.time import Time
from headrace.connectors.files.source import FileSource
from headrace.datastream.connectors.file_system import FileSink
from headrace.datastream.connectors.sink import Committer, Sink, SinkWriter
from headrace.datastream.functions import (
    KeyedProcessFunction,
    ProcessWindowFunction,
    RuntimeContext,
)
from headrace.datastream.state import ValueStateDescriptor
from headrace.datastream.window import TumblingEventTimeWindows
from headrace.errors import ConnectorError, UserFunctionError
from headrace.formats.file_format import StreamFormat

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from headrace.datastream import StreamExecutionEnvironment

PAIR = Types.TUPLE([Types.STRING(), Types.LONG()])
RECORDS = [(f"k{n % 3}", n) for n in range(20)]


class CountThem(KeyedProcessFunction):
    """Numbers the records of each key; chokes on 13 as long as the flag file is there."""

    def __init__(self, flag: Path) -> None:
        self.flag = flag

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Any:
        if value[1] == 13 and self.flag.exists():
            raise ValueError("poison")
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield {"key": value[0], "n": value[1], "count": count}


class Sizes(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Any) -> Any:
        yield {"key": key, "start": context.window().start, "size": len(list(elements))}


def read_json(folder: Path) -> list[Any]:
    """All lines of the files a reader sees."""
    return [json.loads(line) for file in sorted(folder.glob("*.json")) for line in file.open()]


def test_a_job_fixed_after_a_poison_record_goes_on_as_if_nothing_had_happened(
    make_env: Callable[..., StreamExecutionEnvironment], tmp_path: Path
) -> None:
    flag = tmp_path / "poison"
    flag.touch()
    seen: list[int] = []

    def run() -> Any:
        env = make_env(
            {
                "source.max-records-per-batch": 5,
                "execution.checkpointing.dir": str(tmp_path / "checkpoint"),
            }
        )
        strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
            lambda pair, _: pair[1] * 1000
        )
        keyed = (
            env.from_collection(RECORDS, PAIR)
            .assign_timestamps_and_watermarks(strategy)
            .key_by(lambda pair: pair[0])
        )
        counted = keyed.process(CountThem(flag)).uid("count")
        counted.sink_to(FileSink.json(str(tmp_path / "counted"))).uid("files")
        counted.add_sink(lambda record: seen.append(record["n"])).uid("function")
        windows = keyed.window(TumblingEventTimeWindows.of(Time.seconds(10))).process(Sizes())
        windows.sink_to(FileSink.json(str(tmp_path / "windows"))).uid("window files")
        client = env.execute_async("restart")
        client.get_job_execution_result().result(240)
        return client

    with pytest.raises(UserFunctionError, match="poison"):
        run()
    assert sorted(record["n"] for record in read_json(tmp_path / "counted")) == list(range(10))
    assert sorted(seen) == list(range(10))

    flag.unlink()
    client = run()

    assert client.get_metrics()["operators"]["count"]["numRecordsIn"] == 10
    assert sorted(seen) == list(range(20))
    found = sorted(read_json(tmp_path / "counted"), key=lambda record: record["n"])
    assert found == [{"key": key, "n": n, "count": n // 3 + 1} for key, n in RECORDS]
    sizes = {(w["key"], w["start"]): w["size"] for w in read_json(tmp_path / "windows")}
    assert sizes == {
        ("k0", 0): 4,
        ("k1", 0): 3,
        ("k2", 0): 3,
        ("k0", 10_000): 3,
        ("k1", 10_000): 4,
        ("k2", 10_000): 3,
    }
    assert len(read_json(tmp_path / "windows")) == 6

    # A finished job that is started again has nothing to do.
    run()
    assert len(read_json(tmp_path / "counted")) == 20
    assert len(read_json(tmp_path / "windows")) == 6
    assert len(seen) == 20


class StageRows(SinkWriter):
    def __init__(self) -> None:
        self.rows: list[int] = []

    def write(self, values: list[Any], timestamps: list[int] | None) -> None:
        self.rows += values

    def prepare_commit(self) -> list[Any]:
        return self.rows

    def abort(self) -> None:
        self.rows = []


class InsertRows(Committer):
    """Batch id and rows in one transaction, as the example of `Sink` has it."""

    def __init__(self, file: str, flag: Path) -> None:
        self.flag = flag
        self.db = sqlite3.connect(file, check_same_thread=False)
        self.db.execute("create table if not exists done (batch primary key)")
        self.db.execute("create table if not exists numbers (n)")

    def commit(self, batch_id: int, committables: list[Any]) -> None:
        with self.db:
            if self.db.execute("select 1 from done where batch = ?", [batch_id]).fetchone():
                return
            self.db.execute("insert into done values (?)", [batch_id])
            self.db.executemany("insert into numbers values (?)", [[n] for n in committables])
            if 7 in committables and self.flag.exists():
                raise OSError("disk is full")

    def close(self) -> None:
        self.db.close()


class Table(Sink):
    def __init__(self, file: str, flag: Path) -> None:
        self.file = file
        self.flag = flag

    def create_writer(self, context: Any) -> StageRows:
        return StageRows()

    def create_committer(self, context: Any) -> InsertRows:
        return InsertRows(self.file, self.flag)


def test_a_batch_whose_commit_failed_is_written_once_by_every_sink(
    make_env: Callable[..., StreamExecutionEnvironment], tmp_path: Path
) -> None:
    flag = tmp_path / "full"
    flag.touch()
    seen: list[int] = []
    database = str(tmp_path / "numbers.db")

    def run() -> None:
        env = make_env(
            {
                "source.max-records-per-batch": 5,
                "execution.checkpointing.dir": str(tmp_path / "checkpoint"),
            }
        )
        numbers = env.from_collection(list(range(12)), Types.LONG())
        numbers.sink_to(FileSink.json(str(tmp_path / "before")))
        numbers.sink_to(Table(database, flag)).name("table")
        numbers.sink_to(FileSink.json(str(tmp_path / "after")))
        numbers.add_sink(seen.append)
        env.execute("commit")

    with pytest.raises(ConnectorError, match="disk is full") as caught:
        run()
    assert "'table" in str(caught.value)
    assert "test_restart.py:" in str(caught.value)

    flag.unlink()
    run()

    with sqlite3.connect(database) as db:
        stored = [n for (n,) in db.execute("select n from numbers order by n")]
    db.close()
    assert stored == list(range(12))
    assert sorted(read_json(tmp_path / "before")) == list(range(12))
    assert sorted(read_json(tmp_path / "after")) == list(range(12))
    assert sorted(seen) == list(range(12))


def test_a_watched_folder_goes_on_with_new_files_after_a_restart(
    make_env: Callable[..., StreamExecutionEnvironment],
    tmp_path: Path,
    wait_for: Callable[..., None],
) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "1.txt").write_text("a\nb\na\n")
    seen: list[Any] = []

    def start() -> Any:
        env = make_env({"execution.checkpointing.dir": str(tmp_path / "checkpoint")})
        source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(folder))
        (
            env.from_source(source.monitor_continuously("100 ms").build(), None, "folder")
            .map(lambda word: (word, 1), PAIR)
            .key_by(lambda pair: pair[0])
            .sum(1)
            .add_sink(seen.append)
        )
        return env.execute_async("watch")

    with start():
        wait_for(lambda: len(seen) == 3)
        (folder / "2.txt").write_text("b\n")
        wait_for(lambda: len(seen) == 4)
    assert sorted(seen) == [("a", 1), ("a", 2), ("b", 1), ("b", 2)]

    (folder / "3.txt").write_text("a\nc\n")
    with start():
        wait_for(lambda: len(seen) == 6)

    assert sorted(seen[4:]) == [("a", 3), ("c", 1)]
