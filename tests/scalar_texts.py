"""Expressions of SQL, without a table: what tests of scalars ask.

``resolved("1 + 2")`` is the node, ``evaluated(node)`` its value; both the batch and the row way
are asked, and must agree.
"""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa

from headrace.rel.resolve.expressions import ExpressionResolver
from headrace.rel.resolve.scope import NameScope
from headrace.scalars.compile import is_deterministic
from headrace.scalars.evaluate import Evaluator
from headrace.scalars.nodes import Literal, Scalar
from headrace.scalars.session import ScalarSession
from headrace.scalars.values import python_values
from headrace.sql.parser import parse_expression


class NoFunctions:
    """A catalog without functions of the user."""

    def find_function(self, path: tuple[str, ...]) -> None:
        """There is none."""


def resolved(text: str) -> Scalar:
    """The node of an expression."""
    return ExpressionResolver(NameScope(), NoFunctions()).scalar(parse_expression(text))


def evaluated(node: Scalar, zone: str = "UTC") -> Any:
    """The value of a node: by columns, and by rows, which must be equal."""
    evaluator = Evaluator(node, ScalarSession(zone))
    batch = pa.RecordBatch.from_pydict({"unused": [None]})
    by_column = python_values(evaluator.run(batch), node.type)[0]
    if isinstance(node, Literal) or not is_deterministic(node):
        return by_column
    by_row = evaluator.row()(())
    assert same(by_column, by_row), (by_column, by_row)
    return by_column


def same(one: Any, other: Any) -> bool:
    """Equality where NaN is itself and 1 is not True."""
    if isinstance(one, float) and isinstance(other, float):
        return one == other or (math.isnan(one) and math.isnan(other))
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other) and isinstance(one, bool) == isinstance(other, bool)
