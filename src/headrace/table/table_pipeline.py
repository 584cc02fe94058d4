"""``TablePipeline``: a query on its way into a table.  Next: table/inserts.py"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.missing import missing_attribute

if TYPE_CHECKING:
    from headrace.table.catalogs.names import ObjectIdentifier
    from headrace.table.compiled_plan import CompiledPlan
    from headrace.table.inserts import Insert
    from headrace.table.table_environment import TableEnvironment
    from headrace.table.table_result import TableResult

__all__ = ["TablePipeline"]


class TablePipeline:
    """The lines of a query, and the table they go to."""

    def __init__(self, insert: Insert, t_env: TableEnvironment) -> None:
        self._insert, self._t_env = insert, t_env

    def execute(self) -> TableResult:
        """Start the job."""
        return self._t_env._run_inserts([self._insert])

    def compile_plan(self) -> CompiledPlan:
        """Plan it, so that the plan can be kept in a file."""
        from headrace.table.compiled_plan import compiled_plan

        return compiled_plan([self._insert], self._t_env)

    def explain(self, *extra_details: int) -> str:
        """How it is run."""
        insert = self._insert
        return self._t_env._explain([(insert.rel, insert.target)], extra_details)

    def print_explain(self, *extra_details: int) -> None:
        """Print how it is run."""
        print(self.explain(*extra_details))  # noqa: T201

    def get_sink_identifier(self) -> ObjectIdentifier | None:
        """The name of the table; None if it has none."""
        return self._insert.identifier

    def __str__(self) -> str:
        return f"TablePipeline into {self._insert.name}"


def __getattr__(name: str) -> Any:
    return missing_attribute(__name__, name)
