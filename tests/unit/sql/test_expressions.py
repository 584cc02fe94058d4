"""Expressions: how operators bind, predicates, constructors, access."""

from __future__ import annotations

import pytest

from headrace.errors import SqlParseError
from headrace.sql.ast import (
    ArrayConstructor,
    ArrayQuery,
    Between,
    BinaryOperation,
    CaseWhen,
    CastExpression,
    Exists,
    FieldAccess,
    InList,
    InQuery,
    IsDistinctFrom,
    IsPredicate,
    ItemAccess,
    LikePredicate,
    MapConstructor,
    QuantifiedComparison,
    RowConstructor,
    ScalarSubquery,
    Star,
    TypeName,
    UnaryOperation,
    literal,
    walk_nodes,
)
from headrace.sql.parser import parse_expression, parse_query
from sql_trees import call, col, expression, num, op, text

A, B, C = col("a"), col("b"), col("c")
ONE_ROW = parse_query("SELECT 1")


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("a + b * c", op("+", A, op("*", B, C))),
        ("(a + b) * c", op("*", op("+", A, B), C)),
        ("a - b - c", op("-", op("-", A, B), C)),
        ("a - (b - c)", op("-", A, op("-", B, C))),
        ("a / b % c", op("%", op("/", A, B), C)),
        ("a || b || c", op("||", op("||", A, B), C)),
        ("a + b || c", op("+", A, op("||", B, C))),
        ("-a * b", op("*", UnaryOperation("-", A), B)),
        ("- -a", UnaryOperation("-", UnaryOperation("-", A))),
        ("a = b AND c OR a", op("OR", op("AND", op("=", A, B), C), A)),
        ("a OR b AND c", op("OR", A, op("AND", B, C))),
        ("a = b + c", op("=", A, op("+", B, C))),
        ("a <> b", op("<>", A, B)),
        ("NOT a = b", UnaryOperation("NOT", op("=", A, B))),
        ("NOT a AND b", op("AND", UnaryOperation("NOT", A), B)),
        ("NOT a IS NULL", UnaryOperation("NOT", IsPredicate(A, "NULL"))),
        ("a = b IS NULL", IsPredicate(op("=", A, B), "NULL")),
        ("a = b IN (1)", op("=", A, InList(B, (num(1),)))),
        ("a BETWEEN 1 AND 2 AND b", op("AND", Between(A, num(1), num(2)), B)),
        ("a < b = c", op("=", op("<", A, B), C)),
    ],
)
def test_operators_bind_as_in_flink(sql: str, expected: object) -> None:
    assert expression(sql) == expected


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("a IS NOT NULL", IsPredicate(A, "NULL", negated=True)),
        ("a IS TRUE", IsPredicate(A, "TRUE")),
        ("a IS NOT UNKNOWN", IsPredicate(A, "UNKNOWN", negated=True)),
        ("a IS JSON", IsPredicate(A, "JSON VALUE")),
        ("a IS NOT JSON OBJECT", IsPredicate(A, "JSON OBJECT", negated=True)),
        ("a IS A SET", IsPredicate(A, "A SET")),
        ("a IS DISTINCT FROM b", IsDistinctFrom(A, B)),
        ("a IS NOT DISTINCT FROM b + c", IsDistinctFrom(A, op("+", B, C), negated=True)),
        ("a LIKE 'x%'", LikePredicate(A, text("x%"))),
        ("a NOT LIKE 'x!%' ESCAPE '!'", LikePredicate(A, text("x!%"), text("!"), negated=True)),
        ("a SIMILAR TO 'x'", LikePredicate(A, text("x"), operator="SIMILAR TO")),
        ("a NOT IN (1, 2)", InList(A, (num(1), num(2)), negated=True)),
        ("a IN (SELECT 1)", InQuery(A, ONE_ROW)),
        ("a IN ((SELECT 1))", InQuery(A, ONE_ROW)),
        ("(a, b) NOT IN (SELECT 1)", InQuery(RowConstructor((A, B), False), ONE_ROW, True)),
        ("a BETWEEN SYMMETRIC 2 AND 1", Between(A, num(2), num(1), symmetric=True)),
        ("a NOT BETWEEN ASYMMETRIC 1 AND 2", Between(A, num(1), num(2), negated=True)),
        ("EXISTS (SELECT 1)", Exists(ONE_ROW)),
        ("NOT EXISTS (SELECT 1)", UnaryOperation("NOT", Exists(ONE_ROW))),
        ("a = ANY (SELECT 1)", QuantifiedComparison("=", "ANY", A, ONE_ROW)),
        ("a <> ALL (SELECT 1)", QuantifiedComparison("<>", "ALL", A, ONE_ROW)),
        ("a > SOME (1, 2)", QuantifiedComparison(">", "ANY", A, None, (num(1), num(2)))),
        ("(a, b) OVERLAPS (b, c)",
         op("OVERLAPS", RowConstructor((A, B), False), RowConstructor((B, C), False))),
        ("a MEMBER OF b", op("MEMBER OF", A, B)),
        ("a MULTISET UNION b", op("MULTISET UNION ALL", A, B)),
    ],
)  # fmt: skip
def test_predicates(sql: str, expected: object) -> None:
    assert expression(sql) == expected


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("a.b.c", col("a", "b", "c")),
        ("`a b`.`c``d`", col("a b", "c`d")),
        ("t.*", Star(("t",))),
        ("x[1]", ItemAccess(col("x"), num(1))),
        ("m['k'].f[2]", ItemAccess(FieldAccess(ItemAccess(col("m"), text("k")), "f"), num(2))),
        ("(a).b", FieldAccess(A, "b")),
        ("f(a).b.c", FieldAccess(FieldAccess(call("F", A), "b"), "c")),
        ("f(a).*", FieldAccess(call("F", A), "*")),
        ("-x[1]", UnaryOperation("-", ItemAccess(col("x"), num(1)))),
        ("ROW(a, 1)", RowConstructor((A, num(1)))),
        ("(a, 1)", RowConstructor((A, num(1)), explicit=False)),
        ("ARRAY[a, b]", ArrayConstructor((A, B))),
        ("ARRAY[]", ArrayConstructor(())),
        ("MULTISET[a]", ArrayConstructor((A,), multiset=True)),
        ("MAP['k', a, 'l', b]", MapConstructor(((text("k"), A), (text("l"), B)))),
        ("ARRAY(SELECT 1)", ArrayQuery("ARRAY", ONE_ROW)),
        ("MAP(SELECT 1)", ArrayQuery("MAP", ONE_ROW)),
        ("(SELECT 1)", ScalarSubquery(ONE_ROW)),
        ("((SELECT 1)) + 1", op("+", ScalarSubquery(ONE_ROW), num(1))),
        ("CAST(a AS INT)", CastExpression(A, TypeName("INT"))),
        ("TRY_CAST(a AS STRING)", CastExpression(A, TypeName("STRING"), lenient=True)),
    ],
)
def test_access_and_constructors(sql: str, expected: object) -> None:
    assert expression(sql) == expected


def test_case_with_conditions_and_with_values() -> None:
    assert expression("CASE WHEN a THEN 1 ELSE 2 END") == CaseWhen(None, ((A, num(1)),), num(2))
    assert expression("CASE a WHEN 1 THEN b END") == CaseWhen(A, ((num(1), B),))
    listed = CaseWhen(A, ((num(1), B), (num(2), B)))
    assert expression("CASE a WHEN 1, 2 THEN b END") == listed


def test_a_set_operation_in_parentheses_is_one_subquery() -> None:
    found = expression("((SELECT 1) UNION (SELECT 2)) + 1")
    assert found == op("+", ScalarSubquery(parse_query("SELECT 1 UNION SELECT 2")), num(1))


def test_keywords_that_are_not_reserved_are_names() -> None:
    assert expression("key + type") == op("+", col("key"), col("type"))
    assert expression("map") == col("map")
    assert expression("final") == col("final")


def test_a_reserved_word_is_no_name() -> None:
    with pytest.raises(SqlParseError, match="as a name it needs backticks, `value`"):
        parse_expression("value + 1")


def test_equal_nodes_are_equal_wherever_they_stand() -> None:
    assert parse_expression("a  +  b") == parse_expression("a+b")
    assert hash(parse_expression("count(x)")) == hash(parse_expression("COUNT( x )"))
    assert parse_expression("1.5") != parse_expression("1.50")
    assert parse_expression("1") != parse_expression("TRUE")


def test_walking_meets_nodes_of_subqueries() -> None:
    found = {type(node).__name__ for node in walk_nodes(parse_expression("a IN (SELECT f(b))"))}
    assert found == {"InQuery", "Identifier", "Select", "SelectItem", "FunctionCall"}


def test_long_chains_and_deep_nests() -> None:
    chain = " OR ".join(f"a = {n}" for n in range(2000))
    assert isinstance(parse_expression(chain), BinaryOperation)
    assert parse_expression("(" * 50 + "a" + ")" * 50) == A
    with pytest.raises(SqlParseError, match="nested too deeply"):
        parse_expression("(" * 5000 + "a" + ")" * 5000)


def test_literals_of_python_values_are_those_of_the_parser() -> None:
    assert literal(1) == parse_expression("1")
    assert literal("it's") == parse_expression("'it''s'")
    assert literal(None) == parse_expression("NULL")
    assert literal(True) == parse_expression("TRUE")
