"""Builds a case's tables on PyFlink or on headrace: the same calls, from another package.

In: model.py.  Out: a table environment.  Next: run_pyflink.py, run_headrace.py.  PyFlink's Python
can import this file: standard library only.
"""

from __future__ import annotations

import datetime
from decimal import Decimal
from importlib import import_module
from typing import TYPE_CHECKING, Any

from oracle.sql.tables import TABLES

if TYPE_CHECKING:
    from oracle.sql.model import SqlCase, SqlTable

KINDS = {"+I": "INSERT", "-U": "UPDATE_BEFORE", "+U": "UPDATE_AFTER", "-D": "DELETE"}
# What a column's values travel as when streams have no such type: (type of the stream, expression).
AS_TEXT = ("DATE", "TIME", "TIMESTAMP(3)")


class SqlEngine:
    """One of the two packages."""

    def __init__(self, root: str) -> None:
        common, table = import_module(f"{root}.common"), import_module(f"{root}.table")
        self.Row, self.RowKind, self.Types = common.Row, common.RowKind, common.Types
        self.Configuration = common.Configuration
        self.datastream = import_module(f"{root}.datastream")
        self.table = table
        # PyFlink's package has it, and does not export it.
        self.ChangelogMode = import_module(f"{root}.table.changelog_mode").ChangelogMode

    def environment(self, mode: str, options: dict[str, str]) -> Any:
        """A table environment with one subtask."""
        configuration = self.Configuration()
        for name, value in options.items():
            configuration.set_string(name, value)
        env = self.datastream.StreamExecutionEnvironment.get_execution_environment(configuration)
        env.set_parallelism(1)
        settings = self.table.EnvironmentSettings
        if mode == "batch":
            env.set_runtime_mode(self.datastream.RuntimeExecutionMode.BATCH)
            made = self.table.StreamTableEnvironment.create(env, settings.in_batch_mode())
        else:
            made = self.table.StreamTableEnvironment.create(env)
        made.get_config().set("table.local-time-zone", "UTC")
        for name, value in options.items():
            made.get_config().set(name, value)
        return env, made

    def build(
        self,
        case: SqlCase,
        mode: str,
        rows: dict[str, Any] | None = None,
        options: dict[str, str] | None = None,
    ) -> Any:
        """An environment with the tables and views of a case; `rows` replace a table's own."""
        env, tables = self.environment(mode, {**(options or {}), **case.options})
        for name in case.tables:
            self.add_table(env, tables, name, TABLES[name], (rows or {}).get(name))
        for statement in case.setup:
            tables.execute_sql(statement)
        return tables

    def add_table(self, env: Any, tables: Any, name: str, table: SqlTable, rows: Any) -> None:
        """A view with a table's columns."""
        values = [self.row(table, line) for line in (table.rows if rows is None else rows)]
        names = [f"{column}_raw" for column in table.columns]
        kinds = [self.stream_type(kind) for kind in table.columns.values()]
        stream = env.from_collection(values, self.Types.ROW_NAMED(names, kinds))
        schema = self.schema(table)
        if not table.changes:
            made = tables.from_data_stream(stream, schema)
        elif table.upsert:
            made = tables.from_changelog_stream(stream, schema, self.ChangelogMode.upsert())
        else:
            made = tables.from_changelog_stream(stream, schema)
        tables.create_temporary_view(f"{name}_all", made)
        columns = [*table.columns, *([table.proctime] if table.proctime else [])]
        chosen = [
            f"{column}_raw AS {column}" if column in plain(table) else column for column in columns
        ]
        tables.execute_sql(
            f"CREATE TEMPORARY VIEW {name} AS SELECT {', '.join(chosen)} FROM {name}_all"
        )

    def row(self, table: SqlTable, line: tuple[Any, ...]) -> Any:
        """A row of a stream."""
        if not table.changes:
            return self.Row(*line)
        made = self.Row(*line[1:])
        made.set_row_kind(getattr(self.RowKind, KINDS[line[0]]))
        return made

    def stream_type(self, kind: str) -> Any:
        """The type that a column has in a stream."""
        types = self.Types
        known = {
            "INT": types.INT, "BIGINT": types.LONG, "DOUBLE": types.DOUBLE, "FLOAT": types.FLOAT,
            "STRING": types.STRING, "BOOLEAN": types.BOOLEAN, "TIMESTAMP_LTZ(3)": types.LONG,
        }  # fmt: skip
        if kind.startswith("DECIMAL"):
            return types.BIG_DEC()
        return types.STRING() if kind in AS_TEXT else known[kind]()

    def schema(self, table: SqlTable) -> Any:
        """The declared columns, the watermark and the key."""
        builder = self.table.Schema.new_builder()
        for name, kind in table.columns.items():
            declared = "STRING" if kind in AS_TEXT else kind
            declared = "BIGINT" if kind == "TIMESTAMP_LTZ(3)" else declared
            required = " NOT NULL" if name in table.key else ""
            builder = builder.column(f"{name}_raw", declared + required)
        for name, kind in table.columns.items():
            if kind in AS_TEXT:
                builder = builder.column_by_expression(name, f"CAST({name}_raw AS {kind})")
            elif kind == "TIMESTAMP_LTZ(3)":
                builder = builder.column_by_expression(name, f"TO_TIMESTAMP_LTZ({name}_raw, 3)")
        if table.proctime:
            builder = builder.column_by_expression(table.proctime, "PROCTIME()")
        if table.rowtime:
            builder = builder.watermark(table.rowtime, f"{table.rowtime} - {table.delay}")
        if table.key:
            builder = builder.primary_key(*(f"{name}_raw" for name in table.key))
        return builder.build()


def plain(table: SqlTable) -> set[str]:
    """The columns that need no conversion."""
    special = (*AS_TEXT, "TIMESTAMP_LTZ(3)")
    return {name for name, kind in table.columns.items() if kind not in special}


def shown(value: Any) -> Any:
    """A value as JSON, the same for both engines."""
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, Decimal):
        # Java writes small ones with an exponent, and PyFlink reads more zeros than there were
        small = value and value.copy_abs() < Decimal("1e-6")
        return f"{value.normalize():f}" if small else f"{value:f}"
    if isinstance(value, (datetime.datetime, datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, datetime.timedelta):
        return str(value)
    if isinstance(value, dict):
        return sorted(([shown(key), shown(item)] for key, item in value.items()), key=repr)
    if isinstance(value, (bytes, bytearray)):
        return bytes(value).hex()
    if value is None or isinstance(value, (bool, int, str)):
        return value
    return [shown(item) for item in value]


def shown_change(row: Any) -> list[Any]:
    """A row with its kind first."""
    return [str(row.get_row_kind()), *(shown(value) for value in row)]
