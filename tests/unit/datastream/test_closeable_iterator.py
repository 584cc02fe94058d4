"""Records of a running job, and what ends it."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from headrace.datastream.closeable_iterator import CloseableIterator


def test_an_interrupt_while_waiting_for_records_ends_the_job() -> None:
    cancelled: list[bool] = []
    records = CloseableIterator()
    records.on_close(lambda: cancelled.append(True))
    threading.Timer(0.2, os.kill, [os.getpid(), signal.SIGINT]).start()
    with pytest.raises(KeyboardInterrupt):
        next(records)
    assert cancelled == [True]
