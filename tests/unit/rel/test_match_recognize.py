"""MATCH_RECOGNIZE: what it means, and what a user reads when it is wrong."""

from __future__ import annotations

import datetime as dt

import pytest

from golden.compare import assert_golden
from headrace.errors import PlanError, SqlError
from headrace.rel import nodes as n
from headrace.rel.explain import tree
from headrace.rel.step_matches import state_kind
from headrace.scalars.matches import AggregateLook, EventLook, MatchSkip, TimeLook
from rel_tables import at, final_table, planned, resolved, run


def match(rest: str, order: str = "ORDER BY ts") -> str:
    return f"SELECT * FROM bids MATCH_RECOGNIZE ({order} {rest}) AS T"


def node_of(rest: str) -> n.RowMatch:
    found = resolved(match(rest))
    while not isinstance(found, n.RowMatch):
        found = found.inputs[0]
    return found


WRONG = [
    "MEASURES A.price AS p ALL ROWS PER MATCH PATTERN (A) DEFINE A AS price > 1",
    "MEASURES A.price AS p PATTERN (A B) SUBSET S = (A, B) DEFINE A AS price > 1",
    "MEASURES A.price AS p PATTERN (A | B) DEFINE A AS price > 1",
    "MEASURES A.price AS p PATTERN (PERMUTE(A, B)) DEFINE A AS price > 1",
    "MEASURES A.price AS p PATTERN (A {- B -} C) DEFINE A AS price > 1",
    "MEASURES A.price AS p PATTERN ((A B)+ C) DEFINE A AS price > 1",
    "MEASURES A.price AS p PATTERN (^ A) DEFINE A AS price > 1",
    "MEASURES A.price AS p PATTERN (A B A) DEFINE A AS price > 1",
    "MEASURES A.price AS p PATTERN (A B+) DEFINE A AS price > 1",
    "MEASURES A.price AS p PATTERN (A* B?) DEFINE A AS price > 1",
    "MEASURES A.price AS p PATTERN (A B?? C) DEFINE A AS price > 1",
    "MEASURES A.price AS p PATTERN (A+ B? C) DEFINE A AS price > 1",
    "MEASURES A.price AS p PATTERN (A B{2,} C*? D) DEFINE A AS price > 1",
    "MEASURES A.price AS p PATTERN (A B{3,2} C) DEFINE A AS price > 1",
    "PATTERN (A) DEFINE A AS price > 1",
    "MEASURES A.price AS p, A.item AS p PATTERN (A) DEFINE A AS price > 1",
    "MEASURES X.price AS p PATTERN (AX B) DEFINE B AS price > 1",
    "MEASURES A.prise AS p PATTERN (A B) DEFINE B AS price > 1",
    "MEASURES SUM(A.price + B.price) AS p PATTERN (A B) DEFINE B AS price > 1",
    "MEASURES LAST(A.price + price) AS p PATTERN (A B) DEFINE B AS price > 1",
    "MEASURES SUM(1) AS p PATTERN (A B) DEFINE B AS price > 1",
    "MEASURES COUNT(DISTINCT A.price) AS p PATTERN (A B) DEFINE B AS price > 1",
    "MEASURES COUNT(A.price, A.item) AS p PATTERN (A B) DEFINE B AS price > 1",
    "MEASURES COUNT(A.*) AS p PATTERN (A B) DEFINE B AS price > 1",
    "MEASURES SUM(A.price) FILTER (WHERE A.price > 1) AS p PATTERN (A B) DEFINE B AS price > 1",
    "MEASURES FIRST(LAST(A.price)) AS p PATTERN (A B) DEFINE B AS price > 1",
    "MEASURES LAST(SUM(A.price)) AS p PATTERN (A B) DEFINE B AS price > 1",
    "MEASURES LAST(A.price, B.price) AS p PATTERN (A B) DEFINE B AS price > 1",
    "MEASURES PREV(A.price) AS p PATTERN (A B) DEFINE B AS price > 1",
    "MEASURES CLASSIFIER() AS p PATTERN (A B) DEFINE B AS price > 1",
    "MEASURES MATCH_NUMBER() AS p PATTERN (A B) DEFINE B AS price > 1",
    "MEASURES RUNNING LAST(A.price) AS p PATTERN (A B) DEFINE B AS price > 1",
    "MEASURES MATCH_ROWTIME(price) AS p PATTERN (A B) DEFINE B AS price > 1",
    "MEASURES MATCH_PROCTIME(ts) AS p PATTERN (A B) DEFINE B AS price > 1",
    "MEASURES A.price AS p PATTERN (A B) DEFINE B AS price",
    "MEASURES A.price AS p PATTERN (A B) DEFINE B AS price > 1, B AS price > 2",
    "MEASURES A.price AS p PATTERN (A B) DEFINE B AS NEXT(B.price, 1) > 1",
    "MEASURES A.price AS p PATTERN (A B) DEFINE B AS FINAL LAST(A.price) > 1",
    "MEASURES A.price AS p PATTERN (A B) DEFINE B AS price IN (SELECT a FROM orders)",
    "MEASURES A.price AS p AFTER MATCH SKIP TO FIRST BB PATTERN (A B) DEFINE B AS price > 1",
    "MEASURES A.price AS p PATTERN (A B) WITHIN INTERVAL '1' MONTH DEFINE B AS price > 1",
    "MEASURES A.price AS p PATTERN (A B) WITHIN INTERVAL -'1' HOUR DEFINE B AS price > 1",
    "MEASURES A.price AS p PATTERN (A B) WITHIN INTERVAL '0' HOUR DEFINE B AS price > 1",
    "MEASURES A.price AS p PATTERN (A `B:0`) DEFINE A AS price > 1",
]
WRONG_ORDER = ["", "ORDER BY price", "ORDER BY ts DESC", "ORDER BY FLOOR(ts TO DAY)",
               "PARTITION BY UPPER(item) ORDER BY ts", "PARTITION BY item ORDER BY ts"]  # fmt: skip


def told(sql: str) -> str:
    with pytest.raises(SqlError) as caught:
        resolved(sql)
    assert "where: line 1, column" in str(caught.value), sql
    return str(caught.value)


def test_golden_texts_of_all_refusals() -> None:
    simple = "MEASURES A.item AS item PATTERN (A B) DEFINE B AS price > 1"
    sqls = [*map(match, WRONG), *(match(simple, order) for order in WRONG_ORDER)]
    assert_golden("sql/match_errors.txt", "\n\n".join(map(told, sqls)))


def test_functions_of_a_match_stand_nowhere_else() -> None:
    for call in ("MATCH_ROWTIME()", "MATCH_PROCTIME()", "FIRST(price)", "LAST(price, 1)"):
        with pytest.raises(SqlError):
            resolved(f"SELECT {call} FROM bids")


def test_a_time_that_is_no_attribute_is_refused_on_streams_only() -> None:
    sql = (
        "SELECT * FROM (SELECT ts + INTERVAL '1' SECOND AS t, price FROM bids) MATCH_RECOGNIZE "
        "(ORDER BY t MEASURES A.price AS p PATTERN (A) DEFINE A AS price > 4)"
    )
    with pytest.raises(PlanError, match="is no time attribute"):
        run(sql)


def test_updates_are_refused() -> None:
    with pytest.raises(PlanError, match="MATCH_RECOGNIZE takes lines that are only inserted"):
        run(
            "SELECT * FROM (SELECT item, PROCTIME() AS t, COUNT(*) AS c FROM bids GROUP BY item) "
            "MATCH_RECOGNIZE (ORDER BY t MEASURES A.c AS c PATTERN (A) DEFINE A AS c > 1)"
        )


def test_in_a_condition_names_mean_the_current_line() -> None:
    stage = node_of(
        "MEASURES B.price AS p PATTERN (A B) DEFINE B AS price > 1 AND B.price < 9 AND "
        "LAST(price) > 0 AND PREV(B.price, 0) > 0"
    ).stages[1]
    assert stage.condition is not None
    assert stage.condition.looks == ()
    assert stage.prefilter == stage.condition.scalar


def test_what_looks_at_the_line_alone_is_known_before_the_match() -> None:
    stage = node_of(
        "MEASURES B.price AS p PATTERN (A B) DEFINE B AS B.item = 'B' AND B.price < A.price"
    ).stages[1]
    assert stage.condition is not None
    assert stage.condition.looks == (EventLook("A", 2),)
    assert stage.prefilter is not None
    assert stage.prefilter != stage.condition.scalar


def test_measures_look_at_the_match() -> None:
    node = node_of(
        "MEASURES price AS a, FIRST(B.price, 2) AS b, SUM(B.price) + SUM(B.price) AS c, "
        "MATCH_ROWTIME() AS t AFTER MATCH SKIP TO LAST B PATTERN (A B+?) WITHIN INTERVAL '2' "
        "MINUTE DEFINE B AS price > 1"
    )
    looks = [measure.looks for measure in node.measures]
    assert looks[:2] == [(EventLook(None, 2),), (EventLook("B", 2, first=True, offset=2),)]
    assert len(looks[2]) == 1
    assert isinstance(looks[2][0], AggregateLook)
    assert looks[3] == (TimeLook(),)
    assert [field.time for field in node.schema] == [None, None, None, n.TimeAttribute.ROWTIME]
    assert (node.skip, node.within_ms) == (MatchSkip("LAST", "B"), 120_000)


def test_only_the_columns_that_a_match_reads_travel() -> None:
    sql = "SELECT * FROM (SELECT ts, item AS a, item AS b, price FROM bids) MATCH_RECOGNIZE ({})"
    rest = "PARTITION BY b ORDER BY ts MEASURES LAST(B.price) AS p PATTERN (A B) DEFINE B AS TRUE"
    lines = tree(planned(resolved(sql.format(rest))))
    assert lines[0] == (
        "Match(partitionBy=[b], orderBy=[ts ASC], measures=[LAST(B.price) AS p], rowsPerMatch=[ONE "
        "ROW PER MATCH], after=[SKIP TO NEXT ROW], pattern=[A B], define=[{B=True}])"
    )
    assert lines[1].strip() == "+- Calc(select=[ts, item AS b, price])"
    assert final_table(sql.format(rest)) == [("A", 1), ("A", 5), ("B", 3)]


def test_the_measures_of_matches() -> None:
    sql = match(
        "MEASURES FIRST(price) AS f, LAST(item) AS l, SUM(B.price) AS s, MATCH_ROWTIME() AS t "
        "AFTER MATCH SKIP PAST LAST ROW PATTERN (A B+ C) DEFINE B AS B.price < 5, C AS C.price > 4"
    )
    assert run(sql) == [(4, "A", 2, at(9)), (3, "C", 1, at(17))]


def test_matches_have_event_time() -> None:
    found = match("MEASURES A.price AS p, MATCH_ROWTIME() AS t PATTERN (A) DEFINE A AS price > 1")
    sql = (
        f"SELECT TUMBLE_START(t, INTERVAL '10' MINUTES), SUM(p) FROM ({found}) "
        "GROUP BY TUMBLE(t, INTERVAL '10' MINUTES)"
    )
    day = dt.datetime(2020, 4, 15, 8)
    assert sorted(run(sql)) == [(day, 11), (day + dt.timedelta(minutes=10), 9)]


def test_stored_partial_matches_are_of_one_pattern_and_of_its_columns() -> None:
    def kind(rest: str) -> str:
        found = planned(resolved(match(rest)))
        assert isinstance(found, n.RowMatch)
        return state_kind(found)

    given = kind("MEASURES A.price AS p PATTERN (A B+ C) DEFINE B AS price > 1")
    assert given.startswith("match [A, B, C] ")
    assert given == kind("MEASURES C.price AS q PATTERN (A B+ C) DEFINE B AS price < LAST(A.price)")
    assert given == kind(
        "MEASURES A.price AS p AFTER MATCH SKIP PAST LAST ROW PATTERN (A B+ C) "
        "WITHIN INTERVAL '1' HOUR DEFINE B AS price > 1"
    )
    others = (
        "MEASURES A.price AS p PATTERN (A B* C) DEFINE B AS price > 1",
        "MEASURES A.price AS p PATTERN (A B+? C) DEFINE B AS price > 1",
        "MEASURES A.price AS p PATTERN (A B+ C) DEFINE C AS price > 1",
        "MEASURES A.price AS p, A.item AS i PATTERN (A B+ C) DEFINE B AS price > 1",
    )
    assert given not in map(kind, others)


def test_variances_of_whole_numbers_are_computed_in_whole_numbers() -> None:
    """As Flink does here: of 1 and 6 it is (37 - 49 / 2) / 1, and 49 / 2 is 24."""
    sql = match(
        "MEASURES VAR_SAMP(price) AS s, VAR_POP(price) AS p, STDDEV_SAMP(price) AS d, "
        "VAR_SAMP(B.price) AS o AFTER MATCH SKIP PAST LAST ROW PATTERN (A B) DEFINE A AS TRUE"
    )
    assert run(sql) == [(2, 1, 1, None), (2, 1, 1, None), (13, 6, 3, None)]
