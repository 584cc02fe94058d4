"""What the SQL prompt shows of a query that has no result yet."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, cast

import pytest

from headrace.cli.sql.progress import ProgressLine, StatementProgress
from headrace.spi.executor import WorkDone

if TYPE_CHECKING:
    from headrace.spi.executor import JobHandle


class Job:
    """A job that is as far as it is told."""

    def __init__(self, done: WorkDone) -> None:
        self.done = done
        self.asked = 0

    def work_done(self) -> WorkDone:
        self.asked += 1
        return self.done


class Query:
    """A query, and a clock."""

    def __init__(self, done: WorkDone) -> None:
        self.now = 100.0
        self.job = Job(done)
        self.progress = StatementProgress(
            lambda: [cast("JobHandle", self.job)], clock=lambda: self.now
        )


@pytest.mark.parametrize(
    ("done", "text"),
    [
        (WorkDone(0, 0, 0, 0), "12 s"),
        (WorkDone(1, 0, 0, 0), "12 s"),
        (WorkDone(0, 0, 48, 1200), "12 s, 48 of 1,200 tasks"),
        (WorkDone(3, 1204000, 0, 0), "12 s, 3 batches, 1,204,000 records"),
    ],
)
def test_what_is_known_is_told(done: WorkDone, text: str) -> None:
    query = Query(done)
    query.now += 12
    assert query.progress.text() == text


def test_nothing_is_told_of_short_work_and_the_job_is_not_asked_all_the_time() -> None:
    query = Query(WorkDone(0, 0, 1, 2))
    query.now += 0.9
    assert query.progress.text() == ""
    query.now += 0.1
    assert query.progress.text() == "1 s, 1 of 2 tasks"
    query.job.done = WorkDone(0, 0, 2, 2)
    query.now += 0.4
    assert query.progress.text() == "1 s, 1 of 2 tasks"
    assert query.job.asked == 1
    query.now += 0.1
    assert query.progress.text() == "2 s, 2 of 2 tasks"


@pytest.mark.parametrize("end", [None, KeyboardInterrupt])
def test_the_line_is_drawn_over_and_is_gone_at_the_end(end: type[BaseException] | None) -> None:
    query, terminal = Query(WorkDone(0, 0, 0, 0)), io.StringIO()
    try:
        with ProgressLine(query.progress, terminal) as line:
            line.look()
            assert terminal.getvalue() == ""
            for _ in range(4):
                query.now += 0.5
                line.look()
                line.look()
            if end is not None:
                raise end
    except KeyboardInterrupt:
        assert end is KeyboardInterrupt
    assert terminal.getvalue() == "\r\x1b[K1 s\r\x1b[K2 s\r\x1b[K"


def test_without_a_terminal_nothing_is_drawn() -> None:
    terminal = io.StringIO()
    with ProgressLine(None, terminal) as line:
        line.look()
    assert terminal.getvalue() == ""
