"""Expressions whose type is known.  Next: table/resolved.py"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.table.expression import Expression

if TYPE_CHECKING:
    from headrace.common.data_types import DataType
    from headrace.sql.ast import SqlNode

__all__ = ["ResolvedExpression"]


class ResolvedExpression(Expression[Any]):
    """An expression with its type.

    Args:
        node: what the resolver sees.
        text: of the expression, as SQL.
        data_type: of its value.
    """

    def __init__(self, node: SqlNode, text: str, data_type: DataType) -> None:
        super().__init__(node, text)
        self._data_type = data_type

    def get_output_data_type(self) -> DataType:
        """The type of its value."""
        return self._data_type

    def get_resolved_children(self) -> list[ResolvedExpression]:
        """Nothing: its parts are not resolved on their own."""
        return []

    def as_summary_string(self) -> str:
        """For people."""
        return self._text

    def as_serializable_string(self) -> str:
        """As SQL can read it."""
        return self._text
