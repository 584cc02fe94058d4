"""``StatementSet``: several INSERTs that run as one job.  Next: table/inserts.py"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.errors import InvalidArgumentError
from headrace.sql.statement_ast import InsertStatement

if TYPE_CHECKING:
    from headrace.table.compiled_plan import CompiledPlan
    from headrace.table.inserts import Insert
    from headrace.table.table import Table
    from headrace.table.table_descriptor import TableDescriptor
    from headrace.table.table_environment import TableEnvironment
    from headrace.table.table_pipeline import TablePipeline
    from headrace.table.table_result import TableResult

__all__ = ["StatementSet"]


class StatementSet:
    """Collects INSERTs; what their queries have in common runs once."""

    def __init__(self, t_env: TableEnvironment) -> None:
        self._t_env = t_env
        self._inserts: list[Insert] = []

    def add(self, table_pipeline: TablePipeline) -> StatementSet:
        """One more, made by Table.insert_into."""
        self._inserts.append(table_pipeline._insert)
        return self

    def add_insert_sql(self, stmt: str) -> StatementSet:
        """One more, as SQL."""
        from headrace.table.parsing import parsed_statement
        from headrace.table.statements.dml import insert_of_statement

        statement = parsed_statement(stmt)
        if not isinstance(statement, InsertStatement):
            raise InvalidArgumentError("Only insert statement is supported now.")
        self._inserts.append(insert_of_statement(self._t_env, statement))
        return self

    def add_insert(
        self,
        target_path_or_descriptor: str | TableDescriptor,
        table: Table,
        overwrite: bool = False,
    ) -> StatementSet:
        """One more: the lines of a table into another.

        Args:
            target_path_or_descriptor: where they go.
            table: the lines.
            overwrite: whether what is there is replaced.
        """
        insert = self._t_env._insert(target_path_or_descriptor, table._rel, overwrite=overwrite)
        self._inserts.append(insert)
        return self

    def attach_as_datastream(self) -> None:
        """Make them a part of the DataStream program, which its execute() starts."""
        self._t_env._planner().add_inserts([(i.rel, i.target) for i in self._taken()])

    def explain(self, *extra_details: int) -> str:
        """How they are run."""
        ends = [(insert.rel, insert.target) for insert in self._inserts]
        return self._t_env._explain(ends, extra_details)

    def print_explain(self, *extra_details: int) -> None:
        """Print how they are run."""
        print(self.explain(*extra_details))  # noqa: T201

    def compile_plan(self) -> CompiledPlan:
        """Plan them, so that the plan can be kept in a file."""
        from headrace.table.compiled_plan import compiled_plan

        return compiled_plan(self._inserts, self._t_env)

    def execute(self) -> TableResult:
        """Start one job for all of them; afterwards the set is empty."""
        return self._t_env._run_inserts(self._taken())

    def _taken(self) -> list[Insert]:
        if not self._inserts:
            raise InvalidArgumentError(
                "the statement set is empty", fix="add_insert, add_insert_sql"
            )
        taken, self._inserts = self._inserts, []
        return taken
