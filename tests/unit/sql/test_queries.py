"""Queries: SELECT and its clauses, set operations, WITH, ORDER BY, LIMIT, VALUES."""

from __future__ import annotations

import pytest

from headrace.sql.ast import (
    FunctionCall,
    NamedWindow,
    OverClause,
    SortItem,
    Star,
    literal,
)
from headrace.sql.parser import parse_query
from headrace.sql.query_ast import (
    CommonTable,
    GroupingSets,
    OrderedQuery,
    QueryHint,
    Select,
    SelectItem,
    SetQuery,
    TableName,
    TableQuery,
    ValuesQuery,
    WithQuery,
)
from sql_trees import call, col, num, op, query, select, text

A, B = col("a"), col("b")


def pick(value: int) -> Select:
    return Select((SelectItem(num(value)),))


def test_all_clauses_of_select() -> None:
    found = select(
        "SELECT DISTINCT a, b AS x, t.*, COUNT(*) n FROM t WHERE a > 1 GROUP BY a, b "
        "HAVING COUNT(*) > 1 WINDOW w AS (ORDER BY a) QUALIFY b = 1"
    )
    assert found == Select(
        items=(
            SelectItem(A),
            SelectItem(B, "x"),
            SelectItem(Star(("t",))),
            SelectItem(call("COUNT", Star()), "n"),
        ),
        from_=TableName(col("t")),
        where=op(">", A, num(1)),
        group_by=(A, B),
        having=op(">", call("COUNT", Star()), num(1)),
        windows=(NamedWindow("w", OverClause(order_by=(SortItem(A),))),),
        qualify=op("=", B, num(1)),
        distinct=True,
    )


def test_select_without_from() -> None:
    assert select("SELECT 1") == pick(1)
    assert select("SELECT ALL *") == Select((SelectItem(Star()),))


def test_hints_behind_select() -> None:
    found = select("SELECT /*+ BROADCAST(t1, `t2`), STATE_TTL('a' = '1d', b='2d'), X */ 1").hints
    assert found == (
        QueryHint("BROADCAST", arguments=("t1", "t2")),
        QueryHint("STATE_TTL", options=(("a", "1d"), ("b", "2d"))),
        QueryHint("X"),
    )


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("a, b", (A, B)),
        ("()", ()),
        ("GROUPING SETS ((a, b), a, ())", (GroupingSets("GROUPING SETS", ((A, B), (A,), ())),)),
        ("a, CUBE (a, b)", (A, GroupingSets("CUBE", ((A,), (B,))))),
        ("ROLLUP (a, (a, b))", (GroupingSets("ROLLUP", ((A,), (A, B))),)),
        ("GROUPING SETS (CUBE (a), (b))",
         (GroupingSets("GROUPING SETS", (GroupingSets("CUBE", ((A,),)), (B,))),)),
        ("GROUPING SETS ((a + b) * 2)",
         (GroupingSets("GROUPING SETS", ((op("*", op("+", A, B), num(2)),),)),)),
    ],
)  # fmt: skip
def test_group_by(sql: str, expected: object) -> None:
    assert select(f"SELECT 1 FROM t GROUP BY {sql}").group_by == expected


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT 1 UNION SELECT 2", SetQuery("UNION", pick(1), pick(2))),
        ("SELECT 1 UNION ALL SELECT 2", SetQuery("UNION", pick(1), pick(2), all=True)),
        ("SELECT 1 UNION DISTINCT SELECT 2", SetQuery("UNION", pick(1), pick(2))),
        ("SELECT 1 EXCEPT SELECT 2 UNION SELECT 3",
         SetQuery("UNION", SetQuery("EXCEPT", pick(1), pick(2)), pick(3))),
        ("SELECT 1 UNION SELECT 2 INTERSECT SELECT 3",
         SetQuery("UNION", pick(1), SetQuery("INTERSECT", pick(2), pick(3)))),
        ("SELECT 1 UNION (SELECT 2 UNION SELECT 3)",
         SetQuery("UNION", pick(1), SetQuery("UNION", pick(2), pick(3)))),
        ("(SELECT 1) INTERSECT ALL SELECT 2",
         SetQuery("INTERSECT", pick(1), pick(2), all=True)),
        ("VALUES (1, 'a'), ROW(2, DEFAULT_X)",
         ValuesQuery(((num(1), text("a")), (num(2), col("DEFAULT_X"))))),
        ("VALUES 1, (2)", ValuesQuery(((num(1),), (num(2),)))),
        ("TABLE c.t", TableQuery(col("c", "t"))),
    ],
)  # fmt: skip
def test_set_operations_and_values(sql: str, expected: object) -> None:
    assert query(sql) == expected


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("ORDER BY a DESC NULLS FIRST, b ASC",
         OrderedQuery(pick(1), (SortItem(A, True, "FIRST"), SortItem(B)))),
        ("LIMIT 5", OrderedQuery(pick(1), limit=num(5))),
        ("LIMIT ALL OFFSET 2", OrderedQuery(pick(1), offset=num(2))),
        ("LIMIT 5 OFFSET 2 ROWS", OrderedQuery(pick(1), limit=num(5), offset=num(2))),
        ("OFFSET 2 ROWS FETCH NEXT 5 ROWS ONLY",
         OrderedQuery(pick(1), limit=num(5), offset=num(2))),
        ("ORDER BY a FETCH FIRST 1 ROW ONLY", OrderedQuery(pick(1), (SortItem(A),), num(1))),
    ],
)  # fmt: skip
def test_order_and_limit(sql: str, expected: object) -> None:
    assert query(f"SELECT 1 {sql}") == expected


def test_order_by_belongs_to_the_whole_set_operation() -> None:
    found = query("SELECT 1 UNION SELECT 2 ORDER BY a LIMIT 3")
    assert found == OrderedQuery(SetQuery("UNION", pick(1), pick(2)), (SortItem(A),), literal(3))
    inner = query("SELECT 1 UNION (SELECT 2 ORDER BY a)")
    assert inner == SetQuery("UNION", pick(1), OrderedQuery(pick(2), (SortItem(A),)))


def test_with() -> None:
    found = query("WITH x (a, b) AS (SELECT 1), y AS (SELECT 2) SELECT 3 LIMIT 1")
    assert found == WithQuery(
        (CommonTable("x", pick(1), ("a", "b")), CommonTable("y", pick(2))),
        OrderedQuery(pick(3), limit=num(1)),
    )


def test_windows_of_the_old_kind_are_calls() -> None:
    group_by = select("SELECT 1 FROM t GROUP BY TUMBLE(ts, INTERVAL '1' DAY)").group_by
    assert group_by is not None
    assert isinstance(group_by[0], FunctionCall)
    assert group_by[0].name == ("TUMBLE",)


def test_comments_go_and_hints_stay() -> None:
    sql = "SELECT a -- first\n, b /* second */ FROM t // third\n WHERE a /* x\ny */ > 1"
    assert parse_query(sql) == parse_query("SELECT a, b FROM t WHERE a > 1")
