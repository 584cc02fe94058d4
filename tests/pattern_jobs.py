"""A pattern in a whole job, and what it finds; tests/spark and tests/continuous run it.

An event is (key, number): the time is the number without its last digit, which is what happened.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import cloudpickle

from headrace.cep import CEP, Pattern, PatternProcessFunction
from headrace.common import Types, WatermarkStrategy
from headrace.common.watermark_strategy import TimestampAssigner
from headrace.datastream import OutputTag
from patience import wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from headrace.datastream import DataStream
    from host_contract import Job

cloudpickle.register_pickle_by_value(sys.modules[__name__])

TIMED_OUT = OutputTag("timed out", Types.STRING())
LATE = OutputTag("late", Types.TUPLE([Types.STRING(), Types.LONG()]))
STAGES = ("one", "two", "three")


class Time(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value[1]) // 10


class Numbers(PatternProcessFunction):
    def process_match(self, match: Any, ctx: Any) -> Any:
        yield f"{ctx.timestamp()} {[event for _, event, _ in match.path]}"

    def process_timed_out_match(self, match: Any, ctx: Any) -> Any:
        ctx.output(TIMED_OUT, f"{ctx.timestamp()} {[event for _, event, _ in match.path]}")


def is_digit(digit: int) -> Any:
    return lambda event: event[1] % 10 == digit


def digits(stages: tuple[str, ...] = STAGES) -> Pattern:
    """1, then 2, then 3 within 50 ms, with anything in between."""
    pattern = Pattern.begin(stages[0]).where(is_digit(1))
    for digit, name in enumerate(stages[1:], 2):
        pattern = pattern.followed_by(name).where(is_digit(digit))
    return pattern.within(50)


def timed(stream: DataStream) -> DataStream:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Time())
    return stream.assign_timestamps_and_watermarks(strategy)


def matches(stream: DataStream, pattern: Pattern) -> DataStream:
    keyed = timed(stream).key_by(lambda event: event[0], key_type=Types.STRING())
    found = CEP.pattern(keyed, pattern).side_output_late_data(LATE)
    return found.process(Numbers(), output_type=Types.STRING()).uid("digits")


EVENTS = [
    *[("x", 11), ("y", 21), ("x", 30), ("x", 42), ("y", 52), ("x", 63)],
    *[("z", 71), ("y", 803), ("x", 901), ("x", 952), ("x", 983)],
]
FOUND = [
    "6 [('x', 11), ('x', 42), ('x', 63)]",
    "98 [('x', 901), ('x', 952), ('x', 983)]",
]
OVER = ["52 [('y', 21), ('y', 52)]", "57 [('z', 71)]"]


SIGN = "1 [('w', 11), ('w', 12), ('w', 13)]"


def run_to_savepoint(job: Job, tmp_path: Path) -> str:
    """Partial matches of x, y and z are stored; the match of w says that the job got there."""
    job.write("a", ("w", 11), ("w", 12), ("w", 13), *EVENTS[:5])
    env = job.env()
    write_matches(job, env, digits(), bounded=False)
    client = env.execute_async("digits")
    wait_until(lambda: job.results() == [SIGN])
    return str(client.stop_with_savepoint(False, str(tmp_path / "savepoints")).result())


def check_resumed(job: Job, tmp_path: Path) -> None:
    """A job with another parallelism completes what one stored in a savepoint."""
    location = run_to_savepoint(job, tmp_path)
    job.write("a", *EVENTS[5:])
    job.checkpoint = tmp_path / "again"
    env = job.env(parallelism=3, execution__state_recovery__path=location)
    write_matches(job, env, digits(), bounded=True)
    env.execute("digits")
    assert job.results() == [SIGN, *FOUND]


def write_matches(job: Job, env: Any, pattern: Pattern, *, bounded: bool) -> None:
    from headrace.datastream.connectors.file_system import FileSink, RollingPolicy

    results = matches(job.source(env, bounded=bounded), pattern)
    rolling = RollingPolicy.on_checkpoint_rolling_policy()
    results.sink_to(FileSink.text(str(job.out), rolling=rolling)).uid("out")
