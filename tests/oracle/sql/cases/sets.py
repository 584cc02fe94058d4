"""UNION, INTERSECT, EXCEPT."""

from __future__ import annotations

from dataclasses import replace

from oracle.sql.model import SqlCase

LEFT, RIGHT = "SELECT k FROM orders WHERE id < 8", "SELECT k FROM orders WHERE id > 5"


def both(name: str, operator: str, left: str = LEFT, right: str = RIGHT) -> SqlCase:
    """Two branches of one source still race."""
    return SqlCase(name, f"{left} {operator} {right}", compare="table")


CASES = [
    both("union_all", "UNION ALL"),
    both("union", "UNION"),
    both("intersect", "INTERSECT"),
    both("intersect_all", "INTERSECT ALL"),
    both("except", "EXCEPT"),
    both("except_all", "EXCEPT ALL"),
    both("union_types", "UNION ALL", "SELECT a FROM orders", "SELECT d FROM orders"),
    both("union_null", "UNION ALL", "SELECT a, k FROM orders", "SELECT b, CAST(NULL AS STRING) "
         "FROM orders"),
    both("union_group", "UNION ALL", "SELECT k, COUNT(*) FROM orders GROUP BY k",
         "SELECT 'all', COUNT(*) FROM orders"),
    both("except_groups", "EXCEPT", "SELECT COUNT(*) FROM orders GROUP BY k",
         "SELECT COUNT(*) FROM orders GROUP BY f"),
    SqlCase("group_over_union", "SELECT x, COUNT(*) FROM (SELECT k AS x FROM orders UNION ALL "
        "SELECT name FROM users) GROUP BY x", ("orders", "users"), compare="table"),
    SqlCase("union_values", "SELECT id FROM orders WHERE id < 3 UNION ALL VALUES (100), (200)",
        compare="table"),
    SqlCase("union_three", "SELECT 1 AS n UNION ALL SELECT 2 UNION ALL SELECT 2", (),
        compare="table"),
]  # fmt: skip
# Some are enough in BATCH mode, where the operators are the same.
_BATCH = {"union", "intersect", "intersect_all", "except", "except_all", "union_types"}
CASES = [
    case if case.name in _BATCH or case.modes == ("batch",) else replace(case, modes=("streaming",))
    for case in CASES
]
