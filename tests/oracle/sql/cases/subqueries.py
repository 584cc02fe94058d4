"""Subqueries: IN, EXISTS, scalar, correlated."""

# ruff: noqa: E501

from __future__ import annotations

from dataclasses import replace

from oracle.sql.model import SqlCase


def sub(name: str, sql: str) -> SqlCase:
    """Two sources race."""
    return SqlCase(name, sql, ("orders", "users"), compare="table")


CASES = [
    sub("in_subquery", "SELECT id FROM orders WHERE k IN (SELECT name FROM users)"),
    sub("not_in_subquery", "SELECT id FROM orders WHERE k NOT IN (SELECT name FROM users "
        "WHERE name IS NOT NULL)"),
    sub("not_in_with_null", "SELECT id FROM orders WHERE k NOT IN (SELECT name FROM users)"),
    sub("exists", "SELECT id FROM orders o WHERE EXISTS (SELECT 1 FROM users u WHERE u.name = o.k)"),
    sub("not_exists", "SELECT id FROM orders o WHERE NOT EXISTS (SELECT * FROM users "
        "WHERE name = o.k)"),
    sub("exists_predicate", "SELECT id FROM orders o WHERE EXISTS (SELECT 1 FROM users u "
        "WHERE u.name = o.k AND u.age > o.b)"),
    sub("exists_uncorrelated", "SELECT id FROM orders WHERE EXISTS (SELECT * FROM users "
        "WHERE age > 39)"),
    sub("scalar", "SELECT id FROM orders WHERE a > (SELECT AVG(a) FROM orders)"),
    sub("scalar_select", "SELECT id, (SELECT MAX(age) FROM users) FROM orders"),
    sub("scalar_correlated", "SELECT id, (SELECT MAX(age) FROM users u WHERE u.name = o.k) "
        "FROM orders o"),
    sub("scalar_correlated_count", "SELECT id, (SELECT COUNT(*) FROM users u WHERE u.name = o.k) "
        "FROM orders o"),
    sub("in_groups", "SELECT id FROM orders WHERE k IN (SELECT k FROM orders GROUP BY k "
        "HAVING COUNT(*) > 2)"),
    sub("two_subqueries", "SELECT id FROM orders WHERE k IN (SELECT name FROM users) AND a NOT IN "
        "(SELECT age FROM users WHERE age IS NOT NULL)"),
    sub("in_two_columns", "SELECT id FROM orders WHERE (k, b) IN (SELECT name, age - 30 FROM users)"),
    sub("nested", "SELECT id FROM orders WHERE k IN (SELECT name FROM users WHERE age > "
        "(SELECT MIN(age) FROM users))"),
    sub("derived", "SELECT x.k, x.m FROM (SELECT k, MAX(a) AS m FROM orders GROUP BY k) x "
        "WHERE x.m > 5"),
    sub("in_having", "SELECT k, COUNT(*) FROM orders GROUP BY k HAVING COUNT(*) > "
        "(SELECT COUNT(*) FROM users WHERE age < 15)"),
    sub("lateral", "SELECT o.id, t.m FROM orders o, LATERAL (SELECT MAX(age) AS m FROM users u "
        "WHERE u.name = o.k) t"),
]  # fmt: skip
# Some are enough in BATCH mode, where the operators are the same.
_BATCH = {
    "not_in_with_null",
    "exists_predicate",
    "scalar",
    "scalar_correlated_count",
    "in_having",
    "nested",
}
CASES = [
    case if case.name in _BATCH or case.modes == ("batch",) else replace(case, modes=("streaming",))
    for case in CASES
]
