"""What exactly-once sinks share: workers stage, the driver applies a batch id once, then sweeps.

In: a batch as bytes (`StagingWriter`), its parts on the driver (`OnceCommitter`).
Out: each batch applied once, and nothing left of attempts that died.  Next: io/server_calls.py

    worker   records ─▶ spool ─┬─ small ─▶ travels to the driver inside its `Staged`
                               └─ large ─▶ staged on the server, `Staged` has the place
    driver   apply_once ─▶ sweep: whatever was staged for this batch or an earlier one goes

The two halves are independent: a sink may ship its records in another way and still commit with
`OnceCommitter`, as connectors/jdbc does.
"""

from __future__ import annotations

import logging
import tempfile
from abc import abstractmethod
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

from headrace.errors import ConnectorError, StateError
from headrace.spi.sink import Committer, SinkWriter

if TYPE_CHECKING:
    from headrace.common.opaque import Committable
    from headrace.spi.sink import WriterContext

__all__ = ["OnceCommitter", "Staged", "StagingWriter"]

# What one subtask wrote travels to the driver itself when it is this small. More is staged on the
# server by the worker, so that the driver never holds much.
INLINE_BYTES = 128 << 10

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Staged:
    """What one subtask wrote in one batch.

    Attributes:
        subtask: who wrote it.
        count: how many pieces there are (rows, chunks), so that a loss is noticed.
        content: the pieces, when they are few.
        place: where on the server they are, when they are many.
    """

    subtask: int
    count: int
    content: Committable | None
    place: str | None


def _new_spool() -> IO[bytes]:
    """Where a batch waits for its end: in memory, or in a file when it is large."""
    return tempfile.SpooledTemporaryFile(max_size=INLINE_BYTES, prefix="headrace-sink-")


class StagingWriter(SinkWriter):
    """Keeps a batch in a spool until it ends; only then, and only if it is large, asks the server.

    Whole batches are sent, so a server that fails in the middle is asked again, and no
    transaction stays open while records are computed.  Subclasses write to `spool`.

    Args:
        context: the writer's place in the job.
    """

    def __init__(self, context: WriterContext) -> None:
        self.context = context
        self.spool: IO[bytes] = _new_spool()

    def prepare_commit(self) -> list[Staged]:
        """Ends the batch; one `Staged`, or none when nothing was written."""
        count = self.end_batch()
        if count == 0:
            self.spool.close()
            return []
        content = place = None
        if self.spool.tell() <= INLINE_BYTES:
            content = self.read_content()
        else:
            place = self.stage_content(count)
        self.spool.close()
        return [self.staged(count, content, place)]

    def abort(self) -> None:
        """Forgets the batch; the next commit sweeps what is already on the server."""
        self.spool.close()

    @abstractmethod
    def end_batch(self) -> int:
        """Writes what is still held to the spool; returns how many pieces there are in all."""

    def read_content(self) -> Committable:
        """The spool as it travels to the driver; its bytes, unless a subclass splits them."""
        self.spool.seek(0)
        return self.spool.read()

    @abstractmethod
    def stage_content(self, count: int) -> str:
        """Brings the spool to the server, to a place of this attempt's own; returns the place."""

    def staged(self, count: int, content: Committable | None, place: str | None) -> Staged:
        """What is reported to the driver; a subclass may add to it."""
        return Staged(self.context.subtask_index, count, content, place)


class OnceCommitter(Committer):
    """Applies every batch id once and removes what attempts left behind.

    Subclasses say how: `apply_once` records the batch id and makes the batch visible as one step,
    `remove_staged` removes leftovers.

    Args:
        where: the system it writes to, for logs and errors.
        forget: what a person deletes there so that batches count from any number, for errors.
    """

    def __init__(self, where: str, *, forget: str) -> None:
        self._where = where
        self._forget = forget

    def commit(self, batch_id: int, committables: list[Committable]) -> None:
        """Applies a batch, or finds that it is already there.

        Raises:
            StateError: a newer batch is there: the checkpoint has gone back in time.
        """
        newest = self.apply_once(batch_id, committables)
        if newest > batch_id:  # a run only ever repeats its newest batch
            raise self._gone_back(batch_id, newest)
        if newest == batch_id:
            _log.info("batch %d is already in %s; the retry is dropped", batch_id, self._where)
        self.sweep(batch_id)

    @abstractmethod
    def apply_once(self, batch_id: int, committables: list[Committable]) -> int:
        """Applies a batch unless it, or a later one, is there; finishes one that is half there.

        Returns:
            The newest batch that was there before, or -1: this batch is applied if it is newer.
        """

    @abstractmethod
    def remove_staged(self, batch_id: int) -> None:
        """Removes what any attempt staged for this batch or an earlier one."""

    def sweep(self, batch_id: int) -> None:
        """Removes leftovers; what cannot be removed now is found by the next sweep."""
        try:
            self.remove_staged(batch_id)
        except ConnectorError as error:
            # The batch is in: failing now would only bring it again.
            _log.warning("could not remove what old attempts left behind: %s", error)

    def _gone_back(self, batch_id: int, newest: int) -> StateError:
        return StateError(
            f"batch {batch_id} is older than batch {newest}, the newest in {self._where}: the "
            "job's checkpoint has gone back in time (a copy was put back, or the machine lost what "
            "was not on disk yet), and other records may have this number now",
            where=self._where,
            fix="restore the newest checkpoint, or a savepoint, whose batches are counted anew; to "
            f"go on from here, with batches {batch_id} to {newest} written a second time, delete "
            f"{self._forget}",
        )
