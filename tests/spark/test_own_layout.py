"""An operator with layouts of its own on Spark: stopped with a savepoint, read, and rescaled."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import cloudpickle
import pytest

import tallies
from golden.savepoints import every_state
from golden.savepoints.every_state import Numbers, environment, key_of, record
from headrace import state
from headrace.common import Types, WatermarkStrategy
from headrace.state import first_rows
from patience import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

    from headrace.datastream.data_stream import DataStream

pytestmark = pytest.mark.spark

CUT, END = 150, 230


@pytest.fixture(autouse=True)
def travels() -> Iterator[None]:
    """Workers cannot import what is in tests/: neither the operator nor its layouts."""
    for module in (every_state, tallies):
        cloudpickle.register_pickle_by_value(module)
    yield
    for module in (every_state, tallies):
        cloudpickle.unregister_pickle_by_value(module)


def program(parallelism: int, end: int, *, ends: bool, **options: Any) -> DataStream:
    env = environment(parallelism, **options)
    numbers = env.from_source(Numbers(end, ends=ends), WatermarkStrategy.no_watermarks(), "in")
    return tallies.tally(numbers.key_by(key_of, key_type=Types.STRING()))


def counts(end: int) -> Counter[tuple[str, int]]:
    return Counter((key, number // tallies.DAY) for key, number in map(record, range(end)))


def test_it_survives_a_savepoint_and_a_rescale(spark: SparkSession, tmp_path: Path) -> None:
    job = tmp_path / "job"
    running = program(2, CUT, ends=False, execution__checkpointing__dir=job)
    running.print()
    client = running.get_execution_environment().execute_async("tallying")

    def read() -> int:
        operators = client.get_metrics().get("operators", {})
        return int(operators.get("tally", {}).get("numRecordsIn", 0))

    wait_until(lambda: read() >= CUT, every_s=0.1)
    location = client.stop_with_savepoint(False, str(tmp_path / "all")).result()
    for place in (str(job), location):
        table = state.read(place, "tally", "tallies", spark)
        assert table.columns == ["key", "day", "value"]
        assert {(row.key, row.day): row.value for row in table.collect()} == counts(CUT)
    some = first_rows(location, "tally", "tallies", 100)
    assert some is not None
    assert {(row["key"], row["day"]): row["value"] for row in some.rows} == counts(CUT)
    restored = program(
        3, END, ends=True,
        execution__checkpointing__dir=tmp_path / "more",
        execution__state_recovery__path=location,
    )  # fmt: skip
    with restored.execute_and_collect("restored") as found:
        highest: dict[tuple[str, int], int] = {}
        for key, day, count, largest in found:
            assert largest >= CUT  # what any of the old subtasks saw, and more since
            highest[key, day] = max(count, highest.get((key, day), 0))
    assert highest == {place: n for place, n in counts(END).items() if place[1] >= CUT // 100}
