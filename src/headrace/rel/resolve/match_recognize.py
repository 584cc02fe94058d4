"""MATCH_RECOGNIZE: a pattern over the lines of each partition, with conditions and measures.

    PATTERN (A B+ C) DEFINE B AS B.price < A.price     ──▶   stages A, B+, C
    MEASURES LAST(B.price) AS low                      ──▶   a scalar over what it sees of a match

In: the clause of the syntax tree.  Out: a RowMatch node.  What Flink does not have of the
standard is refused at its place in the text.  Next: match_expressions.py has the expressions
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from headrace.cep.compiler import compile_pattern
from headrace.cep.matching.patterns import pattern_of
from headrace.cep.pattern import END_STATE, NAME_DELIMITER
from headrace.common import data_types as t
from headrace.errors import InvalidArgumentError
from headrace.rel import nodes as n
from headrace.rel.conditions import conjunction, conjuncts
from headrace.rel.resolve.constants import milliseconds
from headrace.rel.resolve.expressions import ExpressionResolver
from headrace.rel.resolve.match_expressions import MatchExpressionResolver
from headrace.rel.resolve.over import nulls_last
from headrace.rel.resolve.problems import near, not_there, problem
from headrace.scalars.compile import is_deterministic
from headrace.scalars.matches import MatchSkip, MatchStage
from headrace.scalars.nodes import Ref, columns_of
from headrace.sql import ast
from headrace.sql import query_ast as q

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.rel.catalogs import FunctionSource
    from headrace.rel.resolve.from_clause import From
    from headrace.scalars.matches import MatchExpression

_FIX = "ORDER BY a time attribute first: the column of WATERMARK FOR, or PROCTIME()"
_TIMES = (t.TimestampType, t.LocalZonedTimestampType)


def match_recognize(source: From, node: q.MatchRecognize, functions: FunctionSource) -> n.RowMatch:
    """The node of a clause.

    Args:
        source: the table in front of it.
        node: the clause.
        functions: finds functions of the user.

    Raises:
        SqlError: it asks for what Flink does not have, or names what is not there.
    """
    _refuse(node)
    rel = source.rel()
    stages = tuple(_stages(node.pattern))
    _check_stages(stages, node)
    columns = ExpressionResolver(source.scope, functions)
    partition = tuple(_column(columns, each, "PARTITION BY") for each in node.partition_by)
    order = _order(columns, node)
    clause = _Clause(rel, order, source, functions, tuple(stage.variable for stage in stages))
    conditions = clause.conditions(node)
    measures, fields = clause.measures(node, partition)
    return n.RowMatch(
        rel,
        partition,
        order,
        tuple(_defined(stage, conditions.get(stage.variable), len(rel.schema)) for stage in stages),
        measures,
        _skip(node, [stage.variable for stage in stages]),
        _within(node),
        schema=(*(rel.schema[place]._replace(time=None) for place in partition), *fields),
    )


def _defined(stage: MatchStage, condition: MatchExpression | None, width: int) -> MatchStage:
    """A stage with its condition."""
    if condition is None:
        return stage
    alone = [
        part
        for part in conjuncts(condition.scalar)
        if all(column < width for column in columns_of(part)) and is_deterministic(part)
    ]
    return replace(stage, condition=condition, prefilter=conjunction(alone))


class _Clause:
    """What the expressions of one clause share."""

    def __init__(
        self,
        rel: n.Rel,
        order: tuple[n.SortKey, ...],
        source: From,
        functions: FunctionSource,
        variables: tuple[str, ...],
    ) -> None:
        self._rel, self._order, self._source = rel, order, source
        self._functions, self._variables = functions, variables

    def _resolver(self, current: str | None) -> MatchExpressionResolver:
        time = self._order[0].column
        return MatchExpressionResolver(
            self._source.scope, self._functions, self._variables, current, time
        )

    def conditions(self, node: q.MatchRecognize) -> dict[str, MatchExpression]:
        """Of the variables that DEFINE names."""
        found: dict[str, MatchExpression] = {}
        for variable, expression in node.define:
            if variable in found:
                raise problem(f"DEFINE has two conditions for {variable}", expression)
            found[variable] = self._resolver(variable).condition_of(expression)
        return found

    def measures(
        self, node: q.MatchRecognize, partition: tuple[int, ...]
    ) -> tuple[tuple[MatchExpression, ...], list[n.Field]]:
        """The measures, and their columns."""
        if not node.measures:
            raise problem(
                "MATCH_RECOGNIZE has no MEASURES, so its result would have no columns of a match",
                node,
                "say what to give of a match: MEASURES A.price AS price",
            )
        taken = {self._rel.schema[place].name: "a column of PARTITION BY" for place in partition}
        found, fields = [], []
        for measure in node.measures:
            if measure.alias in taken:
                raise problem(
                    f"measure {measure.alias} is called like {taken[measure.alias]}",
                    measure,
                    "give it another name behind AS",
                )
            taken[measure.alias] = "another measure"
            expression, time = self._resolver(None).measure_of(measure.expression)
            found.append(expression)
            fields.append(n.Field(measure.alias, expression.scalar.type, time))
        return tuple(found), fields


def _refuse(node: q.MatchRecognize) -> None:
    if node.rows_per_match == "ALL":
        place = _at(node, "ROWS")
        raise not_there("ALL ROWS PER MATCH", place, "write ONE ROW PER MATCH, as Flink has it")
    if node.subsets:
        raise not_there(
            "SUBSET",
            _at(node, "SUBSET"),
            "name the variables themselves, or no variable for all lines",
        )


def _at(node: q.MatchRecognize, clause: str) -> ast.SqlNode:
    """A clause, for errors."""
    return replace(node, position=node.clauses.get(clause, node.position))


# --- the pattern ---------------------------------------------------------------------------------


def _stages(node: q.PatternNode) -> Iterator[MatchStage]:
    """The variables of a pattern in order, without conditions."""
    match node:
        case q.PatternConcatenation():
            for part in node.parts:
                yield from _stages(part)
        case q.PatternVariable(name="^" | "$"):
            raise not_there(f"the anchor {node.name}", node, "streams have no first and last line")
        case q.PatternVariable():
            yield MatchStage(node.name)
        case q.PatternQuantifier():
            yield _repeated(node)
        case q.PatternAlternation():
            raise not_there("| in PATTERN", node, "put the choice into a condition of DEFINE: OR")
        case q.PatternPermutation():
            raise not_there("PERMUTE in PATTERN", node, "write a query for each order, UNION ALL")
        case q.PatternExclusion():
            raise not_there("{- -} in PATTERN", node, "leave the variable out of MEASURES")
        case _:
            raise problem(f"{type(node).__name__} cannot stand in PATTERN", node)


def _repeated(node: q.PatternQuantifier) -> MatchStage:
    if not isinstance(node.part, q.PatternVariable):
        raise not_there("a group that repeats", node, "repeat single variables: A+ B")
    if node.maximum is not None and node.maximum < max(1, node.minimum):
        raise problem(
            f"{node.part.name} cannot repeat {node.minimum} to {node.maximum} times", node
        )
    if not node.greedy and (node.minimum, node.maximum) == (0, 1):
        raise not_there(
            "a reluctant ?? in PATTERN", node, f"write {node.part.name}? or {node.part.name}*?"
        )
    return MatchStage(
        node.part.name, minimum=node.minimum, maximum=node.maximum, greedy=node.greedy
    )


def _check_stages(stages: tuple[MatchStage, ...], node: q.MatchRecognize) -> None:
    names = [stage.variable for stage in stages]
    odd = next((name for name in names if NAME_DELIMITER in name or name == END_STATE), None)
    if odd is not None:
        raise problem(f"a variable cannot be called {odd}", node.pattern, "use letters and digits")
    twice = next((name for place, name in enumerate(names) if name in names[:place]), None)
    if twice is not None:
        raise not_there(f"variable {twice} twice in PATTERN", node.pattern, "give it two names")
    if all(stage.minimum == 0 for stage in stages):
        raise not_there(
            "a pattern that matches no line at all",
            node.pattern,
            f"let at least one variable have a line: {names[0]}+?",
        )
    last = stages[-1]
    if _is_greedy(last):
        raise not_there(
            f"a greedy {last.variable}{last.quantifier} at the end of PATTERN",
            node.pattern,
            "it would wait for ever for one line more: end with a single variable, or with "
            f"{last.variable}{last.quantifier}?",
        )
    for before, stage in pairwise(stages):
        if _is_greedy(before) and stage.minimum == 0 and stage.maximum in (None, 1):
            greedy = f"{before.variable}{before.quantifier}"
            raise not_there(
                f"{stage.variable}{stage.quantifier}, which may have no line, behind a greedy "
                f"{greedy}",
                node.pattern,
                f"write {greedy}?, or let {stage.variable} have a line",
            )
    try:
        compile_pattern(pattern_of(stages, {}, MatchSkip(), None))
    except InvalidArgumentError as error:  # whatever else the automaton does not take
        raise problem(error.message, node.pattern, error.fix) from error


def _is_greedy(stage: MatchStage) -> bool:
    """Whether it has the choice to take more lines, and takes it."""
    fixed = stage.minimum == stage.maximum or (stage.minimum, stage.maximum) == (0, 1)
    return stage.greedy and not fixed


# --- order, time, skipping -----------------------------------------------------------------------


def _column(columns: ExpressionResolver, node: ast.SqlExpression, where: str) -> int:
    if isinstance(node, ast.Identifier):
        found = columns.scalar(node)
        if isinstance(found, Ref):
            return found.index
    raise not_there(f"an expression in {where}", node, "compute it before, in a subquery")


def _order(columns: ExpressionResolver, node: q.MatchRecognize) -> tuple[n.SortKey, ...]:
    order = tuple(
        n.SortKey(_column(columns, item.expression, "ORDER BY"), item.descending, nulls_last(item))
        for item in node.order_by
    )
    if not order:
        raise problem("MATCH_RECOGNIZE has no ORDER BY: lines do not follow each other", node, _FIX)
    first = node.order_by[0]
    if not isinstance(columns.scope.column_at(order[0].column).type, _TIMES):
        raise problem("the first column of ORDER BY is no time", first, _FIX)
    if first.descending:
        raise problem("time only goes forwards: ORDER BY of a time is ascending", first, _FIX)
    return order


def _within(node: q.MatchRecognize) -> int | None:
    if node.within is None:
        return None
    found = milliseconds(node.within, "WITHIN")
    if found <= 0:
        raise problem("WITHIN says how long a match may last: more than no time", node.within)
    return found


def _skip(node: q.MatchRecognize, variables: list[str]) -> MatchSkip:
    if node.after_match is None:
        return MatchSkip("NEXT ROW")
    if node.after_variable is not None and node.after_variable not in variables:
        raise problem(
            f"AFTER MATCH SKIP goes to {node.after_variable}, which is not in PATTERN",
            _at(node, "AFTER"),
            near(node.after_variable, variables),
        )
    return MatchSkip(node.after_match, node.after_variable)
