"""Declared schemas as nodes: columns get types, computed columns and watermarks expressions.

    (a INT, b AS a + 1, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '5' SECOND)
        ──▶ Scan(a, ts) ──▶ Calc(a, a + 1, ts) ──▶ WatermarkAssigner

In: `Schema` and options.  Out: `TableDefinition`, nodes, `ResolvedSchema`.
Next: rel/connected_tables.py finds the connector
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from headrace.common import data_types as t
from headrace.errors import InvalidArgumentError
from headrace.rel import nodes as n
from headrace.rel.building import project, ref
from headrace.rel.connected_tables import origin_of
from headrace.rel.functions import cast
from headrace.rel.resolve.expressions import ExpressionResolver
from headrace.rel.resolve.resolver import scope_of
from headrace.rel.tables import TableOrigin
from headrace.spi.table_connector import TableDefinition, TableMetadataColumn
from headrace.sql import ast
from headrace.table.resolved import (
    Column,
    ResolvedSchema,
    UniqueConstraint,
    WatermarkSpec,
)
from headrace.table.resolved_expression import ResolvedExpression
from headrace.table.watermark_options import watermark_policy, without_watermarks

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.common.data_types import DataType
    from headrace.rel.catalogs import FunctionSource
    from headrace.scalars.nodes import Scalar
    from headrace.table.catalogs.objects import CatalogBaseTable
    from headrace.table.schema import DeclaredColumn, Schema


@dataclass(frozen=True, eq=False)
class StreamOrigin(TableOrigin):
    """Lines of a DataStream, whose watermarks come along."""


def table_definition(
    name: str, table: CatalogBaseTable, functions: FunctionSource
) -> TableDefinition:
    """What a connector is told of a table."""
    schema = table._schema
    check_schema(schema, table._partition_keys)
    key = () if schema._primary_key is None else schema._primary_key.columns
    physical = [column for column in schema._columns if column.physical]
    return TableDefinition(
        name=name,
        columns=t.RowType([t.RowField(c.name, _type_of(c, key)) for c in physical]),
        options=without_watermarks(without_legacy(table._options)),
        metadata=tuple(
            TableMetadataColumn(c.name, c.key or c.name, _type_of(c, key), c.virtual)
            for c in schema._columns
            if c.metadata
        ),
        primary_key=key,
        partition_keys=table._partition_keys,
    )


# options of Flink's old connectors, and what they are called today
_LEGACY = {
    "connector.type": "connector",
    "connector.path": "path",
    "format.type": "format",
    "format.field-delimiter": "csv.field-delimiter",
    "format.quote-character": "csv.quote-character",
    "format.allow-comments": "csv.allow-comments",
    "format.ignore-parse-errors": "csv.ignore-parse-errors",
}


def without_legacy(options: Mapping[str, str]) -> dict[str, str]:
    """The options of a table; those of Flink's old file connector under their new names."""
    if "connector.type" not in options:
        return dict(options)
    found: dict[str, str] = {}
    for key, value in options.items():
        if key == "format.ignore-first-line" and value.lower() == "false":
            continue
        if key in ("connector.property-version", "format.property-version", "update-mode"):
            continue
        if key not in _LEGACY:
            raise InvalidArgumentError(
                f"the option {key!r} is of Flink's old connectors, which headrace does not have",
                fix="use 'connector' = '...', 'format' = '...' and their options",
            )
        found[_LEGACY[key]] = value
    if found.get("format") == "csv":
        found["csv.headrace.ignore-more-cells"] = "true"
    return found


def _type_of(column: DeclaredColumn, key: tuple[str, ...]) -> DataType:
    assert column.type is not None
    found = column.type.data_type
    return found.not_null() if column.name in key else found


def check_schema(schema: Schema, partition_keys: tuple[str, ...] = ()) -> None:
    """Names are there once, and keys name columns.

    Raises:
        InvalidArgumentError: they do not.
    """
    names = [column.name for column in schema._columns]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InvalidArgumentError(
            f"Schema must not contain duplicate column names. Found duplicates: {twice}"
        )
    physical = [column.name for column in schema._columns if column.physical]
    wanted = () if schema._primary_key is None else schema._primary_key.columns
    for what, columns in (("primary key", wanted), ("partition", partition_keys)):
        for column in columns:
            if column not in physical:
                why = "is no physical column" if column in names else "is not there"
                raise InvalidArgumentError(
                    f"column {column!r} of the {what} {why}", fix=f"name one of {physical}"
                )


def scan_of(name: str, table: CatalogBaseTable, functions: FunctionSource) -> n.Rel:
    """The lines of a table."""
    definition = table_definition(name, table, functions)
    policy = watermark_policy(name, table._options)
    fields = tuple(n.Field(f.name, f.data_type) for f in definition.read_type().fields)
    scan = n.Scan(origin_of(definition), schema=fields)
    made = completed(scan, table._schema, functions)
    return replace(made, policy=policy) if isinstance(made, n.WatermarkAssigner) else made


def completed(scan: n.Rel, schema: Schema, functions: FunctionSource) -> n.Rel:
    """Computed columns and the watermark above the lines of physical and metadata columns."""
    names = [field.name for field in scan.schema]
    expressions = ExpressionResolver(scope_of(scan), functions)
    scalars: list[Scalar] = []
    for column in schema._columns:
        if column.expression is not None:
            scalars.append(expressions.scalar(column.expression.node))
        else:
            scalars.append(ref(scan, names.index(column.name)))
    rel = project(scan, scalars, [column.name for column in schema._columns])
    return _with_watermark(rel, schema, functions)


def _with_watermark(rel: n.Rel, schema: Schema, functions: FunctionSource) -> n.Rel:
    watermark = schema._watermark
    if watermark is None:
        return rel
    names = [field.name for field in rel.schema]
    if watermark.column not in names:
        raise InvalidArgumentError(
            f"Invalid column name '{watermark.column}' for rowtime attribute in watermark "
            f"declaration. Available columns are: {names}"
        )
    place = names.index(watermark.column)
    _check_rowtime(rel.schema[place])
    if is_source_watermark(watermark.expression.node):
        return _from_source(rel, place)
    expression = ExpressionResolver(scope_of(rel), functions).scalar(watermark.expression.node)
    if type(expression.type) is not type(rel.schema[place].type):
        expression = cast(expression, rel.schema[place].type.nullable())
    made = marked(rel.schema, place)
    return n.WatermarkAssigner(rel, place, expression, schema=made)


def marked(schema: n.Schema, place: int) -> n.Schema:
    """The columns with one as rowtime."""
    field = schema[place]._replace(time=n.TimeAttribute.ROWTIME)
    return (*schema[:place], field, *schema[place + 1 :])


def _check_rowtime(field: n.Field) -> None:
    kind = field.type
    if isinstance(kind, t.TimestampType | t.LocalZonedTimestampType) and kind.precision <= 3:
        return
    raise InvalidArgumentError(
        f"Invalid data type of time field for watermark definition. The field must be of type "
        f"TIMESTAMP(p) or TIMESTAMP_LTZ(p), the supported precision 'p' is from 0 to 3, but the "
        f"time field '{field.name}' is of type {field.type}",
        fix=f"declare it as TIMESTAMP(3), or compute it: ts AS CAST({field.name} AS TIMESTAMP(3))",
    )


def is_source_watermark(node: ast.SqlExpression) -> bool:
    """Whether watermarks are those of the source itself."""
    return isinstance(node, ast.FunctionCall) and node.name == ("SOURCE_WATERMARK",)


def _from_source(rel: n.Rel, place: int) -> n.Rel:
    """The column is the rowtime, with the watermarks that come along: of DataStreams."""
    below = rel.input if isinstance(rel, n.Calc) else rel
    if isinstance(below, n.Scan) and isinstance(below.table, StreamOrigin):
        return replace(rel, schema=marked(rel.schema, place))
    raise InvalidArgumentError(
        "SOURCE_WATERMARK() cannot be used: the source of this table has no watermarks of its own",
        fix="write an expression: WATERMARK FOR ts AS ts - INTERVAL '5' SECOND",
    )


def resolved_schema(schema: Schema, rel: n.Rel) -> ResolvedSchema:
    """A declared schema with the types that its nodes have."""
    types = {field.name: field.type for field in rel.schema}
    columns: list[Column] = []
    for declared in schema._columns:
        kind = types[declared.name]
        made: Column
        if declared.expression is not None:
            expression = declared.expression
            made = Column.computed(
                declared.name, ResolvedExpression(expression.node, expression.text, kind)
            )
        elif declared.metadata:
            made = Column.metadata(declared.name, kind, declared.key, declared.virtual)
        else:
            made = Column.physical(declared.name, kind)
        columns.append(made.with_comment(declared.comment))
    watermarks = []
    if schema._watermark is not None:
        mark = schema._watermark
        kind = types[mark.column]
        expression_ = ResolvedExpression(mark.expression.node, mark.expression.text, kind)
        watermarks.append(WatermarkSpec.of(mark.column, expression_))
    key = schema._primary_key
    made_key = None if key is None else UniqueConstraint.primary_key(key.name, key.columns)
    return ResolvedSchema(columns, watermarks, made_key)
