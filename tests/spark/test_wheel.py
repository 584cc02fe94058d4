"""The wheel that docs/install.md builds holds all that a program needs."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

from pages import ROOT
from skips import give_up

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = """
import headrace
from headrace.datastream import StreamExecutionEnvironment
from headrace.testing import collect_locally

env = StreamExecutionEnvironment.get_execution_environment()
numbers = env.from_sequence(1, 4)
print(headrace.__file__)
print(sorted(collect_locally(numbers.key_by(lambda n: n % 2).reduce(lambda a, b: a + b))))
"""


def _pip(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_program_runs_with_nothing_but_the_wheel(tmp_path: Path) -> None:
    built = _pip("wheel", "--quiet", "--no-deps", "--wheel-dir", str(tmp_path), str(ROOT))
    if "No matching distribution found for hatchling" in built.stderr:
        give_up("offline: pip cannot fetch hatchling, which builds the wheel")
    assert built.returncode == 0, built.stderr
    (wheel,) = tmp_path.glob("headrace-*.whl")
    installed = _pip(
        "install", "--quiet", "--no-deps", "--target", str(tmp_path / "lib"), str(wheel)
    )
    assert installed.returncode == 0, installed.stderr
    assert (tmp_path / "lib" / "headrace" / "py.typed").is_file()
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path / "lib")},
        capture_output=True,
        text=True,
        check=True,
    )
    place, numbers = done.stdout.splitlines()
    assert place.startswith(str(tmp_path))
    assert numbers == "[1, 2, 4, 6]"
