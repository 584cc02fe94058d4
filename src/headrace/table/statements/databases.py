"""CREATE, ALTER and DROP of catalogs and databases.  Next: table/catalogs/manager.py"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.table.catalogs.factory import catalog_of
from headrace.table.catalogs.objects import CatalogDatabase
from headrace.table.table_result import TableResult, ok_result

if TYPE_CHECKING:
    from headrace.sql.ddl_ast import CreateCatalog, CreateDatabase, DropStatement
    from headrace.table.table_environment import TableEnvironment


def create_catalog(env: TableEnvironment, statement: CreateCatalog) -> TableResult:
    """CREATE CATALOG."""
    if statement.if_not_exists and statement.name in env._manager.catalogs:
        return ok_result()
    options = dict(statement.options)
    catalog = catalog_of(statement.name, options)
    env._manager.register(statement.name, catalog, options, statement.comment)
    return ok_result()


def create_database(env: TableEnvironment, statement: CreateDatabase) -> TableResult:
    """CREATE DATABASE."""
    catalog, name = env._manager.database_path(statement.name.parts)
    database = CatalogDatabase(dict(statement.options), statement.comment)
    env._manager.catalog(catalog).create_database(name, database, statement.if_not_exists)
    return ok_result()


def drop_catalog(env: TableEnvironment, statement: DropStatement) -> TableResult:
    """DROP CATALOG."""
    name = statement.name.parts[0]
    env._manager.unregister(name, ignore_if_not_exists=statement.if_exists)
    return ok_result()


def drop_database(env: TableEnvironment, statement: DropStatement) -> TableResult:
    """DROP DATABASE."""
    env._manager.drop_database(
        statement.name.parts,
        ignore_if_not_exists=statement.if_exists,
        cascade=statement.cascade,
    )
    return ok_result()
