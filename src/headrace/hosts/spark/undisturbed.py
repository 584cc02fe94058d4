"""Work that Ctrl-C must not tear apart: it goes on, and only the caller stops waiting for it.

A start of Spark that is torn apart takes away what its JVM needs next, and the JVM ends with a
traceback; Spark's context is then neither there nor not there.  pyspark, too, has Ctrl-C cancel
whatever Spark does for this process where its context is made by the main thread: here only what
the user waits for ends.

In: a start (session.py).  Out: what it returns or raises.
"""

from __future__ import annotations

import threading
from concurrent.futures import Future
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")
_one_at_a_time = threading.Lock()


def untouched_by_ctrl_c(work: Callable[[], T]) -> T:
    """What the work returns; it runs on a thread, and signals interrupt the main thread only.

    Raises:
        KeyboardInterrupt: the work goes on; what is asked for next waits until it is done.
    """
    outcome: Future[T] = Future()
    # a daemon: whoever leaves meanwhile does not wait, and the JVM ends with its standard input
    threading.Thread(
        target=_do, args=(work, outcome), name="headrace-spark-start", daemon=True
    ).start()
    return outcome.result()


def _do(work: Callable[[], T], outcome: Future[T]) -> None:
    with _one_at_a_time:
        try:
            outcome.set_result(work())
        except BaseException as error:
            outcome.set_exception(error)
