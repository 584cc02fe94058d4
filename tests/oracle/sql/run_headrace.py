"""Runs cases on headrace, in the test process, at any cut of the input into batches.

In: SqlCase.  Out: an outcome as run_pyflink.py gives it.  Next: compare.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.errors import HeadraceError
from headrace.table.rows import row_maker
from headrace.testing import LocalRunner
from oracle.sql.engine import SqlEngine, shown_change
from oracle.sql.tables import TABLES

if TYPE_CHECKING:
    from oracle.sql.model import SqlCase

ENGINE = SqlEngine("headrace")
# Flink sends a watermark behind every line of these inputs, since they lie more than 200 ms apart.
OPTIONS = {"headrace.execution.host": "local", "scan.watermark.emit.strategy": "on-event"}


def run(
    case: SqlCase,
    mode: str,
    rows: dict[str, Any] | None = None,
    *,
    cut: int | None = None,
    restarts: bool = False,
) -> dict[str, Any]:
    """The changes of a query; what headrace refuses is an outcome too.

    Args:
        case: the query.
        mode: streaming or batch.
        rows: of tables, instead of their own.
        cut: how many rows of each source a batch has; None for all.
        restarts: whether all processes are forgotten between batches.
    """
    try:
        tables = ENGINE.build(case, mode, rows, OPTIONS)
        if case.sql.lstrip().upper().startswith("INSERT"):
            tables.execute_sql(case.sql).wait()
            return {"changes": []}
        return {"changes": _changes(tables, case, _sizes(case, rows or {}, cut), restarts)}
    except HeadraceError as error:
        return {"refused": str(error)[:400]}


def _changes(
    tables: Any,
    case: SqlCase,
    sizes: list[int | None],
    restarts: bool,
) -> list[Any]:
    rel = tables.sql_query(case.sql)._rel
    stream, changes, schema = tables._planner().to_stream(rel)
    make = row_maker([field.type for field in schema], changes=not changes.only_inserts)
    found: list[Any] = []
    with LocalRunner(stream, parallelism=1) as job:
        if job.plan.batch:
            found += job.read_batch()
        else:
            for size in sizes:
                found += job.read_batch(size)
                if restarts:
                    job.restart()
            found += job.end_of_input()
    return [shown_change(make(line)) for line in found]


def _sizes(case: SqlCase, rows: dict[str, Any], cut: int | None) -> list[int | None]:
    """How many rows of each source every batch has."""
    longest = max((len(rows.get(name, TABLES[name].rows)) for name in case.tables), default=0)
    # VALUES are a source too: some lines at most.
    return [None] if cut is None else [cut] * -(-max(longest, 4) // cut)
