"""Short names for the nodes that tests expect, and the check that text and tree agree."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.sql.ast import BinaryOperation, FunctionCall, Identifier, literal
from headrace.sql.parser import parse_expression, parse_query, parse_statement
from headrace.sql.query_ast import Select
from headrace.sql.render import render

if TYPE_CHECKING:
    from headrace.sql.ast import SqlExpression, SqlLiteral
    from headrace.sql.query_ast import SqlQuery, TableReference
    from headrace.sql.statement_ast import SqlStatement


def col(*parts: str) -> Identifier:
    return Identifier(parts)


def num(value: int) -> SqlLiteral:
    return literal(value)


def text(value: str) -> SqlLiteral:
    return literal(value)


def op(operator: str, left: SqlExpression, right: SqlExpression) -> BinaryOperation:
    return BinaryOperation(operator, left, right)


def call(name: str, *arguments: SqlExpression) -> FunctionCall:
    return FunctionCall((name,), arguments)


def expression(sql: str) -> SqlExpression:
    """The tree of an expression, after its way to text and back."""
    found = parse_expression(sql)
    assert parse_expression(render(found)) == found, render(found)
    return found


def query(sql: str) -> SqlQuery:
    found = parse_query(sql)
    assert parse_query(render(found)) == found, render(found)
    return found


def select(sql: str) -> Select:
    found = query(sql)
    assert isinstance(found, Select)
    return found


def source(sql: str) -> TableReference:
    """What stands behind FROM."""
    found = select(f"SELECT 1 FROM {sql}").from_
    assert found is not None
    return found


def statement(sql: str) -> SqlStatement:
    found = parse_statement(sql)
    assert parse_statement(render(found)) == found, render(found)
    return found
