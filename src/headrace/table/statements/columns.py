"""ALTER TABLE ADD, MODIFY, DROP and RENAME: changes of a table's schema.

In: a schema and what is to be done to it.  Out: another schema.
Next: table/statements/altering.py
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from headrace.errors import InvalidArgumentError, UnsupportedStepError
from headrace.sql import ddl_ast as d
from headrace.sql.ast import Identifier, walk_nodes
from headrace.table.schema import DeclaredColumn, Schema
from headrace.table.statements.tables import declared_column, declared_key, declared_watermark

if TYPE_CHECKING:
    from headrace.sql.ast import SqlExpression

_FAILED = "Failed to execute ALTER TABLE statement."


def changed_schema(schema: Schema, action: d.AlterAction) -> Schema:
    """The schema after a change.

    Raises:
        InvalidArgumentError: what is to be changed is not there, or is needed.
    """
    match action:
        case d.SchemaAction():
            return _with_columns(schema, action)
        case d.RenameColumnAction():
            return _renamed(schema, _name(action.old), _name(action.new))
        case d.DropColumnsAction():
            return _without(schema, [_name(column) for column in action.columns])
        case d.DropAction():
            return _dropped(schema, action)
        case _:
            raise UnsupportedStepError(
                f"ALTER TABLE {type(action).__name__} is not supported", fix="create a new table"
            )


def _name(identifier: Identifier) -> str:
    if len(identifier.parts) > 1:
        raise UnsupportedStepError(
            "Altering a part of a column is not supported", fix="change the whole column"
        )
    return identifier.parts[0]


def _problem(why: str) -> InvalidArgumentError:
    return InvalidArgumentError(f"{_FAILED}\n{why}")


def _names(schema: Schema) -> list[str]:
    return [column.name for column in schema._columns]


def _with_columns(schema: Schema, action: d.SchemaAction) -> Schema:
    columns = list(schema._columns)
    for placement in action.columns:
        column = declared_column(placement.column)
        known = [each.name for each in columns]
        old: DeclaredColumn | None = None
        if action.kind == "ADD" and column.name in known:
            raise _problem(f"Try to add a column `{column.name}` which already exists in the table")
        if action.kind == "MODIFY":
            if column.name not in known:
                raise _problem(
                    f"Try to modify a column `{column.name}` which does not exist in the table."
                )
            old = columns[known.index(column.name)]
            if column.comment is None:
                column = replace(column, comment=old.comment)
        _place(columns, column, old, placement)
    key = declared_key(action.constraints)
    mark = declared_watermark(action.watermark)
    if action.kind == "ADD":
        if key is not None and schema._primary_key is not None:
            raise _problem("The base table has already defined the primary key constraint")
        if mark is not None and schema._watermark is not None:
            raise _problem("The base table has already defined the watermark strategy")
    else:
        if key is not None and schema._primary_key is None:
            raise _problem("The base table does not define any primary key constraint.")
        if mark is not None and schema._watermark is None:
            raise _problem("The base table does not define any watermark.")
    return Schema(columns, mark or schema._watermark, key or schema._primary_key)


def _place(
    columns: list[DeclaredColumn],
    column: DeclaredColumn,
    old: DeclaredColumn | None,
    placement: d.ColumnPlacement,
) -> None:
    """Put a column where it goes: where it was, at the end, first, or behind another."""
    if old is not None and not placement.first and placement.after is None:
        columns[columns.index(old)] = column
        return
    if old is not None:
        columns.remove(old)
    if placement.first:
        columns.insert(0, column)
    elif placement.after is not None:
        names = [each.name for each in columns]
        after = _name(placement.after)
        if after not in names:
            raise _problem(f"Referenced column `{after}` by 'AFTER' does not exist in the table.")
        columns.insert(names.index(after) + 1, column)
    else:
        columns.append(column)


def _used_in(node: SqlExpression) -> set[str]:
    return {part.parts[0] for part in walk_nodes(node) if isinstance(part, Identifier)}


def _check_free(schema: Schema, name: str, what: str) -> None:
    """Nobody else needs a column."""
    for column in schema._columns:
        if column.expression is not None and name in _used_in(column.expression.node):
            raise _problem(f"The column `{name}` is referenced by computed column `{column.name}`.")
    mark = schema._watermark
    if mark is not None and (name == mark.column or name in _used_in(mark.expression.node)):
        raise _problem(f"The column `{name}` is referenced by watermark expression.")
    key = schema._primary_key
    if key is not None and name in key.columns and what == "drop":
        raise _problem(f"The column `{name}` is used as the primary key.")


def _renamed(schema: Schema, old: str, new: str) -> Schema:
    if old not in _names(schema):
        raise _problem(f"The column `{old}` does not exist in the base table.")
    if new in _names(schema):
        raise _problem(f"The column `{new}` already existed in table schema.")
    _check_free(schema, old, "rename")
    columns = [
        replace(column, name=new) if column.name == old else column for column in schema._columns
    ]
    key = schema._primary_key
    if key is not None:
        key = replace(key, columns=tuple(new if name == old else name for name in key.columns))
    return Schema(columns, schema._watermark, key)


def _without(schema: Schema, names: list[str]) -> Schema:
    for name in names:
        if name not in _names(schema):
            raise _problem(f"The column `{name}` does not exist in the base table.")
    columns = [column for column in schema._columns if column.name not in names]
    rest = Schema(columns, schema._watermark, schema._primary_key)
    for name in names:
        _check_free(rest, name, "drop")
    return rest


def _dropped(schema: Schema, action: d.DropAction) -> Schema:
    match action.what:
        case "PRIMARY KEY" | "CONSTRAINT":
            key = schema._primary_key
            if key is None:
                raise _problem("The base table does not define any primary key.")
            if action.name is not None and action.name != key.name:
                raise _problem(
                    "The base table does not define a primary key constraint named "
                    f"'{action.name}'. Available constraint name: ['{key.name}']."
                )
            return Schema(schema._columns, schema._watermark, None)
        case "WATERMARK":
            if schema._watermark is None:
                raise _problem("The base table does not define any watermark strategy.")
            return Schema(schema._columns, None, schema._primary_key)
        case _:
            raise _problem("The base table does not define any distribution.")
