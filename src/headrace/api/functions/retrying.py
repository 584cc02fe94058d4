"""When an asynchronous request is worth repeating, and after how long.

In: how many attempts there were, their results or exceptions.  Out: whether to ask again, and when.
Next: runtime/async_io/attempts.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

from headrace.api.functions.asynchronous import AsyncRetryPredicate, AsyncRetryStrategy
from headrace.errors import ArgumentTypeError, InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "NO_RETRY_STRATEGY",
    "ExponentialBackoffDelayRetryStrategy",
    "FixedDelayRetryStrategy",
    "NoRetryStrategy",
    "RetryPredicate",
    "empty_result_predicate",
    "exception_type_predicate",
    "has_exception_predicate",
]

OUT = TypeVar("OUT")


def empty_result_predicate(result: list[Any]) -> bool:
    """Ask again when there is no result."""
    return result is None or len(result) == 0


def has_exception_predicate(error: BaseException | None) -> bool:
    """Ask again after any exception."""
    return error is not None


def exception_type_predicate(
    error: BaseException | None,
    expected_error_type: type[BaseException] | tuple[type[BaseException], ...],
) -> bool:
    """Ask again after exceptions of a type; give the type with ``functools.partial``."""
    return isinstance(error, expected_error_type)


class RetryPredicate(AsyncRetryPredicate[OUT], Generic[OUT]):
    """Two functions, either of which may be None."""

    def __init__(
        self,
        result_predicate: Callable[[list[OUT]], bool] | None,
        exception_predicate: Callable[[Exception], bool] | None,
    ) -> None:
        for name, predicate in (
            ("result_predicate", result_predicate),
            ("exception_predicate", exception_predicate),
        ):
            if predicate is not None and not callable(predicate):
                raise ArgumentTypeError(
                    f"{name} expects a function or None, not {predicate!r:.60}",
                    fix=f"{name}=lambda answer: ...",
                )
        self._result_predicate = result_predicate
        self._exception_predicate = exception_predicate

    def result_predicate(self) -> Callable[[list[OUT]], bool] | None:
        """True for results to be asked for again; None if all results are fine."""
        return self._result_predicate

    def exception_predicate(self) -> Callable[[Exception], bool] | None:
        """True for exceptions after which to ask again; None if none is."""
        return self._exception_predicate


class NoRetryStrategy(AsyncRetryStrategy[OUT], Generic[OUT]):
    """The first answer counts."""

    def can_retry(self, current_attempts: int) -> bool:
        """Never."""
        return False

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        """Not asked for."""
        return -1

    def get_retry_predicate(self) -> AsyncRetryPredicate[OUT]:
        """All answers are fine."""
        return RetryPredicate(None, None)


class FixedDelayRetryStrategy(AsyncRetryStrategy[OUT], Generic[OUT]):
    """Up to `max_attempts` further attempts, each after `backoff_time_millis`."""

    def __init__(
        self,
        max_attempts: int,
        backoff_time_millis: int,
        result_predicate: Callable[[list[OUT]], bool] | None,
        exception_predicate: Callable[[Exception], bool] | None,
    ) -> None:
        _check_positive(max_attempts=max_attempts, backoff_time_millis=backoff_time_millis)
        self._max_attempts = max_attempts
        self._backoff_time_millis = backoff_time_millis
        self._predicate = RetryPredicate(result_predicate, exception_predicate)

    def can_retry(self, current_attempts: int) -> bool:
        """Whether attempts are left; the first one does not count."""
        return current_attempts <= self._max_attempts

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        """Always the same."""
        return self._backoff_time_millis

    def get_retry_predicate(self) -> AsyncRetryPredicate[OUT]:
        """Which answers are worth asking again."""
        return self._predicate


class ExponentialBackoffDelayRetryStrategy(FixedDelayRetryStrategy[OUT], Generic[OUT]):
    """Up to `max_attempts` further attempts; each pause is `multiplier` times the one before.

    The pause follows from the number of attempts alone. PyFlink's object remembers the last one of
    any record, so that records that are repeated at the same time stretch each other's pauses.
    """

    def __init__(
        self,
        max_attempts: int,
        initial_delay: int,
        max_retry_delay: int,
        multiplier: float,
        result_predicate: Callable[[list[OUT]], bool] | None,
        exception_predicate: Callable[[Exception], bool] | None,
    ) -> None:
        _check_positive(
            max_attempts=max_attempts,
            initial_delay=initial_delay,
            max_retry_delay=max_retry_delay,
            multiplier=multiplier,
        )
        super().__init__(max_attempts, initial_delay, result_predicate, exception_predicate)
        self._max_retry_delay = max_retry_delay
        self._multiplier = multiplier

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        """The initial delay after the first attempt, then more, up to the maximum."""
        # step by step: each pause is cut to whole milliseconds and to the maximum, as in Flink,
        # and a high power of the multiplier never comes about
        delay = self._backoff_time_millis
        for _ in range(current_attempts - 1):
            last, delay = delay, int(min(delay * self._multiplier, self._max_retry_delay))
            if delay == last:
                break
        return delay


def _check_positive(**arguments: float) -> None:
    for name, value in arguments.items():
        kinds = (int, float) if name == "multiplier" else int
        if not isinstance(value, kinds) or value <= 0:
            raise InvalidArgumentError(
                f"{name} of a retry strategy is greater than zero, not {value!r:.60}",
                fix=f"for instance {name}=3",
            )


NO_RETRY_STRATEGY: AsyncRetryStrategy[Any] = NoRetryStrategy()
