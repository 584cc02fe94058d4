"""filter and select with column expressions, where Catalyst does not run them.

Records that are an Arrow batch stay one: kernels evaluate whole columns (expr/kernels.py).  Other
records are taken one by one (expr/rows.py), and so is a batch in which some record has no result,
so that the error names it.

Measured on a million rows of four fields, filter and projection, Arrow in and out, on a busy
machine: 12 s record by record, 0.04 s with kernels.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.common.typeinfo import Types
from headrace.common.types import Row
from headrace.data.codec import codec_for
from headrace.data.records import Records
from headrace.expr.kernels import BatchEvaluator
from headrace.expr.rows import RowEvaluator
from headrace.runtime.operators.stateless import FilterOperator, MapOperator

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from headrace.common.typeinfo import TypeInformation
    from headrace.data.codec import Codec
    from headrace.expr.nodes import Node


class ExpressionFilter(FilterOperator):
    """Keeps the records for which a condition is true, neither false nor None."""

    def __init__(self, condition: Node, record_type: TypeInformation) -> None:
        super().__init__(RowEvaluator(condition, record_type))
        self.condition = condition
        self.record_type = record_type
        self.batches = BatchEvaluator(condition)

    def with_types(self, known: Callable[[TypeInformation], TypeInformation]) -> ExpressionFilter:
        return ExpressionFilter(self.condition, known(self.record_type))

    def process(self, records: Records, input: int) -> None:  # noqa: A002
        kept = self.batches(records)
        if kept is None:
            super().process(records, input)
            return
        true = pc.fill_null(kept, pa.scalar(value=False)).to_numpy(zero_copy_only=False)
        places = np.flatnonzero(true)
        self.output.emit(records if len(places) == len(records) else records.pick(places))


class ExpressionProjection(MapOperator):
    """A row of the values of some expressions for every record."""

    def __init__(
        self, expressions: Sequence[tuple[str, Node]], record_type: TypeInformation
    ) -> None:
        super().__init__(_RowProjection(expressions, record_type))
        self.expressions = expressions
        self.record_type = record_type
        self.batches = [BatchEvaluator(node) for _, node in expressions]
        # by the type of the records that come in; None where there is a field without a kernel
        self._codecs: dict[TypeInformation, Codec | None] = {}

    def with_types(
        self, known: Callable[[TypeInformation], TypeInformation]
    ) -> ExpressionProjection:
        return ExpressionProjection(self.expressions, known(self.record_type))

    def process(self, records: Records, input: int) -> None:  # noqa: A002
        projected = self._projected(records)
        if projected is None:
            super().process(records, input)
        else:
            self.output.emit(projected)

    def _projected(self, records: Records) -> Records | None:
        if records.columns is None or records.codec is None:
            return None
        codec = self._codec(records.codec.type_info)
        if codec is None:
            return None
        columns = []
        for evaluate, field in zip(self.batches, codec.schema or (), strict=True):
            column = evaluate(records)
            if column is None:
                return None
            # a source may hand over another form of a type, such as large strings
            columns.append(column if column.type == field.type else column.cast(field.type))
        batch = pa.RecordBatch.from_arrays(columns, schema=codec.schema)
        return Records(timestamps=records.timestamps, batch=batch, codec=codec)

    def _codec(self, record_type: TypeInformation) -> Codec | None:
        if record_type not in self._codecs:
            kernels = [evaluate.kernel(record_type) for evaluate in self.batches]
            types = [kernel.type_info for kernel in kernels if kernel is not None]
            names = [name for name, _ in self.expressions]
            whole = len(types) == len(names)
            self._codecs[record_type] = codec_for(Types.ROW_NAMED(names, types)) if whole else None
        return self._codecs[record_type]


class _RowProjection:
    """The same for one record, as a function that travels to workers."""

    def __init__(
        self, expressions: Sequence[tuple[str, Node]], record_type: TypeInformation
    ) -> None:
        self.names = [name for name, _ in expressions]
        self.evaluators = [RowEvaluator(node, record_type) for _, node in expressions]

    def __call__(self, record: Any) -> Row:
        return Row.of_values(tuple([run(record) for run in self.evaluators]), self.names)
