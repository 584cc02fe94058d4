"""What queries become: which nodes, and with which changes."""

from __future__ import annotations

import pytest

from headrace.errors import HeadraceError
from headrace.rel.changelog import ChangelogPlan
from headrace.rel.planner import optimised
from headrace.rel.properties import is_key
from rel_tables import plan_of, resolved

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
    root = optimised(resolved(text))
    assert str(ChangelogPlan([root]).of(root)) == CHANGES[text]


ERRORS = {
    "SELECT prize FROM bids": "there is no column prize here.*did you mean price",
    "SELECT * FROM order": None,
    "SELECT * FROM oders": "there is no table oders.*did you mean orders",
    "SELECT k, a FROM orders GROUP BY k": "a is neither grouped nor aggregated",
    "SELECT a FROM orders JOIN bids ON orders.k = bids.item WHERE SUM(a) > 1": "is an aggregate",
    "SELECT x.a FROM orders o": "there is no column x.a here",
    "SELECT o.c FROM orders o": "table o has no column c",
    "SELECT orders.k FROM orders JOIN orders AS p ON k = k": "column k is in",
    "SELECT a + k FROM orders": None,
    "SELECT UPER(k) FROM orders": "UPER",
    "SELECT a FROM orders WHERE a": "a condition is BOOLEAN, this is INT",
    "SELECT a FROM orders UNION SELECT k, a FROM orders": "have 1 and 2 columns",
    "SELECT (SELECT a, k FROM orders) FROM users": "has one column, this has 2",
    "SELECT CAST(ts AS BOOLEAN) FROM bids": "",
}


@pytest.mark.parametrize("text", [text for text, match in ERRORS.items() if match is not None])
def test_what_is_wrong_is_told(text: str) -> None:
    match = ERRORS[text]
    assert match is not None
    with pytest.raises(HeadraceError, match=f"(?s){match}"):
        resolved(text)


@pytest.mark.parametrize(
    ("projection", "is_kept"),
    [("k", True), ("CAST(k AS BIGINT)", True), ("CAST(k AS STRING)", True), ("k + 1", False)],
)
def test_a_key_is_kept_where_its_values_stay_apart(projection: str, is_kept: bool) -> None:
    text = f"SELECT {projection}, c FROM (SELECT a AS k, COUNT(*) AS c FROM orders GROUP BY a)"
    assert is_key(optimised(resolved(text)), {0}) is is_kept
