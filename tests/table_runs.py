"""Runs tables of connectors on the local host: lines of one into another, or into a list."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.common import Configuration, RowKind, Types
from headrace.common.changes import Changes
from headrace.common.data_types import DataType, DataTypes, RowType
from headrace.common.row_data_type import RowDataTypeInfo
from headrace.datastream import StreamExecutionEnvironment
from headrace.rel.connected_tables import origin_of, target_of
from headrace.runtime.table.conversions import LinesToRecords
from headrace.spi.table_connector import TableDefinition

if TYPE_CHECKING:
    from headrace.datastream.data_stream import DataStream

_KINDS = tuple(RowKind)


def row_type(**columns: DataType) -> RowType:
    """The type of lines with these columns."""
    return DataTypes.ROW([DataTypes.FIELD(name, kind) for name, kind in columns.items()])


def table(connector: str, columns: RowType, *, options: Any = None, **more: Any) -> TableDefinition:
    """A table of a connector."""
    return TableDefinition("t", columns, {"connector": connector, **(options or {})}, **more)


def local_environment(parallelism: int = 1) -> StreamExecutionEnvironment:
    """An environment without Spark."""
    settings = Configuration().set_string("headrace.execution.host", "local")
    env = StreamExecutionEnvironment.get_execution_environment(settings)
    env.set_parallelism(parallelism)
    return env


def read(definition: TableDefinition, limit: int | None = None) -> list[Any]:
    """The lines of a table: tuples, or (kind, tuple) where it has changes."""
    env = local_environment()
    origin = origin_of(definition)
    lines = origin.stream(env)
    line_type = lines.get_type()
    assert isinstance(line_type, RowDataTypeInfo)
    assert line_type.changes is not origin.changes.only_inserts
    to_rows = LinesToRecords(line_type, Types.PICKLED_BYTE_ARRAY())
    rows = lines._transform("records", "Records", to_rows, Types.PICKLED_BYTE_ARRAY())
    found = rows.execute_and_collect(limit=limit) if limit else list(rows.execute_and_collect())
    if not line_type.changes:
        return [tuple(row) for row in found]
    return [(str(row.get_row_kind()), tuple(row)) for row in found]


def write(
    definition: TableDefinition,
    lines: list[tuple[Any, ...]],
    *,
    changes: Changes = Changes.INSERT,
    parallelism: int = 1,
) -> None:
    """Writes lines, the kind of each last if there are changes, into a table."""
    env = local_environment(parallelism)
    target = target_of(definition)
    taken = target.accepts(changes)
    line_type = RowDataTypeInfo(definition.written_type(), not taken.only_inserts)
    stream: DataStream = env.from_collection(lines, line_type)
    target.attach(stream, taken)
    env.execute("write")
