"""The first or the last line of each key, by processing time or by a time attribute.

    keep          time         out
    first         processing   the first line, +I; later ones are dropped
    last          processing   every line: +I, then -U +U; one equal to the last is dropped
    last, first   event        a line that is later (earlier) than the kept one replaces it: -U +U
    first         event, and   the earliest line, +I, once event time has passed it; lines behind
                  insert-only  event time are late and dropped

In: inserts only.  In BATCH mode one line a key, at its end.
Next: runtime/table/windows/deduplicate.py has the same within windows
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from headrace.runtime.pages.table import NO_ENTRY
from headrace.runtime.table.base import KeyedTableOperator, TimedTableOperator
from headrace.runtime.table.joins.line_store import LineStore
from headrace.runtime.table.kept_lines import KeptLines
from headrace.runtime.table.lines import UPDATE_AFTER
from headrace.runtime.table.replaced_lines import ReplacedLines
from headrace.runtime.table.times import rowtimes
from headrace.spi.state import StateSpec

if TYPE_CHECKING:
    from headrace.common.row_data_type import RowDataTypeInfo
    from headrace.data.records import Records
    from headrace.runtime.operators.base import OperatorRuntime

    Line = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class DeduplicateSpec:
    """Which line of a key is kept.

    Attributes:
        keep_last: the last one, or the first.
        time: the place of the time attribute, for event time; None for processing time.
        insert_only: keep the first by event time and wait until it is certain which one that is.
        before: whether consumers want -U in front of +U.
        inserts: whether consumers want +I for the first line of a key, and not +U for all.
        ttl_ms: after which time a key is forgotten; 0 for never.
    """

    keep_last: bool
    time: int | None
    insert_only: bool = False
    before: bool = True
    inserts: bool = True
    ttl_ms: int = 0


def deduplicate_operator(
    spec: DeduplicateSpec, input_type: RowDataTypeInfo, output_type: RowDataTypeInfo
) -> KeyedTableOperator:
    """The operator of a deduplication; its input is keyed by what lines are duplicates of."""
    if spec.time is None and not spec.keep_last:
        return FirstLineOperator(spec, input_type, output_type)
    if spec.time is not None and spec.insert_only and not spec.keep_last:
        return EarliestLineOperator(spec, input_type, output_type)
    return KeptLineOperator(spec, input_type, output_type)


class FirstLineOperator(KeyedTableOperator):
    """The first line of a key that comes."""

    def __init__(
        self, spec: DeduplicateSpec, input_type: RowDataTypeInfo, output_type: RowDataTypeInfo
    ) -> None:
        super().__init__([input_type], output_type)
        self.spec = spec

    def state_specs(self) -> tuple[StateSpec, ...]:
        return (*super().state_specs(), LineStore.spec("seen"))

    def open(self, runtime: OperatorRuntime) -> None:
        super().open(runtime)
        # survives restart: the keys that came
        self.seen = KeptLines(self, "seen", self.spec.ttl_ms, keys_only=True)

    def process(self, records: Records, input: int) -> None:  # noqa: A002
        lines = self.lines(records)
        if not len(lines):
            return
        found = self.seen.find(lines)
        is_new = np.ones(found.codes.count, dtype=np.bool_)
        is_new[found.owners] = False
        numbers = np.flatnonzero(is_new)
        if len(numbers):
            places = found.codes.firsts()[numbers]
            found.add(numbers, places, lines)
            self.emit_columns(lines.pick(places).columns, None)


class KeptLineOperator(KeyedTableOperator):
    """One line of a key, which others replace."""

    def __init__(
        self, spec: DeduplicateSpec, input_type: RowDataTypeInfo, output_type: RowDataTypeInfo
    ) -> None:
        super().__init__([input_type], output_type)
        self.spec = spec

    def state_specs(self) -> tuple[StateSpec, ...]:
        return (*super().state_specs(), LineStore.spec("kept"))

    def open(self, runtime: OperatorRuntime) -> None:
        super().open(runtime)
        # survives restart: one line a key
        self.kept = KeptLines(self, "kept", self.spec.ttl_ms)
        self.told = self.spec.before or self.spec.inserts

    def process(self, records: Records, input: int) -> None:  # noqa: A002
        lines = self.lines(records)
        if not len(lines):
            return
        if self.spec.time is None and not self.told and not self.runtime.bounded:
            kinds = np.full(len(lines), UPDATE_AFTER, dtype=np.int8)
            self.emit_columns(lines.columns, kinds)  # nobody asks what was before
            return
        found = self.kept.find(lines)
        runs = ReplacedLines(lines, found)
        if self.spec.time is None:
            runs.take_others(even_equal=bool(self.spec.ttl_ms))
        else:
            times = rowtimes(runs.columns[self.spec.time], self.runtime.name)
            runs.take_by_time(times, keep_last=self.spec.keep_last)
        found.replace(*runs.kept(), lines)
        if not self.runtime.bounded:
            places, kinds = runs.changes(before=self.spec.before, told=self.told)
            chosen = pa.array(places)
            self.emit_columns([column.take(chosen) for column in runs.columns], kinds)

    def finish_keys(self) -> None:
        """BATCH mode: the line of each key that is left."""
        for columns in self.kept.all_columns():
            self.emit_columns(columns)
        super().finish_keys()


class EarliestLineOperator(TimedTableOperator):
    """The earliest line of a key, when event time has passed it."""

    def __init__(
        self, spec: DeduplicateSpec, input_type: RowDataTypeInfo, output_type: RowDataTypeInfo
    ) -> None:
        super().__init__([input_type], output_type)
        self.spec = spec

    def state_specs(self) -> tuple[StateSpec, ...]:
        return (
            *super().state_specs(), StateSpec("waiting", "table"), StateSpec("seen", "table"),
        )  # fmt: skip

    def open(self, runtime: OperatorRuntime) -> None:
        super().open(runtime)
        # survives restart: key -> (time, line) until it is emitted, then key -> True
        self.waiting = self.states.table("waiting")
        self.seen = self.expiring_table("seen", self.spec.ttl_ms)
        self.found: list[Line] = []

    def process(self, records: Records, input: int) -> None:  # noqa: A002
        lines = self.lines(records)
        assert self.spec.time is not None
        times = rowtimes(lines.columns[self.spec.time], self.runtime.name).tolist()
        timers, waiting = self.event_timers, self.waiting
        for key, row, time in zip(self.line_keys(lines), lines.rows(), times, strict=True):
            if time < self.current_watermark:
                self.runtime.metrics.late_records_dropped += 1
                continue
            if self.seen.get(key) is not None:
                continue
            old = waiting.cell(key).value
            if old is not NO_ENTRY and time >= old[0]:
                continue
            if old is not NO_ENTRY:
                timers.delete(old[0], key)
            timers.register(time, key)
            waiting.put(key, (time, row))

    def fire_event_timer(self, timestamp: int, key: Any, namespace: Any) -> None:
        _, row = self.waiting.get(key)
        self.waiting.remove(key)
        self.seen.put(key, True)  # noqa: FBT003
        self.found.append(row)

    def after_timers(self) -> None:
        found, self.found = self.found, []
        self.emit_rows(found)
