"""Whoever waits for a server says so, once, and for how long it will."""

from __future__ import annotations

import logging
import os
import threading
from typing import TYPE_CHECKING

import pytest

from headrace.io import waiting
from headrace.io.waiting import at_most, told_when_long

if TYPE_CHECKING:
    from collections.abc import Iterator

LONGEST_TEST_S = 30


class Lines(logging.Handler):
    """What was told, and a way to wait for it."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self.some = threading.Event()

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())
        self.some.set()


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Iterator[Lines]:
    monkeypatch.setattr(waiting, "TOLD_AFTER_S", 0.02)
    log, handler = logging.getLogger(waiting.__name__), Lines()
    log.addHandler(handler)
    yield handler
    log.removeHandler(handler)


def test_a_long_wait_is_told_once_with_its_limit_and_the_reason(told: Lines) -> None:
    with told_when_long("the broker at x:1", at_most(5, "some.timeout"), lambda: "refused"):
        assert told.some.wait(LONGEST_TEST_S)
        with told_when_long("somebody else", at_most(None)):
            while len(told.lines) < 2:
                assert told.some.wait(LONGEST_TEST_S)
    assert told.lines == [
        "waiting for the broker at x:1, for 5 s at most (some.timeout); so far: refused",
        "waiting for somebody else, without a limit",
    ]


def test_who_is_done_in_time_is_not_told_of(told: Lines) -> None:
    with told_when_long("the quick", at_most(1)):
        pass
    with told_when_long("the slow", at_most(1)):
        assert told.some.wait(LONGEST_TEST_S)
    assert told.lines == ["waiting for the slow, for 1 s at most"]


def test_a_server_at_work_is_told_of_only_when_it_has_failed(told: Lines) -> None:
    failures: list[str] = []

    def last() -> str | None:
        return failures[-1] if failures else None

    with told_when_long("the server", at_most(1), last, only_with_reason=True):
        with told_when_long("the witness", at_most(1)):
            assert told.some.wait(LONGEST_TEST_S)
        assert told.lines == ["waiting for the witness, for 1 s at most"]
        told.some.clear()
        failures.append("connection lost")
        assert told.some.wait(LONGEST_TEST_S)
    assert told.lines[1:] == ["waiting for the server, for 1 s at most; so far: connection lost"]


def test_a_forked_process_tells_too(told: Lines) -> None:
    with told_when_long("the parent", at_most(1)):
        assert told.some.wait(LONGEST_TEST_S)
    child = os.fork()
    if child == 0:  # a worker of Spark: none of the threads of its parent
        told.some.clear()
        with told_when_long("the child", at_most(1)):
            found = told.some.wait(LONGEST_TEST_S)
        os._exit(0 if found and told.lines[-1].startswith("waiting for the child") else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
