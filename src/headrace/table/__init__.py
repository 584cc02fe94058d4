"""The Table API and SQL: tables, environments, expressions, functions of users.

In: ``from headrace.table import ...`` in place of ``pyflink.table``.  Out: the same names.
Next: table/table_environment.py
"""

from __future__ import annotations

from typing import Any

from headrace.missing import missing_attribute
from headrace.table.changelog_mode import ChangelogMode
from headrace.table.compiled_plan import CompiledPlan
from headrace.table.data_view import DataView, ListView, MapView
from headrace.table.environment_settings import EnvironmentSettings
from headrace.table.explain_detail import ExplainDetail
from headrace.table.expression import Expression
from headrace.table.module import Module, ModuleEntry
from headrace.table.plan_reference import PlanReference
from headrace.table.result_kind import ResultKind
from headrace.table.schema import Schema
from headrace.table.sql_dialect import SqlDialect
from headrace.table.statement_set import StatementSet
from headrace.table.table import (
    GroupedTable,
    GroupWindowedTable,
    OverWindowedTable,
    Table,
    WindowGroupedTable,
)
from headrace.table.table_config import TableConfig
from headrace.table.table_descriptor import FormatDescriptor, TableDescriptor
from headrace.table.table_environment import StreamTableEnvironment, TableEnvironment
from headrace.table.table_pipeline import TablePipeline
from headrace.table.table_result import TableResult
from headrace.table.table_schema import TableSchema
from headrace.table.types import DataTypes, Row, RowKind, UserDefinedType
from headrace.table.udf import (
    AggregateFunction,
    AsyncScalarFunction,
    FunctionContext,
    ScalarFunction,
    TableAggregateFunction,
    TableFunction,
)

__all__ = [
    "AggregateFunction",
    "AsyncScalarFunction",
    "ChangelogMode",
    "CompiledPlan",
    "DataTypes",
    "DataView",
    "EnvironmentSettings",
    "ExplainDetail",
    "Expression",
    "FormatDescriptor",
    "FunctionContext",
    "GroupWindowedTable",
    "GroupedTable",
    "ListView",
    "MapView",
    "Module",
    "ModuleEntry",
    "OverWindowedTable",
    "PlanReference",
    "ResultKind",
    "Row",
    "RowKind",
    "ScalarFunction",
    "Schema",
    "SqlDialect",
    "StatementSet",
    "StreamTableEnvironment",
    "Table",
    "TableAggregateFunction",
    "TableConfig",
    "TableDescriptor",
    "TableEnvironment",
    "TableFunction",
    "TablePipeline",
    "TableResult",
    "TableSchema",
    "UserDefinedType",
    "WindowGroupedTable",
]


def __getattr__(name: str) -> Any:
    return missing_attribute(__name__, name)
