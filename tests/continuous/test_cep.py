"""Patterns in continuous mode: partial matches live across epochs, and move to another host."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from host_contract import Job
from pattern_jobs import check_resumed

if TYPE_CHECKING:
    from pathlib import Path


def test_partial_matches_of_a_continuous_job_are_completed_by_the_next(
    tmp_path: Path, spark: Any
) -> None:
    check_resumed(Job("continuous", tmp_path, spark), tmp_path)
