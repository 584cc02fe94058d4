"""ALTER.

In: a walk over tokens (stream.py).  Out: `AlterStatement` and `AlterFunction` (ddl_ast.py).
Next: statements.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from headrace.sql.ddl import CreateParser
from headrace.sql.ddl_ast import (
    AddPartitionsAction,
    AlterAction,
    AlterFunction,
    AlterStatement,
    ColumnPlacement,
    CommentAction,
    DistributionAction,
    DropAction,
    DropColumnsAction,
    DropPartitionsAction,
    FreshnessAction,
    NewQueryAction,
    RefreshAction,
    RefreshModeAction,
    RenameAction,
    RenameColumnAction,
    ResetOptionsAction,
    ResumeAction,
    SchemaAction,
    SetOptionsAction,
    SuspendAction,
)
from headrace.sql.table_parts import DefinedParts

if TYPE_CHECKING:
    from headrace.sql.statement_ast import Options, PartitionSpec, SqlStatement

_Altered = Literal[
    "TABLE", "VIEW", "MATERIALIZED TABLE", "CATALOG", "DATABASE", "MODEL", "CONNECTION"
]
_KINDS: tuple[_Altered, ...] = (
    "TABLE", "VIEW", "MATERIALIZED TABLE", "CATALOG", "DATABASE", "MODEL", "CONNECTION",
)  # fmt: skip
# What may be done to what.
_ACTIONS: dict[_Altered, tuple[str, ...]] = {
    "TABLE": ("RENAME", "SET", "RESET", "ADD", "MODIFY", "DROP"),
    "VIEW": ("RENAME", "AS"),
    "MATERIALIZED TABLE": (
        "SUSPEND", "RESUME", "REFRESH", "SET", "RESET", "AS", "ADD", "MODIFY", "DROP",
    ),
    "CATALOG": ("SET", "RESET", "COMMENT"),
    "DATABASE": ("SET",),
    "MODEL": ("RENAME", "SET", "RESET"),
    "CONNECTION": ("RENAME", "SET", "RESET"),
}  # fmt: skip


class AlterParser(CreateParser):
    """The part of the grammar that reads ALTER."""

    def alter(self) -> SqlStatement:
        """ALTER of anything."""
        first = self.index
        self.index += 1
        temporary = self.accept("TEMPORARY")
        system = temporary and self.accept("SYSTEM")
        if temporary or self.key == "FUNCTION":
            self.expect("FUNCTION")
            return self._alter_function(first, temporary=temporary, system=system)
        if self.accept("MATERIALIZED"):
            self.expect("TABLE")
            kind: _Altered = "MATERIALIZED TABLE"
        else:
            found = self.expect_one((*(k for k in _KINDS if " " not in k), "FUNCTION"))
            kind = next(k for k in _KINDS if k == found)
        if_exists = self.if_exists()
        name = self.identifier(f"the name of a {kind.lower()}")
        if self.key not in _ACTIONS[kind]:
            self.expect_one(_ACTIONS[kind])
        place = self.index
        action = self._action(kind, self.advance().key, place)
        return AlterStatement(kind, name, action, if_exists, position=self.since(first))

    def _alter_function(self, first: int, *, temporary: bool, system: bool) -> AlterFunction:
        if_exists = self.if_exists()
        name = self.identifier("the name of a function")
        class_name, language = self.function_body()
        return AlterFunction(
            name, class_name, language, temporary, system, if_exists, position=self.since(first)
        )

    def _action(self, kind: _Altered, word: str, first: int) -> AlterAction:
        match word:
            case "RENAME":
                return self._rename(kind, first)
            case "SET":
                return self._set(kind, first)
            case "RESET":
                return ResetOptionsAction(self.option_keys(), position=self.since(first))
            case "ADD":
                return self._add_or_modify("ADD", first)
            case "MODIFY":
                return self._add_or_modify("MODIFY", first)
            case "DROP":
                return self._drop_part(first)
            case "AS":
                return NewQueryAction(self.query(), position=self.since(first))
            case "COMMENT":
                return CommentAction(self.string(), position=self.since(first))
            case "SUSPEND":
                return SuspendAction(position=self.since(first))
            case "RESUME":
                return ResumeAction(self.with_options(), position=self.since(first))
            case _:
                partition = self.partition_spec() if self.accept("PARTITION") else ()
                return RefreshAction(partition, position=self.since(first))

    def _rename(self, kind: _Altered, first: int) -> AlterAction:
        if self.accept("TO"):
            return RenameAction(self.identifier("a new name"), position=self.since(first))
        if kind != "TABLE":
            self.fail("TO")
        if self.key == "COLUMN":
            self.refuse("RENAME takes the column's name at once", "write RENAME old TO new")
        old = self.identifier("TO, or the name of a column")
        self.expect("TO")
        new = self.identifier("a new name")
        return RenameColumnAction(old, new, position=self.since(first))

    def _set(self, kind: _Altered, first: int) -> AlterAction:
        if kind == "MATERIALIZED TABLE" and self.accept("FRESHNESS"):
            return FreshnessAction(self.interval_behind_equals(), position=self.since(first))
        if kind == "MATERIALIZED TABLE" and self.accept("REFRESH_MODE"):
            return RefreshModeAction(self.refresh_mode(), position=self.since(first))
        if self.key in {"TBLPROPERTIES", "DBPROPERTIES"}:
            self.refuse(f"Flink's options have no {self.key}", "write SET ('key' = 'value')")
        return SetOptionsAction(self.options(), position=self.since(first))

    # --- parts of tables -----------------------------------------------------------------------

    def _add_or_modify(self, kind: Literal["ADD", "MODIFY"], first: int) -> AlterAction:
        if self.accept("DISTRIBUTION"):
            return DistributionAction(kind, self.distribution(), position=self.since(first))
        if kind == "ADD" and self.key in {"IF", "PARTITION"}:
            return self._add_partitions(first)
        if self.key in {"COLUMN", "COLUMNS"}:
            self.refuse(
                f"{kind} takes columns at once", f"write {kind} name type, or {kind} (a INT, ..)"
            )
        parts = DefinedParts()
        placements: list[ColumnPlacement] = []
        if self.key == "(":
            self.parenthesized(lambda: self._placed(parts, placements))
        else:
            self._placed(parts, placements)
        if parts.names:
            self.refuse(
                "the column has no type", "write its type behind it",
                position=parts.names[0].position,
            )  # fmt: skip
        return SchemaAction(
            kind, tuple(placements), tuple(parts.constraints), parts.watermark,
            position=self.since(first),
        )  # fmt: skip

    def _placed(self, parts: DefinedParts, placements: list[ColumnPlacement]) -> None:
        first = self.index
        count = len(parts.columns)
        self.table_part(parts)
        if len(parts.columns) == count:
            return
        at_first = self.accept("FIRST")
        after = None
        if not at_first and self.accept("AFTER"):
            after = self.identifier("the name of a column")
        position = self.since(first)
        placements.append(ColumnPlacement(parts.columns[-1], at_first, after, position=position))

    def _add_partitions(self, first: int) -> AddPartitionsAction:
        if_not_exists = self.if_not_exists()
        found: list[tuple[PartitionSpec, Options]] = []
        while not found or self.key == "PARTITION":
            self.expect("PARTITION")
            spec = self.partition_spec()
            found.append((spec, self.with_options()))
        return AddPartitionsAction(tuple(found), if_not_exists, position=self.since(first))

    def _drop_part(self, first: int) -> AlterAction:
        if self.key in {"IF", "PARTITION"}:
            if_exists = self.if_exists()
            specs = self.comma_list(self._partition_to_drop)
            return DropPartitionsAction(specs, if_exists, position=self.since(first))
        if self.accept("PRIMARY"):
            self.expect("KEY")
            return DropAction("PRIMARY KEY", position=self.since(first))
        if self.accept("CONSTRAINT"):
            name = self.name("the name of a constraint")
            return DropAction("CONSTRAINT", name, position=self.since(first))
        if self.accept("WATERMARK"):
            return DropAction("WATERMARK", position=self.since(first))
        if self.accept("DISTRIBUTION"):
            return DropAction("DISTRIBUTION", position=self.since(first))
        if self.key in {"COLUMN", "COLUMNS"}:
            self.refuse("DROP takes columns at once", "write DROP name, or DROP (a, b)")
        if self.key == "(":
            columns = self.parenthesized(lambda: self.identifier("the name of a column"))
        else:
            columns = (self.identifier("the name of a column"),)
        return DropColumnsAction(columns, position=self.since(first))

    def _partition_to_drop(self) -> PartitionSpec:
        self.expect("PARTITION")
        return self.partition_spec()
