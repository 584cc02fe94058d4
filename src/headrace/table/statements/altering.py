"""ALTER TABLE, VIEW, DATABASE and CATALOG.

In: statements.  Out: changed objects of catalogs.  Next: table/statements/columns.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.errors import InvalidArgumentError, UnsupportedStepError
from headrace.sql import ddl_ast as d
from headrace.table.catalogs import exceptions as x
from headrace.table.catalogs.objects import CatalogDatabase, CatalogPartition, CatalogPartitionSpec
from headrace.table.declared import check_schema
from headrace.table.statements.columns import changed_schema
from headrace.table.statements.tables import view_of, view_table
from headrace.table.table_result import TableResult, ok_result

if TYPE_CHECKING:
    from headrace.sql.statement_ast import PartitionSpec
    from headrace.table.catalogs.catalog import Catalog
    from headrace.table.catalogs.manager import FoundTable
    from headrace.table.table_environment import TableEnvironment


def alter(env: TableEnvironment, statement: d.AlterStatement) -> TableResult:
    """ALTER of anything but a function."""
    match statement.kind:
        case "TABLE" | "VIEW":
            found = _found(env, statement)
            if found is not None:
                _alter_table(env, found, statement.action)
            return ok_result()
        case "DATABASE":
            return _alter_database(env, statement)
        case "CATALOG":
            return _alter_catalog(env, statement)
        case _:
            raise UnsupportedStepError(
                f"ALTER {statement.kind} is not supported: headrace has none", fix="leave it out"
            )


def _found(env: TableEnvironment, statement: d.AlterStatement) -> FoundTable | None:
    found = env._manager.find(statement.name.parts)
    word = statement.kind.capitalize()
    if found is None:
        if statement.if_exists:
            return None
        name = env._manager.qualify(statement.name.parts)
        raise x.TableNotExistException(f"{word} {name} doesn't exist or is a temporary table.")
    is_view = found.table._view is not None
    if is_view != (statement.kind == "VIEW"):
        other = "VIEW" if is_view else "TABLE"
        raise InvalidArgumentError(
            f"ALTER {statement.kind} for a {other.lower()} is not allowed", fix=f"ALTER {other}"
        )
    return found


def _alter_table(env: TableEnvironment, found: FoundTable, action: d.AlterAction) -> None:
    table, manager = found.table, env._manager
    match action:
        case d.RenameAction():
            _rename(env, found, action)
        case d.SetOptionsAction():
            manager.put_table(found, table._with(options=table._options | dict(action.options)))
        case d.ResetOptionsAction():
            _reset(env, found, action)
        case d.NewQueryAction():
            view = view_of(env, action.query, ())
            manager.put_table(found, view_table(env, view, table._comment))
        case d.AddPartitionsAction():
            for spec, options in action.partitions:
                _catalog(env, found).create_partition(
                    found.identifier.to_object_path(),
                    _spec(spec),
                    CatalogPartition(dict(options)),
                    action.if_not_exists,
                )
        case d.DropPartitionsAction():
            for spec in action.partitions:
                _catalog(env, found).drop_partition(
                    found.identifier.to_object_path(), _spec(spec), action.if_exists
                )
        case d.DistributionAction():
            raise UnsupportedStepError("DISTRIBUTION is not supported", fix="leave it out")
        case _:
            schema = changed_schema(table._schema, action)
            check_schema(schema, table._partition_keys)
            manager.put_table(found, table._with(schema=schema))


def _catalog(env: TableEnvironment, found: FoundTable) -> Catalog:
    if found.temporary:
        raise InvalidArgumentError("a temporary table has no partitions in a catalog")
    return env._manager.catalog(found.identifier.get_catalog_name())


def _spec(spec: PartitionSpec) -> CatalogPartitionSpec:
    return CatalogPartitionSpec(
        {name: "" if value is None else str(value.value) for name, value in spec}
    )


def _rename(env: TableEnvironment, found: FoundTable, action: d.RenameAction) -> None:
    manager, old = env._manager, found.identifier
    new = manager.qualify(
        action.name.parts
        if len(action.name.parts) > 1
        else (*old.to_list()[:2], action.name.parts[0])
    )
    if new.to_list()[:2] != old.to_list()[:2]:
        raise InvalidArgumentError(
            f"a table stays in its database: {old} cannot become {new}", fix="give a name only"
        )
    if found.temporary:
        manager.temporary_tables[new] = manager.temporary_tables.pop(old)
        return
    catalog = manager.catalog(old.get_catalog_name())
    catalog.rename_table(old.to_object_path(), new.get_object_name(), ignore_if_not_exists=False)


def _reset(env: TableEnvironment, found: FoundTable, action: d.ResetOptionsAction) -> None:
    if not action.keys:
        raise InvalidArgumentError("ALTER TABLE RESET does not support empty key")
    if "connector" in action.keys:
        raise InvalidArgumentError("ALTER TABLE RESET does not support changing 'connector'")
    options = {k: v for k, v in found.table._options.items() if k not in action.keys}
    env._manager.put_table(found, found.table._with(options=options))


def _alter_database(env: TableEnvironment, statement: d.AlterStatement) -> TableResult:
    catalog_name, name = env._manager.database_path(statement.name.parts)
    catalog = env._manager.catalog(catalog_name)
    if not isinstance(statement.action, d.SetOptionsAction):
        raise UnsupportedStepError("ALTER DATABASE can SET options only", fix="SET ('k' = 'v')")
    if not catalog.database_exists(name) and statement.if_exists:
        return ok_result()
    old = catalog.get_database(name)
    options = old.get_properties() | dict(statement.action.options)
    database = CatalogDatabase(options, old.get_comment())
    catalog.alter_database(name, database, ignore_if_not_exists=False)
    return ok_result()


def _alter_catalog(env: TableEnvironment, statement: d.AlterStatement) -> TableResult:
    name = statement.name.parts[0]
    env._manager.catalog(name)
    options = env._manager.options.setdefault(name, {})
    match statement.action:
        case d.SetOptionsAction(options=given):
            options.update(dict(given))
        case d.ResetOptionsAction(keys=keys):
            if not keys:
                raise InvalidArgumentError("ALTER CATALOG RESET does not support empty key")
            if "type" in keys:
                raise InvalidArgumentError("ALTER CATALOG RESET does not support changing 'type'")
            for key in keys:
                options.pop(key, None)
        case d.CommentAction(comment=comment):
            env._manager.comments[name] = comment
        case _:
            raise UnsupportedStepError("ALTER CATALOG can SET, RESET and COMMENT", fix="use these")
    return ok_result()
