"""Runs a user's SinkFunction on the driver, after the batch has succeeded everywhere upstream.

In: records.  Out: calls of ``invoke``.  Next: connectors/driver/record_chunks.py

A worker may run a batch twice, so a function that writes to the outside must not run there. On the
driver a batch comes once; only when ``invoke`` itself fails, or the driver dies in the middle, is
the batch given again, and then with the same batch id and sequence numbers.
"""

from __future__ import annotations

import inspect
import traceback
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, cast

from headrace.api.functions.endpoints import SinkFunction
from headrace.common.clock import wall_clock
from headrace.connectors.driver.committer import DriverCommitter
from headrace.connectors.driver.record_chunks import RecordChunk, ShippingWriter, records_in_order
from headrace.data.records import MIN_TIMESTAMP
from headrace.errors import InvalidArgumentError, UserFunctionError
from headrace.runtime.metrics import OperatorMetrics
from headrace.runtime.runtime_context import SubtaskContext
from headrace.spi.sink import CommitterContext, Sink, WriterContext

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.common.opaque import UserFunction
    from headrace.runtime.operators.base import OperatorRuntime


class FunctionSink(Sink):
    """Calls ``invoke(value, context)`` of a SinkFunction for every record.

    Args:
        function: a ``SinkFunction``: ``open(runtime_context)``, ``invoke(value, context)``,
            ``close()``; or a function that takes the value alone.
        job_parameters: what the function can ask its runtime context for.
    """

    acts_at_once: ClassVar[bool] = True

    def __init__(
        self, function: UserFunction, job_parameters: dict[str, str] | None = None
    ) -> None:
        self._function = function
        self._job_parameters = job_parameters or {}
        _invoker(function)

    def __getstate__(self) -> dict[str, Any]:
        # The function stays on the driver, so it may hold connections; workers need no copy.
        return {"_function": None, "_job_parameters": {}}

    def create_writer(self, context: WriterContext) -> ShippingWriter:
        return ShippingWriter(context)

    def create_committer(self, context: CommitterContext) -> FunctionCommitter:
        place = _DriverPlace(context.sink_uid, self._job_parameters)
        return FunctionCommitter(self._function, place, context)


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
        return wall_clock()

    def current_watermark(self) -> int:
        """The lowest watermark there is: the driver sees records when their batch is over."""
        return MIN_TIMESTAMP

    def batch_id(self) -> int:
        """Number of the micro-batch. With `sequence` it names the record, also in a retry."""
        return self._batch_id

    def sequence(self) -> int:
        """Position of the record in its batch, from 0: subtask by subtask, in order."""
        return self._sequence


@dataclass
class _DriverPlace:
    """Stands in for an operator's runtime: one instance, however parallel the job."""

    name: str
    job_parameters: dict[str, str]
    parallelism: int = 1
    max_parallelism: int = 1
    subtask: int = 0
    metrics: OperatorMetrics = field(default_factory=OperatorMetrics)


class FunctionCommitter(DriverCommitter):
    """Opens the function, invokes it for each record of each new batch, closes it.

    Attributes:
        metrics: what the function counted through its runtime context.
    """

    def __init__(
        self, function: UserFunction, place: _DriverPlace, context: CommitterContext
    ) -> None:
        super().__init__(context)
        self.metrics = place.metrics
        self._function = function
        self._uid = context.sink_uid
        self._invoke = _invoker(function)
        self._closed = False
        self._call("open", SubtaskContext(cast("OperatorRuntime", place), None))

    def deliver(self, batch_id: int, committables: list[RecordChunk]) -> None:
        """Calls ``invoke`` for each record."""
        context = SinkContext(batch_id)
        for record in records_in_order(committables):
            context.advance(record.timestamp)
            try:
                self._invoke(record.value, context)
            except Exception as error:
                raise self._failure("invoke", error, record.value) from error

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
            fix="see its traceback; the batch is delivered again, with the same batch_id() "
            "and sequence(), when the job restarts",
        )
        failure.step, failure.uid = name, self._uid
        failure.original = f"{type(error).__name__}: {error}"
        failure.record = None if method != "invoke" else repr(record)[:200]
        failure.user_traceback = "".join(traceback.format_exception(error)[-6:])
        return failure


def _invoker(function: UserFunction) -> Callable[[Any, SinkContext], Any]:
    """The call for a record; functions that only want the value get no context."""
    invoke = getattr(function, "invoke", function)
    if not callable(invoke):
        raise InvalidArgumentError(
            f"{function!r} ({type(function).__name__}) is not a sink function",
            where="add_sink",
            fix="pass a SinkFunction with invoke(value, context), or a Sink to sink_to()",
        )
    try:
        parameters = inspect.signature(invoke).parameters.values()
    except (ValueError, TypeError):  # functions written in C tell no signature
        return lambda value, _context: invoke(value)
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return invoke if len(positional) > 1 else lambda value, _context: invoke(value)
