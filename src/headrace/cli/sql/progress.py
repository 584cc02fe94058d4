"""What a terminal shows of a query while there is no result yet; the result takes its place.

    12 s, 48 of 200 tasks, 1,204,000 records

In: the job of a query.  Out: a short text, or a line at the cursor that is drawn over and over.
Next: cli/sql/screen.py shows the text in its title
"""

from __future__ import annotations

import shutil
import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import TracebackType
    from typing import TextIO

    from headrace.spi.executor import JobHandle, WorkDone
    from headrace.table.table_result import TableResult

# what is done sooner needs no line
_SHOWN_AFTER_S = 1.0
_ASKED_EVERY_S = 0.5
_EMPTY_LINE = "\r\x1b[K"


class QueryProgress:
    """How far a query is, asked for twice a second at most.

    Args:
        job: that of the query.
        clock: seconds; of the process by default.
    """

    def __init__(self, job: JobHandle, clock: Callable[[], float] = time.monotonic) -> None:
        self._job, self._clock = job, clock
        self._began = clock()
        self._text, self._asked = "", self._began

    def text(self) -> str:
        """Seconds, tasks and records; nothing at the beginning."""
        now = self._clock()
        if now - self._began >= _SHOWN_AFTER_S and (
            not self._text or now - self._asked >= _ASKED_EVERY_S
        ):
            self._asked = now
            self._text = ", ".join(_parts(now - self._began, self._job.work_done()))
        return self._text


def progress_of(result: TableResult) -> QueryProgress | None:
    """That of the job of a result; None without one."""
    client = result.get_job_client()
    return None if client is None else QueryProgress(client._job)


def _parts(seconds: float, done: WorkDone) -> Iterator[str]:
    yield f"{seconds:.0f} s"
    if done.tasks:
        yield f"{done.tasks_done:,} of {done.tasks:,} tasks"
    if done.epochs > 1:
        yield f"{done.epochs:,} batches"
    if done.records:
        yield f"{done.records:,} records"


class ProgressLine:
    """The text as the last line of a terminal; it is gone when the block ends, however it ends.

    Args:
        progress: of the query; None shows nothing.
        terminal: where the line is; standard output by default.
    """

    def __init__(self, progress: QueryProgress | None, terminal: TextIO | None = None) -> None:
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
