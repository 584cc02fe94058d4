"""Windows: table functions, their aggregates, Top-N, joins and dedup; group windows."""

# ruff: noqa: E501

from __future__ import annotations

from dataclasses import replace

from oracle.sql.model import SqlCase

TUMBLE = "TUMBLE(TABLE {0}, DESCRIPTOR({1}), INTERVAL '5' SECOND)"
HOP = "HOP(TABLE {0}, DESCRIPTOR({1}), INTERVAL '4' SECOND, INTERVAL '8' SECOND)"
CUMULATE = "CUMULATE(TABLE {0}, DESCRIPTOR({1}), INTERVAL '3' SECOND, INTERVAL '9' SECOND)"
SESSION = "SESSION(TABLE {0} PARTITION BY item, DESCRIPTOR({1}), INTERVAL '4' SECOND)"
KINDS = {"tumble": TUMBLE, "hop": HOP, "cumulate": CUMULATE, "session": SESSION}


def windowed(name: str, sql: str, *tables: str, **more: object) -> SqlCase:
    """Timers fire for several keys at one time, so their order is not defined."""
    more.setdefault("compare", "bag")
    return SqlCase(name, sql, tables or ("bids",), **more)  # type: ignore[arg-type]


def of_bids(kind: str) -> str:
    """A window over bids."""
    return f"TABLE({KINDS[kind].format('bids', 'ts')})"


CALLS = "COUNT(*), SUM(price), MAX(price), COUNT(DISTINCT bidder)"
# Asked with one phase and with two: Flink leaves lines of the first windows out in both (gaps.py).
ZONE = {
    "table.local-time-zone": "Asia/Tokyo",
    "table.optimizer.agg-phase-strategy": "ONE_PHASE",
}

CASES = [
    *(windowed(f"{kind}_rows", f"SELECT item, price, window_start, window_end, window_time FROM "
        f"{of_bids(kind)}", modes=("streaming",) if kind == "session" else ("streaming", "batch"))
      for kind in KINDS),
    *(windowed(f"{kind}_groups", f"SELECT item, window_start, window_end, {CALLS} FROM "
        f"{of_bids(kind)} GROUP BY item, window_start, window_end",
        modes=("streaming",) if kind == "session" else ("streaming", "batch"))
      for kind in KINDS),
    *(windowed(f"{kind}_all", f"SELECT window_start, window_end, COUNT(*), SUM(price) FROM "
        f"{of_bids(kind)} GROUP BY window_start, window_end") for kind in ("tumble", "hop")),
    windowed("tumble_offset", "SELECT window_start, COUNT(*) FROM TABLE(TUMBLE(TABLE bids, "
        "DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '2' SECOND)) GROUP BY window_start, "
        "window_end"),
    windowed("tumble_named", "SELECT window_start, COUNT(*) FROM TABLE(TUMBLE(DATA => TABLE bids, "
        "TIMECOL => DESCRIPTOR(ts), SIZE => INTERVAL '5' SECOND)) GROUP BY window_start, window_end"),
    windowed("tumble_having", f"SELECT item, COUNT(*) AS c FROM {of_bids('tumble')} GROUP BY item, "
        "window_start, window_end HAVING COUNT(*) > 1"),
    windowed("tumble_filter", f"SELECT window_end, COUNT(*) FILTER (WHERE item = 'A'), AVG(price) "
        f"FROM {of_bids('tumble')} GROUP BY window_start, window_end"),
    windowed("tumble_where", f"SELECT item, window_end, SUM(price) FROM {of_bids('tumble')} "
        "WHERE price > 3 GROUP BY item, window_start, window_end"),
    windowed("tumble_grouping_sets", f"SELECT item, bidder, window_start, COUNT(*) FROM "
        f"{of_bids('tumble')} GROUP BY window_start, window_end, GROUPING SETS ((item), (bidder), "
        "())"),
    windowed("window_of_windows", "SELECT window_start, window_end, SUM(c) FROM TABLE(TUMBLE(TABLE "
        "small, DESCRIPTOR(rt), INTERVAL '10' SECOND)) GROUP BY window_start, window_end",
        setup=(f"CREATE TEMPORARY VIEW small AS SELECT item, window_time AS rt, COUNT(*) AS c FROM "
               f"{of_bids('tumble')} GROUP BY item, window_start, window_end, window_time",)),
    windowed("regroup_of_windows", f"SELECT window_start, window_end, MAX(c) FROM (SELECT item, "
        f"window_start, window_end, COUNT(*) AS c FROM {of_bids('tumble')} GROUP BY item, "
        "window_start, window_end) GROUP BY window_start, window_end"),
    windowed("group_without_window", f"SELECT item, COUNT(*) FROM {of_bids('tumble')} GROUP BY item",
        compare="rows"),
    windowed("window_top", f"SELECT item, price, window_start, n FROM (SELECT *, ROW_NUMBER() OVER "
        f"(PARTITION BY window_start, window_end ORDER BY price DESC, ts) AS n FROM "
        f"{of_bids('tumble')}) WHERE n <= 2"),
    windowed("window_top_groups", f"SELECT item, s, window_end, n FROM (SELECT *, ROW_NUMBER() OVER "
        f"(PARTITION BY window_start, window_end ORDER BY s DESC, item) AS n FROM (SELECT item, "
        f"window_start, window_end, SUM(price) AS s FROM {of_bids('tumble')} GROUP BY item, "
        "window_start, window_end)) WHERE n <= 1"),
    windowed("window_last", f"SELECT item, price, window_end FROM (SELECT *, ROW_NUMBER() OVER "
        f"(PARTITION BY window_start, window_end, item ORDER BY ts DESC) AS n FROM "
        f"{of_bids('tumble')}) WHERE n = 1"),
    windowed("window_first", f"SELECT item, price, window_end FROM (SELECT *, ROW_NUMBER() OVER "
        f"(PARTITION BY window_start, window_end, item ORDER BY ts) AS n FROM "
        f"{of_bids('hop')}) WHERE n = 1"),
    *(windowed(f"window_{kind.lower().replace(' ', '_')}_join", f"SELECT l.item, l.amount, r.amount, "
        f"l.window_start FROM (SELECT * FROM TABLE({TUMBLE.format('asks', 'at_')})) l {kind} JOIN "
        f"(SELECT * FROM TABLE({TUMBLE.format('asks', 'at_')}) WHERE amount > 20) r ON l.item = "
        "r.item AND l.window_start = r.window_start AND l.window_end = r.window_end", "asks")
      for kind in ("INNER", "LEFT", "FULL")),
    windowed("window_semi_join", f"SELECT item, amount FROM (SELECT * FROM "
        f"TABLE({TUMBLE.format('asks', 'at_')})) l WHERE l.item IN (SELECT item FROM (SELECT * FROM "
        f"TABLE({TUMBLE.format('asks', 'at_')})) r WHERE r.amount > 15 AND l.window_start = "
        "r.window_start AND l.window_end = r.window_end)", "asks"),
    windowed("group_tumble", "SELECT item, TUMBLE_START(ts, INTERVAL '5' SECOND), TUMBLE_END(ts, "
        f"INTERVAL '5' SECOND), {CALLS} FROM bids GROUP BY item, TUMBLE(ts, INTERVAL '5' SECOND)"),
    windowed("group_hop", "SELECT item, HOP_START(ts, INTERVAL '4' SECOND, INTERVAL '8' SECOND), "
        "COUNT(*), AVG(price) FROM bids GROUP BY item, HOP(ts, INTERVAL '4' SECOND, INTERVAL '8' "
        "SECOND)"),
    windowed("group_session", "SELECT item, SESSION_START(ts, INTERVAL '4' SECOND), SESSION_END(ts, "
        "INTERVAL '4' SECOND), COUNT(*), MAX(price) FROM bids GROUP BY item, SESSION(ts, INTERVAL "
        "'4' SECOND)"),
    windowed("group_tumble_all", "SELECT TUMBLE_ROWTIME(ts, INTERVAL '10' SECOND), COUNT(*) "
        "FROM bids GROUP BY TUMBLE(ts, INTERVAL '10' SECOND)"),
    # in BATCH mode any TIMESTAMP will do
    *(windowed(f"group_{name}_plain", f"SELECT {start}, COUNT(*), SUM(id) FROM typed GROUP BY {window}",
        "typed", modes=("batch",)) for name, start, window in (
            ("tumble", "TUMBLE_START(ts, INTERVAL '1' DAY), TUMBLE_ROWTIME(ts, INTERVAL '1' DAY)", "TUMBLE(ts, INTERVAL '1' DAY)"),
            ("hop", "HOP_START(ts, INTERVAL '1' DAY, INTERVAL '2' DAY)", "HOP(ts, INTERVAL '1' DAY, INTERVAL '2' DAY)"))),
    windowed("group_tumble_key_plain", "SELECT id, TUMBLE_START(ts, INTERVAL '1' DAY), COUNT(*) FROM typed GROUP BY id, TUMBLE(ts, "
        "INTERVAL '1' DAY)", "typed", modes=("batch",)),
    windowed("group_hop_key_plain", "SELECT id, HOP_START(ts, INTERVAL '1' DAY, INTERVAL '2' DAY), COUNT(*) FROM typed GROUP BY id, "
        "HOP(ts, INTERVAL '1' DAY, INTERVAL '2' DAY)", "typed", modes=("batch",)),
    windowed("group_session_batch", "SELECT item, SESSION_START(ts, INTERVAL '4' SECOND), COUNT(*) FROM bids GROUP BY item, SESSION(ts, "
        "INTERVAL '4' SECOND)", modes=("batch",), refused=True),
    windowed("session_tvf_batch", f"SELECT item, window_start, COUNT(*) FROM {of_bids('session')} GROUP BY item, window_start, "
        "window_end", modes=("batch",), refused=True),
    windowed("group_proctime_batch", "SELECT COUNT(*) FROM (SELECT id, PROCTIME() AS pt FROM orders) GROUP BY TUMBLE(pt, INTERVAL '1' "
        "DAY)", "orders", modes=("batch",), refused=True),
    *(windowed(f"group_{name.lower()}_clock_batch", f"SELECT {name}_PROCTIME(ts, {sizes}), COUNT(*) FROM bids GROUP BY {name}(ts, {sizes})",
        modes=("batch",), refused=True) for name, sizes in (
            ("TUMBLE", "INTERVAL '10' SECOND"), ("HOP", "INTERVAL '5' SECOND, INTERVAL '10' SECOND"), ("SESSION", "INTERVAL '10' SECOND"))),
    windowed("group_tumble_clock", "SELECT TUMBLE_PROCTIME(ts, INTERVAL '10' SECOND) IS NULL, COUNT(*) FROM bids GROUP BY TUMBLE(ts, "
        "INTERVAL '10' SECOND)", modes=("streaming",)),
    windowed("group_tumble_rowtime_of_clock", "SELECT TUMBLE_ROWTIME(pt, INTERVAL '1' DAY), COUNT(*) FROM bids GROUP BY TUMBLE(pt, "
        "INTERVAL '1' DAY)", modes=("streaming",), refused=True),
    windowed("group_distinct_batch", "SELECT TUMBLE_START(ts, INTERVAL '10' SECOND), COUNT(DISTINCT item) FROM bids GROUP BY TUMBLE(ts, "
        "INTERVAL '10' SECOND)", modes=("batch",), refused=True),
    windowed("group_tumble_ltz_batch", "SELECT TUMBLE_START(ts, INTERVAL '1' DAY), SUM(v) FROM moments GROUP BY TUMBLE(ts, INTERVAL '1' "
        "DAY)", "moments", modes=("batch",), refused=True),
    windowed("group_tumble_day_streaming", "SELECT COUNT(*) FROM typed GROUP BY TUMBLE(dt, INTERVAL '1' DAY)", "typed", modes=("streaming",),
        refused=True),
    windowed("group_tumble_day_batch", "SELECT COUNT(*) FROM typed GROUP BY TUMBLE(dt, INTERVAL '1' DAY)", "typed", modes=("batch",)),
    *(windowed(f"tumble_day_{mode}", "SELECT COUNT(*) FROM TABLE(TUMBLE(TABLE typed, DESCRIPTOR(dt), INTERVAL '1' DAY)) GROUP BY "
        "window_start, window_end", "typed", modes=(mode,), refused=True) for mode in ("streaming", "batch")),
    windowed("group_tumble_sum_batch", "SELECT TUMBLE_START(ts + INTERVAL '1' SECOND, INTERVAL '10' SECOND), COUNT(*) FROM bids GROUP BY "
        "TUMBLE(ts + INTERVAL '1' SECOND, INTERVAL '10' SECOND)", modes=("batch",)),
    windowed("group_tumble_clock_written", "SELECT COUNT(*) FROM orders GROUP BY TUMBLE(PROCTIME(), INTERVAL '1' DAY)", "orders",
        modes=("streaming",)),
    windowed("group_tumble_number", "SELECT COUNT(*) FROM typed GROUP BY TUMBLE(id, INTERVAL '1' DAY)", "typed", modes=("batch",),
        refused=True),
    windowed("tumble_ltz", "SELECT k, CAST(window_start AS STRING), CAST(window_end AS STRING), "
        "SUM(v) FROM TABLE(TUMBLE(TABLE moments, DESCRIPTOR(ts), INTERVAL '1' DAY)) GROUP BY k, "
        "window_start, window_end", "moments", options=ZONE),
    windowed("group_tumble_ltz", "SELECT k, TUMBLE_START(ts, INTERVAL '1' DAY), SUM(v) FROM moments "
        "GROUP BY k, TUMBLE(ts, INTERVAL '1' DAY)", "moments", options=ZONE),
    windowed("cumulate_ltz", "SELECT window_start, window_end, SUM(v) FROM TABLE(CUMULATE(TABLE "
        "moments, DESCRIPTOR(ts), INTERVAL '6' HOUR, INTERVAL '1' DAY)) GROUP BY window_start, "
        "window_end", "moments", options=ZONE),
    windowed("session_of_changes", "SELECT valid, rate FROM rates WHERE rate > 100", "rates",
        compare="rows", modes=("streaming",)),
    windowed("tumble_of_changes", "SELECT window_start, COUNT(*), SUM(rate) FROM TABLE(TUMBLE(TABLE "
        "rates, DESCRIPTOR(valid), INTERVAL '10' SECOND)) GROUP BY window_start, window_end",
        "rates", modes=("streaming",)),
]  # fmt: skip
# Some are enough in BATCH mode, where the operators are the same.
_BATCH = {
    "tumble_groups",
    "hop_groups",
    "cumulate_groups",
    "window_top",
    "window_inner_join",
    "tumble_ltz",
    "group_hop",
    "group_tumble_all",
}
CASES = [
    case if case.name in _BATCH or case.modes == ("batch",) else replace(case, modes=("streaming",))
    for case in CASES
]
