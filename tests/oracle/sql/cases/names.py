"""What names mean in ORDER BY and QUALIFY: those of the SELECT list before those of FROM."""

# ruff: noqa: E501

from __future__ import annotations

from oracle.sql.model import SqlCase

BATCH = ("batch",)
STREAM = ("streaming",)


def sorted_by(name: str, sql: str, *tables: str) -> SqlCase:
    """A query whose order is defined."""
    return SqlCase(name, sql, tables or ("orders",), modes=BATCH, ordered=True)


def refused(name: str, sql: str) -> SqlCase:
    """A query whose names mean nothing, or two things."""
    return SqlCase(name, sql, modes=BATCH, refused=True)


CASES = [
    sorted_by("alias_in_case", "SELECT id, a AS x FROM orders ORDER BY CASE WHEN x > 4 THEN id END, id"),
    sorted_by("alias_before_column", "SELECT id, -a AS a FROM orders ORDER BY a + 0, id"),
    sorted_by("alias_before_column_alone", "SELECT id, -a AS a FROM orders ORDER BY a, id"),
    sorted_by("column_by_its_table", "SELECT id, -a AS a FROM orders ORDER BY orders.a + 0, id"),
    sorted_by("alias_of_column", "SELECT a AS b, id FROM orders ORDER BY b + 0, id"),
    SqlCase("alias_of_grouping", "SELECT k, f, GROUPING(k) + GROUPING(f) AS l FROM orders "
        "GROUP BY ROLLUP (k, f) ORDER BY l DESC, CASE WHEN l = 0 THEN k END, f", modes=BATCH),
    sorted_by("alias_of_sum", "SELECT k, SUM(a) AS s FROM orders GROUP BY k ORDER BY s + COUNT(*), k"),
    sorted_by("alias_of_over", "SELECT id, ROW_NUMBER() OVER (PARTITION BY k ORDER BY id) AS n "
        "FROM orders ORDER BY n * 2, id"),
    sorted_by("alias_within_over", "SELECT id, -id AS i FROM orders "
        "ORDER BY ROW_NUMBER() OVER (ORDER BY i)"),
    sorted_by("alias_of_subquery", "SELECT id, (SELECT MAX(age) FROM users WHERE name = k) AS m "
        "FROM orders ORDER BY COALESCE(m, 0) DESC, id", "orders", "users"),
    sorted_by("alias_of_distinct", "SELECT DISTINCT k AS kk FROM orders ORDER BY COALESCE(kk, 'zz')"),
    sorted_by("distinct_by_expression", "SELECT DISTINCT k AS kk, a FROM orders ORDER BY a + 1, kk"),
    sorted_by("union_by_expression", "SELECT id AS x FROM orders UNION ALL SELECT a FROM orders "
        "ORDER BY -x"),
    sorted_by("star_by_expression", "SELECT * FROM orders ORDER BY a * -1, id"),
    sorted_by("place_in_expression", "SELECT id, a FROM orders ORDER BY 2 + 0, 1"),
    SqlCase("alias_with_limit", "SELECT id, a AS x FROM orders ORDER BY -x LIMIT 3"),
    SqlCase("qualify_alias", "SELECT id, k, ROW_NUMBER() OVER (PARTITION BY k ORDER BY id DESC) AS n "
        "FROM orders QUALIFY n = 1 ", modes=BATCH),
    SqlCase("qualify_alias_before_column", "SELECT id, -a AS a, ROW_NUMBER() OVER (PARTITION BY k "
        "ORDER BY id DESC) AS n FROM orders QUALIFY n = 1 AND a < 0", modes=BATCH),
    SqlCase("qualify_alias_within_over", "SELECT id, -a AS a, k AS kk FROM orders "
        "QUALIFY ROW_NUMBER() OVER (PARTITION BY kk ORDER BY a) = 1", modes=BATCH),
    SqlCase("qualify_top", "SELECT id, a, ROW_NUMBER() OVER (PARTITION BY k ORDER BY a DESC) AS n "
        "FROM orders QUALIFY n <= 2", modes=STREAM),
    SqlCase("qualify_star", "SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY id) AS n "
        "FROM orders QUALIFY n = 1 AND a > 1", modes=BATCH),
    SqlCase("qualify_alias_alone", "SELECT id, ROW_NUMBER() OVER (PARTITION BY k ORDER BY id) = 1 AS first "
        "FROM orders QUALIFY first", modes=BATCH),
    SqlCase("qualify_aliases_swapped", "SELECT id, a AS b, b AS a, ROW_NUMBER() OVER (PARTITION BY k "
        "ORDER BY id) AS n FROM orders QUALIFY n = 1 AND a > 15", modes=BATCH),
    SqlCase("qualify_groups", "SELECT k, ROW_NUMBER() OVER (ORDER BY k DESC) AS r FROM orders "
        "GROUP BY k QUALIFY r <= 2", modes=BATCH),
    SqlCase("having_column", "SELECT k, SUM(a) AS a FROM orders GROUP BY k HAVING SUM(a) > 3",
        modes=BATCH),
    sorted_by("aliases_swapped", "SELECT id, a AS b, b AS a FROM orders ORDER BY a + 0, id"),
    sorted_by("alias_of_aggregate", "SELECT MAX(a) AS m FROM orders ORDER BY m + 1"),
    sorted_by("alias_of_key", "SELECT UPPER(k) AS k, COUNT(*) AS c FROM orders GROUP BY k ORDER BY k, c"),
    sorted_by("alias_of_key_in_call", "SELECT UPPER(k) AS k, COUNT(*) AS c FROM orders GROUP BY k "
        "ORDER BY COALESCE(k, 'zz'), c"),
    sorted_by("stars_names_once", "SELECT * FROM orders JOIN (SELECT id, k AS kk FROM orders) u "
        "ON orders.id = u.id ORDER BY id"),
    sorted_by("distinct_by_its_expression", "SELECT DISTINCT a + 1 AS x FROM orders "
        "ORDER BY (a + 1) * -1"),
    sorted_by("distinct_groups", "SELECT DISTINCT SUM(a) AS x FROM orders GROUP BY k ORDER BY -SUM(a)"),
    SqlCase("values_by_name", "VALUES (1, 2), (3, 1) ORDER BY EXPR$1", (), modes=BATCH, ordered=True),
    refused("name_twice", "SELECT id, a, a FROM orders ORDER BY a, id"),
    refused("union_by_table", "SELECT orders.id FROM orders UNION ALL SELECT a FROM orders "
        "ORDER BY orders.id"),
    refused("union_by_second", "SELECT id AS x FROM orders UNION ALL SELECT a AS y FROM orders "
        "ORDER BY y"),
    refused("union_by_aggregate", "SELECT id AS x FROM orders UNION ALL SELECT a AS y FROM orders "
        "ORDER BY MAX(x)"),
    refused("distinct_by_another", "SELECT DISTINCT a + 1 AS x FROM orders ORDER BY a"),
    refused("column_without_name", "SELECT id, a + 1 FROM orders ORDER BY EXPR$1, id"),
    refused("qualify_over_in_subquery", "SELECT id FROM orders QUALIFY id IN (SELECT ROW_NUMBER() "
        "OVER (ORDER BY id) FROM orders)"),
    refused("window_alias", "SELECT id, -a AS x, k FROM orders WINDOW w AS (PARTITION BY k ORDER BY x) "
        "QUALIFY ROW_NUMBER() OVER w = 1"),
    refused("alias_within_aggregate", "SELECT k, SUM(a) AS a FROM orders GROUP BY k ORDER BY SUM(a), k"),
    refused("alias_twice", "SELECT id, a AS x, b AS x FROM orders ORDER BY x + 0, id"),
    refused("alias_twice_alone", "SELECT id, a AS x, b AS x FROM orders ORDER BY x, id"),
    refused("alias_and_star", "SELECT *, -a AS a FROM orders ORDER BY a * -1, id"),
    refused("alias_with_a_number", "SELECT id, a AS x, b AS x FROM orders ORDER BY x0 + 0, id"),
    SqlCase("alias_within_subquery", "SELECT id AS x FROM orders ORDER BY (SELECT MAX(age) FROM users "
        "WHERE age > x), x", ("orders", "users"), modes=BATCH, refused=True),
    refused("alias_with_field", "SELECT ROW(a, b) AS r, id FROM orders ORDER BY r.EXPR$0, id"),
    refused("qualify_alias_twice", "SELECT id AS x, a AS x, ROW_NUMBER() OVER (PARTITION BY k "
        "ORDER BY id DESC) AS n FROM orders QUALIFY n = 1 AND x > 2"),
    refused("qualify_without_over", "SELECT id, a AS x FROM orders QUALIFY x > 5"),
    refused("qualify_alias_within_aggregate", "SELECT k, SUM(a) AS a, RANK() OVER (ORDER BY k) AS r "
        "FROM orders GROUP BY k QUALIFY r < 9 AND SUM(a) > 0"),
    refused("having_alias", "SELECT k, SUM(a) AS s FROM orders GROUP BY k HAVING s > 3"),
    refused("group_by_alias", "SELECT a + 1 AS s, COUNT(*) FROM orders GROUP BY s"),
    refused("where_alias", "SELECT a + 1 AS s FROM orders WHERE s > 3"),
]  # fmt: skip
