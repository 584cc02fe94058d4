"""A driver that only answers questions: for what REST asks of a job that nobody runs."""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING

from headrace.common.clock import wall_clock
from headrace.control.registry import JobRecord
from headrace.control.requests import Inbox
from headrace.io.processes import this_process

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from headrace.common.opaque import JsonObject
    from headrace.control.registry import JobRegistry

_POLL_S = 0.02


@contextlib.contextmanager
def answering_driver(
    registry: JobRegistry, job_id: str, answers: Mapping[str, Callable[[JsonObject], JsonObject]]
) -> Iterator[None]:
    """Answer by the action that is asked for, until the block is left."""
    me, now = this_process(), wall_clock()
    registry.write(JobRecord(job_id, "orders", "RUNNING", me.host, me.pid, me.born, now, now))
    inbox, over = Inbox(registry.requests_of(job_id)), threading.Event()

    def answer_all() -> None:
        while not over.wait(_POLL_S):
            for request in inbox.take():
                inbox.answer(request, answers[request.action](request.arguments))

    answering = threading.Thread(target=answer_all, name="answering-driver")
    answering.start()
    try:
        yield
    finally:
        over.set()
        answering.join()
        registry.forget(job_id)
