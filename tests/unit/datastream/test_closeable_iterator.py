"""Records of a running job, and what ends it."""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import threading

import pytest

from headrace.datastream.closeable_iterator import CloseableIterator
from interrupting import interrupted_everywhere

PATIENCE_S = 20.0


def test_an_interrupt_while_waiting_for_records_ends_the_job() -> None:
    cancelled: list[bool] = []
    records = CloseableIterator()
    records.on_close(lambda: cancelled.append(True))
    threading.Timer(0.2, os.kill, [os.getpid(), signal.SIGINT]).start()
    with pytest.raises(KeyboardInterrupt):
        next(records)
    assert cancelled == [True]


def test_an_interrupt_at_any_moment_keeps_no_batch_from_adding_its_records() -> None:
    opened: list[CloseableIterator] = []

    def take() -> None:
        opened.append(CloseableIterator())
        with contextlib.suppress(queue.Empty):
            opened[-1].next(timeout_s=0.001)

    for step in interrupted_everywhere(take):
        if opened:
            batch = threading.Thread(target=opened[-1].add, args=([1],), daemon=True)
            batch.start()
            batch.join(PATIENCE_S)
            assert not batch.is_alive(), f"the batch waits for ever, interrupted at step {step}"
            assert opened[-1].next(timeout_s=PATIENCE_S) == 1
