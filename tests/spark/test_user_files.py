"""What a program brings along for its workers: archives, packages, the interpreter."""

from __future__ import annotations

import os
import sys
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from headrace.errors import ConfigurationError, EnvironmentSetupError

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.spark


def wheel(folder: Path, name: str) -> None:
    """A package with a function, as pip installs it."""
    info = f"{name}-1.0.dist-info"
    files = {
        f"{name}/__init__.py": "def plus(a, b):\n    return a + b\n",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/RECORD": "",
    }
    with zipfile.ZipFile(folder / f"{name}-1.0-py3-none-any.whl", "w") as archive:
        for path, content in files.items():
            archive.writestr(path, content)


def test_workers_work_where_the_archives_are(make_env: Callable[..., Any], tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "numbers.zip", "w") as archive:
        archive.writestr("data.txt", "2")
    env = make_env()
    env.add_python_archive(str(tmp_path / "numbers.zip"), "numbers")

    def add_from_file(value: int) -> int:
        return value + int(Path("numbers/data.txt").read_text())

    stream = env.from_collection([1, 2, 3]).map(add_from_file)
    assert sorted(stream.execute_and_collect()) == [3, 4, 5]
    # a job without archives, on the same workers, is where it always was
    found = make_env().from_collection([1]).map(lambda _: str(Path.cwd())).execute_and_collect()
    assert list(found) == [str(Path.cwd())]


def test_workers_get_the_packages_of_a_requirements_file(
    make_env: Callable[..., Any], tmp_path: Path
) -> None:
    wheel(tmp_path, "brought_along")
    (tmp_path / "requirements.txt").write_text("brought_along==1.0\n")
    env = make_env()
    env.set_python_requirements(str(tmp_path / "requirements.txt"), str(tmp_path))

    def plus_one(value: int) -> int:
        from brought_along import plus  # type: ignore[import-not-found]

        return int(plus(value, 1))

    keyed = env.from_collection([1, 2]).key_by(lambda value: value).map(plus_one)
    assert sorted(keyed.execute_and_collect()) == [2, 3]
    (tmp_path / "requirements.txt").write_text("nowhere-to-be-found==1.0\n")
    with pytest.raises(EnvironmentSetupError, match="nowhere-to-be-found"):
        list(env.from_collection([1]).execute_and_collect())


def test_the_interpreter_of_running_workers_cannot_change(make_env: Callable[..., Any]) -> None:
    before = os.environ.get("PYSPARK_PYTHON")
    env = make_env()
    env.set_python_executable(sys.executable)
    told = env.from_collection([1]).map(lambda _: os.environ["python"])  # noqa: SIM112
    assert list(told.execute_and_collect()) == [sys.executable]
    env.set_python_executable("/bin/sh")
    try:
        with pytest.raises(ConfigurationError, match="Spark is already running with"):
            list(env.from_collection([1]).execute_and_collect())
    finally:
        os.environ.pop("PYSPARK_PYTHON")
        if before is not None:
            os.environ["PYSPARK_PYTHON"] = before


def test_an_archive_that_is_not_there_is_refused(
    make_env: Callable[..., Any], tmp_path: Path
) -> None:
    env = make_env()
    env.add_python_archive(str(tmp_path / "none.zip"))
    with pytest.raises(ConfigurationError, match="does not exist"):
        list(env.from_collection([1]).execute_and_collect())
