"""``TableResult``: what a statement gives: lines of a job, lines that are known, or OK.

In: statements and tables.  Out: rows with their kinds, or a printed table.
Next: table/tableau.py prints
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from headrace.common import data_types as t
from headrace.common.types import Row
from headrace.datastream.closeable_iterator import CloseableIterator
from headrace.errors import JobError
from headrace.table.resolved import ResolvedSchema
from headrace.table.result_kind import ResultKind
from headrace.table.table_schema import TableSchema
from headrace.table.tableau import Tableau

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from headrace.common.data_types import DataType
    from headrace.common.job_client import JobClient

__all__ = ["CloseableIterator", "TableResult"]


class TableResult:
    """The result of a statement.

    Args:
        schema: the columns of the lines.
        rows: opens the lines; called once.
        job_client: of the job that makes them; None if there is none.
        kind: whether there are lines to show.
        wait: blocks until the job has ended, or a time has passed: then it gives False.
        tableau: how print shows the lines; None for text as it is.
    """

    def __init__(
        self,
        schema: ResolvedSchema,
        rows: Callable[[], CloseableIterator],
        *,
        job_client: JobClient | None = None,
        kind: int = ResultKind.SUCCESS_WITH_CONTENT,
        wait: Callable[[float | None], bool] | None = None,
        tableau: Tableau | None = None,
    ) -> None:
        self._schema = schema
        self._open = rows
        self._job_client = job_client
        self._kind = kind
        self._wait = wait
        self._tableau = tableau
        self._opened: CloseableIterator | None = None

    def get_job_client(self) -> JobClient | None:
        """The client of the job; None if the statement started none."""
        return self._job_client

    def wait(self, timeout_ms: int | None = None) -> None:
        """Wait until the job has ended, or for a query: until its first line is there.

        Args:
            timeout_ms: how long at most.

        Raises:
            TimeoutError: it takes longer.
        """
        if self._wait is None:
            return
        if not self._wait(None if timeout_ms is None else timeout_ms / 1000):
            raise TimeoutError(f"the job has not ended after {timeout_ms} ms")

    def get_table_schema(self) -> TableSchema:
        """The columns, in the older form."""
        return TableSchema(self._schema.get_column_names(), self._schema.get_column_data_types())

    def get_resolved_schema(self) -> ResolvedSchema:
        """The columns."""
        return self._schema

    def get_result_kind(self) -> int:
        """Whether there are lines to show."""
        return self._kind

    def collect(self) -> CloseableIterator:
        """The lines as rows, each with its kind of change; closing it ends the job.

        Example:
            >>> with table.execute().collect() as results:  # doctest: +SKIP
            ...     for row in results:
            ...         print(row)
        """
        if self._opened is None:
            self._opened = self._open()
        return self._opened

    def print(self) -> None:
        """Print the lines as a table, as the job makes them."""
        with self.collect() as rows:
            if self._tableau is None:
                for row in rows:
                    sys.stdout.write("\n".join(str(value) for value in row) + "\n")
            else:
                self._tableau.print(rows)


class KnownRows(CloseableIterator):
    """Lines that are known already."""

    def __init__(self, rows: Sequence[Row]) -> None:
        super().__init__()
        self.add(list(rows))
        self.end(None)


class ConvertedRows(CloseableIterator):
    """The lines of a job, each made a row when it is taken."""

    def __init__(self, lines: CloseableIterator, make: Callable[[Any], Row]) -> None:
        super().__init__()
        self._lines, self._make = lines, make
        self.job_client = lines.job_client

    def next(self, timeout_s: float | None = None) -> Row:
        """The next row."""
        return self._make(self._lines.next(timeout_s))

    def __iter__(self) -> Iterator[Row]:
        return self

    def close(self) -> None:
        """End the job, if it is still running."""
        self._lines.close()


def ok_result() -> TableResult:
    """The result of a statement that has nothing to show."""
    schema = ResolvedSchema.physical(["result"], [t.DataTypes.STRING()])
    return TableResult(schema, lambda: KnownRows([Row("OK")]), kind=ResultKind.SUCCESS)


def content_result(
    columns: Sequence[tuple[str, DataType]], rows: Sequence[Sequence[Any]], *, raw: bool = False
) -> TableResult:
    """The result of a statement that shows lines which are known.

    Args:
        columns: names and types.
        rows: values.
        raw: whether print shows the text as it is, without a table around it.
    """
    schema = ResolvedSchema.physical([name for name, _ in columns], [kind for _, kind in columns])
    made = [Row(*row) for row in rows]
    tableau = None if raw else Tableau.for_known(schema, made)
    return TableResult(schema, lambda: KnownRows(made), tableau=tableau)


def job_result(names: Sequence[str], job_client: JobClient) -> TableResult:
    """The result of INSERT statements: one line when the job has ended, -1 for every table."""
    schema = ResolvedSchema.physical(names, [t.DataTypes.BIGINT() for _ in names])
    rows = [Row(*(-1 for _ in names))]
    handle = job_client._job

    def wait(timeout_s: float | None) -> bool:
        if not handle.wait(timeout_s):
            return False
        if handle.error is not None:
            raise handle.error
        return True

    def opened() -> CloseableIterator:
        if not wait(None):
            raise JobError("the job has not ended")
        return KnownRows(rows)

    return TableResult(schema, opened, job_client=job_client, wait=wait)
