"""Runs a user's SinkFunction on the driver, after the batch has succeeded everywhere upstream.

In: records.  Out: calls of ``invoke``.  Next: record_chunks.py, driver_progress.py

A worker may run a batch twice, so a function that writes to the outside must not run there. On the
driver a batch comes once; only when ``invoke`` itself fails, or the driver dies in the middle, is
the batch given again, and then with the same batch id and sequence numbers.
"""

from __future__ import annotations

import inspect
import time
import traceback
from typing import TYPE_CHECKING, Any

from headrace.datastream.connectors.sink import Committer, CommitterContext, Sink, WriterContext
from headrace.datastream.functions.endpoints import SinkFunction
from headrace.errors import InvalidArgumentError, UserFunctionError
from headrace.runtime.records import MIN_TIMESTAMP
from headrace.runtime.sinks.driver_progress import DriverProgress
from headrace.runtime.sinks.record_chunks import RecordChunk, ShippingWriter, records_in_order

if TYPE_CHECKING:
    from collections.abc import Callable


class FunctionSink(Sink):
    """Calls ``invoke(value, context)`` of a SinkFunction for every record.

    Args:
        function: a ``SinkFunction``: ``open(runtime_context)``, ``invoke(value, context)``,
            ``close()``; or a function that takes the value alone.
        runtime_context: passed to ``open``.
    """

    def __init__(self, function: Any, runtime_context: Any = None) -> None:
        self._function = function
        self._runtime_context = runtime_context
        _invoker(function)

    def __getstate__(self) -> dict[str, Any]:
        # The function stays on the driver, so it may hold connections; workers need no copy.
        return {"_function": None, "_runtime_context": None}

    def create_writer(self, context: WriterContext) -> ShippingWriter:
        return ShippingWriter(context)

    def create_committer(self, context: CommitterContext) -> FunctionCommitter:
        runtime_context = self._runtime_context or DriverContext(context)
        return FunctionCommitter(self._function, runtime_context, context)


class SinkContext(SinkFunction.Context):
    """What ``invoke`` can ask about its record; valid during the call only."""

    def __init__(self, batch_id: int) -> None:
        self._batch_id = batch_id
        self._sequence = -1
        self._timestamp: int | None = None

    def advance(self, timestamp: int | None) -> None:
        """Moves on to the next record; called by the engine."""
        self._sequence += 1
        self._timestamp = timestamp

    def timestamp(self) -> int | None:
        """Event time of the record in epoch milliseconds, or None."""
        return self._timestamp

    def current_processing_time(self) -> int:
        """The clock, in epoch milliseconds."""
        return time.time_ns() // 1_000_000

    def current_watermark(self) -> int:
        """The lowest watermark there is: the driver sees records when their batch is over."""
        return MIN_TIMESTAMP

    def batch_id(self) -> int:
        """Number of the micro-batch. With `sequence` it names the record, also in a retry."""
        return self._batch_id

    def sequence(self) -> int:
        """Position of the record in its batch, from 0: subtask by subtask, in order."""
        return self._sequence


class DriverContext:
    """The runtime context of a function on the driver: one instance, however parallel the job."""

    def __init__(self, context: CommitterContext) -> None:
        self._context = context

    def get_task_name(self) -> str:
        return self._context.sink_uid

    def get_task_name_with_subtasks(self) -> str:
        return f"{self._context.sink_uid} (1/1)"

    def get_number_of_parallel_subtasks(self) -> int:
        return 1

    def get_max_number_of_parallel_subtasks(self) -> int:
        return 1

    def get_index_of_this_subtask(self) -> int:
        return 0

    def get_attempt_number(self) -> int:
        return 0

    def get_job_parameter(self, key: str, default_value: str) -> str:
        return default_value


class FunctionCommitter(Committer):
    """Opens the function, invokes it for each record of each new batch, closes it."""

    def __init__(self, function: Any, runtime_context: Any, context: CommitterContext) -> None:
        self._function = function
        self._uid = context.sink_uid
        self._invoke = _invoker(function)
        self._progress = DriverProgress(context)
        self._closed = False
        self._call("open", runtime_context)

    def commit(self, batch_id: int, committables: list[RecordChunk]) -> None:
        if self._progress.is_delivered(batch_id):
            return
        context = SinkContext(batch_id)
        for record in records_in_order(committables):
            context.advance(record.timestamp)
            try:
                self._invoke(record.value, context)
            except Exception as error:
                raise self._failure("invoke", error, record.value) from error
        self._progress.delivered(batch_id)

    def end_of_input(self) -> None:
        self._call("finish")

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._call("close")

    def _call(self, name: str, *args: Any) -> None:
        method = getattr(self._function, name, None)
        if callable(method):
            try:
                method(*args)
            except Exception as error:
                raise self._failure(name, error, None) from error

    def _failure(self, method: str, error: Exception, record: Any) -> UserFunctionError:
        name = getattr(self._function, "__name__", type(self._function).__name__)
        failure = UserFunctionError(
            f"{name}.{method} raised {type(error).__name__}: {error}",
            where=f"sink {self._uid!r}",
            fix="see the traceback below; the batch is given again, with the same batch_id() and "
            "sequence(), when the job restarts",
        )
        failure.step, failure.uid = name, self._uid
        failure.original = f"{type(error).__name__}: {error}"
        failure.record = None if method != "invoke" else repr(record)[:200]
        failure.user_traceback = "".join(traceback.format_exception(error)[-6:])
        return failure


def _invoker(function: Any) -> Callable[[Any, SinkContext], Any]:
    """The call for a record; functions that only want the value get no context."""
    invoke = getattr(function, "invoke", function)
    if not callable(invoke):
        raise InvalidArgumentError(
            f"{function!r} ({type(function).__name__}) is no sink function",
            where="add_sink",
            fix="pass a SinkFunction with invoke(value, context), or a Sink to sink_to()",
        )
    try:
        parameters = inspect.signature(invoke).parameters.values()
    except (ValueError, TypeError):  # functions written in C tell no signature
        return lambda value, _context: invoke(value)
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return invoke if len(positional) > 1 else lambda value, _context: invoke(value)
