"""Tests that are left out: every one has a reason that is known here, or the run fails.

In: the reports of a run.  Out: `give_up`, for what a machine lacks; and hooks of pytest, which
tests/conftest.py hands on: the last lines of a run name all skips by reason.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from typing import TYPE_CHECKING, NoReturn

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable

IS_CI = os.environ.get("CI") == "true"
_LACKS = "this machine lacks what the test needs: "
# What may be skipped: a pattern that the whole reason fits, and why nothing is lost by it.
ALLOWED = {
    r".*: make oracle": "repeats Flink's stored answers; `make oracle` asks Flink again",
    r"root may write everywhere": "a folder that is closed to its owner is open to root",
}
_OFFLINE = {
    re.escape(_LACKS) + ".*": "a developer may be offline",
    r"got empty parameter set for .*": "cases that only PyFlink knows, where there is none",
}
_HERE = ALLOWED if IS_CI else ALLOWED | _OFFLINE


def give_up(reason: str) -> NoReturn:
    """Skips a test for want of a server or a library, in words of that want; in CI it fails."""
    if IS_CI:
        pytest.fail(reason)
    pytest.skip(_LACKS + reason)


def reasons_of(skipped: Iterable[pytest.TestReport]) -> Counter[str]:
    """How many tests were skipped for which reason."""
    return Counter(
        str(each.longrepr[2] if isinstance(each.longrepr, tuple) else each.longrepr).removeprefix(
            "Skipped: "
        )
        for each in skipped
    )


def not_allowed(reasons: Iterable[str]) -> list[str]:
    """Those that nobody has agreed to."""
    return [
        reason
        for reason in reasons
        if not any(re.fullmatch(pattern, reason, re.DOTALL) for pattern in _HERE)
    ]


def _found(config: pytest.Config) -> Counter[str]:
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    return reasons_of(reporter.stats.get("skipped", []) if reporter else [])


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """A skip for another reason fails the run."""
    if hasattr(session.config, "workerinput"):
        return  # a process of pytest-xdist; the one that started it has all reports
    if session.exitstatus == pytest.ExitCode.OK and not_allowed(_found(session.config)):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Names every reason, and how many tests it left out."""
    found = _found(config)
    refused = not_allowed(found)
    if found:
        terminalreporter.section("left out")
    for reason, count in found.most_common():
        word = "NOT ALLOWED (tests/skips.py): " if reason in refused else ""
        terminalreporter.line(f"{count:6d}  {word}{reason}", red=bool(word))
