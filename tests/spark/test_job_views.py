"""The read models of a job on Spark, in micro-batches: the slow step is found while it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.control.registry import JobRegistry
from headrace.control.views.reader import JobViews
from job_files import three_stages
from patience import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from headrace.datastream import StreamExecutionEnvironment


def test_the_slow_step_of_a_running_job_is_found(
    make_env: Callable[..., StreamExecutionEnvironment], tmp_path: Path
) -> None:
    env = make_env(
        {
            "headrace.jobs.dir": tmp_path / "jobs",
            "execution.checkpointing.dir": tmp_path / "checkpoint",
            "source.max-records-per-batch": 1500,
        }
    )
    three_stages(env, 1_000_000, 0.0007)
    client = env.execute_async("three stages")
    views = JobViews(JobRegistry(tmp_path / "jobs"))
    job_id = views.overview()[0].job_id
    try:
        wait_until(lambda: views.job(job_id).epochs >= 3, every_s=0.2)
        found = views.job(job_id)
        diagnosis = views.diagnosis(job_id)
        executors = views.executors(job_id)
        checkpoints = views.checkpoints(job_id)
    finally:
        client.cancel().result()
    assert diagnosis.slow is not None
    assert diagnosis.slow.uid == "slow"
    assert [skew.name for skew in diagnosis.skews if skew.what == "records"] == ["slow"]
    source, slow, last = found.vertices
    assert views.back_pressure(job_id, source.id).level != "ok"
    assert views.back_pressure(job_id, last.id).level == "ok"
    assert source.counts.records_out == slow.counts.records_in == last.counts.records_in > 0
    assert slow.counts.state_bytes
    assert checkpoints.counts.completed >= 3
    assert checkpoints.latest_completed is not None
    assert checkpoints.latest_completed.state_bytes > 0
    assert [executor.id for executor in executors] == ["driver"]
    assert executors[0].slots == 2
    assert executors[0].memory_bytes > 100_000_000
