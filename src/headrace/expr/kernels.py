"""A node as a function of an Arrow batch: whole columns at once, no Python object per record.

In: a node and the type of the records.  Out: a Kernel, or None where a type is not known or has no
kernel: rows.py then does it.  Next: runtime/operators/expressions.py uses both.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from headrace.common.typeinfo import RowTypeInfo, TupleTypeInfo
from headrace.data.codec import codec_for
from headrace.expr import types as t
from headrace.expr.functions import function
from headrace.expr.nodes import CallNode, ConstantNode, FieldNode

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.common.typeinfo import TypeInformation
    from headrace.data.records import Records
    from headrace.expr.nodes import Node

    # an array of the batch's length, or a scalar
    BatchFunction = Callable[[pa.RecordBatch], Any]


@dataclass(frozen=True, slots=True)
class Kernel:
    """Evaluates one expression over batches of one type.

    Attributes:
        type_info: of the result.
        run: gives an array, or a scalar for all records; raises ArrowInvalid where a record has
            no result (overflow, division by zero), or seems to: rows.py knows.
    """

    type_info: TypeInformation
    run: BatchFunction

    def column(self, batch: pa.RecordBatch) -> pa.Array:
        """The values for all records of a batch."""
        found = self.run(batch)
        return pa.repeat(found, batch.num_rows) if isinstance(found, pa.Scalar) else found


def kernel_of(node: Node, record_type: TypeInformation) -> Kernel | None:
    """The kernel of an expression over records of a type; None if there is none."""
    type_info = t.type_of(node, record_type)
    if type_info is None or type_info is t.NULL:
        return None
    run = _compiled(node, record_type)
    return None if run is None else Kernel(type_info, run)


class BatchEvaluator:
    """An expression over records that are an Arrow batch; travels to workers."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self._kernels: dict[TypeInformation, Kernel | None] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return BatchEvaluator, (self.node,)

    def kernel(self, record_type: TypeInformation) -> Kernel | None:
        """The kernel for records of a type, made once; None if there is none."""
        if record_type not in self._kernels:
            self._kernels[record_type] = kernel_of(self.node, record_type)
        return self._kernels[record_type]

    def __call__(self, records: Records) -> pa.Array | None:
        """The values for all records; None where rows have to be asked."""
        batch, codec = records.columns, records.codec
        kernel = None if batch is None or codec is None else self.kernel(codec.type_info)
        if batch is None or kernel is None:
            return None
        try:
            return kernel.column(batch)
        except pa.ArrowInvalid:
            return None  # some record has no result: rows.py finds it, or finds that it has one


def _compiled(node: Node, record_type: TypeInformation) -> BatchFunction | None:
    match node:
        case FieldNode():
            position = _position(node.name, record_type)
            return lambda batch: batch.column(position)
        case ConstantNode():
            found = t.type_of(node, None)
            if found is None:
                return None
            scalar = pa.scalar(node.value, _arrow_type(found))
            return lambda batch: scalar
        case CallNode():
            return _call(node, record_type)
        case _:
            return None


def _position(name: str, record_type: TypeInformation) -> int:
    if isinstance(record_type, RowTypeInfo | TupleTypeInfo):
        return int(record_type.get_field_names().index(name))
    return 0


def _call(node: CallNode, record_type: TypeInformation) -> BatchFunction | None:
    called = function(node.function)
    signature = t.signature_of(called, node, record_type)
    if signature is None:
        return None
    count = len(node.arguments) - called.constants
    arguments: list[BatchFunction] = []
    for part, operand in zip(node.arguments[:count], signature.operands, strict=False):
        run = _compiled(part, record_type)
        if run is None:
            return None
        as_it_is = t.type_of(part, record_type) == operand
        arguments.append(run if as_it_is else _cast(run, _arrow_type(operand)))
    body, constants = called.arrow, called.given(node)

    def run_call(batch: pa.RecordBatch) -> Any:
        values = [argument(batch) for argument in arguments]
        if not any(isinstance(value, pa.Array) for value in values):
            values[0] = pa.repeat(values[0], batch.num_rows)
        return body(*values, *constants)

    return run_call


def _cast(run: BatchFunction, wanted: pa.DataType) -> BatchFunction:
    def cast(batch: pa.RecordBatch) -> Any:
        value = run(batch)
        # not safe: a long that no double holds becomes the nearest one, as in Spark
        return value if value.type == wanted else pc.cast(value, wanted, safe=False)

    return cast


def _arrow_type(type_info: TypeInformation) -> pa.DataType:
    if type_info is t.NULL:
        return pa.null()
    schema = codec_for(type_info).schema
    return pa.null() if schema is None else schema.field(0).type
