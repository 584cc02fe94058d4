"""A job without Spark that stands still in a user's function until it is let go."""

from __future__ import annotations

import contextlib
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.common import Types
from headrace.control.registry import JobRegistry
from headrace.control.views.reader import JobViews
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors.datagen import DataGeneratorSource
from job_files import environment
from patience import PATIENCE_S, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator


def hold_record(gate: str, number: int) -> int:
    """Works and rests until the file is there; another one tells that it has begun."""
    Path(f"{gate}.reached").touch()
    while not Path(gate).exists():
        sum(range(1000))
        time.sleep(0.001)
    return number


@contextlib.contextmanager
def held_job(folder: Path, **options: str) -> Iterator[tuple[JobViews, str]]:
    """Read models and the id of a job that is held as long as the block lasts."""
    gate = folder / "gate"
    env = StreamExecutionEnvironment.get_execution_environment(environment(folder, **options))
    source = DataGeneratorSource(lambda n: n, 1, None, Types.LONG())
    numbers = env.from_source(source, None, "numbers").uid("numbers")
    held = numbers.key_by(lambda n: n).map(partial(hold_record, str(gate))).uid("held")
    held.add_sink(lambda n: None).uid("out")
    client = env.execute_async("held")
    views = JobViews(JobRegistry(folder / "jobs"))
    try:
        wait_until(lambda: Path(f"{gate}.reached").exists() and bool(views.executors()))
        yield views, views.overview()[0].job_id
    finally:
        gate.touch()
        assert client.wait(PATIENCE_S)
