"""A node as a Python function of one record: closures, made once, called for every record.

In: a node, and the type of the records if it is known.  Out: a function.  With a type, whole
numbers have their declared width and floats their 32 bits, as in Arrow and Spark; without one they
are Python's.  Next: kernels.py does the same for whole batches.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, assert_never

from headrace.common.types import Row
from headrace.errors import InvalidArgumentError, RecordError
from headrace.expr import types as t
from headrace.expr.functions import function
from headrace.expr.nodes import Aggregate, CallNode, ConstantNode, FieldNode, WindowBound, text_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.common.typeinfo import TypeInformation
    from headrace.expr.nodes import Node

    RowFunction = Callable[[Any], Any]


def row_function(node: Node, record_type: TypeInformation | None = None) -> RowFunction:
    """The function that evaluates `node` for one record.

    Raises:
        InvalidArgumentError: the node needs a window.
    """
    match node:
        case FieldNode():
            return _column(node.name)
        case ConstantNode():
            value = node.value
            return lambda record: value
        case CallNode():
            return _call(node, record_type)
        case Aggregate() | WindowBound():
            raise InvalidArgumentError(
                f"{text_of(node)} needs a window",
                fix="add a window first: stream.key_by(...).window(...).select(...)",
            )
    assert_never(node)


class RowEvaluator:
    """An expression as a function that travels to workers; closures are made there.

    Args:
        node: the expression.
        record_type: of the records, as far as it is known.
    """

    def __init__(self, node: Node, record_type: TypeInformation | None = None) -> None:
        self.node = node
        self.record_type = record_type
        self._run: RowFunction | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return RowEvaluator, (self.node, self.record_type)

    def __call__(self, record: Any) -> Any:
        """The value for one record."""
        if self._run is None:
            self._run = row_function(self.node, self.record_type)
        return self._run(record)


def _column(name: str) -> RowFunction:
    position = int(name[1:]) if name[:1] == "f" and name[1:].isdigit() else None

    def read(record: Any) -> Any:
        if type(record) is Row or isinstance(
            record, Row | dict
        ):  # a row's attributes leave out some, _corrupt_record
            return record[name]
        if position is not None and type(record) is tuple:
            return record[position]  # the name of its column on Catalyst
        if name == t.VALUE and isinstance(record, str | int | float | bytes | None):
            return record
        return getattr(record, name)

    return read


def _call(node: CallNode, record_type: TypeInformation | None) -> RowFunction:
    called = function(node.function)
    count = len(node.arguments) - called.constants
    arguments = [row_function(part, record_type) for part in node.arguments[:count]]
    body = called.row
    if called.checked:
        body = _fitting(body, node, t.signature_of(called, node, record_type))
    if called.decides is not None:
        return _logic(body, *arguments, decides=called.decides)
    if not called.strict:
        [only], constants = arguments, called.given(node)
        return lambda record: body(only(record), *constants)
    if len(arguments) == 1:
        return _unary(body, arguments[0], called.given(node))
    left, right = arguments
    return _binary(body, left, right)


def _logic(
    body: Callable[..., Any], left: RowFunction, right: RowFunction, *, decides: bool
) -> RowFunction:
    def run(record: Any) -> Any:
        first = left(record)
        return decides if first is decides else body(first, right(record))

    return run


def _unary(
    body: Callable[..., Any], argument: RowFunction, constants: tuple[Any, ...]
) -> RowFunction:
    def run(record: Any) -> Any:
        value = argument(record)
        return None if value is None else body(value, *constants)

    return run


def _binary(body: Callable[..., Any], left: RowFunction, right: RowFunction) -> RowFunction:
    def run(record: Any) -> Any:
        first = left(record)
        if first is None:
            return None
        second = right(record)
        return None if second is None else body(first, second)

    return run


# --- results that have to fit their type ---------------------------------------------------------


def _fitting(
    body: Callable[..., Any], node: CallNode, signature: t.Signature | None
) -> Callable[..., Any]:
    if signature is None or signature.result == t.DOUBLE:
        return body
    if signature.result == t.FLOAT:
        return lambda left, right: ctypes.c_float(body(left, right)).value
    bits = t.BITS[signature.result]
    low, high = -(1 << bits - 1), (1 << bits - 1) - 1

    def run(left: Any, right: Any) -> Any:
        result = body(left, right)
        if low <= result <= high:
            return result
        raise RecordError(
            f"{text_of(node)} is {result}, too large for {signature.result} ({bits} bits)",
            fix="declare the field with a wider type, such as Types.LONG() or Types.DOUBLE()",
        )

    return run
