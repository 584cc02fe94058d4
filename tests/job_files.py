"""Runs a small job without Spark whose slow step and skewed keys are known; its read models."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from headrace.common import Configuration, Types
from headrace.control.registry import JobRegistry
from headrace.control.views.reader import JobViews
from headrace.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from headrace.datastream.connectors.datagen import DataGeneratorSource
from headrace.datastream.state import ValueStateDescriptor
from patience import PATIENCE_S

if TYPE_CHECKING:
    from pathlib import Path


class Slow(KeyedProcessFunction):
    """Takes its time for every record, and measures."""

    def __init__(self, sleep_s: float) -> None:
        self.sleep_s = sleep_s

    def open(self, runtime_context: Any) -> None:
        """Register one metric of each kind, and two accumulators."""
        self.total = runtime_context.get_state(ValueStateDescriptor("total", Types.LONG()))
        group = runtime_context.get_metrics_group().add_group("mine")
        self.seen = group.counter("seen")
        self.marks = group.meter("marks")
        self.sizes = group.distribution("sizes")
        self.records = runtime_context.get_long_counter("records")
        self.digits = runtime_context.get_histogram("digits")
        self.last = 0
        group.gauge("last", lambda: self.last)

    def process_element(self, value: Any, ctx: Any) -> Any:
        """A running total."""
        value = int(value)
        time.sleep(self.sleep_s)
        self.last = value
        self.seen.inc()
        self.marks.mark_event()
        self.sizes.update(value % 10)
        self.records.add(1)
        self.digits.add(value % 10)
        self.total.update((self.total.value() or 0) + value)
        yield self.total.value()


def _wide(number: int) -> str:
    return f"{number + 1:04000d}"


def _key(number: int) -> int:
    return number % 100 if number % 10 == 0 else 1


def environment(folder: Path, **options: str) -> Any:
    """Without Spark; jobs register below the folder."""
    settings = {
        "headrace.jobs.dir": str(folder / "jobs"),
        "headrace.execution.host": "local",
        "headrace.metrics.history.interval": "100 ms",
        "source.max-records-per-batch": "1000",
        "parallelism.default": "2",
        **{key.replace("__", ".").replace("_", "-"): value for key, value in options.items()},
    }
    configuration = Configuration()
    for key, value in settings.items():
        configuration.set_string(key, value)
    return configuration


def three_stages(env: Any, records: int, sleep_s: float) -> None:
    """Numbers, a quick step, a slow one with nine of ten records for one key, a quick one.

    Records are large, so that buffers do not hold all of them.
    """
    source = DataGeneratorSource(lambda n: n, records, None, Types.LONG())
    numbers = env.from_source(source, None, "numbers").uid("numbers")
    quick = numbers.map(_wide, output_type=Types.STRING()).name("quick").uid("quick")
    slow = quick.key_by(lambda text: _key(int(text))).process(Slow(sleep_s), Types.LONG())
    slow = slow.name("slow").uid("slow")
    last = slow.key_by(lambda n: n % 7).map(lambda n: n).name("last").uid("last")
    last.add_sink(lambda n: None).name("out").uid("out")


def run_three_stages(
    folder: Path, *, records: int = 3000, sleep_s: float = 0.0003, **options: str
) -> tuple[JobViews, str]:
    """The read models and the id of such a job, after its end."""
    configuration = environment(folder, **options)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    three_stages(env, records, sleep_s)
    client = env.execute_async("three stages")
    assert client.wait(PATIENCE_S)
    views = JobViews(JobRegistry(folder / "jobs"))
    return views, views.overview()[0].job_id
