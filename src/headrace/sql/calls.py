"""Calls of functions: arguments, special syntax, and what may stand behind the parentheses.

    COUNT(DISTINCT x) FILTER (WHERE y) OVER (PARTITION BY z)      EXTRACT(DAY FROM ts)

In: a walk over tokens (stream.py).  Out: `FunctionCall` (ast.py).  JSON functions with their
clauses are in json_calls.py.  Next: expressions.py
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from headrace.sql.ast import (
    CastExpression,
    CursorArgument,
    DefaultArgument,
    DescriptorArgument,
    FrameBound,
    FunctionCall,
    Identifier,
    ModelArgument,
    NamedArgument,
    OverClause,
    ScalarSubquery,
    SortItem,
    SqlExpression,
    SqlKeyword,
    SqlLiteral,
    Star,
    TableArgument,
    TypeName,
    WindowFrame,
)
from headrace.sql.ast import LiteralKind as Kind
from headrace.sql.keywords import QUERY_BEGINNINGS, TIME_UNITS
from headrace.sql.literals import LiteralParser
from headrace.sql.query_ast import TableQuery
from headrace.sql.tokens import TokenKind

if TYPE_CHECKING:
    from headrace.sql.query_ast import SqlQuery

_UNIT_FIRST = frozenset({"TIMESTAMPADD", "TIMESTAMPDIFF"})


class CallParser(LiteralParser):
    """The part of the grammar that reads calls."""

    def expression(self) -> SqlExpression:
        """Any expression; in expressions.py."""
        raise NotImplementedError

    def operand(self, least: int) -> SqlExpression:
        """An expression whose operators bind at least so tight; in expressions.py."""
        raise NotImplementedError

    def query(self) -> SqlQuery:
        """A query; in queries.py."""
        raise NotImplementedError

    # --- a call --------------------------------------------------------------------------------

    def call(self, name: tuple[str, ...], first: int) -> FunctionCall:
        """The rest of a call whose name was read; the parenthesis is next."""
        self.index += 1
        distinct = False
        arguments: tuple[SqlExpression, ...] = ()
        order_by: tuple[SortItem, ...] = ()
        nulls = None
        if len(name) == 1:
            name = (name[0].upper(),)
        if self.accept("*"):
            arguments = (Star(position=self.since(self.index - 1)),)
        elif self.key != ")":
            distinct = self._quantifier()
            if name[0] in _UNIT_FIRST and len(name) == 1:
                arguments = (self._time_unit(), *self._rest_of_arguments())
            else:
                arguments = self.comma_list(self.argument)
            nulls = self.null_treatment()
            order_by = self.order_by()
        self.expect(")")
        call = self._behind(name, arguments, first, distinct=distinct, order_by=order_by)
        return call if nulls is None else replace(call, null_treatment=nulls)

    def _quantifier(self) -> bool:
        if self.key == "ALL" and self.key_at(1) not in {"=", ",", ")"}:
            self.index += 1
            return False
        return self.accept("DISTINCT")

    def _rest_of_arguments(self) -> tuple[SqlExpression, ...]:
        return self.comma_list(self.argument) if self.accept(",") else ()

    def _behind(
        self,
        name: tuple[str, ...],
        arguments: tuple[SqlExpression, ...],
        first: int,
        *,
        distinct: bool = False,
        order_by: tuple[SortItem, ...] = (),
    ) -> FunctionCall:
        """What stands behind the parentheses: NULL treatment, WITHIN GROUP, FILTER, OVER."""
        nulls = self.null_treatment()
        within_group: tuple[SortItem, ...] = ()
        if self.accept("WITHIN"):
            self.expect("GROUP", "(")
            within_group = self.order_by() or self.fail("ORDER")
            self.expect(")")
        condition = None
        if self.accept("FILTER"):
            self.expect("(", "WHERE")
            condition = self.expression()
            self.expect(")")
        nulls = nulls or self.null_treatment()
        over = self._over() if self.accept("OVER") else None
        return FunctionCall(
            name, arguments, distinct, order_by, within_group, condition, over, nulls,
            position=self.since(first),
        )  # fmt: skip

    def null_treatment(self) -> Literal["IGNORE NULLS", "RESPECT NULLS"] | None:
        """IGNORE NULLS or RESPECT NULLS, if it is there."""
        if self.accept("IGNORE", "NULLS"):
            return "IGNORE NULLS"
        if self.accept("RESPECT", "NULLS"):
            return "RESPECT NULLS"
        return None

    # --- arguments -----------------------------------------------------------------------------

    def argument(self) -> SqlExpression:
        """A value, a table, a descriptor; perhaps with ``name =>`` in front."""
        first = self.index
        if self.key_at(1) == "=>" and self.token.kind in {TokenKind.WORD, TokenKind.QUOTED}:
            name = self.advance().value
            self.index += 1
            value = self._plain_argument()
            return NamedArgument(name, value, position=self.since(first))
        return self._plain_argument()

    def _plain_argument(self) -> SqlExpression:
        first = self.index
        key = self.key
        if key == "TABLE" and self.key_at(1) != "(":
            self.index += 1
            table = self.identifier("the name of a table")
            return self._table_argument(table, first)
        if key in QUERY_BEGINNINGS:
            query = self.query()
            return ScalarSubquery(query, position=self.since(first))
        if key == "DEFAULT":
            self.index += 1
            return DefaultArgument(position=self.since(first))
        if key == "DESCRIPTOR" and self.key_at(1) == "(":
            return self._descriptor()
        if key == "MODEL" and self.tokens[self.index + 1].kind in {
            TokenKind.WORD,
            TokenKind.QUOTED,
        }:
            self.index += 1
            model = self.identifier("the name of a model")
            return ModelArgument(model, position=self.since(first))
        if key == "CURSOR":
            return self._cursor()
        value = self.expression()
        if not isinstance(value, ScalarSubquery):
            return value
        if isinstance(value.query, TableQuery):
            return self._table_argument(value.query.name, first)
        if self.key in {"PARTITION", "ORDER"}:
            return self._table_argument(value.query, first)
        return value

    def _table_argument(self, table: Identifier | SqlQuery, first: int) -> TableArgument:
        partition: tuple[SqlExpression, ...] = ()
        order: tuple[SortItem, ...] = ()
        if self.accept("PARTITION"):
            self.expect("BY")
            several = self.key == "("
            partition = self.parenthesized(self.expression) if several else (self.expression(),)
        if self.accept("ORDER"):
            self.expect("BY")
            several = self.key == "("
            order = self.parenthesized(self.sort_item) if several else (self.sort_item(),)
        return TableArgument(table, partition, order, position=self.since(first))

    def _descriptor(self) -> DescriptorArgument:
        first = self.index
        self.index += 1
        columns: list[str] = []
        types: list[TypeName | None] = []

        def column() -> None:
            columns.append(".".join(self.identifier("the name of a column").parts))
            types.append(None if self.key in {",", ")"} else self.type_name())

        if not self.accept("(", ")"):
            self.parenthesized(column)
        typed = tuple(types) if any(types) else ()
        return DescriptorArgument(tuple(columns), typed, position=self.since(first))

    def _cursor(self) -> CursorArgument:
        first = self.index
        self.index += 1
        self.expect("(")
        query = self.query()
        self.expect(")")
        return CursorArgument(query, position=self.since(first))

    # --- order and windows ---------------------------------------------------------------------

    def order_by(self) -> tuple[SortItem, ...]:
        """ORDER BY with its items; empty if it is not there."""
        if not self.accept("ORDER"):
            return ()
        self.expect("BY")
        return self.comma_list(self.sort_item)

    def sort_item(self) -> SortItem:
        """``x DESC NULLS LAST``."""
        first = self.index
        value = self.expression()
        descending = self.accept_one(("ASC", "DESC")) == "DESC"
        nulls: Literal["FIRST", "LAST"] | None = None
        if self.accept("NULLS"):
            nulls = "FIRST" if self.expect_one(("FIRST", "LAST")) == "FIRST" else "LAST"
        return SortItem(value, descending, nulls, position=self.since(first))

    def _over(self) -> OverClause:
        first = self.index
        if self.key == "(":
            return self.window()
        name = self.name("a window in parentheses, or its name")
        return OverClause(name, named_only=True, position=self.since(first))

    def window(self) -> OverClause:
        """``(w PARTITION BY .. ORDER BY .. ROWS ..)``."""
        first = self.index
        self.expect("(")
        name = self.name() if self.at_name() else None
        partition: tuple[SqlExpression, ...] = ()
        if self.accept("PARTITION"):
            self.expect("BY")
            partition = self.comma_list(self.expression)
        order = self.order_by()
        frame = self._frame()
        self.expect(")")
        return OverClause(name, partition, order, frame, position=self.since(first))

    def _frame(self) -> WindowFrame | None:
        first = self.index
        if self.key == "GROUPS":
            self.refuse("Flink has no frames of GROUPS", "write ROWS or RANGE")
        found = self.accept_one(("ROWS", "RANGE"))
        if found is None:
            return None
        unit: Literal["ROWS", "RANGE"] = "ROWS" if found == "ROWS" else "RANGE"
        upper = None
        if self.accept("BETWEEN"):
            lower = self._bound()
            self.expect("AND")
            upper = self._bound()
        else:
            lower = self._bound()
        if self.key == "EXCLUDE":
            self.refuse("Flink has no EXCLUDE in frames", "filter the lines before OVER")
        return WindowFrame(unit, lower, upper, position=self.since(first))

    def _bound(self) -> FrameBound:
        first = self.index
        if self.accept("CURRENT", "ROW"):
            return FrameBound("CURRENT ROW", position=self.since(first))
        # 25: above AND, which stands between two bounds
        value = None if self.accept("UNBOUNDED") else self.operand(25)
        side = self.expect_one(("PRECEDING", "FOLLOWING"))
        kind: Literal["PRECEDING", "FOLLOWING"] = (
            "PRECEDING" if side == "PRECEDING" else "FOLLOWING"
        )
        return FrameBound(kind, value, position=self.since(first))

    # --- special syntax ------------------------------------------------------------------------

    def _time_unit(self) -> SqlKeyword:
        first = self.index
        if self.key not in TIME_UNITS:
            self.fail("a unit of time")
        unit = self.advance().key
        if unit == "WEEK" and self.key == "(":
            self.refuse("Flink's weeks begin on Monday", "write WEEK without a day")
        return SqlKeyword(unit, position=self.since(first))

    def extract(self) -> FunctionCall:
        """``EXTRACT(DAY FROM x)``."""
        first = self.index
        self.index += 1
        self.expect("(")
        unit = self._time_unit()
        self.expect("FROM")
        value = self.expression()
        self.expect(")")
        return FunctionCall(("EXTRACT",), (unit, value), position=self.since(first))

    def floor_or_ceil(self) -> FunctionCall:
        """``FLOOR(x)``, ``FLOOR(x TO DAY)``; CEILING is CEIL."""
        first = self.index
        name = {"CEILING": "CEIL"}.get(self.key, self.key)
        self.index += 1
        self.expect("(")
        arguments = [self.expression()]
        if self.accept("TO"):
            arguments.append(self._time_unit())
        self.expect(")")
        return self._behind((name,), tuple(arguments), first)

    def position_call(self) -> FunctionCall:
        """``POSITION(a IN b)``."""
        first = self.index
        self.index += 1
        self.expect("(")
        arguments = [self.operand(33)]  # 33: above IN
        self.expect("IN")
        arguments.append(self.expression())
        if self.accept("FROM"):
            arguments.append(self.expression())
        self.expect(")")
        return FunctionCall(("POSITION",), tuple(arguments), position=self.since(first))

    def substring(self) -> FunctionCall:
        """``SUBSTRING(x FROM 1 FOR 2)``, or with commas."""
        return self._in_words("SUBSTRING", ("FROM", "FOR"), least=2, commas=True)

    def overlay(self) -> FunctionCall:
        """``OVERLAY(a PLACING b FROM 1 FOR 2)``."""
        return self._in_words("OVERLAY", ("PLACING", "FROM", "FOR"), least=3)

    def _in_words(
        self, name: str, words: tuple[str, ...], *, least: int, commas: bool = False
    ) -> FunctionCall:
        first = self.index
        self.index += 1
        self.expect("(")
        arguments = [self.expression()]
        for word in words:
            if self.accept(word) or (commas and self.accept(",")):
                arguments.append(self.expression())
        if len(arguments) < least:
            self.fail(words[len(arguments) - 1])
        self.expect(")")
        return FunctionCall((name,), tuple(arguments), position=self.since(first))

    def trim(self) -> FunctionCall:
        """``TRIM(BOTH 'x' FROM y)``; always with three arguments."""
        first = self.index
        self.index += 1
        self.expect("(")
        place = self.index
        side = self.accept_one(("BOTH", "LEADING", "TRAILING"))
        flag = SqlKeyword(side or "BOTH", position=self.since(place) if side else None)
        signs: SqlExpression = SqlLiteral(" ", Kind.STRING, " ")
        if self.accept("FROM"):
            value = self.expression()
        else:
            value = self.expression()
            if self.accept("FROM"):
                signs, value = value, self.expression()
        self.expect(")")
        return FunctionCall(("TRIM",), (flag, signs, value), position=self.since(first))

    def cast(self) -> CastExpression:
        """``CAST(x AS type)``, ``TRY_CAST(x AS type)``."""
        first = self.index
        lenient = self.advance().key == "TRY_CAST"
        self.expect("(")
        value = self.expression()
        self.expect("AS")
        target = self.type_of_values()
        if self.at("NOT", "NULL"):
            self.refuse("a CAST keeps whether a value may be NULL", "leave NOT NULL out")
        if self.key == "FORMAT":
            self.refuse(
                "CAST has no FORMAT in Flink's SQL",
                "write DATE_FORMAT(x, 'yyyy-MM-dd') or TO_TIMESTAMP(x, 'yyyy-MM-dd')",
            )
        self.expect(")")
        return CastExpression(value, target, lenient, position=self.since(first))

    def running(self) -> FunctionCall:
        """``RUNNING LAST(x)``, ``FINAL LAST(x)`` of MATCH_RECOGNIZE."""
        first = self.index
        name = self.advance().key
        value = self.operand(90)
        return FunctionCall((name,), (value,), position=self.since(first))
