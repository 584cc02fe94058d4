"""Asks Flink how DESCRIBE writes computed columns, and writes tests/golden/described.json.

    .venv-oracle/bin/python tests/oracle/describes/ask_pyflink.py

In: EXPRESSIONS.  Out: expression -> what stands behind AS.
Next: tests/unit/table/test_described.py
"""

import json
from pathlib import Path

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "described.json"
TABLE = (
    "CREATE TEMPORARY TABLE e (a STRING, n BIGINT, i INT, f DOUBLE, b BYTES, m MAP<STRING, INT>, "
    "arr ARRAY<INT>, ts TIMESTAMP(3), dt DATE, k AS {}) WITH ('connector' = 'datagen')"
)
EXPRESSIONS = """
UPPER(a)
LOWER(a)
CHAR_LENGTH(a)
TRIM(a)
TRIM(BOTH 'x' FROM a)
LTRIM(a)
RTRIM(a)
BTRIM(a)
LPAD(a, 3, 'x')
REPEAT(a, 2)
REVERSE(a)
REPLACE(a, 'b', 'c')
REGEXP(a, 'x')
REGEXP_REPLACE(a, 'x', 'y')
REGEXP_EXTRACT(a, 'x', 0)
REGEXP_COUNT(a, 'x')
REGEXP_INSTR(a, 'x')
REGEXP_SUBSTR(a, 'x')
REGEXP_EXTRACT_ALL(a, 'x')
SPLIT(a, ',')
SPLIT_INDEX(a, ',', 0)
STR_TO_MAP(a)
INITCAP(a)
CONCAT(a, 'x')
CONCAT_WS(',', a, a)
a || 'x'
POSITION('x' IN a)
LOCATE('x', a)
INSTR(a, 'x')
SUBSTR(a, 1)
SUBSTRING(a, 1, 2)
SUBSTRING(a FROM 1 FOR 2)
OVERLAY(a PLACING 'x' FROM 1)
LEFT(a, 1)
RIGHT(a, 1)
ASCII(a)
CHR(i)
ENCODE(a, 'UTF-8')
DECODE(b, 'UTF-8')
TO_BASE64(a)
FROM_BASE64(a)
MD5(a)
SHA256(a)
SHA2(a, 256)
ELT(i, a, 'b')
PRINTF('%s', a)
TRANSLATE(a, 'a', 'b')
STARTSWITH(a, 'x')
ENDSWITH(a, 'x')
URL_ENCODE(a)
URL_DECODE(a)
PARSE_URL(a, 'HOST')
UNHEX(a)
HEX(a)
BIN(n)
JSON_VALUE(a, '$.x')
JSON_QUERY(a, '$.x')
JSON_EXISTS(a, '$.x')
JSON_QUOTE(a)
JSON_UNQUOTE(a)
JSON_STRING(a)
JSON_OBJECT('k' VALUE a)
JSON_ARRAY(a, n)
a IS JSON
ABS(n)
POWER(f, 2)
SQRT(f)
LN(f)
LOG10(f)
LOG2(f)
LOG(f)
EXP(f)
CEIL(f)
FLOOR(f)
ROUND(f, 1)
TRUNCATE(f, 1)
SIN(f)
SINH(f)
COT(f)
ATAN2(f, f)
DEGREES(f)
SIGN(f)
PI()
E()
MOD(n, 2)
n % 2
n + 1
-n
n BETWEEN 1 AND 2
n NOT BETWEEN 1 AND 2
n IN (1, 2)
n NOT IN (1, 2)
a LIKE 'x%'
a NOT LIKE 'x%' ESCAPE '!'
a SIMILAR TO 'x'
n IS NULL
n IS NOT NULL
n = 1 AND NOT n > 2 OR n <> 3
CASE WHEN n = 1 THEN 'a' ELSE 'b' END
CASE n WHEN 1 THEN 'a' END
COALESCE(a, 'b')
NULLIF(a, 'b')
IF(n = 1, 'a', 'b')
IFNULL(a, 'b')
GREATEST(n, 1)
LEAST(n, 1)
CAST(n AS STRING)
TRY_CAST(a AS INT)
TYPEOF(n)
CARDINALITY(arr)
ARRAY_CONTAINS(arr, 1)
ARRAY_DISTINCT(arr)
ARRAY_APPEND(arr, 1)
ARRAY_CONCAT(arr, arr)
ARRAY_POSITION(arr, 1)
ARRAY_REMOVE(arr, 1)
ARRAY_REVERSE(arr)
ARRAY_SLICE(arr, 1, 2)
ARRAY_SORT(arr)
ARRAY_UNION(arr, arr)
ARRAY_MAX(arr)
ARRAY_MIN(arr)
ARRAY_JOIN(ARRAY[a], ',')
ARRAY_PREPEND(arr, 1)
ARRAY_EXCEPT(arr, arr)
ARRAY_INTERSECT(arr, arr)
arr[1]
m['x']
ELEMENT(ARRAY[1])
MAP_KEYS(m)
MAP_VALUES(m)
MAP_ENTRIES(m)
MAP_UNION(m, m)
MAP_FROM_ARRAYS(ARRAY[a], ARRAY[n])
ARRAY[n, 1]
MAP['k', n]
ROW(n, a)
ts + INTERVAL '1' DAY
ts - INTERVAL '1' MONTH
EXTRACT(YEAR FROM ts)
YEAR(ts)
QUARTER(ts)
MONTH(dt)
WEEK(dt)
DAYOFYEAR(dt)
DAYOFWEEK(dt)
HOUR(ts)
FLOOR(ts TO DAY)
CEIL(ts TO HOUR)
DATE_FORMAT(ts, 'yyyy')
TIMESTAMPADD(DAY, 1, ts)
TIMESTAMPDIFF(DAY, ts, ts)
CONVERT_TZ(a, 'UTC', 'UTC')
FROM_UNIXTIME(n)
UNIX_TIMESTAMP()
UNIX_TIMESTAMP(a)
TO_DATE(a)
TO_TIMESTAMP(a)
TO_TIMESTAMP_LTZ(n, 3)
CURRENT_DATE
CURRENT_TIME
CURRENT_TIMESTAMP
LOCALTIME
LOCALTIMESTAMP
NOW()
CURRENT_ROW_TIMESTAMP()
PROCTIME()
DATE '2020-01-01'
TIMESTAMP '2020-01-01 00:00:00'
X'ab'
TRUE
NULL
1.5
1.5E0
'it''s'
INET_ATON(a)
INET_NTOA(n)
upper(a)
split(a, ',')
Split(a, ',')
`SPLIT`(a, ',')
`upper`(a)
coalesce(a,'b')
now()
Timestampadd(DAY,1,ts)
""".strip().splitlines()


def main():
    from pyflink.table import EnvironmentSettings, TableEnvironment

    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    found = {}
    for expression in EXPRESSIONS:
        t_env.execute_sql("DROP TEMPORARY TABLE IF EXISTS e")
        t_env.execute_sql(TABLE.format(expression))
        lines = t_env._j_tenv.executeSql("DESCRIBE e").collect()
        while lines.hasNext():
            last = lines.next()
        found[expression] = last.getField(4).removeprefix("AS ")
    GOLDEN.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
