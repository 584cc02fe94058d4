"""Values and expressions with which the ways to run an expression are compared.

Out: a record type, extreme values of each field, and one or more expressions for
every function of expr/functions.py.
"""

from __future__ import annotations

import datetime as dt
import math
from typing import TYPE_CHECKING, Any

from headrace.common.typeinfo import Types
from headrace.datastream.expressions import Expression, col, lit

if TYPE_CHECKING:
    from collections.abc import Callable

VALUES: dict[str, tuple[Any, list[Any]]] = {
    "b": (Types.BYTE(), [None, 0, 1, -1, 127, -128]),
    "h": (Types.SHORT(), [None, 0, 3, -1, 32767, -32768]),
    "i": (Types.INT(), [None, 0, 1, -7, 2**31 - 1, -(2**31), 16777217]),
    "n": (Types.LONG(), [None, 0, -1, 3, 2**63 - 1, -(2**63), 2**53 + 1]),
    "f": (Types.FLOAT(), [None, 0.0, -0.0, 1.5, 0.10000000149011612, -3.4028234663852886e38,
                          math.nan, math.inf, -math.inf, 16777216.0]),
    "d": (Types.DOUBLE(), [None, 0.0, -0.0, 0.1, -2.5, 1.7976931348623157e308, 5e-324, math.nan,
                           math.inf, -math.inf, 2.0**53]),
    "s": (Types.STRING(), [None, "", "a", "A1", "straße", "\U0001f600", "\uffff", "ΑΣ", "a\nb",
                           "ŉ", "x y"]),
    "z": (Types.STRING(), [None, "", "a", "b", "ﬁ", "İ"]),
    "t": (Types.BOOLEAN(), [None, True, False]),
    "u": (Types.BOOLEAN(), [None, True, False]),
    "day": (Types.SQL_DATE(), [None, dt.date(1970, 1, 1), dt.date(9999, 12, 31), dt.date(1, 1, 1)]),
    "at": (Types.SQL_TIMESTAMP(), [None, dt.datetime(1970, 1, 1), dt.datetime(2020, 2, 29, 1, 2, 3,
                                   999999), dt.datetime(9999, 12, 31, 23, 59, 59, 999999)]),
}  # fmt: skip
RECORD = Types.ROW_NAMED(list(VALUES), [type_info for type_info, _ in VALUES.values()])
NUMBERS = "bhinfd"


def expressions() -> dict[str, list[Expression]]:
    """For every function, by name, expressions over all types that it takes."""
    found: dict[str, list[Expression]] = {}
    for sign, apply in BINARY.items():
        pairs = [(col(a), col(b)) for a in NUMBERS for b in NUMBERS]
        pairs += [(col("i"), lit(3)), (lit(7), col("d")), (col("n"), lit(2**40))]
        pairs += [(col("f"), lit(2)), (col("b"), lit(-1)), (lit(None), col("n"))]
        pairs += [(col("d"), lit(math.nan))]
        if sign in COMPARISONS:
            pairs += [(col("s"), col("z")), (col("t"), col("u")), (col("day"), col("day")),
                      (col("at"), col("at")), (col("s"), lit("a")), (col("t"), lit(value=True)),
                      (col("at"), lit(dt.datetime(2020, 2, 29))),
                      (col("day"), lit(dt.date(1970, 1, 1)))]  # fmt: skip
        found[sign] = [apply(left, right) for left, right in pairs]
    found["and"] = [
        col("t") & col("u"),
        col("t") & lit(None),
        (col("n") != 0) & (6 % col("n") == 0),
    ]
    found["or"] = [col("t") | col("u"), lit(value=False) | col("u"),
                   (col("d") == 0) | (1 / col("d") > 2)]  # fmt: skip
    found["not"] = [~col("t"), ~(col("i") > col("d"))]
    found["is_null"] = [col(name).is_null() for name in VALUES]
    found["isin"] = [col("i").isin(0, 1, None), col("i").isin(), col("d").isin(math.nan, 0),
                     col("n").isin(3, 2**53), col("s").isin("", "a"), col("f").isin(1.5, 0.1),
                     col("t").isin(True), col("i").isin(1.5, -7)]  # fmt: skip
    found["rlike"] = [col("s").rlike(p) for p in ("^a", "a.b", r"\w\d", r"^\w+$", "", "[Aa]1?$")]
    found["startswith"] = [col("s").startswith(p) for p in ("", "a", "str", "\U0001f600")]
    found["upper"] = [col("s").upper(), col("z").upper(), col("s").lower().upper()]
    found["lower"] = [col("s").lower(), col("z").lower()]
    return found


COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")
BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "%": lambda a, b: a % b,
}


def exact(value: Any) -> Any:
    """A value such that equal means the very same: NaN is NaN, -0.0 is not 0.0, 1 is not 1.0."""
    return (type(value).__name__, repr(value))
