"""A query with its stars spelled out and its names in full, as a view keeps it.

    SELECT *, a + 1 FROM t   ──▶   SELECT `t`.`a`, `t`.`b`, `t`.`a` + 1 FROM `c`.`d`.`t` AS `t`

So a column that a table gets later is none of the view's, and makes no name of its query mean two.
In: a query, and what resolves it.  Out: a query that means the same.  While it is resolved, those
who find a meaning tell it here (`saw_...`).  Next: table/statements/tables.py
"""

from __future__ import annotations

import contextvars
from dataclasses import replace
from typing import TYPE_CHECKING

from headrace.errors import SqlError
from headrace.scalars.nodes import Outer
from headrace.sql import ast
from headrace.sql import query_ast as q

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from headrace.rel.nodes import Rel
    from headrace.rel.resolve.scope import FoundColumn, NameScope

Path = tuple[str, ...]


class _Spelling:
    """What nodes of a query mean, by their identity: equal ones may mean different things."""

    def __init__(self) -> None:
        self.columns: dict[int, Path] = {}
        self.stars: dict[int, tuple[q.SelectItem, ...]] = {}
        self.tables: dict[int, Path] = {}
        # so that no other node gets the identity of one that is gone
        self._kept: list[ast.SqlNode] = []

    def keep(self, node: ast.SqlNode) -> int:
        """The identity of a node, which is its own from now on."""
        self._kept.append(node)
        return id(node)

    def change(self, node: ast.SqlNode) -> ast.SqlNode:
        """A node as it is written in full, without its parts."""
        match node:
            case ast.Identifier() if id(node) in self.columns:
                return replace(node, parts=self.columns[id(node)])
            case q.TableName() if id(node) in self.tables:
                return replace(node, name=replace(node.name, parts=self.tables[id(node)]))
            case q.Select():
                items = tuple(
                    one for item in node.items for one in self.stars.get(id(item), (item,))
                )
                return replace(node, items=items, from_=self._called(node.from_))
            case q.JoinedTable():
                left, right = self._called(node.left), self._called(node.right)
                assert left is not None
                assert right is not None
                return replace(node, left=left, right=right)
            case _:
                return node

    def _called(self, node: q.TableReference | None) -> q.TableReference | None:
        """A table without an alias is called by its name alone, which its full name is not."""
        path = self.tables.get(id(node))
        return node if path is None or node is None else q.AliasedTable(node, path[-1])


_listening: contextvars.ContextVar[_Spelling | None] = contextvars.ContextVar(
    "_listening", default=None
)


def spelled_out(query: q.SqlQuery, resolve: Callable[[q.SqlQuery], Rel]) -> q.SqlQuery:
    """The query in full, or as full as it can be said.

    Names of columns stay as they are where others stand for them, unresolved: the arguments of
    TUMBLE_START(ts, ...) are those of GROUP BY TUMBLE(ts, ...) word for word.

    Args:
        query: as its author wrote it.
        resolve: what it gives.
    """
    query = _without_table_queries(query)
    spelling = _Spelling()
    token = _listening.set(spelling)
    try:
        meaning = resolve(query)
    finally:
        _listening.reset(token)
    for columns in (spelling.columns, {}):
        spelling.columns = columns
        found = ast.mapped(query, spelling.change)
        assert isinstance(found, q.SqlQuery)
        if _gives(resolve, found, meaning):
            return found
    return query


def _without_table_queries(query: q.SqlQuery) -> q.SqlQuery:
    """``TABLE t`` is ``SELECT * FROM t``."""

    def change(node: ast.SqlNode) -> ast.SqlNode:
        if not isinstance(node, q.TableQuery):
            return node
        star = q.SelectItem(ast.Star())
        return q.Select((star,), q.TableName(node.name, position=node.position))

    found = ast.mapped(query, change)
    assert isinstance(found, q.SqlQuery)
    return found


def _gives(resolve: Callable[[q.SqlQuery], Rel], query: q.SqlQuery, meaning: Rel) -> bool:
    try:
        return resolve(query) == meaning
    except SqlError:
        return False


def saw_table(node: q.TableName, path: Path) -> None:
    """A table of a catalog was found by its name."""
    spelling = _listening.get()
    if spelling is not None:
        spelling.tables[spelling.keep(node)] = path


def saw_star(item: q.SelectItem, scope: NameScope, columns: Iterable[tuple[int, str]]) -> None:
    """A star stands for columns."""
    spelling = _listening.get()
    if spelling is not None:
        spelling.stars[spelling.keep(item)] = tuple(
            q.SelectItem(ast.Identifier((*_table_at(scope, place), name)))
            for place, name in columns
        )


def saw_column(node: ast.Identifier, scope: NameScope, found: FoundColumn) -> None:
    """A name means a column, or a field of one."""
    spelling = _listening.get()
    if spelling is None:
        return
    around: NameScope | None = scope
    for _ in range(found.column.depth if isinstance(found.column, Outer) else 0):
        around = None if around is None else around.around
    assert around is not None
    table = next(each for each in around.tables if each.has(found.column.index))
    column = table.schema[found.column.index - table.first].name
    path = (*_table_at(around, found.column.index), column, *found.fields)
    spelling.columns[spelling.keep(node)] = path


def _table_at(scope: NameScope, place: int) -> Path:
    """What the table of a column is called; nothing for one without a name."""
    table = next(each for each in scope.tables if each.has(place))
    return (table.path[-1],) if table.path[-1] else ()
