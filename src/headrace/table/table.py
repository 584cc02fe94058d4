"""``Table``: what a query gives, and what can be asked of it.

    orders.where(col("price") > 10).select(col("name"))   ──▶   another Table, with another node

In: nodes and expressions.  Out: tables, results, rows.  Nothing runs before execute,
execute_insert, to_pandas or print.  Next: rel/resolve/resolver.py makes the nodes
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.errors import InvalidArgumentError, UnsupportedStepError
from headrace.rel.nodes import JoinKind
from headrace.table.calls import aggregated, flattened, row_call, spelled, table_call
from headrace.table.expressing.base import operand
from headrace.table.grouped import (
    AggregatedTable,
    FlatAggregateTable,
    GroupedTable,
    GroupWindowedTable,
    OverWindowedTable,
    WindowGroupedTable,
)
from headrace.table.resolved import ResolvedSchema
from headrace.table.table_schema import TableSchema

if TYPE_CHECKING:
    from headrace.common.opaque import ForeignObject
    from headrace.rel.nodes import Rel
    from headrace.rel.resolve.resolver import Resolver
    from headrace.table.expression import Expression
    from headrace.table.table_descriptor import TableDescriptor
    from headrace.table.table_environment import TableEnvironment
    from headrace.table.table_pipeline import TablePipeline
    from headrace.table.table_result import TableResult
    from headrace.table.udf import UserDefinedFunctionWrapper
    from headrace.table.window import GroupWindow, OverWindow

__all__ = [
    "AggregatedTable",
    "FlatAggregateTable",
    "GroupWindowedTable",
    "GroupedTable",
    "OverWindowedTable",
    "Table",
    "WindowGroupedTable",
]


class Table:
    """The result of a query, not yet computed.

    Example:
        >>> from headrace.table import EnvironmentSettings, TableEnvironment
        >>> from headrace.table.expressions import col
        >>> t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
        >>> orders = t_env.from_elements([(1, "tea"), (2, "milk")], ["id", "name"])
        >>> orders.where(col("id") > 1).select(col("name")).get_schema().get_field_names()
        ['name']
    """

    def __init__(self, rel: Rel, t_env: TableEnvironment) -> None:
        self._rel = rel
        self._t_env = t_env
        self._name: str | None = None

    def __str__(self) -> str:
        """A name by which SQL can read it: ``f"SELECT * FROM {table}"``."""
        if self._name is None:
            self._name = self._t_env._inline_name(self)
        return self._name

    def _repr_html_(self) -> str:
        """The columns and some lines, as notebooks show them; runs a job for that."""
        from headrace.table.html_preview import html_preview

        return html_preview(self)

    def __getattr__(self, name: str) -> Expression[Any]:
        if name.startswith("__") or name in ("_rel", "_t_env", "_name"):
            raise AttributeError(name)
        names = [field.name for field in self._rel.schema]
        if name not in names:
            raise AttributeError(
                f"The current table has no column named '{name}', available columns: "
                f"[{', '.join(names)}]"
            )
        from headrace.table.expressions import col

        return col(name)

    @property
    def _resolver(self) -> Resolver:
        return self._t_env._resolver()

    def _with(self, rel: Rel) -> Table:
        return Table(rel, self._t_env)

    # --- lines and columns -------------------------------------------------------------------

    def select(self, *fields: Expression[Any]) -> Table:
        """Some values of every line; with an aggregate among them one line of all."""
        resolver = self._resolver
        return self._with(resolver.select(self._rel, spelled(resolver, self._rel, fields)))

    def alias(self, field: str, *fields: str) -> Table:
        """The same with other names for the first columns."""
        return self._with(self._resolver.renamed(self._rel, (field, *fields)))

    def filter(self, predicate: Expression[Any]) -> Table:
        """The lines for which a condition is true."""
        return self._with(self._resolver.where(self._rel, operand(predicate)._value))

    where = filter

    def add_columns(self, *fields: Expression[Any]) -> Table:
        """More columns, whose names must be new."""
        return self._more_columns(fields, replacing=False)

    def add_or_replace_columns(self, *fields: Expression[Any]) -> Table:
        """More columns; those of the same name are replaced."""
        return self._more_columns(fields, replacing=True)

    def _more_columns(self, fields: tuple[Expression[Any], ...], *, replacing: bool) -> Table:
        resolver = self._resolver
        items = spelled(resolver, self._rel, fields)
        return self._with(resolver.add_columns(self._rel, items, replacing=replacing))

    def rename_columns(self, *fields: Expression[Any]) -> Table:
        """Some columns under other names: ``col("a").alias("b")``."""
        items = [operand(field)._value for field in fields]
        return self._with(self._resolver.rename_columns(self._rel, items))

    def drop_columns(self, *fields: Expression[Any]) -> Table:
        """All columns but some."""
        items = [operand(field)._value for field in fields]
        return self._with(self._resolver.drop_columns(self._rel, items))

    def map(self, func: Expression[Any] | UserDefinedFunctionWrapper) -> Table:
        """One line for every line, made by a scalar function; a row becomes columns.

        Args:
            func: a call, or a function made by udf that takes whole lines as a Row.
        """
        resolver = self._resolver
        call, names = row_call(func, "scalar")
        return self._with(flattened(resolver, self._rel, call, names))

    def flat_map(self, func: Expression[Any] | UserDefinedFunctionWrapper) -> Table:
        """Any number of lines for every line, made by a table function.

        Args:
            func: a call, or a function made by udtf that takes whole lines as a Row.
        """
        resolver = self._resolver
        call = table_call(resolver, self._rel, func, "$flat")
        width = len(self._rel.schema)
        made = resolver.lateral(self._rel, call, JoinKind.INNER, None)
        places = range(width, len(made.schema))
        names = [field.name.removeprefix("$flat") for field in made.schema[width:]]
        from headrace.rel.building import project, ref

        return self._with(project(made, [ref(made, place) for place in places], names))

    # --- groups ------------------------------------------------------------------------------

    def group_by(self, *fields: Expression[Any]) -> GroupedTable:
        """Groups of lines with equal values."""
        return GroupedTable(self, fields)

    def aggregate(self, func: Expression[Any] | UserDefinedFunctionWrapper) -> AggregatedTable:
        """One line of all lines, made by an aggregate function."""
        return AggregatedTable(self._with(aggregated(self._resolver, self._rel, (), func)))

    def flat_aggregate(
        self, func: Expression[Any] | UserDefinedFunctionWrapper
    ) -> FlatAggregateTable:
        """Some lines of all lines, made by a table aggregate function."""
        return GroupedTable(self, ()).flat_aggregate(func)

    def distinct(self) -> Table:
        """Of lines that are equal, one."""
        return self._with(self._resolver.distinct(self._rel))

    def window(self, window: GroupWindow) -> GroupWindowedTable:
        """Lines in windows of time, by which they can be grouped."""
        return GroupWindowedTable(self, window)

    def over_window(self, *over_windows: OverWindow) -> OverWindowedTable:
        """Lines with others around each, over which select can aggregate."""
        return OverWindowedTable(self, over_windows)

    # --- several tables ----------------------------------------------------------------------

    def _join(self, right: Table, kind: JoinKind, predicate: Expression[Any] | None) -> Table:
        if right._t_env is not self._t_env:
            raise InvalidArgumentError(
                "Only tables from the same TableEnvironment can be joined.",
                fix="make both tables with one environment",
            )
        condition = None if predicate is None else operand(predicate)._value
        return self._with(self._resolver.join(self._rel, right._rel, kind, condition))

    def join(self, right: Table, join_predicate: Expression[Any] | None = None) -> Table:
        """Pairs of lines for which a condition is true."""
        return self._join(right, JoinKind.INNER, join_predicate)

    def left_outer_join(self, right: Table, join_predicate: Expression[Any] | None = None) -> Table:
        """The same, and lines of the left table without a partner."""
        return self._join(right, JoinKind.LEFT, join_predicate)

    def right_outer_join(self, right: Table, join_predicate: Expression[Any]) -> Table:
        """Pairs of lines, and lines of the right table without a partner."""
        return self._join(right, JoinKind.RIGHT, join_predicate)

    def full_outer_join(self, right: Table, join_predicate: Expression[Any]) -> Table:
        """Pairs of lines, and lines of both tables without a partner."""
        return self._join(right, JoinKind.FULL, join_predicate)

    def _lateral(self, call: Any, kind: Any, predicate: Expression[Any] | None) -> Table:
        resolver = self._resolver
        node = table_call(resolver, self._rel, call, None)
        condition = None if predicate is None else operand(predicate)._value
        return self._with(resolver.lateral(self._rel, node, kind, condition))

    def join_lateral(
        self,
        table_function_call: Expression[Any] | UserDefinedFunctionWrapper,
        join_predicate: Expression[Any] | None = None,
    ) -> Table:
        """Every line with the lines that a table function makes of it."""
        return self._lateral(table_function_call, JoinKind.INNER, join_predicate)

    def left_outer_join_lateral(
        self,
        table_function_call: Expression[Any] | UserDefinedFunctionWrapper,
        join_predicate: Expression[Any] | None = None,
    ) -> Table:
        """The same, and lines of which the function makes none."""
        return self._lateral(table_function_call, JoinKind.LEFT, join_predicate)

    def _set(self, right: Table, kind: Any, *, all: bool) -> Table:
        return self._with(self._resolver.set_operation(self._rel, right._rel, kind, all=all))

    def minus(self, right: Table) -> Table:
        """The lines that the other table does not have, each once."""
        return self._set(right, "EXCEPT", all=False)

    def minus_all(self, right: Table) -> Table:
        """The lines less those of the other table."""
        return self._set(right, "EXCEPT", all=True)

    def union(self, right: Table) -> Table:
        """The lines of both, each once."""
        return self._set(right, "UNION", all=False)

    def union_all(self, right: Table) -> Table:
        """The lines of both."""
        return self._set(right, "UNION", all=True)

    def intersect(self, right: Table) -> Table:
        """The lines that both have, each once."""
        return self._set(right, "INTERSECT", all=False)

    def intersect_all(self, right: Table) -> Table:
        """The lines that both have, as often as both have them."""
        return self._set(right, "INTERSECT", all=True)

    # --- order -------------------------------------------------------------------------------

    def order_by(self, *fields: Expression[Any]) -> Table:
        """Sorted."""
        items = [operand(field)._node for field in fields]
        return self._with(self._resolver.order_by(self._rel, items))

    def offset(self, offset: int) -> Table:
        """Without the first lines."""
        return self._with(self._resolver.limit(self._rel, None, offset))

    def fetch(self, fetch: int) -> Table:
        """The first lines only."""
        if fetch < 0:
            raise InvalidArgumentError(f"FETCH count must be equal or larger than 0, not {fetch}")
        return self._with(self._resolver.limit(self._rel, fetch, 0))

    def limit(self, fetch: int, offset: int = 0) -> Table:
        """Some lines behind the first."""
        return self._with(self._resolver.limit(self._rel, fetch, offset))

    # --- schema ------------------------------------------------------------------------------

    def get_schema(self) -> TableSchema:
        """The columns, in the older form."""
        schema = self._rel.schema
        return TableSchema([field.name for field in schema], [field.type for field in schema])

    def get_resolved_schema(self) -> ResolvedSchema:
        """The columns."""
        schema = self._rel.schema
        return ResolvedSchema.physical([f.name for f in schema], [f.type for f in schema])

    def print_schema(self) -> None:
        """Print the columns."""
        print(self.get_resolved_schema())  # noqa: T201

    # --- running -----------------------------------------------------------------------------

    def execute(self) -> TableResult:
        """Start a job for the lines of this table, and hand them out as they come."""
        return self._t_env._run_query(self._rel)

    def execute_insert(
        self, table_path_or_descriptor: str | TableDescriptor, overwrite: bool = False
    ) -> TableResult:
        """Start a job that writes the lines into a table.

        Args:
            table_path_or_descriptor: a table of a catalog by its path, or a descriptor.
            overwrite: whether what is there is replaced.
        """
        return self.insert_into(table_path_or_descriptor, overwrite).execute()

    def insert_into(
        self, table_path_or_descriptor: str | TableDescriptor, overwrite: bool = False
    ) -> TablePipeline:
        """The lines on their way into a table: to be executed, or added to a statement set."""
        from headrace.table.table_pipeline import TablePipeline

        insert = self._t_env._insert(table_path_or_descriptor, self._rel, overwrite=overwrite)
        return TablePipeline(insert, self._t_env)

    def to_pandas(self) -> ForeignObject:
        """The lines as a pandas DataFrame, once all are there; of changes the last."""
        from headrace.table.pandas_frames import collected_frame

        return collected_frame(self)

    def explain(self, *extra_details: int) -> str:
        """How the query is run."""
        return self._t_env._explain([self._rel], extra_details)

    def print_explain(self, *extra_details: int) -> None:
        """Print how the query is run."""
        print(self.explain(*extra_details))  # noqa: T201

    def to_changelog(self, *arguments: Expression[Any]) -> Table:
        """Refused: process table functions come later."""
        raise _no_changelog("to_changelog", "to_changelog_stream of the environment")

    def from_changelog(self, *arguments: Expression[Any]) -> Table:
        """Refused: process table functions come later."""
        raise _no_changelog("from_changelog", "from_changelog_stream of the environment")


def _no_changelog(name: str, instead: str) -> UnsupportedStepError:
    return UnsupportedStepError(f"Table.{name} is not there yet", fix=f"use {instead}")
