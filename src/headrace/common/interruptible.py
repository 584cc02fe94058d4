"""Waiting that Ctrl-C may tear apart at any moment: whoever is waited for never notices.

Python raises KeyboardInterrupt between any two calls of the main thread.  Inside of Event, Queue,
Future and Condition it can do so while their lock is held, which nobody releases then: the thread
that sets, puts or completes waits for ever, and whoever waits for that thread does, too.

Work that must not be torn apart itself, because half of it is worse than none or all, is done on a
thread: signals interrupt the main thread only, which then stops waiting.  Such is a start of Spark
or of a job: every call into a JVM that is torn apart takes its connection with it.

In: threads that wait, one of them perhaps the main thread.  Out: whether it has happened, or what
the work has returned.  For values there is queue.SimpleQueue, which is one call.
"""

from __future__ import annotations

import _thread
import contextlib
import threading
from collections import deque
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


class InterruptibleEvent:
    """As `threading.Event`, without a lock: every step is a single call of Python's own."""

    def __init__(self) -> None:
        self._happened = False
        # a closed lock for everybody who waits; one that was left behind by Ctrl-C does no harm
        self._waiting: deque[threading.Lock] = deque()

    def is_set(self) -> bool:
        """Whether it has happened."""
        return self._happened

    def set(self) -> None:
        """Let everybody go on who waits, or will."""
        self._happened = True
        while self._waiting:
            try:
                waiting = self._waiting.popleft()
            except IndexError:  # another thread sets it, too
                return
            waiting.release()

    def wait(self, timeout_s: float | None = None) -> bool:
        """Until it has happened; False if it has not after the timeout."""
        if self._happened or (timeout_s is not None and timeout_s <= 0):
            return self._happened
        closed = threading.Lock()
        closed.acquire()
        self._waiting.append(closed)
        # looked at after it was added: whoever sets it now opens this one as well
        if not self._happened:
            closed.acquire(
                timeout=-1 if timeout_s is None else min(timeout_s, threading.TIMEOUT_MAX)
            )
        with contextlib.suppress(ValueError):  # it was opened
            self._waiting.remove(closed)
        return self._happened


class UndisturbedCall(Generic[T]):
    """A call that Ctrl-C does not reach: it is made on a thread of its own.

    Args:
        call: the work.
        name: of the thread.
        unwanted: takes what the call returns when nobody waits for it any more.
    """

    def __init__(
        self, call: Callable[[], T], name: str, unwanted: Callable[[T], None] = lambda result: None
    ) -> None:
        self._call, self._name, self._unwanted = call, name, unwanted
        self._results: list[T] = []  # one, when it is done
        self._error: BaseException | None = None
        self._over = InterruptibleEvent()
        # of the one who gives up and the thread that is done, the later one finds both
        self._is_given_up = False
        self._told = threading.Lock()

    def begin(self) -> None:
        """Make the call; whoever leaves meanwhile does not wait for it."""
        # Thread.start() waits for its thread, in one of those waits that may be torn apart
        _thread.start_new_thread(self._run, ())

    def _run(self) -> None:
        threading.current_thread().name = self._name
        try:
            self._results.append(self._call())
        except BaseException as error:
            self._error = error
        self._over.set()
        self._settle()

    def wait(self, timeout_s: float | None = None) -> bool:
        """Until the call is over; False if it is not after the timeout."""
        return self._over.wait(timeout_s)

    def result(self) -> T:
        """What the call returns, or raises, when it is over.

        Raises:
            KeyboardInterrupt: the call goes on.
        """
        self._over.wait()
        if self._error is not None:
            raise self._error
        return self._results[0]

    def give_up(self) -> None:
        """Nobody waits for it any more: what it returns is unwanted."""
        self._is_given_up = True
        self._settle()

    def _settle(self) -> None:
        """Hand over what is unwanted, once."""
        if self._is_given_up and self._over.is_set() and self._told.acquire(blocking=False):
            for result in self._results:
                self._unwanted(result)


def undisturbed(call: Callable[[], T], name: str) -> T:
    """What the call returns, or raises.

    Raises:
        KeyboardInterrupt: the call goes on, and nobody hears of it.
    """
    made = UndisturbedCall(call, name)
    made.begin()
    return made.result()
