"""A table of Spark's catalog as a source of lines: a description, without Spark.

In: a name and the declared columns.  Out: `SparkTableSource`.
Next: hosts/spark/sources/spark_tables.py reads it
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.common.row_data_type import RowDataTypeInfo
from headrace.spi.source import Boundedness, Obstacle, Source

if TYPE_CHECKING:
    from headrace.common.data_types import RowType
    from headrace.common.typeinfo import TypeInformation


class SparkTableSource(Source):
    """The rows of a table or view that Spark knows.

    Args:
        table: its name, such as ``catalog.database.table``.
        columns: of the table, with the types in which they are read.
        streaming: whether rows that come later are read, too.
        options: of Spark's reader.
    """

    def __init__(
        self, table: str, columns: RowType, *, streaming: bool, options: dict[str, str]
    ) -> None:
        self.table = table
        self.columns = columns
        self.streaming = streaming
        self.options = options

    def produced_type(self) -> TypeInformation:
        return RowDataTypeInfo(self.columns)

    def boundedness(self) -> Boundedness:
        return Boundedness.CONTINUOUS_UNBOUNDED if self.streaming else Boundedness.BOUNDED

    def describe(self) -> str:
        return f"SparkTableSource({self.table}, {'streaming' if self.streaming else 'once'})"

    def place_obstacle(self) -> Obstacle | None:
        """A table that is read once is copied for every job."""
        if self.streaming:
            return None
        return Obstacle(
            "is read as it is when a job starts, and copied: a position in the copy of another "
            "job is not known",
            fix="set 'streaming' = 'true', if Spark can read the table so",
        )
