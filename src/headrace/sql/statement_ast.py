"""What SQL text becomes, part three: statements, apart from CREATE and ALTER.

    INSERT INTO t SELECT ..   ──▶   InsertStatement(Identifier(("t",)), Select(..))

In: statements.py.  Out: table/ executes them.  CREATE, ALTER and DROP are in ddl_ast.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from headrace.sql.ast import FunctionCall, Identifier, SqlExpression, SqlLiteral, SqlNode

if TYPE_CHECKING:
    from headrace.sql.query_ast import QueryHint, SqlQuery

__all__ = [
    "AnalyzeTable",
    "BeginStatementSet",
    "CallStatement",
    "ClientCommand",
    "CompilePlan",
    "DeleteStatement",
    "DescribeStatement",
    "EndStatementSet",
    "ExecutePlan",
    "ExplainStatement",
    "InsertStatement",
    "JarStatement",
    "LoadModule",
    "Options",
    "PartitionSpec",
    "QueryStatement",
    "ResetStatement",
    "SetStatement",
    "ShowPattern",
    "ShowStatement",
    "SqlStatement",
    "StatementSetStatement",
    "StopJob",
    "TruncateTable",
    "UnloadModule",
    "UpdateStatement",
    "UseStatement",
]

Options = tuple[tuple[str, str], ...]  # ('k' = 'v', ...), in the order of the text
PartitionSpec = tuple[tuple[str, SqlLiteral | None], ...]  # (day = '2024-01-01', hour)


@dataclass(frozen=True, slots=True)
class SqlStatement(SqlNode):
    """One statement of a script."""


@dataclass(frozen=True, slots=True)
class QueryStatement(SqlStatement):
    """A query whose lines go to whoever asked; EXECUTE in front of it changes nothing."""

    query: SqlQuery


@dataclass(frozen=True, slots=True)
class InsertStatement(SqlStatement):
    """INSERT INTO or OVERWRITE.

    Attributes:
        columns: the columns that are written, each perhaps nested (``a.b``); None for all.
        partition: PARTITION (day = '2024-01-01').
        on_conflict: ERROR, NOTHING or DEDUPLICATE; None if it is not said.
    """

    table: Identifier
    query: SqlQuery
    columns: tuple[Identifier, ...] | None = None
    partition: PartitionSpec = ()
    overwrite: bool = False
    hints: tuple[QueryHint, ...] = ()
    on_conflict: Literal["ERROR", "NOTHING", "DEDUPLICATE"] | None = None


@dataclass(frozen=True, slots=True)
class StatementSetStatement(SqlStatement):
    """EXECUTE STATEMENT SET BEGIN .. END: several INSERTs that are one job."""

    statements: tuple[InsertStatement, ...]


@dataclass(frozen=True, slots=True)
class BeginStatementSet(SqlStatement):
    """BEGIN STATEMENT SET alone, as a client sends it; a script has `StatementSetStatement`."""


@dataclass(frozen=True, slots=True)
class EndStatementSet(SqlStatement):
    """END of BEGIN STATEMENT SET."""


@dataclass(frozen=True, slots=True)
class ExplainStatement(SqlStatement):
    """EXPLAIN; `details` of ESTIMATED_COST, CHANGELOG_MODE, JSON_EXECUTION_PLAN, PLAN_ADVICE."""

    statement: SqlStatement
    details: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DescribeStatement(SqlStatement):
    """DESCRIBE of a table, or of what `kind` says; `name` of a job is its id."""

    kind: Literal["TABLE", "CATALOG", "DATABASE", "FUNCTION", "MODEL", "CONNECTION", "JOB"]
    name: Identifier
    extended: bool = False


@dataclass(frozen=True, slots=True)
class ShowPattern(SqlNode):
    """``[NOT] LIKE 'pattern'``."""

    pattern: str
    operator: Literal["LIKE", "ILIKE"] = "LIKE"
    negated: bool = False


@dataclass(frozen=True, slots=True)
class ShowStatement(SqlStatement):
    """SHOW.

    Attributes:
        what: CATALOGS, CURRENT CATALOG, DATABASES, CURRENT DATABASE, TABLES, VIEWS, MATERIALIZED
            TABLES, FUNCTIONS, USER FUNCTIONS, PROCEDURES, COLUMNS, PARTITIONS, MODULES, FULL
            MODULES, JARS, JOBS, MODELS, CONNECTIONS, CREATE TABLE, CREATE VIEW, CREATE CATALOG,
            CREATE DATABASE, CREATE MODEL, CREATE CONNECTION, CREATE MATERIALIZED TABLE, CREATE OR
            ALTER MATERIALIZED TABLE.
        name: behind FROM or IN, or behind CREATE TABLE and PARTITIONS.
        pattern: LIKE.
        partition: of SHOW PARTITIONS t PARTITION (..).
    """

    what: str
    name: Identifier | None = None
    pattern: ShowPattern | None = None
    partition: PartitionSpec = ()


@dataclass(frozen=True, slots=True)
class UseStatement(SqlStatement):
    """USE database, USE CATALOG name, USE MODULES a, b."""

    kind: Literal["DATABASE", "CATALOG", "MODULES"]
    names: tuple[Identifier, ...]


@dataclass(frozen=True, slots=True)
class SetStatement(SqlStatement):
    """SET 'key' = 'value'; both None if all settings are asked for."""

    key: str | None = None
    value: str | None = None


@dataclass(frozen=True, slots=True)
class ResetStatement(SqlStatement):
    """RESET 'key'; None for all settings."""

    key: str | None = None


@dataclass(frozen=True, slots=True)
class LoadModule(SqlStatement):
    """LOAD MODULE name WITH (..)."""

    name: str
    options: Options = ()


@dataclass(frozen=True, slots=True)
class UnloadModule(SqlStatement):
    """UNLOAD MODULE name."""

    name: str


@dataclass(frozen=True, slots=True)
class JarStatement(SqlStatement):
    """ADD JAR or REMOVE JAR."""

    action: Literal["ADD", "REMOVE"]
    path: str


@dataclass(frozen=True, slots=True)
class AnalyzeTable(SqlStatement):
    """ANALYZE TABLE t PARTITION (..) COMPUTE STATISTICS FOR [ALL] COLUMNS .."""

    name: Identifier
    partition: PartitionSpec = ()
    columns: tuple[str, ...] = ()
    all_columns: bool = False


@dataclass(frozen=True, slots=True)
class TruncateTable(SqlStatement):
    """TRUNCATE TABLE t."""

    name: Identifier


@dataclass(frozen=True, slots=True)
class DeleteStatement(SqlStatement):
    """DELETE FROM t [AS alias] WHERE .."""

    table: Identifier
    where: SqlExpression | None = None
    alias: str | None = None


@dataclass(frozen=True, slots=True)
class UpdateStatement(SqlStatement):
    """UPDATE t [AS alias] SET a = 1 WHERE .."""

    table: Identifier
    assignments: tuple[tuple[Identifier, SqlExpression], ...]
    where: SqlExpression | None = None
    alias: str | None = None


@dataclass(frozen=True, slots=True)
class CompilePlan(SqlStatement):
    """COMPILE [AND EXECUTE] PLAN 'path' [IF NOT EXISTS] FOR statement."""

    path: str
    statement: InsertStatement | StatementSetStatement
    execute: bool = False
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class ExecutePlan(SqlStatement):
    """EXECUTE PLAN 'path'."""

    path: str


@dataclass(frozen=True, slots=True)
class StopJob(SqlStatement):
    """STOP JOB 'id' [WITH SAVEPOINT] [WITH DRAIN]."""

    job_id: str
    savepoint: bool = False
    drain: bool = False


@dataclass(frozen=True, slots=True)
class CallStatement(SqlStatement):
    """CALL procedure(..)."""

    call: FunctionCall


@dataclass(frozen=True, slots=True)
class ClientCommand(SqlStatement):
    """QUIT (or EXIT), CLEAR, HELP: for the SQL client."""

    name: Literal["QUIT", "CLEAR", "HELP"]
