"""Records of a running job, one at a time; closing it cancels the job."""

from __future__ import annotations

import queue
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_END = object()


class CloseableIterator:
    """Iterates over records as their batches are committed.

    Use it as a context manager, or call ``close``, to end the job early.
    """

    def __init__(self) -> None:
        # the simple one: of the other, Ctrl-C may leave the lock behind (common/interruptible.py)
        self._queue: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._cancel: Callable[[], None] = lambda: None
        self._error: BaseException | None = None
        # the client of the job that fills this iterator
        self.job_client: Any = None
        # blocks until the job has ended and cleaned up
        self.wait: Callable[[], None] = lambda: None
        # whether Spark has started, and the first batch is over or there is nothing for one
        self.is_warm: Callable[[], bool] = lambda: True
        # BATCH mode: no record before the whole input was read
        self.reads_all_first = False
        self._over = False

    def add(self, records: list[Any]) -> None:
        """Called by the collecting sink: records of a committed batch."""
        for record in records:
            self._queue.put(record)

    def end(self, error: BaseException | None) -> None:
        """Called when the job has ended."""
        self._error = error
        self._queue.put(_END)

    def on_close(self, cancel: Callable[[], None]) -> None:
        """What ends the job."""
        self._cancel = cancel

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        return self.next()

    def next(self, timeout_s: float | None = None) -> Any:
        """The next record; raises StopIteration at the end, or the job's error."""
        if self._over:
            raise StopIteration
        try:
            record = self._queue.get(timeout=timeout_s)
        except KeyboardInterrupt:
            self.close()  # Ctrl-C ends the job, as it does in execute()
            raise
        if record is _END:
            self._over = True
            if self._error is not None:
                raise self._error
            raise StopIteration
        return record

    def close(self) -> None:
        """End the job, if it is still running."""
        self._cancel()

    def __enter__(self) -> CloseableIterator:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()
