"""``'connector' = 'spark'``: tables and views that Spark knows by name.

In: the options of a table.  Out: a source of lines.  Next: source.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from headrace.connectors.spark_tables.source import SparkTableSource
from headrace.spi.table_connector import TableConnector, TableSource, option

if TYPE_CHECKING:
    from headrace.spi.table_connector import TableDefinition

TABLE = option("table", doc="its name in Spark: of a table, of a view, or catalog.database.table")
STREAMING = option(
    "streaming", "boolean", default=False, doc="whether rows that come later are read, too"
)
_READER = "reader."


class SparkTables(TableConnector):
    """Reads what Spark reads."""

    name: ClassVar[str] = "spark"
    required = (TABLE,)
    optional = (STREAMING,)
    prefixes = (_READER,)

    def summary(self) -> str:
        return "Tables and views of Spark, read by Spark"

    def source(self, definition: TableDefinition) -> TableSource:
        options = self.checked(definition)
        source = SparkTableSource(
            options.get(TABLE),
            definition.columns,
            streaming=options.get(STREAMING),
            options=dict(options.below(_READER)),
        )
        return TableSource(source)
