"""What queries become: which nodes, and with which changes."""

from __future__ import annotations

import pytest

from headrace.errors import HeadraceError
from headrace.rel import nodes as n
from headrace.rel.changelog import ChangelogPlan
from headrace.rel.explain import tree
from headrace.rel.properties import is_key
from headrace.rel.rules.share_nodes import SharedNodes
from rel_tables import plan_of, planned, resolved

PLANS = {
    "SELECT a FROM (SELECT a, b FROM orders WHERE a > 1) WHERE b > 2": "Calc Scan",
    "SELECT o.a FROM orders o JOIN users u ON o.k = u.name": "Calc Join Calc Scan Calc Scan",
    "SELECT * FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY item ORDER BY ts) AS rn FROM bids) "
    "WHERE rn = 1": "Calc Deduplicate WatermarkAssigner Scan",
    "SELECT * FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY item ORDER BY price) AS rn "
    "FROM bids) WHERE rn <= 3": "Calc Rank WatermarkAssigner Scan",
    "SELECT * FROM bids JOIN asks ON item = what AND "
    "ts BETWEEN moment - INTERVAL '5' MINUTES AND moment + INTERVAL '5' MINUTES": (
        "TimeIntervalJoin WatermarkAssigner Scan WatermarkAssigner Scan"
    ),
    "SELECT window_start, window_end, COUNT(*) FROM TABLE(TUMBLE(TABLE bids, DESCRIPTOR(ts), "
    "INTERVAL '1' HOUR)) WHERE price > 1 GROUP BY window_start, window_end": (
        "Calc WindowAggregate Calc WatermarkAssigner Scan"
    ),
    "SELECT * FROM TABLE(TUMBLE(TABLE bids, DESCRIPTOR(ts), INTERVAL '1' HOUR)) l WHERE NOT EXISTS "
    "(SELECT * FROM TABLE(TUMBLE(TABLE asks, DESCRIPTOR(moment), INTERVAL '1' HOUR)) r WHERE "
    "item = what AND l.window_start = r.window_start AND l.window_end = r.window_end)": (
        "WindowJoin WindowTvf WatermarkAssigner Scan WindowTvf WatermarkAssigner Scan"
    ),
    "SELECT k FROM orders EXCEPT SELECT name FROM users": "Join GroupAggregate Calc Scan Calc Scan",
}


@pytest.mark.parametrize("text", PLANS)
def test_a_query_becomes_these_nodes(text: str) -> None:
    assert [line.removeprefix("+- ") for line in plan_of(text)] == PLANS[text].split()


CHANGES = {
    "SELECT a FROM orders": "I",
    "SELECT k, COUNT(*) FROM orders GROUP BY k": "I,UB,UA",
    "SELECT k, MAX(s) FROM (SELECT k, SUM(a) AS s FROM orders GROUP BY k) GROUP BY k": (
        "I,UB,UA,D"
    ),
    "SELECT o.a FROM orders o JOIN users u ON o.k = u.name": "I",
    "SELECT o.a FROM orders o LEFT JOIN users u ON o.k = u.name": "I,UB,UA,D",
    "SELECT a FROM orders ORDER BY a LIMIT 3": "I,UB,UA,D",
    "SELECT a FROM orders LIMIT 3": "I",
}


@pytest.mark.parametrize("text", CHANGES)
def test_a_query_gives_these_changes(text: str) -> None:
    root = planned(resolved(text))
    assert str(ChangelogPlan([root]).of(root)) == CHANGES[text]


ERRORS = {
    "SELECT prize FROM bids": "there is no column prize here.*did you mean price",
    "SELECT * FROM order": "ORDER is reserved",
    "SELECT * FROM oders": "there is no table oders.*did you mean orders",
    "SELECT k, a FROM orders GROUP BY k": "a is neither grouped nor aggregated",
    "SELECT a FROM orders JOIN bids ON orders.k = bids.item WHERE SUM(a) > 1": "is an aggregate",
    "SELECT k, SUM(a) AS s FROM orders GROUP BY k HAVING s > 3": r"no column s.*write SUM\(a\)",
    "SELECT a + 1 AS s FROM orders WHERE s > 3": "no column s here, only in the .* list.*write a",
    "SELECT a + 1 AS s FROM orders GROUP BY s": "no column s here, only in the .* list.*write a",
    "SELECT nope FROM orders": "there is no column nope here.*there are",
    "SELECT *, COUNT(*) FROM orders": "k is neither grouped nor aggregated",
    "SELECT * FROM (SELECT k, a FROM orders) GROUP BY a": "k is neither grouped nor aggregated",
    "SELECT a FROM orders WHERE a = 'abc'": r"read as one: CAST AS INT.* \^{5}\n",
    "SELECT a AS x, b AS x FROM orders ORDER BY -x": "2 columns of the SELECT list are called x",
    "SELECT k, SUM(a) AS a FROM orders GROUP BY k ORDER BY MAX(a)": "an aggregate itself.*t.a is",
    "SELECT DISTINCT k FROM orders ORDER BY a": "DISTINCT is over its columns.*add the column",
    "SELECT a AS x FROM orders QUALIFY x > 1": "QUALIFY needs a call with OVER.*use WHERE",
    "SELECT * FROM TABLE(TUMBLE(1, DESCRIPTOR(ts), INTERVAL '1' SECOND))": "is a table or a query",
    "SELECT x.a FROM orders o": "there is no column x.a here",
    "SELECT o.c FROM orders o": "table o has no column c",
    "SELECT orders.k FROM orders JOIN orders AS p ON k = k": "column k is in",
    "SELECT a + k FROM orders": r"\+ does not take",
    "SELECT UPER(k) FROM orders": "UPER",
    "SELECT a FROM orders WHERE a": "a condition is BOOLEAN, this is INT",
    "SELECT a FROM orders UNION SELECT k, a FROM orders": "have 1 and 2 columns",
    "SELECT (SELECT a, k FROM orders) FROM users": "has one column, this has 2",
    "SELECT CAST(ts AS BOOLEAN) FROM bids": "",
}


@pytest.mark.parametrize("text", ERRORS)
def test_what_is_wrong_is_told(text: str) -> None:
    with pytest.raises(HeadraceError, match=f"(?s){ERRORS[text]}"):
        resolved(text)


@pytest.mark.parametrize(
    ("projection", "is_kept"),
    [("k", True), ("CAST(k AS BIGINT)", True), ("CAST(k AS STRING)", True), ("k + 1", False)],
)
def test_a_key_is_kept_where_its_values_stay_apart(projection: str, is_kept: bool) -> None:
    text = f"SELECT {projection}, c FROM (SELECT a AS k, COUNT(*) AS c FROM orders GROUP BY a)"
    assert is_key(planned(resolved(text)), {0}) is is_kept


EACH = {
    "SELECT k, COUNT(*) FROM orders GROUP BY k": "yes",
    "SELECT s, COUNT(*) FROM (SELECT k, SUM(a) AS s FROM orders GROUP BY k) GROUP BY s": "yes yes",
    "SELECT * FROM (SELECT k, SUM(a) AS s FROM orders GROUP BY k) JOIN users ON k = name": "no",
    "SELECT * FROM (SELECT AVG(s) AS m FROM (SELECT k, SUM(a) + 1 AS s FROM orders GROUP BY k)), "
    "users": "no no",
    "SELECT m, COUNT(*) FROM users, (SELECT MAX(a) AS m FROM orders) GROUP BY m": "yes no",
    "SELECT * FROM (SELECT k, s FROM (SELECT k, s, ROW_NUMBER() OVER (PARTITION BY k ORDER BY s) "
    "AS r FROM (SELECT k, SUM(a) AS s FROM orders GROUP BY k, b)) WHERE r < 3) "
    "JOIN users ON k = name": "no",
    "SELECT * FROM (SELECT k, SUM(s) OVER (PARTITION BY k ORDER BY b) AS r FROM "
    "(SELECT k, b, SUM(a) AS s FROM orders GROUP BY k, b)) JOIN users ON k = name": "no",
}


@pytest.mark.parametrize("text", EACH)
def test_an_aggregate_below_a_join_changes_once_a_batch(text: str) -> None:
    root = planned(resolved(text))
    plan = ChangelogPlan([root])
    assert [plan.tells_each(each) for each in _aggregates(root)] == [
        word == "yes" for word in EACH[text].split()
    ]


def test_an_aggregate_that_is_also_a_result_tells_each_change() -> None:
    shared = SharedNodes()
    totals = "SELECT k, SUM(a) AS s FROM orders GROUP BY k"
    texts = (f"SELECT * FROM ({totals}) JOIN users ON k = name", totals)
    for order in (texts, texts[::-1]):
        roots = [shared.shared(planned(resolved(text))) for text in order]
        plan = ChangelogPlan(roots)
        [aggregate] = {id(each): each for root in roots for each in _aggregates(root)}.values()
        assert plan.tells_each(aggregate)


def _aggregates(node: n.Rel) -> list[n.GroupAggregate]:
    own = [node] if isinstance(node, n.GroupAggregate) else []
    return own + [found for part in node.inputs for found in _aggregates(part)]


def test_a_plan_names_the_columns_of_each_branch() -> None:
    text = """
        SELECT o.k, b.price FROM orders o JOIN bids b ON o.k = b.item AND o.a < b.price
        WHERE o.a > 1 AND b.price > 2
    """
    assert tree(planned(resolved(text))) == [
        "Calc(select=[k, price])",
        "+- Join(kind=[inner], left_keys=[k], right_keys=[item], condition=[(a < price)], "
        "select=[k, a, item, price])",
        "   +- Calc(select=[k, a], where=[(a > 1)])",
        "      +- Scan(table=[orders], fields=[k, a, b])",
        "   +- Calc(select=[item, price], where=[(price > 2)])",
        "      +- WatermarkAssigner(column=[ts], expression=[ts])",
        "         +- Scan(table=[bids], fields=[ts, item, price])",
    ]


def test_columns_of_one_name_get_a_number_in_plans() -> None:
    lines = tree(resolved("SELECT x.a, y.a FROM orders x LEFT JOIN orders y ON x.k = y.k"))
    assert lines[:2] == [
        "Calc(select=[a, a0])",
        "+- Join(kind=[left], left_keys=[k], right_keys=[k0], select=[k, a, b, k0, a0, b0])",
    ]
    union = tree(resolved("SELECT a FROM orders UNION ALL SELECT age FROM users"))
    assert union[0] == "Union(select=[a])"
