"""What the tasks of a batch told the driver: errors, counts, new states, and what sinks staged.

In: packets of the last stage.  Out: BatchMessages.  Next: control/attempt.py acts on them
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from headrace.data.records import MAX_TIMESTAMP
from headrace.errors import HeadraceError, JobError
from headrace.runtime.exchange.buffers import content_of, frames_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from headrace.control.state_names import States


@dataclass(slots=True)
class BatchMessages:
    """What the tasks of one batch told the driver."""

    committables: dict[str, list[Any]] = field(default_factory=dict)
    reports: list[tuple[int, dict[str, dict[str, Any]]]] = field(default_factory=list)
    # what operators stored for the first time in this attempt, see control/state_names.py
    states: States = field(default_factory=dict)
    wake_at: int | None = None
    error: HeadraceError | None = None
    # a native window has fired all it holds
    native_end: bool = False

    @property
    def at_end_of_time(self) -> bool:
        """Whether the end of input has reached the operators: every timer has fired."""
        return self.native_end or any(
            content["watermark"] == MAX_TIMESTAMP
            for _, report in self.reports
            for content in report.values()
        )


def read_messages(packets: Iterable[bytes]) -> BatchMessages:
    """Open the packets that reached the driver."""
    found = BatchMessages()
    for packet in packets:
        for frame in frames_of(packet):
            message = content_of(frame)
            if message is not None:
                _MESSAGES[message[0]](found, *message[1:])
    return found


def _on_commit(found: BatchMessages, uid: str, committables: list[Any]) -> None:
    found.committables.setdefault(uid, []).extend(committables)


def _on_report(
    found: BatchMessages, level: int, subtask: int, report: dict[str, Any], wake_at: int | None
) -> None:
    found.reports.append((subtask, report))
    if wake_at is not None:
        found.wake_at = wake_at if found.wake_at is None else min(found.wake_at, wake_at)


def _on_states(found: BatchMessages, uid: str, news: dict[str, dict[str, Any]]) -> None:
    mine = found.states.setdefault(uid, {})
    mine.update({name: said or mine.get(name, {}) for name, said in news.items()})


def _on_error(found: BatchMessages, content: bytes) -> None:
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
    "error": _on_error,
}
