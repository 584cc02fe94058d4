"""SHOW and DESCRIBE.

In: statements.  Out: known lines, with Flink's names of columns.
Next: table/statements/creations.py writes CREATE statements
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from headrace.common.data_types import DataTypes
from headrace.errors import InvalidArgumentError, UnsupportedStepError
from headrace.table.catalogs import exceptions as x
from headrace.table.catalogs.names import ObjectIdentifier
from headrace.table.declared import resolved_schema
from headrace.table.statements.creations import catalog_text, database_text, table_text, view_text
from headrace.table.statements.function_facts import function_facts
from headrace.table.table_result import TableResult, content_result

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from headrace.rel.nodes import TimeAttribute
    from headrace.sql.statement_ast import DescribeStatement, ShowPattern, ShowStatement
    from headrace.table.catalogs.manager import FoundTable
    from headrace.table.table_environment import TableEnvironment

_STRING, _BOOLEAN = DataTypes.STRING(), DataTypes.BOOLEAN()


def show(env: TableEnvironment, statement: ShowStatement) -> TableResult:
    """SHOW."""
    handler = _SHOWS.get(statement.what)
    if handler is None:
        raise UnsupportedStepError(
            f"SHOW {statement.what} is not supported", fix=_INSTEAD.get(statement.what, "leave it")
        )
    return handler(env, statement)


def _names(column: str, names: Sequence[str], pattern: ShowPattern | None = None) -> TableResult:
    shown = [(name,) for name in names if pattern is None or matches(pattern, name)]
    return content_result([(column, _STRING)], shown)


def matches(pattern: ShowPattern, text: str) -> bool:
    """Whether a text is LIKE a pattern."""
    parts = {"%": ".*", "_": "."}
    signs = "".join(parts.get(sign, re.escape(sign)) for sign in pattern.pattern)
    flags = re.DOTALL | (re.IGNORECASE if pattern.operator == "ILIKE" else 0)
    return (re.fullmatch(signs, text, flags) is not None) != pattern.negated


def _place(env: TableEnvironment, statement: ShowStatement) -> tuple[str, str]:
    """The database behind FROM, or the current one."""
    manager = env._manager
    if statement.name is None:
        return manager.current_catalog or "", manager.current_database or ""
    catalog, database = manager.database_path(statement.name.parts)
    if not manager.catalog(catalog).database_exists(database):
        raise x.DatabaseNotExistException(f"Database `{catalog}`.`{database}` doesn't exist.")
    return catalog, database


def _tables(env: TableEnvironment, statement: ShowStatement) -> TableResult:
    names = env._manager.table_names(*_place(env, statement))
    return _names("table name", names, statement.pattern)


def _views(env: TableEnvironment, statement: ShowStatement) -> TableResult:
    names = env._manager.table_names(*_place(env, statement), views_only=True)
    return _names("view name", names, statement.pattern)


def _databases(env: TableEnvironment, statement: ShowStatement) -> TableResult:
    name = statement.name.parts[0] if statement.name else env._manager.current_catalog or ""
    names = sorted(env._manager.catalog(name).list_databases())
    return _names("database name", names, statement.pattern)


def _functions(env: TableEnvironment, statement: ShowStatement) -> TableResult:
    names = env._manager.user_functions(*_place(env, statement))
    if not statement.what.startswith("USER"):
        names = sorted({*env._manager.modules.function_names(), *names})
    return _names("function name", names, statement.pattern)


def _full_modules(env: TableEnvironment, statement: ShowStatement) -> TableResult:
    rows = [(entry.name(), entry.used()) for entry in env.list_full_modules()]
    return content_result([("module name", _STRING), ("used", _BOOLEAN)], rows)


def _jars(env: TableEnvironment, statement: ShowStatement) -> TableResult:
    jars = env._env._configuration.get_string("spark.jars", "")
    return _names("jars", [jar for jar in jars.split(",") if jar])


def _partitions(env: TableEnvironment, statement: ShowStatement) -> TableResult:
    assert statement.name is not None
    found = env._manager.need(statement.name.parts)
    catalog = env._manager.catalog(found.identifier.get_catalog_name())
    path, keys = found.identifier.to_object_path(), found.table._partition_keys
    if not keys:
        raise x.TableNotPartitionedException(f"Table {path} is not partitioned.")
    specs = [] if found.temporary else catalog.list_partitions(path)
    wanted = {name: str(value.value) for name, value in statement.partition if value is not None}
    shown = [spec.get_partition_spec() for spec in specs]
    names = [
        "/".join(f"{key}={spec[key]}" for key in keys)
        for spec in shown
        if wanted.items() <= spec.items()
    ]
    return _names("partition name", names)


def _create(env: TableEnvironment, statement: ShowStatement) -> TableResult:
    assert statement.name is not None
    what = statement.what.removeprefix("CREATE ")
    if what == "CATALOG":
        text = catalog_text(env._manager, statement.name.parts[0])
    elif what == "DATABASE":
        text = database_text(env._manager, statement.name.parts)
    else:
        found = env._manager.find(statement.name.parts)
        if found is None:
            name: Any = env._manager.qualify(statement.name.parts)
            raise x.TableNotExistException(
                f"Could not execute SHOW CREATE {what}. {what.capitalize()} with identifier "
                f"{name} does not exist."
            )
        text = _create_text(env, found, what)
    return content_result([("result", _STRING)], [(text,)])


def _create_text(env: TableEnvironment, found: FoundTable, what: str) -> str:
    is_view = found.table._view is not None
    if is_view != (what == "VIEW"):
        other, kind = ("views", "a table") if what == "VIEW" else ("tables", "a view")
        instead = "TABLE" if what == "VIEW" else "VIEW"
        raise InvalidArgumentError(
            f"SHOW CREATE {what} is only supported for {other}, but {found.identifier} is {kind}. "
            f"Please use SHOW CREATE {instead} instead."
        )
    return view_text(found) if is_view else table_text(found)


_INSTEAD = {
    "PROCEDURES": "headrace has no procedures",
    "JOBS": "use `headrace list`",
    "CONNECTIONS": "headrace has no connections",
    "CREATE MODEL": "headrace has no models",
}

_SHOWS: dict[str, Callable[[TableEnvironment, ShowStatement], TableResult]] = {
    "TABLES": _tables,
    "VIEWS": _views,
    "MATERIALIZED TABLES": lambda env, s: _names("materialized table", []),
    "DATABASES": _databases,
    "CATALOGS": lambda env, s: _names("catalog name", env.list_catalogs(), s.pattern),
    "CURRENT CATALOG": lambda env, s: _names(
        "current catalog name", [env.get_current_catalog() or ""]
    ),
    "CURRENT DATABASE": lambda env, s: _names(
        "current database name", [env.get_current_database() or ""]
    ),
    "FUNCTIONS": _functions,
    "USER FUNCTIONS": _functions,
    "MODULES": lambda env, s: _names("module name", env.list_modules()),
    "FULL MODULES": _full_modules,
    "MODELS": lambda env, s: _names("model name", env.list_models(), s.pattern),
    "JARS": _jars,
    "PARTITIONS": _partitions,
    "COLUMNS": lambda env, s: _columns(env, s.name.parts if s.name else (), s.pattern),
    "CREATE TABLE": _create,
    "CREATE VIEW": _create,
    "CREATE CATALOG": _create,
    "CREATE DATABASE": _create,
}


# --- DESCRIBE --------------------------------------------------------------------------------


def describe(env: TableEnvironment, statement: DescribeStatement) -> TableResult:
    """DESCRIBE."""
    match statement.kind:
        case "TABLE":
            return _columns(env, statement.name.parts, None)
        case "CATALOG":
            return _describe_catalog(env, statement)
        case "DATABASE":
            return _describe_database(env, statement)
        case "FUNCTION":
            return _info(function_facts(env, statement.name.parts, extended=statement.extended))
        case _:
            raise UnsupportedStepError(
                f"DESCRIBE {statement.kind} is not supported: headrace has none", fix="leave it out"
            )


def _columns(
    env: TableEnvironment, path: tuple[str, ...], pattern: ShowPattern | None
) -> TableResult:
    found = env._manager.find(path)
    if found is None:
        name = ObjectIdentifier(*env._manager.qualify(path).to_list()).as_summary_string()
        raise x.TableNotExistException(
            f"Tables or views with the identifier '{name}' doesn't exist."
        )
    rows = column_rows(env, found)
    kept = [row for row in rows if pattern is None or matches(pattern, str(row[0]))]
    columns = [("name", _STRING), ("type", _STRING), ("null", _BOOLEAN), ("key", _STRING)]
    columns += [("extras", _STRING), ("watermark", _STRING)]
    if any(row[6] is not None for row in rows):
        columns.append(("comment", _STRING))
    return content_result(columns, [row[: len(columns)] for row in kept])


def column_rows(env: TableEnvironment, found: FoundTable) -> list[tuple[Any, ...]]:
    """What is told of each column: name, type, null, key, extras, watermark, comment."""
    from headrace.rel import nodes as n
    from headrace.table.declared import completed

    schema = found.table._schema
    key = schema._primary_key
    keys = () if key is None else key.columns
    if found.table._view is not None:
        rel: n.Rel = env._lookup.rel_of(found)
    else:
        fields = tuple(
            n.Field(
                column.name,
                column.type.data_type.not_null() if column.name in keys else column.type.data_type,
            )
            for column in schema._columns
            if column.type is not None
        )
        rel = completed(n.Values((), schema=fields), schema, env._lookup)
    resolved = resolved_schema(schema, rel)
    shown_key = f"PRI({', '.join(keys)})"
    times = {field.name: field.time for field in rel.schema}
    if not env._streaming:
        # nothing waits for watermarks there
        times = {k: None if v is n.TimeAttribute.ROWTIME else v for k, v in times.items()}
    marks = {
        spec.get_rowtime_attribute(): spec.get_watermark_expression().as_summary_string()
        for spec in resolved.get_watermark_specs()
    }
    return [
        (
            column.get_name(),
            _type_text(column.get_data_type(), times[column.get_name()]),
            column.get_data_type().is_nullable,
            shown_key if column.get_name() in keys else None,
            column.explain_extras(),
            marks.get(column.get_name()),
            column.get_comment(),
        )
        for column in resolved.get_columns()
    ]


def _type_text(kind: Any, time: TimeAttribute | None) -> str:
    text = str(kind.nullable())
    return text if time is None else f"{text} *{time.value.upper()}*"


def _info(rows: list[tuple[str, str]], name: str = "info") -> TableResult:
    return content_result([(f"{name} name", _STRING), (f"{name} value", _STRING)], rows)


def _describe_catalog(env: TableEnvironment, statement: DescribeStatement) -> TableResult:
    name = statement.name.parts[0]
    env._manager.catalog(name)
    options = env._manager.options.get(name, {})
    rows = [("name", name), ("type", options.get("type", ""))]
    rows.append(("comment", env._manager.comments.get(name) or ""))
    if statement.extended:
        rows += [(f"option:{k}", v) for k, v in sorted(options.items()) if k != "type"]
    return _info(rows)


def _describe_database(env: TableEnvironment, statement: DescribeStatement) -> TableResult:
    catalog, name = env._manager.database_path(statement.name.parts)
    database = env._manager.catalog(catalog).get_database(name)
    rows = [("catalog name", catalog), ("database name", name)]
    rows.append(("comment", database.get_comment() or ""))
    if statement.extended:
        rows += [(f"option:{k}", v) for k, v in sorted(database.get_properties().items())]
    return _info(rows)
