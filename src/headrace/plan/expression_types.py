"""The types of projections and windows without a host to ask: from the expressions themselves.

In: a step whose input has a type.  Out: the type that Spark's analyser would find as well
(tests/spark/test_expression_ways.py compares), or None.  Next: plan/rules/resolve_types.py asks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.common.typeinfo import Types
from headrace.expr.expressions import Expression
from headrace.expr.types import NULL, type_of

if TYPE_CHECKING:
    from headrace.common.typeinfo import TypeInformation
    from headrace.graph.nodes import Step


def expression_types(step: Step) -> TypeInformation | None:
    """The type of what a native step gives; None if one of its fields is not known."""
    assert step.native is not None
    names, types = [], []
    for expression in step.native.expressions:
        if not isinstance(expression, Expression):
            return None
        found = type_of(expression.node, step.inputs[0].record_type)
        if found is None or found is NULL:
            return None
        names.append(expression.output_name)
        types.append(found)
    return Types.ROW_NAMED(names, types)
