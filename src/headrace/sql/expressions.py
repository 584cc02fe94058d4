"""Expressions, by precedence climbing.

    a + b * 2 > 10 AND NOT c IS NULL

Binding, tightest first: ``x[1]`` and ``.name``; sign; ``* / % ||``; ``+ -``; IN, BETWEEN, LIKE;
comparisons; IS; NOT; AND; OR.  In: a walk over tokens (stream.py).  Out: nodes of ast.py.
Next: queries.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from headrace.sql.ast import (
    ArrayConstructor,
    ArrayQuery,
    Between,
    BinaryOperation,
    CaseWhen,
    Exists,
    FieldAccess,
    FunctionCall,
    Identifier,
    InList,
    InQuery,
    IntervalLiteral,
    IsDistinctFrom,
    IsPredicate,
    ItemAccess,
    LikePredicate,
    LiteralKind,
    MapConstructor,
    QuantifiedComparison,
    RowConstructor,
    ScalarSubquery,
    SqlExpression,
    SqlLiteral,
    Star,
    UnaryOperation,
)
from headrace.sql.json_calls import JsonCallParser
from headrace.sql.keywords import (
    COLUMN_WORDS,
    CONTEXT_VARIABLES,
    QUERY_BEGINNINGS,
    QUERY_CONTINUATIONS,
    RESERVED,
    RESERVED_FUNCTIONS,
)
from headrace.sql.literals import interval_amount
from headrace.sql.tokens import TokenKind

if TYPE_CHECKING:
    from headrace.sql.query_ast import SqlQuery

_OR, _AND, _NOT, _IS, _COMPARE, _IN, _PLUS, _TIMES, _SIGN = 22, 24, 26, 28, 30, 32, 40, 60, 80

BINARY = {
    "OR": _OR,
    "AND": _AND,
    "=": _COMPARE,
    "<>": _COMPARE,
    "<": _COMPARE,
    "<=": _COMPARE,
    ">": _COMPARE,
    ">=": _COMPARE,
    "+": _PLUS,
    "-": _PLUS,
    "*": _TIMES,
    "/": _TIMES,
    "%": _TIMES,
    "||": _TIMES,
}
# Operators in words; each is tried as a whole.
_PHRASES = {
    "OVERLAPS": ("OVERLAPS",),
    "CONTAINS": ("CONTAINS",),
    "EQUALS": ("EQUALS",),
    "PRECEDES": ("PRECEDES",),
    "SUCCEEDS": ("SUCCEEDS",),
    "IMMEDIATELY": ("IMMEDIATELY PRECEDES", "IMMEDIATELY SUCCEEDS"),
    "MEMBER": ("MEMBER OF",),
    "SUBMULTISET": ("SUBMULTISET OF",),
}
_COMPARISONS = frozenset({"=", "<>", "<", "<=", ">", ">="})
_FACTORS = frozenset({TokenKind.NUMBER, TokenKind.WORD, TokenKind.QUOTED})
_STRINGS = frozenset({TokenKind.STRING, TokenKind.BINARY, TokenKind.UNICODE, TokenKind.ESCAPED})


class ExpressionParser(JsonCallParser):
    """The part of the grammar that reads expressions."""

    def query_behind(self, query: SqlQuery) -> SqlQuery:
        """What goes on behind the first part of a query (UNION ..); in queries.py."""
        raise NotImplementedError

    def expression(self) -> SqlExpression:
        """Any expression."""
        return self.operand(0)

    def operand(self, least: int) -> SqlExpression:
        """An expression of operators that bind at least so tight."""
        first = self.index
        left = self._unary()
        while True:
            key = self.tokens[self.index].key
            binds = BINARY.get(key)
            if binds is not None:
                if binds < least:
                    return left
                self.index += 1
                if self.key in {"ANY", "SOME", "ALL"} and key in _COMPARISONS:
                    left = self._quantified(left, key, first)
                    continue
                right = self.operand(binds + 1)
                left = BinaryOperation(key, left, right, position=self.since(first))
                continue
            read = _PREDICATES.get(key)
            if read is None:
                return left
            binds, method = read
            if binds < least:
                return left
            found = method(self, left, first)
            if found is None:
                return left
            left = found

    def _unary(self) -> SqlExpression:
        key = self.key
        if key == "NOT":
            first = self.index
            self.index += 1
            inner = self.operand(_NOT)
            return UnaryOperation("NOT", inner, position=self.since(first))
        if key in {"-", "+"}:
            first = self.index
            self.index += 1
            sign: Literal["-", "+"] = "-" if key == "-" else "+"
            return UnaryOperation(sign, self._unary(), position=self.since(first))
        return self._postfix()

    def _postfix(self) -> SqlExpression:
        first = self.index
        value = self._primary()
        while True:
            if self.accept("["):
                index = self.expression()
                self.expect("]")
                value = ItemAccess(value, index, position=self.since(first))
            elif self.key == "." and not isinstance(value, Star):
                self.index += 1
                name = "*" if self.accept("*") else self.name("the name of a field")
                value = FieldAccess(value, name, position=self.since(first))
            else:
                return value

    # --- predicates ----------------------------------------------------------------------------

    def _quantified(self, left: SqlExpression, operator: str, first: int) -> SqlExpression:
        quantifier: Literal["ALL", "ANY"] = "ALL" if self.advance().key == "ALL" else "ANY"
        found = self._query_or_list()
        if isinstance(found, tuple):
            return QuantifiedComparison(
                operator, quantifier, left, None, found, position=self.since(first)
            )
        return QuantifiedComparison(operator, quantifier, left, found, position=self.since(first))

    def _query_or_list(self) -> SqlQuery | tuple[SqlExpression, ...]:
        """``(SELECT ..)`` or ``(1, 2)``."""
        self.expect("(")
        if self.key in QUERY_BEGINNINGS or self._at_table_query():
            query = self.query()
            self.expect(")")
            return query
        items = self.comma_list(self.expression)
        if len(items) == 1 and isinstance(items[0], ScalarSubquery):
            query = self.query_behind(items[0].query)
            self.expect(")")
            return query
        self.expect(")")
        return items

    def _at_table_query(self) -> bool:
        return self.key == "TABLE" and self.key_at(1) != "("

    def _negated(self, left: SqlExpression, first: int) -> SqlExpression | None:
        """NOT behind an operand: NOT IN, NOT BETWEEN, NOT LIKE, NOT SIMILAR TO."""
        following = self.key_at(1)
        if following not in {"IN", "BETWEEN", "LIKE", "SIMILAR", "SUBMULTISET", "ILIKE", "RLIKE"}:
            return None
        self.index += 1
        if following == "IN":
            return self._in(left, first, negated=True)
        if following == "BETWEEN":
            return self._between(left, first, negated=True)
        if following == "SUBMULTISET":
            inner = self._phrase(left, first)
            assert inner is not None
            return UnaryOperation("NOT", inner, position=self.since(first))
        return self._like(left, first, negated=True)

    def _in(self, left: SqlExpression, first: int, *, negated: bool = False) -> SqlExpression:
        self.index += 1
        if self.key == "UNNEST":
            self.refuse(
                "IN takes a list or a query", "write x IN (SELECT item FROM UNNEST(a) AS t (item))"
            )
        found = self._query_or_list()
        position = self.since(first)
        if isinstance(found, tuple):
            return InList(left, found, negated, position=position)
        return InQuery(left, found, negated, position=position)

    def _between(self, left: SqlExpression, first: int, *, negated: bool = False) -> SqlExpression:
        self.index += 1
        symmetric = self.accept_one(("SYMMETRIC", "ASYMMETRIC")) == "SYMMETRIC"
        low = self.operand(_IN + 1)
        self.expect("AND")
        high = self.operand(_IN + 1)
        return Between(left, low, high, negated, symmetric, position=self.since(first))

    def _like(self, left: SqlExpression, first: int, *, negated: bool = False) -> SqlExpression:
        if self.key in {"ILIKE", "RLIKE"}:
            self.fail("LIKE")
        operator: Literal["LIKE", "SIMILAR TO"] = "LIKE"
        if not self.accept("LIKE"):
            self.expect("SIMILAR", "TO")
            operator = "SIMILAR TO"
        pattern = self.operand(_IN + 1)
        escape = self.operand(_SIGN) if self.accept("ESCAPE") else None
        position = self.since(first)
        return LikePredicate(left, pattern, escape, negated, operator, position=position)

    def _is(self, left: SqlExpression, first: int) -> SqlExpression:
        self.index += 1
        negated = self.accept("NOT")
        if self.accept("DISTINCT"):
            self.expect("FROM")
            right = self.operand(_COMPARE + 1)
            return IsDistinctFrom(left, right, negated, position=self.since(first))
        if self.accept("A", "SET"):
            what = "A SET"
        elif self.accept("JSON"):
            part = self.accept_one(("VALUE", "OBJECT", "ARRAY", "SCALAR"))
            what = f"JSON {part or 'VALUE'}"
        else:
            what = self.expect_one(("NULL", "TRUE", "FALSE", "UNKNOWN", "EMPTY"))
        return IsPredicate(left, what, negated, position=self.since(first))

    def _phrase(self, left: SqlExpression, first: int) -> SqlExpression | None:
        for phrase in _PHRASES[self.key]:
            if self.accept(*phrase.split()):
                self.accept("OF")
                right = self.operand(_COMPARE + 1)
                return BinaryOperation(phrase, left, right, position=self.since(first))
        return None

    def _multiset(self, left: SqlExpression, first: int) -> SqlExpression | None:
        operation = self.key_at(1)
        if operation not in {"UNION", "INTERSECT", "EXCEPT"}:
            return None
        self.index += 2
        kind = self.accept_one(("ALL", "DISTINCT")) or "ALL"
        right = self.operand(_TIMES)
        operator = f"MULTISET {operation} {kind}"
        return BinaryOperation(operator, left, right, position=self.since(first))

    # --- what stands alone ---------------------------------------------------------------------

    def _primary(self) -> SqlExpression:
        token = self.token
        kind = token.kind
        if kind is TokenKind.WORD:
            special = _SPECIAL.get(token.key)
            if special is not None:
                return special(self)
            if token.key in RESERVED:
                return self._reserved()
            if token.key == "MAP" and self.key_at(1) in {"[", "("}:
                return self._map_value()
            if token.key == "FINAL" and self.key_at(2) == "(":
                return self.running()
            return self._name_or_call()
        if kind is TokenKind.NUMBER:
            return self.number_literal()
        if kind in _STRINGS:
            return self.string_literal()
        if kind is TokenKind.QUOTED:
            return self._name_or_call()
        if token.key == "(":
            return self._parentheses()
        return self.fail("an expression")

    def _reserved(self) -> SqlExpression:
        first = self.index
        key = self.key
        if self.key_at(1) == "(" and key in RESERVED_FUNCTIONS:
            self.index += 1
            return self.call((key,), first)
        if key in CONTEXT_VARIABLES:
            self.index += 1
            return FunctionCall((key,), parentheses=False, position=self.since(first))
        if key in COLUMN_WORDS:
            return Identifier((self.advance().value,), position=self.since(first))
        return self.fail("an expression")

    def _name_or_call(self) -> SqlExpression:
        first = self.index
        parts = [self.advance().value]
        while self.key == ".":
            if self.key_at(1) == "*":
                self.index += 2
                return Star(tuple(parts), position=self.since(first))
            self.index += 1
            parts.append(self.name("a name behind the point"))
        if self.key == "(":
            return self.call(tuple(parts), first)
        return Identifier(tuple(parts), position=self.since(first))

    def _parentheses(self) -> SqlExpression:
        first = self.index
        self.index += 1
        if self.key in QUERY_BEGINNINGS or self._at_table_query():
            query = self.query()
            self.expect(")")
            return ScalarSubquery(query, position=self.since(first))
        items = self.comma_list(self.expression)
        if len(items) > 1:
            self.expect(")")
            return RowConstructor(items, explicit=False, position=self.since(first))
        if isinstance(items[0], ScalarSubquery) and self.key in QUERY_CONTINUATIONS:
            query = self.query_behind(items[0].query)
            self.expect(")")
            return ScalarSubquery(query, position=self.since(first))
        self.expect(")")
        return items[0]

    def _word_literal(self) -> SqlLiteral:
        first = self.index
        key = self.advance().key
        position = self.since(first)
        if key in {"NULL", "UNKNOWN"}:
            return SqlLiteral(None, LiteralKind.NULL, "NULL", position=position)
        return SqlLiteral(key == "TRUE", LiteralKind.BOOLEAN, key, position=position)

    def _date_or_time(self) -> SqlExpression:
        if self.key_at(1) == "(":
            return self._reserved()
        if self.key == "DATE":
            return self.date_literal()
        return self.time_literal() if self.key == "TIME" else self.timestamp_literal()

    def _interval_value(self) -> SqlExpression:
        """An interval literal; ``INTERVAL x DAY`` is ``x * INTERVAL '1' DAY``."""
        signed = self.key_at(1) in {"+", "-"}
        behind = self.tokens[self.index + 1 + signed]
        literal = behind.kind is TokenKind.STRING or behind.value.isdigit()
        if literal or not (behind.key == "(" or behind.kind in _FACTORS):
            return self.interval_literal()
        first = self.index
        self.index += 1
        negative = self.accept_one(("+", "-")) == "-"
        factor = self._primary()
        if negative:
            factor = UnaryOperation("-", factor, position=factor.position)
        units, _ = self.interval_qualifier()
        position = self.since(first)
        amount = interval_amount("1", units)
        if amount is None:
            self.refuse(
                "an interval of an expression has one unit", "write one unit", position=position
            )
        one = IntervalLiteral("1", units[0], amount=amount, position=position)
        return BinaryOperation("*", factor, one, position=position)

    def _case(self) -> SqlExpression:
        first = self.index
        self.index += 1
        operand = None if self.key == "WHEN" else self.expression()
        branches: list[tuple[SqlExpression, SqlExpression]] = []
        while self.accept("WHEN"):
            place = self.index
            conditions = self.comma_list(self.expression)
            if operand is None and len(conditions) > 1:
                self.refuse(
                    "WHEN lists values only behind CASE x",
                    "write OR between the conditions",
                    position=self.since(place),
                )
            self.expect("THEN")
            value = self.expression()
            branches.extend((condition, value) for condition in conditions)
        if not branches:
            self.fail("WHEN")
        otherwise = self.expression() if self.accept("ELSE") else None
        self.expect("END")
        return CaseWhen(operand, tuple(branches), otherwise, position=self.since(first))

    def _exists(self) -> SqlExpression:
        first = self.index
        unique = self.advance().key == "UNIQUE"
        self.expect("(")
        query = self.query()
        self.expect(")")
        return Exists(query, unique, position=self.since(first))

    def _row_value(self) -> SqlExpression:
        first = self.index
        self.index += 1
        self.expect("(")
        items = () if self.key == ")" else self.comma_list(self.expression)
        self.expect(")")
        return RowConstructor(items, position=self.since(first))

    def _array(self) -> SqlExpression:
        """``ARRAY[1, 2]``, ``ARRAY(SELECT ..)``; MULTISET, too."""
        first = self.index
        kind: Literal["MULTISET", "ARRAY"] = (
            "MULTISET" if self.advance().key == "MULTISET" else "ARRAY"
        )
        if self.accept("("):
            if self.key not in QUERY_BEGINNINGS:
                self.refuse(
                    f"{kind} with parentheses takes a query",
                    f"write {kind}[a, b]",
                    position=self.since(first),
                )
            query = self.query()
            self.expect(")")
            return ArrayQuery(kind, query, position=self.since(first))
        items = self._in_brackets()
        return ArrayConstructor(items, kind == "MULTISET", position=self.since(first))

    def _in_brackets(self) -> tuple[SqlExpression, ...]:
        self.expect("[")
        items = () if self.key == "]" else self.comma_list(self.expression)
        self.expect("]")
        return items

    def _map_value(self) -> SqlExpression:
        first = self.index
        self.index += 1
        if self.accept("("):
            if self.key not in QUERY_BEGINNINGS:
                self.refuse(
                    "MAP with parentheses takes a query",
                    "write MAP[key, value]",
                    position=self.since(first),
                )
            query = self.query()
            self.expect(")")
            return ArrayQuery("MAP", query, position=self.since(first))
        items = self._in_brackets()
        position = self.since(first)
        if len(items) % 2:
            self.refuse(
                "MAP has a key without a value", "write MAP[key, value, ..]", position=position
            )
        pairs = tuple(zip(items[::2], items[1::2], strict=True))
        return MapConstructor(pairs, position=position)


_PREDICATES = {
    "NOT": (_IN, ExpressionParser._negated),
    "IN": (_IN, ExpressionParser._in),
    "BETWEEN": (_IN, ExpressionParser._between),
    "LIKE": (_IN, ExpressionParser._like),
    "ILIKE": (_IN, ExpressionParser._like),
    "RLIKE": (_IN, ExpressionParser._like),
    "SIMILAR": (_IN, ExpressionParser._like),
    "IS": (_IS, ExpressionParser._is),
    "MULTISET": (_PLUS, ExpressionParser._multiset),
    **dict.fromkeys(_PHRASES, (_COMPARE, ExpressionParser._phrase)),
}
_SPECIAL = {
    "TRUE": ExpressionParser._word_literal,
    "FALSE": ExpressionParser._word_literal,
    "NULL": ExpressionParser._word_literal,
    "UNKNOWN": ExpressionParser._word_literal,
    "DATE": ExpressionParser._date_or_time,
    "TIME": ExpressionParser._date_or_time,
    "TIMESTAMP": ExpressionParser._date_or_time,
    "INTERVAL": ExpressionParser._interval_value,
    "CASE": ExpressionParser._case,
    "CAST": ExpressionParser.cast,
    "TRY_CAST": ExpressionParser.cast,
    "EXISTS": ExpressionParser._exists,
    "UNIQUE": ExpressionParser._exists,
    "ROW": ExpressionParser._row_value,
    "ARRAY": ExpressionParser._array,
    "MULTISET": ExpressionParser._array,
    "EXTRACT": ExpressionParser.extract,
    "FLOOR": ExpressionParser.floor_or_ceil,
    "CEIL": ExpressionParser.floor_or_ceil,
    "CEILING": ExpressionParser.floor_or_ceil,
    "POSITION": ExpressionParser.position_call,
    "SUBSTRING": ExpressionParser.substring,
    "OVERLAY": ExpressionParser.overlay,
    "TRIM": ExpressionParser.trim,
    "RUNNING": ExpressionParser.running,
    "JSON_EXISTS": ExpressionParser.json_exists,
    "JSON_VALUE": ExpressionParser.json_value,
    "JSON_QUERY": ExpressionParser.json_query,
    "JSON_OBJECT": ExpressionParser.json_object,
    "JSON_OBJECTAGG": ExpressionParser.json_objectagg,
    "JSON_ARRAY": ExpressionParser.json_array,
    "JSON_ARRAYAGG": ExpressionParser.json_arrayagg,
}
