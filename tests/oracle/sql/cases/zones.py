"""Windows of TIMESTAMP_LTZ in a zone, over changes of its clock; offsets."""

# ruff: noqa: E501

from __future__ import annotations

from oracle.sql.model import SqlCase

STREAM = ("streaming",)
BERLIN = {"table.local-time-zone": "Europe/Berlin"}
SPAN = "CAST(window_start AS STRING), CAST(window_end AS STRING)"


def zoned(name: str, sql: str, table: str = "spring", **more: object) -> SqlCase:
    """A window in Berlin; timers fire for several keys at one time."""
    more.setdefault("modes", STREAM)
    more.setdefault("compare", "bag")
    more.setdefault("options", BERLIN)
    return SqlCase(name, sql, (table,), **more)  # type: ignore[arg-type]


def grouped(window: str, table: str, columns: str = "") -> str:
    """A window TVF with its groups."""
    call = window.format(f"TABLE {table}, DESCRIPTOR(ts)")
    return (
        f"SELECT {columns}{SPAN}, COUNT(*), SUM(v) FROM TABLE({call}) "
        f"GROUP BY {columns}window_start, window_end"
    )


WINDOWS = {
    "tumble_day": "TUMBLE({}, INTERVAL '1' DAY)",
    "tumble_hour": "TUMBLE({}, INTERVAL '1' HOUR)",
    "tumble_four": "TUMBLE({}, INTERVAL '4' HOUR)",
    "tumble_offset": "TUMBLE({}, INTERVAL '1' DAY, INTERVAL '2' HOUR)",
    "tumble_minus": "TUMBLE({}, INTERVAL '1' DAY, INTERVAL '-2' HOUR)",
    "hop": "HOP({}, INTERVAL '6' HOUR, INTERVAL '12' HOUR)",
    "hop_offset": "HOP({}, INTERVAL '6' HOUR, INTERVAL '12' HOUR, INTERVAL '1' HOUR)",
    "cumulate": "CUMULATE({}, INTERVAL '6' HOUR, INTERVAL '1' DAY)",
    "cumulate_offset": "CUMULATE({}, INTERVAL '6' HOUR, INTERVAL '1' DAY, INTERVAL '2' HOUR)",
}

CASES = [
    *(zoned(f"{season}_{name}", grouped(window, season), season)
      for season in ("spring", "autumn") for name, window in WINDOWS.items()),
    *(zoned(f"{season}_tumble_keyed", grouped(WINDOWS["tumble_day"], season, "k, "), season,
        modes=("streaming", "batch")) for season in ("spring", "autumn")),
    *(zoned(f"{season}_session", "SELECT k, CAST(window_start AS STRING), CAST(window_end AS STRING), "
        f"SUM(v) FROM TABLE(SESSION(TABLE {season} PARTITION BY k, DESCRIPTOR(ts), INTERVAL '90' "
        "MINUTE)) GROUP BY k, window_start, window_end", season) for season in ("spring", "autumn")),
    *(zoned(f"{season}_rows", "SELECT v, CAST(ts AS STRING), CAST(window_start AS STRING), "
        f"CAST(window_end AS STRING), CAST(window_time AS STRING) FROM TABLE(TUMBLE(TABLE {season}, "
        "DESCRIPTOR(ts), INTERVAL '2' HOUR))", season) for season in ("spring", "autumn")),
    *(zoned(f"{season}_group_tumble", "SELECT TUMBLE_START(ts, INTERVAL '1' DAY), TUMBLE_END(ts, "
        f"INTERVAL '1' DAY), SUM(v) FROM {season} GROUP BY TUMBLE(ts, INTERVAL '1' DAY)", season)
      for season in ("spring", "autumn")),
    zoned("autumn_group_hop", "SELECT HOP_START(ts, INTERVAL '2' HOUR, INTERVAL '4' HOUR), SUM(v) FROM "
        "autumn GROUP BY HOP(ts, INTERVAL '2' HOUR, INTERVAL '4' HOUR)", "autumn"),
    zoned("spring_group_session", "SELECT SESSION_START(ts, INTERVAL '1' HOUR), SESSION_END(ts, "
        "INTERVAL '1' HOUR), SUM(v) FROM spring GROUP BY SESSION(ts, INTERVAL '1' HOUR)"),
    zoned("spring_top", "SELECT k, v, CAST(window_end AS STRING), n FROM (SELECT *, ROW_NUMBER() OVER "
        "(PARTITION BY window_start, window_end ORDER BY v DESC) AS n FROM TABLE(TUMBLE(TABLE spring, "
        "DESCRIPTOR(ts), INTERVAL '1' DAY))) WHERE n <= 2"),
    zoned("spring_join", "SELECT l.v, r.v, CAST(l.window_start AS STRING) FROM (SELECT * FROM "
        "TABLE(TUMBLE(TABLE spring, DESCRIPTOR(ts), INTERVAL '1' DAY))) l JOIN (SELECT * FROM "
        "TABLE(TUMBLE(TABLE spring, DESCRIPTOR(ts), INTERVAL '1' DAY))) r ON l.k = r.k AND l.v < r.v AND "
        "l.window_start = r.window_start AND l.window_end = r.window_end"),
    zoned("spring_over", "SELECT v, SUM(v) OVER (ORDER BY ts RANGE BETWEEN INTERVAL '3' HOUR PRECEDING "
        "AND CURRENT ROW) FROM spring"),
    zoned("spring_of_windows", "SELECT CAST(window_start AS STRING), SUM(c) FROM TABLE(TUMBLE(TABLE "
        "small, DESCRIPTOR(rt), INTERVAL '1' DAY)) GROUP BY window_start, window_end",
        setup=("CREATE TEMPORARY VIEW small AS SELECT window_time AS rt, COUNT(*) AS c FROM "
               "TABLE(TUMBLE(TABLE spring, DESCRIPTOR(ts), INTERVAL '6' HOUR)) GROUP BY window_start, "
               "window_end, window_time",)),
    *(zoned(f"{season}_functions", "SELECT v, CAST(ts AS TIMESTAMP(3)), "
        "EXTRACT(HOUR FROM ts), DATE_FORMAT(ts, 'yyyy-MM-dd HH:mm'), CAST(CAST(CAST(ts AS TIMESTAMP(3)) "
        f"AS TIMESTAMP_LTZ(3)) AS STRING), CAST(ts + INTERVAL '1' DAY AS STRING), CAST(ts AS DATE), CAST(ts AS TIME) FROM {season}",
        season, compare="rows") for season in ("spring", "autumn")),
    zoned("floor_of_changed_day", "SELECT v, CAST(FLOOR(ts TO DAY) AS STRING), CAST(CEIL(ts TO DAY) AS STRING) FROM spring", compare="rows"),
    zoned("missing_hour", "SELECT CAST(CAST(TIMESTAMP '2020-03-29 02:30:00' AS TIMESTAMP_LTZ(3)) AS STRING), "
        "CAST(CAST(TIMESTAMP '2020-10-25 02:30:00' AS TIMESTAMP_LTZ(3)) AS STRING), "
        "CAST(CAST('2020-03-29 02:30:00' AS TIMESTAMP_LTZ(3)) AS STRING), "
        "CAST(TO_TIMESTAMP_LTZ(1585443600, 0) AS STRING), CONVERT_TZ('2020-03-29 02:30:00', 'Europe/Berlin', 'UTC') "
        "FROM spring WHERE v = 1", compare="rows"),
    zoned("kolkata_day", grouped(WINDOWS["tumble_day"], "spring"),
        options={"table.local-time-zone": "Asia/Kolkata"}, modes=("batch",)),
    zoned("new_york_day", grouped(WINDOWS["tumble_day"], "autumn"), "autumn",
        options={"table.local-time-zone": "America/New_York"}),
]  # fmt: skip
