"""Drives writers and a committer as the engine does, without the engine.

In: a sink and records by subtask.  Out: calls in the engine's order, with its pickling in between.
Used by the tests of sinks.
"""

from __future__ import annotations

import itertools
import pickle
from typing import TYPE_CHECKING, Any

import cloudpickle

from headrace.datastream.connectors.sink import Committer, CommitterContext, Sink, WriterContext

if TYPE_CHECKING:
    from headrace.common.typeinfo import TypeInformation

_jobs = itertools.count()
_attempts = itertools.count()


class SinkDriver:
    """One job with one sink; `restart` is a new driver process that goes on from the checkpoint."""

    def __init__(self, sink: Sink, *, job_id: str | None = None, uid: str = "out") -> None:
        self.sink = sink
        self.job_id = job_id or f"job-{next(_jobs)}"
        self.uid = uid
        self._committer: Committer | None = None

    @property
    def committer(self) -> Committer:
        if self._committer is None:
            self._committer = self.sink.create_committer(CommitterContext(self.job_id, self.uid))
        return self._committer

    def restart(self) -> None:
        if self._committer is not None:
            self._committer.close()
        self._committer = None

    def stage(
        self,
        batch: int,
        *subtasks: list[Any],
        type_info: TypeInformation | None = None,
    ) -> list[Any]:
        """One attempt of every subtask; gives what the driver would get, last subtask first."""
        found: list[Any] = []
        for number, records in enumerate(subtasks):
            sink = pickle.loads(cloudpickle.dumps(self.sink))
            attempt = f"try-{next(_attempts)}"
            place = (number, len(subtasks), attempt, self.job_id, self.uid, batch, type_info)
            writer = sink.create_writer(WriterContext(*place))
            try:
                # In two calls, because one batch comes in several pieces.
                writer.write(records[:2], None)
                writer.write(records[2:], None)
                found = writer.prepare_commit() + found
            except BaseException:
                writer.abort()
                raise
        committables: list[Any] = pickle.loads(pickle.dumps(found))
        return committables

    def run(self, batch: int, *subtasks: list[Any], **options: Any) -> None:
        """Stages and commits a batch."""
        self.committer.commit(batch, self.stage(batch, *subtasks, **options))
