"""CREATE and DROP of tables and views; CREATE TABLE AS and LIKE.

In: statements.  Out: objects of catalogs.  Next: table/statements/liking.py, altering.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.errors import InvalidArgumentError, UnsupportedStepError
from headrace.rel.resolve.spelling import spelled_out
from headrace.rel.resolve.type_names import data_type
from headrace.sql import ddl_ast as d
from headrace.sql.render import render
from headrace.table.catalogs.objects import CatalogBaseTable, ViewQuery
from headrace.table.declared import check_schema, completed
from headrace.table.inserts import insert_of
from headrace.table.schema import (
    DeclaredColumn,
    DeclaredExpression,
    DeclaredKey,
    DeclaredType,
    DeclaredWatermark,
    Schema,
)
from headrace.table.statements import databases, functions
from headrace.table.statements.liking import merged
from headrace.table.table_result import TableResult, ok_result

if TYPE_CHECKING:
    from headrace.rel.nodes import Rel
    from headrace.sql.ast import SqlExpression
    from headrace.sql.query_ast import SqlQuery
    from headrace.table.table_environment import TableEnvironment


# --- the parts of a schema -------------------------------------------------------------------


def declared_expression(node: SqlExpression) -> DeclaredExpression:
    """An expression with its text."""
    return DeclaredExpression(node, render(node))


def declared_column(column: d.ColumnDefinition) -> DeclaredColumn:
    """A column of a statement, as a schema has it."""
    if len(column.name.parts) > 1:
        raise UnsupportedStepError(
            f"{'.'.join(column.name.parts)} is a part of a column", fix="declare the whole column"
        )
    name = column.name.parts[0]
    match column:
        case d.ComputedColumnDefinition():
            expression = declared_expression(column.expression)
            return DeclaredColumn(name, expression=expression, comment=column.comment)
        case d.MetadataColumnDefinition():
            return DeclaredColumn(
                name,
                DeclaredType(data_type(column.type)),
                metadata=True,
                key=column.key,
                virtual=column.virtual,
                comment=column.comment,
            )
        case d.PhysicalColumnDefinition():
            kind = DeclaredType(data_type(column.type))
            return DeclaredColumn(name, kind, comment=column.comment)
        case _:
            raise InvalidArgumentError(f"{name} is no column")


def declared_key(constraints: tuple[d.ConstraintDefinition, ...]) -> DeclaredKey | None:
    """The primary key of a statement."""
    for constraint in constraints:
        if constraint.kind != "PRIMARY KEY":
            raise UnsupportedStepError("UNIQUE constraint is not supported yet", fix="PRIMARY KEY")
        if constraint.enforced is not False:
            raise InvalidArgumentError(
                "Flink doesn't support ENFORCED mode for PRIMARY KEY constraint. ENFORCED/NOT "
                "ENFORCED controls if the constraint checks are performed on the "
                "incoming/outgoing data.",
                fix="write PRIMARY KEY (...) NOT ENFORCED",
            )
    if len(constraints) > 1:
        raise InvalidArgumentError("Duplicate primary key definition")
    if not constraints:
        return None
    key = constraints[0]
    return DeclaredKey(key.name or "PK_" + "_".join(key.columns), key.columns)


def declared_watermark(watermark: d.WatermarkDefinition | None) -> DeclaredWatermark | None:
    """The watermark of a statement."""
    if watermark is None:
        return None
    if len(watermark.column.parts) > 1:
        raise UnsupportedStepError(
            "a watermark for a part of a column is not supported",
            fix="make it a computed column: ts AS a.ts, and WATERMARK FOR ts",
        )
    return DeclaredWatermark(watermark.column.parts[0], declared_expression(watermark.expression))


def declared_schema(definition: d.TableSchemaDefinition | None) -> Schema:
    """What stands in the parentheses behind a table's name."""
    if definition is None:
        return Schema()
    return Schema(
        [declared_column(column) for column in definition.columns],
        declared_watermark(definition.watermark),
        declared_key(definition.constraints),
    )


# --- CREATE TABLE ----------------------------------------------------------------------------


def create_table(env: TableEnvironment, statement: d.CreateTable) -> TableResult:
    """CREATE TABLE, with LIKE or AS."""
    if statement.distribution is not None:
        raise UnsupportedStepError("DISTRIBUTED BY is not supported", fix="leave it out")
    if statement.connection is not None:
        raise UnsupportedStepError("USING CONNECTION is not supported", fix="give the options")
    if statement.query is not None:
        return _create_as(env, statement, statement.query)
    table = CatalogBaseTable(
        declared_schema(statement.schema),
        dict(statement.options),
        statement.comment,
        statement.partitioned_by,
    )
    if statement.like is not None:
        base = env._manager.need(statement.like.table.parts)
        table = merged(base.table, table, statement.like)
    check_schema(table._schema, table._partition_keys)
    _check_computed(env, table)
    _register(env, statement, table)
    return ok_result()


def _check_computed(env: TableEnvironment, table: CatalogBaseTable) -> None:
    """Computed columns and the watermark mean something."""
    from headrace.rel import nodes as n

    fields = tuple(
        n.Field(column.name, column.type.data_type)
        for column in table._schema._columns
        if column.type is not None
    )
    watermark = table._schema._watermark
    if watermark is not None and "SOURCE_WATERMARK" in watermark.expression.text.upper():
        return
    completed(n.Values((), schema=fields), table._schema, env._lookup)


def _register(env: TableEnvironment, statement: d.CreateTable, table: CatalogBaseTable) -> None:
    env._manager.create_table(
        statement.name.parts,
        table,
        temporary=statement.temporary,
        ignore_if_exists=statement.if_not_exists,
    )


def _create_as(env: TableEnvironment, statement: d.CreateTable, query: SqlQuery) -> TableResult:
    """CREATE TABLE AS: the columns of a query, and a job that writes its lines."""
    rel = env._resolver().query(query)
    exists = env._manager.find(statement.name.parts) is not None
    if exists and statement.if_not_exists:
        return ok_result()
    rel, schema = _schema_of_query(env, statement, rel)
    table = CatalogBaseTable(
        schema, dict(statement.options), statement.comment, statement.partitioned_by
    )
    if statement.replace:
        if not exists and not statement.or_create:
            raise InvalidArgumentError(
                f"the table {'.'.join(statement.name.parts)} to be replaced does not exist",
                fix="CREATE OR REPLACE TABLE",
            )
        if exists:
            env._manager.put_table(env._manager.need(statement.name.parts), table)
        else:
            _register(env, statement, table)
    else:
        _register(env, statement, table)
    found = env._manager.need(statement.name.parts)
    name = found.identifier.as_summary_string()
    try:
        return env._run_inserts(
            [insert_of(rel, name, table, env._lookup, identifier=found.identifier)]
        )
    except Exception:
        if not exists:
            env._manager.drop_table(
                statement.name.parts,
                temporary=statement.temporary,
                view=False,
                ignore_if_not_exists=True,
            )
        raise


def _schema_of_query(
    env: TableEnvironment, statement: d.CreateTable, rel: Rel
) -> tuple[Rel, Schema]:
    """The columns of a query, with what the statement says of them beside."""
    given = statement.schema
    if given is not None and given.names:
        wanted = [name.parts[0] for name in given.names]
        own = [field.name for field in rel.schema]
        if sorted(wanted) != sorted(own):
            raise InvalidArgumentError(
                f"the columns {wanted} are not those of the query: {own}",
                fix="list every column of the query once",
            )
        from headrace.rel.building import project, ref

        rel = project(rel, [ref(rel, own.index(name)) for name in wanted], wanted)
    builder = Schema.new_builder()
    for field in rel.schema:
        builder.column(field.name, field.type)
    made = builder.build()
    extra = declared_schema(given)
    names = {column.name: column for column in extra._columns}
    columns = [column for column in extra._columns if column.name not in _names(made)]
    columns += [names.get(column.name, column) for column in made._columns]
    return rel, Schema(columns, extra._watermark, extra._primary_key)


def _names(schema: Schema) -> set[str]:
    return {column.name for column in schema._columns}


# --- CREATE VIEW and DROP --------------------------------------------------------------------


def create_view(env: TableEnvironment, statement: d.CreateView) -> TableResult:
    """CREATE VIEW."""
    manager = env._manager
    view = view_of(env, statement.query, statement.columns)
    table = _view_table(env, view, statement.comment)
    found = manager.find(statement.name.parts)
    if statement.replace and found is not None:
        if found.table._view is None:
            raise InvalidArgumentError(f"{found.identifier} is a table, not a view")
        manager.put_table(found, table)
        return ok_result()
    manager.create_table(
        statement.name.parts,
        table,
        temporary=statement.temporary,
        ignore_if_exists=statement.if_not_exists,
    )
    return ok_result()


def view_of(env: TableEnvironment, query: SqlQuery, columns: tuple[str, ...]) -> ViewQuery:
    """What a view shows, with the place in which its names are looked up."""
    manager = env._manager
    spelled = spelled_out(query, lambda each: env._resolver().query(each))
    return ViewQuery(
        render(spelled),
        spelled,
        manager.current_catalog or "",
        manager.current_database or "",
        columns,
    )


def _view_table(env: TableEnvironment, view: ViewQuery, comment: str | None) -> CatalogBaseTable:
    rel = env._lookup.view_rel(view)
    if view.columns and len(view.columns) != len(rel.schema):
        raise InvalidArgumentError(
            f"VIEW definition and input fields not match:\n\tDef fields: {list(view.columns)}.\n\t"
            f"Input fields: {[field.name for field in rel.schema]}."
        )
    builder = Schema.new_builder()
    for field in rel.schema:
        builder.column(field.name, field.type)
    return CatalogBaseTable(builder.build(), {}, comment, view=view)


view_table = _view_table


def drop(env: TableEnvironment, statement: d.DropStatement) -> TableResult:
    """DROP of anything."""
    match statement.kind:
        case "TABLE" | "VIEW":
            env._manager.drop_table(
                statement.name.parts,
                temporary=statement.temporary,
                view=statement.kind == "VIEW",
                ignore_if_not_exists=statement.if_exists,
            )
            return ok_result()
        case "CATALOG":
            return databases.drop_catalog(env, statement)
        case "DATABASE":
            return databases.drop_database(env, statement)
        case "FUNCTION":
            return functions.drop_function(env, statement)
        case _:
            raise UnsupportedStepError(
                f"DROP {statement.kind} is not supported: headrace has none", fix="leave it out"
            )
