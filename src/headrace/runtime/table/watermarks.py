"""WATERMARK FOR column AS expression: says how far event time has come.

    lines ─▶ unchanged          watermark = the largest value of the expression so far

No millisecond is taken off, other than DataStream's bounded strategies do: a window up to 10:00
fires when the expression reaches 09:59:59.999.  Right behind a source each split has its own
(runtime/operators/timestamps.py), and a split that is silent for `idle_timeout_ms` holds nobody up.
Watermarks leave at the end of a batch and now and then, or with `on_event` behind the very line
that raises them, which takes an exchange (``scan.watermark.emit.strategy``).
A NULL in the column is an error, as in Flink.
Next: runtime/table/windows/
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.data.codec import codec_for
from headrace.data.records import MIN_TIMESTAMP
from headrace.runtime.operators.timestamps import TimestampsOperator
from headrace.runtime.table.lines import LineType
from headrace.runtime.table.times import column_millis, rowtimes
from headrace.scalars.evaluate import Evaluator
from headrace.spi.state import StateSpec

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headrace.common.row_data_type import RowDataTypeInfo
    from headrace.data.records import Records
    from headrace.runtime.operators.base import OperatorRuntime
    from headrace.scalars.nodes import Scalar
    from headrace.scalars.session import ScalarSession

# Nothing is kept there.
_ORDER = StateSpec("order", None, "subtask")
# What TimestampsOperator takes off is this and one: together nothing.
_NO_DELAY = -1


class WatermarkOperator(TimestampsOperator):
    """Lines as they are, and watermarks.

    Args:
        column: the place of the time attribute.
        expression: of the watermark.
        input_type: of the lines.
        session: of the query.
        idle_timeout_ms: after which time a silent source is not waited for; None for never.
        on_event: whether watermarks follow the line that raises them at once.
        alignment: a group of sources, and how many ms one of them may be ahead; None for none.
    """

    def __init__(
        self,
        column: int,
        expression: Scalar,
        input_type: RowDataTypeInfo,
        session: ScalarSession,
        *,
        idle_timeout_ms: int | None = None,
        on_event: bool = False,
        alignment: tuple[str, int] | None = None,
    ) -> None:
        strategy = WatermarkStrategy.no_watermarks()
        if idle_timeout_ms:
            strategy = strategy.with_idleness(idle_timeout_ms)
        if alignment is not None:
            strategy = strategy.with_watermark_alignment(*alignment)
        super().__init__(strategy, _NO_DELAY)
        self.column = column
        self.evaluator = Evaluator(expression, session)
        self.input_type = input_type
        self.on_event = on_event

    def state_specs(self) -> tuple[StateSpec, ...]:
        """Behind an exchange watermarks keep their place among lines, in front of it they do not.

        In a micro-batch several tasks may read one split, so that what a split has reached is known
        at the end of the batch only. An operator with state is put behind an exchange.
        """
        return (_ORDER,) if self.on_event else ()

    def open(self, runtime: OperatorRuntime) -> None:
        super().open(runtime)
        self.in_lines = LineType(codec_for(self.input_type))
        self.evaluator.open()

    def process(self, records: Records, input: int) -> None:  # noqa: A002
        lines = self.in_lines.lines(records)
        try:
            rowtimes(lines.columns[self.column], "WATERMARK FOR")
            if self.runtime.bounded:  # no event time before the end
                self.output.emit(records)
                return
            names = [str(number) for number in range(len(lines.columns))]
            batch = pa.RecordBatch.from_arrays(lines.columns, names=names)
            column = self.evaluator.run(batch)
        except Exception as error:
            raise self.failed(error) from error
        marks = column_millis(column.drop_null())
        if self.on_event:
            self._emit_by_line(records, column, marks)
            return
        self._raise_to(int(marks.max()) if len(marks) else MIN_TIMESTAMP)
        self.output.emit(records)

    def _raise_to(self, mark: int) -> None:
        split = self.runtime.channel.name
        self.highest[split] = max(self.highest.get(split, MIN_TIMESTAMP), mark)

    def _emit_by_line(self, records: Records, column: pa.Array, marks: NDArray[np.int64]) -> None:
        """Emit lines up to each that raises the watermark, and the watermark behind it."""
        split, start = self.runtime.channel.name, 0
        places = np.flatnonzero(column.is_valid().to_numpy(zero_copy_only=False))
        reached = self._emitted.get(split, MIN_TIMESTAMP)
        rising = np.maximum.accumulate(np.concatenate([[reached], marks]))
        for number in np.flatnonzero(rising[1:] > rising[:-1]).tolist():
            end = int(places[number]) + 1
            self.output.emit(records.slice(start, end - start))
            start = end
            mark = int(rising[number + 1])
            self._emitted[split] = mark
            self.emit_candidate(mark)
        if start < len(records):
            self.output.emit(records.slice(start, len(records) - start))
        self._raise_to(self._emitted.get(split, MIN_TIMESTAMP))

    def begin_batch(self) -> None:
        super().begin_batch()
        # on_event: how far each split has come in the batch at hand
        self._emitted: dict[str, int] = {}

    def close(self) -> None:
        self.evaluator.close()
        super().close()
