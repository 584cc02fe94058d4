"""The read models of a continuous job on Spark: known between two checkpoints, too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.common import Configuration
from headrace.control.registry import JobRegistry
from headrace.control.views.reader import JobViews
from headrace.datastream import StreamExecutionEnvironment
from job_files import three_stages
from patience import wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


def test_the_slow_step_is_found_before_the_first_checkpoint(
    spark: SparkSession, tmp_path: Path
) -> None:
    configuration = Configuration()
    for key, value in {
        "headrace.execution.mode": "continuous",
        "headrace.jobs.dir": str(tmp_path / "jobs"),
        "execution.checkpointing.dir": str(tmp_path / "checkpoint"),
        "execution.checkpointing.interval": "10 min",
        "parallelism.default": "2",
    }.items():
        configuration.set_string(key, value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration, spark)
    three_stages(env, 1_000_000, 0.001)
    client = env.execute_async("three stages")
    views = JobViews(JobRegistry(tmp_path / "jobs"))
    job_id = views.overview()[0].job_id

    def is_found() -> bool:
        slow = views.diagnosis(job_id).slow
        front = views.back_pressure(job_id, views.vertices(job_id)[0].id)
        # at first the source fills buffers, and is the busiest itself
        return slow is not None and slow.uid == "slow" and front.level != "ok"

    try:
        wait_until(is_found, lambda: (views.vertices(job_id), views.diagnosis(job_id)), every_s=0.2)
        vertices = views.vertices(job_id)
    finally:
        client.cancel().result()
    assert views.checkpoints(job_id).counts.completed == 0
    assert 0 < vertices[1].counts.records_in < 1_000_000
    assert views.back_pressure(job_id, vertices[2].id).level == "ok"
