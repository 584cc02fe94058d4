"""A syntax tree as SQL text: the way back from parser.py.

    Select(..)   ──▶   SELECT `a`
                       FROM `t`

In: any node of ast.py, query_ast.py, statement_ast.py, ddl_ast.py.  Out: text that parses to an
equal node.  Names always stand in backticks, as in what Flink's SHOW CREATE prints.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.sql import render_ddl, render_expressions, render_queries, render_statements
from headrace.sql.rendering import text_of

if TYPE_CHECKING:
    from headrace.sql.ast import SqlNode

__all__ = ["render"]

# Importing them registers their functions.
_WRITERS = (render_expressions, render_queries, render_statements, render_ddl)


def render(node: SqlNode) -> str:
    """The SQL text of a node; parsing it gives an equal node."""
    return text_of(node)
