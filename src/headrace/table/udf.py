"""``udf``, ``udtf``, ``udaf``, ``udtaf``: functions of the user as functions of tables.

In: a function or an object, and its types.  Out: a wrapper that makes expressions when it is
called, and a `UserFunctionDefinition` for the plan.  Next: api/table/definitions.py
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from headrace.api.table.definitions import UserFunctionDefinition
from headrace.api.table.functions import (
    AggregateFunction,
    AsyncScalarFunction,
    DelegatingAsyncScalarFunction,
    DelegatingPandasAggregateFunction,
    DelegatingScalarFunction,
    DelegationTableFunction,
    FunctionContext,
    ImperativeAggregateFunction,
    ScalarFunction,
    TableAggregateFunction,
    TableFunction,
    UserDefinedFunction,
)
from headrace.common.data_types import DataType, DataTypes, MapType, RowType
from headrace.errors import ArgumentTypeError, InvalidArgumentError
from headrace.table.parsing import parsed_type

if TYPE_CHECKING:
    from headrace.table.expression import Expression

__all__ = [
    "AggregateFunction",
    "AsyncScalarFunction",
    "FunctionContext",
    "ScalarFunction",
    "TableAggregateFunction",
    "TableFunction",
    "UserDefinedFunction",
    "udaf",
    "udf",
    "udtaf",
    "udtf",
]

Types = DataType | str | Sequence[DataType | str] | None


class UserDefinedFunctionWrapper:
    """A function of the user: called with expressions it makes one.

    Example:
        >>> from headrace.table.expressions import col
        >>> add_one = udf(lambda i: i + 1, result_type=DataTypes.BIGINT(), name="add_one")
        >>> str(add_one(col("a")))
        'add_one(a)'
    """

    def __init__(self, definition: UserFunctionDefinition, func: Any) -> None:
        self._definition = definition
        self._func = func
        self._name = definition.name
        self._alias_names: tuple[str, ...] = ()

    @property
    def _deterministic(self) -> bool:
        return self._definition.deterministic

    @property
    def _input_types(self) -> tuple[DataType, ...] | None:
        return self._definition.input_types

    def __call__(self, *args: Any) -> Expression[Any]:
        """The call as an expression."""
        from headrace.table.expressions import call

        return call(self, *args)

    def alias(self, *alias_names: str) -> UserDefinedFunctionWrapper:
        """The same with names for the columns that it gives."""
        self._alias_names = alias_names
        return self

    def _taking_row(self) -> UserDefinedFunctionWrapper:
        """The same for whole lines, as map, flat_map, aggregate and flat_aggregate want it."""
        wrapper = type(self)(replace(self._definition, takes_row=True), self._func)
        wrapper._alias_names = self._alias_names
        return wrapper


class UserDefinedScalarFunctionWrapper(UserDefinedFunctionWrapper):
    """A scalar function."""


class UserDefinedAsyncScalarFunctionWrapper(UserDefinedFunctionWrapper):
    """A scalar function that may wait."""


class UserDefinedTableFunctionWrapper(UserDefinedFunctionWrapper):
    """A table function."""


class UserDefinedAggregateFunctionWrapper(UserDefinedFunctionWrapper):
    """An aggregate function, or a table aggregate function."""


_WRAPPERS: dict[str, type[UserDefinedFunctionWrapper]] = {
    "scalar": UserDefinedScalarFunctionWrapper,
    "async_scalar": UserDefinedAsyncScalarFunctionWrapper,
    "table": UserDefinedTableFunctionWrapper,
    "aggregate": UserDefinedAggregateFunctionWrapper,
    "table_aggregate": UserDefinedAggregateFunctionWrapper,
}


def _check_callable(func: Any) -> None:
    if inspect.isclass(func) or not (isinstance(func, UserDefinedFunction) or callable(func)):
        raise ArgumentTypeError(
            f"Invalid function: not a function or callable (__call__ is not defined): {type(func)}",
            fix="give a function, or an object of your class: udf(MyFunction(), ...)",
        )


def _name_of(func: Any, name: str | None) -> str:
    return name or str(getattr(func, "__name__", None) or type(func).__name__)


def _is_deterministic(func: Any, deterministic: bool | None) -> bool:
    if not isinstance(func, UserDefinedFunction):
        return True if deterministic is None else deterministic
    if deterministic is not None and deterministic != func.is_deterministic():
        raise InvalidArgumentError(
            f"Inconsistent deterministic: {deterministic} and {func.is_deterministic()}",
            fix="say it at one place only",
        )
    return func.is_deterministic()


def _input_types(given: Types) -> tuple[DataType, ...] | None:
    if given is None:
        return None
    return tuple(_one_type(each, "input_type", "input_type") for each in _several(given))


def _several(given: Types) -> list[Any]:
    if isinstance(given, RowType):
        return list(given.field_types())
    if isinstance(given, DataType | str):
        return [given]
    return list(given or ())


def _one_type(given: Any, name: str, shown: str) -> DataType:
    if isinstance(given, DataType):
        return given
    if isinstance(given, str):
        return parsed_type(given)
    raise ArgumentTypeError(
        f"Invalid {name}: {shown} should be DataType or str but "
        f"{'contains' if name != 'returnType' else 'is'} {given}",
        fix="give a type of DataTypes, such as DataTypes.BIGINT()",
    )


def _check_func_type(func_type: str, *known: str) -> None:
    if func_type not in known:
        known_text = f"one of '{', '.join(known)}'" if len(known) > 1 else f"'{known[0]}'"
        raise InvalidArgumentError(f"The func_type must be {known_text}, got {func_type}.")


def _create_udf(
    f: Any,
    input_types: Types,
    result_type: DataType | str | None,
    func_type: str,
    deterministic: bool | None,
    name: str | None,
) -> UserDefinedFunctionWrapper:
    _check_callable(f)
    asynchronous = isinstance(f, AsyncScalarFunction) or inspect.iscoroutinefunction(f)
    if asynchronous and func_type == "pandas":
        raise InvalidArgumentError(
            "Async scalar functions do not support pandas func_type",
            fix="use func_type='general', which is the default",
        )
    function = f
    if not isinstance(f, UserDefinedFunction):
        function = DelegatingAsyncScalarFunction(f) if asynchronous else DelegatingScalarFunction(f)
    definition = UserFunctionDefinition(
        kind="async_scalar" if asynchronous else "scalar",
        name=_name_of(f, name),
        function=function,
        result_type=_one_type(result_type, "returnType", "returnType"),
        input_types=_input_types(input_types),
        deterministic=_is_deterministic(f, deterministic),
        pandas=func_type == "pandas",
    )
    return _WRAPPERS[definition.kind](definition, f)


def _create_udtf(
    f: Any, input_types: Types, result_types: Types, deterministic: bool | None, name: str | None
) -> UserDefinedFunctionWrapper:
    _check_callable(f)
    definition = UserFunctionDefinition(
        kind="table",
        name=_name_of(f, name),
        function=f if isinstance(f, UserDefinedFunction) else DelegationTableFunction(f),
        result_type=_columns_of(result_types),
        input_types=_input_types(input_types),
        deterministic=_is_deterministic(f, deterministic),
    )
    return _WRAPPERS[definition.kind](definition, f)


def _columns_of(result_types: Types) -> RowType:
    """The columns of a table function; without names they are f0, f1, ..."""
    if isinstance(result_types, str):
        parsed = parsed_type(result_types)
        result_types = parsed if isinstance(parsed, RowType) else [parsed]
    if isinstance(result_types, RowType):
        return result_types
    kinds = [_one_type(each, "result_type", "result_type") for each in _several(result_types)]
    if not kinds:
        raise ArgumentTypeError("udtf needs result_types", fix="result_types=[DataTypes.STRING()]")
    return DataTypes.ROW([DataTypes.FIELD(f"f{i}", kind) for i, kind in enumerate(kinds)])


def _create_udaf(
    f: Any,
    input_types: Types,
    result_type: DataType | str | None,
    accumulator_type: DataType | str | None,
    func_type: str,
    deterministic: bool | None,
    name: str | None,
    kind: Literal["aggregate", "table_aggregate"] = "aggregate",
) -> UserDefinedFunctionWrapper:
    _check_callable(f)
    pandas = func_type == "pandas"
    result = f.get_result_type() if result_type is None else result_type
    found = _one_type(result, "returnType", "returnType")
    if pandas and isinstance(found, MapType):
        raise ArgumentTypeError(
            f"Invalid returnType: Pandas UDAF doesn't support DataType type {found} currently",
            fix="use an ARRAY of rows",
        )
    definition = UserFunctionDefinition(
        kind=kind,
        name=_name_of(f, name),
        function=_aggregate_object(f, pandas=pandas),
        result_type=found,
        input_types=_input_types(input_types),
        accumulator_type=_accumulator_type(f, accumulator_type, found, pandas=pandas),
        deterministic=_is_deterministic(f, deterministic),
        pandas=pandas,
    )
    return _WRAPPERS[definition.kind](definition, f)


def _aggregate_object(f: Any, *, pandas: bool) -> UserDefinedFunction:
    if isinstance(f, UserDefinedFunction):
        return f
    if pandas:
        return DelegatingPandasAggregateFunction(f)
    raise ArgumentTypeError(
        f"{f!r} is a plain function, and an aggregate needs an accumulator",
        fix="derive from AggregateFunction, or use func_type='pandas'",
    )


def _accumulator_type(
    f: Any, given: DataType | str | None, result: DataType, *, pandas: bool
) -> DataType:
    if given is None and pandas:
        return DataTypes.ARRAY(result)
    kind = f.get_accumulator_type() if given is None else given
    return _one_type(kind, "accumulator_type", "accumulator_type")


def udf(
    f: Callable[..., Any] | ScalarFunction | AsyncScalarFunction | None = None,
    input_types: Types = None,
    result_type: DataType | str | None = None,
    deterministic: bool | None = None,
    name: str | None = None,
    func_type: str = "general",
) -> Any:
    """A scalar function: one value for every line. Also a decorator.

    Args:
        f: a function, or an object of a ScalarFunction or AsyncScalarFunction.
        input_types: what it wants; by default it takes anything.
        result_type: what it gives, as a type or as text.
        deterministic: whether equal arguments give equal results.
        name: for plans and messages.
        func_type: general, or pandas for functions of series.
    """
    _check_func_type(func_type, "general", "pandas")
    options = (input_types, result_type, func_type, deterministic, name)
    if f is None:
        return functools.partial(_later, _create_udf, options)
    return _create_udf(f, *options)


def udtf(
    f: Callable[..., Any] | TableFunction | None = None,
    input_types: Types = None,
    result_types: Types = None,
    deterministic: bool | None = None,
    name: str | None = None,
) -> Any:
    """A table function: any number of lines for every line. Also a decorator.

    Args:
        f: a function, or an object of a TableFunction.
        input_types: what it wants; by default it takes anything.
        result_types: the columns it gives.
        deterministic: whether equal arguments give equal results.
        name: for plans and messages.
    """
    options = (input_types, result_types, deterministic, name)
    if f is None:
        return functools.partial(_later, _create_udtf, options)
    return _create_udtf(f, *options)


def udaf(
    f: Callable[..., Any] | AggregateFunction[Any, Any] | None = None,
    input_types: Types = None,
    result_type: DataType | str | None = None,
    accumulator_type: DataType | str | None = None,
    deterministic: bool | None = None,
    name: str | None = None,
    func_type: str = "general",
) -> Any:
    """An aggregate function: one value for many lines. Also a decorator.

    Args:
        f: an object of an AggregateFunction; for pandas also a function of series.
        input_types: what it wants; by default it takes anything.
        result_type: what it gives; by default what its method says.
        accumulator_type: of its accumulator; by default what its method says.
        deterministic: whether equal arguments give equal results.
        name: for plans and messages.
        func_type: general, or pandas for functions of series.
    """
    _check_func_type(func_type, "general", "pandas")
    options = (input_types, result_type, accumulator_type, func_type, deterministic, name)
    if f is None:
        return functools.partial(_later, _create_udaf, options)
    return _create_udaf(f, *options)


def udtaf(
    f: Callable[..., Any] | TableAggregateFunction[Any, Any] | None = None,
    input_types: Types = None,
    result_type: DataType | str | None = None,
    accumulator_type: DataType | str | None = None,
    deterministic: bool | None = None,
    name: str | None = None,
    func_type: str = "general",
) -> Any:
    """A table aggregate function: lines for many lines. Also a decorator.

    Args:
        f: an object of a TableAggregateFunction.
        input_types: what it wants; by default it takes anything.
        result_type: the columns it gives; by default what its method says.
        accumulator_type: of its accumulator; by default what its method says.
        deterministic: whether equal arguments give equal results.
        name: for plans and messages.
        func_type: general.
    """
    _check_func_type(func_type, "general")
    options = (input_types, result_type, accumulator_type, func_type, deterministic, name)
    if f is None:
        return functools.partial(_later, _create_udaf, (*options, "table_aggregate"))
    return _create_udaf(f, *options, "table_aggregate")


def _later(create: Callable[..., Any], options: tuple[Any, ...], f: Any) -> Any:
    """What a decorator does with the function below it."""
    return create(f, *options)


def wrapped(function: Any) -> UserDefinedFunctionWrapper:
    """A wrapper as it is; an object of a class of aggregates as a function of what it says.

    Raises:
        TypeError: it is neither.
    """
    if isinstance(function, UserDefinedFunctionWrapper):
        return function
    if isinstance(function, AggregateFunction):
        return _create_udaf(function, None, None, None, "general", None, None)
    if isinstance(function, ImperativeAggregateFunction):
        return _create_udaf(function, None, None, None, "general", None, None, "table_aggregate")
    raise ArgumentTypeError(
        f"{function!r} is no function of tables", fix="make one with udf, udtf, udaf or udtaf"
    )
