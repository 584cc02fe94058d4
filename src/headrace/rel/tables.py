"""What the ends of a plan know of the tables they read and write.

In: catalogs (table/catalog.py), connectors (spi/table_connector.py) and DataStreams.
Out: `TableOrigin` of a Scan, `TableTarget` of a TableInsert.  Next: rel/steps.py
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.common.changes import Changes
    from headrace.common.data_types import RowType
    from headrace.datastream.data_stream import DataStream
    from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
    from headrace.spi.table_connector import TableDefinition, TableLookup


@dataclass(frozen=True, eq=False)
class TableOrigin:
    """Where lines come from; two scans of one table hold the same object.

    Attributes:
        name: for EXPLAIN and messages, such as ``default_catalog.default_database.orders``.
        stream: makes the DataStream of its lines (RowData), once for a job.
        changes: the kinds of change it gives.
        primary_key: places of its columns; () without one.
        bounded: whether it ends.
        lookup: makes what LookupJoin asks, from the names of the key columns; None if it cannot.
        narrowed: the same with some columns only, or fields of columns, each by its names; None if
            it always gives all of them.
        definition: what the catalog knows of it; None for lines of this program.
    """

    name: str
    stream: Callable[[StreamExecutionEnvironment], DataStream]
    changes: Changes
    primary_key: tuple[int, ...] = ()
    bounded: bool = True
    lookup: Callable[[tuple[str, ...]], TableLookup] | None = None
    narrowed: Callable[[tuple[tuple[str, ...], ...]], TableOrigin] | None = None
    definition: TableDefinition | None = None


@dataclass(frozen=True, eq=False)
class TableTarget:
    """Where lines go.

    Attributes:
        name: for EXPLAIN and messages.
        accepts: the kinds of change it takes, given those that would come.
        attach: ends a DataStream of RowData.
        primary_key: places of its columns; () without one.
        options: of the table.
        row_type: of its columns as they were declared; None if it takes any.
        on_conflict: whether the statement says what happens to lines that meet in one key.
        definition: what the catalog knows of it; None if it is no table of a connector.
    """

    name: str
    accepts: Callable[[Changes], Changes]
    attach: Callable[[DataStream, Changes], object]
    primary_key: tuple[int, ...] = ()
    options: dict[str, str] = field(default_factory=dict)
    row_type: RowType | None = None
    on_conflict: bool = False
    definition: TableDefinition | None = None
