"""scripts/check_java.py, tried with fake java executables."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "check_java.py"


def fake_java(folder: Path, printed: str, exit_code: int = 0) -> Path:
    """Writes a `java` that prints its version to stderr, as the real one does."""
    java = folder / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\ncat >&2 <<'END'\n{printed}\nEND\nexit {exit_code}\n")
    java.chmod(0o755)
    return java


def check(**environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(SCRIPT)], env=environ, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    "printed",
    [
        'openjdk version "17.0.15" 2025-04-15\nOpenJDK Runtime Environment (build 17.0.15+6)',
        'java version "21.0.3" 2024-04-16 LTS',
        'openjdk version "21" 2023-09-19',
        'Picked up JAVA_TOOL_OPTIONS: -Xmx1g\nopenjdk version "17.0.1" 2021-10-19',
    ],
)
def test_java_17_and_21_are_accepted_without_a_word(tmp_path: Path, printed: str) -> None:
    fake_java(tmp_path, printed)
    result = check(JAVA_HOME=str(tmp_path), PATH="/usr/bin:/bin")
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


@pytest.mark.parametrize(
    ("printed", "version"),
    [
        ('java version "1.8.0_392"', "8"),
        ('openjdk version "11.0.22" 2024-01-16', "11"),
        ('openjdk version "25-ea" 2025-09-16', "25"),
    ],
)
def test_another_java_is_rejected_with_what_was_found_and_the_fix(
    tmp_path: Path, printed: str, version: str
) -> None:
    fake_java(tmp_path, printed)
    result = check(JAVA_HOME=str(tmp_path), PATH="/usr/bin:/bin")
    assert result.returncode == 1
    assert f"Java {version}: {tmp_path}" in result.stderr
    for system in ("Debian", "Fedora", "macOS", "WSL", "conda"):
        assert system in result.stderr


def test_java_home_wins_over_path(tmp_path: Path) -> None:
    fake_java(tmp_path / "old", 'openjdk version "11.0.2"')
    fake_java(tmp_path / "new", 'openjdk version "17.0.2"')
    path = f"{tmp_path / 'new' / 'bin'}:/usr/bin:/bin"
    assert check(PATH=path).returncode == 0
    assert check(PATH=path, JAVA_HOME=str(tmp_path / "old")).returncode == 1


def test_no_java_at_all_says_so(tmp_path: Path) -> None:
    result = check(PATH=str(tmp_path))
    assert result.returncode == 1
    assert "no `java` was found" in result.stderr


def test_a_java_home_without_java_names_the_path(tmp_path: Path) -> None:
    result = check(PATH="/usr/bin:/bin", JAVA_HOME=str(tmp_path))
    assert result.returncode == 1
    assert str(tmp_path / "bin" / "java") in result.stderr


def test_a_java_that_fails_shows_what_it_printed(tmp_path: Path) -> None:
    # macOS has such a java: a stub that only asks for an installation.
    fake_java(tmp_path, "The operation couldn't be completed. Unable to locate a Java Runtime.", 1)
    result = check(PATH="/usr/bin:/bin", JAVA_HOME=str(tmp_path))
    assert result.returncode == 1
    assert "Unable to locate a Java Runtime" in result.stderr
