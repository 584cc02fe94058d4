"""Tables of connectors as both ends of a plan.

    TableDefinition ──▶ connector ──▶ TableSource ──▶ TableOrigin of a Scan
                                  ──▶ TableSink   ──▶ TableTarget of a Sink

In: what a catalog knows of a table.  Out: `TableOrigin` and `TableTarget` (rel/tables.py), whose
streams are lines.  Next: connectors/tables.py finds connectors by name
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from headrace.common.row_data_type import RowDataTypeInfo
from headrace.connectors.collection.source import CollectionSource
from headrace.connectors.tables import connector_of
from headrace.data.line_values import to_line_value
from headrace.errors import UnsupportedStepError
from headrace.rel.tables import TableOrigin, TableTarget
from headrace.runtime.table.conversions import LinesToRecords, RecordsToLines
from headrace.spi.table_connector import TableDefinition, TableSource

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.common.changes import Changes
    from headrace.common.data_types import RowType
    from headrace.common.opaque import Record
    from headrace.datastream.data_stream import DataStream
    from headrace.datastream.data_stream_sink import DataStreamSink
    from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
    from headrace.spi.source import Source
    from headrace.spi.table_connector import TableSink

__all__ = ["elements_origin", "origin_of", "source_origin", "target_of"]


def origin_of(definition: TableDefinition) -> TableOrigin:
    """Where the lines of a table come from.

    Raises:
        ConfigurationError: the options are not those of the connector.
        UnsupportedStepError: the connector cannot be read.
    """
    return source_origin(definition, connector_of(definition).source(definition))


def source_origin(definition: TableDefinition, found: TableSource) -> TableOrigin:
    """The origin of a table whose source is known, such as the elements of `from_elements`."""
    source = found.source
    return TableOrigin(
        name=definition.name,
        stream=lambda env: _lines(env, definition, found),
        changes=found.changes,
        primary_key=definition.places(definition.primary_key),
        bounded=source is None or source.is_bounded(),
        lookup=found.lookup,
        narrowed=None if found.narrowed is None else partial(_narrowed, definition, found),
        definition=definition,
    )


def _narrowed(
    definition: TableDefinition, found: TableSource, paths: tuple[tuple[str, ...], ...]
) -> TableOrigin:
    """The origin that gives some columns only; what a key is made of may be missing."""
    assert found.narrowed is not None
    made = replace(found, source=found.narrowed(paths), narrowed=None)
    return source_origin(replace(definition, primary_key=()), made)


def elements_origin(name: str, columns: RowType, elements: Sequence[Record]) -> TableOrigin:
    """The origin of lines that stand in the program: rows, tuples, dicts or objects.

    Raises:
        TypeMismatchError: an element is not of the type.
    """
    convert = to_line_value(columns)
    assert convert is not None
    lines = RowDataTypeInfo(columns)
    source = CollectionSource([convert(element) for element in elements], lines)
    return source_origin(TableDefinition(name, columns, {}), TableSource(source))


def _lines(
    env: StreamExecutionEnvironment, definition: TableDefinition, found: TableSource
) -> DataStream:
    source = _readable(found.source, definition)
    stream = env.from_source(source, None, f"Source: {definition.name}")
    if found.parallelism is not None:
        stream.set_parallelism(found.parallelism)
    wanted = definition.lines(found.changes)
    produced = stream.get_type()
    if isinstance(produced, RowDataTypeInfo):
        return stream
    return stream._transform("lines", "Lines", RecordsToLines(produced, wanted), wanted)


def _readable(source: Source | None, definition: TableDefinition) -> Source:
    if source is not None:
        return source
    raise UnsupportedStepError(
        f"table {definition.name} can only be asked for keys",
        where=f"table {definition.name}",
        fix="join it: JOIN ... FOR SYSTEM_TIME AS OF o.proc_time",
    )


def target_of(definition: TableDefinition) -> TableTarget:
    """Where the lines of a table go.

    Raises:
        ConfigurationError: the options are not those of the connector.
        UnsupportedStepError: the connector cannot be written.
    """
    found = connector_of(definition).sink(definition)
    return TableTarget(
        name=definition.name,
        accepts=found.accepts,
        attach=lambda stream, changes: _attach(stream, changes, definition, found),
        primary_key=definition.places(definition.primary_key),
        options=dict(definition.options),
        row_type=definition.written_type(),
        definition=definition,
    )


def _attach(
    stream: DataStream, changes: Changes, definition: TableDefinition, found: TableSink
) -> DataStreamSink:
    lines = stream.get_type()
    assert isinstance(lines, RowDataTypeInfo), lines
    if found.type_info is not None:
        key = definition.places(definition.primary_key) if found.newest_only else ()
        to_records = LinesToRecords(lines, found.type_info, newest_of=key)
        stream = stream._transform("records", "Records", to_records, found.type_info)
    end = stream.sink_to(found.sink).name(f"Sink: {definition.name}")
    return end if found.parallelism is None else end.set_parallelism(found.parallelism)
