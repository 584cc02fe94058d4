"""Prints records where the user sees them: in the terminal of the program that started the job.

In: records.  Out: lines on stdout or stderr of the driver.  Next: formats/text_form.py

    print()          parallelism 1   value          parallelism 4   3> value
    print("orders")                  orders> value                  orders:3> value
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any, ClassVar

from headrace.connectors.driver.committer import DriverCommitter
from headrace.formats.text_form import printed_text
from headrace.spi.sink import (
    CommitterContext,
    Sink,
    SinkWriter,
    WriterContext,
)


class PrintSink(Sink):
    """Prints every record, in Flink's notation.

    Args:
        sink_identifier: put before each record.
        to_err: print to stderr instead of stdout.

    Coming from Flink: lines appear in the program's own terminal and not in the log of a worker,
    after their batch has succeeded, and not again when a batch is repeated. In continuous mode they
    appear at once, and again when the job goes back to a checkpoint, as Flink's do.
    """

    acts_at_once: ClassVar[bool] = True

    def __init__(self, sink_identifier: str | None = None, *, to_err: bool = False) -> None:
        self._sink_identifier = sink_identifier or ""
        self._to_err = to_err

    def create_writer(self, context: WriterContext) -> PrintWriter:
        return PrintWriter(self._sink_identifier, context)

    def create_committer(self, context: CommitterContext) -> PrintCommitter:
        return PrintCommitter(context, to_err=self._to_err)


@dataclass(frozen=True, slots=True)
class PrintedLines:
    """Finished lines of one subtask; text, so that the driver needs no class of the records."""

    subtask: int
    number: int
    text: str


class PrintWriter(SinkWriter):
    """Formats records in the worker."""

    def __init__(self, sink_identifier: str, context: WriterContext) -> None:
        self._prefix = line_prefix(sink_identifier, context.subtask_index, context.parallelism)
        self._subtask = context.subtask_index
        self._text = printed_text(context.type_info)
        self._lines: list[PrintedLines] = []

    def write(self, values: list[Any], timestamps: list[int] | None) -> None:
        prefix, text_of = self._prefix, self._text
        text = "".join(f"{prefix}{text_of(value)}\n" for value in values)
        if text:
            self._lines.append(PrintedLines(self._subtask, len(self._lines), text))

    def prepare_commit(self) -> list[Any]:
        return self._lines

    def abort(self) -> None:
        self._lines = []


class PrintCommitter(DriverCommitter):
    """Writes the lines of a batch, subtask by subtask."""

    def __init__(self, context: CommitterContext, *, to_err: bool) -> None:
        super().__init__(context)
        self._to_err = to_err

    def deliver(self, batch_id: int, committables: list[PrintedLines]) -> None:
        """Writes and flushes."""
        # Looked up now: notebooks and test runners replace these streams while a job runs.
        stream = sys.stderr if self._to_err else sys.stdout
        ordered = sorted(committables, key=lambda lines: (lines.subtask, lines.number))
        stream.write("".join(lines.text for lines in ordered))
        stream.flush()


def line_prefix(sink_identifier: str, subtask_index: int, parallelism: int) -> str:
    """What stands before each record; subtasks count from 1 and only if there are several."""
    subtask = str(subtask_index + 1) if parallelism > 1 else ""
    prefix = ":".join(part for part in (sink_identifier, subtask) if part)
    return f"{prefix}> " if prefix else ""
