"""Functions whose calls have a syntax or a meaning of their own.

In: a `FunctionCall` of the syntax tree.  Out: a scalar.  Most functions need nothing of this.
Next: ../functions.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.common import data_types as t
from headrace.rel.functions import call
from headrace.rel.resolve.problems import not_there, problem
from headrace.rel.resolve.type_names import data_type
from headrace.scalars import json_arguments
from headrace.scalars.aggregate_rules import is_aggregate
from headrace.scalars.nodes import Literal
from headrace.sql import ast

if TYPE_CHECKING:
    from headrace.rel.resolve.expressions import ExpressionResolver
    from headrace.scalars.nodes import Scalar

_GROUP_AUXILIARY = {
    f"{window}_{part}"
    for window in ("TUMBLE", "HOP", "SESSION")
    for part in ("START", "END", "ROWTIME", "PROCTIME")
}


def plain_call(resolver: ExpressionResolver, node: ast.FunctionCall) -> Scalar:
    """A call of a function of SQL."""
    name = node.name[-1].upper()
    if len(node.name) > 1:
        raise problem(f"there is no function {'.'.join(node.name)}", node)
    if is_aggregate(name):
        raise problem(
            f"{name} is an aggregate: it cannot stand here", node, "use it in SELECT or HAVING"
        )
    if name in _GROUP_AUXILIARY or name in ("TUMBLE", "HOP", "SESSION"):
        raise problem(
            f"{name} can only be used with GROUP BY {name.split('_')[0]}(...)",
            node,
            "or use a window table function: FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), ...))",
        )
    if node.json is not None or name.startswith("JSON_"):
        return _json_call(resolver, node, name)
    operands = tuple(_argument(resolver, each) for each in node.arguments)
    if name == "CURRENT_WATERMARK" and not all(map(resolver.scope.is_rowtime, operands)):
        raise problem(
            "CURRENT_WATERMARK takes a time attribute of event time",
            node,
            "name the column of WATERMARK FOR",
        )
    return call(name, operands, node)


def _argument(resolver: ExpressionResolver, node: ast.SqlExpression) -> Scalar:
    match node:
        case ast.SqlKeyword():
            return Literal(node.name, t.CharType(max(1, len(node.name))).not_null())
        case ast.NamedArgument():
            raise not_there("an argument by name", node, "give the arguments in order")
        case ast.DefaultArgument():
            raise not_there("DEFAULT as an argument", node, "leave the argument out")
        case _:
            return resolver.scalar(node)


def _json_call(resolver: ExpressionResolver, node: ast.FunctionCall, name: str) -> Scalar:
    """JSON functions: clauses become constants (scalars/json_arguments.py says where)."""
    clauses = node.json or ast.JsonClauses()
    entries = [each for each in node.arguments if isinstance(each, ast.JsonEntry)]
    if name == "JSON_OBJECT":
        pairs = [(resolver.scalar(each.key), resolver.scalar(each.value)) for each in entries]
        return call(name, json_arguments.json_object_arguments(pairs, clauses.on_null), node)
    operands = tuple(_argument(resolver, argument) for argument in node.arguments)
    if name == "JSON_ARRAY":
        return call(name, json_arguments.json_array_arguments(operands, clauses.on_null), node)
    if len(operands) != 2 or name not in ("JSON_EXISTS", "JSON_VALUE", "JSON_QUERY"):
        return call(name, operands, node)
    returning = None if clauses.returning is None else data_type(clauses.returning)
    if name == "JSON_VALUE":
        made = json_arguments.json_value_arguments(
            *operands,
            returning,
            on_empty=_behaviour(resolver, clauses.on_empty),
            on_error=_behaviour(resolver, clauses.on_error),
        )
    elif name == "JSON_QUERY":
        made = json_arguments.json_query_arguments(
            *operands,
            returning,
            wrapper=clauses.wrapper,
            on_empty=None if clauses.on_empty is None else clauses.on_empty.kind,
            on_error=None if clauses.on_error is None else clauses.on_error.kind,
        )
    else:
        on_error = None if clauses.on_error is None else clauses.on_error.kind
        made = json_arguments.json_exists_arguments(*operands, on_error)
    return call(name, made, node)


def _behaviour(
    resolver: ExpressionResolver, behavior: ast.JsonBehavior | None
) -> tuple[str, Scalar | None] | None:
    if behavior is None:
        return None
    value = None if behavior.value is None else resolver.scalar(behavior.value)
    return behavior.kind, value
