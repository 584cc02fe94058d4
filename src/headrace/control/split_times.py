"""How far event time is in every split of a job's sources, and since when.

In: what tasks tell of the splits behind their inputs (runtime/watermarks.py).  Out: plain data for
control/history.py.  A split that stands still while others go on holds the event time of the job.
Next: control/views/event_time.py
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.common.clock import wall_clock
from headrace.common.constants import MIN_LONG_VALUE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from headrace.common.opaque import JsonObject

__all__ = ["SplitTimes", "splits_of"]


@dataclass(frozen=True, slots=True)
class _SplitTime:
    watermark: int
    idle: bool
    moved_ms: int  # when it was heard of first, or its watermark rose


class SplitTimes:
    """Thread-safe; splits are known by ``<uid of the source>/<split>``."""

    def __init__(self, clock: Callable[[], int] = wall_clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._behind: dict[str, dict[str, _SplitTime]] = {}  # by the operator that told of them

    def take(self, report: Mapping[str, JsonObject]) -> None:
        """What a task told with its counts, by operator; a split it leaves out is gone."""
        now_ms = self._clock()
        with self._lock:
            for uid, content in report.items():
                told = content.get("splits")
                if told is not None:
                    known = self._behind.get(uid, {})
                    self._behind[uid] = {
                        split: _moved(known.get(split), watermark, idle=idle, now_ms=now_ms)
                        for split, (watermark, idle) in told.items()
                    }

    def to_json(self) -> JsonObject:
        """Every split: its watermark, None before the first; when that rose; whether it is idle."""
        with self._lock:
            lowest: dict[str, _SplitTime] = {}
            for splits in self._behind.values():
                for name, each in splits.items():
                    lowest[name] = min(each, lowest.get(name, each), key=lambda t: t.watermark)
        return {
            name: {
                "watermark": None if each.watermark == MIN_LONG_VALUE else each.watermark,
                "moved": each.moved_ms,
                "idle": each.idle,
            }
            for name, each in sorted(lowest.items())
        }


def splits_of(source: str, told: Mapping[str, JsonObject]) -> dict[str, JsonObject]:
    """The splits of one source, by their own names.

    Args:
        source: its uid.
        told: the splits of all, as `SplitTimes.to_json` has them.
    """
    begin = f"{source}/"
    return {
        name.removeprefix(begin): split for name, split in told.items() if name.startswith(begin)
    }


def _moved(known: _SplitTime | None, watermark: int, *, idle: bool, now_ms: int) -> _SplitTime:
    stands = known is not None and watermark <= known.watermark
    return _SplitTime(watermark, idle, known.moved_ms if stands and known else now_ms)
