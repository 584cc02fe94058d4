"""Brings records to the program that started the job: ``execute_and_collect``, tests.

In: records.  Out: one call of a driver-side function for each batch.  Next: record_chunks.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.connectors.driver.committer import DriverCommitter
from headrace.connectors.driver.record_chunks import RecordChunk, ShippingWriter, records_in_order
from headrace.spi.sink import CommitterContext, Sink, WriterContext

if TYPE_CHECKING:
    from collections.abc import Callable


class CollectSink(Sink):
    """Hands the records of each batch to a function on the driver, once.

    Args:
        deliver: called with the records of a batch, subtask by subtask; stays on the driver.
    """

    def __init__(self, deliver: Callable[[list[Any]], None]) -> None:
        self._deliver: Callable[[list[Any]], None] | None = deliver

    def __getstate__(self) -> dict[str, Any]:
        # Workers need the writer only; the function may hold a queue or a lock.
        return {"_deliver": None}

    def create_writer(self, context: WriterContext) -> ShippingWriter:
        return ShippingWriter(context)

    def create_committer(self, context: CommitterContext) -> CollectCommitter:
        assert self._deliver is not None, "the committer is made on the driver"
        return CollectCommitter(self._deliver, context)


class CollectCommitter(DriverCommitter):
    """Delivers batches to a function, which lives as long as this process."""

    def __init__(self, deliver: Callable[[list[Any]], None], context: CommitterContext) -> None:
        super().__init__(context, persistent=False)
        self._deliver = deliver

    def deliver(self, batch_id: int, committables: list[RecordChunk]) -> None:
        """Calls the function with the records."""
        self._deliver([record.value for record in records_in_order(committables)])
