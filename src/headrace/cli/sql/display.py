"""Results as people read them: tableaus, changelogs, tables; and what else the client says.

In: results of statements.  Out: text on standard output.  The other way to show results is
cli/sql/json_lines.py.  Next: cli/sql/screen.py for tables that change while one looks at them
"""

from __future__ import annotations

import queue
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from headrace.cli.sql.materialized import MaterializedLines
from headrace.cli.sql.progress import ProgressLine, progress_of
from headrace.table.tableau import Tableau

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from headrace.cli.sql.progress import StatementProgress
    from headrace.cli.sql.settings import DisplaySettings
    from headrace.common.types import Row
    from headrace.datastream.closeable_iterator import CloseableIterator
    from headrace.table.table_result import TableResult

_POLL_S = 0.1


@dataclass(frozen=True, slots=True)
class ShownJob:
    """What is told of a job."""

    job_id: str
    name: str
    state: str


class ResultDisplay(Protocol):
    """How a client shows what statements give."""

    def ok(self) -> None:
        """A statement with nothing to show is done."""
        ...

    def known(self, result: TableResult) -> None:
        """Lines that are known: SHOW, DESCRIBE, EXPLAIN."""
        ...

    def query(self, result: TableResult, how: DisplaySettings) -> None:
        """Lines of a job, until it ends or the user ends it: KeyboardInterrupt."""
        ...

    def waiting(self, progress: StatementProgress) -> ProgressLine:
        """A line for as long as a statement is waited for."""
        ...

    def submitted(self, job: ShownJob) -> None:
        """A job runs, and nobody waits for it."""
        ...

    def ended(self, job: ShownJob) -> None:
        """A job has ended."""
        ...

    def note(self, text: str) -> None:
        """Something worth knowing."""
        ...


def put(text: str = "") -> None:
    """A line on standard output, at once: another program may wait for it."""
    print(text, file=sys.stdout, flush=True)  # noqa: T201


def rows_of(rows: CloseableIterator, meanwhile: Callable[[], None] = lambda: None) -> Iterator[Row]:
    """The rows as they come; waits in steps, so that Ctrl-C is seen at once.

    Args:
        rows: of a job.
        meanwhile: called after every step without a row.
    """
    while True:
        try:
            row: Row = rows.next(timeout_s=_POLL_S)
        except StopIteration:
            return
        except queue.Empty:
            meanwhile()
            continue
        yield row


class TextDisplay:
    """Shows results to people.

    Args:
        full_screen: whether there is a terminal on which tables can change in place.
        redraws: whether there is a terminal at least, whose last line can be drawn again.
    """

    def __init__(self, *, full_screen: bool, redraws: bool = False) -> None:
        self._full_screen = full_screen
        self._redraws = redraws or full_screen

    def ok(self) -> None:
        """A statement with nothing to show is done."""
        put("[INFO] OK")

    def known(self, result: TableResult) -> None:
        """Lines that are known; a text of several lines stands as it is."""
        if result.get_resolved_schema().get_column_names() == ["result"]:
            for row in rows_of(result.collect()):
                put(str(row[0]))
            return
        result.print()

    def query(self, result: TableResult, how: DisplaySettings) -> None:
        """Lines of a job, in the mode that is set."""
        if how.mode != "tableau" and self._full_screen:
            from headrace.cli.sql.screen import show_on_screen

            show_on_screen(result, how)
        elif how.mode == "table":
            _print_final_table(result, how)
        elif how.streaming or how.mode == "changelog":
            _print_changes(result, how)
        else:
            _print_all(result, how, progress_of(result) if self._redraws else None)

    def waiting(self, progress: StatementProgress) -> ProgressLine:
        """A line for as long as a statement is waited for, where it can be drawn again."""
        return ProgressLine(progress if self._redraws else None)

    def submitted(self, job: ShownJob) -> None:
        """A job runs, and nobody waits for it."""
        put(f"[INFO] the job {job.name} runs; SHOW JOBS lists it, STOP JOB ends it")
        put(f"Job ID: {job.job_id}\n")

    def ended(self, job: ShownJob) -> None:
        """A job has ended."""
        put(f"[INFO] the job {job.name} is {job.state}")
        put(f"Job ID: {job.job_id}\n")

    def note(self, text: str) -> None:
        """Something worth knowing."""
        put(f"[INFO] {text}")


# --- results without a screen --------------------------------------------------------------------


def _print_changes(result: TableResult, how: DisplaySettings) -> None:
    """Every change as a line, as they come."""
    schema = result.get_resolved_schema()
    table = Tableau.for_stream(schema, kinds=True, zone=how.zone, max_width=how.max_width)
    count = 0
    put(table.header())
    with result.collect() as rows:
        try:
            for row in rows_of(rows):
                put(table.line([str(row.get_row_kind()), *table.texts(row)]))
                count += 1
        except KeyboardInterrupt:
            put(f"{table.border()}\nended by Ctrl-C after {_rows(count)}")
            raise
    put(f"{table.border()}\nReceived a total of {_rows(count)}" if count else "no rows")


def _print_all(
    result: TableResult, how: DisplaySettings, progress: StatementProgress | None
) -> None:
    """The lines of a bounded query, when all are there: in BATCH mode they only add."""
    begin = time.monotonic()
    table = _table_for(result, how)
    with result.collect() as rows, ProgressLine(progress) as line:
        lines = [tuple(table.texts(row)) for row in rows_of(rows, line.look)]
    _print_lines(table, lines, how, time.monotonic() - begin if how.time_cost else None)


def _print_final_table(result: TableResult, how: DisplaySettings) -> None:
    """The table that all changes have led to, or have led to when the user ends the query."""
    table, kept = _table_for(result, how), MaterializedLines(how.max_rows)
    try:
        with result.collect() as rows:
            for row in rows_of(rows):
                kept.apply(str(row.get_row_kind()), tuple(table.texts(row)))
    finally:
        _print_lines(table, kept.lines(), how, None)


def _table_for(result: TableResult, how: DisplaySettings) -> Tableau:
    return Tableau.for_stream(
        result.get_resolved_schema(), kinds=False, zone=how.zone, max_width=how.max_width
    )


def _print_lines(
    table: Tableau, lines: list[tuple[str, ...]], how: DisplaySettings, seconds: float | None
) -> None:
    took = "" if seconds is None else f" ({seconds:.2f} seconds)"
    if not lines:
        put(f"Empty set{took}")
        return
    table.fit(lines, how.max_width)
    put(table.header())
    for cells in lines:
        put(table.line(cells))
    put(f"{table.border()}\n{_rows(len(lines))} in set{took}")


def _rows(count: int) -> str:
    return f"{count} row{'' if count == 1 else 's'}"
