"""COMPILE PLAN and EXECUTE PLAN: plans in files.  Next: table/compiled_plan.py"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from headrace.errors import InvalidArgumentError
from headrace.sql.statement_ast import InsertStatement, StatementSetStatement
from headrace.table.compiled_plan import CompiledPlan, compiled_plan, loaded_plan
from headrace.table.plan_reference import PlanReference
from headrace.table.statements.dml import insert_of_statement
from headrace.table.table_result import TableResult, ok_result

if TYPE_CHECKING:
    from headrace.sql.statement_ast import CompilePlan, ExecutePlan, SqlStatement
    from headrace.table.table_environment import TableEnvironment


def compiled_statement(env: TableEnvironment, statement: SqlStatement) -> CompiledPlan:
    """The plan of an INSERT or a statement set.

    Raises:
        InvalidArgumentError: it is another statement.
    """
    match statement:
        case InsertStatement():
            return compiled_plan([insert_of_statement(env, statement)], env)
        case StatementSetStatement():
            inserts = [insert_of_statement(env, each) for each in statement.statements]
            return compiled_plan(inserts, env)
        case _:
            raise InvalidArgumentError(
                "only INSERT and statement sets can be compiled", fix="write INSERT INTO ..."
            )


def compile_plan(env: TableEnvironment, statement: CompilePlan) -> TableResult:
    """COMPILE PLAN, with or without AND EXECUTE."""
    path = _path(statement.path)
    if statement.execute and path.exists() and not _forced(env):
        return loaded_plan(PlanReference.from_file(path), env).execute()
    plan = compiled_statement(env, statement.statement)
    plan.write_to_file(path, ignore_if_exists=statement.if_not_exists)
    return plan.execute() if statement.execute else ok_result()


def execute_plan(env: TableEnvironment, statement: ExecutePlan) -> TableResult:
    """EXECUTE PLAN."""
    return loaded_plan(PlanReference.from_file(_path(statement.path)), env).execute()


def _forced(env: TableEnvironment) -> bool:
    return env.get_config().get("table.plan.force-recompile", "false").lower() == "true"


def _path(text: str) -> Path:
    return Path(text.removeprefix("file://"))
