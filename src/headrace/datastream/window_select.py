"""window(...).select(...): takes the expressions apart into aggregates and what is made of them.

    (col("value").sum() / count()).alias("mean"), window_start()
        aggregates   value.sum(), count()
        results      (__0 / __1) as mean, __start as window_start

In: the user's expressions.  Out: a WindowSelect.  Next: runtime/windows/column_aggregates.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.common.call_site import call_site
from headrace.common.typeinfo import RowTypeInfo, TupleTypeInfo, Types
from headrace.errors import InvalidArgumentError
from headrace.expr.expressions import Expression, col, is_expression
from headrace.expr.nodes import (
    Aggregate,
    AggregateKind,
    BoundKind,
    FieldNode,
    WindowBound,
    rewrite,
    text_of,
    walk,
)
from headrace.expr.types import NULL, field_type, type_of
from headrace.runtime.windows.column_aggregates import (
    END,
    START,
    ColumnAggregates,
    SelectedOfAll,
    SelectedOfKey,
    cell,
)

if TYPE_CHECKING:
    from headrace.common.call_site import CallSite
    from headrace.common.opaque import ColumnLike
    from headrace.common.typeinfo import TypeInformation
    from headrace.expr.nodes import Node
    from headrace.runtime.key_selectors import Keying
    from headrace.runtime.windows.description import WindowDescription


_ANY = Types.PICKLED_BYTE_ARRAY()
_OF_NUMBERS = (AggregateKind.SUM, AggregateKind.AVG)
_NO_NUMBERS = (Types.STRING(), Types.BOOLEAN(), Types.SQL_DATE(), Types.SQL_TIMESTAMP())


@dataclass(frozen=True, slots=True)
class WindowSelect:
    """A window with built-in aggregates over columns.

    Attributes:
        windows: assigner, trigger and so on, with the functions that compute it.
        key: the column that is the key; None if it is computed, or if there is none.
        aggregates: what is kept per key and window.
        results: the fields of the result, over ``__0``, ``__start``, ``__end`` and the key.
        names: the names of the fields.
        where: the user's line.
    """

    windows: WindowDescription
    key: str | None
    aggregates: tuple[Expression, ...]
    results: tuple[Expression, ...]
    names: tuple[str, ...]
    where: CallSite

    def result_type(self, record_type: TypeInformation) -> RowTypeInfo:
        """A row of the results, over records of a type; what is not known before is pickled.

        Raises:
            InvalidArgumentError: a column that records do not have, or a sum of what is no number.
        """
        for aggregate in self.aggregates:
            self._check(aggregate, record_type)
        known = [type_of(aggregate.node, record_type) for aggregate in self.aggregates]
        cells = {cell(number): kind or _ANY for number, kind in enumerate(known)}
        cells |= {START: Types.LONG(), END: Types.LONG()}
        if self.key is not None:
            cells[self.key] = field_type(record_type, self.key) or _ANY
        fields = Types.ROW_NAMED(list(cells), list(cells.values()))
        kinds = [_stored(type_of(result.node, fields)) for result in self.results]
        return Types.ROW_NAMED(list(self.names), kinds)

    def _check(self, aggregate: Expression, record_type: TypeInformation) -> None:
        if not isinstance(record_type, RowTypeInfo | TupleTypeInfo):
            return
        names = record_type.get_field_names()
        for part in walk(aggregate.node):
            if isinstance(part, FieldNode) and part.name not in names:
                raise InvalidArgumentError(
                    f"column {part.name!r} of {text_of(aggregate.node)} is not there",
                    where=self.where,
                    fix=f"the columns here are {', '.join(names)}",
                )
            if not isinstance(part, Aggregate) or part.argument is None:
                continue
            found = type_of(part.argument, record_type)
            if part.kind in _OF_NUMBERS and found in _NO_NUMBERS:
                raise InvalidArgumentError(
                    f"{text_of(part)} needs a number, and {text_of(part.argument)} is {found}",
                    where=self.where,
                    fix="count it, or compare it: .count(), .min(), .max()",
                )


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
    names = tuple(expression.output_name for expression in expressions)
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise _wrong(f"two results have the name {sorted(twice)[0]!r}", "give one an .alias(...)")
    labels = list(names)
    described = windows.aggregating(
        ColumnAggregates(parts.aggregates),
        SelectedOfAll(results, labels) if windows.over_all else SelectedOfKey(results, labels, key),
    )
    return WindowSelect(described, key, tuple(parts.aggregates), results, names, call_site())


def _stored(kind: TypeInformation | None) -> TypeInformation:
    return _ANY if kind is None or kind is NULL else kind


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
        self.aggregates: list[Expression] = []

    def take(self, expression: ColumnLike) -> Expression:
        """What remains of an expression when its aggregates are given."""
        if isinstance(expression, Expression):
            return Expression(rewrite(expression.node, self._replace))
        of_spark = ", which is Spark's" if is_expression(expression) else ""
        raise _wrong(
            f"select on a window takes headrace's column expressions, not {expression!r}{of_spark}",
            'for instance col("key"), count(), col("value").sum()',
        )

    def _cell(self, aggregate: Expression) -> Expression:
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
                return FieldNode(START if part.kind is BoundKind.START else END)
            case FieldNode() if part.name != self.key:
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
