"""Where the driver keeps what it decided about the newest batch.

In: a `Decision` (transactions.py).  Out: the same after a crash.  One small file in the directory
that lives and dies with the job's checkpoint; for a job without one, the memory of the driver,
because such a job restarts only there.  Next: committer.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.connectors.kafka.transactions import Decision, short_hash
from headrace.io.storage import Storage

if TYPE_CHECKING:
    from headrace.spi.sink import CommitterContext

_memory: dict[tuple[str, str], bytes] = {}


class DecisionLog:
    """The newest decision of one sink of one job.

    Args:
        context: of the sink.
    """

    def __init__(self, context: CommitterContext) -> None:
        self._key = context.job_id, context.sink_uid
        # With the job: one that starts its batches at 0 again must not find those of another.
        self._file = f"kafka-transactions-{short_hash(context.job_id)}.json"
        self._storage = None if context.state_dir is None else Storage.open(context.state_dir)
        self.where = (
            f"the driver's memory, sink {context.sink_uid!r}"
            if context.state_dir is None
            else f"{context.state_dir}/{self._file}"
        )

    def read(self) -> Decision | None:
        """The newest decision, if there is one."""
        if self._storage is None:
            content = _memory.get(self._key)
        else:
            exists = self._storage.exists(self._file)
            content = self._storage.read(self._file) if exists else None
        return None if content is None else Decision.from_json(content, self.where)

    def write(self, decision: Decision) -> None:
        """Stores a decision for good, in place of the one before."""
        if self._storage is None:
            _memory[self._key] = decision.to_json()
        else:
            self._storage.write_atomic(self._file, decision.to_json())
