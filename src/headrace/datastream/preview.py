"""stream.preview(): a look at a stream that always ends.

The clock starts when Spark and its workers have: with the end of the first batch, or when the
sources turn out to have nothing for one.  Next: collecting.py
"""

from __future__ import annotations

import html
import logging
import queue
import time
from typing import TYPE_CHECKING, Any

from headrace.common.time import to_millis
from headrace.datastream.arguments import check_positive
from headrace.datastream.collecting import collect

if TYPE_CHECKING:
    from headrace.datastream.closeable_iterator import CloseableIterator
    from headrace.datastream.data_stream import DataStream

log = logging.getLogger(__name__)

_POLL_S = 0.05
# a function that hangs in the first batch must not keep a preview forever
_LONGEST_START_S = 300.0


_BATCH_MODE = (
    "in BATCH mode these results need the whole input: use RuntimeExecutionMode.STREAMING, or a "
    "smaller input"
)


class Preview(list[Any]):
    """Some records of a stream; shows itself as a table in notebooks.

    Attributes:
        stopped_because: why there are no more records, or None: there are as many as were asked
            for, or the stream has ended.
    """

    stopped_because: str | None = None

    def __repr__(self) -> str:
        note = "" if self.stopped_because is None else f"  # {self.stopped_because}"
        return f"{super().__repr__()}{note}"

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><td>{html.escape(repr(record))}</td></tr>" for record in self)
        note = "" if self.stopped_because is None else f"; {html.escape(self.stopped_because)}"
        return f"<table><tr><th>{len(self)} records{note}</th></tr>{rows}</table>"


def preview(stream: DataStream, n: int, timeout: Any) -> Preview:
    """Start a job for this stream alone, take up to `n` records, and stop it again."""
    check_positive("preview", n)
    timeout_s = to_millis(timeout) / 1000
    found = Preview()
    with collect(stream, "Preview", alone=True) as records:
        found.stopped_because = fill(found, records, n, timeout_s)
    records.wait()
    if found.stopped_because is not None:
        log.warning("preview of %r has %d of %d records: %s",
                    stream.get_name(), len(found), n, found.stopped_because)  # fmt: skip
    return found


def fill(
    found: Preview,
    records: CloseableIterator,
    n: int,
    timeout_s: float,
    longest_start_s: float | None = None,
) -> str | None:
    """Take records until there are enough; the reason if the time was over before."""
    patience_s = max(timeout_s, _LONGEST_START_S if longest_start_s is None else longest_start_s)
    latest_start = time.monotonic() + patience_s
    deadline: float | None = None
    while len(found) < n:
        try:
            found.append(records.next(timeout_s=_POLL_S))
            continue
        except StopIteration:
            return None
        except queue.Empty:
            now = time.monotonic()
        if deadline is None and records.is_warm():
            deadline = now + timeout_s
        if deadline is not None and now >= deadline:
            return f"time ran out after {timeout_s:g} s; the stream continues"
        if deadline is None and now >= latest_start:
            late = f"the first batch was not over after {patience_s:g} s"
            return f"{late}; {_BATCH_MODE}" if records.reads_all_first else late
    return None
