"""Conditions as SQL texts, for patterns that are data.

    degrees > 80 AND kind = 'heat'        columns of the event: a column expression
    price > LAST(first.price)             with the match so far: FIRST, LAST, SUM, AVG, MIN, MAX and
                                          COUNT of a stage; first.price alone is LAST(first.price)

In: texts of a pattern document.  Out: conditions for `Pattern.where`, and texts of them again.
Next: cep/documents.py
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, assert_never

from headrace.cep.conditions import AllOf, Always, AnyOf, Atom, IterativeCondition
from headrace.errors import HeadraceError, InvalidArgumentError
from headrace.expr.expressions import Expression
from headrace.expr.nodes import CallNode, ConstantNode, FieldNode, walk
from headrace.expr.rows import row_function
from headrace.sql import ast
from headrace.sql.keywords import RESERVED
from headrace.sql.parser import parse_expression
from headrace.sql.rendering import name_of, quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from headrace.cep.conditions import ConditionContext, EventCondition
    from headrace.expr.nodes import Node

COMPARISONS = {"=": "==", "<>": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
OPERATORS = COMPARISONS | {sign: sign for sign in "+-*/%"} | {"AND": "and", "OR": "or"}
# of SQL, and what it is among the functions of expressions; the second argument is a constant
FUNCTIONS = {
    "UPPER": ("upper", 1),
    "LOWER": ("lower", 1),
    "STARTSWITH": ("startswith", 2),
    "REGEXP": ("rlike", 2),
}


# --- the events that a match has for a stage -----------------------------------------------------


def _sum(values: Sequence[Any]) -> Any:
    return sum(values[1:], values[0])


def _average(values: Sequence[Any]) -> Any:
    return _sum(values) / len(values)


# of values that are not None, at least one; FIRST and LAST look at events, not at values
SUMMARIES: dict[str, Callable[[Sequence[Any]], Any]] = {
    "SUM": _sum,
    "AVG": _average,
    "MIN": min,
    "MAX": max,
}


@dataclass(frozen=True, slots=True)
class StageValue:
    """What a condition wants to know of the events that the match has for a stage.

    Attributes:
        function: FIRST, LAST, COUNT or one of `SUMMARIES`.
        column: None for COUNT(stage.*).
    """

    function: str
    stage: str
    column: str | None

    def of(self, events: Sequence[Any]) -> Any:
        """The value; None where there are no events, or only None."""
        if self.column is None:
            return len(events)
        read = row_function(FieldNode(self.column))
        if self.function in ("FIRST", "LAST"):
            return read(events[0 if self.function == "FIRST" else -1]) if events else None
        values = [value for value in map(read, events) if value is not None]
        if self.function == "COUNT":
            return len(values)
        return SUMMARIES[self.function](values) if values else None


class StageCondition(IterativeCondition):
    """A condition with values of the match so far.

    Args:
        text: as it was written.
        node: the condition; values of stages are fields ``$0``, ``$1`` and so on.
        values: what these fields are.
    """

    def __init__(self, text: str, node: Node, values: tuple[StageValue, ...]) -> None:
        self.text = text
        self.node = node
        self.values = values
        self._columns = {
            part.name: row_function(part)
            for part in walk(node)
            if isinstance(part, FieldNode) and not part.name.startswith("$")
        }
        self._holds = row_function(node)
        self.__qualname__ = text  # what explain and errors call it

    def __reduce__(self) -> tuple[Any, ...]:
        return StageCondition, (self.text, self.node, self.values)

    def filter(self, value: Any, ctx: ConditionContext) -> bool:
        """Whether it holds; nulls do not satisfy."""
        record = {name: read(value) for name, read in self._columns.items()}
        for place, wanted in enumerate(self.values):
            record[f"${place}"] = wanted.of(list(ctx.get_events_for_pattern(wanted.stage)))
        return self._holds(record) is True


# --- from text -----------------------------------------------------------------------------------


def condition_from_text(
    text: str, stages: Collection[str] = (), columns: Collection[str] | None = None
) -> Expression | StageCondition:
    """The condition that a text says.

    Args:
        text: an expression of SQL.
        stages: the names of the pattern's stages.
        columns: the names of the events' columns, if they are known.

    Raises:
        HeadraceError: it cannot be read, or wants what a condition cannot have.
    """
    reader = _ConditionReader(stages, columns)
    node = reader.node(parse_expression(text))
    if not reader.values:
        return Expression(node)
    return StageCondition(text, node, tuple(reader.values))


class _ConditionReader:
    """The syntax tree as nodes of an expression."""

    def __init__(self, stages: Collection[str], columns: Collection[str] | None) -> None:
        self._stages = stages
        self._columns = columns
        self.values: list[StageValue] = []

    def node(self, tree: ast.SqlExpression) -> Node:
        """One part of it."""
        match tree:
            case ast.Identifier(parts=(name,)):
                return FieldNode(self._column(name))
            case ast.Identifier(parts=(stage, name)):
                return self._value("LAST", stage, name)
            case ast.SqlLiteral():
                return ConstantNode(_constant(tree))
            case ast.UnaryOperation(operator=sign):
                return self._unary(sign, self.node(tree.operand))
            case ast.BinaryOperation(operator=sign) if sign in OPERATORS:
                return CallNode(OPERATORS[sign], (self.node(tree.left), self.node(tree.right)))
            case ast.FunctionCall():
                return self._call(tree)
            case _:
                return self._predicate(tree)

    def _predicate(self, tree: ast.SqlExpression) -> Node:
        match tree:
            case ast.Between(symmetric=False):
                operand = self.node(tree.operand)
                low = CallNode(">=", (operand, self.node(tree.low)))
                high = CallNode("<=", (operand, self.node(tree.high)))
                found: Node = CallNode("and", (low, high))
            case ast.InList():
                options = ConstantNode(tuple(self._given(item) for item in tree.items))
                found = CallNode("isin", (self.node(tree.operand), options))
            case ast.LikePredicate(operator="LIKE", escape=None):
                pattern = _like(self._given(tree.pattern))
                found = CallNode("rlike", (self.node(tree.operand), ConstantNode(pattern)))
            case ast.IsPredicate(what="NULL"):
                found = CallNode("is_null", (self.node(tree.operand),))
            case _:
                raise _cannot(tree)
        negated = tree.negated
        return CallNode("not", (found,)) if negated else found

    @staticmethod
    def _unary(sign: str, operand: Node) -> Node:
        if sign == "NOT":
            return CallNode("not", (operand,))
        if sign == "+":
            return operand
        if isinstance(operand, ConstantNode):
            return ConstantNode(-operand.value)
        return CallNode("-", (ConstantNode(0), operand))

    def _given(self, tree: ast.SqlExpression) -> Any:
        found = self.node(tree)
        if not isinstance(found, ConstantNode):
            raise InvalidArgumentError(
                "IN, LIKE, STARTSWITH and REGEXP compare with constants only",
                fix="write comparisons with = and OR",
            )
        return found.value

    def _call(self, tree: ast.FunctionCall) -> Node:
        name = tree.name[-1].upper()
        if name in ("FIRST", "LAST", "COUNT") or name in SUMMARIES:
            return self._stage_call(name, tree)
        if name not in FUNCTIONS:
            known = sorted([*FUNCTIONS, *SUMMARIES, "FIRST", "LAST", "COUNT"])
            raise InvalidArgumentError(
                f"conditions of pattern documents have no function {name}",
                fix=_near(name, known) or f"there are {', '.join(known)}",
            )
        function, count = FUNCTIONS[name]
        if len(tree.arguments) != count:
            raise InvalidArgumentError(
                f"{name} takes {count} arguments, not {len(tree.arguments)}",
                fix=f"write {name}({', '.join(('text', chr(39) + 'constant' + chr(39))[:count])})",
            )
        first, *rest = tree.arguments
        constants = (ConstantNode(self._given(part)) for part in rest)
        return CallNode(function, (self.node(first), *constants))

    def _stage_call(self, name: str, tree: ast.FunctionCall) -> Node:
        match tree.arguments:
            case (ast.Identifier(parts=(stage, column)),) if not tree.distinct:
                return self._value(name, stage, column)
            case (ast.Star(qualifier=(stage,)),) if name == "COUNT":
                return self._value(name, stage, None)
        raise InvalidArgumentError(
            f"{name} is about the events that a match has for a stage",
            fix=f"write {name}(stage.column)" + (" or COUNT(stage.*)" if name == "COUNT" else ""),
        )

    def _value(self, function: str, stage: str, column: str | None) -> Node:
        if stage not in self._stages:
            raise InvalidArgumentError(
                f"the pattern has no stage {stage!r}",
                fix=_near(stage, self._stages) or f"its stages are {', '.join(self._stages)}",
            )
        wanted = StageValue(function, stage, None if column is None else self._column(column))
        if wanted not in self.values:
            self.values.append(wanted)
        return FieldNode(f"${self.values.index(wanted)}")

    def _column(self, name: str) -> str:
        if self._columns is not None and name not in self._columns:
            raise InvalidArgumentError(
                f"events have no column {name!r}",
                fix=_near(name, self._columns) or f"they have {', '.join(self._columns)}",
            )
        return name


def _constant(tree: ast.SqlLiteral) -> Any:
    return float(tree.value) if isinstance(tree.value, Decimal) else tree.value


def _like(pattern: Any) -> str:
    """LIKE as a regular expression over the whole text."""
    if not isinstance(pattern, str):
        raise InvalidArgumentError(f"LIKE expects a text, not {pattern!r}", fix="name LIKE 'abc%'")
    parts = {"%": r"[\s\S]*", "_": r"[\s\S]"}
    return "^" + "".join(parts.get(sign, re.escape(sign)) for sign in pattern) + r"\Z"


def _near(name: str, known: Collection[str]) -> str | None:
    near = difflib.get_close_matches(name, known, n=1)
    return f"did you mean {near[0]!r}?" if near else None


def _cannot(tree: ast.SqlExpression) -> HeadraceError:
    return InvalidArgumentError(
        f"{type(tree).__name__} cannot stand in a condition of a pattern document",
        fix="use columns, constants, + - * / %, comparisons, AND, OR, NOT, BETWEEN, IN, LIKE, "
        "IS NULL and functions",
    )


# --- to text -------------------------------------------------------------------------------------


def text_from_condition(condition: EventCondition) -> str | None:
    """The text that says the same; None for a condition that every event satisfies.

    Raises:
        InvalidArgumentError: it is a Python function.
    """
    match condition:
        case Always():
            return None
        case AllOf() | AnyOf():
            word = "AND" if isinstance(condition, AllOf) else "OR"
            parts = [text_from_condition(part) for part in (condition.first, condition.second)]
            return f" {word} ".join(f"({part})" for part in parts)
        case Atom(given=Expression() as expression):
            return _text(expression.node)
        case Atom(given=StageCondition() as stage):
            return stage.text
    raise InvalidArgumentError(
        f"the condition {condition} is a Python function, and documents hold texts",
        fix="write it as a column expression, such as col('price') > 5",
    )


def _text(node: Node) -> str:
    match node:
        case FieldNode():
            plain = node.name.isidentifier() and node.name.upper() not in RESERVED
            return node.name if plain else name_of(node.name)
        case ConstantNode():
            return _constant_text(node.value)
        case CallNode(function="isin", arguments=(operand, ConstantNode(value=options))):
            listed = ", ".join(_constant_text(option) for option in options)
            return f"{_text(operand)} IN ({listed})"
        case CallNode(function="not", arguments=(operand,)):
            return f"NOT ({_text(operand)})"
        case CallNode(function="is_null", arguments=(operand,)):
            return f"{_text(operand)} IS NULL"
        case CallNode(arguments=(left, right)) if node.function in _SIGNS:
            return f"({_text(left)} {_SIGNS[node.function]} {_text(right)})"
        case CallNode():
            parts = ", ".join(_text(part) for part in node.arguments)
            return f"{_NAMES[node.function]}({parts})"
        case _:
            raise InvalidArgumentError(
                "a condition of a pattern has no window", fix="leave out aggregates over windows"
            )
    assert_never(node)


_SIGNS = {function: sign for sign, function in OPERATORS.items()}
_NAMES = {function: name for name, (function, _) in FUNCTIONS.items()}


def _constant_text(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return str(value).upper().replace("NONE", "NULL")
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str):
        return quoted(value)
    raise InvalidArgumentError(
        f"a {type(value).__name__} has no place in a condition of a document: {value!r}",
        fix="compare with numbers, texts and truth values",
    )
