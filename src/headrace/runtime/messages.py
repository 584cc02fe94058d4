"""What tasks of an epoch told the driver: errors, counts, states, splits, what sinks staged.

In: packets of the last stage.  Out: EpochResults (spi/host.py).  Next: control/attempt.py acts on
them
"""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any

from headrace.data.records import MAX_TIMESTAMP
from headrace.errors import JobError
from headrace.runtime.exchange.buffers import content_of, frames_of
from headrace.spi.host import AlignedSplit, EpochResults

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from headrace.spi.host import TaskReport


def read_messages(packets: Iterable[bytes]) -> EpochResults:
    """Open the packets that reached the driver."""
    return results_of(content_of(frame) for packet in packets for frame in frames_of(packet))


def results_of(messages: Iterable[Any]) -> EpochResults:
    """What the messages of an epoch come to; None is none."""
    found = EpochResults()
    for message in messages:
        if message is not None:
            _MESSAGES[message[0]](found, *message[1:])
    return found


def _on_commit(found: EpochResults, uid: str, committables: list[Any]) -> None:
    found.committables.setdefault(uid, []).extend(committables)


def _on_report(
    found: EpochResults, task: TaskReport, report: dict[str, Any], wake_at: int | None
) -> None:
    found.tasks.append(task)
    found.reports.append((task.subtask, report))
    if wake_at is not None:
        found.wake_at = wake_at if found.wake_at is None else min(found.wake_at, wake_at)
    found.at_end_of_time |= any(
        content["watermark"] == MAX_TIMESTAMP for content in report.values()
    )


def _on_states(found: EpochResults, uid: str, news: dict[str, dict[str, Any]]) -> None:
    mine = found.states.setdefault(uid, {})
    mine.update({name: said or mine.get(name, {}) for name, said in news.items()})


def _on_aligned(
    found: EpochResults,
    group: str,
    max_drift_ms: int,
    idle_ms: int | None,
    watermarks: dict[str, int],
) -> None:
    splits = found.aligned.setdefault(group, {})
    for name, watermark in watermarks.items():
        # several tasks may have read parts of one split
        reached = max(watermark, splits[name].watermark) if name in splits else watermark
        splits[name] = AlignedSplit(reached, max_drift_ms, idle_ms)


def _on_error(found: EpochResults, content: bytes) -> None:
    if found.error is None:
        try:
            found.error, cause = pickle.loads(content)
            assert found.error is not None
            found.error.__cause__ = cause
        except Exception as error:
            found.error = JobError(f"a task failed, and its error could not be read: {error}")


_MESSAGES: dict[str, Callable[..., None]] = {
    "commit": _on_commit,
    "report": _on_report,
    "states": _on_states,
    "aligned": _on_aligned,
    "error": _on_error,
}
