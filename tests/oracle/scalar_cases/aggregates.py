"""Aggregates: their types in groups, where there is a line at least."""

from __future__ import annotations

from oracle.scalar_cases import Argument, c, case, n

NUMBERS: list[Argument] = [
    ("TINYINT", 1),
    ("SMALLINT", 1),
    ("INT", 1),
    ("BIGINT", 1),
    ("FLOAT", "1"),
    ("DOUBLE", "1"),
    ("DECIMAL(5, 2)", "1"),
    ("DECIMAL(20, 0)", "1"),
    ("DECIMAL(38, 10)", "1"),
    ("DECIMAL(38, 20)", "1"),
    ("INT NOT NULL", 1),
    ("DECIMAL(5, 2) NOT NULL", "1"),
    ("DOUBLE NOT NULL", "1"),
]
OTHERS: list[Argument] = [
    ("STRING", "a"),
    ("CHAR(2)", "ab"),
    ("VARCHAR(3) NOT NULL", "ab"),
    ("DATE", "2024-01-02"),
    ("TIME", "01:02:03"),
    ("TIMESTAMP(3)", "2024-01-02 03:04:05"),
    ("BOOLEAN", True),
    ("BYTES", "61"),
    ("TIMESTAMP_LTZ(3)", "2024-01-02 03:04:05"),
    ("ARRAY<INT>", [1]),
    ("ROW<a INT>", [1]),
    ("MAP<STRING, INT>", [["a", 1]]),
    ("NULL", None),
]
_NUMERIC = ["SUM", "AVG", "STDDEV_POP", "STDDEV_SAMP", "STDDEV", "VAR_POP", "VAR_SAMP", "VARIANCE"]
_NUMERIC += ["$SUM0"]
_ANY = ["MIN", "MAX", "FIRST_VALUE", "LAST_VALUE", "COUNT", "COLLECT", "ARRAY_AGG", "SINGLE_VALUE"]


TAIL = " GROUP BY f"
TYPES_ONLY = True
CASES = [
    *(case(name, each) for name in _NUMERIC if name != "$SUM0" for each in NUMBERS),
    *(case(name, each) for name in ("SUM", "AVG", "STDDEV_POP") for each in OTHERS),
    *(case(name, each) for name in _ANY[:7] for each in NUMBERS[2:3] + NUMBERS[10:11] + OTHERS),
    case("COUNT", sql="COUNT(*)"),
    case("COUNT", ("INT", 1), ("STRING", "a"), sql="COUNT({0}, {1})"),
    case("LISTAGG", ("STRING", "a")),
    case("LISTAGG", ("STRING", "a"), c(",")),
    case("LISTAGG", ("VARCHAR(3) NOT NULL", "ab")),
    case("LISTAGG", n(1)),
    case("LISTAGG", ("STRING", "a"), ("STRING", ",")),
    case("APPROX_COUNT_DISTINCT", ("INT", 1)),
    case("APPROX_COUNT_DISTINCT", ("STRING", "a")),
    *(
        case("PERCENTILE", each, ("DOUBLE NOT NULL", "0.5"), sql="PERCENTILE({0}, 0.5)")
        for each in NUMBERS[:7]
    ),
    case(
        "PERCENTILE",
        ("INT", 1),
        ("ARRAY<DOUBLE NOT NULL> NOT NULL", [0.5]),
        sql="PERCENTILE({0}, ARRAY[0.5, 0.9])",
    ),
    case(
        "PERCENTILE",
        ("INT", 1),
        ("DOUBLE NOT NULL", "0.5"),
        ("INT", 2),
        sql="PERCENTILE({0}, 0.5, {2})",
    ),
    case(
        "JSON_OBJECTAGG",
        ("STRING NOT NULL", "a"),
        ("INT", 1),
        sql="JSON_OBJECTAGG({0} VALUE {1})",
    ),
    case("JSON_ARRAYAGG", ("INT", 1), sql="JSON_ARRAYAGG({0})"),
]
