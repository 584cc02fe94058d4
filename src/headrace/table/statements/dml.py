"""Queries, INSERT, statement sets and EXPLAIN.

In: statements.  Out: results of jobs, or plans.  Next: table/inserts.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.common.data_types import DataTypes
from headrace.errors import InvalidArgumentError, UnsupportedStepError
from headrace.rel.resolve.constants import literal_of
from headrace.sql.statement_ast import (
    ExplainStatement,
    InsertStatement,
    QueryStatement,
    SqlStatement,
    StatementSetStatement,
)
from headrace.table.explain_detail import ExplainDetail
from headrace.table.inserts import Insert, WrittenColumns, insert_of
from headrace.table.table_result import TableResult, content_result

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.sql.query_ast import QueryHint
    from headrace.table.table_environment import TableEnvironment


def run_query(env: TableEnvironment, statement: QueryStatement) -> TableResult:
    """SELECT: starts a job, whose lines the result hands out."""
    return env._run_query(env._resolver().query(statement.query))


def run_insert(env: TableEnvironment, statement: InsertStatement) -> TableResult:
    """INSERT: starts a job."""
    return env._run_inserts([insert_of_statement(env, statement)])


def run_set(env: TableEnvironment, statement: StatementSetStatement) -> TableResult:
    """EXECUTE STATEMENT SET: one job for all."""
    return env._run_inserts([insert_of_statement(env, each) for each in statement.statements])


def insert_of_statement(env: TableEnvironment, statement: InsertStatement) -> Insert:
    """What an INSERT writes, and where."""
    if statement.on_conflict not in (None, "DEDUPLICATE"):
        raise UnsupportedStepError(
            f"ON CONFLICT DO {statement.on_conflict} is not supported",
            fix="write ON CONFLICT DO DEDUPLICATE: the last line of a key stays",
        )
    found = env._manager.need(statement.table.parts)
    rel = env._resolver().query(statement.query)
    how = WrittenColumns(
        columns=_columns(statement),
        constants={
            name: literal_of(value) for name, value in statement.partition if value is not None
        },
        overwrite=statement.overwrite,
        options=_options(env, statement.hints),
        on_conflict=statement.on_conflict is not None,
    )
    name = found.identifier.as_summary_string()
    return insert_of(rel, name, found.table, env._lookup, how, found.identifier)


def _columns(statement: InsertStatement) -> list[str] | None:
    if statement.columns is None:
        return None
    for column in statement.columns:
        if len(column.parts) > 1:
            raise UnsupportedStepError(
                f"INSERT into a part of a column ({'.'.join(column.parts)}) is not supported",
                fix="write the whole column: ROW(...)",
            )
    return [column.parts[0] for column in statement.columns]


def _options(env: TableEnvironment, hints: Sequence[QueryHint]) -> dict[str, str]:
    found: dict[str, str] = {}
    for hint in hints:
        if hint.name == "OPTIONS":
            env._lookup.check_hint()
            found |= dict(hint.options)
    return found


def explain(env: TableEnvironment, statement: ExplainStatement) -> TableResult:
    """EXPLAIN: the plan as text."""
    details = [getattr(ExplainDetail, name) for name in statement.details]
    text = explained(env, statement.statement, details)
    return content_result([("result", DataTypes.STRING())], [(text,)], raw=True)


def explained(env: TableEnvironment, statement: SqlStatement, details: Sequence[int]) -> str:
    """How a statement would be run."""
    match statement:
        case QueryStatement():
            return env._explain([env._resolver().query(statement.query)], details)
        case InsertStatement():
            insert = insert_of_statement(env, statement)
            return env._explain([(insert.rel, insert.target)], details)
        case StatementSetStatement():
            inserts = [insert_of_statement(env, each) for each in statement.statements]
            return env._explain([(insert.rel, insert.target) for insert in inserts], details)
        case ExplainStatement():
            return explained(env, statement.statement, details)
        case _:
            raise InvalidArgumentError(
                f"{type(statement).__name__} cannot be explained",
                fix="explain a query, an INSERT, or a statement set",
            )
