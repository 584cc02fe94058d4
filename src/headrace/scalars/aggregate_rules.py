"""The types of aggregate functions: what they take, and what they give.

    aggregate_rule("SUM", (DECIMAL(10, 2),))   ──▶   ((DECIMAL(10, 2),), DECIMAL(38, 2))

These are the types inside of groups, where there is a line at least; without GROUP BY all but COUNT
may be NULL, and who builds the node says so.

In: names and argument types (rel/resolve/grouping.py).  Out: types, or an error with the forms.
Next: runtime/table/aggregates/ computes them
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.common import data_types as t
from headrace.errors import InvalidArgumentError
from headrace.scalars import types as kinds

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from headrace.common.data_types import DataType

    Types = tuple[DataType, ...]
    Found = tuple[Types, DataType]

_BIGINT = t.BigIntType().not_null()
# Calcite's own default for the aggregates of JSON, which Flink left.
_JSON_TEXT = t.VarCharType(2000).not_null()
_TEXT = t.VarCharType(kinds.MAX_LENGTH)


def is_aggregate(name: str) -> bool:
    """Whether a function of SQL makes one value of many lines; in capitals."""
    return name in _RULES


def aggregate_names() -> list[str]:
    """All of them."""
    return sorted(_RULES)


def aggregate_form(name: str) -> str:
    """How one is written."""
    return _RULES[name][0]


def aggregate_rule(name: str, arguments: Sequence[DataType], *, distinct: bool = False) -> Found:
    """The types that arguments have to be cast to, and the type of the result.

    Raises:
        InvalidArgumentError: the function does not take these.
    """
    forms, rule = _RULES[name]
    found = rule(tuple(arguments))
    if found is None:
        given = ", ".join(str(kind.nullable()) for kind in arguments)
        message = f"{name} does not take ({given})"
        raise InvalidArgumentError(message, fix=f"write {forms}")
    return found


def _count(arguments: Types) -> Found | None:
    return arguments, _BIGINT


def _number(result: Callable[[DataType], DataType]) -> Callable[[Types], Found | None]:
    def rule(arguments: Types) -> Found | None:
        if len(arguments) != 1:
            return None
        kind = arguments[0]
        if kinds.is_null(kind):
            kind = t.DoubleType()
        if not kinds.is_numeric(kind):
            return None
        return (kind,), kinds.with_nullability(result(kind), kinds.is_nullable(kind))

    return rule


def _sum_type(kind: DataType) -> DataType:
    if isinstance(kind, t.DecimalType):
        return t.DecimalType(kinds.MAX_PRECISION, kind.scale)
    return kind


def _mean_type(kind: DataType) -> DataType:
    if isinstance(kind, t.DecimalType):
        return t.DecimalType(kinds.MAX_PRECISION, max(6, kind.scale))
    return kind


def _never_null(rule: Callable[[Types], Found | None]) -> Callable[[Types], Found | None]:
    def changed(arguments: Types) -> Found | None:
        found = rule(arguments)
        return None if found is None else (found[0], found[1].not_null())

    return changed


def _same(arguments: Types) -> Found | None:
    return (arguments, arguments[0]) if len(arguments) == 1 else None


def _extreme(arguments: Types) -> Found | None:
    """Values that have an order; of BOOLEAN, FALSE is the lesser."""
    found = _same(arguments)
    if found is None or kinds.is_constructed(found[1]) or kinds.is_binary(found[1]):
        return None
    return found


def _same_or_null(arguments: Types) -> Found | None:
    return (arguments, arguments[0].nullable()) if len(arguments) == 1 else None


def _list_text(arguments: Types) -> Found | None:
    """The type is that of the first argument, however long the list becomes."""
    if not 1 <= len(arguments) <= 2 or not all(_is_text(kind) for kind in arguments):
        return None
    return arguments, _TEXT if kinds.is_null(arguments[0]) else arguments[0]


def _is_text(kind: DataType) -> bool:
    return kinds.is_character(kind) or kinds.is_null(kind)


def _collect(arguments: Types) -> Found | None:
    if len(arguments) != 1:
        return None
    return arguments, t.MultisetType(arguments[0]).not_null()


def _array(arguments: Types) -> Found | None:
    if len(arguments) != 1:
        return None
    return arguments, t.ArrayType(arguments[0], kinds.is_nullable(arguments[0]))


def _json_object(arguments: Types) -> Found | None:
    if len(arguments) != 2 or not kinds.is_character(arguments[0]):
        return None
    return arguments, _JSON_TEXT


def _json_array(arguments: Types) -> Found | None:
    return (arguments, _JSON_TEXT) if len(arguments) == 1 else None


def _numbered(arguments: Types) -> Found | None:
    return None if arguments else ((), _BIGINT)


def _share(arguments: Types) -> Found | None:
    return None if arguments else ((), t.DoubleType().not_null())


def _ntile(arguments: Types) -> Found | None:
    if len(arguments) != 1 or not kinds.is_integral(arguments[0]):
        return None
    return arguments, _BIGINT


def _neighbour(arguments: Types) -> Found | None:
    if not 1 <= len(arguments) <= 3:
        return None
    if len(arguments) == 3:
        kind = kinds.with_nullability(
            arguments[0], kinds.any_nullable((arguments[0], arguments[2]))
        )
        return (arguments[0], arguments[1], arguments[0]), kind
    return arguments, arguments[0].nullable()


def _percentile(arguments: Types) -> Found | None:
    if not 2 <= len(arguments) <= 3 or not kinds.is_numeric(arguments[0]):
        return None
    shares = arguments[1]
    if isinstance(shares, t.ArrayType):
        return arguments, t.ArrayType(t.DoubleType())
    return arguments, t.DoubleType()


_RULES: dict[str, tuple[str, Callable[[Types], Found | None]]] = {
    "COUNT": ("COUNT(*), COUNT(value) or COUNT(DISTINCT value)", _count),
    "APPROX_COUNT_DISTINCT": ("APPROX_COUNT_DISTINCT(value)", _count),
    "SUM": ("SUM(number)", _number(_sum_type)),
    "$SUM0": ("$SUM0(number)", _never_null(_number(_sum_type))),
    "AVG": ("AVG(number)", _number(_mean_type)),
    "MIN": ("MIN(value), of a value that has an order", _extreme),
    "MAX": ("MAX(value), of a value that has an order", _extreme),
    "STDDEV_POP": ("STDDEV_POP(number)", _number(_mean_type)),
    "STDDEV_SAMP": ("STDDEV_SAMP(number)", _number(_mean_type)),
    "STDDEV": ("STDDEV(number)", _number(_mean_type)),
    "VAR_POP": ("VAR_POP(number)", _number(_mean_type)),
    "VAR_SAMP": ("VAR_SAMP(number)", _number(_mean_type)),
    "VARIANCE": ("VARIANCE(number)", _number(_mean_type)),
    "FIRST_VALUE": ("FIRST_VALUE(value)", _same),
    "LAST_VALUE": ("LAST_VALUE(value)", _same),
    "SINGLE_VALUE": ("SINGLE_VALUE(value)", _same_or_null),
    "LISTAGG": ("LISTAGG(text) or LISTAGG(text, separator)", _list_text),
    "COLLECT": ("COLLECT(value)", _collect),
    "ARRAY_AGG": ("ARRAY_AGG(value)", _array),
    "JSON_OBJECTAGG": ("JSON_OBJECTAGG(KEY key VALUE value)", _json_object),
    "JSON_ARRAYAGG": ("JSON_ARRAYAGG(value)", _json_array),
    "ROW_NUMBER": ("ROW_NUMBER() OVER (...)", _numbered),
    "RANK": ("RANK() OVER (...)", _numbered),
    "DENSE_RANK": ("DENSE_RANK() OVER (...)", _numbered),
    "PERCENT_RANK": ("PERCENT_RANK() OVER (...)", _share),
    "CUME_DIST": ("CUME_DIST() OVER (...)", _share),
    "NTILE": ("NTILE(n) OVER (...)", _ntile),
    "LAG": ("LAG(value), LAG(value, n) or LAG(value, n, default)", _neighbour),
    "LEAD": ("LEAD(value), LEAD(value, n) or LEAD(value, n, default)", _neighbour),
    "PERCENTILE": ("PERCENTILE(number, share)", _percentile),
}
