"""Java options of a local Spark, and the archive that `headrace warm-up` makes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from headrace.spark import fast_start

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HEADRACE_HOME", str(tmp_path))
    return tmp_path


def test_without_an_archive_java_is_not_told_of_one() -> None:
    assert "SharedArchiveFile" not in fast_start.java_options()


def test_an_archive_that_is_there_is_used() -> None:
    archive = fast_start.archive_file()
    archive.parent.mkdir(parents=True)
    archive.touch()
    assert f"-XX:SharedArchiveFile={archive}" in fast_start.java_options()


def test_another_java_has_another_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = set()
    for version in ("17.0.1", "17.0.2"):
        java = tmp_path / version
        (java / "bin").mkdir(parents=True)
        (java / "release").write_text(f'JAVA_VERSION="{version}"')
        monkeypatch.setenv("JAVA_HOME", str(java))
        names.add(fast_start.archive_file().name)
    assert len(names) == 2


def test_the_process_that_starts_a_query_imports_neither_pyarrow_nor_the_runtime() -> None:
    import subprocess
    import sys

    heavy = ["pyarrow", "numpy", "headrace.runtime.task", "headrace.common"]
    code = (
        "import sys, pyspark.sql.streaming.transform_with_state_driver_worker\n"
        "before = set(sys.modules)\n"
        "import headrace.spark.processor, headrace.runtime.pickling\n"
        f"print([name for name in {heavy!r} if name in set(sys.modules) - before])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
