"""Every type as a key, in joins, MIN and MAX, DISTINCT and ORDER BY; the ends of decimals."""

# ruff: noqa: E501

from __future__ import annotations

from oracle.sql.model import SqlCase

KINDS = ("kinds",)
STREAM = ("streaming",)
COLUMNS = {
    "tiny": "CAST(i AS TINYINT)",
    "small": "CAST(i AS SMALLINT)",
    "whole": "i",
    "big": "g",
    "single": "r",
    "double": "d",
    "decimal": "p",
    "short_decimal": "CAST(CAST(i AS DECIMAL(5, 2)) / 4 AS DECIMAL(5, 2))",
    "text": "s",
    "padded": "CAST(s AS CHAR(3))",
    "octets": "CAST(s AS BYTES)",
    "truth": "f",
    "day": "dt",
    "daytime": "tm",
    "moment": "ts",
    "long_moment": "CAST(ts AS TIMESTAMP(9))",
    "instant": "z",
    "list": "ARRAY[i, CAST(g AS INT)]",
    "pair": "ROW(i, s)",
    "months": "CAST(i AS INTERVAL MONTH)",
}
# What PyFlink cannot collect.
AS_TEXT = ("list", "pair", "instant")
# What Flink has no order for.
UNORDERED = ("list", "pair", "months")
EVERY = (
    "CREATE TEMPORARY VIEW wide AS SELECT id, "
    + ", ".join(f"{made} AS c_{name}" for name, made in COLUMNS.items() if name != "months")
    + " FROM kinds",
)


def of(name: str, sql: str, **more: object) -> SqlCase:
    """A query over all types."""
    more.setdefault("modes", STREAM)
    return SqlCase(name, sql, KINDS, setup=EVERY, **more)  # type: ignore[arg-type]


ORDERED = [name for name in COLUMNS if name not in UNORDERED]
ALL = [name for name in COLUMNS if name != "months"]


def shown(name: str) -> str:
    """A column; those that PyFlink cannot collect as text."""
    return f"CAST(c_{name} AS STRING)" if name in AS_TEXT else f"c_{name}"


def calls(function: str, names: list[str]) -> str:
    """One call a type."""
    made = [(name, f"{function}(c_{name})") for name in names]
    return ", ".join(
        f"CAST({call} AS STRING)" if name in AS_TEXT and function != "COUNT" else call
        for name, call in made
    )


CASES = [
    of("types_as_they_are", f"SELECT id, {', '.join(shown(n) for n in ALL)} FROM wide", modes=("streaming", "batch")),
    *(of(f"types_key_{name}", f"SELECT {shown(name)}, c, m FROM (SELECT c_{name}, COUNT(*) AS c, MAX(id) AS m FROM "
        f"wide GROUP BY c_{name})",
        modes=("streaming", "batch") if name in ("decimal", "octets", "list", "pair", "instant") else STREAM)
      for name in ALL),
    *(of(f"types_distinct_{name}", f"SELECT {shown(name)} FROM (SELECT DISTINCT c_{name} FROM wide)")
      for name in ("single", "decimal", "padded", "daytime", "long_moment", "list", "pair")),
    *(of(f"types_join_{name}", f"SELECT l.id, r.id FROM wide l JOIN wide r ON l.c_{name} "
        f"= r.c_{name} AND l.id <= r.id", compare="table")
      for name in ("tiny", "single", "decimal", "padded", "octets", "daytime", "long_moment", "instant", "list", "pair")),
    *(of(f"types_order_{name}", f"SELECT id, {shown(name)} FROM wide ORDER BY c_{name}, id LIMIT 4",
        ordered=True, modes=("streaming", "batch") if name in ("double", "padded", "instant") else STREAM)
      for name in ORDERED if name not in ("tiny", "small", "whole", "big", "moment")),
    *(of(f"types_descending_{name}", f"SELECT id, n FROM (SELECT id, ROW_NUMBER() OVER (ORDER BY "
        f"c_{name} DESC, id) AS n FROM wide) WHERE n <= 3") for name in ("single", "decimal", "text", "truth", "instant")),
    of("types_min", f"SELECT {calls('MIN', [n for n in ORDERED if n != 'octets'])} FROM wide"),
    of("types_max", f"SELECT {calls('MAX', [n for n in ORDERED if n != 'octets'])} FROM wide"),
    of("types_count_distinct", f"SELECT {calls('COUNT', ALL)}, "
        f"{', '.join(f'COUNT(DISTINCT c_{n})' for n in ALL if n not in ('list', 'pair', 'octets'))} FROM wide"),
    of("types_first", f"SELECT {calls('FIRST_VALUE', ['tiny', 'single', 'decimal', 'text', 'truth', 'day', 'daytime', 'moment', 'instant'])} FROM wide"),
    of("types_last", f"SELECT {calls('LAST_VALUE', ['small', 'double', 'decimal', 'text', 'truth', 'day', 'daytime', 'moment', 'instant'])} FROM wide"),
    of("types_min_retracted", f"SELECT {calls('MIN', [n for n in ORDERED if n != 'octets'])} FROM "
        f"(SELECT {', '.join(f'MAX(c_{n}) AS c_{n}' for n in ORDERED if n != 'octets')} FROM wide GROUP BY c_truth)"),
    of("types_in", "SELECT id FROM wide WHERE c_day IN (DATE '2020-02-29', DATE '1970-01-01') OR "
        "c_decimal IN (0, 123.45) OR c_daytime IN (TIME '12:00:00')"),
    of("decimal_sums", "SELECT SUM(c_decimal), AVG(c_decimal), SUM(c_short_decimal), "
        "AVG(c_short_decimal) FROM wide WHERE id > 4"),
    of("decimal_arithmetic", "SELECT id, c_decimal + c_decimal, c_decimal * c_short_decimal, "
        "c_decimal / 3, c_decimal - 1, -c_decimal, ROUND(c_decimal, 2), CAST(c_decimal AS STRING), "
        "CAST(c_decimal AS DECIMAL(38, 0)) FROM wide"),
    of("integer_overflow", "SELECT id, c_big + c_big, c_tiny + c_tiny, c_big * 3, -c_big, "
        "c_whole * 1000000000, CAST(c_big AS INT), CAST(c_whole + 1 AS TINYINT) FROM wide"),
    of("sum_overflow", "SELECT SUM(c_big), AVG(c_big), SUM(c_tiny), AVG(c_tiny), SUM(c_small) FROM wide"),
]  # fmt: skip
