"""Savepoints that earlier versions left in tests/golden/savepoints: a job goes on with them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import cloudpickle
import pytest

from golden.savepoints import every_state
from golden.savepoints.every_state import CUT, END, environment, program, record
from headrace import state
from headrace.testing.local_runner import LocalRunner

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

SAVEPOINTS = Path(__file__).parents[1] / "golden" / "savepoints"


@pytest.fixture(autouse=True)
def travels() -> Iterator[None]:
    """Workers cannot import what is in tests/."""
    cloudpickle.register_pickle_by_value(every_state)
    yield
    cloudpickle.unregister_pickle_by_value(every_state)


def of_one_that_never_stopped() -> list[str]:
    """What the second part of the records gives."""
    results = program(environment(2), END, ends=True)
    with LocalRunner(results, parallelism=2, max_parallelism=16) as job:
        job.run_batch(map(record, range(CUT)))
        return sorted([*job.run_batch(map(record, range(CUT, END))), *job.end_of_input()])


def test_a_job_goes_on_with_the_savepoint_of_version_0_1_0_in_more_subtasks(
    spark: SparkSession, tmp_path: Path
) -> None:
    env = environment(
        3,
        execution__checkpointing__dir=tmp_path / "job",
        execution__state_recovery__path=SAVEPOINTS / "0.1.0",
    )
    with program(env, END, ends=True).execute_and_collect("restored") as found:
        assert sorted(found) == of_one_that_never_stopped()
    # these are in the far future: no result tells of them
    timers = state.read(str(tmp_path / "job"), "every", "timers/processing", spark)
    assert timers.count() == END
