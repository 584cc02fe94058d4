"""Queries from text to lines, without Spark: each clause once, and how they meet."""

from __future__ import annotations

import pytest

from rel_tables import at, final_table, run

CASES: dict[str, list[tuple[object, ...]]] = {
    "SELECT k, a + 1 AS c FROM orders WHERE a > 2": [("x", 4), (None, 5)],
    "SELECT o.* FROM orders AS o WHERE b IS NULL": [(None, 4, None)],
    "SELECT DISTINCT k FROM orders": [("x",), ("y",), (None,)],
    "SELECT k, SUM(a) AS s, COUNT(*) AS c FROM orders GROUP BY k": [
        ("x", 4, 2),
        ("y", 2, 1),
        (None, 4, 1),
    ],
    "SELECT k, SUM(a) / 2 FROM orders GROUP BY k HAVING COUNT(*) > 1": [("x", 2)],
    "SELECT MAX(a) - MIN(a) FROM orders": [(3,)],
    "SELECT k || '!' AS kk, COUNT(DISTINCT b) AS n FROM orders GROUP BY k || '!'": [
        ("x!", 2),
        ("y!", 1),
        (None, 0),
    ],
    "SELECT SUM(a) FILTER (WHERE k = 'x') FROM orders": [(4,)],
    "SELECT o.k, u.age FROM orders o JOIN users u ON o.k = u.name": [("x", 40), ("x", 40)],
    "SELECT o.k, u.age FROM orders o, users u WHERE o.k = u.name AND o.a > 1": [("x", 40)],
    "SELECT o.a, u.age FROM orders o LEFT JOIN users u ON o.k = u.name": [
        (1, 40),
        (2, None),
        (3, 40),
        (4, None),
    ],
    "SELECT o.a, u.name FROM orders o RIGHT JOIN users u ON o.k = u.name AND o.a > 1": [
        (3, "x"),
        (None, "z"),
    ],
    "SELECT o.a, u.name FROM orders o FULL JOIN users u ON o.k = u.name": [
        (1, "x"),
        (2, None),
        (3, "x"),
        (4, None),
        (None, "z"),
    ],
    "SELECT a.a, b.a FROM orders a JOIN orders b ON a.a = b.a - 1": [(1, 2), (2, 3), (3, 4)],
    "SELECT COUNT(*) FROM orders, users": [(8,)],
    "SELECT a FROM orders WHERE k IN (SELECT name FROM users)": [(1,), (3,)],
    "SELECT a FROM orders WHERE k NOT IN (SELECT name FROM users WHERE name = 'x')": [(2,)],
    "SELECT a FROM orders o WHERE EXISTS (SELECT 1 FROM users u WHERE u.name = o.k)": [(1,), (3,)],
    "SELECT a FROM orders o WHERE NOT EXISTS (SELECT * FROM users WHERE name = k)": [(2,), (4,)],
    "SELECT a FROM orders WHERE a > (SELECT AVG(a) FROM orders)": [(3,), (4,)],
    "SELECT a, (SELECT MAX(age) FROM users u WHERE u.name = o.k) AS m FROM orders o": [
        (1, 40),
        (2, None),
        (3, 40),
        (4, None),
    ],
    "SELECT a, (SELECT COUNT(*) FROM users u WHERE u.name = o.k) AS m FROM orders o": [
        (1, 1),
        (2, 0),
        (3, 1),
        (4, 0),
    ],
    "SELECT a FROM orders UNION ALL SELECT age FROM users": [(1,), (2,), (3,), (4,), (40,), (5,)],
    "SELECT k FROM orders UNION SELECT name FROM users": [("x",), ("y",), ("z",), (None,)],
    "SELECT k FROM orders INTERSECT SELECT name FROM users": [("x",)],
    "SELECT k FROM orders EXCEPT SELECT name FROM users": [("y",), (None,)],
    "WITH big (n) AS (SELECT a FROM orders WHERE a > 2) SELECT n * 10 FROM big": [(30,), (40,)],
    "SELECT a FROM orders ORDER BY a DESC LIMIT 2": [(3,), (4,)],
    "SELECT k FROM orders ORDER BY b DESC LIMIT 1": [("x",)],
    "SELECT a FROM orders ORDER BY a LIMIT 2 OFFSET 1": [(2,), (3,)],
    "VALUES (1, 'a'), (2, 'bc')": [(1, "a"), (2, "bc")],
    "SELECT CASE k WHEN 'x' THEN 1 ELSE 0 END, COALESCE(b, -1) FROM orders WHERE a > 2": [
        (0, -1),
        (1, 30),
    ],
    "SELECT x FROM UNNEST(ARRAY[1, 2, 3]) AS t (x) WHERE x <> 2": [(1,), (3,)],
    "SELECT a, x FROM orders CROSS JOIN UNNEST(ARRAY[a, a * 10]) AS t (x) WHERE a = 2": [
        (2, 2),
        (2, 20),
    ],
    "SELECT k, a FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY a DESC) AS rn "
    "FROM orders) WHERE rn = 1": [("x", 3), ("y", 2), (None, 4)],
    "SELECT k, a, ROW_NUMBER() OVER (PARTITION BY k ORDER BY a) AS rn FROM orders QUALIFY rn = 2": [
        ("x", 3, 2)
    ],
    "SELECT k, RANK() OVER (ORDER BY SUM(a) DESC) + 1 AS r FROM orders GROUP BY k "
    "QUALIFY r < 4 AND COUNT(*) > 0": [("x", 2), (None, 2)],
    "SELECT a AS n, k FROM orders ORDER BY CASE WHEN n = 3 THEN 0 ELSE n END LIMIT 2": [
        (1, "x"),
        (3, "x"),
    ],
    "(SELECT a FROM orders LIMIT 4) UNION ALL SELECT 9 ORDER BY -a LIMIT 2": [(4,), (9,)],
    "SELECT item, GROUPING(item) AS g, SUM(price) FROM bids GROUP BY ROLLUP (item)": [
        ("A", 0, 10),
        ("B", 0, 5),
        ("C", 0, 6),
        (None, 1, 21),
    ],
    "SELECT item, price, COUNT(*) FROM bids GROUP BY GROUPING SETS ((item), (price), ())": [
        ("A", None, 3),
        ("B", None, 2),
        ("C", None, 1),
        (None, 1, 1),
        (None, 2, 1),
        (None, 3, 1),
        (None, 4, 1),
        (None, 5, 1),
        (None, 6, 1),
        (None, None, 6),
    ],
}


@pytest.mark.parametrize("text", CASES)
def test_a_query_gives_its_table(text: str) -> None:
    assert final_table(text) == sorted(CASES[text], key=repr)


def test_windows_are_complete_when_the_watermark_passes() -> None:
    text = """
        SELECT window_start, window_end, SUM(price) FROM TABLE(
            TUMBLE(TABLE bids, DESCRIPTOR(ts), INTERVAL '10' MINUTES))
        GROUP BY window_start, window_end"""
    assert run(text) == [(at(0), at(10), 11), (at(10), at(20), 10)]


def test_a_window_can_be_asked_for_its_bounds_in_the_old_way() -> None:
    text = """
        SELECT item, TUMBLE_START(ts, INTERVAL '10' MINUTES) AS s, COUNT(*) FROM bids
        GROUP BY item, TUMBLE(ts, INTERVAL '10' MINUTES)"""
    found = sorted(run(text))
    assert found == [
        ("A", at(0), 2),
        ("A", at(10), 1),
        ("B", at(0), 1),
        ("B", at(10), 1),
        ("C", at(10), 1),
    ]


def test_the_best_of_each_window() -> None:
    text = """
        SELECT window_end, item, p FROM (
            SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY p DESC)
                AS rn
            FROM (
                SELECT window_start, window_end, item, SUM(price) AS p FROM TABLE(
                    TUMBLE(TABLE bids, DESCRIPTOR(ts), INTERVAL '10' MINUTES))
                GROUP BY window_start, window_end, item))
        WHERE rn <= 1"""
    assert run(text) == [(at(10), "A", 9), (at(20), "C", 6)]


def test_sessions_are_grouped() -> None:
    text = """
        SELECT item, window_start, window_end, COUNT(*) FROM TABLE(
            SESSION(TABLE bids PARTITION BY item, DESCRIPTOR(ts), INTERVAL '5' MINUTES))
        GROUP BY item, window_start, window_end"""
    assert sorted(run(text)) == [
        ("A", at(5), at(18), 3),
        ("B", at(7), at(16), 2),
        ("C", at(17), at(22), 1),
    ]


def test_the_changelog_is_flinks_row_by_row() -> None:
    text = "SELECT k, SUM(a) AS s FROM orders WHERE k = 'x' GROUP BY k"
    assert run(text) == [("x", 1, 0), ("x", 1, 1), ("x", 4, 2)]


def test_a_join_sees_of_a_group_only_what_a_batch_leaves() -> None:
    lines = run(
        "SELECT k, s, age FROM users "
        "JOIN (SELECT k, SUM(a) AS s FROM orders GROUP BY k) ON k = name"
    )
    assert lines == [("x", 4, 40, 0)]  # and not +I 1, -U 1, +U 4
