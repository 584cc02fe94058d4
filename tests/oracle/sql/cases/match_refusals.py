"""MATCH_RECOGNIZE: what Flink refuses of the standard, and what is wrong."""

# ruff: noqa: E501

from __future__ import annotations

from oracle.sql.cases.matches import ABC, STREAM, match, of
from oracle.sql.model import SqlCase


def refused(name: str, sql: str, *tables: str, **more: object) -> SqlCase:
    """A clause that cannot be planned."""
    more.setdefault("modes", STREAM)
    more.setdefault("refused", True)
    return SqlCase(f"match_no_{name}", sql, tables or ("letters",), **more)  # type: ignore[arg-type]


ONE = "A.id AS a"

CASES = [
    refused("all_rows", of("ORDER BY ts MEASURES A.id AS a ALL ROWS PER MATCH PATTERN (A B) DEFINE A AS name = 'a'")),
    refused("greedy_last", match(ONE, "A B+", ABC)),
    refused("star_last", match(ONE, "A B*", ABC)),
    refused("range_last", match(ONE, "A B{1,3}", ABC)),
    refused("at_least_last", match(ONE, "A B{2,}", ABC)),
    refused("empty_star", match(ONE, "A*", ABC)),
    refused("empty_star_reluctant", match(ONE, "A*?", ABC)),
    refused("empty_maybe", match(ONE, "A?", ABC)),
    refused("empty_two", match(ONE, "A? B*?", ABC)),
    refused("empty_group", match(ONE, "A{0,2}?", ABC)),
    refused("reluctant_maybe", match(ONE, "A B?? C", ABC)),
    refused("greedy_then_maybe", match(ONE, "A+ B? C", ABC)),
    refused("greedy_then_star", match(ONE, "A B{1,3} C*? D", ABC)),
    refused("greedy_then_range", match(ONE, "A+ B{0,2} C", ABC), refused=False),
    refused("zero_time", match(ONE, "A B", ABC, within="'0' SECOND"), refused=False),
    refused("colon", match(ONE, "A `B:0`", ABC), refused=False),
    refused("alternation", match(ONE, "A (B | C)", ABC)),
    refused("permute", match(ONE, "PERMUTE(A, B)", ABC)),
    refused("exclusion", match(ONE, "A {- B -} C", ABC)),
    refused("group", match(ONE, "(A B)+ C", ABC)),
    refused("twice", match(ONE, "A B A", ABC)),
    refused("subset", of(f"ORDER BY ts MEASURES S.id AS a PATTERN (A B) SUBSET S = (A, B) DEFINE {ABC}"), refused=False),
    refused("prev", match(ONE, "A B", "B AS PREV(B.v) < 3")),
    refused("prev_one", match(ONE, "A B", "B AS PREV(B.v, 1) < B.v")),
    refused("next", match(ONE, "A B", "A AS NEXT(A.v, 1) < 3")),
    refused("prev_measure", match("PREV(A.id) AS a", "A B", ABC)),
    refused("classifier", match("CLASSIFIER() AS c", "A B", ABC)),
    refused("match_number", match("MATCH_NUMBER() AS c", "A B", ABC)),
    refused("final_in_define", match(ONE, "A B", "B AS FINAL LAST(A.v) > 1")),
    refused("distinct", match("COUNT(DISTINCT A.v) AS c", "A B", ABC)),
    refused("two_variables_sum", match("SUM(A.v + B.v) AS s", "A B", ABC)),
    refused("two_variables_last", match("LAST(A.v + B.v) AS s", "A B", ABC)),
    refused("nested_navigation", match("FIRST(LAST(A.v)) AS s", "A B", ABC)),
    refused("aggregate_in_last", match("LAST(SUM(A.v)) AS s", "A B", ABC)),
    refused("constant_sum", match("SUM(1) AS s", "A B", ABC)),
    refused("unknown_variable", match("Z.id AS z", "A B", ABC)),
    refused("unknown_column", match("A.nope AS z", "A B", ABC)),
    refused("unknown_skip", match(ONE, "A B", ABC, after="TO FIRST Z")),
    refused("skip_loop", match(ONE, "A B C", ABC, after="TO FIRST A")),
    refused("skip_missing", match(ONE, "A B? C", "A AS name = 'a', B AS name = 'x', C AS name = 'b'", after="TO FIRST B")),
    refused("defined_twice", match(ONE, "A B", "A AS v > 1, A AS v > 2")),
    refused("number_condition", match(ONE, "A B", "A AS v")),
    refused("no_order", of(f"MEASURES A.id AS a PATTERN (A B) DEFINE {ABC}")),
    refused("order_by_number", match(ONE, "A B", ABC, order="v")),
    refused("order_time_second", match(ONE, "A B", ABC, order="v, ts")),
    refused("order_descending", match(ONE, "A B", ABC, order="ts DESC")),
    refused("order_plain_time", of("ORDER BY ts MEASURES A.id AS a PATTERN (A B) DEFINE A AS TRUE", "typed"), "typed"),
    refused("updates", "SELECT * FROM (SELECT k, COUNT(*) AS c, PROCTIME() AS pt FROM orders GROUP BY k) MATCH_RECOGNIZE (ORDER BY pt MEASURES A.k AS a PATTERN (A B) DEFINE A AS c > 1)", "orders"),
    refused("ambiguous", of(f"PARTITION BY name ORDER BY ts MEASURES A.name AS name PATTERN (A B) DEFINE {ABC}")),
    refused("same_measure", match("A.id AS x, B.id AS x", "A B", ABC)),
    refused("months", match(ONE, "A B", ABC, within="'1' MONTH")),
    refused("negative_time", match(ONE, "A B", ABC, within="-'1' SECOND")),
    refused("turned_range", match(ONE, "A{3,2} B", ABC)),
    refused("measure_without_name", match("A.id", "A B", ABC)),
    refused("no_define", of("ORDER BY ts MEASURES A.id AS a PATTERN (A B)")),
    refused("rowtime_outside", "SELECT MATCH_ROWTIME() FROM letters"),
    refused("proctime_outside", "SELECT MATCH_PROCTIME() FROM letters"),
    refused("first_outside", "SELECT FIRST(id) FROM letters"),
    refused("anchors", match(ONE, "^A B$", ABC), refused=False),
    refused("partition_expression", of(f"PARTITION BY UPPER(name) ORDER BY ts MEASURES A.id AS a PATTERN (A B) DEFINE {ABC}")),
    refused("subquery", match(ONE, "A B", "A AS id IN (SELECT id FROM letters)")),
    refused("filter", match("SUM(A.v) FILTER (WHERE A.v > 1) AS s", "A B", ABC)),
    refused("zero_times", match(ONE, "A B{0} C", ABC)),
    refused("over", match("SUM(A.v) OVER (ORDER BY A.ts) AS s", "A B", ABC)),
    refused("no_measures", of(f"ORDER BY ts PATTERN (A B) DEFINE {ABC}")),
    refused("count_two", match("COUNT(A.v, A.id) AS c", "A B", ABC)),
    refused("offset_column", match("LAST(A.v, A.id) AS c", "A B", ABC)),
    refused("offset_negative", match("LAST(A.v, -1) AS c", "A B", ABC)),
    refused("count_star_variable", match("COUNT(A.*) AS c", "A B", ABC)),
    refused("sum_variable_and_star", match("SUM(A.v + v) AS c", "A B", ABC)),
    refused("last_variable_and_star", match("LAST(A.v + v) AS c", "A B", ABC)),
    refused("within_proc_order", match(ONE, "A B", ABC, within="'1' SECOND", order="id")),
    refused("running", match("RUNNING LAST(A.v) AS c", "A B", ABC)),
    refused("define_running", match(ONE, "A B", "B AS RUNNING LAST(A.v) > 1")),
]  # fmt: skip
