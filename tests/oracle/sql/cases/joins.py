"""Regular, interval and temporal joins."""

# ruff: noqa: E501

from __future__ import annotations

from oracle.sql.model import SqlCase

TWO = ("orders", "users")
TIMED = ("bids", "asks")


def join(name: str, sql: str, tables: tuple[str, ...] = TWO, **more: object) -> SqlCase:
    """Two sources race, so the table counts."""
    return SqlCase(name, sql, tables, compare="table", **more)  # type: ignore[arg-type]


ON = "orders o {} JOIN users u ON o.k = u.name"

CASES = [
    join("inner_join", f"SELECT id, k, city FROM {ON.format('INNER')}"),
    join("left_join", f"SELECT id, k, city FROM {ON.format('LEFT')}"),
    join("right_join", f"SELECT id, name, city FROM {ON.format('RIGHT')}"),
    join("full_join", f"SELECT id, k, name, city FROM {ON.format('FULL')}"),
    join("cross_join", "SELECT id, city FROM orders CROSS JOIN users WHERE id < 3"),
    join("comma_join", "SELECT id, city FROM orders, users WHERE k = name AND a > 3"),
    join("inner_predicate", f"SELECT id, city FROM {ON.format('INNER')} AND o.a * 10 > u.age"),
    join("left_predicate", f"SELECT id, city FROM {ON.format('LEFT')} AND o.a * 10 > u.age"),
    join("right_predicate", f"SELECT id, city FROM {ON.format('RIGHT')} AND o.a * 10 > u.age"),
    join("full_predicate", f"SELECT id, city FROM {ON.format('FULL')} AND o.a * 10 > u.age"),
    join("left_where_right", f"SELECT id, city FROM {ON.format('LEFT')} WHERE city IS NULL"),
    join("left_constant", "SELECT id, city FROM orders LEFT JOIN users ON k = name AND age > 20"),
    join("join_null_safe", "SELECT id, city FROM orders JOIN users ON k IS NOT DISTINCT FROM name"),
    join("join_types", "SELECT id, city FROM orders JOIN users ON b = age - 7"),
    join("join_expression", "SELECT id, city FROM orders JOIN users ON UPPER(k) = UPPER(name)"),
    join("join_no_equality", "SELECT id, city FROM orders JOIN users ON a > age"),
    join("join_using", "SELECT * FROM (SELECT k AS name, id FROM orders) o JOIN users USING (name)"),
    join("natural_join", "SELECT * FROM (SELECT k AS name, id FROM orders) o NATURAL JOIN users"),
    join("self_join", "SELECT x.id, y.id FROM orders x JOIN orders y ON x.a = y.a AND x.id < y.id",
        ("orders",)),
    join("three_tables", "SELECT o.id, u.city, v.id FROM orders o JOIN users u ON o.k = u.name "
        "JOIN orders v ON v.id = u.age / 10"),
    join("join_groups", "SELECT s.k, s.c, u.city FROM (SELECT k, COUNT(*) AS c FROM orders "
        "GROUP BY k) s JOIN users u ON s.k = u.name"),
    join("left_join_groups", "SELECT u.name, s.c FROM users u LEFT JOIN (SELECT k, COUNT(*) AS c "
        "FROM orders GROUP BY k) s ON s.k = u.name"),
    join("group_over_join", f"SELECT city, SUM(a), COUNT(*) FROM {ON.format('LEFT')} GROUP BY city"),
    join("group_over_full", f"SELECT city, COUNT(id) FROM {ON.format('FULL')} GROUP BY city"),
    join("interval_join", "SELECT b.item, price, amount FROM bids b JOIN asks a ON b.item = a.item "
        "AND b.ts BETWEEN a.at_ - INTERVAL '3' SECOND AND a.at_ + INTERVAL '2' SECOND", TIMED,
        modes=("batch",)),
    join("interval_left_join", "SELECT a.item, price, amount FROM asks a LEFT JOIN bids b "
        "ON b.item = a.item AND b.ts BETWEEN a.at_ - INTERVAL '3' SECOND AND a.at_", TIMED,
        modes=("batch",)),
    join("interval_self_join", "SELECT a.item, a.amount, b.amount FROM asks a JOIN asks b ON "
        "a.item = b.item AND b.at_ BETWEEN a.at_ - INTERVAL '10' SECOND AND a.at_", ("asks",)),
    join("interval_self_left", "SELECT a.item, a.amount, b.amount FROM asks a LEFT JOIN asks b ON "
        "a.item = b.item AND b.at_ > a.at_ AND b.at_ < a.at_ + INTERVAL '8' SECOND", ("asks",)),
    join("interval_self_full", "SELECT a.item, a.amount, b.amount FROM asks a FULL JOIN asks b ON "
        "a.item = b.item AND b.at_ > a.at_ AND b.at_ <= a.at_ + INTERVAL '4' SECOND", ("asks",)),
    join("temporal_join", "SELECT item, amount, rate FROM asks JOIN rates FOR SYSTEM_TIME AS OF "
        "asks.at_ ON item = cur", ("asks", "rates"), modes=("streaming",)),
    join("temporal_left_join", "SELECT item, amount, rate FROM asks LEFT JOIN rates FOR SYSTEM_TIME "
        "AS OF asks.at_ ON item = cur", ("asks", "rates"), modes=("streaming",)),
    join("temporal_dedup_view", "SELECT a.item, amount, price FROM asks a LEFT JOIN best FOR "
        "SYSTEM_TIME AS OF a.at_ AS b ON a.item = b.item", TIMED, modes=("streaming",),
        setup=("CREATE TEMPORARY VIEW best AS SELECT item, price, ts FROM (SELECT *, ROW_NUMBER() "
               "OVER (PARTITION BY item ORDER BY ts DESC) AS n FROM bids WHERE bidder <> 'late') "
               "WHERE n = 1",)),
]  # fmt: skip
