"""Column expressions that need no running Spark: ``stream.filter(col("status") >= 500)``.

An expression is a recipe.  Right behind a source Catalyst runs it (hosts/spark/native/steps.py
builds a Spark column from it); anywhere else it is evaluated in Python, record by record.  For more
than operators and a few functions, pass a pyspark Column instead: it runs natively only.

Aggregates (``count()``, ``col("value").sum()``) and the bounds of a window need a window:
``keyed.window(...).select(...)``.  Next: datastream/window_select.py takes them apart.
"""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any

from headrace.common.call_site import call_site
from headrace.common.types import Row
from headrace.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Expression", "col", "count", "lit", "window_end", "window_start"]


def col(name: str) -> Expression:
    """The field of a record with this name."""
    return Expression("col", (name,))


def lit(value: Any) -> Expression:
    """A constant."""
    return Expression("lit", (value,))


def count() -> Expression:
    """How many records a window holds."""
    return Expression("count", ())


def window_start() -> Expression:
    """Where the window begins, in epoch milliseconds."""
    return Expression("window_start", ())


def window_end() -> Expression:
    """Where the window ends, in epoch milliseconds; its last record is before that."""
    return Expression("window_end", ())


AGGREGATES = frozenset({"count", "sum", "min", "max", "avg"})
BOUNDS = frozenset({"window_start", "window_end"})
# the column that holds records of a basic type, which have no fields
VALUE = "value"

_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "%": operator.mod,
}


class Expression:
    """An operation on fields and constants; combine with operators, ``&``, ``|`` and ``~``."""

    __slots__ = ("_arguments", "_kind", "_name")

    def __init__(self, kind: str, arguments: tuple[Any, ...], name: str | None = None) -> None:
        self._kind = kind
        self._arguments = arguments
        self._name = name

    def _binary(self, kind: str, other: Any) -> Expression:
        right = other if isinstance(other, Expression) else lit(other)
        return Expression(kind, (self, right))

    def _reversed(self, kind: str, other: Any) -> Expression:
        return Expression(kind, (lit(other), self))

    def __eq__(self, other: object) -> Expression:  # type: ignore[override]
        return self._binary("==", other)

    def __ne__(self, other: object) -> Expression:  # type: ignore[override]
        return self._binary("!=", other)

    __hash__ = None  # type: ignore[assignment]

    def __lt__(self, other: Any) -> Expression:
        return self._binary("<", other)

    def __le__(self, other: Any) -> Expression:
        return self._binary("<=", other)

    def __gt__(self, other: Any) -> Expression:
        return self._binary(">", other)

    def __ge__(self, other: Any) -> Expression:
        return self._binary(">=", other)

    def __add__(self, other: Any) -> Expression:
        return self._binary("+", other)

    def __sub__(self, other: Any) -> Expression:
        return self._binary("-", other)

    def __mul__(self, other: Any) -> Expression:
        return self._binary("*", other)

    def __truediv__(self, other: Any) -> Expression:
        return self._binary("/", other)

    def __mod__(self, other: Any) -> Expression:
        return self._binary("%", other)

    def __radd__(self, other: Any) -> Expression:
        return self._reversed("+", other)

    def __rsub__(self, other: Any) -> Expression:
        return self._reversed("-", other)

    def __rmul__(self, other: Any) -> Expression:
        return self._reversed("*", other)

    def __rtruediv__(self, other: Any) -> Expression:
        return self._reversed("/", other)

    def __rmod__(self, other: Any) -> Expression:
        return self._reversed("%", other)

    def __neg__(self) -> Expression:
        return 0 - self

    def __and__(self, other: Any) -> Expression:
        return self._binary("and", other)

    def __or__(self, other: Any) -> Expression:
        return self._binary("or", other)

    def __invert__(self) -> Expression:
        return Expression("not", (self,))

    def __bool__(self) -> bool:
        raise InvalidArgumentError(
            "a column expression has no truth value before it runs",
            where=call_site(),
            fix="combine conditions with & | ~ instead of and, or, not",
        )

    def is_null(self) -> Expression:
        """Whether the field is None."""
        return Expression("is_null", (self,))

    def is_not_null(self) -> Expression:
        """Whether the field is not None."""
        return ~self.is_null()

    def isin(self, *values: Any) -> Expression:
        """Whether the field is one of some constants."""
        return Expression("isin", (self, values))

    def rlike(self, pattern: str) -> Expression:
        """Whether a regular expression is found in the text."""
        return Expression("rlike", (self, pattern))

    def startswith(self, prefix: str) -> Expression:
        """Whether the text starts with a prefix."""
        return Expression("startswith", (self, prefix))

    def upper(self) -> Expression:
        """The text in capitals."""
        return Expression("upper", (self,))

    def lower(self) -> Expression:
        """The text in small letters."""
        return Expression("lower", (self,))

    def sum(self) -> Expression:
        """The sum over a window; None if there is nothing but None."""
        return Expression("sum", (self,))

    def min(self) -> Expression:
        """The least value of a window; None if there is nothing but None."""
        return Expression("min", (self,))

    def max(self) -> Expression:
        """The greatest value of a window; None if there is nothing but None."""
        return Expression("max", (self,))

    def avg(self) -> Expression:
        """The mean over a window; None if there is nothing but None."""
        return Expression("avg", (self,))

    def count(self) -> Expression:
        """How many values of a window are not None."""
        return Expression("count", (self,))

    def alias(self, name: str) -> Expression:
        """The same under another name, for projections."""
        return Expression(self._kind, self._arguments, name)

    @property
    def kind(self) -> str:
        """What it does: ``col``, ``lit``, an operator or the name of a function."""
        return self._kind

    @property
    def arguments(self) -> tuple[Any, ...]:
        """What it does it with: expressions and constants."""
        return self._arguments

    @property
    def column_name(self) -> str | None:
        """The field, if this is a field and nothing more."""
        return str(self._arguments[0]) if self._kind == "col" else None

    def fields(self) -> set[str]:
        """The fields of records that it reads."""
        if self._kind == "col":
            return {str(self._arguments[0])}
        parts = [part for part in self._arguments if isinstance(part, Expression)]
        return set().union(*(part.fields() for part in parts))

    @property
    def needs_window(self) -> bool:
        """Whether there are aggregates or the bounds of a window in it."""
        if self._kind in AGGREGATES or self._kind in BOUNDS:
            return True
        return any(a.needs_window for a in self._arguments if isinstance(a, Expression))

    def rewritten(self, change: Callable[[Expression], Expression | None]) -> Expression:
        """The same with parts exchanged: `change` gives what replaces a part, None to go deeper."""
        replaced = change(self)
        if replaced is not None:
            return replaced
        arguments = tuple(
            a.rewritten(change) if isinstance(a, Expression) else a for a in self._arguments
        )
        return Expression(self._kind, arguments, self._name)

    def build(self, functions: Any) -> Any:
        """The Spark column; `functions` is pyspark.sql.functions."""
        column = self._column(functions)
        return column if self._name is None else column.alias(self._name)

    def _column(self, functions: Any) -> Any:
        kind, arguments = self._kind, self._arguments
        if kind == "col":
            return functions.col(f"`{arguments[0]}`")
        if kind == "lit":
            return functions.lit(arguments[0])
        if not arguments:  # count(): of whole records
            return functions.count(functions.lit(1))
        first = arguments[0].build(functions)
        if kind in _BINARY:
            return _BINARY[kind](first, arguments[1].build(functions))
        if kind in ("and", "or"):
            second = arguments[1].build(functions)
            return first & second if kind == "and" else first | second
        if kind == "not":
            return ~first
        if kind == "is_null":
            return first.isNull()
        if kind in AGGREGATES or kind in ("upper", "lower"):
            return getattr(functions, kind)(first)
        if kind == "isin":
            return first.isin(*arguments[1])
        return getattr(first, kind)(arguments[1])  # rlike, startswith

    def evaluate(self, record: Any) -> Any:
        """The value for one record, in Python, with SQL's rules for None."""
        kind, arguments = self._kind, self._arguments
        if kind == "col":
            return _field(record, arguments[0])
        if kind == "lit":
            return arguments[0]
        first = arguments[0].evaluate(record)
        if kind == "is_null":
            return first is None
        if kind in ("and", "or"):
            return _logic(kind, first, arguments[1].evaluate(record))
        if first is None:
            return None
        if kind in _BINARY:
            second = arguments[1].evaluate(record)
            if second is None:
                return None
            return _remainder(first, second) if kind == "%" else _BINARY[kind](first, second)
        return _FUNCTIONS[kind](first, *arguments[1:])

    @property
    def output_name(self) -> str:
        """The name of the projected field."""
        if self._name is not None:
            return self._name
        if self._kind in BOUNDS:
            return self._kind
        return str(self._arguments[0]) if self._kind == "col" else repr(self)

    def __repr__(self) -> str:
        if self._kind in ("col", "lit"):
            return f"{self._arguments[0]!r}" if self._kind == "lit" else str(self._arguments[0])
        if len(self._arguments) == 2 and not self._kind.isidentifier():
            return f"({self._arguments[0]!r} {self._kind} {self._arguments[1]!r})"
        return f"{self._kind}({', '.join(map(repr, self._arguments))})"


def _logic(kind: str, first: Any, second: Any) -> bool | None:
    decisive = kind == "or"  # one true decides an "or", one false an "and"
    if any(side is decisive for side in (first, second)):
        return decisive
    if first is None or second is None:
        return None
    return not decisive


def _remainder(dividend: Any, divisor: Any) -> Any:
    """With the sign of the dividend, as in SQL; Python's own has that of the divisor."""
    if isinstance(dividend, float) or isinstance(divisor, float):
        return math.fmod(dividend, divisor)
    rest = abs(dividend) % abs(divisor)
    return -rest if dividend < 0 else rest


def _is_in(value: Any, options: tuple[Any, ...]) -> bool | None:
    if value in [option for option in options if option is not None]:
        return True
    return None if None in options else False


def _field(record: Any, name: str) -> Any:
    if isinstance(record, Row | dict):  # a row's attributes leave out names like _corrupt_record
        return record[name]
    if type(record) is tuple and name[:1] == "f" and name[1:].isdigit():
        return record[int(name[1:])]  # the name of its column on Catalyst
    if name == VALUE and isinstance(record, str | int | float | bytes | None):
        return record
    return getattr(record, name)


def _search(text: str, pattern: str) -> bool:
    import re

    return re.search(pattern, text) is not None


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "not": operator.not_,
    "isin": _is_in,
    "rlike": _search,
    "startswith": lambda text, prefix: text.startswith(prefix),
    "upper": str.upper,
    "lower": str.lower,
}


def is_expression(thing: Any) -> bool:
    """Whether something is a column expression: ours, or a pyspark Column."""
    if isinstance(thing, Expression):
        return True
    return any(
        base.__name__ == "Column" and base.__module__.startswith("pyspark")
        for base in type(thing).__mro__
    )
