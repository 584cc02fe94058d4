"""The type of a node over records of a type, by SQL's rules as Spark's ANSI mode has them.

    byte < short < int < long: the wider one;  a whole number and a float, or a double: double
    a fraction (``/``): double;  a comparison: boolean

A type is unknown (None) where records have none, and where Spark and Python hold other things: the
numbers of BIG_DEC and BIG_INT are texts in a column.  What is unknown runs by rows, with the
numbers of Python.  Next: functions.py gives each function its rule.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, assert_never

from headrace.common.typeinfo import (
    BasicType,
    BasicTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
    TypeInformation,
    Types,
)
from headrace.expr.nodes import (
    Aggregate,
    AggregateKind,
    CallNode,
    ConstantNode,
    FieldNode,
    Node,
    WindowBound,
    walk,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.expr.functions import ColumnFunction

BOOLEAN, STRING, DATE, TIMESTAMP = (
    Types.BOOLEAN(),
    Types.STRING(),
    Types.SQL_DATE(),
    Types.SQL_TIMESTAMP(),
)
WHOLE: tuple[TypeInformation, ...] = (Types.BYTE(), Types.SHORT(), Types.INT(), Types.LONG())
_, _, INT, LONG = WHOLE
FLOAT, DOUBLE = Types.FLOAT(), Types.DOUBLE()
NUMBERS = (*WHOLE, FLOAT, DOUBLE)
# the bits of whole numbers: what does not fit is an error, in all three ways
BITS = dict(zip(WHOLE, (8, 16, 32, 64), strict=True))
# the column that holds records of a basic type, which have no fields
VALUE = "value"
_TEXT_IN_COLUMNS = (BasicType.BIG_DEC, BasicType.BIG_INT)


class NoValueType(TypeInformation):
    """The type of the constant None, which is of every type."""


NULL = NoValueType()


@dataclass(frozen=True, slots=True)
class Signature:
    """What a function takes and gives: arguments are cast to `operands` first."""

    operands: tuple[TypeInformation, ...]
    result: TypeInformation


def common_type(types: Sequence[TypeInformation]) -> TypeInformation | None:
    """The type in which values of several types meet; None if they do not."""
    known = [one for one in types if one is not NULL]
    if not known:
        return NULL
    if all(one == known[0] for one in known):
        return known[0]
    if not all(one in NUMBERS for one in known):
        return None
    if all(one in WHOLE for one in known):
        return max(known, key=WHOLE.index)
    return DOUBLE  # also of a whole number and a float: a float would lose digits


# --- rules of functions --------------------------------------------------------------------------


def comparison(types: Sequence[TypeInformation]) -> Signature | None:
    """Two values of one family give a truth value."""
    shared = common_type(types)
    if shared is None or not is_comparable(shared):
        return None
    return Signature((BOOLEAN if shared is NULL else shared,) * len(types), BOOLEAN)


def is_comparable(type_info: TypeInformation) -> bool:
    """Whether its values have the same order in Python, Arrow and Spark."""
    return type_info in (*NUMBERS, BOOLEAN, STRING, DATE, TIMESTAMP, NULL)


def arithmetic(types: Sequence[TypeInformation]) -> Signature | None:
    """Numbers give a number of their common type."""
    shared = common_type(types)
    return Signature((shared,) * len(types), shared) if shared in NUMBERS else None


def fraction(types: Sequence[TypeInformation]) -> Signature | None:
    """Numbers give a double, whatever they are."""
    shared = common_type(types)
    return Signature((DOUBLE, DOUBLE), DOUBLE) if shared in NUMBERS else None


def logic(types: Sequence[TypeInformation]) -> Signature | None:
    """Truth values give a truth value."""
    shared = common_type(types)
    return Signature((BOOLEAN,) * len(types), BOOLEAN) if shared in (BOOLEAN, NULL) else None


def null_test(types: Sequence[TypeInformation]) -> Signature | None:
    """A value of any type that a column can hold as such gives a truth value."""
    return Signature((types[0],), BOOLEAN)


def text_to(result: TypeInformation) -> Any:
    """A rule: a text gives `result`; further arguments are constants."""

    def rule(types: Sequence[TypeInformation]) -> Signature | None:
        return Signature((STRING,), result) if types[0] in (STRING, NULL) else None

    return rule


def membership(types: Sequence[TypeInformation]) -> Signature | None:
    """A value and constants of its family give a truth value."""
    return comparison(types)


# --- types of nodes ------------------------------------------------------------------------------


def type_of(node: Node, record_type: TypeInformation | None) -> TypeInformation | None:
    """The type of an expression; None if it is not known before it runs."""
    match node:
        case FieldNode():
            return field_type(record_type, node.name)
        case ConstantNode():
            return _literal_type(node.value)
        case WindowBound():
            return LONG
        case Aggregate():
            return _aggregate_type(node, record_type)
        case CallNode():
            from headrace.expr.functions import function

            found = signature_of(function(node.function), node, record_type)
            return None if found is None else found.result
    assert_never(node)


def signature_of(
    called: ColumnFunction, node: CallNode, record_type: TypeInformation | None
) -> Signature | None:
    """What a call takes and gives over records of a type; None if that is not known."""
    types = []
    for argument in called.operands(node):
        found = type_of(argument, record_type)
        if found is None or _is_opaque(found):
            return None
        types.append(found)
    return called.rule(types)


def field_type(record_type: TypeInformation | None, name: str) -> TypeInformation | None:
    """The type of a field; None if records have no fields of known types."""
    if isinstance(record_type, RowTypeInfo | TupleTypeInfo):
        names = record_type.get_field_names()
        found = record_type.get_field_types()[names.index(name)] if name in names else None
        return None if found == Types.PICKLED_BYTE_ARRAY() else found
    return record_type if name == VALUE and isinstance(record_type, BasicTypeInfo) else None


def _is_opaque(type_info: TypeInformation) -> bool:
    return isinstance(type_info, BasicTypeInfo) and type_info.basic_type in _TEXT_IN_COLUMNS


def text_field(node: Node, record_type: TypeInformation | None) -> str | None:
    """A number that Spark would take for a text, where the expression does more than pass it on."""
    if isinstance(node, FieldNode):
        return None
    for part in walk(node):
        if isinstance(part, FieldNode):
            found = field_type(record_type, part.name)
            if found is not None and _is_opaque(found):
                return part.name
    return None


def _literal_type(value: Any) -> TypeInformation | None:
    if value is None:
        return NULL
    if isinstance(value, dt.datetime) and value.tzinfo is not None:
        return None
    if type(value) is int:
        return next((one for one in (INT, LONG) if fits(value, BITS[one])), None)
    return _OF_CLASS.get(type(value))


_OF_CLASS: dict[type, TypeInformation] = {
    bool: BOOLEAN,
    float: DOUBLE,
    str: STRING,
    dt.date: DATE,
    dt.datetime: TIMESTAMP,
}


def fits(value: int, bits: int) -> bool:
    """Whether a whole number fits into some bits."""
    return -(1 << bits - 1) <= value < 1 << bits - 1


def _aggregate_type(node: Aggregate, record_type: TypeInformation | None) -> TypeInformation | None:
    if node.kind is AggregateKind.COUNT or node.argument is None:
        return LONG
    found = type_of(node.argument, record_type)
    if node.kind in (AggregateKind.MIN, AggregateKind.MAX):
        return found
    if found not in NUMBERS:
        return None
    return LONG if node.kind is AggregateKind.SUM and found in WHOLE else DOUBLE
