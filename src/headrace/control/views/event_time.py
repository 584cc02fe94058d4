"""Which split of a source holds event time: the one that stands still while others go on.

In: sources with their splits (control/views/vertices.py).  Out: what holds, and what helps.  Pure.
Next: control/views/pressure.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.common.constants import MAX_LONG_VALUE
from headrace.control.views.models import HeldTime

if TYPE_CHECKING:
    from headrace.control.views.models import OperatorView, VertexView

__all__ = ["held_time"]

# one that stands still for less time may be about to bring its next record
_SILENT_MS = 10_000


def held_time(vertex: VertexView, source: OperatorView) -> HeldTime | None:
    """The split that holds the event time behind a source; None if none has been silent for long.

    A split that reached the end of time holds nothing, nor does one that is idle.
    """
    open_ended = {name: split for name, split in source.splits.items() if not split.idle}
    if len(open_ended) < 2:
        return None
    name = min(open_ended, key=lambda each: _time(open_ended[each].watermark))
    lowest = open_ended.pop(name)
    furthest = max(_time(split.watermark) for split in open_ended.values())
    latest_ms = min(split.still_ms for split in open_ended.values())
    silent_ms = lowest.still_ms - latest_ms
    if silent_ms < _SILENT_MS or furthest <= _time(lowest.watermark):
        return None
    return HeldTime(
        vertex=vertex.id,
        uid=source.uid,
        name=source.name,
        split=name,
        watermark=lowest.watermark,
        others=furthest,
        silent_s=round(lowest.still_ms / 1000, 1),
        fix="if it has nothing to say for long, leave it out meanwhile: "
        "WatermarkStrategy.with_idleness(...), in SQL table.exec.source.idle-timeout",
    )


def _time(watermark: int | None) -> int:
    return -MAX_LONG_VALUE if watermark is None else watermark
