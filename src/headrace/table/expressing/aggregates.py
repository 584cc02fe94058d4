"""Aggregates, and what is said of them: distinct, over.  Next: table/expression.py"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from headrace.errors import InvalidArgumentError
from headrace.sql.api_ast import InlineCall
from headrace.sql.ast import FunctionCall, Identifier, OverClause, SqlLiteral
from headrace.table.expressing.base import (
    ExpressionBase,
    UnaryProperty,
    expression,
    operand,
    written,
)

if TYPE_CHECKING:
    from headrace.table.expression import Expression


class AggregateExpressions(ExpressionBase):
    """What many values of a column can become."""

    sum = UnaryProperty("SUM")
    sum0 = UnaryProperty("$SUM0", "sum0")
    min = UnaryProperty("MIN")
    max = UnaryProperty("MAX")
    count = UnaryProperty("COUNT")
    avg = UnaryProperty("AVG")
    first_value = UnaryProperty("FIRST_VALUE")
    last_value = UnaryProperty("LAST_VALUE")
    stddev_pop = UnaryProperty("STDDEV_POP", "stddevPop")
    stddev_samp = UnaryProperty("STDDEV_SAMP", "stddevSamp")
    var_pop = UnaryProperty("VAR_POP", "varPop")
    var_samp = UnaryProperty("VAR_SAMP", "varSamp")
    collect = UnaryProperty("COLLECT")
    array_agg = UnaryProperty("ARRAY_AGG", "ARRAY_AGG")

    def list_agg(self, separator: Any = None) -> Expression[Any]:
        """The values as one text, with a separator between them."""
        marks = () if separator is None else (separator,)
        return self._call("LISTAGG", "listAgg", *marks)

    def percentile(self, percentage: Any, frequency: Any = None) -> Expression[Any]:
        """The value below which a share of the values lies."""
        often = () if frequency is None else (frequency,)
        return self._call("PERCENTILE", "PERCENTILE", percentage, *often)

    @property
    def distinct(self) -> Expression[Any]:
        """The aggregate over different values only.

        Of something that is no aggregate call, the mark stays with the text; the resolver takes
        it as it is.
        """
        node = self._node
        if isinstance(node, FunctionCall | InlineCall):
            return expression(replace(node, distinct=True), written("distinct", self))
        return expression(node, written("distinct", self))

    def over(self, alias: Any) -> Expression[Any]:
        """The aggregate over the lines of an over window, by its alias."""
        name = operand(alias)
        node = self._node
        if isinstance(node, FunctionCall):
            window = OverClause(_alias_of(name), named_only=True)
            return expression(replace(node, over=window), written("over", self, name))
        if isinstance(node, InlineCall):
            return expression(replace(node, over=_alias_of(name)), written("over", self, name))
        return expression(node, written("over", self, name))


def _alias_of(name: ExpressionBase) -> str:
    node = name._node
    if isinstance(node, Identifier) and len(node.parts) == 1:
        return node.parts[0]
    if isinstance(node, SqlLiteral) and isinstance(node.value, str):
        return node.value
    raise InvalidArgumentError(f"{name} is no alias of a window", fix='write over(col("w"))')
