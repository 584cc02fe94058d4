"""Makes the rules of functions out of parameters.

    rule=takes(STRING, INT, gives=VARCHAR)                     two arguments
    rule=takes(STRING, INT, INT, needs=2, gives=VARCHAR)       the third may be left out
    rule=takes(ANY, repeats=True, gives=first_argument)        one or more
    rule=one_of(takes(...), takes(...))                        several forms

A parameter says which arguments it takes and what they are cast to; None if it does not take one.
The result may be NULL if an argument may, unless `nullable` says otherwise.

In: modules of this folder.  Out: rules, that scalars/build.py asks.  Next: scalars/types.py
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from headrace.common import data_types as t
from headrace.scalars import types as kinds
from headrace.scalars.functions.entry import NO_LITERAL, CallTypes, Operand, Rule

if TYPE_CHECKING:
    from headrace.common.data_types import DataType

# Gives the type an argument has to have; None if the parameter does not take it.
Parameter = Callable[[Operand], "DataType | None"]
# Makes the type of the result out of the types of the arguments, after casts.
ResultOf = Callable[[tuple["DataType", ...]], "DataType"]


def family(belongs: Callable[[DataType], bool], null_as: DataType) -> Parameter:
    """Takes arguments of a family as they are; a bare NULL becomes `null_as`."""

    def parameter(operand: Operand) -> DataType | None:
        if kinds.is_null(operand.type):
            return null_as
        return operand.type if belongs(operand.type) else None

    return parameter


def cast_to(target: DataType, *sources: type[DataType]) -> Parameter:
    """Takes arguments of the target's class as they are, and those of the sources with a cast."""

    def parameter(operand: Operand) -> DataType | None:
        if kinds.is_null(operand.type):
            return target.nullable()
        if isinstance(operand.type, type(target)):
            return operand.type
        if isinstance(operand.type, sources):
            return kinds.with_nullability(target, kinds.is_nullable(operand.type))
        return None

    return parameter


VARCHAR = t.VarCharType(kinds.MAX_LENGTH)
VARBINARY = t.VarBinaryType(kinds.MAX_LENGTH)

# Parameters.  Numbers are widened as Flink does without being asked; nothing is narrowed.
NUMERIC = family(kinds.is_numeric, t.DoubleType())
INTEGRAL = family(kinds.is_integral, t.IntType())
EXACT = family(kinds.is_exact, t.IntType())
STRING = family(kinds.is_character, VARCHAR)
BINARY = family(kinds.is_binary, VARBINARY)
BOOLEAN = family(kinds.is_boolean, t.BooleanType())
DATE = family(kinds.is_date, t.DateType())
TIME = family(kinds.is_time, t.TimeType(0))
TIMESTAMP = family(kinds.is_timestamp, t.TimestampType(3))
TIMESTAMP_LTZ = family(kinds.is_local_timestamp, t.LocalZonedTimestampType(3))
ANY_TIMESTAMP = family(kinds.is_any_timestamp, t.TimestampType(3))
DATETIME = family(kinds.is_datetime, t.TimestampType(3))
INTERVAL = family(
    kinds.is_interval, t.DayTimeIntervalType(t.DayTimeIntervalType.DayTimeResolution.DAY_TO_SECOND)
)
ARRAY = family(lambda type_: isinstance(type_, t.ArrayType), t.ArrayType(t.NullType()))
MAP = family(lambda type_: isinstance(type_, t.MapType), t.MapType(t.NullType(), t.NullType()))
ROW = family(lambda type_: isinstance(type_, t.RowType), t.RowType([]))
INT = cast_to(t.IntType(), t.TinyIntType, t.SmallIntType)
BIGINT = cast_to(t.BigIntType(), t.TinyIntType, t.SmallIntType, t.IntType)
DOUBLE = cast_to(t.DoubleType(), t.NumericType)


def any_type(operand: Operand) -> DataType:
    """Takes everything as it is."""
    return operand.type


ANY: Parameter = any_type


def literal(parameter: Parameter) -> Parameter:
    """The same parameter for constants only."""

    def constant(operand: Operand) -> DataType | None:
        return None if operand.literal is NO_LITERAL else parameter(operand)

    return constant


def either(*parameters: Parameter) -> Parameter:
    """What the first of them takes that takes it."""

    def parameter(operand: Operand) -> DataType | None:
        tried = (each(operand) for each in parameters)
        return next((found for found in tried if found is not None), None)

    return parameter


def takes(
    *parameters: Parameter,
    gives: DataType | ResultOf,
    needs: int | None = None,
    repeats: bool = False,
    nullable: bool | None = None,
) -> Rule:
    """A rule of one form.

    Args:
        parameters: in order.
        gives: the type of the result, or what makes it of the arguments' types.
        needs: how many arguments there must be; all parameters by default.
        repeats: whether the last parameter may be there several times.
        nullable: whether the result may be NULL; None: if an argument may (or, with `gives`
            a function, as that says if it says nullable).
    """
    least = len(parameters) if needs is None else needs

    def rule(operands: tuple[Operand, ...]) -> CallTypes | None:
        if len(operands) < least or (len(operands) > len(parameters) and not repeats):
            return None
        last = len(parameters) - 1
        wanted = [parameters[min(i, last)](operand) for i, operand in enumerate(operands)]
        arguments = tuple(type_ for type_ in wanted if type_ is not None)
        if len(arguments) < len(operands):
            return None
        result = gives(arguments) if callable(gives) else gives
        may_be_null = kinds.any_nullable(arguments) if nullable is None else nullable
        return CallTypes(arguments, kinds.with_nullability(result, may_be_null))

    return rule


def one_of(*rules: Rule) -> Rule:
    """The first rule that fits."""

    def rule(operands: tuple[Operand, ...]) -> CallTypes | None:
        tried = (each(operands) for each in rules)
        return next((found for found in tried if found is not None), None)

    return rule


def nothing(gives: DataType) -> Rule:
    """The rule of a function without arguments; its result is never NULL."""
    return takes(gives=gives, nullable=False)


def first_argument(types: tuple[DataType, ...]) -> DataType:
    """The result has the type of the first argument."""
    return types[0]
