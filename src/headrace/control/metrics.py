"""What a job's tasks reported, added up over subtasks and batches."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headrace.common.accumulators import Accumulator
    from headrace.common.opaque import JsonObject, StateValue


@dataclass(slots=True)
class OperatorTotals:
    """One operator's counts over the life of the job."""

    records_in: int = 0
    records_out: int = 0
    late_records_dropped: int = 0
    watermarks: dict[int, int] = field(default_factory=dict)
    counters: dict[str, float] = field(default_factory=dict)
    gauges: dict[str, StateValue] = field(default_factory=dict)


class JobMetrics:
    """Thread-safe totals of a job; only committed batches count, each once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.operators: dict[str, OperatorTotals] = {}
        self.accumulators: dict[str, Accumulator[StateValue, StateValue]] = {}
        self.batches = 0
        self.restarts = 0
        self.last_batch_id = -1
        self.started = time.time()
        self.last_batch_ms = 0.0

    def _add_report(self, subtask: int, report: dict[str, JsonObject]) -> None:
        for uid, content in report.items():
            self._add(self.operators.setdefault(uid, OperatorTotals()), subtask, content)

    def _add(self, totals: OperatorTotals, subtask: int, content: JsonObject) -> None:
        totals.records_in += content["records_in"]
        totals.records_out += content["records_out"]
        totals.late_records_dropped += content["late_records_dropped"]
        totals.gauges.update(content["gauges"])
        if content["watermark"] is not None:
            totals.watermarks[subtask] = content["watermark"]
        for name, count in content["counters"].items():
            totals.counters[name] = totals.counters.get(name, 0) + count
        for name, accumulator in content["accumulators"].items():
            if name in self.accumulators:
                self.accumulators[name].merge(accumulator)
            else:
                self.accumulators[name] = accumulator

    def end_batch(
        self,
        batch_id: int,
        reports: list[tuple[int, dict[str, JsonObject]]],
        milliseconds: float,
    ) -> None:
        """A batch was committed: take in what its tasks counted, unless it is a repetition."""
        with self._lock:
            if batch_id <= self.last_batch_id:
                return
            for subtask, report in reports:
                self._add_report(subtask, report)
            self.batches += 1
            self.last_batch_id = batch_id
            self.last_batch_ms = milliseconds

    def accumulator_values(self) -> dict[str, StateValue]:
        """The merged value of every accumulator."""
        with self._lock:
            return {name: a.get_local_value() for name, a in self.accumulators.items()}

    def snapshot(self) -> JsonObject:
        """All of it as plain data, under Flink's names."""
        with self._lock:
            operators = {
                uid: {
                    "numRecordsIn": totals.records_in,
                    "numRecordsOut": totals.records_out,
                    "numLateRecordsDropped": totals.late_records_dropped,
                    "currentInputWatermark": min(totals.watermarks.values(), default=-(1 << 63)),
                    **totals.counters,
                    **totals.gauges,
                }
                for uid, totals in self.operators.items()
            }
            return {
                "batches": self.batches,
                "numRestarts": self.restarts,
                "lastBatchId": self.last_batch_id,
                "lastBatchMs": self.last_batch_ms,
                "uptimeSeconds": time.time() - self.started,
                "operators": operators,
            }
