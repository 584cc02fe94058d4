"""Savepoints of real jobs: taken, restored in other forms, read and rewritten as tables.

One job runs for the whole file: it is saved while it goes on, and stopped with a savepoint.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from headrace import state
from headrace.cli.main import app
from headrace.common import Configuration, Encoder, Types, WatermarkStrategy
from headrace.common.time import Duration
from headrace.common.watermark_strategy import TimestampAssigner
from headrace.control.job_dir import JobDir
from headrace.control.savepoints import read_savepoint
from headrace.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from headrace.datastream.connectors.file_system import FileSink, FileSource, StreamFormat
from headrace.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    ValueStateDescriptor,
)
from headrace.datastream.window import TumblingEventTimeWindows
from headrace.errors import SavepointError, StateError
from headrace.hosts.spark.state.checkpoint_files import last_batch
from headrace.hosts.spark.state.tables import checkpoint_states
from patience import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

FIRST = [f"k{number % 20}" for number in range(200)]
SECOND = ["k1", "k2", "new", "k1"]


class Count(KeyedProcessFunction):
    """Counts words in three kinds of state, and keeps a timer that never fires."""

    def open(self, runtime_context: Any) -> None:
        get = runtime_context
        self.count = get.get_state(ValueStateDescriptor("count", Types.LONG()))
        self.seen = get.get_list_state(ListStateDescriptor("seen", Types.LONG()))
        self.last = get.get_map_state(MapStateDescriptor("last", Types.STRING(), Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Any:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        self.seen.add(count)
        self.last.put(value, count)
        ctx.timer_service().register_processing_time_timer(4_102_444_800_000)
        yield value, count, len(list(self.seen)), self.last.get(value)


class Pass(KeyedProcessFunction):
    """An operator that some of the restored programs have more."""

    def open(self, runtime_context: Any) -> None:
        self.state = runtime_context.get_state(ValueStateDescriptor("n", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Any:
        self.state.update((self.state.value() or 0) + 1)
        yield value


def environment(parallelism: int, **options: Any) -> StreamExecutionEnvironment:
    configuration = Configuration()
    for key, value in options.items():
        configuration.set_string(key.replace("__", ".").replace("_", "-"), str(value))
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    return env.set_parallelism(parallelism)


def program(
    env: StreamExecutionEnvironment,
    folder: Path,
    *,
    endless: bool = False,
    uid: str = "count",
    more: bool = False,
) -> Any:
    builder = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(folder))
    if endless:
        builder = builder.monitor_continuously(Duration.of_millis(200))
    lines = env.from_source(builder.build(), WatermarkStrategy.no_watermarks(), "in").uid("src")
    if more:
        lines = lines.key_by(lambda x: x, key_type=Types.STRING()).process(
            Pass(), output_type=Types.STRING()
        ).uid("pass")  # fmt: skip
    return lines.key_by(lambda x: x, key_type=Types.STRING()).process(Count()).uid(uid)


def after(counts: Counter[str], words: list[str]) -> list[Any]:
    """What an undisturbed job gives for words that follow others."""
    counts, found = Counter(counts), []
    for word in words:
        counts[word] += 1
        found.append((word, counts[word], counts[word], counts[word]))
    return sorted(found)


def write(folder: Path, name: str, words: list[str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    hidden = folder / f".{name}"
    hidden.write_text("\n".join(words) + "\n")
    hidden.rename(folder / name)


def headrace(*words: str) -> Any:
    return CliRunner().invoke(app, list(words))


@dataclass
class Saved:
    root: Path
    input: Path
    job: Path
    running: str  # taken while the job went on, after FIRST
    stopped: str  # at its end, after FIRST and SECOND


@pytest.fixture(scope="module")
def saved(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Saved]:
    root = tmp_path_factory.mktemp("savepoints")
    patch = pytest.MonkeyPatch()
    patch.setenv("HEADRACE_HOME", str(root / "home"))
    source, job = root / "in", root / "job"
    write(source, "a.txt", FIRST)
    env = environment(2, execution__checkpointing__dir=job)
    program(env, source, endless=True).print()
    client = env.execute_async("counting")

    def wait_for(records: int) -> None:
        wait_until(lambda: _records(client) >= records, every_s=0.1)

    wait_for(len(FIRST))
    answer = headrace("savepoint", "counting", str(root / "all"), "--json")
    assert answer.exit_code == 0, answer.output
    write(source, "b.txt", SECOND)
    wait_for(len(FIRST) + len(SECOND))  # it went on
    ended = headrace("stop", "counting", "--savepoint", str(root / "all"))
    assert ended.exit_code == 0, ended.output
    yield Saved(root, source, job, json.loads(answer.stdout)["savepoint"], ended.stdout.split()[-1])
    patch.undo()


def _records(client: Any) -> int:
    operators = client.get_metrics().get("operators", {})
    return int(operators.get("count", {}).get("numRecordsIn", 0))


def collect(saved: Saved, name: str, savepoint: str, parallelism: int, **options: Any) -> list[Any]:
    shape = {key: options.pop(key) for key in ("uid", "more") if key in options}
    env = environment(
        parallelism,
        execution__checkpointing__dir=saved.root / name,
        execution__state_recovery__path=savepoint,
        **options,
    )
    with program(env, saved.input, **shape).execute_and_collect(name) as found:
        return sorted(found)


# --- restoring -----------------------------------------------------------------------------------


def test_two_forks_of_one_savepoint_with_more_and_fewer_subtasks(saved: Saved) -> None:
    before = {f: f.read_bytes() for f in Path(saved.running).rglob("*") if f.is_file()}
    expected = after(Counter(FIRST), SECOND)
    assert collect(saved, "fork1", saved.running, 1) == expected
    assert collect(saved, "fork2", saved.running, 3, more=True) == expected  # an operator more
    assert {f: f.read_bytes() for f in Path(saved.running).rglob("*") if f.is_file()} == before
    assert not read_savepoint(saved.stopped).drained


def test_a_renamed_operator_keeps_its_state_and_a_lost_one_is_refused(saved: Saved) -> None:
    renamed = collect(
        saved, "renamed", saved.running, 2, uid="totals",
        execution__state_recovery__uid_mapping="count:totals",
    )  # fmt: skip
    assert renamed == after(Counter(FIRST), SECOND)
    with pytest.raises(SavepointError, match="no step of the program claims: 'count'"):
        collect(saved, "lost", saved.running, 2, uid="totals")
    assert not (saved.root / "lost").exists()
    allowed = collect(
        saved, "lost", saved.running, 2, uid="totals",
        execution__state_recovery__ignore_unclaimed_state="true",
    )  # fmt: skip
    assert allowed == after(Counter(), SECOND)  # the source goes on, the counts begin anew


def test_what_does_not_fit_is_refused_before_anything_is_touched(saved: Saved) -> None:
    with pytest.raises(SavepointError, match="no savepoint here"):
        collect(saved, "none", str(saved.root), 2)
    env = environment(
        2, execution__checkpointing__dir=saved.root / "none",
        execution__state_recovery__path=saved.running,
    )  # fmt: skip
    env.set_max_parallelism(7)
    with pytest.raises(SavepointError, match="max parallelism 7 instead of"):
        program(env, saved.input).execute_and_collect("wide")
    assert not (saved.root / "none").exists()


# --- as tables -----------------------------------------------------------------------------------


def test_state_is_read_from_the_checkpoint_and_from_savepoints(
    saved: Saved, spark: SparkSession
) -> None:
    total = Counter(FIRST) + Counter(SECOND)
    for place, counts in ((str(saved.job), total), (saved.running, Counter(FIRST))):
        count = state.read(place, "count", "count", spark)
        assert [(f.name, f.dataType.simpleString()) for f in count.schema] == [
            ("key", "string"),
            ("value", "bigint"),
        ]
        assert {row.key: row.value for row in count.collect()} == counts
    seen = state.read(saved.stopped, "count", "seen", spark).where("key = 'k1'").collect()
    assert sorted(map(tuple, seen)) == [("k1", n, n + 1) for n in range(total["k1"])]
    last = state.read(saved.stopped, "count", "last", spark).where("key = 'k2'").collect()
    assert list(map(tuple, last)) == [("k2", "k2", total["k2"])]
    timers = state.read(saved.stopped, "count", "timers/processing", spark)
    assert timers.columns == ["key", "timestamp", "namespace"]
    assert timers.count() == len(total)


def test_the_names_beside_a_checkpoint_are_those_that_spark_finds_in_it(
    saved: Saved, spark: SparkSession
) -> None:
    known = JobDir.open(str(saved.job)).states.read()
    assert known is not None
    at = (spark, f"{saved.job}/query", last_batch(f"{saved.job}/query") or 0)
    assert sorted(known["count"]) == checkpoint_states(*at, "count")
    recorded = {s.name: s.type for o in read_savepoint(saved.stopped).operators for s in o.states}
    assert known["count"] == {name: recorded[name] for name in known["count"]}
    with pytest.raises(StateError, match="did you mean 'count'"):
        state.read(str(saved.job), "count", "cuont", spark)


def test_state_that_was_rewritten_as_a_table_goes_on(saved: Saved, spark: SparkSession) -> None:
    old = state.Savepoint.load(saved.running)
    count = old.read("count", "count", spark).selectExpr("key", "value * 100 as value")
    seen = old.read("count", "seen", spark).where("position < 2")
    location = (
        old.with_state("count", "count", count)
        .with_state("count", "seen", seen)
        .write(str(saved.root / "rewritten"))
    )
    found = collect(saved, "changed", location, 2)
    assert found == sorted(
        [
            ("k1", 1001, 3, 1001),
            ("k1", 1002, 4, 1002),
            ("k2", 1001, 3, 1001),
            ("new", 1, 1, 1),
        ]
    )


def test_a_job_begins_with_the_rows_of_a_table(saved: Saved, spark: SparkSession) -> None:
    rows = spark.createDataFrame([("k1", 50), ("new", 70)], "word string, n bigint")
    made = state.Savepoint.new(32).with_state("count", "count", rows, key="word", value="n")
    location = made.write(str(saved.root / "first"))
    found = collect(saved, "begun", location, 2)  # from the first file on
    highest = {word: max(n for w, n, *_ in found if w == word) for word in ("k1", "k2", "new")}
    total = Counter(FIRST) + Counter(SECOND)
    assert highest == {"k1": 50 + total["k1"], "k2": total["k2"], "new": 71}


# --- drain ---------------------------------------------------------------------------------------


def test_stop_with_drain_fires_all_windows_first(spark: SparkSession, tmp_path: Path) -> None:
    write(tmp_path / "in", "a.txt", ["1", "2", "13"])
    env = environment(1, execution__checkpointing__dir=tmp_path / "job")
    source = (
        FileSource.for_record_stream_format(
            StreamFormat.text_line_format(), str(tmp_path / "in")
        ).monitor_continuously(Duration.of_millis(200)).build()
    )  # fmt: skip
    times = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Seconds())
    sink = FileSink.for_row_format(str(tmp_path / "out"), Encoder.simple_string_encoder()).build()
    (
        env.from_source(source, times, "in")
        .map(int, output_type=Types.LONG())
        .key_by(lambda n: n % 1, key_type=Types.LONG())
        .window(TumblingEventTimeWindows.of(Duration.of_seconds(10)))
        .reduce(lambda a, b: a + b)
        .uid("sum")
        .map(str, output_type=Types.STRING())
        .sink_to(sink)
    )
    client = env.execute_async("draining")

    def read() -> int:
        operators = client.get_metrics().get("operators", {})
        return int(operators.get("sum", {}).get("numRecordsIn", 0))

    wait_until(lambda: read() >= 3, every_s=0.1)
    location = client.stop_with_savepoint(True, str(tmp_path / "all")).result()
    lines = [
        line
        for file in (tmp_path / "out").glob("2*/part-*")  # a folder for each hour
        for line in file.read_text().split()
    ]
    assert sorted(lines) == ["13", "3"]
    drained = read_savepoint(location)
    assert drained.drained
    assert drained.entries == 0


class Seconds(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value) * 1000
