"""tests/skips.py, tests/ports.py and tests/patience.py: what all other tests stand on."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import ports
from patience import PATIENCE_S, TEST_TIMEOUT_S, wait_until
from ports import free_port

TESTS = Path(ports.__file__).parent
CONFTEST = "from skips import pytest_sessionfinish, pytest_terminal_summary  # noqa: F401\n"
PROGRAM = """
import pytest
from skips import give_up

def test_lacks():
    if {lacks}:
        give_up("no server")

@pytest.mark.skipif({repeats}, reason="repeats it all: make oracle")
def test_repeats():
    pass

@pytest.mark.skipif({silent}, reason="not today")
def test_silent():
    pass
"""


def run(
    folder: Path, *words: str, ci: bool, lacks: bool = False, silent: bool = False
) -> tuple[int, str]:
    (folder / "conftest.py").write_text(CONFTEST)
    program = PROGRAM.format(lacks=lacks, repeats=True, silent=silent)
    (folder / "test_it.py").write_text(program)
    (folder / "pytest.ini").write_text("[pytest]\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *words, str(folder)]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "CI": "true" if ci else "", "PYTHONPATH": str(TESTS)},
    )
    return done.returncode, done.stdout


@pytest.mark.parametrize("words", [("-n", "0"), ("-n", "2")])
def test_a_skip_without_an_agreed_reason_fails_the_run_and_is_named(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    code, told = run(tmp_path, *words, ci=False, silent=True)
    assert code == 1, told
    assert "1  NOT ALLOWED (tests/skips.py): not today" in told
    assert "1  repeats it all: make oracle" in told
    assert "2 skipped" in told


def test_what_a_machine_lacks_is_a_skip_for_developers_and_a_failure_in_ci(tmp_path: Path) -> None:
    code, told = run(tmp_path, ci=False, lacks=True)
    assert code == 0, told
    assert "this machine lacks what the test needs: no server" in told
    code, told = run(tmp_path, ci=True, lacks=True)
    assert code == 1
    assert "Failed: no server" in told


def test_a_port_is_given_once_and_never_one_that_the_system_may_choose() -> None:
    least, most = map(int, ports._SYSTEM.read_text().split())
    given = [free_port() for _ in range(20)]
    command = [sys.executable, "-c", "from ports import free_port; print(free_port())"]
    other = subprocess.run(
        command, capture_output=True, text=True, check=True, env={"PYTHONPATH": str(TESTS)}
    )
    given.append(int(other.stdout))
    assert len(set(given)) == len(given)
    assert not [port for port in given if least <= port <= most]


def test_patience_ends_before_pytest_ends_the_process() -> None:
    assert float(os.environ["PYTEST_TIMEOUT"]) == TEST_TIMEOUT_S
    assert 2 * PATIENCE_S < TEST_TIMEOUT_S


def test_waiting_gives_what_came_or_tells_what_did_not(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter(["", "", "came"])
    assert wait_until(lambda: next(answers)) == "came"
    monkeypatch.setattr("patience.PATIENCE_S", 0.0)
    with pytest.raises(AssertionError, match=r"after 0 s: 3 of 4"):
        wait_until(lambda: False, lambda: "3 of 4")
