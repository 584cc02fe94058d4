"""Calls: arguments, special syntax, what stands behind the parentheses, JSON clauses."""

from __future__ import annotations

import pytest

from headrace.sql.ast import (
    DefaultArgument,
    DescriptorArgument,
    FrameBound,
    FunctionCall,
    IntervalLiteral,
    JsonBehavior,
    JsonClauses,
    JsonEntry,
    ModelArgument,
    NamedArgument,
    OverClause,
    ScalarSubquery,
    SortItem,
    SqlKeyword,
    Star,
    TableArgument,
    TypeName,
    WindowFrame,
)
from headrace.sql.parser import parse_query
from headrace.sql.query_ast import TableFunctionCall
from sql_trees import call, col, expression, num, op, source, text

A, B, X = col("a"), col("b"), col("x")


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("f()", call("F")),
        ("upper(a)", call("UPPER", A)),
        ("`Count`(a)", call("COUNT", A)),
        ("cat.db.Fn(a)", FunctionCall(("cat", "db", "Fn"), (A,))),
        ("COUNT(*)", call("COUNT", Star())),
        ("COUNT(DISTINCT a)", FunctionCall(("COUNT",), (A,), distinct=True)),
        ("SUM(ALL a)", call("SUM", A)),
        ("YEAR(a)", call("YEAR", A)),
        ("LEFT(a, 2)", call("LEFT", A, num(2))),
        ("f(a => 1, `B` => DEFAULT)", call(
            "F", NamedArgument("a", num(1)), NamedArgument("B", DefaultArgument()))),
        ("CURRENT_DATE", FunctionCall(("CURRENT_DATE",), parentheses=False)),
        ("LOCALTIMESTAMP", FunctionCall(("LOCALTIMESTAMP",), parentheses=False)),
        ("CURRENT_TIMESTAMP()", call("CURRENT_TIMESTAMP")),
        ("f((SELECT 1))", call("F", ScalarSubquery(parse_query("SELECT 1")))),
        ("f(SELECT 1)", call("F", ScalarSubquery(parse_query("SELECT 1")))),
    ],
)  # fmt: skip
def test_calls(sql: str, expected: object) -> None:
    assert expression(sql) == expected


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("EXTRACT(DAY FROM x)", call("EXTRACT", SqlKeyword("DAY"), X)),
        ("EXTRACT(EPOCH FROM x)", call("EXTRACT", SqlKeyword("EPOCH"), X)),
        ("FLOOR(x)", call("FLOOR", X)),
        ("FLOOR(x TO HOUR)", call("FLOOR", X, SqlKeyword("HOUR"))),
        ("CEILING(x TO WEEK)", call("CEIL", X, SqlKeyword("WEEK"))),
        ("TIMESTAMPADD(MINUTE, 1, x)", call("TIMESTAMPADD", SqlKeyword("MINUTE"), num(1), X)),
        ("TIMESTAMPDIFF(SQL_TSI_DAY, a, x)",
         call("TIMESTAMPDIFF", SqlKeyword("SQL_TSI_DAY"), A, X)),
        ("SUBSTRING(x FROM 1 FOR 2)", call("SUBSTRING", X, num(1), num(2))),
        ("SUBSTRING(x, 1)", call("SUBSTRING", X, num(1))),
        ("POSITION(a IN x)", call("POSITION", A, X)),
        ("OVERLAY(x PLACING a FROM 1 FOR 2)", call("OVERLAY", X, A, num(1), num(2))),
        ("TRIM(x)", call("TRIM", SqlKeyword("BOTH"), text(" "), X)),
        ("TRIM(LEADING 'y' FROM x)", call("TRIM", SqlKeyword("LEADING"), text("y"), X)),
        ("TRIM(TRAILING FROM x)", call("TRIM", SqlKeyword("TRAILING"), text(" "), X)),
        ("TRIM('y' FROM x)", call("TRIM", SqlKeyword("BOTH"), text("y"), X)),
    ],
)  # fmt: skip
def test_special_syntax_is_a_call(sql: str, expected: object) -> None:
    assert expression(sql) == expected


def test_filter_within_group_and_nulls() -> None:
    assert expression("SUM(a) FILTER (WHERE b > 1)") == FunctionCall(
        ("SUM",), (A,), filter=op(">", B, num(1))
    )
    assert expression("LISTAGG(a) WITHIN GROUP (ORDER BY b DESC)") == FunctionCall(
        ("LISTAGG",), (A,), within_group=(SortItem(B, descending=True),)
    )
    assert expression("ARRAY_AGG(a ORDER BY b NULLS LAST)") == FunctionCall(
        ("ARRAY_AGG",), (A,), order_by=(SortItem(B, nulls="LAST"),)
    )
    ignoring = FunctionCall(("LAST_VALUE",), (A,), null_treatment="IGNORE NULLS")
    assert expression("LAST_VALUE(a) IGNORE NULLS") == ignoring
    assert expression("LAST_VALUE(a IGNORE NULLS)") == ignoring


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("OVER w", OverClause("w", named_only=True)),
        ("OVER ()", OverClause()),
        ("OVER (w ORDER BY a)", OverClause("w", order_by=(SortItem(A),))),
        ("OVER (PARTITION BY a, b ORDER BY x DESC)",
         OverClause(partition_by=(A, B), order_by=(SortItem(X, descending=True),))),
        ("OVER (ORDER BY a ROWS BETWEEN 2 PRECEDING AND CURRENT ROW)",
         OverClause(order_by=(SortItem(A),), frame=WindowFrame(
             "ROWS", FrameBound("PRECEDING", num(2)), FrameBound("CURRENT ROW")))),
        ("OVER (ORDER BY a RANGE UNBOUNDED PRECEDING)",
         OverClause(order_by=(SortItem(A),), frame=WindowFrame(
             "RANGE", FrameBound("PRECEDING")))),
        ("OVER (ORDER BY a RANGE BETWEEN INTERVAL '1' HOUR PRECEDING AND 1 FOLLOWING)",
         OverClause(order_by=(SortItem(A),), frame=WindowFrame(
             "RANGE", FrameBound("PRECEDING", IntervalLiteral("1", "HOUR")),
             FrameBound("FOLLOWING", num(1))))),
    ],
)  # fmt: skip
def test_windows_behind_over(sql: str, expected: OverClause) -> None:
    assert expression(f"SUM(a) {sql}") == FunctionCall(("SUM",), (A,), over=expected)


def test_arguments_of_table_functions() -> None:
    found = source(
        "TABLE(TUMBLE(DATA => TABLE c.d.bids, TIMECOL => DESCRIPTOR(ts), "
        "SIZE => INTERVAL '10' MINUTE))"
    )
    assert found == TableFunctionCall(
        call(
            "TUMBLE",
            NamedArgument("DATA", TableArgument(col("c", "d", "bids"))),
            NamedArgument("TIMECOL", DescriptorArgument(("ts",))),
            NamedArgument("SIZE", IntervalLiteral("10", "MINUTE")),
        )
    )
    assert source("f(TABLE t PARTITION BY (a, b) ORDER BY x DESC, MODEL m)") == TableFunctionCall(
        call(
            "F",
            TableArgument(col("t"), (A, B), (SortItem(X, descending=True),)),
            ModelArgument(col("m")),
        ),
        bare=True,
    )
    assert source("f((SELECT 1) PARTITION BY a)") == TableFunctionCall(
        call("F", TableArgument(parse_query("SELECT 1"), (A,))), bare=True
    )
    assert source("f((TABLE t), DESCRIPTOR(a INT, b))") == TableFunctionCall(
        call(
            "F",
            TableArgument(col("t")),
            DescriptorArgument(("a", "b"), (TypeName("INT"), None)),
        ),
        bare=True,
    )


@pytest.mark.parametrize(
    ("sql", "name", "arguments", "clauses"),
    [
        ("JSON_EXISTS(x, '$.a')", "JSON_EXISTS", (X, text("$.a")), None),
        ("JSON_EXISTS(x, '$.a' TRUE ON ERROR)", "JSON_EXISTS", (X, text("$.a")),
         JsonClauses(on_error=JsonBehavior("TRUE"))),
        ("JSON_VALUE(x, '$' RETURNING INT NULL ON EMPTY ERROR ON ERROR)", "JSON_VALUE",
         (X, text("$")), JsonClauses(TypeName("INT"), None, JsonBehavior("NULL"),
                                     JsonBehavior("ERROR"))),
        ("JSON_VALUE(x, '$' DEFAULT 1 + 1 ON EMPTY)", "JSON_VALUE", (X, text("$")),
         JsonClauses(on_empty=JsonBehavior("DEFAULT", op("+", num(1), num(1))))),
        ("JSON_QUERY(x, '$' WITHOUT ARRAY WRAPPER)", "JSON_QUERY", (X, text("$")),
         JsonClauses(wrapper="WITHOUT ARRAY")),
        ("JSON_QUERY(x, '$' WITH WRAPPER EMPTY ARRAY ON EMPTY)", "JSON_QUERY", (X, text("$")),
         JsonClauses(wrapper="WITH UNCONDITIONAL ARRAY", on_empty=JsonBehavior("EMPTY ARRAY"))),
        ("JSON_QUERY(x, '$' WITH CONDITIONAL ARRAY WRAPPER EMPTY OBJECT ON ERROR)", "JSON_QUERY",
         (X, text("$")), JsonClauses(wrapper="WITH CONDITIONAL ARRAY",
                                     on_error=JsonBehavior("EMPTY OBJECT"))),
        ("JSON_OBJECT()", "JSON_OBJECT", (), None),
        ("JSON_OBJECT(KEY 'a' VALUE x, 'b' : 1 ABSENT ON NULL)", "JSON_OBJECT",
         (JsonEntry(text("a"), X), JsonEntry(text("b"), num(1))), JsonClauses(on_null="ABSENT")),
        ("JSON_OBJECT(key VALUE x)", "JSON_OBJECT", (JsonEntry(col("key"), X),), None),
        ("JSON_ARRAY(x, 1 NULL ON NULL)", "JSON_ARRAY", (X, num(1)), JsonClauses(on_null="NULL")),
        ("JSON_OBJECTAGG('a' VALUE x)", "JSON_OBJECTAGG", (JsonEntry(text("a"), X),), None),
        ("JSON_ARRAYAGG(x ABSENT ON NULL)", "JSON_ARRAYAGG", (X,), JsonClauses(on_null="ABSENT")),
    ],
)  # fmt: skip
def test_json_functions_have_clauses(
    sql: str, name: str, arguments: tuple[object, ...], clauses: JsonClauses | None
) -> None:
    found = expression(sql)
    assert isinstance(found, FunctionCall)
    assert (found.name, found.arguments, found.json) == ((name,), arguments, clauses)


def test_running_and_final_of_match_recognize() -> None:
    assert expression("FINAL LAST(a.x)") == call("FINAL", call("LAST", col("a", "x")))
    assert expression("RUNNING AVG(a.x)") == call("RUNNING", call("AVG", col("a", "x")))
