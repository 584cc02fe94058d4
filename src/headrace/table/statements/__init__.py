"""Executes statements of SQL: one handler a kind of statement.

In: the syntax tree of a statement (sql/parser.py).  Out: a `TableResult`.
Next: table/statements/tables.py, databases.py, functions.py, showing.py, dml.py, session.py
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from headrace.errors import UnsupportedStepError
from headrace.sql import ddl_ast as d
from headrace.sql import statement_ast as s
from headrace.table.sql_dialect import SqlDialect
from headrace.table.statements import (
    altering,
    databases,
    dml,
    functions,
    plans,
    session,
    showing,
    tables,
)

if TYPE_CHECKING:
    from headrace.table.table_environment import TableEnvironment
    from headrace.table.table_result import TableResult

__all__ = ["execute"]

Handler = Callable[["TableEnvironment", Any], "TableResult"]

HANDLERS: dict[type[s.SqlStatement], Handler] = {
    s.QueryStatement: dml.run_query,
    s.InsertStatement: dml.run_insert,
    s.StatementSetStatement: dml.run_set,
    s.ExplainStatement: dml.explain,
    s.DescribeStatement: showing.describe,
    s.ShowStatement: showing.show,
    s.UseStatement: session.use,
    s.SetStatement: session.set_option,
    s.ResetStatement: session.reset,
    s.JarStatement: session.jar,
    s.LoadModule: session.load_module,
    s.UnloadModule: session.unload_module,
    d.CreateTable: tables.create_table,
    d.CreateView: tables.create_view,
    d.CreateCatalog: databases.create_catalog,
    s.CompilePlan: plans.compile_plan,
    s.ExecutePlan: plans.execute_plan,
    d.CreateDatabase: databases.create_database,
    d.CreateFunction: functions.create_function,
    d.AlterStatement: altering.alter,
    d.AlterFunction: functions.alter_function,
    d.DropStatement: tables.drop,
}

# what Flink has and headrace refuses: what it is, and what to do instead
_REFUSED: dict[type[s.SqlStatement], tuple[str, str]] = {
    s.DeleteStatement: ("DELETE", "write a changelog with deletions into the table"),
    s.UpdateStatement: ("UPDATE", "INSERT INTO a table with a primary key, which replaces lines"),
    s.TruncateTable: ("TRUNCATE TABLE", "remove what the table holds with its own tools"),
    s.AnalyzeTable: ("ANALYZE TABLE", "leave it out: plans do not depend on statistics"),
    s.CallStatement: ("CALL", "call a function of Python's"),
    s.StopJob: ("STOP JOB", "use get_job_client() of the result, or `headrace cancel`"),
    d.CreateModel: ("CREATE MODEL", "call the model in a function of Python's: udf"),
    d.CreateConnection: ("CREATE CONNECTION", "give the options to CREATE TABLE"),
    d.CreateMaterializedTable: ("CREATE MATERIALIZED TABLE", "INSERT INTO a table of your own"),
}


def execute(env: TableEnvironment, statement: s.SqlStatement) -> TableResult:
    """Execute a statement.

    Raises:
        UnsupportedStepError: headrace does not have it.
    """
    if env.get_config().get_sql_dialect() == SqlDialect.HIVE:
        raise UnsupportedStepError(
            "statements in Hive's dialect are not supported",
            fix="set_sql_dialect(SqlDialect.DEFAULT), and write Flink's",
        )
    handler = HANDLERS.get(type(statement))
    if handler is not None:
        return handler(env, statement)
    what, instead = _REFUSED.get(
        type(statement), (type(statement).__name__, "it is a command of the SQL client")
    )
    raise UnsupportedStepError(f"{what} is not supported", fix=instead)
