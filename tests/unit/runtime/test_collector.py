"""The collector of a process that runs a job looks less often, and as before when it is over."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

import pytest

from headrace.common import Configuration
from headrace.datastream import StreamExecutionEnvironment
from headrace.runtime.collector import seldom_looking
from patience import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def _thresholds() -> Iterator[None]:
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    yield
    gc.set_threshold(*before)


@pytest.mark.usefixtures("_thresholds")
def test_it_is_as_before_when_the_last_has_left() -> None:
    with seldom_looking():
        assert gc.get_threshold()[0] > 100_000
        with seldom_looking():
            pass
        assert gc.get_threshold()[0] > 100_000
    assert gc.get_threshold() == (700, 10, 10)


@pytest.mark.usefixtures("_thresholds")
def test_what_the_owner_has_set_stays() -> None:
    for own in ((0, 10, 10), (1_000_000, 10, 10)):  # off; even more seldom
        gc.set_threshold(*own)
        with seldom_looking():
            assert gc.get_threshold() == own
        assert gc.get_threshold() == own
    gc.set_threshold(700, 10, 10)
    with seldom_looking():
        gc.set_threshold(5_000, 10, 10)
    assert gc.get_threshold() == (5_000, 10, 10)


@pytest.mark.usefixtures("_thresholds")
@pytest.mark.parametrize("mode", ["micro-batch", "continuous"])
def test_a_job_in_this_process_has_it(mode: str) -> None:
    configuration = Configuration()
    configuration.set_string("headrace.execution.host", "local")
    configuration.set_string("headrace.execution.mode", mode)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    seen: list[int] = []
    env.from_collection([1]).map(lambda _: gc.get_threshold()[0]).add_sink(seen.append)
    env.execute("thresholds")
    assert seen[0] > 100_000
    wait_until(lambda: gc.get_threshold() == (700, 10, 10))  # threads of tasks end behind the job
