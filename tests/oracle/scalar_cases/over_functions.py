"""Functions over windows of rows: their types."""

from __future__ import annotations

from oracle.scalar_cases import Argument, c, case, n
from oracle.scalar_cases.aggregates import NUMBERS, OTHERS

_OVER = " OVER (ORDER BY f)"
_COPIES: list[Argument] = [("INT", 1), ("INT NOT NULL", 1), ("STRING", "a"), ("DECIMAL(5, 2)", "1")]

TYPES_ONLY = True
CASES = [
    *(
        case(name, sql=f"{name}(){_OVER}")
        for name in ("ROW_NUMBER", "RANK", "DENSE_RANK", "PERCENT_RANK", "CUME_DIST")
    ),
    case("NTILE", n(2), sql="NTILE({0})" + _OVER),
    *(
        case(name, each, sql=f"{name}({{0}}){_OVER}")
        for name in ("LEAD", "LAG", "FIRST_VALUE", "LAST_VALUE", "SUM", "MAX", "COUNT", "AVG")
        for each in _COPIES
    ),
    *(
        case(name, ("INT NOT NULL", 1), n(2), sql=f"{name}({{0}}, {{1}}){_OVER}")
        for name in ("LEAD", "LAG")
    ),
    *(
        case(name, ("INT NOT NULL", 1), n(2), third, sql=f"{name}({{0}}, {{1}}, {{2}}){_OVER}")
        for name in ("LEAD", "LAG")
        for third in (n(7), ("INT", 7), ("BIGINT NOT NULL", 7), c("x"))
    ),
    *(case("SUM", each, sql="SUM({0})" + _OVER) for each in NUMBERS),
    *(case("MIN", each, sql="MIN({0})" + _OVER) for each in OTHERS[:9]),
]
