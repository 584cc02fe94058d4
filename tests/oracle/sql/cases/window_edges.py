"""Windows at their edges: offsets, partitioned sessions, nested and filtered ones."""

# ruff: noqa: E501

from __future__ import annotations

from oracle.sql.model import SqlCase

STREAM = ("streaming",)
SPAN = "window_start, window_end"
TEN = "INTERVAL '10' SECOND"


def windowed(name: str, sql: str, *tables: str, **more: object) -> SqlCase:
    """Timers fire for several keys at one time."""
    more.setdefault("compare", "bag")
    more.setdefault("modes", STREAM)
    return SqlCase(name, sql, tables or ("bids",), **more)  # type: ignore[arg-type]


def grouped(window: str, calls: str = "COUNT(*), SUM(price)", key: str = "") -> str:
    """A window over bids."""
    keys = f"{key}, " if key else ""
    return f"SELECT {keys}{SPAN}, {calls} FROM TABLE({window}) GROUP BY {keys}{SPAN}"


def of(kind: str, rest: str, table: str = "bids") -> str:
    """A window TVF."""
    return f"{kind}(TABLE {table}, DESCRIPTOR(ts), {rest})"


MANY = (
    "COUNT(*), COUNT(DISTINCT bidder), SUM(DISTINCT price), MIN(price), MAX(price), AVG(price), "
    "LISTAGG(bidder, '+')"
)
TOP = (
    "SELECT item, price, window_end, n FROM (SELECT *, {} OVER (PARTITION BY {} ORDER BY {}) AS n "
    "FROM TABLE({})) WHERE n <= 2"
)

CASES = [
    windowed("cumulate_offset", grouped(of("CUMULATE", "INTERVAL '3' SECOND, INTERVAL '9' SECOND, INTERVAL '1' SECOND"))),
    windowed("cumulate_minus_offset", grouped(of("CUMULATE", "INTERVAL '3' SECOND, INTERVAL '9' SECOND, INTERVAL '-2' SECOND"), key="item")),
    windowed("hop_offset", grouped(of("HOP", "INTERVAL '4' SECOND, INTERVAL '8' SECOND, INTERVAL '1' SECOND"))),
    windowed("hop_uneven_refused", grouped(of("HOP", "INTERVAL '4' SECOND, INTERVAL '9' SECOND")), refused=True),
    windowed("cumulate_uneven", grouped(of("CUMULATE", "INTERVAL '4' SECOND, INTERVAL '9' SECOND")), refused=True),
    windowed("cumulate_many", grouped(of("CUMULATE", "INTERVAL '3' SECOND, INTERVAL '9' SECOND"), MANY, "item")),
    windowed("tumble_many", grouped(of("TUMBLE", "INTERVAL '10' SECOND"), MANY)),
    windowed("tumble_first_last", grouped(of("TUMBLE", TEN), "FIRST_VALUE(bidder), LAST_VALUE(bidder), FIRST_VALUE(price), LAST_VALUE(price)")),
    windowed("session_many", f"SELECT item, {SPAN}, {MANY} FROM TABLE(SESSION(TABLE bids PARTITION BY item, "
        f"DESCRIPTOR(ts), INTERVAL '4' SECOND)) GROUP BY item, {SPAN}"),
    windowed("session_unpartitioned", f"SELECT {SPAN}, COUNT(*) FROM TABLE(SESSION(TABLE bids, DESCRIPTOR(ts), "
        f"INTERVAL '4' SECOND)) GROUP BY {SPAN}"),
    windowed("session_two_keys", f"SELECT item, bidder, {SPAN}, COUNT(*) FROM TABLE(SESSION(TABLE bids PARTITION "
        f"BY (item, bidder), DESCRIPTOR(ts), INTERVAL '10' SECOND)) GROUP BY item, bidder, {SPAN}"),
    windowed("session_of_filtered", f"SELECT item, {SPAN}, COUNT(*) FROM TABLE(SESSION(TABLE few PARTITION BY item, "
        f"DESCRIPTOR(ts), INTERVAL '5' SECOND)) GROUP BY item, {SPAN}",
        setup=("CREATE TEMPORARY VIEW few AS SELECT ts, item FROM bids WHERE price > 3",)),
    windowed("tumble_cube", "SELECT item, bidder, window_start, COUNT(*), GROUPING_ID(item, bidder) FROM "
        f"TABLE({of('TUMBLE', TEN)}) GROUP BY {SPAN}, CUBE (item, bidder)"),
    windowed("tumble_rollup", "SELECT item, window_start, SUM(price), GROUPING(item) FROM TABLE(TUMBLE(TABLE bids, "
        f"DESCRIPTOR(ts), INTERVAL '10' SECOND)) GROUP BY {SPAN}, ROLLUP (item)"),
    windowed("tumble_only_start", "SELECT window_start, COUNT(*) FROM TABLE(TUMBLE(TABLE bids, DESCRIPTOR(ts), "
        "INTERVAL '5' SECOND)) GROUP BY window_start", compare="rows"),
    windowed("tumble_expression_key", "SELECT price / 3, window_end, COUNT(*) FROM TABLE(TUMBLE(TABLE bids, "
        f"DESCRIPTOR(ts), INTERVAL '5' SECOND)) GROUP BY price / 3, {SPAN}"),
    windowed("tumble_distinct", "SELECT DISTINCT item, window_start, window_end FROM TABLE(TUMBLE(TABLE bids, "
        "DESCRIPTOR(ts), INTERVAL '5' SECOND))"),
    windowed("tumble_json", f"SELECT {SPAN}, JSON_ARRAYAGG(price), CHAR_LENGTH(JSON_OBJECTAGG(KEY CAST(ts AS STRING) VALUE price)) FROM "
        "(SELECT * FROM TABLE(TUMBLE(TABLE bids, DESCRIPTOR(ts), INTERVAL '10' SECOND)) WHERE bidder IS NOT NULL "
        f"AND bidder <> 'late' AND price <> 9 AND price <> 7) GROUP BY {SPAN}"),
    windowed("tumble_collect", f"SELECT {SPAN}, COLLECT(item), CAST(ARRAY_AGG(price) AS STRING) FROM TABLE(TUMBLE(TABLE bids, "
        f"DESCRIPTOR(ts), INTERVAL '10' SECOND)) GROUP BY {SPAN}"),
    windowed("cumulate_of_tumble", "SELECT window_start, window_end, SUM(c), MAX(c) FROM TABLE(CUMULATE(TABLE small, "
        "DESCRIPTOR(rt), INTERVAL '10' SECOND, INTERVAL '20' SECOND)) GROUP BY window_start, window_end",
        setup=("CREATE TEMPORARY VIEW small AS SELECT item, window_time AS rt, COUNT(*) AS c FROM TABLE(TUMBLE(TABLE "
               "bids, DESCRIPTOR(ts), INTERVAL '5' SECOND)) GROUP BY item, window_start, window_end, window_time",)),
    windowed("group_over_windows", "SELECT item, COUNT(*), SUM(c) FROM (SELECT item, COUNT(*) AS c FROM TABLE(TUMBLE("
        f"TABLE bids, DESCRIPTOR(ts), INTERVAL '5' SECOND)) GROUP BY item, {SPAN}) GROUP BY item"),
    windowed("over_of_windows", "SELECT item, c, SUM(c) OVER (PARTITION BY item ORDER BY rt) FROM (SELECT item, "
        "window_time AS rt, COUNT(*) AS c FROM TABLE(TUMBLE(TABLE bids, DESCRIPTOR(ts), INTERVAL '5' SECOND)) GROUP BY "
        f"item, {SPAN}, window_time)"),
    *(windowed(f"window_top_{name}", TOP.format("ROW_NUMBER()", f"{SPAN}{more}", order, of(kind, rest)))
      for name, kind, rest, more, order in (
          ("hop", "HOP", "INTERVAL '5' SECOND, INTERVAL '10' SECOND", "", "price DESC, ts"),
          ("cumulate", "CUMULATE", "INTERVAL '5' SECOND, INTERVAL '10' SECOND", "", "price, ts"),
          ("by_item", "TUMBLE", "INTERVAL '10' SECOND", ", item", "price DESC NULLS LAST, ts"),
          ("nulls_first", "TUMBLE", "INTERVAL '10' SECOND", "", "price DESC NULLS FIRST, ts"))),
    windowed("window_top_range", "SELECT item, price, window_end, n FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY "
        f"{SPAN} ORDER BY price DESC, ts) AS n FROM TABLE(TUMBLE(TABLE bids, DESCRIPTOR(ts), INTERVAL '10' SECOND))) "
        "WHERE n BETWEEN 2 AND 3"),
    windowed("window_top_session", "SELECT item, price, window_end FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY item, "
        f"{SPAN} ORDER BY price DESC, ts) AS n FROM TABLE(SESSION(TABLE bids PARTITION BY item, DESCRIPTOR(ts), INTERVAL "
        "'4' SECOND))) WHERE n <= 1"),
    windowed("window_top_then_group", f"SELECT {SPAN}, SUM(price) FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY {SPAN}"
        " ORDER BY price DESC, ts) AS n FROM TABLE(TUMBLE(TABLE bids, DESCRIPTOR(ts), INTERVAL '10' SECOND))) WHERE n <= 2 "
        f"GROUP BY {SPAN}"),
    *(windowed(f"window_{kind.lower()}_pair", f"SELECT l.item, l.price, r.amount, COALESCE(l.window_start, r.window_start) "
        f"FROM (SELECT * FROM TABLE(TUMBLE(TABLE trades, DESCRIPTOR(ts), INTERVAL '5' SECOND))) l {kind} JOIN (SELECT * "
        "FROM TABLE(TUMBLE(TABLE asks, DESCRIPTOR(at_), INTERVAL '5' SECOND))) r ON l.item = r.item AND l.window_start = "
        "r.window_start AND l.window_end = r.window_end", "trades", "asks") for kind in ("INNER", "LEFT", "RIGHT", "FULL")),
    windowed("window_anti_pair", "SELECT item, price FROM (SELECT * FROM TABLE(TUMBLE(TABLE trades, DESCRIPTOR(ts), "
        "INTERVAL '5' SECOND))) l WHERE NOT EXISTS (SELECT * FROM (SELECT * FROM TABLE(TUMBLE(TABLE asks, "
        "DESCRIPTOR(at_), INTERVAL '5' SECOND))) r WHERE r.item = l.item AND l.window_start = r.window_start AND "
        "l.window_end = r.window_end)", "trades", "asks"),
    windowed("window_join_no_key", "SELECT l.item, r.item FROM (SELECT * FROM TABLE(TUMBLE(TABLE trades, DESCRIPTOR(ts), "
        "INTERVAL '5' SECOND))) l JOIN (SELECT * FROM TABLE(TUMBLE(TABLE asks, DESCRIPTOR(at_), INTERVAL '5' SECOND))) r "
        "ON l.window_start = r.window_start AND l.window_end = r.window_end AND l.price < r.amount", "trades", "asks"),
    windowed("window_join_hop", "SELECT l.item, l.price, r.amount, l.window_end FROM (SELECT * FROM TABLE(HOP(TABLE trades, "
        "DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '10' SECOND))) l JOIN (SELECT * FROM TABLE(HOP(TABLE asks, "
        "DESCRIPTOR(at_), INTERVAL '5' SECOND, INTERVAL '10' SECOND))) r ON l.item = r.item AND l.window_start = "
        "r.window_start AND l.window_end = r.window_end", "trades", "asks"),
    windowed("window_join_sums", "SELECT l.item, l.s, r.s FROM (SELECT item, window_start, window_end, SUM(price) AS s FROM "
        f"TABLE(TUMBLE(TABLE trades, DESCRIPTOR(ts), INTERVAL '5' SECOND)) GROUP BY item, {SPAN}) l FULL JOIN (SELECT item, "
        f"window_start, window_end, SUM(amount) AS s FROM TABLE(TUMBLE(TABLE asks, DESCRIPTOR(at_), INTERVAL '5' SECOND)) "
        f"GROUP BY item, {SPAN}) r ON l.item = r.item AND l.window_start = r.window_start AND l.window_end = r.window_end",
        "trades", "asks"),
    windowed("group_hop_distinct", "SELECT item, HOP_END(ts, INTERVAL '4' SECOND, INTERVAL '8' SECOND), COUNT(DISTINCT "
        "price), LISTAGG(bidder) FROM bids GROUP BY item, HOP(ts, INTERVAL '4' SECOND, INTERVAL '8' SECOND)"),
    windowed("group_session_all", "SELECT SESSION_ROWTIME(ts, INTERVAL '4' SECOND), COUNT(*), MAX(price) FROM bids "
        "GROUP BY SESSION(ts, INTERVAL '4' SECOND)"),
    windowed("group_window_having", "SELECT TUMBLE_START(ts, INTERVAL '5' SECOND) AS w, SUM(price) AS s FROM bids GROUP BY "
        "TUMBLE(ts, INTERVAL '5' SECOND) HAVING SUM(price) > 8"),
    windowed("window_over_join", f"SELECT {SPAN}, COUNT(*), SUM(amount) FROM TABLE(TUMBLE(TABLE pairs, DESCRIPTOR(ts), "
        f"INTERVAL '10' SECOND)) GROUP BY {SPAN}", "trades", "asks",
        setup=("CREATE TEMPORARY VIEW pairs AS SELECT t.ts, amount FROM trades t JOIN asks a ON t.item = a.item AND a.at_ "
               "BETWEEN t.ts - INTERVAL '5' SECOND AND t.ts + INTERVAL '5' SECOND",)),
]  # fmt: skip
