"""What a terminal shows while there is no result yet; the result takes its place.

    12 s, 48 of 200 tasks, 1,204,000 records

In: the jobs of a statement, once it has some.  Out: a short text, or a line at the
cursor that is drawn over and over.  Next: cli/sql/screen.py shows the text in its title
"""

from __future__ import annotations

import shutil
import sys
import time
from typing import TYPE_CHECKING

from headrace.common.interruptible import undisturbed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import TracebackType
    from typing import TextIO

    from headrace.spi.executor import JobHandle, WorkDone
    from headrace.table.table_result import TableResult

# what is done sooner needs no line
_SHOWN_AFTER_S = 1.0
_ASKED_EVERY_S = 0.5
_EMPTY_LINE = "\r\x1b[K"


class StatementProgress:
    """How far a statement is, asked for twice a second at most.

    Args:
        jobs: that it waits for; there may be none yet.
        before: what goes on while there are none.
        clock: seconds; of the process by default.
    """

    def __init__(
        self,
        jobs: Callable[[], Sequence[JobHandle]],
        before: str = "",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._jobs, self._before, self._clock = jobs, before, clock
        self._began = clock()
        self._text, self._asked = "", self._began

    def text(self) -> str:
        """Seconds, tasks and records; nothing at the beginning."""
        now = self._clock()
        if now - self._began >= _SHOWN_AFTER_S and (
            not self._text or now - self._asked >= _ASKED_EVERY_S
        ):
            self._asked = now
            self._text = ", ".join(self._parts(now - self._began))
        return self._text

    def _parts(self, seconds: float) -> Iterator[str]:
        yield f"{seconds:.0f} s"
        jobs = self._jobs()
        if not jobs and self._before:
            yield self._before
        # the host may ask a JVM, and Ctrl-C must not tear that apart
        done = undisturbed(lambda: [job.work_done() for job in jobs], "headrace-progress")
        yield from _sum_in_words(done)


def progress_of(result: TableResult) -> StatementProgress | None:
    """That of the job of a result; None without one."""
    client = result.get_job_client()
    return None if client is None else StatementProgress(lambda: [client._job])


def _sum_in_words(done: Sequence[WorkDone]) -> Iterator[str]:
    if tasks := sum(each.tasks for each in done):
        yield f"{sum(each.tasks_done for each in done):,} of {tasks:,} tasks"
    if (epochs := sum(each.epochs for each in done)) > 1:
        yield f"{epochs:,} batches"
    if records := sum(each.records for each in done):
        yield f"{records:,} records"


class ProgressLine:
    """The text as the last line of a terminal; it is gone when the block ends, however it ends.

    Args:
        progress: of the statement; None shows nothing.
        terminal: where the line is; standard output by default.
    """

    def __init__(self, progress: StatementProgress | None, terminal: TextIO | None = None) -> None:
        self._progress = progress
        self._terminal = terminal or sys.stdout
        self._shown = ""

    def __enter__(self) -> ProgressLine:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._show("")

    def look(self) -> None:
        """Draw the line again if it has changed."""
        if self._progress is not None:
            self._show(self._progress.text())

    def _show(self, text: str) -> None:
        text = text[: shutil.get_terminal_size().columns - 1]
        if text != self._shown:
            self._terminal.write(_EMPTY_LINE + text)
            self._terminal.flush()
            self._shown = text
