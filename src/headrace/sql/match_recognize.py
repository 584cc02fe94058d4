"""MATCH_RECOGNIZE: patterns over the lines of a table.

    t MATCH_RECOGNIZE (PARTITION BY id ORDER BY ts MEASURES A.x AS x ONE ROW PER MATCH
                       AFTER MATCH SKIP PAST LAST ROW PATTERN (A B+? C{2,}) DEFINE B AS B.x > 1)

In: a walk over tokens (stream.py), behind the table.  Out: `MatchRecognize` (query_ast.py).
Next: queries.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from headrace.sql.expressions import ExpressionParser
from headrace.sql.query_ast import (
    MatchMeasure,
    MatchRecognize,
    PatternAlternation,
    PatternConcatenation,
    PatternExclusion,
    PatternNode,
    PatternPermutation,
    PatternQuantifier,
    PatternVariable,
    TableReference,
)
from headrace.sql.tokens import TokenKind

if TYPE_CHECKING:
    from headrace.sql.ast import SqlExpression
    from headrace.sql.position import TextPosition

_AfterMatch = Literal["PAST LAST ROW", "NEXT ROW", "FIRST", "LAST"]
_PATTERN_END = frozenset({")", "|", ",", "-", ""})
_REPEATS: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}


class MatchRecognizeParser(ExpressionParser):
    """The part of the grammar that reads MATCH_RECOGNIZE."""

    def match_recognize(self, table: TableReference, first: int) -> MatchRecognize:
        """What stands behind the table; MATCH_RECOGNIZE is next."""
        self.index += 1
        self.expect("(")
        partition: tuple[SqlExpression, ...] = ()
        if self.accept("PARTITION"):
            self.expect("BY")
            partition = self.comma_list(self.expression)
        order = self.order_by()
        measures = self.comma_list(self._measure) if self.accept("MEASURES") else ()
        clauses: dict[str, TextPosition] = {}
        begin = self.index
        rows = self._rows_per_match()
        if rows is not None:
            clauses["ROWS"] = self.since(begin)
        begin = self.index
        after, variable = self._after_match()
        if after is not None:
            clauses["AFTER"] = self.since(begin)
        self.expect("PATTERN", "(")
        pattern = self._alternation()
        self.expect(")")
        within = self._within() if self.accept("WITHIN") else None
        begin = self.index
        subsets = self.comma_list(self._subset) if self.accept("SUBSET") else ()
        if subsets:
            clauses["SUBSET"] = self.since(begin)
        self.expect("DEFINE")
        define = self.comma_list(self._definition)
        self.expect(")")
        return MatchRecognize(
            table, pattern, define, partition, order, measures, rows, after, variable, within,
            subsets, clauses, position=self.since(first),
        )  # fmt: skip

    def _measure(self) -> MatchMeasure:
        first = self.index
        value = self.expression()
        self.expect("AS")
        return MatchMeasure(value, self.name("the name of a measure"), position=self.since(first))

    def _rows_per_match(self) -> str | None:
        if self.accept("ONE"):
            self.expect("ROW", "PER", "MATCH")
            return "ONE"
        if self.accept("ALL"):
            self.expect("ROWS", "PER", "MATCH")
            return "ALL"
        return None

    def _after_match(self) -> tuple[_AfterMatch | None, str | None]:
        if not self.accept("AFTER"):
            return None, None
        self.expect("MATCH", "SKIP")
        if self.accept("PAST"):
            self.expect("LAST", "ROW")
            return "PAST LAST ROW", None
        self.expect("TO")
        if self.accept("NEXT", "ROW"):
            return "NEXT ROW", None
        behind = self.tokens[self.index + 1]
        named = behind.kind is TokenKind.QUOTED or (behind.key and behind.key != "PATTERN")
        first = bool(named) and self.key == "FIRST"
        if first or (named and self.key == "LAST"):
            self.index += 1
        # without a word in front of it the last line of the variable is meant
        return "FIRST" if first else "LAST", self.name("the name of a variable")

    def _within(self) -> SqlExpression:
        if self.key != "INTERVAL":
            self.fail("an INTERVAL")
        return self.interval_literal()

    def _subset(self) -> tuple[str, tuple[str, ...]]:
        name = self.name("the name of a subset")
        self.expect("=")
        return name, self.names_in_parentheses("the name of a variable")

    def _definition(self) -> tuple[str, SqlExpression]:
        name = self.name("the name of a variable")
        self.expect("AS")
        return name, self.expression()

    # --- the pattern ---------------------------------------------------------------------------

    def _alternation(self) -> PatternNode:
        first = self.index
        parts = [self._concatenation()]
        while self.accept("|"):
            parts.append(self._concatenation())
        if len(parts) == 1:
            return parts[0]
        return PatternAlternation(tuple(parts), position=self.since(first))

    def _concatenation(self) -> PatternNode:
        first = self.index
        parts = [self._factor()]
        while self.key not in _PATTERN_END or self.at_name():
            parts.append(self._factor())
        if len(parts) == 1:
            return parts[0]
        return PatternConcatenation(tuple(parts), position=self.since(first))

    def _factor(self) -> PatternNode:
        first = self.index
        part = self._pattern_primary()
        repeats = self._repeats()
        if repeats is None:
            return part
        greedy = not self.accept("?")
        return PatternQuantifier(part, *repeats, greedy, position=self.since(first))

    def _repeats(self) -> tuple[int, int | None] | None:
        sign = self.accept_one(_REPEATS)
        if sign is not None:
            return _REPEATS[sign]
        if self.key != "{" or self.key_at(1) == "-":
            return None
        self.index += 1
        minimum = 0 if self.key == "," else self.number("how often it repeats")
        maximum: int | None = minimum
        if self.accept(","):
            maximum = None if self.key == "}" else self.number("how often it repeats")
        self.expect("}")
        return minimum, maximum

    def _pattern_primary(self) -> PatternNode:
        first = self.index
        if self.accept("("):
            inner = self._alternation()
            self.expect(")")
            return inner
        if self.accept("{", "-"):
            inner = self._alternation()
            self.expect("-", "}")
            return PatternExclusion(inner, position=self.since(first))
        if self.accept("PERMUTE"):
            parts = self.parenthesized(self._alternation)
            return PatternPermutation(parts, position=self.since(first))
        if self.accept("^"):
            return PatternVariable("^", position=self.since(first))
        name = self.name("a variable of the pattern")
        return PatternVariable(name, position=self.since(first))
