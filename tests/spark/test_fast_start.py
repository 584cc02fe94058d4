"""`headrace warm-up` on a real Java: the archive is made, used, and says nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.hosts.spark import fast_start

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pytest

    from spark.conftest import Script

PROGRAM = """
from headrace.datastream import StreamExecutionEnvironment

env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
env.from_collection([1, 2]).map(lambda n: n + 1).print()
env.execute("archived")
options = env.get_spark_session().conf.get("spark.driver.extraJavaOptions")
print("SharedArchiveFile" in options)
"""


def test_a_program_starts_with_the_archive_that_was_made(
    run_script: Callable[..., Script], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # what Spark's launcher and its shell scripts might take apart
    monkeypatch.setenv("HEADRACE_HOME", str(tmp_path / 'Ann\'s "own" home'))
    archive = fast_start.make_archive()
    assert archive.stat().st_size > 10_000_000
    assert sorted(f.name for f in archive.parent.iterdir()) == [archive.stem, archive.name]
    code, out, err = run_script(PROGRAM).end()
    assert code == 0, err
    assert sorted(out.split()) == ["2", "3", "True"]
    assert err == ""
