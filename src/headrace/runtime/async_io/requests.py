"""The requests of one subtask: at most so many at a time, none for longer than it may take.

In: records and watermarks, from the task's thread.  Out: requests with their results and
watermarks, in the order that order.py decides.

    task's thread      put ──▶ inbox                          taken ──▶ next operators
                                 │ as far as there is room       ▲
    event loop                   └──▶ running ──▶ order ──▶ released

What the event loop's thread uses is touched by no other; the inbox and what is released are deques,
whose ends two threads may use.  Next: runtime/async_io/order.py
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from itertools import repeat
from typing import TYPE_CHECKING, Any

from headrace.runtime.async_io.order import AsyncRequest, BetweenWatermarks, InOrder, Mark

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator

    from headrace.data.records import Records
    from headrace.runtime.async_io.attempts import Attempts
    from headrace.runtime.async_io.event_loop import EventLoop
    from headrace.runtime.async_io.order import Order

# How long a request that is called off may take to notice it.
_CANCEL_S = 5.0


class Requests:
    """Asks about records in the event loop, and hands out what has come back.

    Args:
        loop: where the requests run.
        attempts: how a record is asked about.
        ordered: whether results leave in the order of their records.
        capacity: how many requests may be begun and not yet released.
        timeout_s: how long a request may take; 0 for any time.
    """

    def __init__(
        self,
        loop: EventLoop,
        attempts: Attempts,
        *,
        ordered: bool,
        capacity: int,
        timeout_s: float,
    ) -> None:
        self._loop = loop
        self._attempts = attempts
        self._make_order: type[InOrder | BetweenWatermarks] = (
            InOrder if ordered else BetweenWatermarks
        )
        self._capacity = capacity
        self._timeout_s = timeout_s
        # the first error, and the record it came from; written by the loop's thread
        self.failure: tuple[BaseException, Any] | None = None
        # put and not taken; of the task's thread
        self._under_way = 0
        self._changed = threading.Event()
        self._scheduled = False
        self._forget()

    def _forget(self) -> None:
        self._inbox: deque[AsyncRequest | Mark] = deque()
        self._released: deque[AsyncRequest | Mark] = deque()
        # from here on: of the loop's thread
        self._order: Order = self._make_order(self._released.append)
        self._running: dict[asyncio.Task[None], AsyncRequest] = {}
        self._deadlines: deque[AsyncRequest] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._awaited: Callable[[], bool] | None = None

    # --- the task's thread -----------------------------------------------------------------------

    def put(self, records: Records) -> None:
        """Ask about records; waits while more of them are held up than are asked about."""
        values, times = records.values, records.timestamps
        self._inbox.extend(map(AsyncRequest, values, repeat(None) if times is None else times))
        self._under_way += len(values)
        self._wake()
        if len(self._inbox) > self._capacity:
            self._wait(lambda: len(self._inbox) <= self._capacity)

    def put_mark(self, mark: Mark) -> None:
        """Let a watermark follow the records put so far."""
        self._inbox.append(mark)
        self._under_way += 1
        self._wake()

    def take(self) -> Iterator[AsyncRequest | Mark]:
        """What has come back and may leave."""
        released = self._released
        while released:
            self._under_way -= 1
            yield released.popleft()

    def finish(self) -> None:
        """Wait until everything has come back, or something has failed."""
        if self._under_way > len(self._released):
            self._wait(lambda: not self._inbox and self._order.size == 0)

    def cancel(self) -> None:
        """Call off what is under way."""
        if self._under_way or self._running or self._timer is not None:
            self._loop.run(self._cancel())
        self.failure = None
        self._under_way = 0

    def _wake(self) -> None:
        if not self._scheduled:  # else the loop has yet to look into the inbox
            self._scheduled = True
            self._loop.call(self._fill)

    def _wait(self, until: Callable[[], bool]) -> None:
        self._changed.clear()
        self._loop.call(self._watch, until)
        self._changed.wait()

    # --- the event loop's thread -----------------------------------------------------------------

    def _watch(self, until: Callable[[], bool]) -> None:
        self._awaited = until
        self._tell()

    def _tell(self) -> None:
        """Wake the task's thread, if what it waits for has come."""
        if self._awaited is not None and (self.failure is not None or self._awaited()):
            self._awaited = None
            self._changed.set()

    def _fill(self) -> None:
        """Begin requests as far as there is room."""
        self._scheduled = False
        inbox, order = self._inbox, self._order
        while inbox and self.failure is None:
            if isinstance(inbox[0], Mark):
                order.add_mark(inbox.popleft())  # type: ignore[arg-type]
                continue
            if order.size >= self._capacity:
                break
            request: AsyncRequest = inbox.popleft()  # type: ignore[assignment]
            order.add(request)
            self._begin(request)
        self._tell()

    def _begin(self, request: AsyncRequest) -> None:
        self._start(request, self._attempts.ask)
        if self._timeout_s > 0:
            request.deadline = self._loop.loop.time() + self._timeout_s
            self._deadlines.append(request)
            if self._timer is None:
                self._timer = self._loop.loop.call_at(request.deadline, self._expire)

    def _start(self, request: AsyncRequest, ask: Callable[[Any], Coroutine[Any, Any, Any]]) -> None:
        task = request.task = self._loop.loop.create_task(self._answer(request, ask))
        self._running[task] = request  # asyncio itself holds tasks weakly
        task.add_done_callback(self._running.pop)

    async def _answer(
        self, request: AsyncRequest, ask: Callable[[Any], Coroutine[Any, Any, Any]]
    ) -> None:
        own = request.task
        try:
            results = await ask(request.value)
        except BaseException as error:  # an exit in a coroutine would end the loop for all
            if request.task is own:
                self._fail(error, request)
            return
        if request.task is own and self.failure is None:
            request.results = results
            self._order.complete(request)
            self._drop_deadlines()
            self._fill()

    def _fail(self, error: BaseException, request: AsyncRequest) -> None:
        if self.failure is None:
            self.failure = (error, request.value)
        self._tell()

    def _drop_deadlines(self) -> None:
        deadlines = self._deadlines
        while deadlines and deadlines[0].done:
            deadlines.popleft()

    def _expire(self) -> None:
        """Requests begin in the order of their deadlines, so one timer for the first is enough."""
        self._timer = None
        self._drop_deadlines()
        now = self._loop.loop.time()
        while self._deadlines and self._deadlines[0].deadline <= now:
            request = self._deadlines.popleft()
            if not request.done:
                self._give_up(request)
        if self._deadlines:
            self._timer = self._loop.loop.call_at(self._deadlines[0].deadline, self._expire)

    def _give_up(self, request: AsyncRequest) -> None:
        given_up = request.task
        self._start(request, self._attempts.ask_late)  # from now on the answer that counts
        assert given_up is not None
        given_up.cancel()

    async def _cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        running = self._running
        self._forget()
        for task, request in running.items():
            request.task = None  # what it still gives goes nowhere
            task.cancel()
        if running:
            await asyncio.wait(list(running), timeout=_CANCEL_S)
