"""What SQL text becomes, part two: queries and what they read from.

    WITH a AS (..) SELECT x FROM a ORDER BY x LIMIT 1
        ──▶   WithQuery((a,), OrderedQuery(Select(..), order_by, limit))

In: queries.py, match_recognize.py.  Out: rel/ resolves them.  Expressions are in ast.py.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from headrace.sql.ast import (
    Identifier,
    IntervalLiteral,
    NamedWindow,
    SortItem,
    SqlExpression,
    SqlNode,
)

if TYPE_CHECKING:
    from headrace.sql.position import TextPosition

__all__ = [
    "AliasedTable",
    "CommonTable",
    "DerivedTable",
    "GroupingSets",
    "JoinedTable",
    "MatchMeasure",
    "MatchRecognize",
    "OrderedQuery",
    "PatternAlternation",
    "PatternConcatenation",
    "PatternExclusion",
    "PatternNode",
    "PatternPermutation",
    "PatternQuantifier",
    "PatternVariable",
    "QueryHint",
    "Select",
    "SelectItem",
    "SetQuery",
    "SqlQuery",
    "SystemTimeTable",
    "TableFunctionCall",
    "TableName",
    "TableQuery",
    "TableReference",
    "UnnestTable",
    "ValuesQuery",
    "WithQuery",
]


@dataclass(frozen=True, slots=True)
class SqlQuery(SqlNode):
    """Something that gives lines."""


@dataclass(frozen=True, slots=True)
class TableReference(SqlNode):
    """Something that may stand behind FROM."""


@dataclass(frozen=True, slots=True)
class QueryHint(SqlNode):
    """One hint of ``/*+ OPTIONS('k'='v'), BROADCAST(t1, t2) */``; its name is in capitals.

    Attributes:
        options: keys and values.
        arguments: names and literals that are no pairs.
    """

    name: str
    options: tuple[tuple[str, str], ...] = ()
    arguments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SelectItem(SqlNode):
    """A column of a query."""

    expression: SqlExpression
    alias: str | None = None


@dataclass(frozen=True, slots=True)
class GroupingSets(SqlNode):
    """GROUPING SETS, CUBE or ROLLUP in GROUP BY; each set is a tuple, the empty one ``()``.

    Of CUBE and ROLLUP each element is a set: ``ROLLUP(a, (b, c))`` has ((a,), (b, c)).  GROUPING
    SETS may have CUBE and ROLLUP in it.
    """

    kind: Literal["GROUPING SETS", "CUBE", "ROLLUP"]
    sets: tuple[tuple[SqlExpression, ...] | GroupingSets, ...]


@dataclass(frozen=True, slots=True)
class Select(SqlQuery):
    """SELECT.

    Attributes:
        from_: None without FROM; tables with commas are a `JoinedTable` of the kind CROSS whose
            `comma` is set.
        group_by: None without GROUP BY; an empty tuple for ``GROUP BY ()``.
        windows: of the WINDOW clause.
    """

    items: tuple[SelectItem, ...]
    from_: TableReference | None = None
    where: SqlExpression | None = None
    group_by: tuple[SqlExpression | GroupingSets, ...] | None = None
    having: SqlExpression | None = None
    windows: tuple[NamedWindow, ...] = ()
    qualify: SqlExpression | None = None
    distinct: bool = False
    hints: tuple[QueryHint, ...] = ()


@dataclass(frozen=True, slots=True)
class SetQuery(SqlQuery):
    """UNION, INTERSECT or EXCEPT (MINUS is EXCEPT); of lines that are equal one, unless `all`."""

    kind: Literal["UNION", "INTERSECT", "EXCEPT"]
    left: SqlQuery
    right: SqlQuery
    all: bool = False


@dataclass(frozen=True, slots=True)
class ValuesQuery(SqlQuery):
    """``VALUES (1, 'a'), (2, 'b')``; ``VALUES 1, 2`` has lines of one column."""

    rows: tuple[tuple[SqlExpression, ...], ...]


@dataclass(frozen=True, slots=True)
class TableQuery(SqlQuery):
    """``TABLE t`` as a query."""

    name: Identifier


@dataclass(frozen=True, slots=True)
class CommonTable(SqlNode):
    """``name (columns) AS (query)`` of WITH; `columns` is None where none are listed."""

    name: str
    query: SqlQuery
    columns: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class WithQuery(SqlQuery):
    """WITH .. and the query that uses them."""

    tables: tuple[CommonTable, ...]
    query: SqlQuery
    recursive: bool = False


@dataclass(frozen=True, slots=True)
class OrderedQuery(SqlQuery):
    """ORDER BY, LIMIT (or FETCH), OFFSET of a query; LIMIT ALL is no limit."""

    query: SqlQuery
    order_by: tuple[SortItem, ...] = ()
    limit: SqlExpression | None = None
    offset: SqlExpression | None = None


# --- behind FROM -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TableName(TableReference):
    """A table by its name, with its hints."""

    name: Identifier
    hints: tuple[QueryHint, ...] = ()


@dataclass(frozen=True, slots=True)
class DerivedTable(TableReference):
    """``[LATERAL] (SELECT ..)``."""

    query: SqlQuery
    lateral: bool = False


@dataclass(frozen=True, slots=True)
class TableFunctionCall(TableReference):
    """``[LATERAL] TABLE(f(..))``, or ``f(..)`` alone behind FROM (then `bare`)."""

    call: SqlExpression
    lateral: bool = False
    bare: bool = False
    hints: tuple[QueryHint, ...] = ()


@dataclass(frozen=True, slots=True)
class UnnestTable(TableReference):
    """``UNNEST(a) [WITH ORDINALITY]``."""

    items: tuple[SqlExpression, ...]
    ordinality: bool = False


@dataclass(frozen=True, slots=True)
class SystemTimeTable(TableReference):
    """``table FOR SYSTEM_TIME AS OF time``."""

    table: TableReference
    time: SqlExpression


@dataclass(frozen=True, slots=True)
class AliasedTable(TableReference):
    """``table AS alias (columns)``; `columns` is None where none are listed."""

    table: TableReference
    alias: str
    columns: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class JoinedTable(TableReference):
    """A join of two tables; `condition` and `using` are None if they are not there."""

    left: TableReference
    right: TableReference
    kind: Literal["INNER", "LEFT", "RIGHT", "FULL", "CROSS", "SEMI", "ANTI"]
    condition: SqlExpression | None = None
    using: tuple[str, ...] | None = None
    natural: bool = False
    comma: bool = False


# --- MATCH_RECOGNIZE -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PatternNode(SqlNode):
    """A part of PATTERN (..)."""


@dataclass(frozen=True, slots=True)
class PatternVariable(PatternNode):
    """A variable, or an anchor (``^`` and ``$``)."""

    name: str


@dataclass(frozen=True, slots=True)
class PatternConcatenation(PatternNode):
    """One behind the other."""

    parts: tuple[PatternNode, ...]


@dataclass(frozen=True, slots=True)
class PatternAlternation(PatternNode):
    """One of several: ``A | B``."""

    parts: tuple[PatternNode, ...]


@dataclass(frozen=True, slots=True)
class PatternQuantifier(PatternNode):
    """``A*``, ``A+``, ``A?``, ``A{2,3}``; `maximum` is None if there is none."""

    part: PatternNode
    minimum: int
    maximum: int | None
    greedy: bool = True


@dataclass(frozen=True, slots=True)
class PatternExclusion(PatternNode):
    """``{- A -}``: has to match, but is left out of the output."""

    part: PatternNode


@dataclass(frozen=True, slots=True)
class PatternPermutation(PatternNode):
    """``PERMUTE(A, B)``: in any order."""

    parts: tuple[PatternNode, ...]


@dataclass(frozen=True, slots=True)
class MatchMeasure(SqlNode):
    """A column of MEASURES."""

    expression: SqlExpression
    alias: str


@dataclass(frozen=True, slots=True)
class MatchRecognize(TableReference):
    """MATCH_RECOGNIZE over a table.

    Attributes:
        rows_per_match: ONE or ALL (ALL with SHOW EMPTY MATCHES, OMIT EMPTY MATCHES, WITH
            UNMATCHED ROWS behind it); None if it is not said.
        after_match: PAST LAST ROW, NEXT ROW, FIRST or LAST; None if it is not said.
        after_variable: of FIRST and LAST.
        within: the longest time of a match; from an expression of the type interval.
        subsets: name and members of each SUBSET.
        define: variable and condition.
        clauses: where ROWS (.. PER MATCH), AFTER and SUBSET stand, for errors.
    """

    table: TableReference
    pattern: PatternNode
    define: tuple[tuple[str, SqlExpression], ...]
    partition_by: tuple[SqlExpression, ...] = ()
    order_by: tuple[SortItem, ...] = ()
    measures: tuple[MatchMeasure, ...] = ()
    rows_per_match: str | None = None
    after_match: Literal["PAST LAST ROW", "NEXT ROW", "FIRST", "LAST"] | None = None
    after_variable: str | None = None
    within: IntervalLiteral | SqlExpression | None = None
    subsets: tuple[tuple[str, tuple[str, ...]], ...] = ()
    clauses: dict[str, TextPosition] = field(default_factory=dict, compare=False, repr=False)
