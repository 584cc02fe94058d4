"""Projections and filters, with types."""

# ruff: noqa: E501

from __future__ import annotations

from dataclasses import replace

from oracle.sql.model import SqlCase

TYPED = ("typed",)
ZONE = {"table.local-time-zone": "America/New_York"}

CASES = [
    SqlCase("project", "SELECT id, a + 1 AS c, k || '!' AS kk FROM orders WHERE a > 2"),
    SqlCase("star", "SELECT * FROM orders WHERE f"),
    SqlCase("not_true", "SELECT id, f IS NOT TRUE, NOT f FROM orders WHERE f IS NOT TRUE"),
    SqlCase("three_valued", "SELECT id, f AND a > 3, f OR a > 3, (a > 3) IS UNKNOWN FROM orders"),
    SqlCase("integer_division", "SELECT id, a / 2, b / 7, MOD(a, 3), a % 3, -a / 2 FROM orders"),
    SqlCase("number_types", "SELECT id, a + b, a * d, a + p, p * p, p / 3, b / p FROM orders"),
    SqlCase("decimals", "SELECT id, p + q, p - q, p * q, p / q, MOD(p, q), -p FROM typed", TYPED),
    SqlCase("decimal_rounding",
        "SELECT id, ROUND(p, 1), CEIL(p), FLOOR(p), TRUNCATE(p, 1), ABS(q), SIGN(q) FROM typed",
        TYPED),
    SqlCase("decimal_casts",
        "SELECT id, CAST(p AS INT), CAST(p AS DECIMAL(8, 1)), CAST(q AS STRING), "
        "CAST(a AS DECIMAL(5, 2)) FROM (SELECT id, p, q, id AS a FROM typed)", TYPED),
    SqlCase("string_casts",
        "SELECT id, CAST(a AS STRING), CAST(d AS STRING), CAST(f AS STRING), CAST(p AS STRING), "
        "CAST(f AS INT), CAST(a AS BOOLEAN) FROM orders"),
    SqlCase("try_cast", "SELECT id, TRY_CAST(k AS INT), TRY_CAST(CAST(a AS STRING) AS BIGINT) "
        "FROM orders"),
    SqlCase("case_when",
        "SELECT id, CASE WHEN a > 4 THEN 'big' WHEN a > 0 THEN 'small' END, "
        "CASE k WHEN 'x' THEN 1 WHEN 'y' THEN 2.5 ELSE 0 END FROM orders"),
    SqlCase("null_functions",
        "SELECT id, COALESCE(k, 'none'), NULLIF(a, 5), IFNULL(b, 0), GREATEST(a, id), "
        "LEAST(a, id, 4) FROM orders"),
    SqlCase("in_between",
        "SELECT id FROM orders WHERE a IN (5, 7, 9) AND b BETWEEN 5 AND 60 OR k IN ('w', NULL)"),
    SqlCase("not_in_null", "SELECT id FROM orders WHERE k NOT IN ('x', NULL)"),
    SqlCase("like", "SELECT id, s LIKE 'H%o', s LIKE '_____', s SIMILAR TO '[A-Z].*' FROM typed",
        TYPED),
    SqlCase("strings",
        "SELECT id, UPPER(s), CHAR_LENGTH(s), TRIM(s), SUBSTRING(s FROM 2 FOR 2), "
        "POSITION('l' IN s), OVERLAY(s PLACING 'zz' FROM 1 FOR 2), REVERSE(s) FROM typed", TYPED),
    SqlCase("distinct_from", "SELECT id, k IS DISTINCT FROM 'x', a IS NOT DISTINCT FROM b "
        "FROM orders"),
    SqlCase("dates",
        "SELECT id, dt + INTERVAL '1' MONTH, dt - INTERVAL '1' DAY, EXTRACT(DOW FROM dt), "
        "YEAR(dt), CAST(dt AS TIMESTAMP(3)), FLOOR(dt TO MONTH) FROM typed", TYPED),
    SqlCase("times", "SELECT id, tm, tm + INTERVAL '30' MINUTE, EXTRACT(HOUR FROM tm), "
        "CAST(tm AS STRING) FROM typed", TYPED),
    SqlCase("timestamps",
        "SELECT id, ts + INTERVAL '1 02:03:04.005' DAY TO SECOND, FLOOR(ts TO HOUR), "
        "CEIL(ts TO DAY), CAST(ts AS DATE), CAST(ts AS TIME), CAST(ts AS STRING) FROM typed",
        TYPED),
    SqlCase("timestamp_differences",
        "SELECT id, TIMESTAMPDIFF(DAY, ts, TIMESTAMP '2021-01-01 00:00:00'), "
        "TIMESTAMPADD(MONTH, 1, ts), ts > TIMESTAMP '2000-01-01 00:00:00', "
        "(ts, INTERVAL '1' DAY) OVERLAPS (CAST(dt AS TIMESTAMP(3)), INTERVAL '1' HOUR) FROM typed",
        TYPED),
    SqlCase("month_intervals",
        "SELECT id, ts - INTERVAL '1-2' YEAR TO MONTH, dt + INTERVAL '12' MONTH FROM typed", TYPED),
    SqlCase("ltz_utc", "SELECT id, CAST(z AS STRING), CAST(z AS TIMESTAMP(3)), CAST(ts AS DATE) "
        "FROM typed", TYPED),
    SqlCase("ltz_zone",
        "SELECT id, CAST(z AS STRING), CAST(z AS TIMESTAMP(3)), CAST(z AS DATE), "
        "CAST(CAST(ts AS TIMESTAMP_LTZ(3)) AS STRING), "
        "DATE_FORMAT(z, 'yyyy-MM-dd HH:mm') FROM typed", TYPED, options=ZONE),
    SqlCase("ltz_hour", "SELECT id, EXTRACT(HOUR FROM z), EXTRACT(DAY FROM z) FROM typed "
        "WHERE id < 5", TYPED, options=ZONE),
    SqlCase("ltz_hour_before_1970", "SELECT EXTRACT(HOUR FROM z) FROM typed WHERE id = 5", TYPED,
        options=ZONE),
    SqlCase("formats",
        "SELECT id, DATE_FORMAT(ts, 'yyyy/MM/dd HH:mm:ss'), TO_DATE('2020-01-0' || "
        "CAST(id AS STRING)), TO_TIMESTAMP('2020-01-01 00:00:0' || CAST(id AS STRING)) FROM typed",
        TYPED),
    SqlCase("rows_and_arrays",
        "SELECT id, CAST(ARRAY[a, id] AS STRING), ARRAY[a, id][2], "
        "MAP['k', a]['k'], CARDINALITY(ARRAY[a]) FROM orders"),
    SqlCase("row_fields",
        "SELECT r.x + 1, r.y FROM (SELECT CAST(ROW(a, k) AS ROW<x INT, y STRING>) AS r "
        "FROM orders)"),
    SqlCase("computed_filter", "SELECT id, c FROM (SELECT id, a * 2 AS c FROM orders) WHERE c > 6"),
    SqlCase("constants", "SELECT 1, 'a', 1.50, 1e2, TRUE, CAST(NULL AS INT), DATE '2020-01-01', X'0aff' "
        "FROM orders WHERE id = 1"),
    SqlCase("never", "SELECT id FROM orders WHERE 1 = 2"),
    SqlCase("null_filter", "SELECT id FROM orders WHERE CAST(NULL AS BOOLEAN)"),
    SqlCase("values", "SELECT * FROM (VALUES (1, 'a'), (2, CAST(NULL AS STRING)), (CAST(NULL AS INT), 'c')) AS t (n, s)", ()),
    SqlCase("values_types", "SELECT n + 1 FROM (VALUES (1), (2.5), (3)) AS t (n)", ()),
    SqlCase("no_from", "SELECT 1 + 1 AS two, 'x' || 'y' AS s", ()),
    SqlCase("with_query", "WITH big AS (SELECT id, a FROM orders WHERE a > 4), "
        "two AS (SELECT id, a * 2 AS c FROM big) SELECT id, c FROM two"),
    SqlCase("view", "SELECT c, id FROM v WHERE c <> 10",
        setup=("CREATE TEMPORARY VIEW v AS SELECT id, a + 5 AS c FROM orders",)),
    SqlCase("unnest", "SELECT id, x FROM orders CROSS JOIN UNNEST(ARRAY[a, id]) AS u (x)"),
    SqlCase("unnest_left", "SELECT id, x FROM orders LEFT JOIN UNNEST(CASE WHEN a > 4 THEN "
        "ARRAY[a, id] END) AS u (x) ON TRUE"),
    SqlCase("unnest_map", "SELECT id, mk, mv FROM orders CROSS JOIN UNNEST(MAP['a', a]) "
        "AS u (mk, mv) WHERE mv > 4"),
    SqlCase("unnest_ordinality", "SELECT id, x, o FROM orders CROSS JOIN UNNEST(ARRAY[k, 'c']) "
        "WITH ORDINALITY AS u (x, o)"),
]  # fmt: skip
# A line is the same whatever the mode: some are enough there.
_BATCH = {"project", "values", "values_types", "ltz_zone", "unnest", "with_query", "never"}
CASES = [case if case.name in _BATCH else replace(case, modes=("streaming",)) for case in CASES]
