"""What stands behind FROM: tables with hints, joins, table functions, subqueries.

In: a walk over tokens (stream.py).  Out: `TableReference` nodes (query_ast.py).  Next: queries.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from headrace.sql.ast import Identifier, ScalarSubquery, SqlExpression
from headrace.sql.keywords import QUERY_BEGINNINGS, QUERY_CONTINUATIONS
from headrace.sql.match_recognize import MatchRecognizeParser
from headrace.sql.query_ast import (
    AliasedTable,
    DerivedTable,
    JoinedTable,
    QueryHint,
    SystemTimeTable,
    TableFunctionCall,
    TableName,
    TableReference,
    UnnestTable,
)
from headrace.sql.tokens import TokenKind

if TYPE_CHECKING:
    from headrace.sql.ast import FunctionCall

_JoinKind = Literal["INNER", "LEFT", "RIGHT", "FULL", "CROSS", "SEMI", "ANTI"]
_JOIN_WORDS = frozenset({"JOIN", "INNER", "LEFT", "RIGHT", "FULL", "CROSS", "NATURAL"})


class TableReferenceParser(MatchRecognizeParser):
    """The part of the grammar that reads what stands behind FROM."""

    def table_references(self) -> TableReference:
        """All of FROM: tables, joins, commas, from left to right."""
        first = self.index
        left = self._table()
        while True:
            if self.accept(","):
                right = self._table()
                left = JoinedTable(left, right, "CROSS", comma=True, position=self.since(first))
            elif self.key in _JOIN_WORDS:
                left = self._join(left, first)
            else:
                if self.at("ASOF", "JOIN"):
                    self.fail("JOIN")
                return left

    # --- joins ---------------------------------------------------------------------------------

    def _join(self, left: TableReference, first: int) -> JoinedTable:
        natural = self.accept("NATURAL")
        kind = self._join_kind()
        right = self._table()
        condition: SqlExpression | None = None
        using: tuple[str, ...] | None = None
        if self.accept("ON"):
            condition = self.expression()
        elif self.accept("USING"):
            using = self.names_in_parentheses()
        return JoinedTable(left, right, kind, condition, using, natural, position=self.since(first))

    def _join_kind(self) -> _JoinKind:
        kind: _JoinKind = "INNER"
        if self.accept("LEFT"):
            kind = "LEFT"
            if self.accept("SEMI"):
                kind = "SEMI"
            elif self.accept("ANTI"):
                kind = "ANTI"
            else:
                self.accept("OUTER")
        elif self.accept("RIGHT"):
            self.accept("OUTER")
            kind = "RIGHT"
        elif self.accept("FULL"):
            self.accept("OUTER")
            kind = "FULL"
        elif self.accept("CROSS"):
            kind = "CROSS"
        else:
            self.accept("INNER")
        self.expect("JOIN")
        return kind

    # --- one table -----------------------------------------------------------------------------

    def _table(self) -> TableReference:
        first = self.index
        table = self._table_primary()
        if self.key == "FOR" and self.key_at(1) == "SYSTEM_TIME":
            table = self._system_time(table, first)
        if self.key in {"PIVOT", "UNPIVOT"}:
            self.fail("the name of a table")
        if self.at("AS") and self.key_at(2) == "MATCH_RECOGNIZE":
            self.index += 1
            table = AliasedTable(table, self.name(), position=self.since(first))
        if self.key == "MATCH_RECOGNIZE":
            table = self.match_recognize(table, first)
        table = self._aliased(table, first)
        if self.key == "TABLESAMPLE":
            self.fail("a join, WHERE or GROUP BY")
        return table

    def _aliased(self, table: TableReference, first: int) -> TableReference:
        if self.accept("AS"):
            alias = self.name("a name behind AS")
        elif self.at_name() and not self.at("ASOF", "JOIN"):
            alias = self.advance().value
        else:
            return table
        columns = self.names_in_parentheses() if self.key == "(" else None
        return AliasedTable(table, alias, columns, position=self.since(first))

    def _table_primary(self) -> TableReference:
        first = self.index
        if self.accept("LATERAL"):
            return self._lateral(first)
        if self.key == "TABLE":
            return self._table_function(first)
        if self.key == "UNNEST":
            return self._unnest(first)
        if self.key == "(":
            return self._in_parentheses(first)
        name = self.identifier("the name of a table")
        if self.key == "(":
            call = self.call(name.parts, first)
            return TableFunctionCall(call, bare=True, position=self.since(first))
        hints = self.hints()
        return TableName(name, hints, position=self.since(first))

    def _lateral(self, first: int) -> TableReference:
        if self.key == "UNNEST":
            return self._unnest(first)
        if self.key == "TABLE":
            return self._table_function(first, lateral=True)
        if self.key == "(":
            self.index += 1
            query = self.query()
            self.expect(")")
            return DerivedTable(query, lateral=True, position=self.since(first))
        return self.fail("TABLE, a query in parentheses or UNNEST")

    def _table_function(self, first: int, *, lateral: bool = False) -> TableFunctionCall:
        self.expect("TABLE", "(")
        start = self.index
        name = self._function_name()
        if self.key != "(":
            self.fail("(")
        call: FunctionCall = self.call(name.parts, start)
        self.expect(")")
        hints = self.hints()
        return TableFunctionCall(call, lateral, hints=hints, position=self.since(first))

    def _function_name(self) -> Identifier:
        return self.identifier("the name of a table function")

    def _unnest(self, first: int) -> UnnestTable:
        self.expect("UNNEST", "(")
        items: tuple[SqlExpression, ...]
        if self.key in QUERY_BEGINNINGS:
            start = self.index
            items = (ScalarSubquery(self.query(), position=self.since(start)),)
        else:
            items = self.comma_list(self.expression)
        self.expect(")")
        ordinality = self.accept("WITH", "ORDINALITY")
        return UnnestTable(items, ordinality, position=self.since(first))

    def _in_parentheses(self, first: int) -> TableReference:
        """A query, or tables that are joined; `((SELECT ..) UNION (SELECT ..))` begins as both."""
        self.index += 1
        if self.key in QUERY_BEGINNINGS or (self.key == "TABLE" and self.key_at(1) != "("):
            query = self.query()
            self.expect(")")
            return DerivedTable(query, position=self.since(first))
        inner = self.table_references()
        if isinstance(inner, DerivedTable) and self.key in QUERY_CONTINUATIONS:
            query = self.query_behind(inner.query)
            self.expect(")")
            return DerivedTable(query, position=self.since(first))
        self.expect(")")
        if not isinstance(inner, JoinedTable | DerivedTable):
            self.refuse(
                "parentheses behind FROM hold a query or a join",
                "leave the parentheses out",
                position=self.since(first),
            )
        return inner

    def _system_time(self, table: TableReference, first: int) -> SystemTimeTable:
        self.index += 2
        self.expect("AS", "OF")
        time = self.operand(0)
        return SystemTimeTable(table, time, position=self.since(first))

    # --- hints ---------------------------------------------------------------------------------

    def hints(self) -> tuple[QueryHint, ...]:
        """``/*+ OPTIONS('k'='v'), BROADCAST(t) */``, if it is there."""
        if not self.accept("/*+"):
            return ()
        found = self.comma_list(self._hint)
        self.expect("*/")
        return found

    def _hint(self) -> QueryHint:
        first = self.index
        name = self.name("the name of a hint").upper()
        options: list[tuple[str, str]] = []
        arguments: list[str] = []
        if self.accept("(") and not self.accept(")"):
            self.comma_list(lambda: self._hint_argument(options, arguments))
            self.expect(")")
        return QueryHint(name, tuple(options), tuple(arguments), position=self.since(first))

    def _hint_argument(self, options: list[tuple[str, str]], arguments: list[str]) -> None:
        if self.token.kind is TokenKind.NUMBER:
            arguments.append(self.advance().value)
            return
        text = self.string() if self.at_string() else ".".join(self.identifier().parts)
        if self.accept("="):
            options.append((text, self.string("a value in single quotes")))
        else:
            arguments.append(text)
