"""Expressions of DEFINE and MEASURES: columns of variables, FIRST and LAST, aggregates over lines.

    in the condition of B    price, B.price     the line that is looked at now
                             A.price            the last line of A
                             LAST(price, 1)     the line before it in the match
    in a measure             price, B.price     the last line of the match, of B

In: expressions of the syntax tree.  Out: `MatchExpression`.  Next: match_recognize.py
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from headrace.common import data_types as t
from headrace.rel.functions import call, cast
from headrace.rel.nodes import TimeAttribute
from headrace.rel.resolve.constants import whole_number
from headrace.rel.resolve.expressions import ExpressionResolver
from headrace.rel.resolve.grouping import aggregate_call
from headrace.rel.resolve.problems import near, not_there, problem
from headrace.scalars.aggregate_rules import is_aggregate
from headrace.scalars.matches import AggregateLook, EventLook, MatchExpression, TimeLook
from headrace.scalars.nodes import Literal, Ref, Scalar
from headrace.scalars.types import is_integral
from headrace.sql import ast

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from headrace.rel.catalogs import FunctionSource
    from headrace.rel.resolve.scope import NameScope
    from headrace.scalars.matches import MatchLook

ALL_LINES = "*"


class MatchExpressionResolver(ExpressionResolver):
    """Resolves one measure, or the condition of one variable.

    Args:
        scope: of the table whose lines are matched.
        functions: finds functions of the user.
        variables: of the pattern.
        current: the variable whose condition it is; None for a measure.
        time: the place of the first column of ORDER BY.
    """

    def __init__(
        self,
        scope: NameScope,
        functions: FunctionSource,
        variables: tuple[str, ...],
        current: str | None,
        time: int,
    ) -> None:
        super().__init__(scope, functions)
        self._variables = variables
        self._current = current
        fields = [field for table in scope.tables for field in table.schema]
        self._time = fields[time]
        self._time_place = time
        self._looks: list[MatchLook] = []
        # of FIRST, LAST or an aggregate that is being resolved
        self._navigation: tuple[bool, int] | None = None
        self._inside: ast.FunctionCall | None = None
        self._seen: set[str] = set()

    def condition_of(self, node: ast.SqlExpression) -> MatchExpression:
        """A condition of DEFINE."""
        return MatchExpression(self.condition(node), tuple(self._looks))

    def measure_of(self, node: ast.SqlExpression) -> tuple[MatchExpression, TimeAttribute | None]:
        """A measure, and whether it is a time attribute."""
        found = MatchExpression(self.scalar(node), tuple(self._looks))
        look = found.looks[0] if len(found.looks) == 1 and isinstance(found.scalar, Ref) else None
        if not isinstance(look, TimeLook):
            return found, None
        return found, TimeAttribute.PROCTIME if look.processing else self._time.time

    # --- columns -------------------------------------------------------------------------------

    def _column(self, node: ast.Identifier) -> Scalar:
        """A column of a variable's line, or of the current one."""
        variable, parts = self._split(node)
        found = self.scope.find(parts, node)
        if not isinstance(found.column, Ref):
            raise problem(f"{'.'.join(parts)} is no column of the table that is matched", node)
        self._seen.add(variable or ALL_LINES)
        return self.with_fields(self._seen_at(variable, found.column), found.fields, node)

    def _split(self, node: ast.Identifier) -> tuple[str | None, tuple[str, ...]]:
        """The variable in front of a column, if there is one."""
        first = node.parts[0]
        if len(node.parts) == 1:
            return None, node.parts
        if first in self._variables:
            return first, node.parts[1:]
        known = [table.path[-1] for table in self.scope.tables]
        columns = [name for _, _, name in self.scope.columns()]
        if first not in known and first not in columns:
            raise problem(
                f"there is no variable {first} in PATTERN", node, near(first, self._variables)
            )
        return None, node.parts

    def _seen_at(self, variable: str | None, column: Ref) -> Scalar:
        if self._inside is not None and self._navigation is None:
            return column  # an aggregate takes the lines one by one
        first, offset = self._navigation or (False, 0)
        current = self._current is not None and variable in (None, self._current)
        if current and not first and offset == 0:
            return column
        return self._look(EventLook(variable, column.index, first, offset), column.type.nullable())

    def _look(self, look: MatchLook, kind: t.DataType) -> Scalar:
        if look not in self._looks:
            self._looks.append(look)
        return Ref(self.scope.width + self._looks.index(look), kind)

    # --- calls ---------------------------------------------------------------------------------

    def before(self, node: ast.SqlExpression) -> Scalar | None:
        """Columns of variables, and functions that look at the match."""
        if isinstance(node, ast.Identifier):
            return self._column(node)
        if not isinstance(node, ast.FunctionCall):
            return None
        name = node.name[-1].upper()
        handler = _CALLS.get(name) if len(node.name) == 1 else None
        if handler is not None:
            return handler(self, node)
        user = self.functions.find_function(node.name)
        if is_aggregate(name) or (user is not None and user.kind == "aggregate"):
            return self._aggregate(node)
        return None

    def _navigated(self, node: ast.FunctionCall) -> Scalar:
        name = node.name[0].upper()
        if self._inside is not None:
            raise problem(
                f"{name} cannot stand inside of {self._inside.name[0].upper()}", node,
                "look at the lines one by one, and compute behind it",
            )  # fmt: skip
        if len(node.arguments) not in (1, 2):
            raise problem(f"{name} takes an expression, and how many lines to go", node)
        offset = whole_number(node.arguments[1], "an offset") if len(node.arguments) == 2 else 0
        self._navigation = (name == "FIRST", offset)
        try:
            with self._one_variable(node):
                return self.scalar(node.arguments[0])
        finally:
            self._navigation = None

    @contextmanager
    def _one_variable(self, node: ast.FunctionCall) -> Iterator[None]:
        """All columns inside of a call have to be of one variable."""
        outside, self._seen, self._inside = self._seen, set(), node
        try:
            yield
            name = node.name[-1].upper()
            if not self._seen and self._navigation is None:
                raise problem(
                    f"{name} looks at the lines of a variable, but no column is named", node
                )
            if len(self._seen) > 1:
                shown = " and ".join(
                    "all lines" if each == ALL_LINES else each for each in sorted(self._seen)
                )
                raise problem(
                    f"{name} looks at the lines of one variable, not of {shown}",
                    node,
                    f"call {name} for each of them, and compute behind it",
                )
        finally:
            self._one = next(iter(self._seen), ALL_LINES)
            self._seen, self._inside = outside | self._seen, None

    def _aggregate(self, node: ast.FunctionCall) -> Scalar:
        name = node.name[-1].upper()
        if self._inside is not None:
            raise problem(f"{name} cannot stand inside of {self._inside.name[-1].upper()}", node)
        if node.distinct:
            raise not_there(f"{name}(DISTINCT ..) in MATCH_RECOGNIZE", node, "leave DISTINCT out")
        if node.filter is not None or node.over is not None:
            word = "OVER" if node.filter is None else "FILTER"
            raise not_there(f"{word} in MATCH_RECOGNIZE", node, "use CASE in the argument")
        if name == "COUNT" and len(node.arguments) > 1:
            raise not_there("COUNT of several columns in MATCH_RECOGNIZE", node, "count one column")
        stars = [each for each in node.arguments if isinstance(each, ast.Star)]
        if stars:
            return self._counted(node, stars[0])
        with self._one_variable(node):
            operands = tuple(self.scalar(each) for each in node.arguments)
        variable = None if self._one == ALL_LINES else self._one
        if name in _VARIANCES and len(operands) == 1 and is_integral(operands[0].type):
            return self._variance(node, variable, operands[0], *_VARIANCES[name])
        return self._aggregated(node, variable, operands)

    def _counted(self, node: ast.FunctionCall, star: ast.Star) -> Scalar:
        """``COUNT(*)``: all lines of the match."""
        if star.qualifier:
            raise not_there(
                f"{node.name[-1]}({'.'.join(star.qualifier)}.*)", node, "count one of its columns"
            )
        return self._aggregated(node, None, ())

    def _aggregated(
        self, node: ast.FunctionCall, variable: str | None, operands: tuple[Scalar, ...]
    ) -> Scalar:
        made, casted = aggregate_call(node, operands, self.functions)
        # a variable may have no line: then all but COUNT are NULL
        kind = made.type if made.function == "COUNT" else made.type.nullable()
        places = tuple(range(len(casted)))
        look = AggregateLook(variable, replace(made, arguments=places, type=kind), casted)
        return self._look(look, kind)

    def _variance(
        self,
        node: ast.FunctionCall,
        variable: str | None,
        operand: Scalar,
        sample: bool,  # noqa: FBT001 - a row of the table below
        root: bool,  # noqa: FBT001
    ) -> Scalar:
        """Of whole numbers: in whole numbers, as Flink computes it here and nowhere else."""
        kind = operand.type.nullable()

        def over_lines(name: str, scalar: Scalar) -> Scalar:
            return cast(self._aggregated(replace(node, name=(name,)), variable, (scalar,)), kind)

        def whole(name: str, *parts: Scalar) -> Scalar:
            return cast(call(name, parts, node), kind)

        squares = over_lines("SUM", whole("*", operand, operand))
        total, count = over_lines("SUM", operand), over_lines("COUNT", operand)
        one = Literal(1, t.IntType().not_null())
        rest = whole("-", squares, whole("/", whole("*", total, total), count))
        less = whole("NULLIF", whole("-", count, one), Literal(0, t.IntType().not_null()))
        found = whole("/", rest, less if sample else count)
        half = Literal(0.5, t.DoubleType().not_null())
        return whole("POWER", found, half) if root else found

    # --- what is special -----------------------------------------------------------------------

    def _at_the_line(self, node: ast.FunctionCall) -> Scalar:
        """PREV and NEXT: lines outside of the match, which are not kept."""
        name = node.name[0].upper()
        offset = whole_number(node.arguments[1], "an offset") if len(node.arguments) == 2 else 1
        if self._current is None or offset or self._inside is not None:
            raise not_there(
                f"{name}, which counts lines of the table,", node, "use LAST(variable.column, 1)"
            )
        self._navigation = (False, 0)
        try:
            with self._one_variable(node):
                return self.scalar(node.arguments[0])
        finally:
            self._navigation = None

    def _final(self, node: ast.FunctionCall) -> Scalar:
        if self._current is not None:
            name = node.name[0].upper()
            raise problem(f"{name} stands in MEASURES, not in DEFINE", node, "leave it out")
        return self.scalar(node.arguments[0])

    def _running(self, node: ast.FunctionCall) -> Scalar:
        raise not_there("RUNNING", node, "a match has one line: leave it out")

    def _unknown(self, node: ast.FunctionCall) -> Scalar:
        raise not_there(
            f"{node.name[0].upper()}()", node, "tell variables apart by columns of theirs"
        )

    def _match_time(self, node: ast.FunctionCall) -> Scalar:
        name = node.name[0].upper()
        if name == "MATCH_PROCTIME":
            if node.arguments:
                raise problem("MATCH_PROCTIME() takes no argument", node)
            return self._look(TimeLook(processing=True), t.LocalZonedTimestampType(3).not_null())
        kind = self._rowtime_type(node)
        if self._current is not None:  # the match ends, as far as is known, with the current line
            return Ref(self._time_place, kind)
        return self._look(TimeLook(), kind)

    def _rowtime_type(self, node: ast.FunctionCall) -> t.DataType:
        if self._time.time is TimeAttribute.PROCTIME:
            raise problem(
                "MATCH_ROWTIME() is event time, but lines are ordered by processing time",
                node,
                "use MATCH_PROCTIME()",
            )
        if len(node.arguments) > 1:
            raise problem("MATCH_ROWTIME takes the rowtime column at most", node)
        for argument in node.arguments:
            found = self.identifier(argument) if isinstance(argument, ast.Identifier) else None
            if not isinstance(found, Ref) or not self.scope.is_rowtime(found):
                raise problem("MATCH_ROWTIME takes a rowtime column", node)
        return self._time.type.not_null()


# whether it is of a sample, and whether the root of it is taken
_VARIANCES = {
    "VAR_POP": (False, False),
    "VAR_SAMP": (True, False),
    "VARIANCE": (True, False),
    "STDDEV_POP": (False, True),
    "STDDEV_SAMP": (True, True),
    "STDDEV": (True, True),
}
_CALLS: dict[str, Callable[[MatchExpressionResolver, ast.FunctionCall], Scalar]] = {
    "FIRST": MatchExpressionResolver._navigated,
    "LAST": MatchExpressionResolver._navigated,
    "PREV": MatchExpressionResolver._at_the_line,
    "NEXT": MatchExpressionResolver._at_the_line,
    "FINAL": MatchExpressionResolver._final,
    "RUNNING": MatchExpressionResolver._running,
    "CLASSIFIER": MatchExpressionResolver._unknown,
    "MATCH_NUMBER": MatchExpressionResolver._unknown,
    "MATCH_ROWTIME": MatchExpressionResolver._match_time,
    "MATCH_PROCTIME": MatchExpressionResolver._match_time,
}
