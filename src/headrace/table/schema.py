"""``Schema``: the columns, keys and watermark of a table, as a program declares them.

    Schema.new_builder().column("a", "INT").watermark("ts", "ts - INTERVAL '5' SECOND").build()

In: the user's program, or CREATE TABLE.  Out: declared columns, not yet resolved.
Next: table/declared.py resolves them
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from headrace.common.data_types import DataType, RowType
from headrace.errors import ArgumentTypeError, InvalidArgumentError
from headrace.table.parsing import parsed_expression, parsed_type

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.sql.ast import SqlExpression
    from headrace.table.expression import Expression
    from headrace.table.resolved import ResolvedSchema

__all__ = ["Schema"]


@dataclass(frozen=True)
class DeclaredType:
    """A type, as an object or as text.

    Attributes:
        given: what the program gave.
    """

    given: DataType | str

    @property
    def data_type(self) -> DataType:
        """The type."""
        return self.given if isinstance(self.given, DataType) else parsed_type(self.given)

    def __str__(self) -> str:
        return f"[{self.given}]" if isinstance(self.given, str) else str(self.given)


@dataclass(frozen=True)
class DeclaredExpression:
    """An expression, with its text: how SHOW CREATE TABLE writes it."""

    node: SqlExpression = field(compare=False)
    text: str

    def __str__(self) -> str:
        return f"[{self.text}]"


@dataclass(frozen=True)
class DeclaredColumn:
    """A column of a schema; one of `type` and `expression` may be there, or metadata.

    Attributes:
        name: of the column.
        type: None of a computed column.
        expression: of a computed column.
        metadata: whether it is read from the record's metadata.
        key: of the metadata; None if it is the column's name.
        virtual: whether it is left out when the table is written.
        comment: of the column.
    """

    name: str
    type: DeclaredType | None = None
    expression: DeclaredExpression | None = None
    metadata: bool = False
    key: str | None = None
    virtual: bool = False
    comment: str | None = None

    @property
    def physical(self) -> bool:
        """Whether it is stored in the records themselves."""
        return self.expression is None and not self.metadata

    def __str__(self) -> str:
        text = f"`{self.name}` "
        if self.expression is not None:
            text += f"AS {self.expression}"
        else:
            text += str(self.type)
        if self.metadata:
            text += " METADATA" + (f" FROM '{self.key}'" if self.key is not None else "")
            text += " VIRTUAL" if self.virtual else ""
        return text + (f" COMMENT '{self.comment}'" if self.comment else "")


@dataclass(frozen=True)
class DeclaredWatermark:
    """WATERMARK FOR column AS expression."""

    column: str
    expression: DeclaredExpression

    def __str__(self) -> str:
        return f"WATERMARK FOR `{self.column}` AS {self.expression}"


@dataclass(frozen=True)
class DeclaredKey:
    """A primary key."""

    name: str
    columns: tuple[str, ...]

    def __str__(self) -> str:
        names = ", ".join(f"`{name}`" for name in self.columns)
        return f"CONSTRAINT `{self.name}` PRIMARY KEY ({names}) NOT ENFORCED"


class Schema:
    """Declared columns, keys and watermark of a table."""

    def __init__(
        self,
        columns: Sequence[DeclaredColumn] = (),
        watermark: DeclaredWatermark | None = None,
        primary_key: DeclaredKey | None = None,
    ) -> None:
        self._columns = tuple(columns)
        self._watermark = watermark
        self._primary_key = primary_key

    @staticmethod
    def new_builder() -> Schema.Builder:
        """A builder."""
        return Schema.Builder()

    def _parts(self) -> tuple[object, ...]:
        return self._columns, self._watermark, self._primary_key

    def __str__(self) -> str:
        lines = [str(column) for column in self._columns]
        lines += [str(part) for part in (self._watermark, self._primary_key) if part is not None]
        return "(\n" + ",\n".join(f"  {line}" for line in lines) + "\n)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Schema) and self._parts() == other._parts()

    def __hash__(self) -> int:
        return hash(self._parts())

    class Builder:
        """Collects columns, keys and the watermark."""

        def __init__(self) -> None:
            self._columns: list[DeclaredColumn] = []
            self._watermark: DeclaredWatermark | None = None
            self._primary_key: DeclaredKey | None = None

        def from_schema(self, unresolved_schema: Schema) -> Schema.Builder:
            """Take over everything of another schema."""
            self._columns += unresolved_schema._columns
            self._watermark = unresolved_schema._watermark or self._watermark
            self._primary_key = unresolved_schema._primary_key or self._primary_key
            return self

        def from_resolved_schema(self, resolved_schema: ResolvedSchema) -> Schema.Builder:
            """Take over everything of a resolved schema."""
            return self.from_schema(resolved_schema._declared())

        def from_row_data_type(self, data_type: DataType) -> Schema.Builder:
            """A column for each field of a ROW."""
            if not isinstance(data_type, RowType):
                raise ArgumentTypeError(f"{data_type} is no ROW", fix="use DataTypes.ROW([...])")
            return self.from_fields(data_type.field_names(), data_type.field_types())

        def from_fields(
            self, field_names: Sequence[str], field_data_types: Sequence[DataType]
        ) -> Schema.Builder:
            """A column for each name and type."""
            if len(field_names) != len(field_data_types):
                raise InvalidArgumentError(
                    f"{len(field_names)} names and {len(field_data_types)} types"
                )
            for name, kind in zip(field_names, field_data_types, strict=True):
                self.column(name, kind)
            return self

        def column(self, column_name: str, data_type: DataType | str) -> Schema.Builder:
            """A column of the table."""
            self._columns.append(DeclaredColumn(column_name, DeclaredType(_type(data_type))))
            return self

        def column_by_expression(
            self, column_name: str, expr: str | Expression[Any]
        ) -> Schema.Builder:
            """A column that is computed from others."""
            self._columns.append(DeclaredColumn(column_name, expression=_declared(expr)))
            return self

        def column_by_metadata(
            self,
            column_name: str,
            data_type: DataType | str,
            metadata_key: str | None = None,
            is_virtual: bool = False,
        ) -> Schema.Builder:
            """A column of the record's metadata, such as its timestamp.

            Args:
                column_name: of the column.
                data_type: what the metadata is cast to.
                metadata_key: which metadata; by default that of the column's name.
                is_virtual: whether it is left out when the table is written.
            """
            kind = DeclaredType(_type(data_type))
            self._columns.append(
                DeclaredColumn(
                    column_name, kind, metadata=True, key=metadata_key, virtual=is_virtual
                )
            )
            return self

        def watermark(
            self, column_name: str, watermark_expr: str | Expression[Any]
        ) -> Schema.Builder:
            """Make a column the rowtime, with watermarks of an expression."""
            self._watermark = DeclaredWatermark(column_name, _declared(watermark_expr))
            return self

        def primary_key(self, *column_names: str) -> Schema.Builder:
            """Say which columns tell lines apart; nobody checks it."""
            if not column_names:
                raise InvalidArgumentError("a primary key needs a column")
            return self.primary_key_named("PK_" + "_".join(column_names), *column_names)

        def primary_key_named(self, constraint_name: str, *column_names: str) -> Schema.Builder:
            """The same, with a name."""
            self._primary_key = DeclaredKey(constraint_name, column_names)
            return self

        def build(self) -> Schema:
            """The schema."""
            return Schema(self._columns, self._watermark, self._primary_key)


def _type(given: DataType | str) -> DataType | str:
    if isinstance(given, DataType | str):
        return given
    raise ArgumentTypeError(f"{given!r} is no type", fix="use DataTypes.INT(), or 'INT'")


def _declared(expr: str | Expression[Any]) -> DeclaredExpression:
    if isinstance(expr, str):
        return DeclaredExpression(parsed_expression(expr), expr)
    text = str(expr)
    return DeclaredExpression(expr._value, text[1:-1] if text.startswith("[") else text)
