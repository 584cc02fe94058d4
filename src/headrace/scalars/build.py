"""Makes typed nodes: finds the function, its form, and puts in the casts that nobody wrote.

    call("+", [Ref(0, INT), Literal(1.5, DECIMAL(2, 1))])

In: names and arguments (rel/resolve).  Out: nodes (scalars/nodes.py), or an error that lists the
forms that a function has.  Next: scalars/functions/registry.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.common import data_types as t
from headrace.errors import InvalidArgumentError
from headrace.scalars import types as kinds
from headrace.scalars.casts import check_castable
from headrace.scalars.common_types import common_type
from headrace.scalars.functions.entry import NO_LITERAL, FunctionEntry, Operand
from headrace.scalars.functions.registry import lookup
from headrace.scalars.nodes import Call, Case, Cast, Literal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.common.data_types import DataType
    from headrace.scalars.nodes import Scalar


def call(name: str, arguments: Sequence[Scalar]) -> Call:
    """A call of a function.

    Raises:
        InvalidArgumentError: there is no such function, or it does not take these arguments.
    """
    entry = lookup(name)
    operands = tuple(operand_of(argument) for argument in arguments)
    types = entry.rule(operands)
    if types is None:
        raise _no_form(entry, operands)
    pairs = zip(arguments, types.arguments, strict=True)
    return Call(entry.name, tuple(implicit_cast(a, wanted) for a, wanted in pairs), types.result)


def operand_of(argument: Scalar) -> Operand:
    """An argument as rules see it."""
    return Operand(argument.type, argument.value if isinstance(argument, Literal) else NO_LITERAL)


def _no_form(entry: FunctionEntry, operands: tuple[Operand, ...]) -> InvalidArgumentError:
    given = ", ".join(str(operand.type.nullable()) for operand in operands)
    message = f"{entry.name} does not take ({given})"
    forms = " or ".join(entry.forms)
    return InvalidArgumentError(message, fix=f"write {forms}; CAST makes an argument fit")


def implicit_cast(argument: Scalar, wanted: DataType) -> Scalar:
    """The argument with the type that is wanted; a cast around it only if it has another."""
    if kinds.same_type(argument.type, wanted):
        return argument
    nullable = kinds.is_nullable(argument.type)
    if isinstance(argument, Literal) and argument.value is None:
        return Literal(None, wanted.nullable())
    return Cast(argument, kinds.with_nullability(wanted, nullable))


def cast(argument: Scalar, target: DataType, *, lenient: bool = False) -> Scalar:
    """CAST, or TRY_CAST.

    Raises:
        InvalidArgumentError: values of the one type never become values of the other.
    """
    check_castable(argument.type, target)
    nullable = lenient or kinds.is_nullable(argument.type)
    wanted = kinds.with_nullability(target, nullable)
    if isinstance(argument, Literal) and argument.value is None:
        return Literal(None, wanted)
    if kinds.same_type(argument.type, wanted) and not lenient:
        return argument
    return Cast(argument, wanted, lenient)


def case(branches: Sequence[tuple[Scalar, Scalar]], otherwise: Scalar | None = None) -> Case:
    """CASE, whose values get the type they have in common.

    Raises:
        InvalidArgumentError: they have none, or a condition is not BOOLEAN.
    """
    last = Literal(None, t.NullType()) if otherwise is None else otherwise
    values = [*(value for _, value in branches), last]
    common = common_type([value.type for value in values])
    if common is None:
        shown = ", ".join(str(value.type.nullable()) for value in values)
        message = f"the branches of CASE have no type in common: {shown}"
        raise InvalidArgumentError(message, fix="CAST them to one type")
    made = tuple((_condition(c), implicit_cast(value, common)) for c, value in branches)
    return Case(made, implicit_cast(last, common), common)


def _condition(condition: Scalar) -> Scalar:
    if kinds.is_boolean(condition.type):
        return condition
    if kinds.is_null(condition.type):
        return Literal(None, t.BooleanType())
    message = f"a condition is of type {condition.type}, not BOOLEAN"
    raise InvalidArgumentError(message, fix="compare it, as in x <> 0")
