"""What SQL text becomes, part four: CREATE, ALTER and DROP.

    CREATE TABLE t (a INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH (..)
        ──▶   CreateTable(Identifier(("t",)), schema=TableSchemaDefinition(columns, ..), options)

In: ddl.py and alter.py.  Out: table/ executes them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from headrace.sql.ast import Identifier, IntervalLiteral, SqlExpression, SqlNode, TypeName
from headrace.sql.statement_ast import Options, PartitionSpec, SqlStatement

if TYPE_CHECKING:
    from headrace.sql.query_ast import SqlQuery

__all__ = [
    "AddPartitionsAction",
    "AlterAction",
    "AlterFunction",
    "AlterStatement",
    "ColumnDefinition",
    "ColumnPlacement",
    "CommentAction",
    "ComputedColumnDefinition",
    "ConstraintDefinition",
    "CreateCatalog",
    "CreateConnection",
    "CreateDatabase",
    "CreateFunction",
    "CreateMaterializedTable",
    "CreateModel",
    "CreateTable",
    "CreateView",
    "DistributionAction",
    "DistributionDefinition",
    "DropAction",
    "DropColumnsAction",
    "DropPartitionsAction",
    "DropStatement",
    "FreshnessAction",
    "LikeClause",
    "MetadataColumnDefinition",
    "NewQueryAction",
    "PhysicalColumnDefinition",
    "RefreshAction",
    "RefreshModeAction",
    "RenameAction",
    "RenameColumnAction",
    "ResetOptionsAction",
    "ResumeAction",
    "SchemaAction",
    "SetOptionsAction",
    "StartMode",
    "SuspendAction",
    "TableSchemaDefinition",
    "WatermarkDefinition",
]

# --- the parts of a table --------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ColumnDefinition(SqlNode):
    """A column of CREATE TABLE; ALTER TABLE may name a nested one, so its name has parts."""

    name: Identifier


@dataclass(frozen=True, slots=True)
class PhysicalColumnDefinition(ColumnDefinition):
    """``name type [COMMENT 'c']``; PRIMARY KEY behind it is a constraint of the table."""

    type: TypeName
    comment: str | None = None


@dataclass(frozen=True, slots=True)
class ComputedColumnDefinition(ColumnDefinition):
    """``name AS expression [COMMENT 'c']``."""

    expression: SqlExpression
    comment: str | None = None


@dataclass(frozen=True, slots=True)
class MetadataColumnDefinition(ColumnDefinition):
    """``name type METADATA [FROM 'key'] [VIRTUAL] [COMMENT 'c']``."""

    type: TypeName
    key: str | None = None
    virtual: bool = False
    comment: str | None = None


@dataclass(frozen=True, slots=True)
class WatermarkDefinition(SqlNode):
    """``WATERMARK FOR column AS expression``; the column may be nested."""

    column: Identifier
    expression: SqlExpression


@dataclass(frozen=True, slots=True)
class ConstraintDefinition(SqlNode):
    """``[CONSTRAINT name] PRIMARY KEY (columns) [NOT ENFORCED]``; `enforced` None if not said."""

    kind: Literal["PRIMARY KEY", "UNIQUE"]
    columns: tuple[str, ...]
    name: str | None = None
    enforced: bool | None = None


@dataclass(frozen=True, slots=True)
class TableSchemaDefinition(SqlNode):
    """What stands in the parentheses behind a table's name.

    Attributes:
        names: of ``CREATE TABLE t (a, b) AS SELECT ..``: the columns by name only.
    """

    columns: tuple[ColumnDefinition, ...] = ()
    constraints: tuple[ConstraintDefinition, ...] = ()
    watermark: WatermarkDefinition | None = None
    names: tuple[Identifier, ...] = ()


@dataclass(frozen=True, slots=True)
class DistributionDefinition(SqlNode):
    """``DISTRIBUTED BY HASH (a) INTO 4 BUCKETS``; without columns only the buckets are said."""

    kind: Literal["HASH", "RANGE"] | None = None
    columns: tuple[str, ...] = ()
    buckets: int | None = None


@dataclass(frozen=True, slots=True)
class LikeClause(SqlNode):
    """``LIKE table (INCLUDING ALL ..)``; each option is a strategy and a feature.

    Strategies: INCLUDING, EXCLUDING, OVERWRITING.  Features: ALL, CONSTRAINTS, DISTRIBUTION,
    GENERATED, METADATA, OPTIONS, PARTITIONS, WATERMARKS.
    """

    table: Identifier
    options: tuple[tuple[str, str], ...] = ()


# --- CREATE ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CreateTable(SqlStatement):
    """CREATE TABLE, with LIKE or AS; REPLACE TABLE AS and CREATE OR REPLACE TABLE AS.

    Attributes:
        schema: None without parentheses behind the name.
        replace: whether a table of that name is replaced.
        or_create: of a replacement: whether the table need not be there yet.
    """

    name: Identifier
    schema: TableSchemaDefinition | None = None
    comment: str | None = None
    distribution: DistributionDefinition | None = None
    partitioned_by: tuple[str, ...] = ()
    connection: Identifier | None = None
    options: Options = ()
    like: LikeClause | None = None
    query: SqlQuery | None = None
    temporary: bool = False
    if_not_exists: bool = False
    replace: bool = False
    or_create: bool = False


@dataclass(frozen=True, slots=True)
class CreateView(SqlStatement):
    """CREATE VIEW; the text of its query is ``query.position.source``."""

    name: Identifier
    query: SqlQuery
    columns: tuple[str, ...] = ()
    comment: str | None = None
    temporary: bool = False
    if_not_exists: bool = False
    replace: bool = False


@dataclass(frozen=True, slots=True)
class CreateCatalog(SqlStatement):
    """CREATE CATALOG."""

    name: str
    options: Options = ()
    comment: str | None = None
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class CreateDatabase(SqlStatement):
    """CREATE DATABASE."""

    name: Identifier
    options: Options = ()
    comment: str | None = None
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class CreateFunction(SqlStatement):
    """CREATE FUNCTION name AS 'class' LANGUAGE PYTHON USING JAR 'path' WITH (..).

    Attributes:
        resources: kind (JAR or ARTIFACT) and path.
    """

    name: Identifier
    class_name: str
    language: Literal["JAVA", "SCALA", "SQL", "PYTHON"] | None = None
    resources: tuple[tuple[str, str], ...] = ()
    options: Options = ()
    temporary: bool = False
    system: bool = False
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class CreateModel(SqlStatement):
    """CREATE MODEL name INPUT (..) OUTPUT (..) WITH (..) [AS query]."""

    name: Identifier
    inputs: tuple[ColumnDefinition, ...] = ()
    outputs: tuple[ColumnDefinition, ...] = ()
    comment: str | None = None
    options: Options = ()
    query: SqlQuery | None = None
    temporary: bool = False
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class CreateConnection(SqlStatement):
    """CREATE CONNECTION name WITH (..)."""

    name: Identifier
    options: Options = ()
    comment: str | None = None
    temporary: bool = False
    system: bool = False
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class StartMode(SqlNode):
    """``START_MODE = FROM_NOW(INTERVAL '1' HOUR)``."""

    kind: str
    value: SqlExpression | None = None


@dataclass(frozen=True, slots=True)
class CreateMaterializedTable(SqlStatement):
    """CREATE [OR ALTER] MATERIALIZED TABLE."""

    name: Identifier
    query: SqlQuery
    schema: TableSchemaDefinition | None = None
    comment: str | None = None
    distribution: DistributionDefinition | None = None
    partitioned_by: tuple[str, ...] = ()
    options: Options = ()
    start_mode: StartMode | None = None
    freshness: IntervalLiteral | None = None
    refresh_mode: Literal["FULL", "CONTINUOUS"] | None = None
    or_alter: bool = False


# --- ALTER -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AlterAction(SqlNode):
    """What ALTER does."""


@dataclass(frozen=True, slots=True)
class RenameAction(AlterAction):
    """RENAME TO name."""

    name: Identifier


@dataclass(frozen=True, slots=True)
class RenameColumnAction(AlterAction):
    """RENAME old TO new."""

    old: Identifier
    new: Identifier


@dataclass(frozen=True, slots=True)
class SetOptionsAction(AlterAction):
    """SET ('k' = 'v')."""

    options: Options


@dataclass(frozen=True, slots=True)
class ResetOptionsAction(AlterAction):
    """RESET ('k')."""

    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ColumnPlacement(SqlNode):
    """A column that is added or changed, and where it goes: FIRST, or behind another."""

    column: ColumnDefinition
    first: bool = False
    after: Identifier | None = None


@dataclass(frozen=True, slots=True)
class SchemaAction(AlterAction):
    """ADD or MODIFY columns, constraints, watermark."""

    kind: Literal["ADD", "MODIFY"]
    columns: tuple[ColumnPlacement, ...] = ()
    constraints: tuple[ConstraintDefinition, ...] = ()
    watermark: WatermarkDefinition | None = None


@dataclass(frozen=True, slots=True)
class DistributionAction(AlterAction):
    """ADD or MODIFY DISTRIBUTION."""

    kind: Literal["ADD", "MODIFY"]
    distribution: DistributionDefinition


@dataclass(frozen=True, slots=True)
class DropColumnsAction(AlterAction):
    """DROP column, DROP (a, b)."""

    columns: tuple[Identifier, ...]


@dataclass(frozen=True, slots=True)
class DropAction(AlterAction):
    """DROP PRIMARY KEY, CONSTRAINT name, WATERMARK or DISTRIBUTION."""

    what: Literal["PRIMARY KEY", "CONSTRAINT", "WATERMARK", "DISTRIBUTION"]
    name: str | None = None


@dataclass(frozen=True, slots=True)
class AddPartitionsAction(AlterAction):
    """ADD [IF NOT EXISTS] PARTITION (..) [WITH (..)] .."""

    partitions: tuple[tuple[PartitionSpec, Options], ...]
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class DropPartitionsAction(AlterAction):
    """DROP [IF EXISTS] PARTITION (..), .."""

    partitions: tuple[PartitionSpec, ...]
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class NewQueryAction(AlterAction):
    """AS query, of a view or of a materialized table."""

    query: SqlQuery


@dataclass(frozen=True, slots=True)
class CommentAction(AlterAction):
    """COMMENT 'text', of a catalog."""

    comment: str


@dataclass(frozen=True, slots=True)
class FreshnessAction(AlterAction):
    """SET FRESHNESS = INTERVAL .."""

    freshness: IntervalLiteral


@dataclass(frozen=True, slots=True)
class RefreshModeAction(AlterAction):
    """SET REFRESH_MODE = .."""

    mode: Literal["FULL", "CONTINUOUS"]


@dataclass(frozen=True, slots=True)
class SuspendAction(AlterAction):
    """SUSPEND."""


@dataclass(frozen=True, slots=True)
class ResumeAction(AlterAction):
    """RESUME [WITH (..)]."""

    options: Options = ()


@dataclass(frozen=True, slots=True)
class RefreshAction(AlterAction):
    """REFRESH [PARTITION (..)]."""

    partition: PartitionSpec = ()


@dataclass(frozen=True, slots=True)
class AlterStatement(SqlStatement):
    """ALTER of anything but a function."""

    kind: Literal[
        "TABLE", "VIEW", "MATERIALIZED TABLE", "CATALOG", "DATABASE", "MODEL", "CONNECTION"
    ]
    name: Identifier
    action: AlterAction
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class AlterFunction(SqlStatement):
    """ALTER [TEMPORARY [SYSTEM]] FUNCTION name AS 'class' LANGUAGE PYTHON."""

    name: Identifier
    class_name: str
    language: Literal["JAVA", "SCALA", "SQL", "PYTHON"] | None = None
    temporary: bool = False
    system: bool = False
    if_exists: bool = False


# --- DROP ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class DropStatement(SqlStatement):
    """DROP of anything; `cascade` is for databases, `system` for functions and connections."""

    kind: Literal[
        "TABLE",
        "VIEW",
        "MATERIALIZED TABLE",
        "CATALOG",
        "DATABASE",
        "FUNCTION",
        "MODEL",
        "CONNECTION",
    ]
    name: Identifier
    if_exists: bool = False
    temporary: bool = False
    system: bool = False
    cascade: bool = False
