"""What every host promises (spi/host.py): the same suite for all of them.

Start, epochs, failure, restart, stop, drain, savepoint, restore; exactly once in all of it.
Run by tests/spark/test_host_contract.py (micro-batches, and this process) and
tests/continuous/test_host_contract.py; each says which hosts its fixture `job` stands for.
"""

from __future__ import annotations

import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cloudpickle
import pytest

from headrace.common import Configuration, Types, WatermarkStrategy
from headrace.common.job_status import JobStatus
from headrace.common.time import Time
from headrace.common.watermark_strategy import TimestampAssigner
from headrace.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from headrace.datastream.connectors.python_source import PythonSource
from headrace.datastream.state import ValueStateDescriptor
from headrace.datastream.window import TumblingEventTimeWindows
from headrace.errors import PlanError, UserFunctionError
from headrace.spi.sink import Committer, Sink, SinkWriter
from headrace.spi.source import Boundedness, Source
from headrace.testing.programs import handle_of
from patience import PATIENCE_S, wait_until

if TYPE_CHECKING:
    from headrace.datastream import DataStream

# the process beside the driver that asks sources does not find this module
cloudpickle.register_pickle_by_value(sys.modules[__name__])
PAIR = Types.TUPLE([Types.STRING(), Types.LONG()])


class Files(PythonSource):
    """Lines ``key number`` of files in a folder, which may grow; unbounded unless told."""

    def __init__(self, folder: Path, *, bounded: bool = False) -> None:
        self.folder = str(folder)
        self.bounded = bounded

    def boundedness(self) -> Boundedness:
        return Boundedness.BOUNDED if self.bounded else Boundedness.CONTINUOUS_UNBOUNDED

    def produced_type(self) -> Any:
        return PAIR

    def splits(self) -> list[str]:
        from pathlib import Path

        return sorted(str(file) for file in Path(self.folder).glob("*.txt"))

    def _lines(self, split: str) -> list[str]:
        with open(split) as file:  # noqa: PTH123 - in a worker
            return file.read().splitlines()

    def latest_offset(self, split: str, start: int) -> int:
        return len(self._lines(split))

    def read(self, split: str, start: int, end: int) -> Any:
        for line in self._lines(split)[start:end]:
            key, number = line.split()
            yield key, int(number)


def counts_of(client: Any) -> Any:
    """The counts of a job that runs in this process; each kind of host has its own."""
    return handle_of(client).metrics


class Total(KeyedProcessFunction):
    """The running total of a key; a negative number raises as long as a file says so."""

    def __init__(self, broken: Path | None = None) -> None:
        self.broken = None if broken is None else str(broken)

    def open(self, runtime_context: Any) -> None:
        self.total = runtime_context.get_state(ValueStateDescriptor("total", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Any:
        from pathlib import Path

        if value[1] < 0 and self.broken is not None and Path(self.broken).exists():
            raise ValueError("a negative number")
        total = (self.total.value() or 0) + value[1]
        self.total.update(total)
        yield value[0], total


class Unread(Source):
    """A source that no host has a reader for."""

    def produced_type(self) -> Any:
        return PAIR

    def boundedness(self) -> Boundedness:
        return Boundedness.BOUNDED


class Rows(SinkWriter):
    """Hands its records to the committer."""

    def __init__(self) -> None:
        self.rows: list[Any] = []

    def write(self, values: list[Any], timestamps: list[int] | None) -> None:
        self.rows += values

    def prepare_commit(self) -> list[Any]:
        return self.rows

    def abort(self) -> None:
        self.rows = []


class Stamp(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value[1])


class Job:
    """A program on one host, its input, and what came out of it."""

    def __init__(self, host: str, tmp_path: Path, session: Any) -> None:
        self.host, self.session = host, session
        self.input = tmp_path / "in"
        self.input.mkdir(exist_ok=True)
        self.out = tmp_path / "out"
        self.checkpoint = tmp_path / "checkpoint"
        self.broken = tmp_path / "broken"

    def write(self, name: str, *pairs: tuple[str, int]) -> None:
        with (self.input / f"{name}.txt").open("a") as file:
            file.writelines(f"{key} {number}\n" for key, number in pairs)

    def env(self, parallelism: int = 2, **options: str) -> StreamExecutionEnvironment:
        configuration = Configuration()
        if self.host == "continuous":
            configuration.set_string("headrace.execution.mode", "continuous")
            configuration.set_string("execution.checkpointing.interval", "200 ms")
            configuration.set_string("restart-strategy.type", "none")
        else:
            configuration.set_string("headrace.execution.host", self.host)
        configuration.set_string("execution.checkpointing.dir", str(self.checkpoint))
        for key, value in options.items():
            configuration.set_string(key.replace("__", ".").replace("_", "-"), value)
        env = StreamExecutionEnvironment.get_execution_environment(
            configuration, None if self.host == "local" else self.session
        )
        return env.set_parallelism(parallelism)

    def source(self, env: StreamExecutionEnvironment, *, bounded: bool = False) -> DataStream:
        return env.from_source(Files(self.input, bounded=bounded), None, "files").uid("files")

    def totals(self, env: StreamExecutionEnvironment, *, bounded: bool = False) -> None:
        from headrace.datastream.connectors.file_system import FileSink, RollingPolicy

        totals = self.source(env, bounded=bounded).key_by(lambda pair: pair[0])
        results = totals.process(Total(self.broken), output_type=PAIR).uid("total").map(str)
        rolling = RollingPolicy.on_checkpoint_rolling_policy()
        results.sink_to(FileSink.text(str(self.out), rolling=rolling)).uid("out")

    def results(self) -> list[str]:
        found = [file.read_text().splitlines() for file in self.out.glob("part-*")]
        return sorted(line for lines in found for line in lines)

    def wait_for(self, expected: list[tuple[str, int]]) -> None:
        wanted = sorted(map(str, expected))
        wait_until(lambda: self.results() == wanted, lambda: f"{self.results()} != {wanted}")


class LinesJob(Job):
    """The same with a `FileSource`: Spark's readers on one host, Python on the other."""

    def source(self, env: StreamExecutionEnvironment, *, bounded: bool = False) -> DataStream:
        from headrace.datastream.connectors.file_system import FileSource, StreamFormat

        lines = FileSource.for_record_stream_format(
            StreamFormat.text_line_format(), str(self.input)
        )
        if not bounded:
            lines.monitor_continuously("50 ms")
        texts = env.from_source(lines.build(), None, "lines").uid("lines")
        return texts.map(lambda line: (line.split()[0], int(line.split()[1])), PAIR).uid("pairs")

    def write(self, name: str, *pairs: tuple[str, int]) -> None:
        draft = self.input.with_name("draft")
        draft.write_text("".join(f"{key} {number}\n" for key, number in pairs))
        draft.rename(self.input / f"{name}.txt")


def test_a_bounded_program_ends_by_itself(job: Job) -> None:
    job.write("a", ("x", 1), ("y", 2), ("x", 3))
    env = job.env()
    job.totals(env, bounded=True)
    env.execute("totals")
    assert job.results() == ["('x', 1)", "('x', 4)", "('y', 2)"]


def test_the_end_of_input_fires_what_waits_for_it(job: Job) -> None:
    job.write("a", ("x", 1), ("x", 2), ("x", 11))
    env = job.env()
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Stamp())
    windows = (
        job.source(env, bounded=True)
        .assign_timestamps_and_watermarks(strategy)
        .key_by(lambda pair: pair[0])
        .window(TumblingEventTimeWindows.of(Time.milliseconds(10)))
        .reduce(lambda a, b: (a[0], a[1] + b[1]))
    )
    with windows.execute_and_collect("windows") as found:
        assert list(found) == [("x", 3), ("x", 11)]


def test_a_job_goes_on_with_what_comes_and_is_stopped_behind_an_epoch(job: Job) -> None:
    job.write("a", ("x", 1))
    env = job.env()
    job.totals(env)
    client = env.execute_async("totals")
    job.wait_for([("x", 1)])
    job.write("a", ("x", 1))
    job.write("b", ("y", 5))
    job.wait_for([("x", 1), ("x", 2), ("y", 5)])
    handle_of(client).stop()
    assert client.wait(PATIENCE_S)
    assert client.get_job_status().result() is JobStatus.FINISHED


def test_a_second_run_goes_on_where_the_first_one_stopped(job: Job) -> None:
    job.write("a", ("x", 1))
    for _ in range(2):
        env = job.env()
        job.totals(env, bounded=True)
        env.execute("totals")
        job.write("a", ("x", 1))
    assert job.results() == ["('x', 1)", "('x', 2)"]


def test_a_failure_leaves_nothing_behind_and_a_restart_repeats_the_epoch(job: Job) -> None:
    job.broken.write_text("yes")
    job.write("a", ("x", 1))
    env = job.env(
        restart_strategy__type="fixed-delay",
        restart_strategy__fixed_delay__attempts="100",
        restart_strategy__fixed_delay__delay="100 ms",
    )
    job.totals(env)
    client = env.execute_async("totals")
    job.wait_for([("x", 1)])
    job.write("b", ("x", 2), ("y", -1), ("x", 3))
    wait_until(lambda: len(client.get_exception_history()) > 0)
    assert "a negative number" in str(client.get_exception_history()[0])
    assert job.results() == ["('x', 1)"]
    job.broken.unlink()
    job.wait_for([("x", 1), ("x", 3), ("x", 6), ("y", -1)])
    client.cancel().result()


def test_an_error_names_the_step_and_the_record(job: Job) -> None:
    job.broken.write_text("yes")
    job.write("a", ("x", -7))
    env = job.env()
    job.totals(env, bounded=True)
    with pytest.raises(UserFunctionError) as caught:
        env.execute("totals")
    assert caught.value.uid == "total"
    assert "-7" in (caught.value.record or "")


def test_draining_fires_open_windows(job: Job) -> None:
    job.write("a", ("x", 1), ("x", 2))
    env = job.env()
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Stamp())
    windows = (
        job.source(env)
        .assign_timestamps_and_watermarks(strategy)
        .key_by(lambda pair: pair[0])
        .window(TumblingEventTimeWindows.of(Time.milliseconds(10)))
        .reduce(lambda a, b: (a[0], a[1] + b[1]))
        .uid("windows")
    )
    found = windows.execute_and_collect("windows")
    client = found.job_client
    wait_until(lambda: counts_of(client).batches > 0)
    handle_of(client).stop(drain=True)
    assert list(found) == [("x", 3)]


def test_cancelling_an_idle_job_ends_it(job: Job) -> None:
    env = job.env()
    job.totals(env)
    client = env.execute_async("totals")
    client.cancel().result()
    assert client.get_job_status().result() is JobStatus.CANCELED


def test_a_checkpoint_is_made_when_it_is_asked_for(job: Job) -> None:
    job.write("a", ("x", 1))
    # long epochs do not end by themselves here, short ones do
    long: Any = {"execution__checkpointing__interval": "1 h"} if job.host == "continuous" else {}
    env = job.env(**long)
    job.totals(env)
    client = env.execute_async("totals")
    if not long:
        job.wait_for([("x", 1)])
    numbers = []
    handle: Any = handle_of(client)

    def is_written() -> bool:
        numbers.append(handle.checkpoint())
        return job.results() == ["('x', 1)"]

    wait_until(is_written)
    assert numbers == sorted(numbers)
    last = counts_of(client).checkpoints.last("completed")
    assert last is not None
    assert last["id"] == numbers[-1]
    client.cancel().result()


@pytest.mark.parametrize("parallelism", [2, 3])
def test_a_savepoint_is_restored_into_any_parallelism(job: Job, parallelism: int) -> None:
    job.write("a", ("x", 1), ("y", 10), ("z", 100))
    env = job.env()
    job.totals(env)
    client = env.execute_async("totals")
    job.wait_for([("x", 1), ("y", 10), ("z", 100)])
    folder = str(job.checkpoint.with_name("savepoints"))
    # a sink shows an epoch a moment before the host has noted that it is committed
    handle: Any = handle_of(client)
    wait_until(lambda: not handle._run.in_epoch)
    running = client.trigger_savepoint(folder).result()
    location = client.stop_with_savepoint(False, folder).result()
    assert running != location
    job.write("a", ("x", 1), ("y", 10), ("z", 100))
    job.checkpoint = job.checkpoint.with_name("another")
    job.out = job.out.with_name("more")
    env = job.env(parallelism, execution__state_recovery__path=location)
    env.set_max_parallelism(128)
    job.totals(env, bounded=True)
    env.execute("totals")
    assert job.results() == ["('x', 2)", "('y', 20)", "('z', 200)"]


def test_the_size_of_state_is_known_behind_a_restore(job: Job) -> None:
    keys = [(f"key-{number}", 1) for number in range(500)]
    job.write("a", *keys)
    env = job.env()
    job.totals(env)
    client = env.execute_async("totals")
    job.wait_for(keys)
    location = client.stop_with_savepoint(False, str(job.checkpoint.with_name("s"))).result()
    checkpoints = counts_of(client).checkpoints
    saved, before = checkpoints.last("savepoint"), checkpoints.last("completed")
    files = list(Path(location).glob("*/*.parquet"))
    assert saved["state"] == sum(file.stat().st_size for file in files)
    job.write("a", *keys[:1])
    job.checkpoint = job.checkpoint.with_name("another")
    env = job.env(1, execution__state_recovery__path=location)
    job.totals(env, bounded=True)
    client = env.execute_async("totals")
    client.get_job_execution_result().result()
    after = counts_of(client).checkpoints.last("completed")
    # fewer subtasks have fewer pages that are not full
    assert before["state"] / 2 < after["state"] < before["state"] * 2


def test_timers_of_processing_time_fire_without_records(job: Job) -> None:
    class Late(KeyedProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> None:
            ctx.timer_service().register_processing_time_timer(
                ctx.timer_service().current_processing_time() + 300
            )

        def on_timer(self, timestamp: int, ctx: Any) -> Any:
            yield ctx.get_current_key()

    job.write("a", ("x", 1))
    env = job.env()
    fired = job.source(env).key_by(lambda pair: pair[0]).process(Late(), output_type=Types.STRING())
    with fired.execute_and_collect("late") as found:
        assert found.next(timeout_s=PATIENCE_S) == "x"


def test_errors_of_a_plan_are_raised_before_anything_is_stored(job: Job) -> None:
    env = job.env(parallelism=4).set_max_parallelism(3)
    job.totals(env)
    with pytest.raises(PlanError, match="above the max parallelism 3"):
        env.execute("totals")
    assert not job.checkpoint.exists()


def moves_between_hosts(
    first: str, second: str, tmp_path: Path, spark: Any, kind: type[Job] = Job
) -> None:
    """A savepoint of one host is restored on another; what was read is not read again."""
    job = kind(first, tmp_path, spark)
    job.write("one", ("x", 1), ("y", 10))
    env = job.env()
    job.totals(env)
    client = env.execute_async("totals")
    job.wait_for([("x", 1), ("y", 10)])
    location = client.stop_with_savepoint(False, str(tmp_path / "savepoints")).result()
    job.write("two", ("x", 1), ("y", 10))
    other = kind(second, tmp_path, spark)
    other.checkpoint, other.out = tmp_path / "another", tmp_path / "more"
    env = other.env(3, execution__state_recovery__path=location)  # another parallelism, too
    env.set_max_parallelism(128)
    other.totals(env, bounded=True)
    env.execute("totals")
    assert other.results() == ["('x', 2)", "('y', 20)"]


def test_a_sink_that_fails_while_a_job_is_stopped_is_told(job: Job) -> None:
    class Broken(Committer):
        def commit(self, batch_id: int, committables: list[Any]) -> None:
            raise OSError("no room")

    class BrokenSink(Sink):
        def create_writer(self, context: Any) -> SinkWriter:
            return Rows()

        def create_committer(self, context: Any) -> Committer:
            return Broken()

    job.write("a", ("x", 1))
    env = job.env(execution__checkpointing__interval="1 h" if job.host == "continuous" else "0 ms")
    job.source(env).sink_to(BrokenSink())
    client = env.execute_async("broken")
    wait_until(lambda: handle_of(client).is_warm or handle_of(client).error is not None)
    if job.host == "continuous":
        handle_of(client).stop()
    assert client.wait(PATIENCE_S)
    assert client.get_job_status().result() is JobStatus.FAILED
    assert "no room" in str(handle_of(client).error)


class Alarms(KeyedProcessFunction):
    """Tells of each record, and again at the time in it, if there is one."""

    def process_element(self, value: Any, ctx: Any) -> Any:
        if value[1]:
            ctx.timer_service().register_processing_time_timer(value[1])
        yield f"{value[0]} seen"

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield f"{ctx.get_current_key()} fired"


class Epochs(Sink):
    """A file for the rows of each epoch, once; one row is refused once, when it is past a time."""

    def __init__(self, folder: Path, refused: str) -> None:
        self.folder, self.refused = folder, refused

    def create_writer(self, context: Any) -> SinkWriter:
        return Rows()

    def create_committer(self, context: Any) -> Committer:
        self.folder.mkdir(exist_ok=True)
        return EpochFiles(self.folder, self.refused)

    def rows(self) -> list[str]:
        files = self.folder.glob("epoch-*")
        return sorted(row for file in files for row in file.read_text().splitlines())


class EpochFiles(Committer):
    def __init__(self, folder: Path, refused: str) -> None:
        self.folder, self.refused = folder, refused

    def commit(self, batch_id: int, committables: list[Any]) -> None:
        told = self.folder / "told"
        if self.refused in committables and not told.exists():
            told.touch()
            until = float((self.folder / "until").read_text())
            wait_until(lambda: time.time() > until)
            raise OSError("no room")
        file = self.folder / f"epoch-{batch_id}"
        if not file.exists():
            file.write_text("".join(f"{row}\n" for row in committables))


def test_sinks_agree_on_what_fires_while_an_epoch_is_repeated(job: Job) -> None:
    sinks = [Epochs(job.out / name, f"{name} seen") for name in ("one", "two")]
    job.out.mkdir()
    env = job.env(
        restart_strategy__type="fixed-delay",
        restart_strategy__fixed_delay__attempts="3",
        restart_strategy__fixed_delay__delay="100 ms",
    )
    rows = job.source(env).key_by(lambda pair: pair[0]).process(Alarms(), Types.STRING())
    for sink in sinks:
        rows.sink_to(sink)
    client = env.execute_async("alarms")
    expected: list[str] = []

    def found() -> list[list[str]]:
        return [sink.rows() for sink in sinks]

    def all_have(row: str) -> bool:
        return all(row in rows for rows in found())

    def expect(*more: str) -> None:
        expected.extend(more)
        wait_until(
            lambda: found() == [sorted(expected)] * len(sinks),
            lambda: f"{found()} != {sorted(expected)}",
        )

    for sink in sinks:
        name = sink.folder.name
        # long enough that the epoch which is refused begins before it, as a rule
        due = time.time() + (0.3 if job.host == "local" else 3.0)
        (sink.folder / "until").write_text(str(due + 0.1))
        job.write(f"{name}-1", (f"alarm-{name}", int(due * 1000)))
        wait_until(partial(all_have, f"alarm-{name} seen"))
        job.write(f"{name}-2", (name, 0))
        expect(f"alarm-{name} seen", f"{name} seen", f"alarm-{name} fired")
    client.cancel().result()


def refuses_the_checkpoint_of(first: str, second: str, tmp_path: Path, spark: Any) -> None:
    """A job that goes on in another mode would begin from scratch: it says so instead."""
    from headrace.errors import SavepointError

    job = Job(first, tmp_path, spark)
    job.write("one", ("x", 1))
    env = job.env()
    job.totals(env, bounded=True)
    env.execute("totals")
    other = Job(second, tmp_path, spark)
    env = other.env()
    other.totals(env, bounded=True)
    with pytest.raises(SavepointError, match="the checkpoint was made by"):
        env.execute("totals")
    env = job.env()
    job.totals(env, bounded=True)
    env.execute("totals")  # as before it goes on
    assert job.results() == ["('x', 1)"]
