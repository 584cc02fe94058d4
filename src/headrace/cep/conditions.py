"""Conditions of a pattern: what an event has to be like.

    where(lambda event: ...)              simple: of the event alone
    where(lambda event, ctx: ...)         iterative: ctx has the events of the match so far
    where(col("price") > 5)               a column expression: evaluated a batch at a time
    where(c1).where(c2), where(c1).or_(c2), subtype(Login)

In: what users pass.  Out: a tree of `EventCondition`.  Next: cep/compiler.py puts them on edges
"""

from __future__ import annotations

import functools
import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from headrace.errors import ArgumentTypeError
from headrace.expr.expressions import Expression
from headrace.expr.nodes import text_of
from headrace.runtime.operators.base import user_code_error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from headrace.api.functions import RuntimeContext
    from headrace.common.call_site import CallSite
    from headrace.errors import UserFunctionError

__all__ = [
    "ConditionContext",
    "IterativeCondition",
    "RichIterativeCondition",
    "SimpleCondition",
]


class ConditionContext(Protocol):
    """What an iterative condition knows beside the event."""

    def get_events_for_pattern(self, name: str) -> Iterable[Any]:
        """The events that the partial match has for a stage so far, in order."""
        ...

    def timestamp(self) -> int:
        """The time of the event: its timestamp, in processing time when it came."""
        ...

    def current_processing_time(self) -> int:
        """The wall clock in epoch milliseconds."""
        ...


class IterativeCondition:
    """A condition that looks at the events of the match so far; override `filter`."""

    def filter(self, value: Any, ctx: ConditionContext) -> bool:
        """Whether an event satisfies the condition."""
        raise NotImplementedError


class RichIterativeCondition(IterativeCondition):
    """An iterative condition with an opening and a closing."""

    def open(self, runtime_context: RuntimeContext) -> None:
        """Called once in a worker, before any event."""

    def close(self) -> None:
        """Called when no more events come."""


class SimpleCondition:
    """A condition of the event alone; override `filter`, or pass a function."""

    def __init__(self, function: Callable[[Any], Any] | None = None) -> None:
        self._function = function

    @staticmethod
    def of(function: Callable[[Any], Any]) -> SimpleCondition:
        """The condition that a function decides."""
        return SimpleCondition(function)

    def filter(self, value: Any) -> bool:
        """Whether an event satisfies the condition."""
        if self._function is None:
            raise NotImplementedError
        return bool(self._function(value))


# --- the tree ------------------------------------------------------------------------------------


class EventCondition:
    """A node of the tree.

    Attributes:
        is_iterative: whether it needs the events of the match so far.
    """

    is_iterative: bool

    def test(self, event: Any, ctx: ConditionContext | None) -> bool:
        """Whether an event satisfies it."""
        raise NotImplementedError

    def may_hold(self, event: Any) -> bool | None:
        """What the event alone says: yes, no, or None where only the match so far can tell."""
        return self.test(event, None)

    def atoms(self) -> Iterable[Atom]:
        """What users have passed, in order."""
        return ()


class Always(EventCondition):
    """No condition: every event satisfies it."""

    is_iterative = False

    def test(self, event: Any, ctx: ConditionContext | None) -> bool:
        """Yes."""
        return True

    def __str__(self) -> str:
        return "any event"


@dataclass(frozen=True, slots=True)
class Atom(EventCondition):
    """One condition as the user passed it.

    Attributes:
        given: the user's object.
        call: the function of event and, for an iterative one, context.
        text: how explain shows it.
        where: the line that passed it.
    """

    given: Any
    call: Callable[..., Any]
    text: str
    where: CallSite | None = None
    is_iterative: bool = False

    def test(self, event: Any, ctx: ConditionContext | None) -> bool:
        """Ask the user's function."""
        return bool(self.call(event, ctx) if self.is_iterative else self.call(event))

    def may_hold(self, event: Any) -> bool | None:
        """Simple ones know."""
        return None if self.is_iterative else bool(self.call(event))

    def atoms(self) -> Iterable[Atom]:
        """Itself."""
        return (self,)

    def __str__(self) -> str:
        return self.text


class AllOf(EventCondition):
    """where(...).where(...): the second is asked only where the first holds."""

    def __init__(self, first: EventCondition, second: EventCondition) -> None:
        self.first, self.second = first, second
        self.is_iterative = first.is_iterative or second.is_iterative

    def test(self, event: Any, ctx: ConditionContext | None) -> bool:
        """Both."""
        return self.first.test(event, ctx) and self.second.test(event, ctx)

    def may_hold(self, event: Any) -> bool | None:
        """No as soon as one says no; what comes behind an unknown one may rely on it."""
        first = self.first.may_hold(event)
        if first is None:
            return None
        return first and self.second.may_hold(event)

    def atoms(self) -> Iterable[Atom]:
        """Those of both."""
        return (*self.first.atoms(), *self.second.atoms())

    def __str__(self) -> str:
        return f"{_grouped(self.first)} and {_grouped(self.second)}"


class AnyOf(EventCondition):
    """where(...).or_(...): the second is asked only where the first does not hold."""

    def __init__(self, first: EventCondition, second: EventCondition) -> None:
        self.first, self.second = first, second
        self.is_iterative = first.is_iterative or second.is_iterative

    def test(self, event: Any, ctx: ConditionContext | None) -> bool:
        """One of them."""
        return self.first.test(event, ctx) or self.second.test(event, ctx)

    def may_hold(self, event: Any) -> bool | None:
        """Yes as soon as one says yes."""
        first = self.first.may_hold(event)
        if first is None:
            return None
        return first or self.second.may_hold(event)

    def atoms(self) -> Iterable[Atom]:
        """Those of both."""
        return (*self.first.atoms(), *self.second.atoms())

    def __str__(self) -> str:
        return f"{_grouped(self.first)} or {_grouped(self.second)}"


def _grouped(condition: EventCondition) -> str:
    return str(condition) if isinstance(condition, Atom) else f"({condition})"


# --- from what users pass ------------------------------------------------------------------------


def condition_of(call: str, given: Any, where: CallSite) -> EventCondition:
    """The condition that a user passed to a method of a pattern.

    Raises:
        ArgumentTypeError: it is none.
    """
    if isinstance(given, Expression) and not given.needs_window:
        return Atom(given, RowCondition(given), text_of(given.node), where)
    if isinstance(given, IterativeCondition):
        return Atom(given, given.filter, _name_of(given), where, is_iterative=True)
    if isinstance(given, SimpleCondition):
        function = given._function or given.filter
        return Atom(given, function, _name_of(function), where)
    if isinstance(given, type) or not callable(given):
        what = f"the class {given.__name__}" if isinstance(given, type) else type(given).__name__
        raise ArgumentTypeError(
            f"{call} expects a condition, not {what}",
            fix=f"{call}(lambda event: ...), {call}(lambda event, ctx: ...) or "
            f"{call}(col('name') > 5)",
        )
    is_iterative = _needed_arguments(given) > 1
    return Atom(given, given, _name_of(given), where, is_iterative=is_iterative)


def subtype_condition(kind: type, where: CallSite) -> EventCondition:
    """Whether an event is of a class."""
    return Atom(kind, functools.partial(_is_of, kind), f"is {kind.__name__}", where)


def _is_of(kind: type, event: Any) -> bool:
    return isinstance(event, kind)


class RowCondition:
    """A column expression for one event; nulls do not satisfy."""

    def __init__(self, expression: Expression) -> None:
        self.expression = expression

    def __call__(self, event: Any) -> bool:
        return self.expression.evaluate(event) is True


def _needed_arguments(function: Callable[..., Any]) -> int:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # some of C's tell nothing
        return 1
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(p.kind in positional and p.default is p.empty for p in parameters)


def _name_of(given: Any) -> str:
    if isinstance(given, functools.partial):
        return _name_of(given.func)
    name = getattr(given, "__qualname__", None) or type(given).__name__
    code = getattr(given, "__code__", None)
    if "<lambda>" in name and code is not None:
        return _source_of_lambda(given) or f"lambda at line {code.co_firstlineno}"
    return str(name).rsplit("<locals>.", 1)[-1]


def _source_of_lambda(function: Callable[..., Any]) -> str | None:
    """The text of a lambda where its line has only one; None otherwise."""
    try:
        line = inspect.getsource(function).strip()
    except (OSError, TypeError):
        return None
    if line.count("lambda") != 1 or "\n" in line:
        return None
    text = line[line.index("lambda") :].split(":", 1)[1].strip()
    depth = 0
    for place, sign in enumerate(text):
        depth += (sign in "([{") - (sign in ")]}")
        if depth < 0 or (depth == 0 and sign == ","):
            return text[:place]
    return text


def condition_error(
    error: Exception, stage: str, condition: EventCondition, event: Any
) -> UserFunctionError:
    """What a condition raised, with the stage, the line that passed it and the event."""
    wrapped = user_code_error(error, f"a condition of pattern {stage!r} ({condition})", event)
    sites = [atom.where for atom in condition.atoms() if atom.where is not None]
    wrapped.where = "; ".join(str(site) for site in dict.fromkeys(sites)) or None
    return wrapped
