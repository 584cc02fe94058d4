"""The parts of a table's definition: columns, watermark, keys, partitions, options.

    (id INT, ts TIMESTAMP(3) METADATA FROM 'timestamp' VIRTUAL, cost AS price * n,
     WATERMARK FOR ts AS ts - INTERVAL '5' SECOND, PRIMARY KEY (id) NOT ENFORCED)

In: a walk over tokens (stream.py).  Out: nodes of ddl_ast.py.  Next: ddl.py
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from headrace.sql.ast import Identifier, SqlLiteral
from headrace.sql.ddl_ast import (
    ColumnDefinition,
    ComputedColumnDefinition,
    ConstraintDefinition,
    DistributionDefinition,
    MetadataColumnDefinition,
    PhysicalColumnDefinition,
    TableSchemaDefinition,
    WatermarkDefinition,
)
from headrace.sql.queries import QueryParser
from headrace.sql.tokens import TokenKind

if TYPE_CHECKING:
    from headrace.sql.statement_ast import Options, PartitionSpec

_HABITS = {
    "DEFAULT": "Flink's columns have no default: give the value in INSERT",
    "GENERATED": "write a computed column: name AS expression",
    "REFERENCES": "Flink has no foreign keys",
    "CHECK": "Flink has no CHECK: filter in the query",
    "AUTO_INCREMENT": "Flink has no generated keys",
    "IDENTITY": "Flink has no generated keys",
}


@dataclass(slots=True)
class DefinedParts:
    """What was read of a table so far."""

    columns: list[ColumnDefinition] = field(default_factory=list)
    constraints: list[ConstraintDefinition] = field(default_factory=list)
    watermark: WatermarkDefinition | None = None
    names: list[Identifier] = field(default_factory=list)


class TablePartParser(QueryParser):
    """The part of the grammar that reads the definition of a table."""

    def table_schema(self) -> TableSchemaDefinition:
        """What stands in the parentheses behind a table's name."""
        first = self.index
        parts = DefinedParts()
        self.parenthesized(lambda: self.table_part(parts))
        position = self.since(first)
        if parts.names and (parts.columns or parts.constraints or parts.watermark):
            self.refuse(
                "some columns have a type and others none",
                "write a type behind each column",
                position=parts.names[0].position,
            )
        return TableSchemaDefinition(
            tuple(parts.columns),
            tuple(parts.constraints),
            parts.watermark,
            tuple(parts.names),
            position=position,
        )

    def table_part(self, parts: DefinedParts) -> None:
        """A column, a constraint, or the watermark."""
        if self.key == "WATERMARK":
            self._watermark(parts)
        elif self.key in {"CONSTRAINT", "PRIMARY", "UNIQUE"}:
            parts.constraints.append(self._constraint())
        else:
            self.column(parts)

    def _watermark(self, parts: DefinedParts) -> None:
        first = self.index
        self.index += 1
        self.expect("FOR")
        column = self.identifier("the name of a column")
        self.expect("AS")
        expression = self.expression()
        position = self.since(first)
        if parts.watermark is not None:
            self.refuse(
                "a table has one watermark, and this is the second",
                "keep one of them",
                position=position,
            )
        parts.watermark = WatermarkDefinition(column, expression, position=position)

    def column(self, parts: DefinedParts) -> None:
        """A column of any kind; its key goes to the constraints."""
        first = self.index
        name = self.identifier("the name of a column")
        if self.key in {",", ")"}:
            parts.names.append(name)
        elif self.accept("AS"):
            expression = self.expression()
            comment = self.comment()
            position = self.since(first)
            parts.columns.append(
                ComputedColumnDefinition(name, expression, comment, position=position)
            )
        else:
            parts.columns.append(self._typed_column(name, parts, first))

    def _typed_column(self, name: Identifier, parts: DefinedParts, first: int) -> ColumnDefinition:
        kind = self.type_name()
        if self.accept("METADATA"):
            key = self.string("a key in single quotes") if self.accept("FROM") else None
            virtual = self.accept("VIRTUAL")
            comment = self.comment()
            return MetadataColumnDefinition(
                name, kind, key, virtual, comment, position=self.since(first)
            )
        if self.key in {"CONSTRAINT", "PRIMARY", "UNIQUE"}:
            parts.constraints.append(self._constraint(name))
        if self.key in _HABITS:
            self.refuse(f"{self.key} cannot stand behind a column", _HABITS[self.key])
        comment = self.comment()
        return PhysicalColumnDefinition(name, kind, comment, position=self.since(first))

    def _constraint(self, column: Identifier | None = None) -> ConstraintDefinition:
        first = self.index
        name = None
        if self.accept("CONSTRAINT"):
            name = self.name("the name of a constraint")
        kind: Literal["PRIMARY KEY", "UNIQUE"] = "UNIQUE"
        if not self.accept("UNIQUE"):
            self.expect("PRIMARY", "KEY")
            kind = "PRIMARY KEY"
        columns = (column.parts[-1],) if column is not None else self.names_in_parentheses()
        enforced: bool | None = None
        if self.accept("NOT", "ENFORCED"):
            enforced = False
        elif self.accept("ENFORCED"):
            enforced = True
        return ConstraintDefinition(kind, columns, name, enforced, position=self.since(first))

    # --- behind the columns --------------------------------------------------------------------

    def comment(self) -> str | None:
        """``COMMENT 'text'``, if it is there."""
        return self.string("a comment in single quotes") if self.accept("COMMENT") else None

    def distribution(self) -> DistributionDefinition:
        """``BY HASH (a) INTO 4 BUCKETS``, ``INTO 4 BUCKETS``."""
        first = self.index
        if self.accept("BY"):
            found = self.accept_one(("HASH", "RANGE"))
            kind: Literal["HASH", "RANGE"] | None = None
            if found is not None:
                kind = "HASH" if found == "HASH" else "RANGE"
            columns = self.names_in_parentheses()
            buckets = self._buckets() if self.key == "INTO" else None
            return DistributionDefinition(kind, columns, buckets, position=self.since(first))
        if self.key != "INTO":
            self.fail("BY", "INTO")
        return DistributionDefinition(buckets=self._buckets(), position=self.since(first))

    def _buckets(self) -> int:
        self.expect("INTO")
        count = self.number("the number of buckets")
        self.expect("BUCKETS")
        return count

    def partitioned_by(self) -> tuple[str, ...]:
        """``PARTITIONED BY (a, b)``, if it is there."""
        if not self.accept("PARTITIONED"):
            return ()
        self.expect("BY")
        return self.names_in_parentheses()

    def with_options(self) -> Options:
        """``WITH ('k' = 'v')``, if it is there."""
        return self.options() if self.accept("WITH") else ()

    def options(self) -> Options:
        """``('k' = 'v', ..)``."""
        self.expect("(")
        found = () if self.key == ")" else self.comma_list(self._option)
        self.expect(")")
        return found

    def _option(self) -> tuple[str, str]:
        if not self.at_string() and self.token.kind in {TokenKind.WORD, TokenKind.QUOTED}:
            self.refuse(
                f"the key {self.token.value} of an option is not in single quotes",
                "write 'key' = 'value'",
            )
        key = self.string("a key in single quotes")
        self.expect("=")
        token = self.token
        if token.kind in {TokenKind.NUMBER, TokenKind.WORD}:
            self.refuse(
                f"the value of the option '{key}' is not in single quotes",
                f"write '{key}' = '{token.value}'",
            )
        return key, self.string("a value in single quotes")

    def option_keys(self) -> tuple[str, ...]:
        """``('k', ..)``."""
        self.expect("(")
        found: tuple[str, ...] = ()
        if self.key != ")":
            found = self.comma_list(lambda: self.string("a key in single quotes"))
        self.expect(")")
        return found

    def partition_spec(self, *, values: bool = True) -> PartitionSpec:
        """``(day = '2024-01-01', hour = 1)``; values may be left out unless they are asked for."""
        return self.parenthesized(lambda: self._partition(values=values))

    def _partition(self, *, values: bool) -> tuple[str, SqlLiteral | None]:
        name = self.name("the name of a column")
        if not values and self.key != "=":
            return name, None
        self.expect("=")
        start = self.here()
        value = self.operand(80)
        if not isinstance(value, SqlLiteral):
            self.refuse(
                "the value of a partition is a literal", "write column = 'value'", position=start
            )
        return name, value

    def if_not_exists(self) -> bool:
        """IF NOT EXISTS, if it is there."""
        if self.key != "IF":
            return False
        self.expect("IF", "NOT", "EXISTS")
        return True

    def if_exists(self) -> bool:
        """IF EXISTS, if it is there."""
        if self.key != "IF":
            return False
        self.expect("IF", "EXISTS")
        return True
