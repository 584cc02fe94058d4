"""A job of the local host is cancelled in the middle of an epoch that would take for ever."""

from __future__ import annotations

import itertools
import threading
from typing import TYPE_CHECKING, ClassVar

import pytest

from headrace.common import Configuration, Types, WatermarkStrategy
from headrace.datastream import RuntimeExecutionMode, StreamExecutionEnvironment
from headrace.spi.python_source import PythonSource

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.common.typeinfo import TypeInformation
    from headrace.datastream import DataStream

PATIENCE_S = 20.0
ENDLESS = 10**12


class EndlessRange(PythonSource):
    """Says that it ends, and is never read to the end."""

    # of the class: the job reads a copy
    is_read: ClassVar[threading.Event] = threading.Event()
    is_over: ClassVar[threading.Event] = threading.Event()

    def produced_type(self) -> TypeInformation:
        return Types.INT()

    def is_bounded(self) -> bool:
        return True

    def latest_offset(self, split: str, start: int) -> int:
        return ENDLESS

    def read(self, split: str, start: int, end: int) -> Iterator[int]:
        for number in itertools.count(start):
            if number == start + 25_000:
                EndlessRange.is_read.set()
            if EndlessRange.is_over.is_set():  # the test has failed
                return
            yield number % 100


@pytest.fixture
def endless() -> Iterator[EndlessRange]:
    EndlessRange.is_read.clear()
    EndlessRange.is_over.clear()
    yield EndlessRange()
    EndlessRange.is_over.set()


def _counts(stream: DataStream) -> DataStream:
    """A second stage, in which BATCH mode sorts."""
    pairs = stream.map(lambda number: (number, 1), Types.TUPLE([Types.INT(), Types.INT()]))
    return pairs.key_by(lambda pair: pair[0]).sum(1)


@pytest.mark.parametrize(
    ("mode", "how"),
    [
        (RuntimeExecutionMode.BATCH, "micro-batch"),
        (RuntimeExecutionMode.STREAMING, "micro-batch"),
        (RuntimeExecutionMode.STREAMING, "continuous"),
    ],
)
def test_a_cancelled_job_does_not_wait_for_the_end_of_its_epoch(
    mode: RuntimeExecutionMode, how: str, endless: EndlessRange
) -> None:
    settings = {
        "headrace.execution.host": "local",
        "headrace.execution.mode": how,
        "source.max-records-per-batch": str(ENDLESS),
    }
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(settings))
    env.set_runtime_mode(mode)
    stream = env.from_source(endless, WatermarkStrategy.no_watermarks(), "endless")
    _counts(stream).add_sink(lambda pair: None)
    job = env.execute_async("cancelled")
    assert EndlessRange.is_read.wait(PATIENCE_S)
    job.cancel()
    assert job.wait(PATIENCE_S), "the job goes on with its epoch"
    assert job.get_job_status().result().name == "CANCELED"
