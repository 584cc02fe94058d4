"""The catalogs of a session, what is current, and temporary objects that hide permanent ones.

In: names, and objects for them.  Out: objects by name.  Next: table/catalogs/lookup.py
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.table.catalogs import exceptions as x
from headrace.table.catalogs.catalog import Catalog, GenericInMemoryCatalog
from headrace.table.catalogs.modules import LoadedModules
from headrace.table.catalogs.names import ObjectIdentifier

if TYPE_CHECKING:
    from headrace.table.catalogs.objects import CatalogBaseTable, CatalogFunction

Path = tuple[str, ...]


@dataclass(frozen=True)
class FoundTable:
    """A table or view by name."""

    identifier: ObjectIdentifier
    table: CatalogBaseTable
    temporary: bool


class CatalogManager:
    """The catalogs of a session.

    Args:
        catalog: the name of the one that is there from the start.
        database: the name of its database.
    """

    def __init__(self, catalog: str, database: str) -> None:
        self.catalogs: dict[str, Catalog] = {catalog: GenericInMemoryCatalog(catalog, database)}
        self.options: dict[str, dict[str, str]] = {catalog: {"type": "generic_in_memory"}}
        self.comments: dict[str, str | None] = {}
        self.current_catalog: str | None = catalog
        self.current_database: str | None = database
        self.temporary_tables: dict[ObjectIdentifier, CatalogBaseTable] = {}
        self.temporary_functions: dict[ObjectIdentifier, CatalogFunction] = {}
        self.system_functions: dict[str, CatalogFunction] = {}
        self.modules = LoadedModules()

    # --- catalogs ----------------------------------------------------------------------------

    def register(
        self,
        name: str,
        catalog: Catalog,
        options: dict[str, str] | None = None,
        comment: str | None = None,
    ) -> None:
        """A new catalog."""
        if name in self.catalogs:
            raise x.CatalogException(f"Catalog {name} already exists.")
        self.catalogs[name] = catalog
        self.options[name], self.comments[name] = dict(options or {}), comment

    def unregister(self, name: str, *, ignore_if_not_exists: bool) -> None:
        """Remove a catalog that is not the current one."""
        if name not in self.catalogs:
            if ignore_if_not_exists:
                return
            raise x.CatalogException(f"Catalog {name} does not exist.")
        if name == self.current_catalog:
            raise x.CatalogException(
                f"Cannot drop catalog {name}, it is currently in use.",
                fix="use another catalog first: USE CATALOG ...",
            )
        for held in (self.catalogs, self.options, self.comments):
            held.pop(name, None)

    def catalog(self, name: str) -> Catalog:
        """A catalog by name."""
        if name not in self.catalogs:
            raise x.CatalogException(
                f"A catalog with name [{name}] does not exist.",
                fix=f"there are: {', '.join(self.catalogs)}",
            )
        return self.catalogs[name]

    def use_catalog(self, name: str | None) -> None:
        """Make a catalog the current one, and its default database."""
        self.current_database = None if name is None else self.catalog(name).get_default_database()
        self.current_catalog = name

    def use_database(self, name: str | None) -> None:
        """Make a database of the current catalog the current one."""
        if name is not None:
            catalog = self.catalog(self._current("catalog", self.current_catalog))
            if not catalog.database_exists(name):
                raise x.CatalogException(
                    f"A database with name [{name}] does not exist in the catalog: "
                    f"[{self.current_catalog}].",
                    fix=f"there are: {', '.join(catalog.list_databases())}",
                )
        self.current_database = name

    def drop_database(self, path: Path, *, ignore_if_not_exists: bool, cascade: bool) -> None:
        """Remove a database that is not the current one."""
        catalog, name = self.database_path(path)
        if (catalog, name) == (self.current_catalog, self.current_database):
            raise x.CatalogException(
                f"Cannot drop the database {name}, it is currently in use.",
                fix="use another database first: USE ...",
            )
        self.catalog(catalog).drop_database(name, ignore_if_not_exists, cascade)

    def _current(self, what: str, name: str | None) -> str:
        if name is None:
            raise x.CatalogException(
                f"there is no current {what}", fix=f"choose one: use_{what}, or use a full name"
            )
        return name

    # --- names -------------------------------------------------------------------------------

    def qualify(self, path: Path) -> ObjectIdentifier:
        """A name with its catalog and database."""
        if len(path) == 3:
            return ObjectIdentifier(*path)
        if len(path) > 3:
            raise x.CatalogException(f"{'.'.join(path)} has more than three parts")
        catalog = self._current("catalog", self.current_catalog)
        if len(path) == 2:
            return ObjectIdentifier(catalog, *path)
        return ObjectIdentifier(catalog, self._current("database", self.current_database), *path)

    def database_path(self, path: Path) -> tuple[str, str]:
        """Catalog and database of a database's name."""
        if len(path) == 2:
            return path[0], path[1]
        return self._current("catalog", self.current_catalog), path[0]

    # --- tables ------------------------------------------------------------------------------

    def find(self, path: Path) -> FoundTable | None:
        """A table or view; a temporary one hides a permanent one."""
        identifier = self.qualify(path)
        table = self.temporary_tables.get(identifier)
        if table is not None:
            return FoundTable(identifier, table, temporary=True)
        catalog = self.catalogs.get(identifier.get_catalog_name())
        if catalog is None or not catalog.table_exists(identifier.to_object_path()):
            return None
        table = catalog.get_table(identifier.to_object_path())
        return FoundTable(identifier, table, temporary=False)

    def need(self, path: Path) -> FoundTable:
        """The same, if it is there."""
        found = self.find(path)
        if found is None:
            name = self.qualify(path)
            near = difflib.get_close_matches(name.get_object_name(), self.table_names(), n=3)
            fix = f"did you mean {' or '.join(near)}?" if near else _listed(self.table_names())
            raise x.TableNotExistException(f"Table {name} was not found.", fix=fix)
        return found

    def create_table(
        self, path: Path, table: CatalogBaseTable, *, temporary: bool, ignore_if_exists: bool
    ) -> None:
        """A new table or view."""
        identifier = self.qualify(path)
        if not temporary:
            catalog = self.catalog(identifier.get_catalog_name())
            try:
                catalog.create_table(identifier.to_object_path(), table, ignore_if_exists)
            except x.CatalogException as error:
                raise type(error)(
                    f"Could not execute CreateTable in path {identifier}: {error.message}",
                    fix=error.fix,
                ) from error
            return
        if identifier in self.temporary_tables:
            if ignore_if_exists:
                return
            raise x.TableAlreadyExistException(f"Temporary table '{identifier}' already exists")
        self.temporary_tables[identifier] = table

    def put_table(self, found: FoundTable, table: CatalogBaseTable) -> None:
        """Another table in place of one."""
        if found.temporary:
            self.temporary_tables[found.identifier] = table
            return
        catalog = self.catalog(found.identifier.get_catalog_name())
        catalog.alter_table(found.identifier.to_object_path(), table, ignore_if_not_exists=False)

    def drop_table(
        self, path: Path, *, temporary: bool, view: bool, ignore_if_not_exists: bool
    ) -> bool:
        """Remove a table or view; whether there was one."""
        word = "view" if view else "table"
        identifier = self.qualify(path)
        held = self.temporary_tables.get(identifier)
        if temporary:
            if held is None or (held._view is not None) != view:
                if ignore_if_not_exists:
                    return False
                raise x.TableNotExistException(
                    f"Temporary {word} with identifier '{identifier.as_summary_string()}' "
                    "does not exist."
                )
            del self.temporary_tables[identifier]
            return True
        if held is not None and (held._view is not None) == view:
            raise x.CatalogException(
                f"Temporary {word} with identifier '{identifier}' exists. "
                f"Drop it first before removing the permanent {word}.",
                fix=f"drop the temporary one: DROP TEMPORARY {word.upper()} ...",
            )
        return self._drop_permanent(identifier, word, ignore_if_not_exists=ignore_if_not_exists)

    def _drop_permanent(
        self, identifier: ObjectIdentifier, word: str, *, ignore_if_not_exists: bool
    ) -> bool:
        catalog = self.catalogs.get(identifier.get_catalog_name())
        path = identifier.to_object_path()
        found = catalog is not None and catalog.table_exists(path)
        if found and (catalog.get_table(path)._view is not None) == (word == "view"):  # type: ignore[union-attr]
            assert catalog is not None
            catalog.drop_table(path, ignore_if_not_exists=False)
            return True
        if ignore_if_not_exists:
            return False
        raise x.TableNotExistException(
            f"{word.capitalize()} with identifier '{identifier.as_summary_string()}' "
            "does not exist."
        )

    def table_names(
        self, catalog: str | None = None, database: str | None = None, *, views_only: bool = False
    ) -> list[str]:
        """The names of all tables and views of a database, temporary ones included."""
        catalog = catalog or self.current_catalog or ""
        database = database or self.current_database or ""
        found = set(self.temporary_names(catalog, database, views_only=views_only))
        known = self.catalogs.get(catalog)
        if known is not None and known.database_exists(database):
            names = known.list_views(database) if views_only else known.list_tables(database)
            found |= set(names)
        return sorted(found)

    def temporary_names(
        self, catalog: str, database: str, *, views_only: bool = False
    ) -> list[str]:
        """The names of the temporary tables and views of a database."""
        return sorted(
            identifier.get_object_name()
            for identifier, table in self.temporary_tables.items()
            if identifier.to_list()[:2] == [catalog, database]
            and (table._view is not None or not views_only)
        )

    # --- functions ---------------------------------------------------------------------------

    def is_system_function(self, name: str) -> bool:
        """Whether there is a temporary system function of this name."""
        return name.lower() in self.system_functions

    def find_function(self, path: Path) -> CatalogFunction | None:
        """A function of the user."""
        if len(path) == 1 and path[0].lower() in self.system_functions:
            return self.system_functions[path[0].lower()]
        if self.current_catalog is None or self.current_database is None:
            return None
        identifier = self.qualify(path)
        for held, function in self.temporary_functions.items():
            if _same(held, identifier):
                return function
        catalog = self.catalogs.get(identifier.get_catalog_name())
        database = identifier.get_database_name()
        if catalog is None or not catalog.database_exists(database):
            return None
        for name in catalog.list_functions(database):
            if name.lower() == identifier.get_object_name().lower():
                found = ObjectIdentifier(identifier.get_catalog_name(), database, name)
                return catalog.get_function(found.to_object_path())
        return None

    def create_function(
        self, path: Path, function: CatalogFunction, *, temporary: bool, ignore_if_exists: bool
    ) -> None:
        """A new function of a database."""
        identifier = self.qualify(path)
        if not temporary:
            catalog = self.catalog(identifier.get_catalog_name())
            catalog.create_function(identifier.to_object_path(), function, ignore_if_exists)
            return
        if identifier in self.temporary_functions and not ignore_if_exists:
            raise x.FunctionAlreadyExistException(
                f"Temporary catalog function {identifier} is already defined"
            )
        self.temporary_functions.setdefault(identifier, function)

    def create_system_function(
        self, name: str, function: CatalogFunction, *, ignore_if_exists: bool
    ) -> None:
        """A new function that needs no database."""
        if name.lower() in self.system_functions and not ignore_if_exists:
            raise x.FunctionAlreadyExistException(
                f"Temporary system function {name} is already defined."
            )
        self.system_functions.setdefault(name.lower(), function)

    def drop_temporary_function(self, path: Path) -> bool:
        """Remove a temporary function; whether there was one."""
        wanted = self.qualify(path)
        found = [held for held in self.temporary_functions if _same(held, wanted)]
        for held in found:
            del self.temporary_functions[held]
        return bool(found)

    def user_functions(self, catalog: str | None = None, database: str | None = None) -> list[str]:
        """The names of all functions of users that a database sees; the current one by default.

        A name stands there twice if both the session and the database have it.
        """
        catalog, database = catalog or self.current_catalog, database or self.current_database
        found = {
            held.get_object_name()
            for held in self.temporary_functions
            if held.to_list()[:2] == [catalog, database]
        }
        known = self.catalogs.get(catalog or "")
        if known is not None and known.database_exists(database or ""):
            found |= set(known.list_functions(database or ""))
        return sorted([*self.system_functions, *found])


def _same(one: ObjectIdentifier, other: ObjectIdentifier) -> bool:
    """Names of functions mean the same in any case."""
    mine, theirs = one.to_list(), other.to_list()
    return mine[:2] == theirs[:2] and mine[2].lower() == theirs[2].lower()


def _listed(names: list[str]) -> str:
    return f"there are: {', '.join(names[:20])}" if names else "create it: CREATE TABLE ..."
