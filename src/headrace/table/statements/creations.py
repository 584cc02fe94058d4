"""CREATE statements as text: what SHOW CREATE shows.

In: objects of catalogs.  Out: text that would make them again.
Next: table/statements/showing.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.common.data_types import ArrayType, MapType, MultisetType, RowType, VarCharType
from headrace.errors import UnsupportedStepError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.common.data_types import DataType
    from headrace.table.catalogs.manager import CatalogManager, FoundTable
    from headrace.table.schema import DeclaredColumn


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _name(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def type_text(kind: DataType) -> str:
    """A type as SQL reads it; STRING in full, as Flink writes it here."""
    match kind:
        case VarCharType():
            text = f"VARCHAR({kind.length})"
        case ArrayType() | MultisetType():
            text = f"{kind.type_name()}<{type_text(kind.element_type)}>"
        case MapType():
            text = f"MAP<{type_text(kind.key_type)}, {type_text(kind.value_type)}>"
        case RowType():
            fields = (f"{_name(f.name)} {type_text(f.data_type)}" for f in kind.fields)
            text = f"ROW<{', '.join(fields)}>"
        case _:
            return str(kind)
    return text if kind.is_nullable else f"{text} NOT NULL"


def _column(column: DeclaredColumn, keys: tuple[str, ...]) -> str:
    text = f"{_name(column.name)} "
    if column.expression is not None:
        text += f"AS {column.expression.text}"
    else:
        assert column.type is not None
        kind = column.type.data_type
        text += type_text(kind.not_null() if column.name in keys else kind)
    if column.metadata:
        text += " METADATA" + ("" if column.key is None else f" FROM {_quoted(column.key)}")
        text += " VIRTUAL" if column.virtual else ""
    return text + ("" if not column.comment else f" COMMENT {_quoted(column.comment)}")


def _with(options: Mapping[str, str]) -> str:
    shown = [f"  {_quoted(key)} = {_quoted(options[key])}" for key in sorted(options)]
    return "WITH (\n" + ",\n".join(shown) + "\n)"


def _comment(comment: str | None) -> list[str]:
    return [f"COMMENT {_quoted(comment)}"] if comment else []


def table_text(found: FoundTable) -> str:
    """CREATE TABLE of a table."""
    table = found.table
    schema = table._schema
    keys = () if schema._primary_key is None else schema._primary_key.columns
    parts = [_column(column, keys) for column in schema._columns]
    if schema._watermark is not None:
        mark = schema._watermark
        parts.append(f"WATERMARK FOR {_name(mark.column)} AS {mark.expression.text}")
    if schema._primary_key is not None:
        parts.append(str(schema._primary_key))
    temporary = "TEMPORARY " if found.temporary else ""
    lines = [f"CREATE {temporary}TABLE {found.identifier} ("]
    lines += [",\n".join(f"  {part}" for part in parts), ")"]
    lines += _comment(table._comment)
    if table._partition_keys:
        lines.append(f"PARTITIONED BY ({', '.join(map(_name, table._partition_keys))})")
    lines.append(_with(table._options))
    return "\n".join(lines) + "\n"


def view_text(found: FoundTable) -> str:
    """CREATE VIEW of a view."""
    view = found.table._view
    assert view is not None
    if not view.text:
        raise UnsupportedStepError(
            f"{found.identifier} shows a table of the Table API, which has no text",
            fix="create the view in SQL: CREATE VIEW ... AS SELECT ...",
        )
    temporary = "TEMPORARY " if found.temporary else ""
    columns = ",\n".join(f"  {_name(column.name)}" for column in found.table._schema._columns)
    lines = [f"CREATE {temporary}VIEW {found.identifier} (", columns, ")"]
    lines += [*_comment(found.table._comment), f"AS {view.text}"]
    return "\n".join(lines) + "\n"


def catalog_text(manager: CatalogManager, name: str) -> str:
    """CREATE CATALOG of a catalog."""
    manager.catalog(name)
    lines = [f"CREATE CATALOG {_name(name)}", *_comment(manager.comments.get(name))]
    return "\n".join([*lines, _with(manager.options.get(name, {}))]) + "\n"


def database_text(manager: CatalogManager, path: tuple[str, ...]) -> str:
    """CREATE DATABASE of a database."""
    catalog, name = manager.database_path(path)
    database = manager.catalog(catalog).get_database(name)
    lines = [f"CREATE DATABASE {_name(catalog)}.{_name(name)}", *_comment(database.get_comment())]
    if database.get_properties():
        lines.append(_with(database.get_properties()))
    return "\n".join(lines) + "\n"
