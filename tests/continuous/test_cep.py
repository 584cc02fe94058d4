"""Patterns in continuous mode: partial matches live across epochs, and move to another host."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from host_contract import Job
from pattern_jobs import EVENTS, FOUND, SIGN, digits, run_to_savepoint, write_matches

if TYPE_CHECKING:
    from pathlib import Path


def test_partial_matches_of_a_continuous_job_are_completed_by_the_next(
    tmp_path: Path, spark: Any
) -> None:
    job = Job("continuous", tmp_path, spark)
    location = run_to_savepoint(job, tmp_path)
    job.write("a", *EVENTS[5:])
    job.checkpoint = tmp_path / "again"
    env = job.env(parallelism=3, execution__state_recovery__path=location)
    write_matches(job, env, digits(), bounded=True)
    env.execute("digits")
    assert job.results() == [SIGN, *FOUND]
