"""Comparisons, IS DISTINCT FROM, BETWEEN, IN, and what is NULL or true.

Texts that are compared with numbers, dates or booleans are read as such.  NaN is equal to nothing.

In: values of one type, after casts.  Out: BOOLEAN.  Next: scalars/functions/patterns.py (LIKE)
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from headrace.common import data_types as t
from headrace.scalars import types as kinds
from headrace.scalars.common_types import common_type, comparison_type
from headrace.scalars.functions.entry import BoundCall, CallTypes, FunctionEntry, Operand
from headrace.scalars.functions.rules import ANY, BOOLEAN, takes

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.common.data_types import DataType
    from headrace.scalars.functions.entry import ArrowBody, RowBody, Rule

_TRUTH = t.BooleanType()
_SURE = t.BooleanType().not_null()


def is_orderable(type_: DataType) -> bool:
    """Whether values are more or less than others."""
    return not isinstance(type_, t.MapType | t.MultisetType | t.RowType | t.ArrayType | t.RawType)


def has_kernel(type_: DataType) -> bool:
    """Whether Arrow compares columns of a type as Flink does."""
    return is_orderable(type_) and not kinds.is_null(type_)


def _compared(operands: tuple[Operand, ...], *, ordered: bool) -> DataType | None:
    """The type in which all operands are compared."""
    types = [operand.type for operand in operands]
    found: DataType | None = types[0]
    for other in types[1:]:
        found = None if found is None else comparison_type(found, other, ordered=ordered)
    if found is None or (ordered and not is_orderable(found)):
        return None
    return found


def _rule(count: int, *, ordered: bool, nullable: bool | None = None) -> Rule:
    def rule(operands: tuple[Operand, ...]) -> CallTypes | None:
        if len(operands) != count:
            return None
        wanted = _compared(operands, ordered=ordered)
        if wanted is None:
            return None
        may_be_null = kinds.any_nullable(o.type for o in operands) if nullable is None else nullable
        return CallTypes((wanted,) * count, _TRUTH if may_be_null else _SURE)

    return rule


def _kernel_for(kernel: ArrowBody) -> Callable[[BoundCall], ArrowBody | None]:
    return lambda call: kernel if has_kernel(call.arguments[0]) else None


def _comparison(name: str, doc: str, row: RowBody, kernel: ArrowBody) -> FunctionEntry:
    ordered = name not in ("=", "<>")
    return FunctionEntry(
        name=name,
        category="comparison",
        doc=doc,
        forms=(f"value {name} value",),
        rule=_rule(2, ordered=ordered),
        row=row,
        arrow_of=_kernel_for(kernel),
    )


# --- IS DISTINCT FROM ------------------------------------------------------------------------


def _same(left: Any, right: Any) -> bool:
    if left is None or right is None:
        return left is None and right is None
    return bool(left == right)


def _same_kernel(left: Any, right: Any) -> Any:
    both = pc.and_(pc.is_null(left), pc.is_null(right))
    return pc.or_(both, _true(pc.equal(left, right)))


# --- BETWEEN ---------------------------------------------------------------------------------


Truth: TypeAlias = bool | None


def _and(left: Truth, right: Truth) -> Truth:
    if left is False or right is False:
        return False
    return None if left is None or right is None else True


def _least(left: Any, right: Any) -> bool | None:
    return None if left is None or right is None else bool(left <= right)


def _between(value: Any, low: Any, high: Any) -> bool | None:
    return _and(_least(low, value), _least(value, high))


def _or(left: Truth, right: Truth) -> Truth:
    inner = _and(_not(left), _not(right))
    return _not(inner)


def _not(value: Truth) -> Truth:
    return None if value is None else not value


def _between_either(value: Any, low: Any, high: Any) -> bool | None:
    return _or(_between(value, low, high), _between(value, high, low))


def _between_kernel(value: Any, low: Any, high: Any) -> Any:
    return pc.and_kleene(pc.less_equal(low, value), pc.less_equal(value, high))


def _either_kernel(value: Any, low: Any, high: Any) -> Any:
    return pc.or_kleene(_between_kernel(value, low, high), _between_kernel(value, high, low))


def _between_entry(name: str, row: RowBody, kernel: ArrowBody, *, negated: bool) -> FunctionEntry:
    title = f"{'NOT ' if negated else ''}{name}"
    return FunctionEntry(
        name=title,
        category="comparison",
        doc=f"Whether a value is {'not ' if negated else ''}within two others.",
        forms=(f"value {title} value AND value",),
        rule=_rule(3, ordered=True),
        row=(lambda *values: _not(row(*values))) if negated else row,
        arrow_of=_kernel_for((lambda *columns: pc.invert(kernel(*columns))) if negated else kernel),
        strict=False,
    )


# --- IN --------------------------------------------------------------------------------------


def _in_rule(operands: tuple[Operand, ...]) -> CallTypes | None:
    """The list has one type of its own, then it is compared with the value."""
    if len(operands) < 2:
        return None
    listed = common_type([operand.type for operand in operands[1:]])
    wanted = None if listed is None else comparison_type(operands[0].type, listed)
    if wanted is None:
        return None
    nullable = kinds.any_nullable(operand.type for operand in operands)
    return CallTypes((wanted,) * len(operands), _TRUTH if nullable else _SURE)


def _in(value: Any, *listed: Any) -> bool | None:
    if value is None:
        return None
    if any(item is not None and item == value for item in listed):
        return True
    return None if any(item is None for item in listed) else False


def _in_kernel(call: BoundCall) -> ArrowBody | None:
    if not has_kernel(call.arguments[0]) or kinds.is_approximate(call.arguments[0]):
        return None

    def run(value: Any, *listed: Any) -> Any:
        if all(isinstance(item, pa.Scalar) and item.is_valid for item in listed):
            members = pa.array([item.as_py() for item in listed], listed[0].type)
            found = pc.is_in(value, value_set=members)
            return pc.if_else(pc.is_valid(value), found, pa.scalar(None, pa.bool_()))
        result = pc.equal(value, listed[0])
        for item in listed[1:]:
            result = pc.or_kleene(result, pc.equal(value, item))
        return result

    return run


def _in_entry(*, negated: bool) -> FunctionEntry:
    name = "NOT IN" if negated else "IN"

    def kernel(call: BoundCall) -> ArrowBody | None:
        inner = _in_kernel(call)
        if inner is None or not negated:
            return inner
        return lambda *columns: pc.invert(inner(*columns))

    return FunctionEntry(
        name=name,
        category="comparison",
        doc=f"Whether a value is {'none' if negated else 'one'} of a list.",
        forms=(f"value {name} (value, ...)",),
        rule=_in_rule,
        row=(lambda *values: _not(_in(*values))) if negated else _in,
        arrow_of=kernel,
        strict=False,
    )


# --- IS ... ----------------------------------------------------------------------------------


def _is_entry(what: str, doc: str, row: RowBody, kernel: ArrowBody, rule: Rule) -> FunctionEntry:
    return FunctionEntry(
        name=what,
        category="logical" if "NULL" not in what else "comparison",
        doc=doc,
        forms=(f"value {what}",),
        rule=rule,
        row=row,
        arrow=kernel,
        strict=False,
    )


_ASKED = takes(ANY, gives=_SURE, nullable=False)
_ASKED_TRUTH = takes(BOOLEAN, gives=_SURE, nullable=False)


def _true(column: Any) -> Any:
    return pc.fill_null(column, fill_value=False)


def _true_or_null(column: Any) -> Any:
    return pc.fill_null(column, fill_value=True)


ENTRIES = (
    _comparison("=", "Whether two values are equal.", operator.eq, pc.equal),
    _comparison("<>", "Whether two values differ.", operator.ne, pc.not_equal),
    _comparison("<", "Whether the first is less.", operator.lt, pc.less),
    _comparison("<=", "Whether the first is less or equal.", operator.le, pc.less_equal),
    _comparison(">", "Whether the first is more.", operator.gt, pc.greater),
    _comparison(">=", "Whether the first is more or equal.", operator.ge, pc.greater_equal),
    FunctionEntry(
        name="IS NOT DISTINCT FROM",
        category="comparison",
        doc="Whether two values are equal, where NULL equals NULL.",
        forms=("value IS NOT DISTINCT FROM value",),
        rule=_rule(2, ordered=False, nullable=False),
        row=_same,
        arrow_of=_kernel_for(_same_kernel),
        strict=False,
    ),
    FunctionEntry(
        name="IS DISTINCT FROM",
        category="comparison",
        doc="Whether two values differ, where NULL equals NULL.",
        forms=("value IS DISTINCT FROM value",),
        rule=_rule(2, ordered=False, nullable=False),
        row=lambda left, right: not _same(left, right),
        arrow_of=_kernel_for(lambda left, right: pc.invert(_same_kernel(left, right))),
        strict=False,
    ),
    _between_entry("BETWEEN", _between, _between_kernel, negated=False),
    _between_entry("BETWEEN", _between, _between_kernel, negated=True),
    _between_entry("BETWEEN SYMMETRIC", _between_either, _either_kernel, negated=False),
    _between_entry("BETWEEN SYMMETRIC", _between_either, _either_kernel, negated=True),
    _in_entry(negated=False),
    _in_entry(negated=True),
    _is_entry("IS NULL", "Whether it is NULL.", lambda v: v is None, pc.is_null, _ASKED),
    _is_entry(
        "IS NOT NULL", "Whether it is not NULL.", lambda v: v is not None, pc.is_valid, _ASKED
    ),
    _is_entry(
        "IS TRUE",
        "Whether it is true.",
        lambda v: v is True,
        _true,
        _ASKED_TRUTH,
    ),
    _is_entry(
        "IS NOT TRUE",
        "Whether it is false or NULL.",
        lambda v: v is not True,
        lambda c: pc.invert(_true(c)),
        _ASKED_TRUTH,
    ),
    _is_entry(
        "IS FALSE",
        "Whether it is false.",
        lambda v: v is False,
        lambda c: pc.invert(_true_or_null(c)),
        _ASKED_TRUTH,
    ),
    _is_entry(
        "IS NOT FALSE",
        "Whether it is true or NULL.",
        lambda v: v is not False,
        _true_or_null,
        _ASKED_TRUTH,
    ),
    _is_entry("IS UNKNOWN", "Whether it is NULL.", lambda v: v is None, pc.is_null, _ASKED_TRUTH),
    _is_entry(
        "IS NOT UNKNOWN",
        "Whether it is not NULL.",
        lambda v: v is not None,
        pc.is_valid,
        _ASKED_TRUTH,
    ),
)
