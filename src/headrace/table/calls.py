"""Calls of functions in methods of `Table`: rows become columns, aggregates keep their keys.

In: expressions, and functions that were given bare.  Out: nodes.  Next: table/table.py
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from headrace.common.data_types import RowType
from headrace.errors import ArgumentTypeError, InvalidArgumentError
from headrace.rel.resolve.resolver import item_name, spelled_out
from headrace.sql import ast
from headrace.sql.api_ast import (
    AliasedExpression,
    ColumnRange,
    InlineCall,
    SelectedColumns,
    WindowPropertyAccess,
)
from headrace.table.expressing.base import operand
from headrace.table.expression import Expression
from headrace.table.udf import UserDefinedFunctionWrapper, wrapped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.rel.nodes import Rel
    from headrace.rel.resolve.group_windows import WindowGroups
    from headrace.rel.resolve.resolver import Resolver

_SEVERAL = (ast.Star, SelectedColumns, ColumnRange)


def spelled(
    resolver: Resolver, rel: Rel, fields: Sequence[Expression[Any]]
) -> list[ast.SqlExpression]:
    """The items of a select: rows flattened, arguments of calls spelled out."""
    found: list[ast.SqlExpression] = []
    for field in fields:
        node = with_arguments(rel, operand(field)._value)
        if isinstance(node, ast.FieldAccess) and node.name == "*":
            found += _fields_of(resolver, rel, node.operand)
        else:
            found.append(node)
    return found


def with_arguments(rel: Rel, node: ast.SqlExpression) -> ast.SqlExpression:
    """A call whose arguments are columns one by one, not ranges of them."""
    if isinstance(node, AliasedExpression):
        return replace(node, operand=with_arguments(rel, node.operand))
    if isinstance(node, InlineCall) and node.function.takes_row:
        return _of_lines(rel, node)
    if isinstance(node, ast.FunctionCall) and node.name != ("COUNT",):
        several = (SelectedColumns, ColumnRange)
    elif isinstance(node, InlineCall):
        several = _SEVERAL  # type: ignore[assignment]
    else:
        return node
    if not any(isinstance(argument, several) for argument in node.arguments):
        return node
    arguments: list[ast.SqlExpression] = []
    for argument in node.arguments:
        arguments += spelled_out(rel, [argument]) if isinstance(argument, several) else [argument]
    return replace(node, arguments=tuple(arguments))


def _of_lines(rel: Rel, node: InlineCall) -> InlineCall:
    """A call of a function that takes whole lines, which knows the names of their columns."""
    arguments = spelled_out(rel, node.arguments)
    names = tuple(item_name(argument, place) for place, argument in enumerate(arguments))
    function = replace(node.function, row_names=names)
    return replace(node, function=function, arguments=tuple(arguments))


def _fields_of(resolver: Resolver, rel: Rel, node: ast.SqlExpression) -> list[ast.SqlExpression]:
    kind = resolver.expressions(rel).scalar(node).type
    if not isinstance(kind, RowType):
        return [node]
    prefix = f"{node.parts[-1]}$" if isinstance(node, ast.Identifier) else ""
    return [
        AliasedExpression(ast.FieldAccess(node, name), (f"{prefix}{name}",))
        for name in kind.field_names()
    ]


def row_call(
    func: Expression[Any] | UserDefinedFunctionWrapper, *kinds: str
) -> tuple[ast.SqlExpression, tuple[str, ...]]:
    """A call, and names for its columns; a bare function is called with the whole line."""
    if isinstance(func, Expression):
        node = func._value
        if isinstance(node, AliasedExpression):
            return node.operand, node.names
        return node, ()
    function = wrapped(func)
    found = function._definition.kind.removeprefix("async_")
    if kinds and found not in kinds:
        raise ArgumentTypeError(
            f"{function._name} is a {found} function, and a {' or '.join(kinds)} function is needed"
        )
    definition = function._taking_row()._definition
    return InlineCall(definition, (ast.Star(),)), function._alias_names


def flattened(
    resolver: Resolver, rel: Rel, call: ast.SqlExpression, names: Sequence[str] = ()
) -> Rel:
    """A line of one value as columns, if the value is a row."""
    made = resolver.select(rel, [AliasedExpression(with_arguments(rel, call), ("$row",))])
    return _opened(resolver, made, 0, names)


def _opened(resolver: Resolver, rel: Rel, place: int, names: Sequence[str]) -> Rel:
    """A column that is a row as columns of its own; others keep their places in front."""
    kind = rel.schema[place].type
    before = [ast.Identifier((field.name,)) for field in rel.schema[:place]]
    column = ast.Identifier((rel.schema[place].name,))
    behind = [ast.Identifier((field.name,)) for field in rel.schema[place + 1 :]]
    if not isinstance(kind, RowType):
        name = names[0] if names else ("_c0" if place == 0 else f"_c{place}")
        return resolver.select(rel, [*before, AliasedExpression(column, (name,)), *behind])
    own = kind.field_names()
    if names and len(names) != len(own):
        raise InvalidArgumentError(
            f"the function gives {len(own)} columns, and there are {len(names)} names"
        )
    fields = [
        AliasedExpression(ast.FieldAccess(column, name), (alias,))
        for name, alias in zip(own, names or own, strict=True)
    ]
    return resolver.select(rel, [*before, *fields, *behind])


def table_call(
    resolver: Resolver,
    rel: Rel,
    func: Expression[Any] | UserDefinedFunctionWrapper,
    prefix: str | None,
) -> ast.SqlExpression:
    """The call of a table function, with the names of its columns.

    Args:
        resolver: finds functions by name.
        rel: the lines it is called for.
        func: a call, or a bare function.
        prefix: put in front of names that are not said, where they could be those of `rel`;
            None if they are to be as the function says.
    """
    call, names = row_call(func, "table")
    call = with_arguments(rel, call)
    if names:
        return AliasedExpression(call, tuple(names))
    own = _columns_of(resolver, call)
    if prefix is not None:
        return AliasedExpression(call, tuple(f"{prefix}{name}" for name in own))
    return call


def _columns_of(resolver: Resolver, call: ast.SqlExpression) -> list[str]:
    definition = call.function if isinstance(call, InlineCall) else None
    if isinstance(call, ast.FunctionCall):
        definition = resolver.catalogs.find_function(call.name)
    if definition is None or not isinstance(definition.result_type, RowType):
        raise InvalidArgumentError("this is no call of a table function made by udtf")
    return definition.result_type.field_names()


def aggregated(
    resolver: Resolver,
    rel: Rel,
    keys: Sequence[ast.SqlExpression],
    func: Expression[Any] | UserDefinedFunctionWrapper,
    window: WindowGroups | None = None,
) -> Rel:
    """The keys, then the columns of what an aggregate function gives, then the window's bounds."""
    call, names = row_call(func, "aggregate")
    plain = [key for key in keys if window is None or not window.takes(key)]
    named: list[ast.SqlExpression] = [
        ast.Identifier((item_name(key, place),)) if isinstance(key, AliasedExpression) else key
        for place, key in enumerate(plain)
    ]
    items = [*named, AliasedExpression(with_arguments(rel, call), ("$agg",))]
    if window is not None:
        items += [_bound(window, what) for what in ("start", "end", "rowtime")]
    made = resolver.group(rel, keys, items, window)
    return _opened(resolver, made, len(plain), names)


def _bound(window: WindowGroups, what: Any) -> ast.SqlExpression:
    access = WindowPropertyAccess(ast.Identifier((window.alias,)), what)
    return AliasedExpression(access, (bound_name(window.alias, what),))


def bound_name(alias: str, what: str) -> str:
    """The name of a column that holds a bound of a window until select asks for it."""
    return f"${alias}.{what}"
