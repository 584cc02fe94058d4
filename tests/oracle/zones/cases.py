"""Functions of time, the moments they are asked about, and the zones of the session.

An expression has ``{n}``, seconds since 1970 as BIGINT, and ``{s}``, a time on the wall clock as
STRING, where a constant or a column stands.  Standard library only: PyFlink's interpreter reads it.
"""

from __future__ import annotations

ZONES = ("UTC", "Europe/Berlin", "America/St_Johns", "Asia/Kolkata")

# (seconds, text): a day, and both changes of the clock, from both sides.  Nothing that a clock
# shows as before 1970: there Flink rounds towards zero (tests/golden/scalars/different.json).
_BERLIN = (
    (0, "1970-01-01 00:00:00"),
    (1_625_097_599, "2021-07-01 12:34:56"),
    (1_616_893_199, "2021-03-28 01:59:59"),  # the last second of winter
    (1_616_893_200, "2021-03-28 02:30:00"),  # a text that the clock left out
    (1_635_638_400, "2021-10-31 02:00:00"),  # 02:00, the first time
    (1_635_640_200, "2021-10-31 02:30:00"),  # a text that the clock shows twice
    (1_635_642_000, "2021-10-31 02:00:00"),  # 02:00, the second time
    (1_635_645_600, "2021-10-31 03:00:00"),
)
_ST_JOHNS = (
    (86_400, "1970-01-02 00:00:00"),
    (1_625_097_599, "2021-07-01 12:34:56"),
    (1_615_699_799, "2021-03-14 01:59:59"),
    (1_615_699_800, "2021-03-14 02:30:00"),
    (1_636_255_800, "2021-11-07 01:00:00"),
    (1_636_257_600, "2021-11-07 01:30:00"),
    (1_636_259_400, "2021-11-07 01:00:00"),
    (1_636_263_000, "2021-11-07 02:00:00"),
)
MOMENTS = {zone: _ST_JOHNS if zone == "America/St_Johns" else _BERLIN for zone in ZONES}

LTZ = "TO_TIMESTAMP_LTZ({n}, 0)"
TS = "CAST({s} AS TIMESTAMP(3))"
FROM_TS = f"CAST({TS} AS TIMESTAMP_LTZ(3))"
_FORM = "'yyyy-MM-dd HH:mm:ss'"
_UNITS = ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "DOY", "DOW", "HOUR", "MINUTE", "SECOND")

EXPRESSIONS = (
    # seconds and texts
    "FROM_UNIXTIME({n})",
    "FROM_UNIXTIME({n}, 'EEE dd.MM.yyyy HH:mm Z')",
    "UNIX_TIMESTAMP({s})",
    "UNIX_TIMESTAMP({s}, 'yyyy-MM-dd HH:mm')",
    "UNIX_TIMESTAMP(CONCAT({s}, ' +0300'), 'yyyy-MM-dd HH:mm:ss Z')",
    "TO_DATE({s})",
    f"TO_DATE({{s}}, {_FORM})",
    "TO_TIMESTAMP({s})",
    f"TO_TIMESTAMP({{s}}, {_FORM})",
    LTZ,
    "TO_TIMESTAMP_LTZ({n} * 1000 + 7, 3)",
    "TO_TIMESTAMP_LTZ({s})",
    f"TO_TIMESTAMP_LTZ({{s}}, {_FORM})",
    f"TO_TIMESTAMP_LTZ({{s}}, {_FORM}, 'America/New_York')",
    "CONVERT_TZ({s}, 'Europe/Berlin', 'Asia/Tokyo')",
    "CONVERT_TZ({s}, 'UTC', 'America/St_Johns')",
    # casts
    f"CAST({LTZ} AS STRING)",
    f"CAST({LTZ} AS CHAR(10))",
    f"CAST({LTZ} AS TIMESTAMP(3))",
    f"CAST({LTZ} AS DATE)",
    f"CAST({LTZ} AS TIME(0))",
    f"TRY_CAST({LTZ} AS STRING)",
    "CAST({s} AS TIMESTAMP_LTZ(3))",
    "TRY_CAST({s} AS TIMESTAMP_LTZ(3))",
    FROM_TS,
    f"CAST(CAST({TS} AS DATE) AS TIMESTAMP_LTZ(3))",
    f"CAST(CAST({TS} AS TIME(0)) AS TIMESTAMP_LTZ(3))",
    f"CAST({FROM_TS} AS STRING)",
    f"CAST({FROM_TS} AS TIMESTAMP(3))",
    f"CAST(ROW({LTZ}, {{n}}) AS STRING)",
    f"CAST(ARRAY[{LTZ}] AS STRING)",
    f"CAST(MAP[{LTZ}, {LTZ}] AS STRING)",
    f"CAST(ARRAY[{LTZ}] AS ARRAY<TIMESTAMP(3)>)",
    f"CAST(ARRAY[{TS}] AS ARRAY<TIMESTAMP_LTZ(3)>)",
    # formats and parts
    f"DATE_FORMAT({LTZ}, {_FORM})",
    f"DATE_FORMAT({LTZ}, 'EEE d MMM yyyy h:mm a')",
    f"DATE_FORMAT({TS}, {_FORM})",
    "DATE_FORMAT({s}, 'yyyy/MM/dd HH')",
    *(f"EXTRACT({unit} FROM {LTZ})" for unit in _UNITS),
    f"EXTRACT(EPOCH FROM {LTZ})",
    f"YEAR({LTZ})",
    f"DAYOFMONTH({LTZ})",
    f"HOUR({LTZ})",
    *(f"FLOOR({LTZ} TO {unit})" for unit in ("HOUR", "DAY", "WEEK", "MONTH", "YEAR")),
    *(f"CEIL({LTZ} TO {unit})" for unit in ("HOUR", "DAY", "MONTH")),
    # arithmetic
    f"{LTZ} + INTERVAL '1' DAY",
    f"{LTZ} - INTERVAL '90' MINUTE",
    f"{LTZ} + INTERVAL '1' MONTH",
    f"{FROM_TS} + INTERVAL '1' HOUR",
    f"TIMESTAMPADD(DAY, 1, {LTZ})",
    f"TIMESTAMPADD(MONTH, 1, {LTZ})",
    f"TIMESTAMPDIFF(HOUR, TO_TIMESTAMP_LTZ(0, 3), {LTZ})",
    f"TIMESTAMPDIFF(MONTH, TO_TIMESTAMP_LTZ(0, 3), {LTZ})",
    f"TIMESTAMPDIFF(SECOND, {FROM_TS}, {LTZ})",
    # comparisons of what has a zone with what has none
    f"{LTZ} = {TS}",
    f"{LTZ} >= {TS}",
    f"{LTZ} BETWEEN {TS} AND {FROM_TS}",
    f"{TS} = {LTZ}",
    f"{TS} >= {LTZ}",
    f"CAST({{s}} AS TIMESTAMP(6)) = {LTZ}",
    f"TO_TIMESTAMP_LTZ({{n}} * 1000000, 6) = {TS}",
    f"{TS} IN ({LTZ}, {FROM_TS})",
    # both kinds under one roof
    f"CASE WHEN {{n}} = 0 THEN {FROM_TS} ELSE {LTZ} END",
    f"COALESCE({FROM_TS}, {LTZ})",
    f"COALESCE({TS}, {LTZ})",
    f"CASE WHEN {{n}} > 0 THEN {LTZ} ELSE {TS} END",
    f"GREATEST({FROM_TS}, {LTZ})",
    f"IF({{n}} > 0, CAST({LTZ} AS STRING), 'early')",
    f"CONCAT(CAST({LTZ} AS STRING), '|', FROM_UNIXTIME({{n}}))",
    f"{LTZ} || ''",
    f"JSON_OBJECT('at' VALUE CAST({LTZ} AS STRING))",
    f"MD5(CAST({LTZ} AS STRING))",
    # the clocks agree with one another
    "ABS(TIMESTAMPDIFF(SECOND, LOCALTIMESTAMP, CAST(CURRENT_TIMESTAMP AS TIMESTAMP(3)))) < 60",
    "ABS(TIMESTAMPDIFF(SECOND, LOCALTIMESTAMP, CAST(PROCTIME() AS TIMESTAMP(3)))) < 60",
    "ABS(UNIX_TIMESTAMP() - EXTRACT(EPOCH FROM NOW())) < 60",
    "ABS(UNIX_TIMESTAMP(FROM_UNIXTIME(UNIX_TIMESTAMP())) - UNIX_TIMESTAMP()) IN (0, 3600)",
    "CURRENT_DATE >= CAST(CURRENT_ROW_TIMESTAMP() AS DATE) - INTERVAL '1' DAY",
)

FORMS = ("constant", "values", "file")


def text_of(moment: tuple[int, str], expression: str) -> str:
    """The expression over constants."""
    seconds, text = moment
    return expression.replace("{n}", f"CAST({seconds} AS BIGINT)").replace("{s}", f"'{text}'")


def query(form: str, zone: str, expressions: list[str]) -> str:
    """A query of all expressions for all moments of a zone; its first column is the moment.

    Args:
        form: ``constant``, ``values``, or ``file``, which reads a table `moments` (i, n, s).
        zone: of the session.
        expressions: some of EXPRESSIONS.
    """
    moments = MOMENTS[zone]
    if form == "constant":
        lines = [
            ", ".join([str(place), *(text_of(moment, each) for each in expressions)])
            for place, moment in enumerate(moments)
        ]
        return " UNION ALL ".join(f"SELECT {line}" for line in lines)
    columns = ", ".join(
        ["i", *(each.replace("{n}", "n").replace("{s}", "s") for each in expressions)]
    )
    if form == "file":
        return f"SELECT {columns} FROM moments"
    rows = ", ".join(
        f"({place}, CAST({seconds} AS BIGINT), CAST('{text}' AS STRING))"
        for place, (seconds, text) in enumerate(moments)
    )
    return f"SELECT {columns} FROM (VALUES {rows}) AS t(i, n, s)"


def file_table(zone: str, folder: str) -> tuple[str, str]:
    """The table of form ``file``, and what stands in its file."""
    declared = (
        "CREATE TEMPORARY TABLE moments (i INT, n BIGINT, s STRING) WITH ("
        f"'connector' = 'filesystem', 'path' = '{folder}', 'format' = 'csv')"
    )
    lines = [f"{i},{seconds},{text}\n" for i, (seconds, text) in enumerate(MOMENTS[zone])]
    return declared, "".join(lines)
