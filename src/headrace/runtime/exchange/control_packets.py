"""What the control source sends: a wake-up for every subtask, and at the end the last watermark.

No user code is needed for it, so none is loaded.  Next: runtime/task.py takes the frames in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.data.records import MAX_TIMESTAMP
from headrace.runtime.exchange.buffers import END, MESSAGE, TO_DRIVER, WATERMARK, message_frame
from headrace.runtime.exchange.outbox import Outbox
from headrace.runtime.watermarks import ALL_CHANNELS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from headrace.runtime.exchange.outbox import Packet
    from headrace.runtime.stage import StagePlan


def source_edges(stages: Iterable[StagePlan]) -> list[tuple[int, int]]:
    """(edge, subtasks that read it) of every exchange behind the sources' own stages."""
    edges = {edge.id: edge for stage in stages for edge in stage.edges.values()}
    return [(edge.id, edge.parallelism) for edge in edges.values() if not edge.chained]


def wake_up(outbox: Outbox, slots: int) -> None:
    """An empty message for every subtask of the next stage."""
    for slot in range(slots):
        outbox.add(slot, message_frame(MESSAGE, TO_DRIVER, None))


def control_packets(edges: list[tuple[int, int]], slots: int, *, end: bool) -> Iterator[Packet]:
    """Wake every subtask; at the end of input, event time reaches its end on every edge."""
    outbox = Outbox(slots)
    wake_up(outbox, slots)
    if end:
        for slot in range(slots):  # passes through all stages to the driver, for which it is empty
            outbox.add(slot, message_frame(END, TO_DRIVER, None))
        for edge, parallelism in edges:
            frame = message_frame(WATERMARK, edge, (ALL_CHANNELS, MAX_TIMESTAMP))
            for slot in range(parallelism):
                outbox.add(slot, frame)
    return outbox.take_all()
