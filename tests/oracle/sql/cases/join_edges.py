"""Joins at their edges: outer interval joins, temporal joins, changing sides, hints."""

# ruff: noqa: E501

from __future__ import annotations

from oracle.sql.model import SqlCase

STREAM = ("streaming",)
PAIR = ("trades", "asks")
VERSIONS = (
    "CREATE TEMPORARY VIEW versions AS SELECT item, price, ts FROM (SELECT *, ROW_NUMBER() OVER "
    "(PARTITION BY item ORDER BY ts DESC) AS n FROM bids) WHERE n = 1",
)


def join(name: str, sql: str, *tables: str, **more: object) -> SqlCase:
    """Two sources race, so the table counts."""
    more.setdefault("modes", STREAM)
    more.setdefault("compare", "table")
    return SqlCase(name, sql, tables or PAIR, **more)  # type: ignore[arg-type]


def interval(kind: str, low: str, high: str, more: str = "") -> str:
    """Trades and asks near to each other."""
    return (
        f"SELECT t.item, t.price, a.item, a.amount FROM trades t {kind} JOIN asks a ON "
        f"t.item = a.item AND a.at_ BETWEEN t.ts {low} AND t.ts {high}{more}"
    )


FIVE, TWO = "INTERVAL '5' SECOND", "INTERVAL '2' SECOND"

CASES = [
    *(join(f"interval_{kind.lower()}_pair", interval(kind, f"- {TWO}", f"+ {FIVE}"),
        modes=("streaming", "batch")) for kind in ("INNER", "LEFT", "RIGHT", "FULL")),
    *(join(f"interval_{kind.lower()}_predicate", interval(kind, f"- {TWO}", f"+ {FIVE}", " AND t.price * 10 > a.amount"))
      for kind in ("INNER", "LEFT", "RIGHT", "FULL")),
    join("interval_after", interval("FULL", f"+ {TWO}", f"+ {FIVE}")),
    join("interval_before", interval("FULL", f"- {FIVE}", f"- {TWO}")),
    join("interval_empty", interval("LEFT", f"+ {FIVE}", f"+ {TWO}")),
    join("interval_equal", "SELECT t.item, t.price, a.amount FROM trades t FULL JOIN asks a ON t.item = a.item AND t.ts = a.at_"),
    join("interval_no_key", "SELECT t.price, a.amount FROM trades t JOIN asks a ON t.ts BETWEEN a.at_ AND a.at_ + INTERVAL '1' SECOND"),
    join("interval_semi", "SELECT item, price FROM trades t WHERE EXISTS (SELECT * FROM asks a WHERE a.item = t.item AND "
        f"a.at_ BETWEEN t.ts - {TWO} AND t.ts + {FIVE})"),
    join("interval_then_group", f"SELECT item, COUNT(*), SUM(amount) FROM (SELECT t.item, a.amount FROM trades t LEFT JOIN asks a "
        f"ON t.item = a.item AND a.at_ BETWEEN t.ts - {TWO} AND t.ts + {FIVE}) GROUP BY item"),
    join("temporal_nulls", "SELECT a.item, amount, price FROM asks a LEFT JOIN versions FOR SYSTEM_TIME AS OF a.at_ AS v ON a.item = v.item",
        "asks", "bids", setup=VERSIONS),
    join("temporal_inner_versions", "SELECT a.item, amount, price FROM asks a JOIN versions FOR SYSTEM_TIME AS OF a.at_ AS v ON a.item = v.item",
        "asks", "bids", setup=VERSIONS),
    join("temporal_predicate", "SELECT a.item, amount, price FROM asks a LEFT JOIN versions FOR SYSTEM_TIME AS OF a.at_ AS v ON a.item = "
        "v.item AND v.price > 4", "asks", "bids", setup=VERSIONS),
    join("temporal_deleted", "SELECT t.item, price, rate FROM trades t LEFT JOIN rates FOR SYSTEM_TIME AS OF t.ts ON t.item = cur",
        "trades", "rates"),
    join("temporal_two", "SELECT t.item, t.price, r.rate, v.price FROM trades t LEFT JOIN rates FOR SYSTEM_TIME AS OF t.ts AS r ON t.item "
        "= r.cur LEFT JOIN versions FOR SYSTEM_TIME AS OF t.ts AS v ON t.item = v.item", "trades", "rates", "bids", setup=VERSIONS),
    join("temporal_then_window", "SELECT window_start, SUM(rate * amount) FROM TABLE(TUMBLE(TABLE priced, DESCRIPTOR(at_), INTERVAL '10' "
        "SECOND)) GROUP BY window_start, window_end", "asks", "rates",
        setup=("CREATE TEMPORARY VIEW priced AS SELECT at_, amount, rate FROM asks JOIN rates FOR SYSTEM_TIME AS OF asks.at_ ON item = cur",)),
    *(join(f"changing_{kind.lower()}", f"SELECT s.id, s.points, c.v, c.w FROM scores s {kind} JOIN changes c ON s.id = c.id",
        "scores", "changes") for kind in ("INNER", "LEFT", "RIGHT", "FULL")),
    *(join(f"changing_{kind.lower()}_predicate", f"SELECT s.id, s.team, c.id, c.k FROM scores s {kind} JOIN changes c ON s.team = c.k AND "
        "s.points > c.v", "scores", "changes") for kind in ("LEFT", "RIGHT", "FULL")),
    join("changing_semi", "SELECT id, points FROM scores WHERE points IN (SELECT v FROM changes)", "scores", "changes"),
    join("changing_anti", "SELECT id, points FROM scores s WHERE NOT EXISTS (SELECT * FROM changes c WHERE c.v = s.points)", "scores", "changes"),
    join("changing_not_in", "SELECT id, points FROM scores s WHERE points NOT IN (SELECT v FROM changes WHERE v IS NOT NULL)", "scores", "changes"),
    join("changing_not_in_null", "SELECT id, points FROM scores s WHERE points NOT IN (SELECT v FROM changes)", "scores", "changes"),
    join("changing_self_full", "SELECT a.id, b.id FROM scores a FULL JOIN scores b ON a.points = b.points AND a.id < b.id", "scores"),
    join("changing_three", "SELECT s.id, c.w, l.v FROM scores s LEFT JOIN changes c ON s.id = c.id LEFT JOIN latest l ON c.k = l.k",
        "scores", "changes", "latest"),
    join("changing_groups", "SELECT a.team, a.s, b.c FROM (SELECT team, SUM(points) AS s FROM scores GROUP BY team) a FULL JOIN (SELECT k, "
        "COUNT(*) AS c FROM changes GROUP BY k) b ON a.team = b.k", "scores", "changes"),
    join("changing_cross", "SELECT a.id, b.m FROM scores a CROSS JOIN (SELECT MAX(points) AS m FROM scores) b", "scores"),
    join("changing_null_safe", "SELECT a.id, c.id FROM scores a JOIN changes c ON a.team IS NOT DISTINCT FROM c.k", "scores", "changes"),
    join("upsert_left", "SELECT l.k, l.v, c.city FROM latest l LEFT JOIN cities c ON l.k = c.k", "latest", "cities"),
    join("upsert_right", "SELECT l.k, l.v, o.id FROM latest l RIGHT JOIN orders o ON l.k = o.k", "latest", "orders"),
    join("ttl_hint", "SELECT /*+ STATE_TTL('o' = '1 d', 'u' = '20 d') */ id, city FROM orders o LEFT JOIN users u ON o.k = u.name", "orders", "users"),
    join("ttl_option", "SELECT id, city FROM orders o FULL JOIN users u ON o.k = u.name", "orders", "users", options={"table.exec.state.ttl": "1 h"}),
    join("ttl_hint_group", "SELECT /*+ STATE_TTL('orders' = '1 d') */ k, COUNT(*) FROM orders GROUP BY k", "orders", compare="rows"),
    join("broadcast_hint", "SELECT /*+ BROADCAST(u) */ id, city FROM orders o JOIN users u ON o.k = u.name", "orders", "users",
        modes=("streaming", "batch")),
    join("join_two_columns", "SELECT a.id, b.id FROM orders a JOIN orders b ON a.k = b.k AND a.a = b.a AND a.id < b.id", "orders"),
    join("join_of_top", "SELECT o.id, t.id FROM orders o JOIN (SELECT * FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY a DESC"
        ") AS n FROM orders) WHERE n = 1) t ON o.k = t.k", "orders"),
]  # fmt: skip
