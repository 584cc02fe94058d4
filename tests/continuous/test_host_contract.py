"""The contract of hosts (tests/host_contract.py) in continuous mode."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from host_contract import *  # noqa: F403 - its tests
from host_contract import Job, LinesJob, moves_between_hosts, refuses_the_checkpoint_of

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def job(tmp_path: Path, spark: Any) -> Job:
    return Job("continuous", tmp_path, spark)


@pytest.mark.parametrize("kind", [Job, LinesJob])
@pytest.mark.parametrize(
    ("first", "second"),
    [("continuous", "spark"), ("spark", "continuous"), ("local", "continuous")],
)
def test_a_savepoint_of_one_host_is_restored_on_another(
    first: str, second: str, kind: type[Job], tmp_path: Path, spark: Any
) -> None:
    moves_between_hosts(first, second, tmp_path, spark, kind)


@pytest.mark.parametrize(("first", "second"), [("continuous", "spark"), ("spark", "continuous")])
def test_the_checkpoint_of_another_host_is_refused(
    first: str, second: str, tmp_path: Path, spark: Any
) -> None:
    refuses_the_checkpoint_of(first, second, tmp_path, spark)
