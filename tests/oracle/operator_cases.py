"""Queries whose changelogs PyFlink is asked for, for tests of single SQL operators.

A case is (name, query of the operator's input or None for the table itself, query over `input`).
The table `t` has k STRING, v INT, ts BIGINT (seconds), rt TIMESTAMP(3) with WATERMARK rt - 1 s, and
pt AS PROCTIME().  Seconds lie far apart, so that Flink emits a watermark behind every line that
raises it.
"""

from __future__ import annotations

LINES = [
    ("a", 5, 1), ("b", 3, 2), ("a", 2, 3), ("a", 7, 2), ("b", 3, 5), ("a", None, 6), ("c", 1, 4),
    ("a", 2, 9), ("b", 8, 7), ("a", 9, 12), ("c", 4, 11), ("a", 1, 11), ("b", 2, 16), ("a", 6, 15),
]  # fmt: skip

SUMS = "SELECT k, v, SUM(ts) AS s FROM t GROUP BY k, v"
LATEST = "SELECT k, MOD(v, 3) AS m, MAX(v) AS s FROM t WHERE v IS NOT NULL GROUP BY k, MOD(v, 3)"
NUMBERED = "SELECT *, ROW_NUMBER() OVER (PARTITION BY {0} ORDER BY {1}) AS n FROM input"


def top(partition: str, order: str, condition: str, columns: str) -> str:
    """A Top-N."""
    return f"SELECT {columns} FROM ({NUMBERED.format(partition, order)}) WHERE {condition}"


CASES: list[tuple[str, str | None, str]] = [
    ("top_append", None, top("k", "v DESC, ts", "n <= 2", "k, v, ts")),
    ("top_append_number", None, top("k", "v, ts DESC", "n <= 2", "k, v, ts, n")),
    ("top_append_offset", None, top("k", "v DESC, ts", "n BETWEEN 2 AND 3", "k, v, ts")),
    ("top_append_one", None, top("k", "v DESC", "n = 1", "k, v, ts")),
    ("top_append_nulls_last", None, top("k", "v NULLS LAST", "n <= 2", "k, v, ts, n")),
    ("top_retract", SUMS, top("k", "s DESC, v", "n <= 2", "k, v, s")),
    ("top_retract_number", SUMS, top("k", "s, v", "n <= 2", "k, v, s, n")),
    ("top_update", LATEST, top("k", "s DESC", "n <= 2", "k, m, s")),
    ("top_update_number", LATEST, top("k", "s DESC", "n <= 2", "k, m, s, n")),
    ("sort_limit", SUMS, "SELECT k, v, s FROM input ORDER BY s DESC, k, v LIMIT 3"),
    ("sort_limit_offset", SUMS, "SELECT k, v, s FROM input ORDER BY s, k, v LIMIT 2 OFFSET 1"),
    ("limit", None, "SELECT k, v, ts FROM input LIMIT 4"),
    ("limit_retract", SUMS, "SELECT k, v, s FROM input LIMIT 3"),
    ("first_proctime", None, top("k", "pt", "n = 1", "k, v, ts")),
    ("last_proctime", None, top("k", "pt DESC", "n = 1", "k, v, ts")),
    ("first_two_proctime", None, top("k", "pt", "n <= 2", "k, v, ts")),
    ("first_rowtime", None, top("k", "rt", "n = 1", "k, v, ts, rt")),
    ("last_rowtime", None, top("k", "rt DESC", "n = 1", "k, v, ts, rt")),
    (
        "tumble",
        None,
        """SELECT k, COUNT(*) AS c, SUM(v) AS s, MAX(v) AS m, window_start, window_end
           FROM TABLE(TUMBLE(TABLE input, DESCRIPTOR(rt), INTERVAL '5' SECOND))
           GROUP BY k, window_start, window_end""",
    ),
    (
        "hop",
        None,
        """SELECT k, COUNT(*) AS c, SUM(v) AS s, MAX(v) AS m, window_start, window_end
           FROM TABLE(HOP(TABLE input, DESCRIPTOR(rt), INTERVAL '2' SECOND, INTERVAL '6' SECOND))
           GROUP BY k, window_start, window_end""",
    ),
    (
        "cumulate",
        None,
        """SELECT k, COUNT(*) AS c, SUM(v) AS s, MAX(v) AS m, window_start, window_end
           FROM TABLE(CUMULATE(TABLE input, DESCRIPTOR(rt), INTERVAL '2' SECOND,
                               INTERVAL '6' SECOND))
           GROUP BY k, window_start, window_end""",
    ),
    (
        "session",
        None,
        """SELECT k, COUNT(*) AS c, SUM(v) AS s, MAX(v) AS m, window_start, window_end
           FROM TABLE(SESSION(TABLE input PARTITION BY k, DESCRIPTOR(rt), INTERVAL '3' SECOND))
           GROUP BY k, window_start, window_end""",
    ),
    (
        "group_tumble",
        None,
        """SELECT k, COUNT(*) AS c, SUM(v) AS s, MAX(v) AS m,
                  TUMBLE_START(rt, INTERVAL '5' SECOND), TUMBLE_END(rt, INTERVAL '5' SECOND)
           FROM input GROUP BY k, TUMBLE(rt, INTERVAL '5' SECOND)""",
    ),
    (
        "group_hop",
        None,
        """SELECT k, COUNT(*) AS c, SUM(v) AS s, MAX(v) AS m,
                  HOP_START(rt, INTERVAL '2' SECOND, INTERVAL '5' SECOND),
                  HOP_END(rt, INTERVAL '2' SECOND, INTERVAL '5' SECOND)
           FROM input GROUP BY k, HOP(rt, INTERVAL '2' SECOND, INTERVAL '5' SECOND)""",
    ),
    (
        "group_session",
        None,
        """SELECT k, COUNT(*) AS c, SUM(v) AS s, MAX(v) AS m,
                  SESSION_START(rt, INTERVAL '3' SECOND), SESSION_END(rt, INTERVAL '3' SECOND)
           FROM input GROUP BY k, SESSION(rt, INTERVAL '3' SECOND)""",
    ),
    (
        "tvf_hop",
        None,
        """SELECT k, v, window_start, window_end, window_time FROM
           TABLE(HOP(TABLE input, DESCRIPTOR(rt), INTERVAL '2' SECOND, INTERVAL '6' SECOND))""",
    ),
    (
        "tvf_cumulate",
        None,
        """SELECT k, v, window_start, window_end, window_time FROM TABLE(CUMULATE(TABLE input,
           DESCRIPTOR(rt), INTERVAL '2' SECOND, INTERVAL '6' SECOND))""",
    ),
    (
        "tvf_session",
        None,
        """SELECT k, v, window_start, window_end, window_time FROM TABLE(SESSION(TABLE input
           PARTITION BY k, DESCRIPTOR(rt), INTERVAL '3' SECOND))""",
    ),
    (
        "window_top",
        None,
        """SELECT k, v, window_start, window_end, n FROM (
             SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end
                                          ORDER BY v DESC, ts) AS n
             FROM TABLE(TUMBLE(TABLE input, DESCRIPTOR(rt), INTERVAL '5' SECOND))) WHERE n <= 2""",
    ),
    (
        "window_last",
        None,
        """SELECT k, v, window_start, window_end FROM (
             SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end, k
                                          ORDER BY rt DESC) AS n
             FROM TABLE(TUMBLE(TABLE input, DESCRIPTOR(rt), INTERVAL '5' SECOND))) WHERE n = 1""",
    ),
    *(
        (
            f"over_{name}",
            None,
            f"""SELECT k, v, ts, COUNT(*) OVER w AS c, SUM(v) OVER w AS s, MAX(v) OVER w AS m
                FROM input WINDOW w AS (PARTITION BY k ORDER BY {order} {frame})""",
        )
        for name, order, frame in [
            ("range", "rt", "RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"),
            ("rows", "rt", "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"),
            ("range_bounded", "rt", "RANGE BETWEEN INTERVAL '4' SECOND PRECEDING AND CURRENT ROW"),
            ("rows_bounded", "rt", "ROWS BETWEEN 1 PRECEDING AND CURRENT ROW"),
            ("proctime", "pt", "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"),
            ("proctime_bounded", "pt", "ROWS BETWEEN 1 PRECEDING AND CURRENT ROW"),
        ]
    ),
    (
        "over_lag",
        None,
        "SELECT k, v, ts, LAG(v, 2, -CHAR_LENGTH(k)) OVER (PARTITION BY k ORDER BY rt) AS m "
        "FROM input",
    ),
    (
        "over_rank",
        None,
        "SELECT k, v, ts, RANK() OVER (PARTITION BY k ORDER BY rt) AS r FROM input",
    ),
    (
        "over_other",
        SUMS,
        """SELECT k, v, s, SUM(s) OVER (PARTITION BY k ORDER BY v
           ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS r FROM input""",
    ),
    (
        "over_other_range",
        SUMS,
        "SELECT k, v, s, SUM(s) OVER (PARTITION BY k ORDER BY s) AS r FROM input",
    ),
    ("sort_rowtime", None, "SELECT k, v, ts FROM input ORDER BY rt, v DESC"),
    (
        "unnest",
        None,
        """SELECT k, v, x FROM input
           LEFT JOIN UNNEST(CASE WHEN v > 3 THEN ARRAY[v, ts] END) AS u (x) ON TRUE""",
    ),
    (
        "unnest_ordinality",
        None,
        "SELECT k, x, o FROM input CROSS JOIN UNNEST(ARRAY[v, ts]) WITH ORDINALITY AS u (x, o)",
    ),
]
