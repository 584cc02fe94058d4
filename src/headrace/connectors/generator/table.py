"""``'connector' = 'datagen'``: made-up lines, of random values and of sequences.

In: the options of a table, Flink's.  Out: a source of lines, as columns.  Next: columns.py makes
the values, datagen.py counts and limits the rate

The same line number always gives the same values, so that a repeated batch repeats them; all but
dates and times, which are those of the clock.
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow as pa

from headrace.common.changes import Changes
from headrace.connectors.generator.columns import FieldOptions, MadeUpColumn, column_for
from headrace.connectors.generator.datagen import DataGeneratorSource, RateLimiterStrategy
from headrace.data.row_data import arrow_schema
from headrace.errors import ConfigurationError
from headrace.spi.table_connector import TableConnector, TableSource, option

if TYPE_CHECKING:
    from headrace.common.row_data_type import RowDataTypeInfo
    from headrace.spi.table_connector import TableDefinition

RATE = option("rows-per-second", "int", 10_000, "how many lines a second")
COUNT = option("number-of-rows", "int", None, "how many lines in all; endless without it")
PARALLELISM = option("scan.parallelism", "int", None, "how many subtasks make lines")
_FIELD = "fields."


class GeneratedTables(TableConnector):
    """Makes lines up."""

    name: ClassVar[str] = "datagen"
    optional = (RATE, COUNT, PARALLELISM)
    prefixes = (_FIELD,)

    def summary(self) -> str:
        return "Made-up lines: random values and sequences"

    def source(self, definition: TableDefinition) -> TableSource:
        options = self.checked(definition)
        fields = FieldOptions(definition.name, options.below(_FIELD))
        columns = [column_for(f.name, f.data_type, fields) for f in definition.columns]
        self._check_all_used(definition, fields)
        ends = [c.count for c in columns if c.count is not None]
        limit = options.get(COUNT)
        count = min([*ends, *([] if limit is None else [limit])], default=None)
        lines = definition.lines(Changes.INSERT)
        source = DataGeneratorSource.vectorized(
            LineGenerator(columns, lines),
            count,
            # a rate that nobody asked for holds no table up that ends: BATCH mode takes it at once
            *(
                ()
                if count is not None and RATE.key not in definition.options
                else (RateLimiterStrategy.per_second(options.get(RATE)),)
            ),
            type_info=lines,
        )
        return TableSource(source, parallelism=options.get(PARALLELISM))

    def _check_all_used(self, definition: TableDefinition, fields: FieldOptions) -> None:
        unused = fields.unused()
        if unused:
            near = difflib.get_close_matches(unused[0], fields.asked(), n=1)
            raise ConfigurationError(
                f"the connector 'datagen' has no option {_FIELD + unused[0]!r} for this table",
                where=f"table {definition.name}",
                fix=f"did you mean {_FIELD + near[0]!r}?"
                if near
                else f"the columns are {', '.join(definition.columns.field_names())}",
            )


class LineGenerator:
    """Columns of lines, from the numbers of the lines; travels to workers."""

    def __init__(self, columns: list[MadeUpColumn], lines: RowDataTypeInfo) -> None:
        self._columns = columns
        self._schema = arrow_schema(lines)

    def __call__(self, numbers: Any) -> pa.RecordBatch:
        arrays = [column.make(numbers) for column in self._columns]
        return pa.RecordBatch.from_arrays(arrays, schema=self._schema)
