"""MATCH_RECOGNIZE."""

from __future__ import annotations

import pytest

from headrace.sql.ast import IntervalLiteral, SortItem
from headrace.sql.query_ast import (
    AliasedTable,
    DerivedTable,
    MatchMeasure,
    MatchRecognize,
    PatternAlternation,
    PatternConcatenation,
    PatternExclusion,
    PatternNode,
    PatternPermutation,
    PatternQuantifier,
    PatternVariable,
    TableName,
)
from sql_trees import call, col, num, op, source

A, B, C = PatternVariable("A"), PatternVariable("B"), PatternVariable("C")


def test_everything_at_once() -> None:
    found = source(
        "t MATCH_RECOGNIZE (PARTITION BY id ORDER BY ts MEASURES LAST(B.x) AS x, A.y AS y "
        "ONE ROW PER MATCH AFTER MATCH SKIP TO LAST B PATTERN (A B+) WITHIN INTERVAL '1' HOUR "
        "SUBSET S = (A, B) DEFINE A AS A.x > 1, B AS B.x > PREV(B.x, 1)) AS m"
    )
    assert found == AliasedTable(
        MatchRecognize(
            table=TableName(col("t")),
            pattern=PatternConcatenation((A, PatternQuantifier(B, 1, None))),
            define=(
                ("A", op(">", col("A", "x"), num(1))),
                ("B", op(">", col("B", "x"), call("PREV", col("B", "x"), num(1)))),
            ),
            partition_by=(col("id"),),
            order_by=(SortItem(col("ts")),),
            measures=(
                MatchMeasure(call("LAST", col("B", "x")), "x"),
                MatchMeasure(col("A", "y"), "y"),
            ),
            rows_per_match="ONE",
            after_match="LAST",
            after_variable="B",
            within=IntervalLiteral("1", "HOUR"),
            subsets=(("S", ("A", "B")),),
        ),
        "m",
    )


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("A", A),
        ("A B C", PatternConcatenation((A, B, C))),
        ("(A B) C", PatternConcatenation((PatternConcatenation((A, B)), C))),
        ("A | B C", PatternAlternation((A, PatternConcatenation((B, C))))),
        ("(A | B) C", PatternConcatenation((PatternAlternation((A, B)), C))),
        ("A*", PatternQuantifier(A, 0, None)),
        ("A*?", PatternQuantifier(A, 0, None, greedy=False)),
        ("A? B", PatternConcatenation((PatternQuantifier(A, 0, 1), B))),
        ("A{2}", PatternQuantifier(A, 2, 2)),
        ("A{2,}", PatternQuantifier(A, 2, None)),
        ("A{,3}", PatternQuantifier(A, 0, 3)),
        ("A{2,3}?", PatternQuantifier(A, 2, 3, greedy=False)),
        ("(A B)+", PatternQuantifier(PatternConcatenation((A, B)), 1, None)),
        ("A {- B -} C", PatternConcatenation((A, PatternExclusion(B), C))),
        ("PERMUTE(A, B)", PatternPermutation((A, B))),
        ("^ A $", PatternConcatenation((PatternVariable("^"), A, PatternVariable("$")))),
    ],
)
def test_patterns(pattern: str, expected: PatternNode) -> None:
    found = source(f"t MATCH_RECOGNIZE (PATTERN ({pattern}) DEFINE A AS TRUE)")
    assert isinstance(found, MatchRecognize)
    assert found.pattern == expected


@pytest.mark.parametrize(
    ("sql", "after", "variable"),
    [
        ("", None, None),
        ("AFTER MATCH SKIP PAST LAST ROW", "PAST LAST ROW", None),
        ("AFTER MATCH SKIP TO NEXT ROW", "NEXT ROW", None),
        ("AFTER MATCH SKIP TO FIRST A", "FIRST", "A"),
        ("AFTER MATCH SKIP TO LAST `A`", "LAST", "A"),
        ("AFTER MATCH SKIP TO A", "LAST", "A"),
        ("AFTER MATCH SKIP TO LAST", "LAST", "LAST"),
    ],
)
def test_where_to_go_on(sql: str, after: str | None, variable: str | None) -> None:
    found = source(f"t MATCH_RECOGNIZE ({sql} PATTERN (A) DEFINE A AS TRUE)")
    assert isinstance(found, MatchRecognize)
    assert (found.after_match, found.after_variable) == (after, variable)


def test_over_a_subquery() -> None:
    found = source("(SELECT 1) MATCH_RECOGNIZE (ALL ROWS PER MATCH PATTERN (A) DEFINE A AS TRUE)")
    assert isinstance(found, MatchRecognize)
    assert isinstance(found.table, DerivedTable)
    assert found.rows_per_match == "ALL"
