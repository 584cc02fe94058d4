"""``'connector' = 'print'``: the lines of a table on the driver's terminal.

In: lines.  Out: ``+I[1, a]``, with the identifier and the subtask in front as Flink has them.
Next: printing.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from headrace.common.row_data_type import RowDataTypeInfo
from headrace.connectors.driver.printing import PrintedLines, PrintSink, PrintWriter
from headrace.formats.line_text import line_text
from headrace.spi.table_connector import TableConnector, TableSink, option

if TYPE_CHECKING:
    from headrace.common.changes import Changes
    from headrace.spi.sink import WriterContext
    from headrace.spi.table_connector import TableDefinition

IDENTIFIER = option("print-identifier", doc="stands in front of every line")
TO_ERR = option("standard-error", "boolean", default=False, doc="print to stderr")
PARALLELISM = option("sink.parallelism", "int", doc="how many subtasks print")


class PrintedTables(TableConnector):
    """Prints lines."""

    name: ClassVar[str] = "print"
    optional = (IDENTIFIER, TO_ERR, PARALLELISM)

    def summary(self) -> str:
        return "Prints lines where the program was started"

    def sink(self, definition: TableDefinition) -> TableSink:
        options = self.checked(definition)
        sink = LinePrintSink(options.get(IDENTIFIER), to_err=options.get(TO_ERR))
        return TableSink(sink, _all_of_them, parallelism=options.get(PARALLELISM))


def _all_of_them(changes: Changes) -> Changes:
    return changes


class LinePrintSink(PrintSink):
    """Prints lines of SQL."""

    def create_writer(self, context: WriterContext) -> PrintWriter:
        return _LineWriter(self._sink_identifier, context)


class _LineWriter(PrintWriter):
    def __init__(self, sink_identifier: str, context: WriterContext) -> None:
        super().__init__(sink_identifier, context)
        lines = context.type_info
        assert isinstance(lines, RowDataTypeInfo)
        self._changes = lines.changes
        self._line = line_text(lines.row_type)

    def write(self, values: list[Any], timestamps: list[int] | None) -> None:
        prefix, line, changes = self._prefix, self._line, self._changes
        text = "".join(f"{prefix}{line(value, value[-1] if changes else 0)}\n" for value in values)
        if text:
            self._lines.append(PrintedLines(self._subtask, len(self._lines), text))
