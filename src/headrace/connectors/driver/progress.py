"""Which batches a sink on the driver has delivered, so that none is delivered twice.

In: batch ids.  Out: delivered or not.  Used by printing.py, collect.py and
runtime/sink_function.py; file sinks keep their own record beside the files.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from urllib.parse import quote

from headrace.errors import StateError
from headrace.io.storage import Storage

if TYPE_CHECKING:
    from headrace.spi.sink import CommitterContext

# A job that is restarted within this process gets new committers; this outlives them.
_IN_THIS_PROCESS: dict[tuple[str, str], int] = {}


class DriverProgress:
    """The highest delivered batch id of one sink of one job.

    Args:
        context: of the committer; its ``state_dir``, when there is one, keeps the number across
            restarts of the driver.
        persistent: False keeps it in this process only.
    """

    def __init__(self, context: CommitterContext, *, persistent: bool = True) -> None:
        self._key = (context.job_id, context.sink_uid)
        self._path = f"sinks/{quote(context.sink_uid, safe='')}.json"
        keep = persistent and context.state_dir is not None
        self._storage = Storage.open(context.state_dir or "") if keep else None
        self._highest = max(_IN_THIS_PROCESS.get(self._key, -1), self._stored())

    def is_delivered(self, batch_id: int) -> bool:
        """Whether this batch, or a later one, has been delivered."""
        return batch_id <= self._highest

    def delivered(self, batch_id: int) -> None:
        """Notes that a batch has been delivered."""
        self._highest = batch_id
        _IN_THIS_PROCESS[self._key] = batch_id
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
