"""window(...).select(...): takes the expressions apart into aggregates and what is made of them.

    (col("value").sum() / count()).alias("mean"), window_start()
        aggregates   value.sum(), count()
        results      (__0 / __1) as mean, __start as window_start

In: the user's expressions.  Out: a WindowSelect; both ways of running it start from there:
runtime/windows/column_aggregates.py in Python, hosts/spark/native/windows.py on Catalyst.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headrace.common.call_site import call_site
from headrace.common.typeinfo import RowTypeInfo, TupleTypeInfo
from headrace.errors import InvalidArgumentError
from headrace.expr.expressions import Expression, col, is_expression
from headrace.expr.nodes import Aggregate, BoundKind, Column, WindowBound, rewrite, text_of, walk
from headrace.runtime.windows.column_aggregates import (
    END,
    START,
    ColumnAggregates,
    SelectedOfAll,
    SelectedOfKey,
    cell,
)

if TYPE_CHECKING:
    from headrace.common.opaque import ColumnLike, UserFunction
    from headrace.common.typeinfo import TypeInformation
    from headrace.expr.nodes import Node
    from headrace.runtime.key_selectors import Keying
    from headrace.runtime.windows.description import WindowDescription


@dataclass(frozen=True, slots=True)
class WindowSelect:
    """A window with built-in aggregates over columns.

    Attributes:
        windows: assigner, trigger and so on, with the functions that run in Python if it can.
        key: the column that is the key; None if it is computed, or if there is none.
        aggregates: what is kept per key and window: our expressions, or pyspark Columns.
        results: the fields of the result, over ``__0``, ``__start``, ``__end`` and the key.
        names: the names of the fields; None where Spark names a Column.
    """

    windows: WindowDescription
    key: str | None
    aggregates: tuple[Any, ...]
    results: tuple[Expression, ...]
    names: tuple[str | None, ...]

    @property
    def runs_in_python(self) -> bool:
        """Whether headrace can evaluate all of it, without Spark."""
        return all(isinstance(aggregate, Expression) for aggregate in self.aggregates)


def window_select(
    expressions: tuple[ColumnLike, ...],
    windows: WindowDescription,
    keying: Keying | None,
    record_type: TypeInformation,
) -> WindowSelect:
    """Take apart what was given to ``select``.

    Raises:
        InvalidArgumentError: a column that is neither aggregated nor the key, and the like.
    """
    key = None if keying is None or windows.over_all else _key_name(keying, record_type)
    parts = _Parts(key, windows)
    results = tuple(parts.take(expression) for expression in expressions)
    if not results:
        raise _wrong("select needs at least one expression", "for instance count()")
    names = tuple(e.output_name if isinstance(e, Expression) else None for e in expressions)
    twice = {name for name in names if name is not None and names.count(name) > 1}
    if twice:
        raise _wrong(f"two results have the name {sorted(twice)[0]!r}", "give one an .alias(...)")
    found = WindowSelect(windows, key, tuple(parts.aggregates), results, names)
    if not found.runs_in_python:
        return found
    labels = [str(name) for name in names]
    described = windows.aggregating(
        ColumnAggregates(found.aggregates),
        SelectedOfAll(results, labels) if windows.over_all else SelectedOfKey(results, labels, key),
    )
    return WindowSelect(described, key, found.aggregates, results, names)


def _key_name(keying: Keying, record_type: TypeInformation) -> str | None:
    field = keying.field
    if isinstance(field, int) and isinstance(record_type, RowTypeInfo | TupleTypeInfo):
        names = record_type.get_field_names()
        return str(names[field]) if -len(names) <= field < len(names) else None
    return field if isinstance(field, str) else None


class _Parts:
    """Collects the aggregates of all expressions."""

    def __init__(self, key: str | None, windows: WindowDescription) -> None:
        self.key = key
        self.windows = windows
        self.aggregates: list[Any] = []

    def take(self, expression: ColumnLike) -> Expression:
        """What remains of an expression when its aggregates are given."""
        if isinstance(expression, Expression):
            return Expression(rewrite(expression.node, self._replace))
        if not is_expression(expression):
            raise _wrong(
                f"select on a window takes column expressions, not {expression!r}",
                'for instance col("key"), count(), col("value").sum()',
            )
        return self._cell(expression)

    def _cell(self, aggregate: UserFunction) -> Expression:
        self.aggregates.append(aggregate)
        return col(cell(len(self.aggregates) - 1))

    def _replace(self, part: Node) -> Node | None:
        match part:
            case Aggregate():
                if part.argument is not None and _needs_window(part.argument):
                    raise _wrong(
                        f"{text_of(part)} aggregates a value of the window itself",
                        "aggregate the fields of records, and combine the results",
                    )
                return self._cell(Expression(part)).node
            case WindowBound():
                if self.windows.assigner.window_shape().domain is None:
                    raise _wrong(
                        f"{type(self.windows.assigner).__name__} has no {part.kind}()",
                        "the bounds exist for windows of time only",
                    )
                return Column(START if part.kind is BoundKind.START else END)
            case Column() if part.name != self.key:
                raise self._not_the_key(part.name)
            case _:
                return None

    def _not_the_key(self, name: str) -> InvalidArgumentError:
        options = ", ".join(f"col({name!r}).{kind}()" for kind in ("sum", "min", "max"))
        if self.windows.over_all:
            why = "and windows over the whole stream have no key"
        elif self.key is None:
            why = "and the key is computed by a function"
        else:
            why = f"and the key is {self.key!r}"
        return _wrong(
            f"column {name!r} is not aggregated, {why}",
            f"aggregate it ({options}), or key the stream by it: key_by({name!r})",
        )


def _needs_window(node: Node) -> bool:
    return any(isinstance(part, Aggregate | WindowBound) for part in walk(node))


def _wrong(what: str, fix: str) -> InvalidArgumentError:
    return InvalidArgumentError(what, where=call_site(), fix=fix)
