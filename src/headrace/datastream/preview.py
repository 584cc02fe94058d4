"""stream.preview(): a look at a stream that always ends."""

from __future__ import annotations

import html
import queue
import time
from typing import TYPE_CHECKING, Any

from headrace.common.time import to_millis

if TYPE_CHECKING:
    from headrace.datastream.data_stream import DataStream


class Preview(list[Any]):
    """Some records of a stream; shows itself as a table in notebooks."""

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><td>{html.escape(repr(record))}</td></tr>" for record in self)
        return f"<table><tr><th>{len(self)} records</th></tr>{rows}</table>"


def preview(stream: DataStream, n: int, timeout: Any) -> Preview:
    """Start a job for this stream alone, take up to `n` records, and stop it again."""
    deadline = time.monotonic() + to_millis(timeout) / 1000
    found = Preview()
    with stream._env._collect(stream, "Preview", alone=True) as records:
        while len(found) < n:
            try:
                found.append(records.next(timeout_s=max(0.0, deadline - time.monotonic())))
            except (StopIteration, queue.Empty):
                break
    records.wait()
    return found
