"""Asks an outside service about each record: AsyncDataStream's operator.

Results leave in the task's thread, whenever the operator is called.  A batch ends when all requests
have come back, so there is nothing to remember: a batch that runs again asks again.
Next: runtime/async_io/requests.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.runtime.async_io.attempts import Attempts
from headrace.runtime.async_io.event_loop import EventLoop
from headrace.runtime.async_io.order import Mark
from headrace.runtime.async_io.requests import Requests
from headrace.runtime.operators.base import Operator, OperatorRuntime
from headrace.runtime.operators.process import ProcessOutput
from headrace.runtime.runtime_context import SubtaskContext

if TYPE_CHECKING:
    from headrace.api.functions import AsyncRetryStrategy
    from headrace.data.records import Records


class AsyncOperator(Operator):
    """An AsyncFunction.

    Args:
        function: the user's.
        ordered: whether results leave in the order of their records.
        timeout_ms: how long a record may take, all attempts together; 0 for any time.
        capacity: how many records are asked about at a time.
        retries: which answers are asked for again.
    """

    asks_outside = True

    def __init__(
        self,
        function: Any,
        *,
        ordered: bool,
        timeout_ms: int,
        capacity: int,
        retries: AsyncRetryStrategy[Any],
    ) -> None:
        self.function = function
        self.ordered = ordered
        self.timeout_ms = timeout_ms
        self.capacity = capacity
        self.retries = retries

    def open(self, runtime: OperatorRuntime) -> None:
        super().open(runtime)
        self._loop = EventLoop.acquire()
        self._requests = Requests(
            self._loop,
            Attempts(self.function, self.retries),
            ordered=self.ordered,
            capacity=self.capacity,
            timeout_s=self.timeout_ms / 1000,
        )
        try:
            self._call_user("open", SubtaskContext(runtime, None))
        except Exception as error:
            self._loop.release()
            raise self.failed(error) from error

    def _call_user(self, method: str, *arguments: Any) -> None:
        """A method that may be missing, plain, or ``async``: then it runs in the loop."""
        called = getattr(self.function, method, None)
        if callable(called):
            self._loop.settle(called(*arguments))

    def process(self, records: Records, input: int) -> None:  # noqa: A002
        self._requests.put(records)
        self._emit()

    def watermark(self, timestamp: int, input: int) -> None:  # noqa: A002
        """A watermark waits for the records in front of it, not for those behind."""
        if timestamp > self.current_watermark:
            self.current_watermark = timestamp
            self.pass_watermark(timestamp)

    def pass_watermark(self, timestamp: int) -> None:
        self._requests.put_mark(Mark(timestamp, self.runtime.channel.name))
        self._emit()

    def hand_on(self) -> None:
        self._emit()

    def end_of_part(self) -> None:
        self._requests.finish()
        self._emit()

    def flush(self) -> None:
        # timers in front of this operator may have fired behind the end of the input
        self.end_of_part()

    def _emit(self) -> None:
        """Hand on what has come back; raise what has failed."""
        if self._requests.failure is not None:
            raise self._failed(*self._requests.failure)
        out = ProcessOutput(self.output)
        for item in self._requests.take():
            if isinstance(item, Mark):
                out.flush()
                self._emit_watermark(item)
            else:
                out.extend(item.results, item.timestamp)
        out.flush()

    def _emit_watermark(self, mark: Mark) -> None:
        channel = self.runtime.channel
        own, channel.name = channel.name, mark.channel
        self.output.watermark(mark.timestamp)
        channel.name = own

    def _failed(self, error: BaseException, record: Any) -> Exception:
        self._requests.cancel()
        if not isinstance(error, Exception):  # a coroutine that was cancelled, or wants to exit
            left = RuntimeError(f"left by {type(error).__name__} {error}".rstrip())
            left.__cause__, error = error, left.with_traceback(error.__traceback__)
        return self.failed(error, record)

    def begin_batch(self) -> None:
        self.abandon_batch()

    def abandon_batch(self) -> None:
        self._requests.cancel()

    def close(self) -> None:
        self._requests.cancel()
        try:
            self._call_user("close")
        finally:
            self._loop.release()
