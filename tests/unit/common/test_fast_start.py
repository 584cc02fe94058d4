"""Java options of a local Spark, and the archive that `headrace warm-up` makes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from headrace.hosts.spark import fast_start


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


def test_spark_is_started_from_a_home_without_the_zip_of_its_sources(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SPARK_HOME", raising=False)
    for _ in range(2):  # made, then found
        with fast_start.home_without_zip():
            linked = Path(os.environ["SPARK_HOME"])
            assert linked.is_relative_to(home)
            assert (linked / "bin" / "spark-submit").exists()
            assert not (linked / "python").exists()
        assert "SPARK_HOME" not in os.environ


def test_a_home_of_the_users_own_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_HOME", "/opt/spark")
    with fast_start.home_without_zip():
        assert os.environ["SPARK_HOME"] == "/opt/spark"


def test_where_nothing_can_be_written_spark_starts_as_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SPARK_HOME", raising=False)
    (tmp_path / "file").touch()
    monkeypatch.setenv("HEADRACE_HOME", str(tmp_path / "file"))
    with fast_start.home_without_zip():
        assert "SPARK_HOME" not in os.environ


def test_the_process_that_starts_a_query_imports_neither_pyarrow_nor_the_runtime() -> None:
    heavy = ["pyarrow", "numpy", "headrace.runtime.task", "headrace.common"]
    code = (
        "import sys, pyspark.sql.streaming.transform_with_state_driver_worker\n"
        "before = set(sys.modules)\n"
        "import headrace.hosts.spark.microbatch.processor, headrace.data.pickling\n"
        f"print([name for name in {heavy!r} if name in set(sys.modules) - before])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
