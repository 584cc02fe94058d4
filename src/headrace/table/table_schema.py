"""Names and types of columns, in the form that PyFlink's older methods give.

In: columns.  Out: `TableSchema`.  Next: table/resolved.py has its successor
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.common.data_types import DataTypes
from headrace.errors import ArgumentTypeError, InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.common.data_types import DataType, RowType

__all__ = ["TableSchema"]


class TableSchema:
    """The columns of a table.

    Args:
        field_names: of the columns.
        data_types: of the columns.
    """

    def __init__(
        self,
        field_names: Sequence[str] | None = None,
        data_types: Sequence[DataType] | None = None,
    ) -> None:
        self._names, self._types = list(field_names or ()), list(data_types or ())
        if len(self._names) != len(self._types):
            raise InvalidArgumentError(
                f"{len(self._names)} names and {len(self._types)} types", fix="one type a name"
            )

    def copy(self) -> TableSchema:
        """The same again."""
        return TableSchema(self._names, self._types)

    def get_field_data_types(self) -> list[DataType]:
        """The types of all columns."""
        return list(self._types)

    def get_field_data_type(self, field: int | str) -> DataType | None:
        """The type of a column, by its place or name; None if there is none."""
        if isinstance(field, str):
            return self._types[self._names.index(field)] if field in self._names else None
        if not isinstance(field, int):
            raise ArgumentTypeError(f"Expected field index or field name, got {type(field)}")
        return self._types[field] if 0 <= field < len(self._types) else None

    def get_field_count(self) -> int:
        """How many columns there are."""
        return len(self._names)

    def get_field_names(self) -> list[str]:
        """The names of all columns."""
        return list(self._names)

    def get_field_name(self, field_index: int) -> str | None:
        """The name of a column; None if there is none."""
        return self._names[field_index] if 0 <= field_index < len(self._names) else None

    def to_row_data_type(self) -> RowType:
        """A ROW of the columns."""
        columns = zip(self._names, self._types, strict=True)
        return DataTypes.ROW([DataTypes.FIELD(*column) for column in columns], nullable=False)

    def __repr__(self) -> str:
        columns = zip(self._names, self._types, strict=True)
        return "root\n" + "".join(f" |-- {name}: {kind}\n" for name, kind in columns)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TableSchema) and (self._names, self._types) == (
            other._names,
            other._types,
        )

    def __hash__(self) -> int:
        return hash((tuple(self._names), tuple(self._types)))

    @classmethod
    def builder(cls) -> TableSchema.Builder:
        """A builder."""
        return TableSchema.Builder()

    class Builder:
        """Collects columns."""

        def __init__(self) -> None:
            self._names: list[str] = []
            self._types: list[DataType] = []

        def field(self, name: str, data_type: DataType) -> TableSchema.Builder:
            """One more column."""
            self._names.append(name)
            self._types.append(data_type)
            return self

        def build(self) -> TableSchema:
            """The columns."""
            return TableSchema(self._names, self._types)
