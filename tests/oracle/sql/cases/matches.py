"""MATCH_RECOGNIZE: navigation, aggregates, quantifiers, strategies, time."""

# ruff: noqa: E501

from __future__ import annotations

from oracle.sql.model import SqlCase

STREAM = ("streaming",)
ABC = "A AS name = 'a', B AS name = 'b', C AS name = 'c'"
IDS = "A.id AS aid, B.id AS bid, C.id AS cid"
SPAN = "FIRST(id) AS f, LAST(id) AS l, COUNT(*) AS n"


def of(body: str, table: str = "letters", chosen: str = "*", behind: str = "") -> str:
    """A query with the clause."""
    return f"SELECT {chosen} FROM {table} MATCH_RECOGNIZE ({body}) AS T{behind}"


def match(
    measures: str,
    pattern: str,
    define: str,
    *,
    after: str = "",
    within: str = "",
    order: str = "ts",
    table: str = "letters",
) -> str:
    """A clause over all lines."""  # fmt: skip
    after = f"AFTER MATCH SKIP {after}" if after else ""
    within = f"WITHIN INTERVAL {within}" if within else ""
    return of(
        f"ORDER BY {order} MEASURES {measures} ONE ROW PER MATCH {after} PATTERN ({pattern}) {within} DEFINE {define}",
        table,
    )


def letters(name: str, sql: str, **more: object) -> SqlCase:
    """Lines of one partition."""
    return SqlCase(name, sql, ("letters",), **more)  # type: ignore[arg-type]


def ticker(name: str, sql: str, **more: object) -> SqlCase:
    """Lines of several partitions: their matches are found in any order."""
    more.setdefault("compare", "bag")
    return SqlCase(name, sql, ("ticker",), **more)  # type: ignore[arg-type]


def by_symbol(rest: str, chosen: str = "*", behind: str = "", order: str = "ts") -> str:
    """A clause over the prices of each symbol."""
    return of(f"PARTITION BY symbol ORDER BY {order} {rest}", "ticker", chosen, behind)


DOWN = (
    "DOWN AS (LAST(DOWN.price, 1) IS NULL AND DOWN.price < S.price) OR DOWN.price < LAST(DOWN.price, 1), "
    "UP AS UP.price > LAST(DOWN.price, 1)"
)
SKIPS = ("PAST LAST ROW", "TO NEXT ROW", "TO FIRST B", "TO LAST B", "TO B", "TO LAST C")
QUANTIFIERS = (
    ("plus", "A B+ C"), ("plus_reluctant", "A B+? C"), ("star", "A B* C"), ("star_reluctant", "A B*? C"),
    ("maybe", "A B? C"), ("exactly", "A B{3} C"), ("between", "A B{1,3} C"), ("between_reluctant", "A B{1,3}? C"),
    ("at_least", "A B{2,} C"), ("at_least_reluctant", "A B{2,}? C"), ("at_most", "A B{,2} C"),
    ("last_reluctant", "A B+?"), ("last_at_least", "A B{2,}?"), ("last_between", "A B{1,2}?"), ("maybe_twice", "A B{0,2} C"), ("first_plus", "A+ B"),
    ("first_star", "A* B"), ("last_maybe", "A B?"), ("last_exactly", "A B{2}"),
    ("two_plus", "A+ B+ C"), ("once", "A B{1} C{1,1}"),
)  # fmt: skip
LOOSE = "A AS name = 'a' OR v < 3, B AS name <> 'd' AND v < 9, C AS v > 2"

CASES = [
    letters("match_abc", match(IDS, "A B C", ABC)),
    letters("match_abc_proctime", match(IDS, "A B C", ABC, order="pt")),
    letters("match_select", of(f"ORDER BY ts MEASURES {IDS} PATTERN (A B C) DEFINE {ABC}", chosen="T.cid, aid + bid AS s", behind=" WHERE T.aid > 1")),
    *(letters(f"match_{name}", match(SPAN, pattern, ABC), refused="{," in pattern) for name, pattern in QUANTIFIERS),
    *(letters(f"match_loose_{name}", match(SPAN, pattern, LOOSE, after="TO NEXT ROW"), refused="{," in pattern)
      for name, pattern in QUANTIFIERS if "{1,1}" not in pattern),
    *(letters(f"match_skip_{skip.lower().replace(' ', '_')}", match(f"{SPAN}, LAST(B.id) AS b", "A B+ C", LOOSE, after=skip)) for skip in SKIPS),
    letters("match_skip_missing", match(SPAN, "A B? C", ABC, after="TO FIRST B"), refused=False),
    *(letters(f"match_within_{name}", match(SPAN, "A B+ C", LOOSE, within=within, after="TO NEXT ROW")) for name, within in (
        ("three", "'3' SECOND"), ("exact", "'4' SECOND"), ("minute", "'1' MINUTE"), ("mixed", "'0 00:00:02.500' DAY TO SECOND"))),
    letters("match_within_proctime", match(IDS, "A B C", ABC, within="'1' HOUR", order="pt")),
    letters("match_offsets", match("FIRST(id, 0) AS a0, FIRST(id, 1) AS a1, FIRST(id, 9) AS a9, LAST(id, 0) AS z0, LAST(id, 1) AS z1, "
        "FIRST(B.id) AS b0, FIRST(B.id, 1) AS b1, LAST(B.id, 2) AS b2, B.id AS b, id AS i", "A B+ C", ABC)),
    letters("match_offset_expressions", match("FIRST(B.v + B.id + 1) AS x, LAST(B.v * 2, 1) AS y, LAST(A.v) + LAST(C.v) AS z, UPPER(FIRST(name)) AS u", "A B+ C", ABC)),
    letters("match_star_in_define", match(SPAN, "A B{1,} C", "B AS v > LAST(v, 1), C AS v < FIRST(v) OR v = LAST(v, 2)")),
    letters("match_current_and_last", match(SPAN, "A B+ C", "B AS B.v > LAST(B.v, 1) OR LAST(B.v, 1) IS NULL, C AS C.v < LAST(B.v) AND v < LAST(A.v) + 100")),
    letters("match_aggregates", match("SUM(A.v) AS sa, COUNT(B.w) AS cb, SUM(D.v) AS sd, COUNT(D.v) AS cd, AVG(v) AS av, MIN(B.v) AS mb, MAX(v) AS mx, COUNT(*) AS n, "
        "SUM(B.v * B.w) AS vw, AVG(B.w) AS aw", "A+ B+ C D?", "A AS name = 'a', B AS name = 'b', C AS name = 'c', D AS name = 'x'")),
    letters("match_sum_in_define", match(f"{SPAN}, SUM(A.v) AS s", "A+ B", "A AS SUM(A.v) < 9")),
    letters("match_sums_in_define", match(f"{SPAN}, SUM(B.v) AS s", "A+ B+ C", "A AS SUM(A.v) < 6, B AS SUM(B.v) < SUM(A.v) + 4 AND AVG(B.v) >= 1 AND COUNT(B.v) < 4")),
    letters("match_count_in_define", match(SPAN, "A B+ C", "B AS COUNT(*) < 5, C AS COUNT(B.id) > 1 AND MAX(B.v) > 2")),
    letters("match_all_sum_in_define", match(SPAN, "A B+ C", "B AS SUM(v) < 12")),
    letters("match_more_aggregates", match("FIRST_VALUE(B.v) AS fb, LAST_VALUE(B.v) AS lb, LISTAGG(B.name) AS names, STDDEV_POP(B.v) AS sp, VAR_SAMP(v) AS vs", "A B+ C", ABC)),
    letters("match_collect", match("COLLECT(B.v) AS c", "A B+ C", ABC)),
    letters("match_nulls", match("A.name AS an, B.w AS bw, LAST(B.v) AS bv", "A B", "A AS v IS NULL OR w IS NOT NULL, B AS name IS NULL OR w IS NULL")),
    letters("match_null_condition", match(SPAN, "A B", "A AS v > 1, B AS name <> 'c'")),
    letters("match_undefined", match(SPAN, "A B C", "B AS name = 'b'")),
    letters("match_later_variable", match(SPAN, "A B C", "A AS C.v IS NULL, B AS SUM(C.v) IS NULL AND COUNT(C.v) = 0, C AS name = 'c'")),
    letters("match_one", match("A.id AS id, MATCH_ROWTIME() AS t", "A", "A AS v > 2")),
    letters("match_all_lines", match("A.id AS id", "A", "A AS TRUE")),
    letters("match_rowtime", match(f"{SPAN}, MATCH_ROWTIME() AS t, MATCH_ROWTIME(ts) AS u", "A B+ C", ABC), modes=STREAM),
    letters("match_rowtime_windows", of("ORDER BY ts MEASURES A.v AS v, MATCH_ROWTIME() AS t PATTERN (A B) DEFINE A AS A.v > 0", chosen="TUMBLE_START(t, INTERVAL '10' SECOND) AS w, SUM(v) AS s, COUNT(*) AS n", behind=" GROUP BY TUMBLE(t, INTERVAL '10' SECOND)"), modes=STREAM),
    letters("match_of_windows", "SELECT * FROM (SELECT window_time AS rt, window_start AS ws, SUM(v) AS s FROM TABLE(TUMBLE(TABLE letters, DESCRIPTOR(ts), INTERVAL '5' SECOND)) GROUP BY window_start, window_end, window_time) "
        "MATCH_RECOGNIZE (ORDER BY rt MEASURES A.s AS s1, B.s AS s2, B.ws AS ws PATTERN (A B) DEFINE B AS B.s < A.s)", modes=STREAM),
    letters("match_proctime_measure", of(f"ORDER BY pt MEASURES {IDS}, MATCH_PROCTIME() AS p PATTERN (A B C) DEFINE {ABC}", chosen="aid, cid, p IS NULL AS q")),
    letters("match_final", match("FINAL LAST(B.id) AS x, FINAL FIRST(B.id) AS y", "A B+ C", ABC)),
    letters("match_prev_zero", match(SPAN, "A B C", "A AS PREV(A.name, 0) = 'a', B AS name = 'b', C AS name = 'c'")),
    letters("match_prev_other", match(SPAN, "A B+ C", "A AS name = 'a', B AS name = 'b' AND PREV(A.v, 0) > 1, C AS name = 'c'")),
    letters("match_quoted", match('`A"`.id AS aid, B.id AS bid', '`A"` B', "`A\"` AS name = 'a', B AS name = 'b'")),
    letters("match_of_subquery", "SELECT * FROM (SELECT id, name, v * 2 AS v2, ts FROM letters WHERE name <> 'd') MATCH_RECOGNIZE (ORDER BY ts MEASURES A.v2 AS a2, B.v2 AS b2, SUM(v2) AS s PATTERN (A B+? C) DEFINE C AS C.v2 > A.v2)"),
    letters("match_then_group", of(f"ORDER BY ts MEASURES {SPAN} AFTER MATCH SKIP TO NEXT ROW PATTERN (A B+ C) DEFINE {LOOSE}", chosen="n, COUNT(*) AS c", behind=" GROUP BY n")),
    letters("match_case", match("CASE WHEN LAST(C.v) > 2 THEN 'up' ELSE 'down' END AS c, COALESCE(LAST(B.w, 2), -1.0) AS w, CAST(A.id AS STRING) || '-' || CAST(C.id AS STRING) AS ids", "A B+ C", ABC)),
    letters("match_in_and_between", match(SPAN, "A B+ C", "A AS name IN ('a', 'd'), B AS v BETWEEN LAST(A.v) - 3 AND LAST(A.v) + 4, C AS NOT name LIKE 'b%'")),
    letters("match_time_arithmetic", match(f"{SPAN}, LAST(ts) - INTERVAL '1' SECOND AS e, TIMESTAMPDIFF(SECOND, FIRST(ts), LAST(ts)) AS d", "A B+ C", "B AS name = 'b' AND ts < A.ts + INTERVAL '9' SECOND, C AS name = 'c'")),
    letters("match_join", "SELECT T.aid, T.cid, o.k FROM letters MATCH_RECOGNIZE (ORDER BY ts MEASURES A.id AS aid, C.id AS cid PATTERN (A B C) DEFINE " + ABC + ") AS T JOIN (VALUES (1, 'one'), (5, 'five'), (14, 'x')) AS o(id, k) ON T.aid = o.id", compare="table"),
    letters("match_union", of(f"ORDER BY ts MEASURES A.id AS i PATTERN (A B C) DEFINE {ABC}", chosen="i") + " UNION ALL " + of("ORDER BY ts MEASURES A.id AS i PATTERN (A B) DEFINE A AS name = 'c'", chosen="i"), compare="table"),
    ticker("match_falling", by_symbol(f"MEASURES S.ts AS start_tstamp, LAST(DOWN.ts) AS bottom, LAST(UP.ts) AS end_tstamp ONE ROW PER MATCH AFTER MATCH SKIP TO LAST UP PATTERN (S DOWN+ UP) DEFINE {DOWN}")),
    ticker("match_average", by_symbol("MEASURES FIRST(A.ts) AS s, LAST(A.ts) AS e, AVG(A.price) AS a ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW PATTERN (A+ B) DEFINE A AS AVG(A.price) < 15")),
    ticker("match_first_a", by_symbol("MEASURES C.price AS last_price ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW PATTERN (A B* C) DEFINE A AS A.price > 10, B AS B.price < 15, C AS C.price > 12")),
    ticker("match_reluctant_b", by_symbol("MEASURES C.price AS last_price ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW PATTERN (A B*? C) DEFINE A AS A.price > 10, B AS B.price < 15, C AS C.price > 12")),
    ticker("match_within_drop", by_symbol("MEASURES C.ts AS drop_time, A.price - C.price AS drop_diff ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW PATTERN (A B* C) WITHIN INTERVAL '3' SECOND DEFINE B AS B.price > A.price - 10, C AS C.price < A.price - 5")),
    *(ticker(f"match_rows_skip_{skip.split()[-1].lower()}", by_symbol(f"MEASURES FIRST(A.price) AS f, LAST(A.price) AS l, SUM(price) AS s, B.price AS b AFTER MATCH SKIP {skip} PATTERN (A+ B) DEFINE A AS SUM(A.price) < 60"))
      for skip in ("PAST LAST ROW", "TO NEXT ROW", "TO LAST A", "TO LAST B")),
    ticker("match_two_keys", of("PARTITION BY symbol, tax ORDER BY ts MEASURES A.price AS a, B.price AS b PATTERN (A B) DEFINE B AS B.price > A.price", "ticker")),
    ticker("match_second_order", of("ORDER BY ts, symbol DESC, price MEASURES A.symbol AS a, A.price AS ap, B.symbol AS b, B.price AS bp PATTERN (A B) DEFINE A AS A.symbol = 'XYZ' OR A.symbol IS NULL", "ticker"), compare="rows"),
    ticker("match_second_order_nulls", of("ORDER BY ts, tax DESC MEASURES A.price AS ap, B.price AS bp AFTER MATCH SKIP TO NEXT ROW PATTERN (A B) DEFINE A AS TRUE", "ticker"), compare="rows"),
    ticker("match_partition_measures", by_symbol("MEASURES symbol AS sym, LAST(A.symbol) AS s2, COUNT(symbol) AS c PATTERN (A B) DEFINE B AS B.price > A.price")),
    ticker("match_partition_only_first", by_symbol("MEASURES A.price AS p PATTERN (A) DEFINE A AS A.price < 15", order="pt")),
    ticker("match_table_alias", "SELECT * FROM ticker AS k MATCH_RECOGNIZE (PARTITION BY symbol ORDER BY ts MEASURES A.price AS p PATTERN (A B) DEFINE B AS B.price < A.price)"),
    SqlCase("match_late", of("PARTITION BY item ORDER BY ts MEASURES A.price AS a, B.price AS b, A.bidder AS c, B.bidder AS d AFTER MATCH SKIP TO NEXT ROW PATTERN (A B) DEFINE A AS TRUE", "bids"), ("bids",), compare="bag"),
    SqlCase("match_late_greedy", of("PARTITION BY item ORDER BY ts MEASURES FIRST(price) AS f, LAST(price) AS l, COUNT(*) AS n AFTER MATCH SKIP TO LAST B PATTERN (A+ B) WITHIN INTERVAL '8' SECOND DEFINE A AS A.price > 1, B AS B.price < 10", "bids"), ("bids",), compare="bag"),
    SqlCase("match_ltz", of("PARTITION BY k ORDER BY ts MEASURES A.v AS a, B.v AS b, MATCH_ROWTIME(ts) AS m, FIRST(ts) AS s PATTERN (A B) DEFINE B AS B.v < A.v + 2", "moments", "k, a, b, CAST(m AS STRING) AS m, CAST(s AS STRING) AS s"), ("moments",), compare="bag", modes=STREAM),
    SqlCase("match_ltz_plain", of("PARTITION BY k ORDER BY ts MEASURES A.v AS a, B.v AS b PATTERN (A B) DEFINE B AS B.v < A.v + 2", "moments"), ("moments",), compare="bag"),
    SqlCase("match_ltz_rowtime", of("PARTITION BY k ORDER BY ts MEASURES A.v AS a, B.v AS b, MATCH_ROWTIME(ts) AS m PATTERN (A B) DEFINE B AS B.v < A.v + 2", "moments", "k, a, b, CAST(m AS STRING) AS m"), ("moments",), compare="bag", modes=STREAM),
    SqlCase("match_ltz_no_argument", of("PARTITION BY k ORDER BY ts MEASURES A.v AS a, MATCH_ROWTIME() AS m PATTERN (A B) DEFINE B AS B.v < A.v + 2", "moments", "k, a, CAST(m AS STRING) AS m"), ("moments",), compare="bag", modes=STREAM),
    SqlCase("match_ltz_windows", "SELECT k, window_start, SUM(a) AS s FROM TABLE(TUMBLE(TABLE m, DESCRIPTOR(r), INTERVAL '1' DAY)) GROUP BY k, window_start, window_end", ("moments",), setup=("CREATE TEMPORARY VIEW m AS " + of("PARTITION BY k ORDER BY ts MEASURES A.v AS a, MATCH_ROWTIME(ts) AS r PATTERN (A B) DEFINE B AS B.v < A.v + 2", "moments"),), compare="bag", modes=STREAM),
    letters("match_window_of_matches", "SELECT window_start, COUNT(*) AS c FROM TABLE(TUMBLE(TABLE m, DESCRIPTOR(r), INTERVAL '5' SECOND)) GROUP BY window_start, window_end",
        setup=("CREATE TEMPORARY VIEW m AS " + of("ORDER BY ts MEASURES A.v AS a, MATCH_ROWTIME() AS r AFTER MATCH SKIP PAST LAST ROW PATTERN (A B*? C) DEFINE C AS C.v > A.v"),), modes=STREAM),
    letters("match_of_matches", "SELECT * FROM m MATCH_RECOGNIZE (ORDER BY r MEASURES X.a AS x, Y.a AS y PATTERN (X Y) DEFINE Y AS Y.a > X.a)",
        setup=("CREATE TEMPORARY VIEW m AS " + of("ORDER BY ts MEASURES A.v AS a, MATCH_ROWTIME() AS r AFTER MATCH SKIP PAST LAST ROW PATTERN (A B) DEFINE A AS A.v > 0"),), modes=STREAM),
    ticker("match_two_keys_turned", of("PARTITION BY tax, symbol ORDER BY ts MEASURES A.price AS a, B.price AS b PATTERN (A B) DEFINE B AS B.price > A.price", "ticker"), refused=True),
    letters("match_long", match(f"{SPAN}, SUM(A.v) AS s", "A B C D E", "A AS A.v > 0, C AS C.v > 1, E AS E.v > LAST(C.v) OR COUNT(*) > 5")),
    letters("match_optional_many", match(SPAN, "A B? C* D", "A AS name = 'a', B AS name = 'b', C AS name = 'b' OR name = 'c', D AS v > 2")),
    letters("match_defined_unused", match("A.id AS a", "A B", "A AS v > 1, Z AS v > 2")),
    letters("match_last_of_constant", match("LAST(1) AS c, FIRST('x') AS d", "A B", ABC)),
    letters("match_rowtime_in_define", match("A.id AS a, LAST(id) AS l", "A B+ C", "B AS MATCH_ROWTIME() < A.ts + INTERVAL '3' SECOND, C AS name = 'c' OR MATCH_ROWTIME() > A.ts + INTERVAL '5' SECOND")),
    SqlCase("match_batch_plain_time", of("ORDER BY ts MEASURES A.id AS a, B.id AS b PATTERN (A B) DEFINE A AS A.p IS NOT NULL", "typed"), ("typed",), modes=("batch",), refused=True),
    SqlCase("match_batch_plain_times", "SELECT * FROM (SELECT * FROM typed WHERE ts IS NOT NULL) MATCH_RECOGNIZE (ORDER BY ts MEASURES A.id AS a, B.id AS b, B.s AS s PATTERN (A B) DEFINE A AS A.p IS NOT NULL)", ("typed",), modes=("batch",)),
]  # fmt: skip
