"""Streams whose records are asked about in an outside service, many at a time.

In: a stream and an AsyncFunction.  Out: the stream of its results.
Next: runtime/operators/asynchronous.py
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from headrace.api.functions import AsyncRetryPredicate, AsyncRetryStrategy
from headrace.api.functions.retrying import NO_RETRY_STRATEGY
from headrace.common.call_site import call_site
from headrace.common.time import to_millis
from headrace.datastream.arguments import check_instance, check_methods, described
from headrace.datastream.data_stream import DataStream
from headrace.datastream.stream_builder import as_type
from headrace.errors import ArgumentTypeError, InvalidArgumentError, UnsupportedStepError
from headrace.runtime.operators.asynchronous import AsyncOperator

if TYPE_CHECKING:
    from headrace.api.functions import AsyncFunction
    from headrace.common.time import DurationLike

__all__ = ["AsyncDataStream"]


class AsyncDataStream:
    """Applies an AsyncFunction to a stream.

    All four take the same arguments:

    - ``data_stream``: the input; a keyed stream is asked about in the subtasks of its keys.
    - ``async_function``: its ``async_invoke`` gives a list of results for a record.
    - ``timeout``: how long a record may take, repetitions included; behind it
      ``async_function.timeout`` is asked for the results. Zero is no limit.
    - ``capacity``: how many records a subtask asks about at a time; when there are as many, its
      input waits.
    - ``output_type``: the type of the results; taken from type hints if not given.

    Results carry the timestamp of their record. Nothing is under way when a batch ends, so a
    restart asks again about the records of a batch that failed, and about no others.

    Example:
        >>> AsyncDataStream.unordered_wait(ds, Lookup(), Time.seconds(5))  # doctest: +SKIP
    """

    @staticmethod
    def unordered_wait(
        data_stream: DataStream,
        async_function: AsyncFunction[Any, Any],
        timeout: DurationLike,
        capacity: int = 100,
        output_type: Any = None,
    ) -> DataStream:
        """Results in the order in which they are ready, but never across a watermark."""
        return _wait(
            "unordered_wait", data_stream, async_function, timeout, None, capacity, output_type
        )

    @staticmethod
    def unordered_wait_with_retry(
        data_stream: DataStream,
        async_function: AsyncFunction[Any, Any],
        timeout: DurationLike,
        async_retry_strategy: AsyncRetryStrategy[Any],
        capacity: int = 100,
        output_type: Any = None,
    ) -> DataStream:
        """The same; answers that the strategy names are asked for again."""
        return _wait(
            "unordered_wait_with_retry",
            data_stream,
            async_function,
            timeout,
            _checked("unordered_wait_with_retry", async_retry_strategy),
            capacity,
            output_type,
        )

    @staticmethod
    def ordered_wait(
        data_stream: DataStream,
        async_function: AsyncFunction[Any, Any],
        timeout: DurationLike,
        capacity: int = 100,
        output_type: Any = None,
    ) -> DataStream:
        """Results in the order of their records."""
        return _wait(
            "ordered_wait", data_stream, async_function, timeout, None, capacity, output_type
        )

    @staticmethod
    def ordered_wait_with_retry(
        data_stream: DataStream,
        async_function: AsyncFunction[Any, Any],
        timeout: DurationLike,
        async_retry_strategy: AsyncRetryStrategy[Any],
        capacity: int = 100,
        output_type: Any = None,
    ) -> DataStream:
        """The same; answers that the strategy names are asked for again."""
        return _wait(
            "ordered_wait_with_retry",
            data_stream,
            async_function,
            timeout,
            _checked("ordered_wait_with_retry", async_retry_strategy),
            capacity,
            output_type,
        )


def _wait(
    call: str,
    stream: DataStream,
    function: AsyncFunction[Any, Any],
    timeout: DurationLike,
    retries: AsyncRetryStrategy[Any] | None,
    capacity: int,
    output_type: Any,
) -> DataStream:
    check_instance(call, stream, DataStream, f"AsyncDataStream.{call}(stream, function, timeout)")
    _check_function(call, function)
    _check_capacity(call, capacity)
    _check_mode(stream)
    operator = AsyncOperator(
        function,
        ordered=call.startswith("ordered"),
        timeout_ms=_checked_timeout(call, timeout, retries),
        capacity=capacity,
        retries=retries or NO_RETRY_STRATEGY,
    )
    return stream._transform(
        "async_wait",
        "Async Wait",
        operator,
        as_type(output_type, function, "async_invoke", elements=True),
        inferred=output_type is None,
    )


def _check_function(call: str, function: Any) -> None:
    check_methods(call, function, "AsyncFunction", "async_invoke")
    if not inspect.iscoroutinefunction(function.async_invoke):
        raise ArgumentTypeError(
            f"async_invoke of {type(function).__name__} is a plain method, so it cannot wait "
            "without holding up the other records",
            fix="declare it as: async def async_invoke(self, value)",
        )


def _check_capacity(call: str, capacity: Any) -> None:
    if not isinstance(capacity, int) or isinstance(capacity, bool):
        raise ArgumentTypeError(
            f"the capacity of {call} is a whole number, not {described(capacity)}",
            fix="capacity=100",
        )
    if capacity < 1:
        raise InvalidArgumentError(
            f"the capacity of {call} is {capacity}, so no record could be asked about",
            fix="capacity=1 for one at a time, or more",
        )


def _checked_timeout(
    call: str, timeout: DurationLike, retries: AsyncRetryStrategy[Any] | None
) -> int:
    millis = to_millis(timeout)
    if millis < 0:
        raise InvalidArgumentError(
            f"the timeout of {call} is {millis} ms, which has passed before it begins",
            fix="Time.seconds(5), or Time.seconds(0) for no limit",
        )
    if millis == 0 and retries is not None and retries is not NO_RETRY_STRATEGY:
        raise InvalidArgumentError(
            f"{call} has no timeout, so nothing bounds the time of all attempts together",
            fix="for instance Time.seconds(30)",
        )
    return millis


def _checked(call: str, strategy: AsyncRetryStrategy[Any]) -> AsyncRetryStrategy[Any]:
    example = "for instance AsyncRetryStrategy.fixed_delay(3, 100, None, has_exception_predicate)"
    check_instance(call, strategy, AsyncRetryStrategy, example)
    predicate = strategy.get_retry_predicate()
    if not isinstance(predicate, AsyncRetryPredicate):
        raise ArgumentTypeError(
            f"get_retry_predicate of {type(strategy).__name__} gives {described(predicate)}, "
            "not an AsyncRetryPredicate",
            fix="return RetryPredicate(result_predicate, exception_predicate)",
        )
    return strategy


def _check_mode(stream: DataStream) -> None:
    """Refuse PyFlink's thread mode, as PyFlink does; headrace has one mode, which is neither."""
    if stream._env._settings().get_string("python.execution-mode", "process") == "thread":
        raise UnsupportedStepError(
            "AsyncFunction is still not supported for 'thread' mode of PyFlink, which "
            "python.execution-mode asks for",
            where=call_site(),
            fix="leave python.execution-mode out: it has no effect on other steps",
        )
