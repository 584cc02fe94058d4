"""Failures on Spark and restart strategies: tried again inside one driver, results exactly once."""

from __future__ import annotations

import json
import os
import signal
from typing import TYPE_CHECKING, Any

import pytest

from headrace.common import RestartStrategies, Types, WatermarkStrategy
from headrace.common.job_status import JobStatus
from headrace.common.time import Time
from headrace.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from headrace.datastream.connectors.file_system import FileSink
from headrace.datastream.externalized_checkpoint_retention import ExternalizedCheckpointRetention
from headrace.datastream.functions import (
    KeyedProcessFunction,
    ProcessWindowFunction,
    RuntimeContext,
)
from headrace.datastream.state import ValueStateDescriptor
from headrace.datastream.window import TumblingEventTimeWindows
from headrace.errors import (
    CheckpointLockedError,
    CheckpointMismatchError,
    JobError,
    UserFunctionError,
)
from headrace.testing.programs import handle_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from headrace.datastream import StreamExecutionEnvironment

PAIR = Types.TUPLE([Types.STRING(), Types.LONG()])
RECORDS = [(f"k{n % 3}", n) for n in range(20)]


class FailsSometimes(KeyedProcessFunction):
    """Numbers the records of each key; fails at 13 as often as there are flags in a folder."""

    def __init__(self, flags: Path) -> None:
        self.flags = flags

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Any:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        flags = sorted(self.flags.glob("*")) if value[1] == 13 else []
        if flags:
            flags[0].unlink()
            raise ValueError(f"flag {flags[0].name}")
        yield (value[0], value[1], count)


@pytest.fixture
def flags(tmp_path: Path) -> Path:
    folder = tmp_path / "flags"
    folder.mkdir()
    return folder


def test_a_function_that_fails_twice_is_tried_again_and_results_are_exact(
    make_env: Callable[..., StreamExecutionEnvironment], flags: Path, tmp_path: Path
) -> None:
    for number in (1, 2):
        (flags / str(number)).touch()
    env = make_env({"source.max-records-per-batch": 5})
    env.set_restart_strategy(RestartStrategies.fixed_delay_restart(2, 100))
    seen: list[int] = []
    counted = (
        env.from_collection(RECORDS, PAIR)
        .key_by(lambda pair: pair[0])
        .process(FailsSometimes(flags))
        .uid("count")
    )
    counted.map(lambda found: {"n": found[1], "count": found[2]}).sink_to(
        FileSink.json(str(tmp_path / "out"))
    )
    counted.add_sink(lambda found: seen.append(found[1]))

    with counted.execute_and_collect("twice") as records:
        found = list(records)
        client = records.job_client

    assert sorted(found) == sorted((key, n, n // 3 + 1) for key, n in RECORDS)
    assert sorted(seen) == list(range(20))
    lines = [json.loads(line) for file in (tmp_path / "out").glob("*.json") for line in file.open()]
    assert sorted((line["n"], line["count"]) for line in lines) == [
        (n, n // 3 + 1) for n in range(20)
    ]
    assert client.get_job_status().result() is JobStatus.FINISHED
    history = client.get_exception_history()
    assert [type(error) for error in history] == [UserFunctionError, UserFunctionError]
    assert ["flag 1" in str(history[0]), "flag 2" in str(history[1])] == [True, True]
    metrics = client.get_metrics()
    assert metrics["numRestarts"] == 2
    assert metrics["operators"]["count"]["numRecordsIn"] == 20


def test_when_attempts_are_used_up_the_last_error_is_raised_with_the_users_line(
    make_env: Callable[..., StreamExecutionEnvironment], flags: Path
) -> None:
    for number in range(9):
        (flags / str(number)).touch()
    env = make_env(
        {
            "source.max-records-per-batch": 5,
            "restart-strategy.type": "fixed-delay",
            "restart-strategy.fixed-delay.attempts": 1,
            "restart-strategy.fixed-delay.delay": "50 ms",
        }
    )
    keyed = env.from_collection(RECORDS, PAIR).key_by(lambda pair: pair[0])
    keyed.process(FailsSometimes(flags)).print()

    with pytest.raises(UserFunctionError) as caught:
        env.execute("gives up")

    text = str(caught.value)
    assert "ValueError: flag 1" in text
    assert "the job was restarted once before" in text
    given, where = text.splitlines()[1:3]
    assert given.strip().startswith("given: ('k")
    assert "test_restarts_strategy.py" in where
    assert len(list(flags.iterdir())) == 7


def test_a_checkpoint_of_another_job_or_program_is_refused_and_left_as_it_is(
    make_env: Callable[..., StreamExecutionEnvironment], tmp_path: Path
) -> None:
    folder = tmp_path / "checkpoint"
    opened: list[int] = []

    def run(name: str, *, parallelism: int = 2, uid: str = "sum") -> None:
        env = make_env({"execution.checkpointing.dir": str(folder)}, parallelism=parallelism)
        totals = env.from_collection(RECORDS, PAIR).key_by(lambda pair: pair[0]).sum(1)
        totals.uid(uid).add_sink(lambda pair: opened.append(pair[1])).uid("out")
        env.execute(name)

    run("sums")
    assert len(opened) == 20
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}

    with pytest.raises(CheckpointMismatchError, match="belongs to job 'sums'"):
        run("others")
    with pytest.raises(CheckpointMismatchError, match="parallelism 1 instead of 2"):
        run("sums", parallelism=1)
    with pytest.raises(CheckpointMismatchError, match=r"uid 'sum', sum\) is gone"):
        run("sums", uid="total")

    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before
    assert len(opened) == 20
    run("sums")  # finished already: nothing to do
    assert len(opened) == 20


def test_a_running_job_has_its_checkpoint_for_itself_and_may_delete_it_when_cancelled(
    make_env: Callable[..., StreamExecutionEnvironment],
    tmp_path: Path,
    wait_for: Callable[..., None],
) -> None:
    folder = tmp_path / "checkpoint"
    seen: list[int] = []

    def start() -> Any:
        env = make_env({"execution.checkpointing.dir": str(folder)}, parallelism=1)
        env.get_checkpoint_config().set_externalized_checkpoint_retention(
            ExternalizedCheckpointRetention.DELETE_ON_CANCELLATION
        )
        source = DataGeneratorSource(lambda n: n, None, RateLimiterStrategy.per_second(50))
        env.from_source(source, None, "numbers").add_sink(seen.append)
        return env.execute_async("alone")

    client = start()
    wait_for(lambda: seen)
    with pytest.raises(CheckpointLockedError, match="'alone' is running"):
        start()
    client.cancel().result(60)

    assert client.get_job_status().result() is JobStatus.CANCELED
    assert not folder.exists()
    assert seen == list(range(len(seen)))


def test_a_python_worker_that_is_killed_costs_a_restart_and_no_record(
    make_env: Callable[..., StreamExecutionEnvironment], flags: Path
) -> None:
    (flags / "kill").touch()
    env = make_env({"source.max-records-per-batch": 5})
    env.set_restart_strategy(RestartStrategies.exponential_delay_restart(100, 1000))

    def die_once(n: int) -> int:
        if n == 12 and (flags / "kill").exists():
            (flags / "kill").unlink()
            os.kill(os.getpid(), signal.SIGKILL)
        return n

    keyed = env.from_sequence(0, 19).map(die_once, Types.LONG()).key_by(lambda n: n % 2)
    with keyed.reduce(lambda a, b: a + b).execute_and_collect("killed") as records:
        found = list(records)
        client = records.job_client

    sums = [sum(range(n % 2, n + 1, 2)) for n in range(20)]
    assert sorted(found) == sorted(sums)
    assert client.get_metrics()["numRestarts"] == 1
    assert [type(error) for error in client.get_exception_history()] == [JobError]


class Sizes(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Any) -> Any:
        yield len(list(elements))


def test_drain_fires_the_windows_that_are_open_and_stop_does_not(
    make_env: Callable[..., StreamExecutionEnvironment], wait_for: Callable[..., None]
) -> None:
    for drain in (False, True):
        seen: list[int] = []
        sizes: list[int] = []
        env = make_env()
        source = DataGeneratorSource(lambda n: n, None, RateLimiterStrategy.per_second(50))
        strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
            lambda n, _: n
        )
        numbers = env.from_source(source, strategy, "numbers").map(lambda n: n, Types.LONG())
        numbers.add_sink(seen.append)
        windows = numbers.key_by(lambda n: 0).window(TumblingEventTimeWindows.of(Time.days(1)))
        windows.process(Sizes(), Types.INT()).add_sink(sizes.append)
        client = env.execute_async("windows")
        wait_for(lambda seen=seen: seen)

        handle_of(client).stop(drain=drain)

        assert client.wait(120)
        assert client.get_job_status().result() is JobStatus.FINISHED
        assert sizes == ([len(seen)] if drain else [])


def test_a_stopped_job_goes_on_where_it_ended(
    make_env: Callable[..., StreamExecutionEnvironment],
    tmp_path: Path,
    wait_for: Callable[..., None],
) -> None:
    seen: list[int] = []

    def start() -> Any:
        env = make_env({"execution.checkpointing.dir": str(tmp_path / "cp")}, parallelism=1)
        source = DataGeneratorSource(lambda n: n, None, RateLimiterStrategy.per_second(50))
        env.from_source(source, None, "numbers").add_sink(seen.append)
        return env.execute_async("stopped")

    client = start()
    wait_for(lambda: seen)
    handle_of(client).stop()
    assert client.wait(60)
    assert client.get_job_status().result() is JobStatus.FINISHED
    first = len(seen)
    # nothing was left half done: every batch that Spark planned is committed
    query = tmp_path / "cp" / "query"
    planned, committed = (
        max(int(path.name) for path in (query / log).glob("[0-9]*"))
        for log in ("offsets", "commits")
    )
    assert planned - committed <= 1

    with start():
        wait_for(lambda: len(seen) > first)
    assert seen == list(range(len(seen)))
