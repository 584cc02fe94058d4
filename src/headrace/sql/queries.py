"""Queries: SELECT, VALUES, set operations, WITH, ORDER BY, and what stands behind FROM.

In: a walk over tokens (stream.py).  Out: nodes of query_ast.py.  What FROM reads is in
table_references.py.  Next: ddl.py and statements.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from headrace.sql.ast import NamedWindow, RowConstructor, SqlExpression, Star
from headrace.sql.keywords import QUERY_BEGINNINGS
from headrace.sql.query_ast import (
    CommonTable,
    GroupingSets,
    OrderedQuery,
    Select,
    SelectItem,
    SetQuery,
    SqlQuery,
    TableQuery,
    ValuesQuery,
    WithQuery,
)
from headrace.sql.table_references import TableReferenceParser
from headrace.sql.tokens import TokenKind

if TYPE_CHECKING:
    from headrace.sql.query_ast import TableReference

_SetKind = Literal["UNION", "INTERSECT", "EXCEPT"]


class QueryParser(TableReferenceParser):
    """The part of the grammar that reads queries."""

    def query(self) -> SqlQuery:
        """A query with all that belongs to it, WITH in front and LIMIT behind."""
        first = self.index
        if self.accept("WITH"):
            recursive = self.accept("RECURSIVE")
            tables = self.comma_list(self._common_table)
            body = self.query()
            return WithQuery(tables, body, recursive, position=self.since(first))
        return self._ordered(self._unions(first), first)

    def query_behind(self, query: SqlQuery) -> SqlQuery:
        """UNION and others, ORDER BY and LIMIT behind a first part in parentheses."""
        first = self.index
        if query.position is not None:
            start = query.position.start
            while first and self.tokens[first].start >= start:
                first -= 1  # ends at the parenthesis in front of the query
        return self._ordered(self._unions(first, query), first)

    def _common_table(self) -> CommonTable:
        first = self.index
        name = self.name("the name of a query")
        columns = self.names_in_parentheses() if self.key == "(" else None
        self.expect("AS", "(")
        query = self.query()
        self.expect(")")
        return CommonTable(name, query, columns, position=self.since(first))

    # --- set operations ------------------------------------------------------------------------

    def _unions(self, first: int, left: SqlQuery | None = None) -> SqlQuery:
        left = self._intersections(first, left)
        while (kind := self.accept_one(("UNION", "EXCEPT"))) is not None:
            every = self._all()
            start = self.index
            right = self._intersections(start)
            name: _SetKind = "UNION" if kind == "UNION" else "EXCEPT"
            left = SetQuery(name, left, right, every, position=self.since(first))
        if self.key == "MINUS":
            self.fail("EXCEPT")
        return left

    def _intersections(self, first: int, left: SqlQuery | None = None) -> SqlQuery:
        left = left or self._leaf()
        while self.accept("INTERSECT"):
            every = self._all()
            right = self._leaf()
            left = SetQuery("INTERSECT", left, right, every, position=self.since(first))
        return left

    def _all(self) -> bool:
        return self.accept_one(("ALL", "DISTINCT")) == "ALL"

    def _leaf(self) -> SqlQuery:
        first = self.index
        key = self.key
        if key == "SELECT":
            return self._select()
        if key in {"VALUES", "VALUE"}:
            self.index += 1
            rows = self.comma_list(self._values_row)
            return ValuesQuery(rows, position=self.since(first))
        if key == "TABLE":
            self.index += 1
            name = self.identifier("the name of a table")
            return TableQuery(name, position=self.since(first))
        if key == "(":
            self.index += 1
            query = self.query()
            self.expect(")")
            return query
        return self.fail("a query")

    def _values_row(self) -> tuple[SqlExpression, ...]:
        if self.key == "ROW" and self.key_at(1) == "(":
            self.index += 1
            return self.parenthesized(self.argument)
        if self.key == "(" and self.key_at(1) not in QUERY_BEGINNINGS:
            return self._row_or_expression()
        return (self.expression(),)

    def _row_or_expression(self) -> tuple[SqlExpression, ...]:
        """``(1, 2)`` is a line, ``(ROW(1, 2))``, too; ``(1 + 2) * 3`` is one value of a line."""
        start = self.index
        row = self.parenthesized(self.argument)
        if len(row) == 1 and isinstance(row[0], RowConstructor) and row[0].explicit:
            return row[0].items
        if len(row) > 1 or self.key in {",", ")", ";", ""} or self.token.kind is TokenKind.WORD:
            return row
        self.index = start
        return (self.expression(),)

    # --- order and limit -----------------------------------------------------------------------

    def _ordered(self, query: SqlQuery, first: int) -> SqlQuery:
        order = self.order_by()
        limit = offset = None
        if self.accept("LIMIT"):
            limit = self._limit()
            offset = self._offset()
        else:
            offset = self._offset()
            if offset is not None and self.key == "LIMIT":
                self.refuse("LIMIT stands behind OFFSET", "write LIMIT n OFFSET m")
            limit = self._fetch()
        if not order and limit is None and offset is None:
            return query
        return OrderedQuery(query, order, limit, offset, position=self.since(first))

    def _limit(self) -> SqlExpression | None:
        return None if self.accept("ALL") else self._count()

    def _offset(self) -> SqlExpression | None:
        if not self.accept("OFFSET"):
            return None
        count = self._count()
        self.accept_one(("ROW", "ROWS"))
        return count

    def _fetch(self) -> SqlExpression | None:
        if not self.accept("FETCH"):
            return None
        self.expect_one(("FIRST", "NEXT"))
        count = self._count()
        self.expect_one(("ROW", "ROWS"))
        self.expect("ONLY")
        return count

    def _count(self) -> SqlExpression:
        if self.token.kind is not TokenKind.NUMBER:
            self.fail("a number")
        return self.number_literal()

    # --- SELECT --------------------------------------------------------------------------------

    def _select(self) -> Select:
        first = self.index
        self.index += 1
        hints = self.hints()
        distinct = self.accept_one(("DISTINCT", "ALL")) == "DISTINCT"
        if distinct and self.key == "ON":
            self.refuse(
                "Flink's SQL has no DISTINCT ON",
                "write ROW_NUMBER() OVER (PARTITION BY .. ORDER BY ..) AS n in a subquery, and "
                "WHERE n = 1 around it",
            )
        items = self.comma_list(self._select_item)
        source: TableReference | None = None
        where = group_by = having = qualify = None
        windows: tuple[NamedWindow, ...] = ()
        if self.accept("FROM"):
            source = self.table_references()
            where = self.expression() if self.accept("WHERE") else None
            group_by = self._group_by() if self.accept("GROUP") else None
            having = self.expression() if self.accept("HAVING") else None
            windows = self.comma_list(self._named_window) if self.accept("WINDOW") else ()
            qualify = self.expression() if self.accept("QUALIFY") else None
        return Select(
            items, source, where, group_by, having, windows, qualify, distinct, hints,
            position=self.since(first),
        )  # fmt: skip

    def _select_item(self) -> SelectItem:
        first = self.index
        if self.accept("*"):
            star = Star(position=self.since(first))
            return SelectItem(star, position=self.since(first))
        value = self.expression()
        alias = None
        if self.accept("AS"):
            alias = self.name("a name behind AS")
        elif self.at_name():
            alias = self.advance().value
        return SelectItem(value, alias, position=self.since(first))

    def _group_by(self) -> tuple[SqlExpression | GroupingSets, ...]:
        self.expect("BY")
        if self.key == "DISTINCT":
            self.refuse("Flink's SQL has no GROUP BY DISTINCT", "write GROUP BY")
        self.accept("ALL")
        if self.accept("(", ")"):
            return ()
        return self.comma_list(self._group_item)

    def _group_item(self) -> SqlExpression | GroupingSets:
        return self._grouping_sets() or self.expression()

    def _grouping_sets(self) -> GroupingSets | None:
        first = self.index
        kind: Literal["GROUPING SETS", "CUBE", "ROLLUP"]
        sets: tuple[tuple[SqlExpression, ...] | GroupingSets, ...]
        if self.at("GROUPING", "SETS"):
            self.index += 2
            kind, sets = "GROUPING SETS", self.parenthesized(self._grouping_set)
        elif self.key in {"CUBE", "ROLLUP"}:
            kind = "CUBE" if self.advance().key == "CUBE" else "ROLLUP"
            sets = self.parenthesized(self._set_of_columns)
        else:
            return None
        return GroupingSets(kind, sets, position=self.since(first))

    def _grouping_set(self) -> tuple[SqlExpression, ...] | GroupingSets:
        return self._grouping_sets() or self._set_of_columns()

    def _set_of_columns(self) -> tuple[SqlExpression, ...]:
        if self.accept("(", ")"):
            return ()
        if self.key == "(":
            start = self.index
            columns = self.parenthesized(self.expression)
            if self.key in {",", ")"}:
                return columns
            self.index = start
        return (self.expression(),)

    def _named_window(self) -> NamedWindow:
        first = self.index
        name = self.name("the name of a window")
        self.expect("AS")
        return NamedWindow(name, self.window(), position=self.since(first))
