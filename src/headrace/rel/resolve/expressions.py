"""Expressions of the syntax tree as scalars: names become columns, calls get their types.

In: an expression and a scope.  Out: a scalar (scalars/nodes.py).  What needs more than one line
(aggregates, OVER, subqueries) is given to a hook: select.py has those of a SELECT.
Next: calls.py has the syntax of single functions
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.common import data_types as t
from headrace.rel.functions import call, cast, common_type, user_call
from headrace.rel.resolve.constants import interval_of, literal_of
from headrace.rel.resolve.problems import not_there, problem
from headrace.rel.resolve.spelling import saw_column
from headrace.rel.resolve.type_names import data_type
from headrace.scalars.nodes import Case, Literal, Scalar
from headrace.sql import api_ast, ast

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.api.table.definitions import UserFunctionDefinition
    from headrace.rel.catalogs import FunctionSource
    from headrace.rel.resolve.scope import NameScope

BOOLEAN = t.BooleanType()


@dataclass(frozen=True, slots=True)
class ColumnAtPlace(ast.SqlExpression):
    """A column by its place: what a star stands for."""

    place: int
    name: str


class ExpressionResolver:
    """Resolves the expressions of one place of a query.

    Args:
        scope: what names mean.
        functions: finds functions of the user.
    """

    def __init__(self, scope: NameScope, functions: FunctionSource) -> None:
        self.scope = scope
        self.functions = functions

    def scalar(self, node: ast.SqlExpression) -> Scalar:
        """The scalar that an expression means.

        Raises:
            SqlError: a name or function is unknown, or types do not fit.
        """
        early = self.before(node)
        if early is not None:
            return early
        handler = _HANDLERS.get(type(node))
        if handler is None:
            raise problem(f"{type(node).__name__} cannot stand here", node)
        return handler(self, node)

    def before(self, node: ast.SqlExpression) -> Scalar | None:
        """Hook: what an expression means here, before anybody looks into it."""
        return None

    def condition(self, node: ast.SqlExpression) -> Scalar:
        """A scalar that must be BOOLEAN."""
        found = self.scalar(node)
        if isinstance(found.type, t.NullType):
            return cast(found, BOOLEAN)
        if not isinstance(found.type, t.BooleanType):
            raise problem(f"a condition is BOOLEAN, this is {found.type}", node)
        return found

    # --- names and constants -------------------------------------------------------------------

    def identifier(self, node: ast.Identifier) -> Scalar:
        """A column, or a field of one."""
        found = self.scope.find(node.parts, node)
        saw_column(node, self.scope, found)
        return self.with_fields(found.column, found.fields, node)

    def with_fields(self, scalar: Scalar, fields: tuple[str, ...], node: ast.SqlNode) -> Scalar:
        """A field of a ROW, or one of that."""
        for name in fields:
            scalar = field_of_row(scalar, name, node)
        return scalar

    def operands(self, nodes: tuple[ast.SqlExpression, ...]) -> tuple[Scalar, ...]:
        """Several at once."""
        return tuple(self.scalar(node) for node in nodes)

    def called(self, name: str, node: ast.SqlNode, *operands: Scalar) -> Scalar:
        """A function of SQL by its name."""
        return call(name, operands, node)

    def negated(self, found: Scalar, negated: bool, node: ast.SqlNode) -> Scalar:  # noqa: FBT001
        """NOT, if it was said."""
        return self.called("NOT", node, found) if negated else found

    def inline_operands(
        self, function: UserFunctionDefinition, node: api_ast.InlineCall
    ) -> tuple[Scalar, ...]:
        """The arguments of a function that is called as a Python object."""
        if len(node.arguments) == 1 and isinstance(node.arguments[0], ast.Star):
            return tuple(self.scope.column_at(place) for place, _, _ in self.scope.columns())
        return self.operands(node.arguments)

    def function(self, node: ast.FunctionCall) -> Scalar:
        """A call: of a function of the user, or of SQL's own."""
        from headrace.rel.resolve.calls import plain_call

        if node.over is not None:
            raise problem(
                "OVER cannot stand here", node, "use it in the SELECT list, or in QUALIFY"
            )
        user = self.functions.find_function(node.name)
        if user is not None:
            return user_call(user, self.operands(node.arguments), node)
        return plain_call(self, node)


def field_of_row(scalar: Scalar, name: str, node: ast.SqlNode) -> Scalar:
    """A field of a scalar that is a ROW."""
    if not isinstance(scalar.type, t.RowType):
        raise problem(f"{scalar.type} has no fields, so it has no {name}", node)
    names = scalar.type.names
    if name not in names:
        from headrace.rel.resolve.problems import near

        raise problem(f"the ROW has no field {name}", node, near(name, names))
    kind = scalar.type.fields[names.index(name)].data_type
    place = Literal(names.index(name), t.IntType().not_null())
    if scalar.type.is_nullable:
        kind = kind.nullable()
    from headrace.scalars.nodes import Call

    return Call("$FIELD", (scalar, place), kind)


# --- the table of handlers -----------------------------------------------------------------------


def _at_place(self: ExpressionResolver, node: ColumnAtPlace) -> Scalar:
    return self.scope.column_at(node.place)


def _literal(self: ExpressionResolver, node: ast.SqlLiteral) -> Scalar:
    return literal_of(node)


def _interval(self: ExpressionResolver, node: ast.IntervalLiteral) -> Scalar:
    return interval_of(node)


def _unary(self: ExpressionResolver, node: ast.UnaryOperation) -> Scalar:
    operand = self.scalar(node.operand)
    if node.operator == "+":
        return operand
    if (
        node.operator == "-"
        and isinstance(operand, Literal)
        and isinstance(node.operand, ast.SqlLiteral)
    ):
        return literal_of(node.operand, negative=True)
    return self.called(node.operator, node, operand)


def _binary(self: ExpressionResolver, node: ast.BinaryOperation) -> Scalar:
    if node.operator == "OVERLAPS":
        one, other = node.left, node.right
        if isinstance(one, ast.RowConstructor) and isinstance(other, ast.RowConstructor):
            return self.called("OVERLAPS", node, *self.operands((*one.items, *other.items)))
    if (
        node.operator in ("=", "<>")
        and isinstance(node.left, ast.RowConstructor)
        and isinstance(node.right, ast.RowConstructor)
    ):
        return _rows_equal(self, node, node.left, node.right)
    left, right = self.scalar(node.left), self.scalar(node.right)
    operator = node.operator
    if operator == "+" and node.position is None and _is_text(left, right):
        operator = "||"  # the Table API's plus joins texts, SQL's does not
    return self.called(operator, node, left, right)


def _is_text(*scalars: Scalar) -> bool:
    return any(isinstance(each.type, t.CharType | t.VarCharType) for each in scalars)


def _rows_equal(
    self: ExpressionResolver,
    node: ast.BinaryOperation,
    left: ast.RowConstructor,
    right: ast.RowConstructor,
) -> Scalar:
    if len(left.items) != len(right.items):
        raise problem("the two rows have different numbers of values", node)
    found: Scalar | None = None
    for one, other in zip(left.items, right.items, strict=True):
        equal = self.called("=", node, self.scalar(one), self.scalar(other))
        found = equal if found is None else self.called("AND", node, found, equal)
    assert found is not None
    return self.negated(found, node.operator == "<>", node)


def _between(self: ExpressionResolver, node: ast.Between) -> Scalar:
    operands = self.operands((node.operand, node.low, node.high))
    name = "BETWEEN SYMMETRIC" if node.symmetric else "BETWEEN"
    return self.negated(between(operands, node, name), node.negated, node)


def between(operands: tuple[Scalar, ...], node: ast.SqlNode, name: str = "BETWEEN") -> Scalar:
    """Two comparisons: as such they can bound the time of a join."""
    value, low, high = operands
    if name == "BETWEEN SYMMETRIC":
        one = between((value, low, high), node)
        return call("OR", (one, between((value, high, low), node)), node)
    return call("AND", (call(">=", (value, low), node), call("<=", (value, high), node)), node)


def _in_list(self: ExpressionResolver, node: ast.InList) -> Scalar:
    operands = self.operands((node.operand, *node.items))
    return self.negated(call("IN", operands, node), node.negated, node)


def _like(self: ExpressionResolver, node: ast.LikePredicate) -> Scalar:
    parts = (node.operand, node.pattern, *(() if node.escape is None else (node.escape,)))
    return self.negated(call(node.operator, self.operands(parts), node), node.negated, node)


def _is(self: ExpressionResolver, node: ast.IsPredicate) -> Scalar:
    word = "NOT " if node.negated else ""
    return self.called(f"IS {word}{node.what}", node, self.scalar(node.operand))


def _distinct_from(self: ExpressionResolver, node: ast.IsDistinctFrom) -> Scalar:
    word = "NOT " if node.negated else ""
    operands = self.operands((node.left, node.right))
    return self.called(f"IS {word}DISTINCT FROM", node, *operands)


def _case(self: ExpressionResolver, node: ast.CaseWhen) -> Scalar:
    operand = None if node.operand is None else self.scalar(node.operand)
    branches: list[tuple[Scalar, Scalar]] = []
    for when, then in node.branches:
        if operand is None:
            condition = self.condition(when)
        else:
            condition = self.called("=", when, operand, self.scalar(when))
        branches.append((condition, self.scalar(then)))
    otherwise = (
        Literal(None, t.NullType()) if node.otherwise is None else self.scalar(node.otherwise)
    )
    values = [value for _, value in branches] + [otherwise]
    kind = common_type([value.type for value in values], node, "the results of CASE")
    casted = tuple((condition, cast(value, kind)) for condition, value in branches)
    return Case(casted, cast(otherwise, kind), kind)


def _cast(self: ExpressionResolver, node: ast.CastExpression) -> Scalar:
    operand = self.scalar(node.operand)
    kind = data_type(node.type)
    if not node.lenient and not operand.type.is_nullable:
        kind = kind.not_null()
    return cast(operand, kind, node, lenient=node.lenient, always=True)


def _row(self: ExpressionResolver, node: ast.RowConstructor) -> Scalar:
    return call("ROW", self.operands(node.items), node)


def _array(self: ExpressionResolver, node: ast.ArrayConstructor) -> Scalar:
    if node.multiset:
        raise not_there("MULTISET[...]", node, "use ARRAY[...], or the aggregate COLLECT")
    return call("ARRAY", self.operands(node.items), node)


def _map(self: ExpressionResolver, node: ast.MapConstructor) -> Scalar:
    parts = tuple(part for entry in node.entries for part in entry)
    return call("MAP", self.operands(parts), node)


def _item(self: ExpressionResolver, node: ast.ItemAccess) -> Scalar:
    operand, index = self.operands((node.operand, node.index))
    if isinstance(operand.type, t.RowType) and isinstance(index, Literal):
        names = operand.type.names
        if isinstance(index.value, int) and 1 <= index.value <= len(names):
            return field_of_row(operand, names[index.value - 1], node)
        return field_of_row(operand, str(index.value), node)
    return call("ITEM", (operand, index), node)


def _field(self: ExpressionResolver, node: ast.FieldAccess) -> Scalar:
    return field_of_row(self.scalar(node.operand), node.name, node)


def _subquery(self: ExpressionResolver, node: ast.SqlExpression) -> Scalar:
    raise not_there("a subquery at this place", node, "join with it, or use it in WHERE")


def _star(self: ExpressionResolver, node: ast.Star) -> Scalar:
    raise problem("* cannot stand here", node, "name the columns")


def _typed_literal(self: ExpressionResolver, node: api_ast.TypedLiteral) -> Scalar:
    return Literal(node.value, node.type)


def _typed_cast(self: ExpressionResolver, node: api_ast.TypedCast) -> Scalar:
    operand = self.scalar(node.operand)
    return cast(operand, node.type, node, lenient=node.lenient, always=True)


def _aliased(self: ExpressionResolver, node: api_ast.AliasedExpression) -> Scalar:
    return self.scalar(node.operand)


def _inline_call(self: ExpressionResolver, node: api_ast.InlineCall) -> Scalar:
    function: UserFunctionDefinition = node.function
    return user_call(function, self.inline_operands(function, node), node)


def _field_by_index(self: ExpressionResolver, node: api_ast.FieldByIndex) -> Scalar:
    operand = self.scalar(node.operand)
    if not isinstance(operand.type, t.RowType) or not 0 <= node.index < len(operand.type.names):
        raise problem(f"{operand.type} has no field at {node.index}", node)
    return field_of_row(operand, operand.type.names[node.index], node)


def _property(self: ExpressionResolver, node: api_ast.WindowPropertyAccess) -> Scalar:
    raise problem(f"{node.what} is asked of a window, behind window(...) and group_by", node)


_HANDLERS: dict[type[ast.SqlExpression], Callable[..., Scalar]] = {
    ColumnAtPlace: _at_place,
    ast.Identifier: ExpressionResolver.identifier,
    ast.FunctionCall: ExpressionResolver.function,
    ast.SqlLiteral: _literal,
    ast.IntervalLiteral: _interval,
    ast.UnaryOperation: _unary,
    ast.BinaryOperation: _binary,
    ast.Between: _between,
    ast.InList: _in_list,
    ast.LikePredicate: _like,
    ast.IsPredicate: _is,
    ast.IsDistinctFrom: _distinct_from,
    ast.CaseWhen: _case,
    ast.CastExpression: _cast,
    ast.RowConstructor: _row,
    ast.ArrayConstructor: _array,
    ast.MapConstructor: _map,
    ast.ItemAccess: _item,
    ast.FieldAccess: _field,
    ast.Star: _star,
    ast.InQuery: _subquery,
    ast.Exists: _subquery,
    ast.ScalarSubquery: _subquery,
    ast.QuantifiedComparison: _subquery,
    ast.ArrayQuery: _subquery,
    api_ast.TypedLiteral: _typed_literal,
    api_ast.TypedCast: _typed_cast,
    api_ast.AliasedExpression: _aliased,
    api_ast.InlineCall: _inline_call,
    api_ast.FieldByIndex: _field_by_index,
    api_ast.WindowPropertyAccess: _property,
}
