"""The names that a SELECT list gives, where they may be used: in ORDER BY and QUALIFY.

    SELECT a, -b AS a2 FROM t ORDER BY a2 + 1    ──▶ ORDER BY -b + 1
    SELECT -a AS a FROM t ORDER BY a + 1         ──▶ ORDER BY -a + 1: the list goes before FROM
    SELECT -a AS a FROM t ORDER BY t.a + 1       ──▶ the column of t
    SELECT SUM(a) AS a FROM t ORDER BY SUM(a)    ──▶ refused: it would be SUM(SUM(a))

In: a SELECT list, expressions as they are written.  Out: the same over what is behind FROM.
Next: select.py
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from headrace.rel.resolve.grouping import has_aggregate, is_call_of_aggregate, name_of
from headrace.rel.resolve.problems import problem
from headrace.sql import ast
from headrace.sql.query_ast import SqlQuery

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.rel.catalogs import FunctionSource


_LONGEST = 60  # an expression that is longer makes no hint


@dataclass(frozen=True)
class SelectNames:
    """What the names of a SELECT list stand for.

    Attributes:
        names: of its columns; None for one that the query does not name.
        expressions: its columns, stars spelled out.
        functions: of the user.
    """

    names: Sequence[str | None]
    expressions: Sequence[ast.SqlExpression]
    functions: FunctionSource

    def spelled(self, node: ast.SqlExpression) -> ast.SqlExpression:
        """An expression in which names of the list are what they stand for; not in subqueries."""
        return self._spelled(node, in_aggregate=False)

    def texts(self) -> dict[str, str]:
        """What names that are no columns' own stand for, as it is written."""
        pairs = zip(self.names, self.expressions, strict=True)
        return {
            name: _shown(node) for name, node in pairs if name is not None and name != name_of(node)
        }

    def sort_expression(self, item: ast.SortItem) -> ast.SqlExpression:
        """What lines are sorted by: ``ORDER BY 2`` is the second column."""
        node = item.expression
        if not isinstance(node, ast.SqlLiteral) or not isinstance(node.value, int):
            return self.spelled(node)
        if not 1 <= node.value <= len(self.expressions):
            raise problem(f"there is no column {node.value} to sort by", node)
        return self.expressions[node.value - 1]

    def _spelled(self, node: ast.SqlExpression, *, in_aggregate: bool) -> ast.SqlExpression:
        def exchanged(part: ast.SqlNode) -> ast.SqlNode | None:
            match part:
                case SqlQuery():
                    return part
                case ast.Identifier((name,)):
                    return self._named(name, part, in_aggregate=in_aggregate)
                case ast.FunctionCall() if not in_aggregate and is_call_of_aggregate(
                    part, self.functions
                ):
                    return self._spelled(part, in_aggregate=True)
                case _:
                    return None

        return ast.rewrite_nodes(node, exchanged)

    def _named(self, name: str, node: ast.Identifier, *, in_aggregate: bool) -> ast.SqlExpression:
        pairs = zip(self.names, self.expressions, strict=True)
        found = [expression for each, expression in pairs if each == name]
        if len(found) > 1:
            raise problem(
                f"{len(found)} columns of the SELECT list are called {name}",
                node,
                "give them different names, or say which table: t.column",
            )
        if in_aggregate and found and has_aggregate(found[0], self.functions):
            raise problem(
                f"{name} means a column of the SELECT list here, which is an aggregate itself",
                node,
                f"say which table: t.{name} is its column; or give the aggregate another name",
            )
        return replace(found[0], position=node.position) if found else node


def _shown(node: ast.SqlExpression) -> str:
    place = node.position
    text = "" if place is None else " ".join(place.text[place.start : place.end].split())
    return text if 0 < len(text) <= _LONGEST else "its expression"
