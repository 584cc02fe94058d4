"""Windows of the Table API: Tumble, Slide and Session for groups, Over for lines around each.

    Tumble.over(lit(5).minutes).on(col("ts")).alias("w")   ──▶   GroupWindow

In: the user's program.  Out: nodes of the syntax tree.  Next: table/table.py takes them
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from headrace.errors import InvalidArgumentError
from headrace.sql import ast
from headrace.sql.api_ast import OverMark, RowInterval, TypedLiteral
from headrace.table.expressing.base import operand

if TYPE_CHECKING:
    from headrace.table.expression import Expression

__all__ = ["GroupWindow", "Over", "OverWindow", "Session", "Slide", "Tumble"]


@dataclass(frozen=True)
class GroupWindow:
    """A window for `Table.window`.

    Attributes:
        kind: which windows.
        size: an interval of time, or of lines; of sessions the gap.
        slide: of sliding windows.
        time: the time attribute.
        name: its alias.
    """

    kind: Literal["tumble", "hop", "session"]
    size: ast.SqlExpression
    slide: ast.SqlExpression | None = None
    time: ast.SqlExpression | None = None
    name: str = ""


class _OnTime:
    def __init__(self, window: GroupWindow) -> None:
        self._window = window

    def alias(self, alias: str) -> GroupWindow:
        """The window under a name, by which select can ask for its start and end."""
        name = alias if isinstance(alias, str) else str(alias)
        return replace(self._window, name=name)


class _WithSize:
    def __init__(self, window: GroupWindow) -> None:
        self._window = window

    def _on(self, time_field: Expression[Any]) -> GroupWindow:
        return replace(self._window, time=operand(time_field)._value)


class TumbleWithSize(_WithSize):
    """Tumbling windows that know their size."""

    def on(self, time_field: Expression[Any]) -> TumbleWithSizeOnTime:
        """By a time attribute."""
        return TumbleWithSizeOnTime(self._on(time_field))


class TumbleWithSizeOnTime(_OnTime):
    """Tumbling windows that lack a name."""


class Tumble:
    """Windows of a fixed size, one behind the other."""

    @classmethod
    def over(cls, size: Expression[Any]) -> TumbleWithSize:
        """So long, or of so many lines."""
        return TumbleWithSize(GroupWindow("tumble", operand(size)._value))


class SlideWithSizeAndSlide(_WithSize):
    """Sliding windows that know their size and slide."""

    def on(self, time_field: Expression[Any]) -> SlideWithSizeAndSlideOnTime:
        """By a time attribute."""
        return SlideWithSizeAndSlideOnTime(self._on(time_field))


class SlideWithSizeAndSlideOnTime(_OnTime):
    """Sliding windows that lack a name."""


class SlideWithSize(_WithSize):
    """Sliding windows that know their size."""

    def every(self, slide: Expression[Any]) -> SlideWithSizeAndSlide:
        """How far apart they begin."""
        return SlideWithSizeAndSlide(replace(self._window, slide=operand(slide)._value))


class Slide:
    """Windows of a fixed size that begin a fixed distance apart."""

    @classmethod
    def over(cls, size: Expression[Any]) -> SlideWithSize:
        """So long, or of so many lines."""
        return SlideWithSize(GroupWindow("hop", operand(size)._value))


class SessionWithGap(_WithSize):
    """Sessions that know their gap."""

    def on(self, time_field: Expression[Any]) -> SessionWithGapOnTime:
        """By a time attribute."""
        return SessionWithGapOnTime(self._on(time_field))


class SessionWithGapOnTime(_OnTime):
    """Sessions that lack a name."""


class Session:
    """Windows that end after a time without lines."""

    @classmethod
    def with_gap(cls, gap: Expression[Any]) -> SessionWithGap:
        """How long nothing comes before one ends."""
        return SessionWithGap(GroupWindow("session", operand(gap)._value))


# --- over ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class OverWindow:
    """A window for `Table.over_window`.

    Attributes:
        name: its alias.
        window: as OVER (...) of SQL has it.
    """

    name: str
    window: ast.OverClause


@dataclass(frozen=True)
class _OverParts:
    partition_by: tuple[ast.SqlExpression, ...] = ()
    order_by: ast.SortItem | None = None
    preceding: ast.SqlExpression | None = None
    following: ast.SqlExpression | None = None

    def named(self, alias: Any) -> OverWindow:
        assert self.order_by is not None
        window = ast.OverClause(
            None, self.partition_by, (self.order_by,), _frame(self.preceding, self.following)
        )
        return OverWindow(alias if isinstance(alias, str) else str(alias), window)


class OverWindowPartitionedOrderedPreceding:
    """An over window that lacks a name."""

    def __init__(self, parts: _OverParts) -> None:
        self._parts = parts

    def alias(self, alias: str) -> OverWindow:
        """The window under a name, for ``over``."""
        return self._parts.named(alias)

    def following(self, following: Expression[Any]) -> OverWindowPartitionedOrderedPreceding:
        """Up to where behind each line: CURRENT_ROW or CURRENT_RANGE."""
        parts = replace(self._parts, following=operand(following)._value)
        return OverWindowPartitionedOrderedPreceding(parts)


class OverWindowPartitionedOrdered:
    """An over window in order; without `preceding` from the first line on."""

    def __init__(self, parts: _OverParts) -> None:
        self._parts = parts

    def alias(self, alias: str) -> OverWindow:
        """The window under a name, for ``over``."""
        return self._parts.named(alias)

    def preceding(self, preceding: Expression[Any]) -> OverWindowPartitionedOrderedPreceding:
        """From where before each line on: an interval, a row_interval, or UNBOUNDED_..."""
        parts = replace(self._parts, preceding=operand(preceding)._value)
        return OverWindowPartitionedOrderedPreceding(parts)


class OverWindowPartitioned:
    """An over window that lacks its order."""

    def __init__(self, parts: _OverParts) -> None:
        self._parts = parts

    def order_by(self, order_by: Expression[Any]) -> OverWindowPartitionedOrdered:
        """By a time attribute, or by another column."""
        return OverWindowPartitionedOrdered(replace(self._parts, order_by=_sort_item(order_by)))


class Over:
    """Windows of the lines around each line."""

    @classmethod
    def order_by(cls, order_by: Expression[Any]) -> OverWindowPartitionedOrdered:
        """By a time attribute, or by another column."""
        return OverWindowPartitioned(_OverParts()).order_by(order_by)

    @classmethod
    def partition_by(cls, *partition_by: Expression[Any]) -> OverWindowPartitioned:
        """Apart for each value of some columns."""
        return OverWindowPartitioned(
            _OverParts(tuple(operand(each)._value for each in partition_by))
        )


def _sort_item(given: Expression[Any]) -> ast.SortItem:
    node = operand(given)._node
    return node if isinstance(node, ast.SortItem) else ast.SortItem(operand(given)._value)


_ROWS = ("UNBOUNDED_ROW", "CURRENT_ROW")


def _frame(
    preceding: ast.SqlExpression | None, following: ast.SqlExpression | None
) -> ast.WindowFrame:
    """What lies between two bounds; by default from the first line up to this one."""
    preceding = OverMark("UNBOUNDED_RANGE") if preceding is None else _counted(preceding)
    following = None if following is None else _counted(following)
    rows = isinstance(preceding, RowInterval) or _marks_rows(preceding)
    if following is not None and rows != (
        isinstance(following, RowInterval) or _marks_rows(following)
    ):
        raise InvalidArgumentError(
            "preceding and following are both of lines, or both of time",
            fix="use CURRENT_ROW with lines, CURRENT_RANGE with time",
        )
    return ast.WindowFrame("ROWS" if rows else "RANGE", _bound(preceding), _end(following))


def _counted(node: ast.SqlExpression) -> ast.SqlExpression:
    """A whole number counts lines, as `row_interval` does."""
    if isinstance(node, ast.SqlLiteral | TypedLiteral) and type(node.value) is int:
        return RowInterval(node.value)
    return node


def _marks_rows(node: ast.SqlExpression) -> bool:
    return isinstance(node, OverMark) and node.name in _ROWS


def _bound(node: ast.SqlExpression) -> ast.FrameBound:
    if isinstance(node, OverMark):
        if node.name.startswith("UNBOUNDED"):
            return ast.FrameBound("PRECEDING")
        return ast.FrameBound("CURRENT ROW")
    if isinstance(node, RowInterval):
        return ast.FrameBound("PRECEDING", ast.literal(node.rows))
    return ast.FrameBound("PRECEDING", node)


def _end(node: ast.SqlExpression | None) -> ast.FrameBound:
    if node is None or (isinstance(node, OverMark) and node.name.startswith("CURRENT")):
        return ast.FrameBound("CURRENT ROW")
    if isinstance(node, OverMark):
        return ast.FrameBound("FOLLOWING")
    value = ast.literal(node.rows) if isinstance(node, RowInterval) else node
    return ast.FrameBound("FOLLOWING", value)
