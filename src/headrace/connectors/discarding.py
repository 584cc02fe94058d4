"""A sink that throws records away: for benchmarks, and for jobs that act through side effects.

In: records.  Out: nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.spi.connector import Connector
from headrace.spi.sink import (
    Committer,
    CommitterContext,
    Sink,
    SinkWriter,
    WriterContext,
)

if TYPE_CHECKING:
    from headrace.common.opaque import Committable


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
