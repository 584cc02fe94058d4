"""What a case is: tables with their rows, and a query over them.

In: cases/.  Out: engine.py builds it on either engine.  Standard library only.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

# How far the order of the changes is defined, with one subtask:
#   rows    all of them, in order                 one source, no timers
#   bag     each change as often                  timers fire for several keys at one time
#   table   what is left in the end               two sources, which race in Flink
Compare = Literal["rows", "bag", "table"]


@dataclass(frozen=True)
class SqlTable:
    """A table; with `changes` each row begins with its kind.

    New rows (fresh.py) have any values of a column's type, or those of `fresh`; with `in_order`
    they come in the order of time.
    """

    columns: dict[str, str]
    rows: tuple[tuple[Any, ...], ...]
    rowtime: str | None = None
    delay: str = "INTERVAL '2' SECOND"
    proctime: str | None = None
    key: tuple[str, ...] = ()
    changes: bool = False
    upsert: bool = False
    fresh: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    in_order: bool = False


@dataclass(frozen=True)
class SqlCase:
    """A query.

    Args:
        name: of the case, in all groups.
        sql: the query, or an INSERT that must be refused.
        tables: names in tables.py.
        compare: how far the order is defined.
        setup: statements to execute before.
        options: of the session.
        modes: in which modes to run.
        ordered: whether the order of the BATCH result is defined.
        refused: whether both must refuse it.
        cut: whether a cut of the input into batches may not change the changelog.
    """

    name: str
    sql: str
    tables: tuple[str, ...] = ("orders",)
    compare: Compare = "rows"
    setup: tuple[str, ...] = ()
    options: dict[str, str] = field(default_factory=dict)
    modes: tuple[str, ...] = ("streaming", "batch")
    ordered: bool = False
    refused: bool = False
