"""A value that is there later, with PyFlink's methods, on top of Python's own futures."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Generic, TypeVar

__all__ = ["CompletableFuture"]

T = TypeVar("T")
V = TypeVar("V")


class CompletableFuture(Generic[T]):
    """A value that is there later.

    Args:
        future: where the value comes from; a fresh one, to be completed, if None.
    """

    def __init__(self, future: Future[T] | None = None) -> None:
        self._future: Future[T] = Future() if future is None else future

    @staticmethod
    def completed(value: V) -> CompletableFuture[V]:
        """A future whose value is already there."""
        future: CompletableFuture[V] = CompletableFuture()
        future.complete(value)
        return future

    def complete(self, value: T) -> None:
        """Deliver the value."""
        self._future.set_result(value)

    def complete_exceptionally(self, error: BaseException) -> None:
        """Deliver a failure."""
        self._future.set_exception(error)

    def cancel(self) -> bool:
        """Stop waiting; False if the value is already there."""
        return self._future.cancel()

    def cancelled(self) -> bool:
        """Whether the future was cancelled."""
        return self._future.cancelled()

    def done(self) -> bool:
        """Whether the value is there, or never will be."""
        return self._future.done()

    def result(self, timeout_s: float | None = None) -> T:
        """The value; waits for it, and raises what went wrong."""
        return self._future.result(timeout_s)

    def exception(self, timeout_s: float | None = None) -> BaseException | None:
        """What went wrong; None if nothing did. Waits for the end."""
        return self._future.exception(timeout_s)

    def __str__(self) -> str:
        return f"CompletableFuture({self._future})"
