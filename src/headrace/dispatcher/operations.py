"""What takes longer than a request may: savepoints, checkpoints, stops, each with an id to ask for.

In: work to be done.  Out: an Operation, at once; its result later.  As in Flink, the answers are
kept for a while after the end, and lost with the dispatcher.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from headrace.errors import JobNotFoundError

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.common.opaque import JsonObject

Kind = Literal["savepoint", "checkpoint", "stop", "rescale", "disposal", "data set"]
_KEPT = 1000


@dataclass(slots=True)
class Operation:
    """Something asked of a job.

    Attributes:
        id: 32 hexadecimal digits; Flink's trigger id.
        job_id: whose.
        kind: what.
        started_ms: when, in epoch milliseconds.
        result: what came of it, for instance ``{"savepoint": "/data/savepoint-1"}``; None before.
        error: why it failed.
    """

    id: str
    job_id: str
    kind: Kind
    started_ms: int
    result: JsonObject | None = None
    error: BaseException | None = None

    @property
    def is_done(self) -> bool:
        """Whether it has ended, well or not."""
        return self.result is not None or self.error is not None


class Operations:
    """The operations of one dispatcher. May be called from any thread."""

    def __init__(self) -> None:
        self._all: OrderedDict[str, Operation] = OrderedDict()
        self._lock = threading.Lock()

    def begin(
        self,
        job_id: str,
        kind: Kind,
        work: Callable[[], JsonObject],
        operation_id: str | None = None,
    ) -> Operation:
        """Do the work in a thread of its own. A known id gives the operation that has it."""
        operation, is_new = self._noted(job_id, kind, operation_id)
        if is_new:
            threading.Thread(
                target=_carry_out, args=(operation, work), name=f"headrace-{kind}", daemon=True
            ).start()
        return operation

    def refuse(
        self, job_id: str, kind: Kind, error: BaseException, operation_id: str | None = None
    ) -> Operation:
        """An operation that has failed before it began. A known id gives the one that has it."""
        operation, is_new = self._noted(job_id, kind, operation_id)
        if is_new:
            operation.error = error
        return operation

    def _noted(self, job_id: str, kind: Kind, operation_id: str | None) -> tuple[Operation, bool]:
        """The operation that has an id, and whether it was made for it."""
        with self._lock:
            known = None if operation_id is None else self._all.get(operation_id)
            if known is not None:
                return known, False
            operation = Operation(
                operation_id or uuid.uuid4().hex, job_id, kind, round(time.time() * 1000)
            )
            self._all[operation.id] = operation
            while len(self._all) > _KEPT:
                self._all.popitem(last=False)
        return operation, True

    def get(self, operation_id: str, job_id: str | None = None) -> Operation:
        """One operation.

        Raises:
            JobNotFoundError: there is none with this id, or it is another job's.
        """
        with self._lock:
            found = self._all.get(operation_id)
        if found is None or (job_id is not None and found.job_id != job_id):
            raise JobNotFoundError(
                f"there is no operation {operation_id!r}",
                fix="operations are forgotten when their dispatcher ends",
            )
        return found

    def running(self, job_id: str) -> list[Operation]:
        """What is being done to a job."""
        with self._lock:
            return [o for o in self._all.values() if o.job_id == job_id and not o.is_done]


def _carry_out(operation: Operation, work: Callable[[], JsonObject]) -> None:
    try:
        operation.result = work()
    except BaseException as error:  # whoever asks is told
        operation.error = error
