"""The asyncio loop of a process, in a thread of its own.

In: calls and coroutines from a task's thread.  Out: their results.
All operators of a process share one loop; the last one that lets go of it ends it.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

_END_S = 5.0


class EventLoop:
    """A running loop; `acquire` gives the process's, `release` lets go of it."""

    _shared: ClassVar[EventLoop | None] = None
    _lock: ClassVar[threading.Lock] = threading.Lock()

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._users = 0
        # a daemon: a request that never ends must not keep the process from ending
        self._thread = threading.Thread(target=self._run, name="headrace async I/O", daemon=True)
        self._thread.start()

    @classmethod
    def acquire(cls) -> EventLoop:
        """The loop of this process; started by the first who asks."""
        with cls._lock:
            if cls._shared is None:
                cls._shared = cls()
            cls._shared._users += 1
            return cls._shared

    def release(self) -> None:
        """Not needed any more by one of those who acquired it."""
        with EventLoop._lock:
            self._users -= 1
            if self._users:
                return
            EventLoop._shared = None
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(_END_S)

    def call(self, function: Callable[..., object], *arguments: Any) -> None:
        """Call a function in the loop, soon; do not wait for it."""
        self.loop.call_soon_threadsafe(function, *arguments)

    def run(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        """The result of a coroutine, which runs in the loop while this thread waits."""
        outcome: list[Any] = []
        ended = threading.Event()

        async def observed() -> None:
            try:
                outcome.append(await coroutine)
            except BaseException as error:
                outcome.extend((None, error))
            finally:
                ended.set()

        task: list[Any] = []  # asyncio itself holds tasks weakly
        self.call(lambda: task.append(self.loop.create_task(observed())))
        ended.wait()
        if len(outcome) == 2:
            raise outcome[1]
        return outcome[0]

    def settle(self, result: Any) -> Any:
        """What a method gave, awaited in the loop if it is ``async``."""
        return self.run(_awaited(result)) if inspect.isawaitable(result) else result

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        try:
            self.loop.run_forever()
            left = asyncio.all_tasks(self.loop)  # of the user's own making
            for task in left:
                task.cancel()
            if left:
                self.loop.run_until_complete(asyncio.wait(left, timeout=_END_S))
            self.loop.run_until_complete(self.loop.shutdown_asyncgens())
        finally:
            self.loop.close()


async def _awaited(result: Any) -> Any:
    return await result
