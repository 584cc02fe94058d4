"""The checkpoints of a job as its driver sees them: counts, and the last few with their sizes.

In: epochs that begin, are committed or fail; savepoints.  Out: plain data for control/history.py.
Every epoch is a checkpoint: in micro-batches its time is that of the batch, in continuous mode
that from the barrier to the last task's word.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING

from headrace.common.clock import wall_clock

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.common.opaque import JsonObject
    from headrace.spi.host import TaskReport

__all__ = ["CheckpointHistory"]

_DEFAULT_KEPT = 10


class CheckpointHistory:
    """Thread-safe; what is kept is bounded."""

    def __init__(self, kept: int = _DEFAULT_KEPT) -> None:
        self._lock = threading.Lock()
        self._kept: deque[JsonObject] = deque(maxlen=max(1, kept))
        self._began: tuple[int, int] | None = None  # epoch, when
        self._next_id: int | None = None
        self.completed = 0
        self.failed = 0
        self.changes = 0
        self._latest: dict[str, JsonObject] = {}  # the newest that completed, failed, was saved

    def keep(self, count: int) -> None:
        """How many are kept."""
        with self._lock:
            self._kept = deque(self._kept, maxlen=max(1, count))

    # --- the attempt's side ------------------------------------------------------------------

    def begin(self, epoch: int) -> None:
        """An epoch is about to end: in micro-batches, to run."""
        with self._lock:
            self._began = (epoch, wall_clock())
            self.changes += 1

    def complete(
        self,
        epoch: int,
        reports: Sequence[tuple[int, dict[str, JsonObject]]],
        tasks: Sequence[TaskReport],
    ) -> None:
        """An epoch was committed."""
        now_ms = wall_clock()
        operators = _sizes(reports)
        with self._lock:
            began = self._take_begin(epoch, now_ms)
            self.completed += 1
            entry = {
                **self._new_entry(epoch, began, now_ms),
                "status": "COMPLETED",
                "size": sum(part["size"] for each in operators.values() for part in each.values()),
                "state": sum(
                    part["state"] for each in operators.values() for part in each.values()
                ),
                "records": sum(
                    content["records_out"]
                    for subtask, report in reports
                    for uid, content in report.items()
                    if any(uid == task.source for task in tasks)
                ),
                "operators": operators,
                "tasks": [
                    [task.level, task.source or "", task.subtask, task.ended_ms] for task in tasks
                ],
            }
            self._add(entry, "completed")

    def fail(self, epoch: int, error: BaseException) -> None:
        """An epoch was not committed."""
        now_ms = wall_clock()
        with self._lock:
            began = self._take_begin(epoch, now_ms)
            self.failed += 1
            entry = {
                **self._new_entry(epoch, began, now_ms),
                "status": "FAILED",
                "failure": f"{type(error).__name__}: {error}"[:500],
            }
            self._add(entry, "failed")

    def abandon(self) -> None:
        """The running epoch ends without counting: the job was told to end."""
        with self._lock:
            self._began = None
            self.changes += 1

    def saved(self, epoch: int, began_ms: int, location: str, size_bytes: int) -> None:
        """A savepoint was taken; it holds all state, so its size is that of the state, too."""
        now_ms = wall_clock()
        with self._lock:
            whole = self._latest.get("completed", {})
            entry = {
                **self._new_entry(epoch, began_ms, now_ms),
                "status": "COMPLETED",
                "savepoint": True,
                "path": location,
                "size": size_bytes,
                "state": size_bytes,
                "operators": {
                    uid: {
                        subtask: {**part, "size": part["state"]} for subtask, part in parts.items()
                    }
                    for uid, parts in whole.get("operators", {}).items()
                },
            }
            self.completed += 1
            self._add(entry, "savepoint")

    def _take_begin(self, epoch: int, now_ms: int) -> int:
        began, self._began = self._began, None
        return began[1] if began is not None and began[0] == epoch else now_ms

    def _new_entry(self, epoch: int, began_ms: int, now_ms: int) -> JsonObject:
        # a job that continues on its checkpoint counts on; savepoints take numbers in between
        number = epoch + 1 if self._next_id is None else self._next_id
        self._next_id = number + 1
        return {
            "id": number,
            "epoch": epoch,
            "savepoint": False,
            "triggered": began_ms,
            "ended": now_ms,
            "duration": max(0, now_ms - began_ms),
            "size": 0,
            "state": 0,
            "records": 0,
            "path": None,
            "failure": None,
            "operators": {},
            "tasks": [],
        }

    def _add(self, entry: JsonObject, kind: str) -> None:
        self._kept.append(entry)
        self._latest[kind] = entry
        self.changes += 1

    # --- everybody's side --------------------------------------------------------------------

    def last(self, kind: str) -> JsonObject | None:
        """The newest that is ``completed`` or ``failed``, or a ``savepoint``."""
        with self._lock:
            return self._latest.get(kind)

    @property
    def in_progress(self) -> int:
        """Whether one is being made, as a number."""
        return 0 if self._began is None else 1

    def to_json(self) -> JsonObject:
        """All of it as plain data."""
        with self._lock:
            began = self._began
            return {
                "completed": self.completed,
                "failed": self.failed,
                "running": None if began is None else {"epoch": began[0], "triggered": began[1]},
                "next_id": self._next_id,
                "latest": dict(self._latest),
                "history": list(self._kept),
            }


def _sizes(
    reports: Sequence[tuple[int, dict[str, JsonObject]]],
) -> dict[str, dict[str, JsonObject]]:
    """Of every operator that keeps state, by subtask: what was written, and all there is."""
    found: dict[str, dict[str, JsonObject]] = {}
    for subtask, report in reports:
        for uid, content in report.items():
            if content.get("state_bytes") is not None:
                found.setdefault(uid, {})[str(subtask)] = {
                    "size": content["written_bytes"],
                    "state": content["state_bytes"],
                }
    return found
