"""What stands behind FROM."""

from __future__ import annotations

import pytest

from headrace.sql.ast import ScalarSubquery
from headrace.sql.parser import parse_query
from headrace.sql.query_ast import (
    AliasedTable,
    DerivedTable,
    JoinedTable,
    QueryHint,
    SetQuery,
    SystemTimeTable,
    TableFunctionCall,
    TableName,
    TableReference,
    UnnestTable,
)
from sql_trees import call, col, op, source

A, B = col("a"), col("b")
T, U, V = TableName(col("t")), TableName(col("u")), TableName(col("v"))
ON = op("=", A, B)
ONE = parse_query("SELECT 1")


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("c.d.t", TableName(col("c", "d", "t"))),
        ("t AS x", AliasedTable(T, "x")),
        ("t x (a, b)", AliasedTable(T, "x", ("a", "b"))),
        ("t /*+ OPTIONS('k' = 'v') */ AS x",
         AliasedTable(TableName(col("t"), (QueryHint("OPTIONS", (("k", "v"),)),)), "x")),
        ("(SELECT 1)", DerivedTable(ONE)),
        ("(SELECT 1) AS x", AliasedTable(DerivedTable(ONE), "x")),
        ("((SELECT 1))", DerivedTable(ONE)),
        ("LATERAL (SELECT 1) x", AliasedTable(DerivedTable(ONE, lateral=True), "x")),
        ("TABLE(f(a))", TableFunctionCall(call("F", A))),
        ("LATERAL TABLE(f(a)) AS x (b)",
         AliasedTable(TableFunctionCall(call("F", A), lateral=True), "x", ("b",))),
        ("f(a)", TableFunctionCall(call("F", A), bare=True)),
        ("UNNEST(a) AS x (b)", AliasedTable(UnnestTable((A,)), "x", ("b",))),
        ("UNNEST(a) WITH ORDINALITY", UnnestTable((A,), ordinality=True)),
        ("UNNEST(SELECT 1)", UnnestTable((ScalarSubquery(ONE),))),
        ("t FOR SYSTEM_TIME AS OF o.ts AS r",
         AliasedTable(SystemTimeTable(T, col("o", "ts")), "r")),
    ],
)  # fmt: skip
def test_one_table(sql: str, expected: TableReference) -> None:
    assert source(sql) == expected


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("t JOIN u ON a = b", JoinedTable(T, U, "INNER", ON)),
        ("t INNER JOIN u USING (a, b)", JoinedTable(T, U, "INNER", using=("a", "b"))),
        ("t LEFT OUTER JOIN u ON a = b", JoinedTable(T, U, "LEFT", ON)),
        ("t RIGHT JOIN u ON a = b", JoinedTable(T, U, "RIGHT", ON)),
        ("t FULL OUTER JOIN u ON a = b", JoinedTable(T, U, "FULL", ON)),
        ("t CROSS JOIN u", JoinedTable(T, U, "CROSS")),
        ("t NATURAL LEFT JOIN u", JoinedTable(T, U, "LEFT", natural=True)),
        ("t LEFT SEMI JOIN u ON a = b", JoinedTable(T, U, "SEMI", ON)),
        ("t LEFT ANTI JOIN u ON a = b", JoinedTable(T, U, "ANTI", ON)),
        ("t, u", JoinedTable(T, U, "CROSS", comma=True)),
        ("t, u JOIN v ON a = b",
         JoinedTable(JoinedTable(T, U, "CROSS", comma=True), V, "INNER", ON)),
        ("t JOIN u ON a = b LEFT JOIN v ON a = b",
         JoinedTable(JoinedTable(T, U, "INNER", ON), V, "LEFT", ON)),
        ("t JOIN (u CROSS JOIN v) ON a = b",
         JoinedTable(T, JoinedTable(U, V, "CROSS"), "INNER", ON)),
        ("t, LATERAL TABLE(f(a))",
         JoinedTable(T, TableFunctionCall(call("F", A), lateral=True), "CROSS", comma=True)),
    ],
)  # fmt: skip
def test_joins(sql: str, expected: TableReference) -> None:
    assert source(sql) == expected


def test_set_operations_in_parentheses() -> None:
    found = source("((SELECT 1) UNION ALL (SELECT 1)) AS x")
    assert found == AliasedTable(DerivedTable(SetQuery("UNION", ONE, ONE, all=True)), "x")


def test_a_join_that_begins_with_a_subquery() -> None:
    found = source("((SELECT 1) AS x JOIN t ON a = b)")
    assert found == JoinedTable(AliasedTable(DerivedTable(ONE), "x"), T, "INNER", ON)
