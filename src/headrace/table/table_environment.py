"""``TableEnvironment`` and ``StreamTableEnvironment``: where programs with tables start.

In: the user's program.  Out: tables and results.  What tables and SQL share is here: catalogs,
options, the resolver.  Next: table/statements/ executes SQL, table/streams.py converts streams
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.common.configuration import Configuration
from headrace.datastream.data_stream import DataStream
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from headrace.errors import ArgumentTypeError, InvalidArgumentError
from headrace.rel.planner import TablePlanner
from headrace.rel.resolve.resolver import Resolver
from headrace.sql.statement_ast import QueryStatement
from headrace.table import elements as from_values
from headrace.table import streams
from headrace.table.catalog_methods import CatalogMethods
from headrace.table.catalogs.lookup import CatalogLookup
from headrace.table.catalogs.manager import CatalogManager
from headrace.table.catalogs.objects import CatalogBaseTable
from headrace.table.environment_settings import EnvironmentSettings
from headrace.table.explain_detail import ExplainDetail
from headrace.table.inserts import WrittenColumns, insert_of
from headrace.table.parsing import parsed_path, parsed_statement
from headrace.table.plan_options import plan_settings
from headrace.table.running import insert_result, query_result
from headrace.table.schema import Schema
from headrace.table.statement_set import StatementSet
from headrace.table.table import Table
from headrace.table.table_config import TableConfig
from headrace.table.table_descriptor import TableDescriptor

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from headrace.common.data_types import DataType, RowType
    from headrace.common.opaque import ForeignObject, HostFrame
    from headrace.common.typeinfo import TypeInformation
    from headrace.rel.nodes import Rel
    from headrace.rel.tables import TableTarget
    from headrace.table.changelog_mode import ChangelogMode
    from headrace.table.compiled_plan import CompiledPlan
    from headrace.table.inserts import Insert
    from headrace.table.plan_reference import PlanReference
    from headrace.table.table_result import TableResult

__all__ = ["StreamTableEnvironment", "TableEnvironment"]


class TableEnvironment(CatalogMethods):
    """The context of a program with tables.

    Example:
        >>> t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
        >>> t_env.sql_query("SELECT 1 AS a").get_schema().get_field_names()
        ['a']
    """

    def __init__(self, env: StreamExecutionEnvironment, settings: EnvironmentSettings) -> None:
        self._env = env
        env._graph.read_by_tables = True
        self._streaming = settings.is_streaming_mode()
        self._config = TableConfig(env._configuration)
        manager = CatalogManager(
            settings.get_built_in_catalog_name(), settings.get_built_in_database_name()
        )
        super().__init__(manager)
        self._lookup = CatalogLookup(manager, config=self._config)
        self._unnamed = 0

    @staticmethod
    def create(environment_settings: EnvironmentSettings | Configuration) -> TableEnvironment:
        """A new environment.

        Args:
            environment_settings: its mode, or options.
        """
        settings = _as_settings(environment_settings)
        env = StreamExecutionEnvironment(Configuration(settings.get_configuration()))
        return TableEnvironment(env, settings)

    # --- what its parts share ----------------------------------------------------------------

    def _resolver(self) -> Resolver:
        return Resolver(self._lookup)

    def _planner(self, *, compiled: bool = False) -> TablePlanner:
        settings = plan_settings(self._config, bounded=not self._streaming)
        return TablePlanner(self._env, settings, compiled=compiled)

    def _run_query(self, rel: Rel) -> TableResult:
        bounded = not self._streaming
        return query_result(self._env, self._planner(), rel, self._config, bounded=bounded)

    def _run_inserts(self, inserts: Sequence[Insert], *, compiled: bool = False) -> TableResult:
        result = insert_result(self._env, self._planner(compiled=compiled), inserts)
        if self._config.get("table.dml-sync", "false").lower() == "true":
            result.wait()
        return result

    def _explain(
        self,
        roots: Sequence[Rel | tuple[Rel, TableTarget]],
        details: Sequence[int],
        *,
        compiled: bool = False,
    ) -> str:
        text = self._planner(compiled=compiled).explain(roots)
        if ExplainDetail.PLAN_ADVICE in details:
            from headrace.table.advice import with_advice

            text = with_advice(text, self._config)
        if ExplainDetail.JSON_EXECUTION_PLAN in details:
            text += "\n\n== Physical Execution Plan ==\n" + self._execution_plan(roots)
        return text

    def _execution_plan(self, roots: Sequence[Rel | tuple[Rel, TableTarget]]) -> str:
        """The steps of a plan as JSON; the program of this environment stays as it is."""
        from headrace.datastream.collecting import collecting_end
        from headrace.spi.executor import executor

        copy = StreamExecutionEnvironment(self._env._configuration)
        planner = TablePlanner(copy, plan_settings(self._config, bounded=not self._streaming))
        for root in roots:
            if isinstance(root, tuple):
                planner.add_inserts([root])
            else:
                collecting_end(planner.to_stream(root)[0], lambda _: None)
        program = copy._graph.reachable_from(copy._graph.sinks())
        return executor().explain(program, copy.job_spec("explain"), as_json=True)

    def _insert(
        self, target: str | TableDescriptor, rel: Rel, *, overwrite: bool = False
    ) -> Insert:
        how = WrittenColumns(overwrite=overwrite)
        if isinstance(target, TableDescriptor):
            name = f"*anonymous_{target.get_options()['connector']}${self._next_number()}*"
            schema = target.get_schema() or _schema_of(rel)
            table = _table_of(target, schema)
            return insert_of(rel, name, table, self._lookup, how)
        found = self._manager.need(parsed_path(target))
        name = found.identifier.as_summary_string()
        return insert_of(rel, name, found.table, self._lookup, how, found.identifier)

    def _next_number(self) -> int:
        self._unnamed += 1
        return self._unnamed

    def _inline_name(self, table: Table) -> str:
        """A name by which SQL can read a table of this program."""
        name = f"UnnamedTable${self._next_number()}"
        self.create_temporary_view(f"`{name}`", table)
        return f"`{name}`"

    # --- making tables -----------------------------------------------------------------------

    def from_path(self, path: str) -> Table:
        """A table or view of a catalog."""
        found = self._manager.need(parsed_path(path))
        return Table(self._lookup.rel_of(found), self)

    def from_descriptor(self, descriptor: TableDescriptor) -> Table:
        """The table that a descriptor describes."""
        schema = descriptor.get_schema()
        if schema is None:
            raise InvalidArgumentError(
                "the descriptor has no schema", fix="say it: TableDescriptor ... .schema(...)"
            )
        from headrace.table.declared import scan_of

        name = f"*anonymous_{descriptor.get_options()['connector']}${self._next_number()}*"
        return Table(scan_of(name, _table_of(descriptor, schema), self._lookup), self)

    def from_elements(
        self,
        elements: Iterable[Any],
        schema: DataType | Sequence[str] | None = None,
        verify_schema: bool = True,
    ) -> Table:
        """A table of values of this program.

        Args:
            elements: rows, tuples, dicts, single values, or calls of ``row``.
            schema: a ROW of the columns, one type for single values, or names of columns.
            verify_schema: whether the values are checked against it.
        """
        rel = from_values.elements_rel(self, elements, schema, verify=verify_schema)
        return Table(rel, self)

    def from_pandas(
        self,
        pdf: ForeignObject,
        schema: RowType | Sequence[str] | Sequence[DataType] | None = None,
        splits_num: int = 1,
    ) -> Table:
        """A table of a pandas DataFrame.

        Args:
            pdf: the DataFrame.
            schema: a ROW, names or types of the columns; by default those of the DataFrame.
            splits_num: accepted without effect: the lines are spread over the subtasks.
        """
        from headrace.table.pandas_frames import frame_rel

        return Table(frame_rel(self, pdf, schema), self)

    def from_dataframe(self, dataframe: HostFrame, *fields_or_schema: Any) -> Table:
        """A table of a Spark DataFrame: a streaming one as it goes, a batch one to its end.

        Args:
            dataframe: of PySpark.
            fields_or_schema: expressions for its columns, or a Schema: for a watermark, say.
        """
        stream = self._env._stream_of_frame(dataframe, lines=True)
        return Table(streams.stream_rel(self, stream, fields_or_schema), self)

    def create_temporary_view(
        self,
        view_path: str,
        table_or_data_stream: Table | DataStream | HostFrame,
        *fields_or_schema: Any,
    ) -> None:
        """Give a table, a stream or a Spark DataFrame a name by which SQL can read it.

        Args:
            view_path: the name.
            table_or_data_stream: what it shows.
            fields_or_schema: of a stream: expressions for its columns, or a Schema.
        """
        if isinstance(table_or_data_stream, Table):
            rel = table_or_data_stream._rel
        elif not isinstance(table_or_data_stream, DataStream):
            rel = self.from_dataframe(table_or_data_stream, *fields_or_schema)._rel
        else:
            rel = streams.stream_rel(self, table_or_data_stream, fields_or_schema)
        self._create_view(view_path, rel, temporary=True, ignore_if_exists=False)

    # --- SQL ---------------------------------------------------------------------------------

    def sql_query(self, query: str) -> Table:
        """The table of a query; ``{table}`` in an f-string names a table of this program."""
        statement = parsed_statement(query)
        if not isinstance(statement, QueryStatement):
            raise InvalidArgumentError(
                "Unsupported SQL query! sqlQuery() only accepts a single SQL query of type "
                "SELECT, UNION, INTERSECT, EXCEPT, VALUES, and ORDER_BY.",
                fix="use execute_sql for other statements",
            )
        return Table(self._resolver().query(statement.query), self)

    def execute_sql(self, stmt: str) -> TableResult:
        """Execute one statement; a query or INSERT starts a job, and this does not wait for it."""
        from headrace.table.statements import execute

        return execute(self, parsed_statement(stmt))

    def explain_sql(self, stmt: str, *extra_details: int) -> str:
        """How a query or INSERT is run."""
        from headrace.table.statements.dml import explained

        return explained(self, parsed_statement(stmt), extra_details)

    def compile_plan_sql(self, stmt: str) -> CompiledPlan:
        """Plan an INSERT or a statement set, so that the plan can be kept in a file."""
        from headrace.table.statements.plans import compiled_statement

        return compiled_statement(self, parsed_statement(stmt))

    def load_plan(self, plan_reference: PlanReference) -> CompiledPlan:
        """A plan that was kept."""
        from headrace.table.compiled_plan import loaded_plan

        return loaded_plan(plan_reference, self)

    def execute_plan(self, plan_reference: PlanReference) -> TableResult:
        """Start the job of a plan that was kept."""
        return self.load_plan(plan_reference).execute()

    def create_statement_set(self) -> StatementSet:
        """A set of INSERTs that run as one job."""
        return StatementSet(self)

    # --- options -----------------------------------------------------------------------------

    def get_config(self) -> TableConfig:
        """The options of this session."""
        return self._config

    def add_python_file(self, file_path: str) -> None:
        """A module, package folder or zip that the workers of a cluster need."""
        self._env.add_python_file(file_path)

    def set_python_requirements(
        self, requirements_file_path: str, requirements_cache_dir: str | None = None
    ) -> None:
        """Packages for the workers.

        Args:
            requirements_file_path: a requirements.txt.
            requirements_cache_dir: a directory with the packages; then the network is not used.
        """
        self._env.set_python_requirements(requirements_file_path, requirements_cache_dir)

    def add_python_archive(self, archive_path: str, target_dir: str | None = None) -> None:
        """A zip or tar.gz file that workers unpack into their working directory."""
        self._env.add_python_archive(archive_path, target_dir)


class StreamTableEnvironment(TableEnvironment):
    """The context of a program with tables and streams."""

    @staticmethod
    def create(  # type: ignore[override]
        stream_execution_environment: StreamExecutionEnvironment | None = None,
        environment_settings: EnvironmentSettings | None = None,
    ) -> StreamTableEnvironment:
        """A new environment.

        Args:
            stream_execution_environment: whose streams are to be used; a new one by default.
            environment_settings: its mode and options.
        """
        if stream_execution_environment is None and environment_settings is None:
            raise InvalidArgumentError(
                "Either streaming_execution_environment or environment_settings is required",
                fix="StreamTableEnvironment.create(env)",
            )
        env = stream_execution_environment
        if env is None:
            assert environment_settings is not None
            env = StreamExecutionEnvironment(
                Configuration(environment_settings.get_configuration())
            )
        elif environment_settings is not None:
            env.configure(environment_settings.get_configuration())
        settings = EnvironmentSettings(env._configuration)
        return StreamTableEnvironment(env, settings)

    def from_data_stream(self, data_stream: DataStream, *fields_or_schema: Any) -> Table:
        """The table of a stream whose records are lines to add.

        Args:
            data_stream: the stream.
            fields_or_schema: expressions for its columns, or a Schema.
        """
        return Table(streams.stream_rel(self, data_stream, fields_or_schema), self)

    def from_changelog_stream(
        self,
        data_stream: DataStream,
        schema: Schema | None = None,
        changelog_mode: ChangelogMode | None = None,
    ) -> Table:
        """The table of a stream whose records are changes: rows with their kind.

        Args:
            data_stream: the stream.
            schema: the columns; by default those of the stream's type.
            changelog_mode: the kinds of change it has; by default all.
        """
        return Table(streams.changelog_rel(self, data_stream, schema, changelog_mode), self)

    def to_data_stream(self, table: Table) -> DataStream:
        """The lines of a table to which lines are only added, as a stream of rows."""
        return streams.to_data_stream(self, table)

    def to_changelog_stream(
        self,
        table: Table,
        target_schema: Schema | None = None,
        changelog_mode: ChangelogMode | None = None,
    ) -> DataStream:
        """The changes of a table as a stream of rows, each with its kind.

        Args:
            table: the table.
            target_schema: the columns of the rows; by default those of the table.
            changelog_mode: the kinds of change that are wanted; by default all.
        """
        return streams.to_changelog_stream(self, table, target_schema, changelog_mode)

    def to_append_stream(self, table: Table, type_info: TypeInformation) -> DataStream:
        """The lines of a table to which lines are only added, as records of a type."""
        return streams.to_append_stream(self, table, type_info)

    def to_retract_stream(self, table: Table, type_info: TypeInformation) -> DataStream:
        """The changes of a table as pairs: whether a line is added, and the line."""
        return streams.to_retract_stream(self, table, type_info)


def _as_settings(given: Any) -> EnvironmentSettings:
    if isinstance(given, EnvironmentSettings):
        return given
    if isinstance(given, Configuration):
        return EnvironmentSettings.new_instance().with_configuration(given).build()
    raise ArgumentTypeError("argument should be EnvironmentSettings or Configuration")


def _schema_of(rel: Rel) -> Schema:
    builder = Schema.new_builder()
    for field in rel.schema:
        builder.column(field.name, field.type)
    return builder.build()


def _table_of(descriptor: TableDescriptor, schema: Schema) -> CatalogBaseTable:
    return CatalogBaseTable(
        schema, descriptor._options, descriptor._comment, descriptor._partition_keys
    )
