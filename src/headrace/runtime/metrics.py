"""Counts of one operator in one subtask, sent to the driver with every batch.

Next: runtime/task.py collects them; control/job.py adds them up.
"""

from __future__ import annotations

import copy
import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headrace.common.accumulators import Accumulator
    from headrace.common.opaque import JsonObject, StateValue

log = logging.getLogger(__name__)

# gauges of which it was told that they raise: as long as this process lives
_told: set[str] = set()


@dataclass(slots=True)
class OperatorMetrics:
    """What an operator counted since the last report; user metrics and accumulators included."""

    records_in: int = 0
    records_out: int = 0
    late_records_dropped: int = 0
    watermark: int | None = None
    # told by the first subtask behind sources: split -> its event time, and whether it is idle
    splits: dict[str, tuple[int, bool]] | None = None
    # written by the task's Stopwatch: what the operator itself took, not those behind it
    busy_ns: int = 0
    # told by the task at the end of an epoch; None if the operator keeps no state
    state_bytes: int | None = None
    written_bytes: int = 0
    counters: dict[str, float] = field(default_factory=dict)
    gauges: dict[str, StateValue] = field(default_factory=dict)
    # rates that users mark: name -> over how many seconds; their events are counters
    meters: dict[str, int] = field(default_factory=dict)
    # name -> (count, sum, smallest, largest) since the last report
    distributions: dict[str, tuple[int, float, float, float]] = field(default_factory=dict)
    accumulators: dict[str, Accumulator[StateValue, StateValue]] = field(default_factory=dict)

    def look(self) -> JsonObject:
        """The counts so far as plain data, without the users' accumulators."""
        return {
            "records_in": self.records_in,
            "records_out": self.records_out,
            "late_records_dropped": self.late_records_dropped,
            "watermark": self.watermark,
            "splits": self.splits,
            "busy_ms": self.busy_ns / 1e6,
            "state_bytes": self.state_bytes,
            "written_bytes": self.written_bytes,
            "counters": dict(self.counters),
            "gauges": {name: _read(name, gauge) for name, gauge in self.gauges.items()},
            "meters": dict(self.meters),
            "distributions": dict(self.distributions),
            "accumulators": {},
        }

    def report(self) -> JsonObject:
        """The counts as plain data, and restart the count."""
        content = self.look()
        content["accumulators"] = {n: copy.deepcopy(a) for n, a in self.accumulators.items()}
        self.records_in = self.records_out = self.late_records_dropped = 0
        self.busy_ns = self.written_bytes = 0
        self.counters.clear()
        self.distributions.clear()
        for accumulator in self.accumulators.values():
            accumulator.reset()  # the driver adds up what each batch contributed
        return content


def _read(name: str, gauge: StateValue) -> StateValue:
    """A gauge's value; None if its function raises: no epoch fails for a figure."""
    if not callable(gauge):
        return gauge
    try:
        return gauge()
    except Exception as error:
        if name not in _told:
            _told.add(name)
            log.warning("the gauge %r is not shown: %s: %s", name, type(error).__name__, error)
        return None
