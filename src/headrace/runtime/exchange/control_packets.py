"""What the control source sends: a wake-up for every subtask, who is not idle, and the end.

No user code is needed for it, so none is loaded.  Next: runtime/task.py takes the frames in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from headrace.data.records import MAX_TIMESTAMP
from headrace.runtime.exchange.buffers import END, MESSAGE, TO_DRIVER, WATERMARK, message_frame
from headrace.runtime.exchange.outbox import Outbox
from headrace.runtime.watermarks import ALIVE, ALL_CHANNELS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from headrace.runtime.exchange.outbox import Packet
    from headrace.runtime.stage import StagePlan


# Begins a command that says which channel is not idle, as JSON.
ACTIVE = "active "
# (edge, subtasks that read it, uid of the source whose records it carries)
SourceEdge: TypeAlias = "tuple[int, int, str]"


def source_edges(stages: Iterable[StagePlan]) -> list[SourceEdge]:
    """Every exchange behind the sources' own stages."""
    edges = {
        edge.id: (edge, stage.source or "") for stage in stages for edge in stage.edges.values()
    }
    return [(e.id, e.parallelism, source) for e, source in edges.values() if not e.chained]


def wake_up(outbox: Outbox, slots: int) -> None:
    """An empty message for every subtask of the next stage."""
    for slot in range(slots):
        outbox.add(slot, message_frame(MESSAGE, TO_DRIVER, None))


def control_packets(
    edges: list[SourceEdge], slots: int, *, end: bool, active: Iterable[str] = ()
) -> Iterator[Packet]:
    """Wake every subtask; at the end of input, event time reaches its end on every edge.

    Args:
        edges: from `source_edges`.
        slots: how many subtasks there are.
        end: whether the input has ended.
        active: channels (source uid/split) that are silent, but must not be called idle.
    """
    outbox = Outbox(slots)
    wake_up(outbox, slots)
    if end:
        for slot in range(slots):  # passes through all stages to the driver, for which it is empty
            outbox.add(slot, message_frame(END, TO_DRIVER, None))
        for edge, parallelism, _ in edges:
            _tell(outbox, edge, parallelism, ALL_CHANNELS, MAX_TIMESTAMP)
    for channel in active:
        for edge, parallelism, source in edges:
            if channel.startswith(f"{source}/"):
                _tell(outbox, edge, parallelism, channel, ALIVE)
    return iter(outbox.take_all())


def _tell(outbox: Outbox, edge: int, parallelism: int, channel: str, timestamp: int) -> None:
    frame = message_frame(WATERMARK, edge, (channel, timestamp))
    for slot in range(parallelism):
        outbox.add(slot, frame)
