"""Asks the user's function, and asks again where its retry strategy says so.

In: a record.  Out: the list of its results, or the exception that ends the job.
Next: api/functions/retrying.py
"""

from __future__ import annotations

import asyncio
import inspect
from typing import TYPE_CHECKING, Any

from headrace.api.functions import AsyncFunction
from headrace.errors import UserFunctionError

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.api.functions import AsyncRetryStrategy


class Attempts:
    """The calls of one AsyncFunction; they run in the event loop."""

    def __init__(
        self, function: AsyncFunction[Any, Any], strategy: AsyncRetryStrategy[Any]
    ) -> None:
        self._function = function
        self._strategy = strategy
        predicate = strategy.get_retry_predicate()
        self._bad_result = predicate.result_predicate()
        self._bad_error = predicate.exception_predicate()
        retries = self._bad_result is not None or self._bad_error is not None
        self.ask: Callable[[Any], Any] = self._ask_again if retries else self._ask_once

    async def _ask_once(self, value: Any) -> list[Any]:
        return as_list(await self._function.async_invoke(value), "async_invoke")

    async def _ask_again(self, value: Any) -> list[Any]:
        attempts, can_retry = 1, self._strategy.can_retry
        while True:
            try:
                results = await self._function.async_invoke(value)
            except Exception as error:
                if self._bad_error is None or not self._bad_error(error) or not can_retry(attempts):
                    raise
            else:
                if not self._is_bad(results) or not can_retry(attempts):
                    return as_list(results, "async_invoke")
            await asyncio.sleep(self._strategy.get_backoff_time_millis(attempts) / 1000)
            attempts += 1

    def _is_bad(self, results: Any) -> bool:
        return (
            results is not None and self._bad_result is not None and bool(self._bad_result(results))
        )

    async def ask_late(self, value: Any) -> list[Any]:
        """The results for a record whose time is over; `timeout` may be ``async``."""
        try:
            results: Any = self._function.timeout(value)
        except TimeoutError as error:
            if getattr(type(self._function), "timeout", None) is AsyncFunction.timeout:
                raise _no_answer(error) from error
            raise
        if inspect.isawaitable(results):
            results = await results
        return as_list(results, "timeout")


def _no_answer(error: TimeoutError) -> UserFunctionError:
    """The error of a function that does not say what to do when time is over."""
    told = UserFunctionError(
        "no answer came within the timeout",
        fix="allow more time, or write timeout(self, value), which returns what to put out then",
    )
    told.original = f"TimeoutError: {error}"
    return told


def as_list(results: Any, method: str) -> list[Any]:
    """The results of a call; an error that says what it returned, if that is no list."""
    if hasattr(results, "__iter__"):
        return list(results)
    # The first sentence is Flink's, so that those who look for it find it.
    if results is None:
        raise UserFunctionError(
            f"The result of AsyncFunction cannot be none: {method} returned None",
            fix="return a list of results: an empty one for no results",
        )
    shown = f"{results!r:.200} ({type(results).__name__})"
    raise UserFunctionError(
        f"The result of AsyncFunction should be of list type: {method} returned {shown}",
        fix="return a list of results: of one, if there is one",
    )
