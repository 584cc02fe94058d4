"""Functions that ask an outside service about many records at once, and when to ask again.

In: a record.  Out: a list of results, awaited.
Next: api/functions/retrying.py for the strategies, runtime/operators/asynchronous.py calls them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from headrace.api.functions.basic import Function

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.api.functions.basic import RuntimeContext

__all__ = ["AsyncFunction", "AsyncRetryPredicate", "AsyncRetryStrategy"]

IN = TypeVar("IN")
OUT = TypeVar("OUT")


class AsyncFunction(ABC, Generic[IN, OUT]):
    """Asks an outside service about each record; many questions are under way at once.

    `open` and `close` may be plain methods, as in PyFlink, or ``async def``: then they run in the
    event loop of the requests, where clients that belong to a loop are made and closed.

    Example:
        >>> class Lookup(AsyncFunction):
        ...     async def open(self, runtime_context):
        ...         self.session = aiohttp.ClientSession()  # doctest: +SKIP
        ...     async def async_invoke(self, value):
        ...         async with self.session.get(f"{URL}/{value}") as answer:
        ...             return [await answer.text()]
    """

    def open(self, runtime_context: RuntimeContext) -> Any:
        """Called once per subtask, before any record; may be ``async``."""

    def close(self) -> Any:
        """Called once per subtask, after the last record; may be ``async``."""

    @abstractmethod
    async def async_invoke(self, value: IN) -> list[OUT]:
        """The results for a record; may await. What blocks here holds all requests up."""

    def timeout(self, value: IN) -> Any:
        """The list of results for a record that took too long; raises unless overridden.

        The request itself is cancelled. May be ``async``, as what blocks here holds all requests
        up, too.
        """
        msg = f"no answer in time for {value!r:.200}"
        raise TimeoutError(msg)


# Not a base class: mypy would hold every `async def open` against Function's plain one.
Function.register(AsyncFunction)  # type: ignore[type-abstract]


class AsyncRetryPredicate(ABC, Generic[OUT]):
    """Which answers are worth asking again."""

    @abstractmethod
    def result_predicate(self) -> Callable[[list[OUT]], bool] | None:
        """True for results to be asked for again; None if all results are fine."""

    @abstractmethod
    def exception_predicate(self) -> Callable[[Exception], bool] | None:
        """True for exceptions after which to ask again; None if none is."""


class AsyncRetryStrategy(ABC, Generic[OUT]):
    """How often to ask again, and how long to wait before that.

    One object serves all records of a subtask, so it must not remember the last delay of one.
    """

    @abstractmethod
    def can_retry(self, current_attempts: int) -> bool:
        """Whether to ask once more after that many attempts."""

    @abstractmethod
    def get_backoff_time_millis(self, current_attempts: int) -> int:
        """How long to wait after that many attempts."""

    @abstractmethod
    def get_retry_predicate(self) -> AsyncRetryPredicate[OUT]:
        """Which answers are worth asking again."""

    # Any, not OUT: nothing says which where there is no predicate, or a lambda.

    @staticmethod
    def no_restart() -> AsyncRetryStrategy[Any]:
        """Never ask again."""
        from headrace.api.functions.retrying import NO_RETRY_STRATEGY

        return NO_RETRY_STRATEGY

    @staticmethod
    def fixed_delay(
        max_attempts: int,
        backoff_time_millis: int,
        result_predicate: Callable[[list[Any]], bool] | None,
        exception_predicate: Callable[[Exception], bool] | None,
    ) -> AsyncRetryStrategy[Any]:
        """Ask again up to `max_attempts` times, with the same pause before each."""
        from headrace.api.functions.retrying import FixedDelayRetryStrategy

        return FixedDelayRetryStrategy(
            max_attempts, backoff_time_millis, result_predicate, exception_predicate
        )

    @staticmethod
    def exponential_backoff(
        max_attempts: int,
        initial_delay: int,
        max_retry_delay: int,
        multiplier: float,
        result_predicate: Callable[[list[Any]], bool] | None,
        exception_predicate: Callable[[Exception], bool] | None,
    ) -> AsyncRetryStrategy[Any]:
        """Ask again up to `max_attempts` times; the pause is multiplied from one to the next."""
        from headrace.api.functions.retrying import ExponentialBackoffDelayRetryStrategy

        return ExponentialBackoffDelayRetryStrategy(
            max_attempts,
            initial_delay,
            max_retry_delay,
            multiplier,
            result_predicate,
            exception_predicate,
        )
