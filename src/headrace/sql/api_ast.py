"""What only the Table API can say: nodes beside those of ast.py that no text becomes.

    lit(1, DataTypes.BIGINT())   ──▶   TypedLiteral(1, BIGINT)
    my_udf(col("a")).alias("b")  ──▶   AliasedExpression(InlineCall(my_udf, (a,)), ("b",))

In: table/expression.py.  Out: rel/ resolves them.  Next: ast.py has the others
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from headrace.sql.ast import SqlExpression
from headrace.sql.query_ast import SqlQuery

if TYPE_CHECKING:
    from headrace.common.data_types import DataType
    from headrace.common.opaque import Record, UserFunction

__all__ = [
    "AliasedExpression",
    "ColumnRange",
    "FieldByIndex",
    "InlineCall",
    "OverMark",
    "RelationQuery",
    "RowInterval",
    "SelectedColumns",
    "TypedCast",
    "TypedLiteral",
    "WindowPropertyAccess",
]


@dataclass(frozen=True, slots=True)
class TypedLiteral(SqlExpression):
    """A constant with its type, as the Python value that scalars have for it."""

    value: Record
    type: DataType


@dataclass(frozen=True, slots=True)
class TypedCast(SqlExpression):
    """CAST to a type that is known already, or TRY_CAST if it is lenient."""

    operand: SqlExpression
    type: DataType
    lenient: bool = False


@dataclass(frozen=True, slots=True)
class AliasedExpression(SqlExpression):
    """``expression AS name``; several names are for the columns of a table function."""

    operand: SqlExpression
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class InlineCall(SqlExpression):
    """A call of a function that is in no catalog: of the definition that udf, udtf, .. made.

    Attributes:
        function: a `UserFunctionDefinition` (api/table/definitions.py).
        arguments: what it is called with; `Star` alone for all columns as one row.
        distinct: whether equal arguments count once, of aggregates.
    """

    function: UserFunction
    arguments: tuple[SqlExpression, ...] = ()
    distinct: bool = False
    over: str | None = None


@dataclass(frozen=True, slots=True)
class FieldByIndex(SqlExpression):
    """A field of a ROW by its place, from 0."""

    operand: SqlExpression
    index: int


@dataclass(frozen=True, slots=True)
class WindowPropertyAccess(SqlExpression):
    """``w.start``, ``w.end``, ``w.rowtime`` or ``w.proctime`` of a group window by its alias.

    Outside of windows rowtime and proctime mark a column that from_data_stream adds.
    """

    operand: SqlExpression
    what: Literal["start", "end", "rowtime", "proctime"]


@dataclass(frozen=True, slots=True)
class ColumnRange(SqlExpression):
    """``range_("a", "c")``: columns from one to another, by name or by place from 1."""

    start: str | int
    end: str | int


@dataclass(frozen=True, slots=True)
class SelectedColumns(SqlExpression):
    """with_columns, or without_columns if `others`: names, places and ranges."""

    items: tuple[SqlExpression, ...]
    others: bool = False


@dataclass(frozen=True, slots=True)
class RowInterval(SqlExpression):
    """``row_interval(5)``: so many lines."""

    rows: int


@dataclass(frozen=True, slots=True)
class OverMark(SqlExpression):
    """A bound of an over window without a number."""

    name: Literal["UNBOUNDED_ROW", "UNBOUNDED_RANGE", "CURRENT_ROW", "CURRENT_RANGE"]


@dataclass(frozen=True, slots=True)
class RelationQuery(SqlQuery):
    """A `Table` where a query may stand, as in ``col("a").in_(table)``: a `Rel`."""

    rel: Record
