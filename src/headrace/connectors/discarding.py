"""A sink that throws records away: for benchmarks, and for jobs that act through side effects.

In: records, or lines of a table with ``'connector' = 'blackhole'``.  Out: nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from headrace.spi.connector import Connector
from headrace.spi.sink import (
    Committer,
    CommitterContext,
    Sink,
    SinkWriter,
    WriterContext,
)
from headrace.spi.table_connector import TableConnector, TableSink, option

if TYPE_CHECKING:
    from headrace.common.changes import Changes
    from headrace.common.opaque import Committable
    from headrace.spi.table_connector import TableDefinition


class DiscardingSink(Sink):
    """Takes records and does nothing with them."""

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return _Discard()

    def create_committer(self, context: CommitterContext) -> Committer:
        return _NothingToCommit()


class _Discard(SinkWriter):
    def write(self, values: list[Any], timestamps: list[int] | None) -> None:
        pass

    def write_arrow(self, batch: Any, timestamps: list[int] | None) -> bool:
        """Takes records as columns too, so that nobody decodes them for us."""
        return True

    def prepare_commit(self) -> list[Any]:
        return []

    def abort(self) -> None:
        pass


class _NothingToCommit(Committer):
    def commit(self, batch_id: int, committables: list[Committable]) -> None:
        pass


CONNECTOR = Connector("Nowhere: records are thrown away", sinks=(DiscardingSink,))


class BlackHoleTables(TableConnector):
    """``'connector' = 'blackhole'``: takes all changes, and does nothing with them."""

    name: ClassVar[str] = "blackhole"
    optional = (option("sink.parallelism", "int", doc="how many subtasks throw lines away"),)

    def summary(self) -> str:
        return "Nowhere: lines are thrown away"

    def sink(self, definition: TableDefinition) -> TableSink:
        options = self.checked(definition)
        return TableSink(DiscardingSink(), _everything, parallelism=options.get(self.optional[0]))


def _everything(changes: Changes) -> Changes:
    return changes
