"""What SQL text becomes, part one: expressions and the names of types.

    price > 10   ──▶   BinaryOperation(">", Identifier(("price",)), SqlLiteral(10, INTEGER, "10"))

In: the parser (expressions.py, type_names.py) and the Table API, which builds the same nodes.
Out: rel/ resolves them.  Queries are in query_ast.py, statements in statement_ast.py.

Nodes are equal if they say the same, wherever they stand.  Function names and keywords are in
capitals as soon as they are parsed (function names mean the same in any case); identifiers are as
written.
"""

from __future__ import annotations

import copy
import datetime
from dataclasses import dataclass, field, fields
from decimal import Decimal
from enum import StrEnum
from typing import TYPE_CHECKING, Literal

from headrace.sql.position import TextPosition

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from headrace.sql.query_ast import SqlQuery

__all__ = [
    "ArrayConstructor",
    "ArrayQuery",
    "Between",
    "BinaryOperation",
    "CaseWhen",
    "CastExpression",
    "CursorArgument",
    "DefaultArgument",
    "DescriptorArgument",
    "Exists",
    "FieldAccess",
    "FrameBound",
    "FunctionCall",
    "Identifier",
    "InList",
    "InQuery",
    "IntervalLiteral",
    "IsDistinctFrom",
    "IsPredicate",
    "ItemAccess",
    "JsonBehavior",
    "JsonClauses",
    "JsonEntry",
    "LikePredicate",
    "LiteralKind",
    "MapConstructor",
    "ModelArgument",
    "NamedArgument",
    "NamedWindow",
    "OverClause",
    "QuantifiedComparison",
    "RowConstructor",
    "ScalarSubquery",
    "SortItem",
    "SqlExpression",
    "SqlKeyword",
    "SqlLiteral",
    "SqlNode",
    "Star",
    "TableArgument",
    "TextPosition",
    "TypeField",
    "TypeName",
    "UnaryOperation",
    "WindowFrame",
    "literal",
    "parts_of",
    "rewrite_nodes",
    "walk_nodes",
]


@dataclass(frozen=True, slots=True)
class SqlNode:
    """A part of a statement; `position` says where it stands, None if it was not parsed."""

    position: TextPosition | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class SqlExpression(SqlNode):
    """Something that has a value."""


@dataclass(frozen=True, slots=True)
class Identifier(SqlExpression):
    """A name with its qualifiers: ``catalog.db.t``, or a column ``t.a``."""

    parts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Star(SqlExpression):
    """``*`` or ``t.*``; also the argument of ``COUNT(*)``."""

    qualifier: tuple[str, ...] = ()


class LiteralKind(StrEnum):
    """What a literal is, before types are looked at."""

    INTEGER = "integer"
    DECIMAL = "decimal"
    DOUBLE = "double"
    STRING = "string"
    BOOLEAN = "boolean"
    NULL = "null"
    DATE = "date"
    TIME = "time"
    TIMESTAMP = "timestamp"
    TIMESTAMP_LTZ = "timestamp_ltz"  # its value is local to the session's zone
    BINARY = "binary"


LiteralValue = (
    int | Decimal | float | str | bytes | datetime.date | datetime.time | datetime.datetime | None
)


@dataclass(frozen=True, slots=True)
class SqlLiteral(SqlExpression):
    """A constant.

    Attributes:
        value: as Python has it; numbers have no sign, a minus is a `UnaryOperation`.  Times are
            cut to microseconds: `nanoseconds` has the rest.
        kind: what it is.
        text: how it is written, without quotes and keyword: ``1.50`` is not ``1.5`` (their types
            differ), and the digits behind the seconds give a timestamp's precision.
    """

    value: LiteralValue
    kind: LiteralKind
    text: str = ""

    @property
    def precision(self) -> int:
        """The digits behind the point of a decimal, or behind the seconds."""
        return len(self.text.partition(".")[2])

    @property
    def nanoseconds(self) -> int:
        """Of a time or timestamp what its Python value has no room for: 0 to 999."""
        return int(self.text.partition(".")[2].ljust(9, "0")[6:] or 0)


@dataclass(frozen=True, slots=True)
class IntervalLiteral(SqlExpression):
    """``INTERVAL '1 10' DAY TO HOUR``.

    Attributes:
        text: what stands between the quotes.
        start: the first unit: YEAR, MONTH, DAY, HOUR, MINUTE, SECOND (and WEEK, QUARTER).
        end: the last unit, None if there is one only.
        precision: digits of the first unit.
        fraction: digits behind the seconds.
        negative: whether a minus stands in front of the text (``INTERVAL -'1' DAY``).
        amount: months of a year-month interval, else milliseconds; signs are in it.
    """

    text: str
    start: str
    end: str | None = None
    precision: int | None = None
    fraction: int | None = None
    negative: bool = False
    amount: int = field(default=0, compare=False)

    @property
    def in_months(self) -> bool:
        """Whether it is a year-month interval: then `amount` counts months."""
        return self.start in {"YEAR", "QUARTER", "MONTH"}


@dataclass(frozen=True, slots=True)
class UnaryOperation(SqlExpression):
    """``-x``, ``+x``, ``NOT x``."""

    operator: Literal["-", "+", "NOT"]
    operand: SqlExpression


@dataclass(frozen=True, slots=True)
class BinaryOperation(SqlExpression):
    """Two operands: ``+ - * / % || = <> < <= > >= AND OR``, and a few in words.

    ``!=`` is ``<>`` here.  In words: OVERLAPS, CONTAINS, PRECEDES, SUCCEEDS, IMMEDIATELY PRECEDES,
    IMMEDIATELY SUCCEEDS, PERIOD EQUALS, MEMBER OF, SUBMULTISET OF, MULTISET UNION (and INTERSECT,
    EXCEPT, each with ALL or DISTINCT).
    """

    operator: str
    left: SqlExpression
    right: SqlExpression


@dataclass(frozen=True, slots=True)
class Between(SqlExpression):
    """``x [NOT] BETWEEN [SYMMETRIC] low AND high``."""

    operand: SqlExpression
    low: SqlExpression
    high: SqlExpression
    negated: bool = False
    symmetric: bool = False


@dataclass(frozen=True, slots=True)
class InList(SqlExpression):
    """``x [NOT] IN (1, 2)``."""

    operand: SqlExpression
    items: tuple[SqlExpression, ...]
    negated: bool = False


@dataclass(frozen=True, slots=True)
class InQuery(SqlExpression):
    """``x [NOT] IN (SELECT ...)``; `operand` is a `RowConstructor` for several columns."""

    operand: SqlExpression
    query: SqlQuery
    negated: bool = False


@dataclass(frozen=True, slots=True)
class LikePredicate(SqlExpression):
    """``x [NOT] LIKE pattern [ESCAPE c]``; `operator` may be SIMILAR TO."""

    operand: SqlExpression
    pattern: SqlExpression
    escape: SqlExpression | None = None
    negated: bool = False
    operator: Literal["LIKE", "SIMILAR TO"] = "LIKE"


@dataclass(frozen=True, slots=True)
class IsPredicate(SqlExpression):
    """``x IS [NOT] NULL``, TRUE, FALSE, UNKNOWN, A SET, EMPTY, JSON [VALUE|OBJECT|ARRAY|SCALAR].

    `what` has the words in capitals; JSON alone is ``JSON VALUE``.
    """

    operand: SqlExpression
    what: str
    negated: bool = False


@dataclass(frozen=True, slots=True)
class IsDistinctFrom(SqlExpression):
    """``a IS [NOT] DISTINCT FROM b``."""

    left: SqlExpression
    right: SqlExpression
    negated: bool = False


@dataclass(frozen=True, slots=True)
class CaseWhen(SqlExpression):
    """``CASE [x] WHEN .. THEN .. ELSE .. END``; `otherwise` is None without ELSE.

    With an operand a WHEN may list several values (``WHEN 1, 2 THEN``): it has a branch each.
    """

    operand: SqlExpression | None
    branches: tuple[tuple[SqlExpression, SqlExpression], ...]
    otherwise: SqlExpression | None = None


@dataclass(frozen=True, slots=True)
class CastExpression(SqlExpression):
    """``CAST(x AS type)``, or TRY_CAST if it is lenient."""

    operand: SqlExpression
    type: TypeName
    lenient: bool = False


@dataclass(frozen=True, slots=True)
class SqlKeyword(SqlExpression):
    """A word that is an argument: DAY in ``EXTRACT(DAY FROM x)``, BOTH in ``TRIM(BOTH ..)``."""

    name: str


@dataclass(frozen=True, slots=True)
class NamedArgument(SqlExpression):
    """``name => value``."""

    name: str
    value: SqlExpression


@dataclass(frozen=True, slots=True)
class DefaultArgument(SqlExpression):
    """``DEFAULT`` where a value may stand."""


@dataclass(frozen=True, slots=True)
class DescriptorArgument(SqlExpression):
    """``DESCRIPTOR(ts)``; each column may have a type, as in ``DESCRIPTOR(a INT)``."""

    columns: tuple[str, ...]
    types: tuple[TypeName | None, ...] = ()


@dataclass(frozen=True, slots=True)
class TableArgument(SqlExpression):
    """``TABLE t [PARTITION BY ..] [ORDER BY ..]`` as an argument of a table function.

    A query alone, ``f((SELECT ..), 1)``, is a `ScalarSubquery`: only the function knows whether
    it wants a table or a value.

    Attributes:
        table: the name behind TABLE, or the query in front of PARTITION BY and ORDER BY.
    """

    table: Identifier | SqlQuery
    partition_by: tuple[SqlExpression, ...] = ()
    order_by: tuple[SortItem, ...] = ()


@dataclass(frozen=True, slots=True)
class ModelArgument(SqlExpression):
    """``MODEL m`` as an argument of a table function."""

    model: Identifier


@dataclass(frozen=True, slots=True)
class CursorArgument(SqlExpression):
    """``CURSOR(SELECT ...)``."""

    query: SqlQuery


@dataclass(frozen=True, slots=True)
class FunctionCall(SqlExpression):
    """A call of a function by its name.

    Special syntax is a call, too: ``EXTRACT(DAY FROM x)`` has the arguments (SqlKeyword("DAY"), x);
    ``FLOOR(x TO DAY)`` (x, SqlKeyword("DAY")); ``TIMESTAMPADD(DAY, 1, x)`` (SqlKeyword("DAY"), 1,
    x); ``SUBSTRING(x FROM 1 FOR 2)`` (x, 1, 2); ``POSITION(a IN b)`` (a, b); ``TRIM(BOTH 'x' FROM
    y)`` (SqlKeyword("BOTH"), 'x', y), always with three; ``OVERLAY(a PLACING b FROM 1 FOR 2)`` (a,
    b, 1, 2).  CURRENT_TIMESTAMP and others without parentheses have no arguments and
    `parentheses` False.

    Attributes:
        name: its parts; a name of one part is in capitals.
        arguments: values, `NamedArgument`, `Star`, `TableArgument`, `DescriptorArgument`...
        distinct: whether DISTINCT stands in front of the arguments.
        order_by: ORDER BY inside of the parentheses.
        within_group: WITHIN GROUP (ORDER BY ..).
        filter: the condition of FILTER (WHERE ..).
        over: OVER (...), or OVER name.
        null_treatment: IGNORE NULLS or RESPECT NULLS.
        json: clauses of JSON_VALUE and its like.
        parentheses: False for ``CURRENT_DATE`` and others that are written without.
    """

    name: tuple[str, ...]
    arguments: tuple[SqlExpression, ...] = ()
    distinct: bool = False
    order_by: tuple[SortItem, ...] = ()
    within_group: tuple[SortItem, ...] = ()
    filter: SqlExpression | None = None
    over: OverClause | None = None
    null_treatment: Literal["IGNORE NULLS", "RESPECT NULLS"] | None = None
    json: JsonClauses | None = None
    parentheses: bool = True


@dataclass(frozen=True, slots=True)
class JsonBehavior(SqlNode):
    """What a JSON function does ON EMPTY or ON ERROR.

    Attributes:
        kind: ERROR, NULL, DEFAULT, EMPTY ARRAY, EMPTY OBJECT; of JSON_EXISTS TRUE, FALSE,
            UNKNOWN, ERROR.
        value: of DEFAULT.
    """

    kind: str
    value: SqlExpression | None = None


@dataclass(frozen=True, slots=True)
class JsonClauses(SqlNode):
    """The clauses behind the arguments of a JSON function; those that were not written are None.

    Attributes:
        returning: RETURNING type.
        wrapper: of JSON_QUERY: WITHOUT ARRAY, WITH CONDITIONAL ARRAY, WITH UNCONDITIONAL ARRAY.
        on_empty: ... ON EMPTY.
        on_error: ... ON ERROR.
        on_null: of JSON_OBJECT, JSON_ARRAY and their aggregates: NULL or ABSENT (ON NULL).
    """

    returning: TypeName | None = None
    wrapper: str | None = None
    on_empty: JsonBehavior | None = None
    on_error: JsonBehavior | None = None
    on_null: Literal["NULL", "ABSENT"] | None = None


@dataclass(frozen=True, slots=True)
class JsonEntry(SqlExpression):
    """``KEY k VALUE v`` of JSON_OBJECT and JSON_OBJECTAGG."""

    key: SqlExpression
    value: SqlExpression


@dataclass(frozen=True, slots=True)
class RowConstructor(SqlExpression):
    """``ROW(a, b)``, or ``(a, b)`` if it is not explicit."""

    items: tuple[SqlExpression, ...]
    explicit: bool = True


@dataclass(frozen=True, slots=True)
class ArrayConstructor(SqlExpression):
    """``ARRAY[a, b]``; MULTISET[..] if `multiset`."""

    items: tuple[SqlExpression, ...]
    multiset: bool = False


@dataclass(frozen=True, slots=True)
class MapConstructor(SqlExpression):
    """``MAP[k, v, ...]``."""

    entries: tuple[tuple[SqlExpression, SqlExpression], ...]


@dataclass(frozen=True, slots=True)
class ArrayQuery(SqlExpression):
    """``ARRAY(SELECT ..)``, or MAP or MULTISET of a query."""

    kind: Literal["ARRAY", "MAP", "MULTISET"]
    query: SqlQuery


@dataclass(frozen=True, slots=True)
class ItemAccess(SqlExpression):
    """``x[1]``, ``m['key']``."""

    operand: SqlExpression
    index: SqlExpression


@dataclass(frozen=True, slots=True)
class FieldAccess(SqlExpression):
    """``(x).name``, ``f(x).name``, ``x[1].name``; the name ``*`` takes all fields."""

    operand: SqlExpression
    name: str


@dataclass(frozen=True, slots=True)
class Exists(SqlExpression):
    """``EXISTS (SELECT ..)``; NOT is a `UnaryOperation`.  UNIQUE if `unique`."""

    query: SqlQuery
    unique: bool = False


@dataclass(frozen=True, slots=True)
class ScalarSubquery(SqlExpression):
    """``(SELECT ..)`` where a value may stand."""

    query: SqlQuery


@dataclass(frozen=True, slots=True)
class QuantifiedComparison(SqlExpression):
    """``x = ANY (SELECT ..)``; SOME is ANY.  `items` instead of a query for a list of values."""

    operator: str
    quantifier: Literal["ANY", "ALL"]
    left: SqlExpression
    query: SqlQuery | None = None
    items: tuple[SqlExpression, ...] = ()


# --- what stands behind an aggregate ---------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SortItem(SqlNode):
    """``x [ASC|DESC] [NULLS FIRST|LAST]``; `nulls` is None if it is not said."""

    expression: SqlExpression
    descending: bool = False
    nulls: Literal["FIRST", "LAST"] | None = None


@dataclass(frozen=True, slots=True)
class FrameBound(SqlNode):
    """UNBOUNDED PRECEDING, CURRENT ROW, ``x FOLLOWING``; `value` is None for UNBOUNDED."""

    kind: Literal["PRECEDING", "CURRENT ROW", "FOLLOWING"]
    value: SqlExpression | None = None


@dataclass(frozen=True, slots=True)
class WindowFrame(SqlNode):
    """``ROWS BETWEEN lower AND upper``; `upper` is None without BETWEEN."""

    unit: Literal["ROWS", "RANGE"]
    lower: FrameBound
    upper: FrameBound | None = None


@dataclass(frozen=True, slots=True)
class OverClause(SqlNode):
    """What stands behind OVER, or in a WINDOW clause.

    Attributes:
        name: another window that it begins with; ``OVER w`` has nothing else.
        named_only: whether it is ``OVER w``, without parentheses.
    """

    name: str | None = None
    partition_by: tuple[SqlExpression, ...] = ()
    order_by: tuple[SortItem, ...] = ()
    frame: WindowFrame | None = None
    named_only: bool = False


@dataclass(frozen=True, slots=True)
class NamedWindow(SqlNode):
    """``WINDOW name AS (...)``."""

    name: str
    window: OverClause


# --- types -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TypeField(SqlNode):
    """A field of ROW<..> or STRUCTURED<..>."""

    name: str
    type: TypeName
    comment: str | None = None


@dataclass(frozen=True, slots=True)
class TypeName(SqlNode):
    """The name of a type.

    Attributes:
        name: in its short form and capitals: BOOLEAN, TINYINT, SMALLINT, INT, BIGINT, FLOAT,
            DOUBLE, DECIMAL, CHAR, VARCHAR, STRING, BINARY, VARBINARY, BYTES, DATE, TIME, TIMESTAMP,
            TIMESTAMP_TZ, TIMESTAMP_LTZ, INTERVAL, ARRAY, MULTISET, MAP, ROW, STRUCTURED, RAW,
            NULL, VARIANT, BITMAP, DESCRIPTOR; or what the user wrote for a type of his own
            (`identifier`).
        parameters: lengths and precisions; of an INTERVAL those of its units (see `units`).
        arguments: of ARRAY and MULTISET one, of MAP two.
        fields: of ROW and STRUCTURED.
        nullable: False behind NOT NULL.
        units: of INTERVAL: ("DAY", "SECOND"), or one alone; `parameters` then are the digits of
            the first unit and of the fraction of seconds, None where they are not said.
        strings: of RAW the class and the serializer, of STRUCTURED the class.
        identifier: of a type by name.
    """

    name: str
    parameters: tuple[int | None, ...] = ()
    arguments: tuple[TypeName, ...] = ()
    fields: tuple[TypeField, ...] = ()
    nullable: bool = True
    units: tuple[str, ...] = ()
    strings: tuple[str, ...] = ()
    identifier: tuple[str, ...] = ()


# --- making and walking ----------------------------------------------------------------------

_KINDS: tuple[tuple[type, LiteralKind], ...] = (  # bool is an int, datetime is a date
    (bool, LiteralKind.BOOLEAN),
    (int, LiteralKind.INTEGER),
    (Decimal, LiteralKind.DECIMAL),
    (float, LiteralKind.DOUBLE),
    (str, LiteralKind.STRING),
    (bytes, LiteralKind.BINARY),
    (datetime.datetime, LiteralKind.TIMESTAMP),
    (datetime.date, LiteralKind.DATE),
    (datetime.time, LiteralKind.TIME),
)


def literal(value: LiteralValue) -> SqlLiteral:
    """The literal of a Python value, as the parser would have made it; numbers without a sign."""
    if value is None:
        return SqlLiteral(None, LiteralKind.NULL, "NULL")
    kind = next(kind for cls, kind in _KINDS if isinstance(value, cls))
    return SqlLiteral(value, kind, _text_of(value))


def _text_of(value: LiteralValue) -> str:
    match value:
        case bool():
            return str(value).upper()
        case Decimal():
            text = f"{value:f}"
            return text if "." in text else f"{text}."
        case float():
            return f"{value!r}E0" if "e" not in repr(value) else repr(value).upper()
        case bytes():
            return value.hex()
        case datetime.datetime():
            return value.isoformat(sep=" ")
        case _:
            return str(value)


def walk_nodes(node: SqlNode) -> Iterator[SqlNode]:
    """The node and all nodes in it, those of subqueries included."""
    yield node
    for part in parts_of(node):
        yield from walk_nodes(part)


def mapped(node: SqlNode, change: Callable[[SqlNode], SqlNode]) -> SqlNode:
    """A node whose parts, and itself, were changed: a node before its parts."""
    changed = change(node)
    made = changed
    for each in fields(changed):
        old = getattr(changed, each.name)
        new = old if each.name == "position" else _mapped_in(old, change)
        if new is not old:
            made = copy.copy(changed) if made is changed else made
            object.__setattr__(made, each.name, new)
    return made


def _mapped_in(value: object, change: Callable[[SqlNode], SqlNode]) -> object:
    if isinstance(value, SqlNode):
        return mapped(value, change)
    if isinstance(value, tuple):
        items = [_mapped_in(item, change) for item in value]
        same = all(new is old for new, old in zip(items, value, strict=True))
        return value if same else tuple(items)
    return value


def parts_of(node: SqlNode) -> Iterator[SqlNode]:
    """The nodes that a node is made of."""
    for each in fields(node):
        if each.name != "position":
            yield from _nodes_in(getattr(node, each.name))


def _nodes_in(value: object) -> Iterator[SqlNode]:
    if isinstance(value, SqlNode):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from _nodes_in(item)


def rewrite_nodes(
    node: SqlExpression, change: Callable[[SqlNode], SqlNode | None]
) -> SqlExpression:
    """The same with parts exchanged: `change` gives what replaces a part, None to go deeper."""
    found = _rewritten(node, change)
    assert isinstance(found, SqlExpression)
    return found


def _rewritten(value: object, change: Callable[[SqlNode], SqlNode | None]) -> object:
    if isinstance(value, TextPosition) or not isinstance(value, SqlNode | tuple):
        return value
    if isinstance(value, tuple):
        return tuple(_rewritten(item, change) for item in value)
    replaced = change(value)
    if replaced is not None:
        return replaced
    parts = {each.name: _rewritten(getattr(value, each.name), change) for each in fields(value)}
    return type(value)(**parts)  # type: ignore[arg-type]
