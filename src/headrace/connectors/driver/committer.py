"""Commits batches whose effect happens on the driver, each once: printing, collecting, functions.

In: what writers sent.  Out: one call of `deliver` for each batch id.  The newest one is kept in the
process and, if the job has a directory, there: a repeated batch is not delivered again.
Next: spi/staging.py
"""

from __future__ import annotations

import json
from abc import abstractmethod
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from headrace.errors import StateError
from headrace.io.storage import Storage
from headrace.spi.staging import OnceCommitter

if TYPE_CHECKING:
    from headrace.spi.sink import CommitterContext

__all__ = ["DriverCommitter", "forget_deliveries"]

# A job that is restarted within this process gets new committers; this outlives them.
_IN_THIS_PROCESS: dict[tuple[str, str], int] = {}


def forget_deliveries() -> None:
    """As a new process begins: only what is stored tells which batches are delivered."""
    _IN_THIS_PROCESS.clear()


class DriverCommitter(OnceCommitter):
    """Delivers every batch id once.  Subclasses say how; nothing is staged for them.

    Should the driver die between the delivery and its record, the batch is delivered once more.

    Args:
        context: its ``state_dir``, when there is one, keeps the newest batch across restarts of the
            driver.
        persistent: False keeps it in this process only.
    """

    def __init__(self, context: CommitterContext, *, persistent: bool = True) -> None:
        self._key = (context.job_id, context.sink_uid)
        self._path = f"sinks/{quote(context.sink_uid, safe='')}.json"
        keep = persistent and context.state_dir is not None
        self._storage = Storage.open(context.state_dir or "") if keep else None
        super().__init__(
            f"what sink {context.sink_uid!r} has delivered", forget=f"{self._storage}/{self._path}"
        )
        self._newest = max(_IN_THIS_PROCESS.get(self._key, -1), self._stored())

    def apply_once(self, batch_id: int, committables: list[Any]) -> int:
        """Delivers a batch, unless it or a later one has been."""
        newest = self._newest
        if batch_id > newest:
            self.deliver(batch_id, committables)
            self._note(batch_id)
        return newest

    @abstractmethod
    def deliver(self, batch_id: int, committables: list[Any]) -> None:
        """Does what the sink is there for; a batch for which it raises comes again."""

    def remove_staged(self, batch_id: int) -> None:
        """Nothing: what writers made has travelled to the driver."""

    def _note(self, batch_id: int) -> None:
        self._newest = _IN_THIS_PROCESS[self._key] = batch_id
        if self._storage is not None:
            content = json.dumps({"job_id": self._key[0], "batch_id": batch_id})
            self._storage.write_atomic(self._path, content.encode())

    def _stored(self) -> int:
        if self._storage is None or not self._storage.exists(self._path):
            return -1
        try:
            stored = json.loads(self._storage.read(self._path))
            # Another job's batches say nothing about ours: a copied checkpoint, for example.
            return int(stored["batch_id"]) if stored["job_id"] == self._key[0] else -1
        except (ValueError, KeyError, TypeError) as error:
            raise StateError(
                f"the progress of sink {self._key[1]!r} cannot be read: {error}",
                where=f"{self._storage}/{self._path}",
                fix="delete the file; the last batch may then be delivered a second time",
            ) from error
