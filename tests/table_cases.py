"""GROUP BY programs that PyFlink and headrace both run: rows, calls, and the SQL of the calls.

Knows neither: tests/oracle/table_goldens.py asks PyFlink and writes tests/golden/sql/group_by.json,
tests/unit/runtime/table/test_flink_aggregates.py plays the same rows to the operator.
"""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any, NamedTuple

COLUMNS = {
    "k": "STRING",
    "i": "INT",
    "l": "BIGINT",
    "d": "DOUBLE",
    "f": "FLOAT",
    "m": "DECIMAL(10, 2)",
    "s": "STRING",
    "b": "BOOLEAN",
    "dd": "DATE",
    "ts": "TIMESTAMP(3)",
    "t": "STRING",
}
_NAN = float("nan")


def _row(kind: str, k: Any, i: Any, d: Any, m: Any, s: Any, b: Any) -> tuple[Any, ...]:
    day = None if i is None else dt.date(2020, 1, 1) + dt.timedelta(days=i % 1000)
    ts = None if i is None else dt.datetime(2020, 1, 1) + dt.timedelta(seconds=i % 1000)
    long = None if i is None else i * 4_000_000_000
    cents = None if m is None else Decimal(m).quantize(Decimal("0.01"))
    return (kind, k, i, long, d, d, cents, s, b, day, ts, "; ")


INSERTS = [
    _row("+I", "a", 1, 1.5, "1.50", "x", True),
    _row("+I", "b", None, None, None, None, None),
    _row("+I", "a", 2147483647, 0.1, "-2.25", "y", False),
    _row("+I", "a", None, 0.2, None, None, True),
    _row("+I", None, -5, -1.0, "99999999.99", "x", True),
    _row("+I", "a", 3, 0.25, "0.10", "x", None),
    _row("+I", "b", -7, 2.0, "3.00", "z", True),
    _row("+I", "b", 0, 2.0, "3.00", "z", True),
    _row("+I", None, -6, -1.0, "0.01", "", False),
    _row("+I", "c", 4, 1.0, "1.00", "x", False),
    _row("+I", "c", 4, 0.5, "1.00", "x", False),
]
CHANGES = [
    _row("+I", "a", 1, 1.5, "1.50", "x", True),
    _row("-D", "b", 1, 1.5, "1.50", "x", True),
    _row("+I", "a", 5, 0.5, "2.50", "y", True),
    _row("+I", "a", 3, 0.25, "0.10", "x", False),
    _row("-U", "a", 5, 0.5, "2.50", "y", True),
    _row("+U", "a", 4, 0.125, "7.50", "z", True),
    _row("+I", "b", 9, 1.0, "1.00", None, None),
    _row("+I", "b", None, None, None, "w", True),
    _row("-D", "b", 9, 1.0, "1.00", None, None),
    _row("+I", "a", 1, 1.5, "1.50", "x", True),
    _row("-D", "a", 1, 1.5, "1.50", "x", True),
    _row("-D", "b", None, None, None, "w", True),
    _row("-D", "b", None, None, None, "w", True),
    _row("+I", "b", 2, 2.0, "2.00", "v", True),
    _row("-D", "a", 3, 0.25, "0.10", "x", False),
]


class Call(NamedTuple):
    """One aggregate: its SQL, and what it is made of."""

    sql: str
    function: str
    columns: tuple[str, ...]
    type: str
    distinct: bool = False
    filter: str | None = None
    options: tuple[str, ...] = ()


def _calls(function: str, types: dict[str, str], **options: Any) -> list[Call]:
    return [
        Call(f"{function}({column})", function, (column,), kind, **options)
        for column, kind in types.items()
    ]


_SAME = {c: COLUMNS[c] for c in ("i", "l", "d", "f")}
_ORDERED = {c: COLUMNS[c] for c in ("i", "d", "m", "s", "b", "dd", "ts")}
PROGRAMS: dict[str, list[Call]] = {
    "count": [
        Call("COUNT(*)", "COUNT", (), "BIGINT"),
        Call("COUNT(i)", "COUNT", ("i",), "BIGINT"),
        Call("COUNT(*) FILTER (WHERE b)", "COUNT", (), "BIGINT", filter="b"),
    ],
    "sum": [*_calls("SUM", _SAME), *_calls("SUM", {"m": "DECIMAL(38, 2)"})],
    "sum of bigint alone": _calls("SUM", {"l": "BIGINT"}),
    "avg": [*_calls("AVG", _SAME), *_calls("AVG", {"m": "DECIMAL(38, 6)"})],
    "min": _calls("MIN", _ORDERED),
    "max": _calls("MAX", _ORDERED),
    "max of text alone": _calls("MAX", {"s": "STRING"}),
    "first": _calls("FIRST_VALUE", {"i": "INT", "s": "STRING", "m": "DECIMAL(10, 2)"}),
    "last": _calls("LAST_VALUE", {"i": "INT", "s": "STRING", "ts": "TIMESTAMP(3)"}),
    "variance": [
        *_calls("VAR_POP", {"i": "INT", "d": "DOUBLE", "m": "DECIMAL(38, 6)"}),
        *_calls("STDDEV_SAMP", {"d": "DOUBLE", "f": "FLOAT"}),
        *_calls("STDDEV_POP", {"d": "DOUBLE"}),
        *_calls("VAR_SAMP", {"d": "DOUBLE"}),
    ],
    "listagg": [
        *_calls("LISTAGG", {"s": "STRING"}),
        Call("LISTAGG(s, '; ')", "LISTAGG", ("s", "t"), "STRING"),
    ],
    # PyFlink cannot read arrays with NULL
    "array_agg": [Call("CAST(ARRAY_AGG(i) AS STRING)", "ARRAY_AGG", ("i",), "ARRAY<INT>")],
    "collect": _calls("COLLECT", {"s": "MULTISET<STRING>"}),
    "distinct": [
        Call("COUNT(DISTINCT s)", "COUNT", ("s",), "BIGINT", distinct=True),
        Call("SUM(DISTINCT i)", "SUM", ("i",), "INT", distinct=True),
        Call(
            "COUNT(DISTINCT s) FILTER (WHERE b)", "COUNT", ("s",), "BIGINT",
            distinct=True, filter="b",
        ),
    ],
    "distinct list": [Call("LISTAGG(DISTINCT s)", "LISTAGG", ("s",), "STRING", distinct=True)],
    "filter": [
        Call("MAX(i) FILTER (WHERE b)", "MAX", ("i",), "INT", filter="b"),
        Call("SUM(i) FILTER (WHERE b)", "SUM", ("i",), "INT", filter="b"),
    ],
}  # fmt: skip
ROWS = {"inserts": INSERTS, "changes": CHANGES}
GLOBAL = ("count", "sum", "max")


def statement(calls: list[Call], *, grouped: bool) -> str:
    """The query of a program over the table T."""
    columns = ", ".join(call.sql for call in calls)
    return f"SELECT k, {columns} FROM T GROUP BY k" if grouped else f"SELECT {columns} FROM T"


def shown(value: Any) -> str:
    """A value as goldens have it."""
    if isinstance(value, list):
        return repr(f"[{', '.join('NULL' if v is None else str(v) for v in value)}]")
    if isinstance(value, dict):
        pairs = sorted((repr(key), count) for key, count in value.items())
        return "{" + ", ".join(f"{key}: {count}" for key, count in pairs) + "}"
    return repr(value)
