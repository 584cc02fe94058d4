"""The types of a stream of lines between SQL operators, and of rows with their kinds of change.

In: rel/steps (what a node gives).  Out: `RowDataTypeInfo`.  Next: data/row_data.py has its codec
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.common.typeinfo import RowTypeInfo, TypeInformation

if TYPE_CHECKING:
    from headrace.common.data_types import DataType, RowType

KIND_COLUMN = "$kind"


class ChangeRowTypeInfo(RowTypeInfo):
    """A ``Row`` with its kind of change; it travels as one more column, `$kind`."""

    @staticmethod
    def of(rows: RowTypeInfo) -> ChangeRowTypeInfo:
        """The same rows, with their kinds."""
        names = rows.get_field_names() if rows.is_named else None
        return ChangeRowTypeInfo(rows.get_field_types(), names)


class RowDataTypeInfo(TypeInformation):
    """Lines of columns; as Python values they are tuples.

    Attributes:
        row_type: the columns.
        changes: whether lines may take others back. Then there is one more column at the end,
            `$kind`, with Flink's numbers (0 +I, 1 -U, 2 +U, 3 -D).
    """

    def __init__(self, row_type: RowType, changes: bool = False) -> None:
        self.row_type = row_type
        self.changes = changes

    def get_field_names(self) -> list[str]:
        """The names of the columns, without `$kind`."""
        return self.row_type.field_names()

    def get_data_types(self) -> list[DataType]:
        """The types of the columns, without `$kind`."""
        return self.row_type.field_types()

    def get_field_types(self) -> list[TypeInformation]:
        """The DataStream API's types of the columns, without `$kind`."""
        return [kind.to_type_info() for kind in self.row_type.field_types()]

    def with_changes(self, changes: bool = True) -> RowDataTypeInfo:
        """The same columns, with or without `$kind`."""
        return self if changes is self.changes else RowDataTypeInfo(self.row_type, changes)

    def to_row_type_info(self) -> TypeInformation:
        """The type of the same lines as `Row` objects."""
        made = ChangeRowTypeInfo if self.changes else RowTypeInfo
        return made(self.get_field_types(), self.get_field_names())

    def _parts(self) -> tuple[object, ...]:
        return (self.row_type, self.changes)

    def __repr__(self) -> str:
        return f"RowData({self.row_type}{', changes' if self.changes else ''})"
