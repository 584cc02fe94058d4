"""Functions that choose: COALESCE, IFNULL, NULLIF, IF, GREATEST, LEAST.

scalars/compile.py computes COALESCE, IFNULL and IF lazily; the bodies here are the reference.

In: values with a type in common.  Out: one of them.  Next: scalars/lazy_parts.py
"""

from __future__ import annotations

import math
from functools import reduce
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc

from headrace.scalars import types as kinds
from headrace.scalars.common_types import comparison_type, is_mixed, merged_type
from headrace.scalars.functions.comparison import has_kernel, is_orderable
from headrace.scalars.functions.entry import BoundCall, CallTypes, FunctionEntry, Operand
from headrace.scalars.functions.rules import BOOLEAN

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.common.data_types import DataType
    from headrace.scalars.functions.entry import ArrowBody, RowBody


def _common(operands: tuple[Operand, ...]) -> DataType | None:
    found = merged_type([operand.type for operand in operands])
    return None if found is None or kinds.is_null(found) else found


def _first_rule(operands: tuple[Operand, ...]) -> CallTypes | None:
    """NULL only if all may be."""
    common = _common(operands) if operands else None
    if common is None:
        return None
    nullable = all(kinds.is_nullable(operand.type) for operand in operands)
    return CallTypes((common,) * len(operands), kinds.with_nullability(common, nullable))


def _ifnull_rule(operands: tuple[Operand, ...]) -> CallTypes | None:
    """The type of the first if it is never NULL, else what both have in common."""
    found = _first_rule(operands) if len(operands) == 2 else None
    if found is None or kinds.is_nullable(operands[0].type):
        return found
    first = operands[0].type
    second = kinds.with_nullability(first, kinds.is_nullable(operands[1].type))
    return CallTypes((first, second), first)


def _if_rule(operands: tuple[Operand, ...]) -> CallTypes | None:
    condition = BOOLEAN(operands[0]) if len(operands) == 3 else None
    common = _common(operands[1:]) if condition is not None else None
    if common is None or condition is None:
        return None
    if is_mixed(operands[1].type, operands[2].type):
        common = operands[1].type
    nullable = kinds.any_nullable(operand.type for operand in operands)
    return CallTypes((condition, common, common), kinds.with_nullability(common, nullable))


def _nullif_rule(operands: tuple[Operand, ...]) -> CallTypes | None:
    """The type of the first, whatever it is compared with."""
    if len(operands) != 2:
        return None
    one, other = (operand.type for operand in operands)
    wanted = comparison_type(one, other)
    if wanted is None or kinds.is_null(one):
        return None
    second = other if kinds.is_numeric(one) and kinds.is_numeric(other) else one
    return CallTypes((one, kinds.with_nullability(second, nullable=True)), one.nullable())


def _extreme_rule(operands: tuple[Operand, ...]) -> CallTypes | None:
    common = _common(operands) if operands else None
    if common is None or not is_orderable(common):
        return None
    return CallTypes((common,) * len(operands), common)


def _first(*values: Any) -> Any:
    return next((value for value in values if value is not None), None)


def _greater(one: Any, other: Any) -> Any:
    """NaN is the greatest number here, and -0.0 is below 0.0."""
    return other if other > one or other != other or _is_minus_zero(one, other) else one


def _less(one: Any, other: Any) -> Any:
    return other if other < one or one != one or _is_minus_zero(other, one) else one


def _is_minus_zero(value: Any, other: Any) -> bool:
    return isinstance(value, float) and value == other == 0 and math.copysign(1, value) < 0


def _extreme(choose: RowBody) -> RowBody:
    return lambda *values: reduce(choose, values)


def _extreme_kernel(*, greatest: bool) -> Callable[[BoundCall], ArrowBody | None]:
    def make(call: BoundCall) -> ArrowBody | None:
        if not has_kernel(call.result):
            return None
        floating = kinds.is_approximate(call.result)

        def choose(one: Any, other: Any) -> Any:
            # NULL of either is NULL: if_else gives NULL where its condition is
            taken = pc.greater(other, one) if greatest else pc.less(other, one)
            if floating:
                taken = pc.or_(taken, pc.is_nan(other if greatest else one))
                # a zero is told by its sign: 1 / -0.0 is below 0
                below = pc.less(pc.divide(1.0, one if greatest else other), 0.0)
                taken = pc.or_(taken, pc.and_(pc.equal(one, other), below))
            return pc.if_else(taken, other, one)

        return lambda *columns: reduce(choose, columns)

    return make


def _null_if(value: Any, other: Any) -> Any:
    return None if value is not None and other is not None and value == other else value


ENTRIES = (
    FunctionEntry(
        name="COALESCE",
        category="conditional",
        doc="The first value that is not NULL.",
        forms=("COALESCE(value, ...)",),
        rule=_first_rule,
        row=_first,
        arrow=pc.coalesce,
        strict=False,
    ),
    FunctionEntry(
        name="IFNULL",
        category="conditional",
        doc="The first value, or the second where it is NULL.",
        forms=("IFNULL(value, replacement)",),
        rule=_ifnull_rule,
        row=_first,
        arrow=pc.coalesce,
        strict=False,
    ),
    FunctionEntry(
        name="IF",
        category="conditional",
        doc="One value where a condition is true, else the other.",
        forms=("IF(condition, value, value)",),
        rule=_if_rule,
        row=lambda condition, one, other: one if condition else other,
        strict=False,
    ),
    FunctionEntry(
        name="NULLIF",
        category="conditional",
        doc="The first value, or NULL where it equals the second.",
        forms=("NULLIF(value, value)",),
        rule=_nullif_rule,
        row=_null_if,
        strict=False,
    ),
    FunctionEntry(
        name="GREATEST",
        category="conditional",
        doc="The greatest value; NULL if one is NULL.",
        forms=("GREATEST(value, ...)",),
        rule=_extreme_rule,
        row=_extreme(_greater),
        arrow_of=_extreme_kernel(greatest=True),
    ),
    FunctionEntry(
        name="LEAST",
        category="conditional",
        doc="The least value; NULL if one is NULL.",
        forms=("LEAST(value, ...)",),
        rule=_extreme_rule,
        row=_extreme(_less),
        arrow_of=_extreme_kernel(greatest=False),
    ),
)
