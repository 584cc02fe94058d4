"""Latency markers: how long a record takes from its source to each sink, measured on the way.

    source task ── marker (source, when) ──▶ stage ──▶ stage with a sink: now - when

In: the clock, at sources; marker frames, elsewhere.  Out: gauges of the operators that have no
successor: Flink's latency tracking.  A marker waits wherever records wait, but operators do not see
it.  Next: runtime/continuous_task.py
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from headrace.runtime.exchange.buffers import LATENCY, TO_DRIVER, content_of, message_frame

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from headrace.runtime.exchange.buffers import Frame
    from headrace.runtime.operators.base import Operator
    from headrace.runtime.stage import StagePlan
    from headrace.runtime.task import Task

# the newest of an epoch: enough for percentiles, few enough to send
_KEPT = 1_000
_SHARES = {"latencyP50": 0.5, "latencyP95": 0.95, "latencyP99": 0.99}


class LatencyMarkers:
    """The markers of one task.

    Args:
        stage: of the task.
        clock: epoch milliseconds.
    """

    def __init__(self, stage: StagePlan, clock: Callable[[], int]) -> None:
        self._stage = stage
        self._clock = clock
        self._seen: list[int] = []
        origins = {edge.origin for edge in stage.edges.values()}
        self._ends = [plan.uid for plan in stage.operators if plan.uid not in origins]

    def send(self, task: Task) -> None:
        """A marker for one subtask of the next stage, drawn by lot."""
        self._pass(task, self._clock())
        self._note(self._clock())

    def take(self, frame: Frame, task: Task) -> bool:
        """Note a marker and pass it on; False if the frame is something else."""
        if frame.kind != LATENCY:
            return False
        when = content_of(frame)
        self._note(when)
        self._pass(task, when)
        return True

    def _note(self, when: int) -> None:
        if self._ends and len(self._seen) < _KEPT:
            self._seen.append(self._clock() - when)

    def _pass(self, task: Task, when: int) -> None:
        slot = random.randrange(self._stage.slots)
        task.outbox.add(slot, message_frame(LATENCY, TO_DRIVER, when))

    def report(self, operators: Mapping[str, Operator]) -> None:
        """Put the percentiles of the epoch into the gauges of the sinks."""
        seen, self._seen = sorted(self._seen), []
        if not seen:
            return
        gauges = {name: seen[int(share * (len(seen) - 1))] for name, share in _SHARES.items()}
        for uid in self._ends:
            operators[uid].runtime.metrics.gauges.update(gauges)
