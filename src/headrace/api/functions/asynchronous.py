"""Functions that wait for an outside answer for many records at once, and how to try again.

They are declared, and refused when they are used: AsyncDataStream is not there yet.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Generic, TypeVar

from headrace.api.functions.basic import Function
from headrace.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["AsyncFunction", "AsyncRetryPredicate", "AsyncRetryStrategy"]

IN = TypeVar("IN")
OUT = TypeVar("OUT")


class AsyncFunction(Function, Generic[IN, OUT]):
    """Asks an outside service about each record; many questions are under way at once."""

    @abstractmethod
    async def async_invoke(self, value: IN) -> list[OUT]:
        """The records to emit; may await."""

    def timeout(self, value: IN) -> list[OUT]:
        """What to emit when the answer took too long; raises unless overridden."""
        msg = f"no answer in time for {value!r}"
        raise TimeoutError(msg)


class AsyncRetryPredicate(ABC, Generic[OUT]):
    """Which answers are worth asking again."""

    @abstractmethod
    def result_predicate(self) -> Callable[[list[OUT]], bool] | None:
        """True for results to be asked for again; None if all results are fine."""

    @abstractmethod
    def exception_predicate(self) -> Callable[[Exception], bool] | None:
        """True for exceptions after which to ask again; None if none is."""


class AsyncRetryStrategy(ABC, Generic[OUT]):
    """How often to ask again, and how long to wait before that."""

    @abstractmethod
    def can_retry(self, current_attempts: int) -> bool:
        """Whether to ask once more after that many attempts."""

    @abstractmethod
    def get_backoff_time_millis(self, current_attempts: int) -> int:
        """How long to wait before the next attempt."""

    @abstractmethod
    def get_retry_predicate(self) -> AsyncRetryPredicate[OUT]:
        """Which answers are worth asking again."""

    @staticmethod
    def no_restart() -> AsyncRetryStrategy[OUT]:
        """Never ask again."""
        return _Retries(1, 0, 0, 1.0, _Predicate(None, None))

    @staticmethod
    def fixed_delay(
        max_attempts: int,
        backoff_time_millis: int,
        result_predicate: Callable[[list[OUT]], bool] | None,
        exception_predicate: Callable[[Exception], bool] | None,
    ) -> AsyncRetryStrategy[OUT]:
        """Ask up to that many times in all, with the same pause in between."""
        predicate = _Predicate(result_predicate, exception_predicate)
        return _Retries(max_attempts, backoff_time_millis, backoff_time_millis, 1.0, predicate)

    @staticmethod
    def exponential_backoff(
        max_attempts: int,
        initial_delay: int,
        max_retry_delay: int,
        multiplier: float,
        result_predicate: Callable[[list[OUT]], bool] | None,
        exception_predicate: Callable[[Exception], bool] | None,
    ) -> AsyncRetryStrategy[OUT]:
        """Ask up to that many times in all; the pause grows from time to time."""
        predicate = _Predicate(result_predicate, exception_predicate)
        return _Retries(max_attempts, initial_delay, max_retry_delay, multiplier, predicate)


class _Predicate(AsyncRetryPredicate[OUT]):
    def __init__(
        self,
        result_predicate: Callable[[list[OUT]], bool] | None,
        exception_predicate: Callable[[Exception], bool] | None,
    ) -> None:
        self._result_predicate = result_predicate
        self._exception_predicate = exception_predicate

    def result_predicate(self) -> Callable[[list[OUT]], bool] | None:
        return self._result_predicate

    def exception_predicate(self) -> Callable[[Exception], bool] | None:
        return self._exception_predicate


class _Retries(AsyncRetryStrategy[OUT]):
    """All three strategies: a fixed delay is a backoff that does not grow."""

    def __init__(
        self,
        max_attempts: int,
        initial_delay: int,
        max_delay: int,
        multiplier: float,
        predicate: AsyncRetryPredicate[OUT],
    ) -> None:
        if max_attempts < 1 or initial_delay < 0 or max_delay < initial_delay or multiplier < 1:
            raise InvalidArgumentError(
                f"retries need max_attempts >= 1, delays >= 0 that do not shrink and a multiplier "
                f">= 1, not {max_attempts}, {initial_delay}..{max_delay} ms and {multiplier}"
            )
        self._max_attempts = max_attempts
        self._initial_delay = initial_delay
        self._max_delay = max_delay
        self._multiplier = multiplier
        self._predicate = predicate

    def can_retry(self, current_attempts: int) -> bool:
        return current_attempts < self._max_attempts

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        grown = self._initial_delay * self._multiplier ** max(0, current_attempts - 1)
        return min(self._max_delay, int(grown))

    def get_retry_predicate(self) -> AsyncRetryPredicate[OUT]:
        return self._predicate
