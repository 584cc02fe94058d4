"""Counts of one operator in one subtask, sent to the driver with every batch.

Next: runtime/task.py collects them; control/job.py adds them up.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headrace.common.accumulators import Accumulator
    from headrace.common.opaque import JsonObject, StateValue


@dataclass(slots=True)
class OperatorMetrics:
    """What an operator counted since the last report; user metrics and accumulators included."""

    records_in: int = 0
    records_out: int = 0
    late_records_dropped: int = 0
    watermark: int | None = None
    counters: dict[str, float] = field(default_factory=dict)
    gauges: dict[str, StateValue] = field(default_factory=dict)
    accumulators: dict[str, Accumulator[StateValue, StateValue]] = field(default_factory=dict)

    def report(self) -> JsonObject:
        """The counts as plain data, and restart the count."""
        content = {
            "records_in": self.records_in,
            "records_out": self.records_out,
            "late_records_dropped": self.late_records_dropped,
            "watermark": self.watermark,
            "counters": dict(self.counters),
            "gauges": {n: g() if callable(g) else g for n, g in self.gauges.items()},
            "accumulators": {n: copy.deepcopy(a) for n, a in self.accumulators.items()},
        }
        self.records_in = self.records_out = self.late_records_dropped = 0
        self.counters.clear()
        for accumulator in self.accumulators.values():
            accumulator.reset()  # the driver adds up what each batch contributed
        return content
