"""Schemas whose types are known: what get_resolved_schema gives.

In: columns.  Out: `ResolvedSchema`.  Next: table/catalog.py has its public names
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import Enum
from typing import TYPE_CHECKING, Any, Self

from headrace.common.data_types import DataTypes
from headrace.table.schema import (
    DeclaredColumn,
    DeclaredExpression,
    DeclaredKey,
    DeclaredType,
    DeclaredWatermark,
    Schema,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.common.data_types import DataType, RowType
    from headrace.table.resolved_expression import ResolvedExpression

__all__ = [
    "Column",
    "ComputedColumn",
    "Constraint",
    "MetadataColumn",
    "PhysicalColumn",
    "ResolvedSchema",
    "UniqueConstraint",
    "WatermarkSpec",
]


class Column(ABC):
    """A column with its type."""

    def __init__(self, name: str, data_type: DataType, comment: str | None = None) -> None:
        self._name, self._data_type, self._comment = name, data_type, comment

    @staticmethod
    def physical(name: str, data_type: DataType) -> PhysicalColumn:
        """A column of the records."""
        return PhysicalColumn(name, data_type)

    @staticmethod
    def computed(name: str, resolved_expression: ResolvedExpression) -> ComputedColumn:
        """A column that is computed."""
        return ComputedColumn(name, resolved_expression)

    @staticmethod
    def metadata(
        name: str, data_type: DataType, metadata_key: str | None, is_virtual: bool
    ) -> MetadataColumn:
        """A column of the records' metadata."""
        return MetadataColumn(name, data_type, metadata_key, is_virtual)

    def _parts(self) -> tuple[Any, ...]:
        return (self._name, self._data_type, self._comment)

    @abstractmethod
    def _with(self, name: str, data_type: DataType, comment: str | None) -> Self:
        """The same with other parts."""

    def with_comment(self, comment: str | None) -> Self:
        """The same with a comment."""
        return self._with(self._name, self._data_type, comment)

    def copy(self, new_type: DataType) -> Self:
        """The same with another type."""
        return self._with(self._name, new_type, self._comment)

    def rename(self, new_name: str) -> Self:
        """The same with another name."""
        return self._with(new_name, self._data_type, self._comment)

    @abstractmethod
    def is_physical(self) -> bool:
        """Whether it is a part of the records."""

    @abstractmethod
    def is_persisted(self) -> bool:
        """Whether it is written with the records."""

    @abstractmethod
    def explain_extras(self) -> str | None:
        """What is to be said beside name and type."""

    @abstractmethod
    def _declared(self) -> DeclaredColumn:
        """As a schema declares it."""

    def get_data_type(self) -> DataType:
        """Its type."""
        return self._data_type

    def get_name(self) -> str:
        """Its name."""
        return self._name

    def get_comment(self) -> str | None:
        """Its comment."""
        return self._comment

    def as_summary_string(self) -> str:
        """For people."""
        extras = self.explain_extras()
        return f"`{self._name}` {self._data_type}" + (f" {extras}" if extras else "")

    def __str__(self) -> str:
        return self.as_summary_string()

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))


class PhysicalColumn(Column):
    """A column of the records."""

    def _with(self, name: str, data_type: DataType, comment: str | None) -> PhysicalColumn:
        return PhysicalColumn(name, data_type, comment)

    def is_physical(self) -> bool:
        """It is."""
        return True

    def is_persisted(self) -> bool:
        """It is."""
        return True

    def explain_extras(self) -> str | None:
        """Nothing."""
        return None

    def copy(self, new_data_type: DataType) -> PhysicalColumn:
        """The same with another type."""
        return self._with(self._name, new_data_type, self._comment)

    def _declared(self) -> DeclaredColumn:
        return DeclaredColumn(self._name, DeclaredType(self._data_type), comment=self._comment)


class ComputedColumn(Column):
    """A column that is computed."""

    def __init__(
        self, name: str, expression: ResolvedExpression, comment: str | None = None
    ) -> None:
        super().__init__(name, expression.get_output_data_type(), comment)
        self._expression = expression

    def _with(self, name: str, data_type: DataType, comment: str | None) -> ComputedColumn:
        made = ComputedColumn(name, self._expression, comment)
        made._data_type = data_type
        return made

    def is_physical(self) -> bool:
        """It is not."""
        return False

    def is_persisted(self) -> bool:
        """It is not."""
        return False

    def get_expression(self) -> ResolvedExpression:
        """What it is computed of."""
        return self._expression

    def explain_extras(self) -> str | None:
        """Its expression."""
        return f"AS {self._expression.as_summary_string()}"

    def copy(self, new_data_type: DataType) -> ComputedColumn:
        """The same with another type."""
        return self._with(self._name, new_data_type, self._comment)

    def _declared(self) -> DeclaredColumn:
        expression = DeclaredExpression(self._expression._value, str(self._expression))
        return DeclaredColumn(self._name, expression=expression, comment=self._comment)


class MetadataColumn(Column):
    """A column of the records' metadata."""

    def __init__(
        self,
        name: str,
        data_type: DataType,
        metadata_key: str | None,
        is_virtual: bool,
        comment: str | None = None,
    ) -> None:
        super().__init__(name, data_type, comment)
        self._key, self._virtual = metadata_key, is_virtual

    def _with(self, name: str, data_type: DataType, comment: str | None) -> MetadataColumn:
        return MetadataColumn(name, data_type, self._key, self._virtual, comment)

    def is_virtual(self) -> bool:
        """Whether it is left out when records are written."""
        return self._virtual

    def get_metadata_key(self) -> str | None:
        """Which metadata; None for that of the column's name."""
        return self._key

    def is_physical(self) -> bool:
        """It is not."""
        return False

    def is_persisted(self) -> bool:
        """Whether it is written with the records."""
        return not self._virtual

    def explain_extras(self) -> str | None:
        """Where it comes from."""
        key = "" if self._key is None else f" FROM '{self._key}'"
        return f"METADATA{key}{' VIRTUAL' if self._virtual else ''}"

    def copy(self, new_data_type: DataType) -> MetadataColumn:
        """The same with another type."""
        return self._with(self._name, new_data_type, self._comment)

    def _declared(self) -> DeclaredColumn:
        return DeclaredColumn(
            self._name,
            DeclaredType(self._data_type),
            metadata=True,
            key=self._key,
            virtual=self._virtual,
            comment=self._comment,
        )


class WatermarkSpec:
    """Which column is the rowtime, and its watermark."""

    def __init__(self, rowtime_attribute: str, watermark_expression: ResolvedExpression) -> None:
        self._column, self._expression = rowtime_attribute, watermark_expression

    @staticmethod
    def of(rowtime_attribute: str, watermark_expression: ResolvedExpression) -> WatermarkSpec:
        """A watermark."""
        return WatermarkSpec(rowtime_attribute, watermark_expression)

    def get_rowtime_attribute(self) -> str:
        """The column."""
        return self._column

    def get_watermark_expression(self) -> ResolvedExpression:
        """The watermark."""
        return self._expression

    def as_summary_string(self) -> str:
        """For people."""
        kind = self._expression.get_output_data_type()
        return f"WATERMARK FOR `{self._column}`: {kind} AS {self._expression.as_summary_string()}"

    def __str__(self) -> str:
        return self.as_summary_string()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WatermarkSpec) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))


class Constraint(ABC):
    """What holds for the lines of a table; nobody checks it."""

    class ConstraintType(Enum):
        """Kinds of constraints."""

        PRIMARY_KEY = 0
        UNIQUE_KEY = 1

    def __init__(self, name: str) -> None:
        self._name = name

    def get_name(self) -> str:
        """Its name."""
        return self._name

    def is_enforced(self) -> bool:
        """Never."""
        return False

    @abstractmethod
    def get_type(self) -> Constraint.ConstraintType:
        """Its kind."""

    @abstractmethod
    def as_summary_string(self) -> str:
        """For people."""

    def __str__(self) -> str:
        return self.as_summary_string()


class UniqueConstraint(Constraint):
    """Columns that tell lines apart."""

    def __init__(self, name: str = "", columns: Sequence[str] = ()) -> None:
        super().__init__(name)
        self._columns = tuple(columns)

    @staticmethod
    def primary_key(name: str, columns: Sequence[str]) -> UniqueConstraint:
        """A primary key."""
        return UniqueConstraint(name, columns)

    def get_type(self) -> Constraint.ConstraintType:
        """A primary key."""
        return self.ConstraintType.PRIMARY_KEY

    def get_columns(self) -> list[str]:
        """The columns."""
        return list(self._columns)

    def get_type_string(self) -> str:
        """As SQL says it."""
        return "PRIMARY KEY"

    def as_summary_string(self) -> str:
        """For people."""
        columns = ", ".join(f"`{column}`" for column in self._columns)
        return f"CONSTRAINT `{self._name}` PRIMARY KEY ({columns}) NOT ENFORCED"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UniqueConstraint) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))


class ResolvedSchema:
    """Columns with their types, keys and the watermark.

    Args:
        columns: in order.
        watermark_specs: at most one.
        primary_key: None without one.
    """

    def __init__(
        self,
        columns: Sequence[Column] | None = None,
        watermark_specs: Sequence[WatermarkSpec] | None = None,
        primary_key: UniqueConstraint | None = None,
    ) -> None:
        self._columns, self._watermarks = tuple(columns or ()), tuple(watermark_specs or ())
        self._primary_key = primary_key

    @staticmethod
    def of(columns: Sequence[Column]) -> ResolvedSchema:
        """A schema of columns."""
        return ResolvedSchema(columns, ())

    @staticmethod
    def physical(
        column_names: Sequence[str], column_data_types: Sequence[DataType]
    ) -> ResolvedSchema:
        """A schema of names and types."""
        pairs = zip(column_names, column_data_types, strict=True)
        return ResolvedSchema.of([Column.physical(name, kind) for name, kind in pairs])

    def get_column_count(self) -> int:
        """How many columns there are."""
        return len(self._columns)

    def get_columns(self) -> list[Column]:
        """The columns."""
        return list(self._columns)

    def get_column_names(self) -> list[str]:
        """Their names."""
        return [column.get_name() for column in self._columns]

    def get_column_data_types(self) -> list[DataType]:
        """Their types."""
        return [column.get_data_type() for column in self._columns]

    def get_column(self, column_index_or_name: int | str) -> Column | None:
        """A column by its place or name; None if there is none."""
        if isinstance(column_index_or_name, str):
            found = (c for c in self._columns if c.get_name() == column_index_or_name)
            return next(found, None)
        inside = 0 <= column_index_or_name < len(self._columns)
        return self._columns[column_index_or_name] if inside else None

    def get_watermark_specs(self) -> list[WatermarkSpec]:
        """The watermark, if there is one."""
        return list(self._watermarks)

    def get_primary_key(self) -> UniqueConstraint | None:
        """The primary key."""
        return self._primary_key

    def get_primary_key_indexes(self) -> list[int]:
        """The places of the columns of the primary key, among the physical columns."""
        if self._primary_key is None:
            return []
        names = [column.get_name() for column in self._columns if column.is_physical()]
        return [names.index(name) for name in self._primary_key.get_columns()]

    def to_source_row_data_type(self) -> RowType:
        """The ROW of all columns."""
        return self._row(self._columns)

    def to_physical_row_data_type(self) -> RowType:
        """The ROW of the columns of the records."""
        return self._row([column for column in self._columns if column.is_physical()])

    def to_sink_row_data_type(self) -> RowType:
        """The ROW of the columns that are written."""
        return self._row([column for column in self._columns if column.is_persisted()])

    @staticmethod
    def _row(columns: Sequence[Column]) -> RowType:
        fields = [DataTypes.FIELD(c.get_name(), c.get_data_type()) for c in columns]
        return DataTypes.ROW(fields, nullable=False)

    def _declared(self) -> Schema:
        """The same, as a program would declare it."""
        columns = [column._declared() for column in self._columns]
        watermark = None
        for spec in self._watermarks:
            made = spec.get_watermark_expression()
            expression = DeclaredExpression(made._value, str(made))
            watermark = DeclaredWatermark(spec.get_rowtime_attribute(), expression)
        key = None
        if self._primary_key is not None:
            columns_of_key = tuple(self._primary_key.get_columns())
            key = DeclaredKey(self._primary_key.get_name(), columns_of_key)
        return Schema(columns, watermark, key)

    def __str__(self) -> str:
        parts = [*map(str, self._columns), *map(str, self._watermarks)]
        if self._primary_key is not None:
            parts.append(str(self._primary_key))
        return "(\n" + ",\n".join(f"  {part}" for part in parts) + "\n)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ResolvedSchema) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))
