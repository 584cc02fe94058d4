"""The methods of a table environment that are about catalogs, functions and modules.

In: the user's program.  Out: objects of catalogs.  Next: table/catalogs/manager.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from headrace.errors import ArgumentTypeError, UnsupportedStepError
from headrace.table.catalogs.factory import catalog_of
from headrace.table.catalogs.objects import (
    CatalogBaseTable,
    CatalogFunction,
    FunctionParts,
    ViewQuery,
)
from headrace.table.module import Module, ModuleEntry
from headrace.table.parsing import parsed_path
from headrace.table.schema import Schema
from headrace.table.udf import wrapped

if TYPE_CHECKING:
    from headrace.rel.nodes import Rel
    from headrace.table.catalogs.catalog import Catalog
    from headrace.table.catalogs.manager import CatalogManager
    from headrace.table.catalogs.objects import CatalogDescriptor
    from headrace.table.table import Table
    from headrace.table.table_descriptor import TableDescriptor


class CatalogMethods:
    """Catalogs, databases, tables, views, functions and modules of an environment."""

    def __init__(self, manager: CatalogManager) -> None:
        self._manager = manager

    # --- catalogs and databases --------------------------------------------------------------

    def create_catalog(self, catalog_name: str, catalog_descriptor: CatalogDescriptor) -> None:
        """A new catalog of options."""
        options = catalog_descriptor._configuration.to_dict()
        catalog = catalog_of(catalog_name, options)
        self._manager.register(catalog_name, catalog, options, catalog_descriptor._comment)

    def register_catalog(self, catalog_name: str, catalog: Catalog) -> None:
        """A new catalog that this program has made."""
        self._manager.register(catalog_name, catalog)

    def get_catalog(self, catalog_name: str) -> Catalog | None:
        """A catalog; None if there is none."""
        return self._manager.catalogs.get(catalog_name)

    def list_catalogs(self) -> list[str]:
        """The names of all catalogs."""
        return sorted(self._manager.catalogs)

    def get_current_catalog(self) -> str | None:
        """The name of the current catalog."""
        return self._manager.current_catalog

    def use_catalog(self, catalog_name: str) -> None:
        """Make a catalog the current one, and its default database."""
        self._manager.use_catalog(catalog_name)

    def get_current_database(self) -> str | None:
        """The name of the current database."""
        return self._manager.current_database

    def use_database(self, database_name: str) -> None:
        """Make a database of the current catalog the current one."""
        self._manager.use_database(database_name)

    def list_databases(self) -> list[str]:
        """The names of all databases of the current catalog."""
        name = self._manager.current_catalog
        return [] if name is None else self._manager.catalog(name).list_databases()

    # --- tables and views --------------------------------------------------------------------

    def list_tables(self) -> list[str]:
        """The names of all tables and views of the current database."""
        return self._manager.table_names()

    def list_views(self) -> list[str]:
        """The names of all views of the current database."""
        return self._manager.table_names(views_only=True)

    def list_materialized_tables(self) -> list[str]:
        """None: headrace has no materialized tables."""
        return []

    def list_temporary_tables(self) -> list[str]:
        """The names of all temporary tables and views of the current database."""
        return self._temporary(views_only=False)

    def list_temporary_views(self) -> list[str]:
        """The names of all temporary views of the current database."""
        return self._temporary(views_only=True)

    def _temporary(self, *, views_only: bool) -> list[str]:
        catalog, database = self._manager.current_catalog, self._manager.current_database
        names = self._manager.temporary_names
        return names(catalog or "", database or "", views_only=views_only)

    def create_temporary_table(
        self,
        path: str,
        descriptor: TableDescriptor,
        ignoreIfExists: bool | None = False,
    ) -> None:
        """A table for this session.

        Args:
            path: its name.
            descriptor: what it is.
            ignoreIfExists: whether it is no error if there is one.
        """
        self._create_table(path, descriptor, temporary=True, ignore=bool(ignoreIfExists))

    def create_table(
        self,
        path: str,
        descriptor: TableDescriptor,
        ignoreIfExists: bool | None = False,
    ) -> None:
        """A table of a catalog.

        Args:
            path: its name.
            descriptor: what it is.
            ignoreIfExists: whether it is no error if there is one.
        """
        self._create_table(path, descriptor, temporary=False, ignore=bool(ignoreIfExists))

    def _create_table(
        self, path: str, descriptor: TableDescriptor, *, temporary: bool, ignore: bool
    ) -> None:
        table = CatalogBaseTable(
            descriptor.get_schema() or Schema(),
            descriptor._options,
            descriptor._comment,
            descriptor._partition_keys,
        )
        self._manager.create_table(
            parsed_path(path), table, temporary=temporary, ignore_if_exists=ignore
        )

    def create_view(
        self, view_path: str, table: Table, ignore_if_exists: bool | None = False
    ) -> None:
        """A view of a catalog that shows a table of this program.

        Args:
            view_path: its name.
            table: what it shows.
            ignore_if_exists: whether it is no error if there is one.
        """
        ignore = bool(ignore_if_exists)
        self._create_view(view_path, table._rel, temporary=False, ignore_if_exists=ignore)

    def _create_view(self, path: str, rel: Rel, *, temporary: bool, ignore_if_exists: bool) -> None:
        builder = Schema.new_builder()
        for field in rel.schema:
            builder.column(field.name, field.type)
        view = CatalogBaseTable(builder.build(), {}, view=ViewQuery("", rel=rel))
        self._manager.create_table(
            parsed_path(path), view, temporary=temporary, ignore_if_exists=ignore_if_exists
        )

    def drop_temporary_table(self, table_path: str) -> bool:
        """Remove a table of this session; whether there was one."""
        return self._drop(table_path, temporary=True, view=False, ignore=True)

    def drop_temporary_view(self, view_path: str) -> bool:
        """Remove a view of this session; whether there was one."""
        return self._drop(view_path, temporary=True, view=True, ignore=True)

    def drop_table(self, table_path: str, ignore_if_not_exists: bool | None = True) -> bool:
        """Remove a table of a catalog; whether there was one."""
        return self._drop(
            table_path, temporary=False, view=False, ignore=bool(ignore_if_not_exists)
        )

    def drop_view(self, view_path: str, ignore_if_not_exists: bool | None = True) -> bool:
        """Remove a view of a catalog; whether there was one."""
        return self._drop(view_path, temporary=False, view=True, ignore=bool(ignore_if_not_exists))

    def _drop(self, path: str, *, temporary: bool, view: bool, ignore: bool) -> bool:
        return self._manager.drop_table(
            parsed_path(path), temporary=temporary, view=view, ignore_if_not_exists=ignore
        )

    # --- functions ---------------------------------------------------------------------------

    def create_temporary_system_function(self, name: str, function: Any) -> None:
        """A function for this session that needs no database.

        Args:
            name: by which SQL and `call` find it.
            function: made by udf, udtf, udaf or udtaf, or an object of an AggregateFunction.
        """
        made = _catalog_function(function)
        self._manager.create_system_function(name, made, ignore_if_exists=False)

    def drop_temporary_system_function(self, name: str) -> bool:
        """Remove such a function; whether there was one."""
        return self._manager.system_functions.pop(name.lower(), None) is not None

    def create_temporary_function(self, path: str, function: Any) -> None:
        """A function of a database for this session.

        Args:
            path: its name.
            function: made by udf, udtf, udaf or udtaf, or an object of an AggregateFunction.
        """
        self._manager.create_function(
            parsed_path(path), _catalog_function(function), temporary=True, ignore_if_exists=False
        )

    def drop_temporary_function(self, path: str) -> bool:
        """Remove such a function; whether there was one."""
        return self._manager.drop_temporary_function(parsed_path(path))

    def drop_function(self, path: str) -> bool:
        """Remove a function of a catalog; whether there was one."""
        identifier = self._manager.qualify(parsed_path(path))
        catalog = self._manager.catalog(identifier.get_catalog_name())
        if not catalog.function_exists(identifier.to_object_path()):
            return False
        catalog.drop_function(identifier.to_object_path(), ignore_if_not_exists=False)
        return True

    def create_java_temporary_system_function(self, name: str, function_class_name: str) -> None:
        """Refused: there is no JVM."""
        _no_java(function_class_name)

    def create_java_function(
        self, path: str, function_class_name: str, ignore_if_exists: bool | None = None
    ) -> None:
        """Refused: there is no JVM."""
        _no_java(function_class_name)

    def create_java_temporary_function(self, path: str, function_class_name: str) -> None:
        """Refused: there is no JVM."""
        _no_java(function_class_name)

    def list_user_defined_functions(self) -> list[str]:
        """The names of all functions of users."""
        return self._manager.user_functions()

    def list_functions(self) -> list[str]:
        """The names of all functions: those of modules (SQL's own), and those of users."""
        return sorted({*self._manager.modules.function_names(), *self._manager.user_functions()})

    # --- modules -----------------------------------------------------------------------------

    def list_modules(self) -> list[str]:
        """The modules in whose order functions are looked for."""
        return list(self._manager.modules.used)

    def list_full_modules(self) -> list[ModuleEntry]:
        """All modules that are loaded, those in use first."""
        return self._manager.modules.entries()

    def load_module(self, module_name: str, module: Module) -> None:
        """Add a set of functions behind those that are used.

        Args:
            module_name: by which USE MODULES and UNLOAD MODULE find it.
            module: a subclass of `Module`.
        """
        if not isinstance(module, Module):
            raise ArgumentTypeError(
                f"load_module takes a Module, not a {type(module).__name__}",
                fix="class Mine(Module): def list_functions(self): ...",
            )
        self._manager.modules.load(module_name, module)

    def unload_module(self, module_name: str) -> None:
        """Remove a set of functions.

        Coming from Flink: SQL's own functions stay without ``core``, but are no longer listed.
        """
        self._manager.modules.unload(module_name)

    def use_modules(self, *module_names: str) -> None:
        """Look for functions in these modules only, in this order."""
        self._manager.modules.use(*module_names)

    # --- models ------------------------------------------------------------------------------

    def list_models(self) -> list[str]:
        """The names of the models of the current database, which headrace cannot run."""
        name = self._manager.current_catalog
        database = self._manager.current_database
        if name is None or database is None:
            return []
        return self._manager.catalog(name).list_models(database)

    def list_temporary_models(self) -> list[str]:
        """None: headrace has no models."""
        return []


def _catalog_function(function: Any) -> CatalogFunction:
    wrapper = wrapped(function)
    return CatalogFunction(FunctionParts(wrapper._name, definition=wrapper._definition))


def _no_java(name: str) -> NoReturn:
    raise UnsupportedStepError(
        f"{name} is a Java class, and headrace has no JVM of its own",
        fix="write the function in Python: udf, udtf, udaf, udtaf",
    )
