"""Every node knows where it stands."""

from __future__ import annotations

import pytest

from headrace.sql.ast import FunctionCall, Identifier, SqlLiteral, TextPosition, walk_nodes
from headrace.sql.parser import parse_expression, parse_statement


def test_lines_and_columns_count_from_one() -> None:
    text = "SELECT a,\n       bb\nFROM t"
    assert (TextPosition(7, 8, text).line, TextPosition(7, 8, text).column) == (1, 8)
    assert (TextPosition(17, 19, text).line, TextPosition(17, 19, text).column) == (2, 8)
    assert TextPosition(17, 19, text).source == "bb"


def test_an_operation_spans_its_operands() -> None:
    found = parse_expression("  a + f(b, 'x') ")
    spans = {node.position.source for node in walk_nodes(found) if node.position is not None}
    assert spans == {"a + f(b, 'x')", "a", "f(b, 'x')", "b", "'x'"}


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT a, COUNT(*) FROM t AS x JOIN u ON x.a = u.b WHERE a > 1 GROUP BY a LIMIT 3",
        "SELECT SUM(a) OVER (PARTITION BY b ORDER BY c ROWS 1 PRECEDING) FROM t",
        "CREATE TABLE t (a INT NOT NULL, b AS a + 1, WATERMARK FOR ts AS ts) WITH ('k' = 'v')",
        "ALTER TABLE t ADD (a ROW<x INT> FIRST, PRIMARY KEY (a) NOT ENFORCED)",
        "INSERT INTO t SELECT JSON_VALUE(a, '$' RETURNING INT) FROM (VALUES (1)) AS x (a)",
        "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY ts MEASURES A.x AS x PATTERN (A B+) "
        "DEFINE B AS B.x > 1)",
    ],
)
def test_names_and_values_stand_where_they_say(sql: str) -> None:
    found = parse_statement(sql)
    assert found.position is not None
    assert found.position.source == sql
    for node in walk_nodes(found):
        if isinstance(node, Identifier | SqlLiteral | FunctionCall):
            assert node.position is not None, node
            part = node.position.source
            if isinstance(node, Identifier):
                assert part == ".".join(node.parts)
            elif isinstance(node, FunctionCall):
                assert part.upper().startswith(node.name[-1])
