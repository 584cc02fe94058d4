"""``Catalog``: databases with their tables, views and functions, in memory.

In: programs and DDL.  Out: what names stand for.  A catalog that lives outside derives from it and
overrides what it keeps elsewhere.  Next: table/catalogs/partitions.py has the rest of its methods
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.errors import UnsupportedStepError
from headrace.table.catalogs import exceptions as x
from headrace.table.catalogs.names import ObjectPath
from headrace.table.catalogs.objects import CatalogDatabase
from headrace.table.catalogs.partitions import CatalogPartitions

if TYPE_CHECKING:
    from headrace.table.catalogs.objects import (
        CatalogBaseTable,
        CatalogFunction,
        CatalogModel,
        Procedure,
    )

__all__ = ["Catalog", "GenericInMemoryCatalog"]


class Catalog(CatalogPartitions):
    """Databases, tables, views and functions by name.

    Args:
        name: of the catalog, for messages.
        default_database: the database that is there from the start.
    """

    def __init__(self, name: str, default_database: str = "default") -> None:
        self._name, self._default_database = name, default_database
        self._databases: dict[str, CatalogDatabase] = {default_database: CatalogDatabase({})}
        self._tables: dict[ObjectPath, CatalogBaseTable] = {}
        self._functions: dict[ObjectPath, CatalogFunction] = {}
        self._models: dict[ObjectPath, CatalogModel] = {}
        super().__init__()

    # --- databases ---------------------------------------------------------------------------

    def get_default_database(self) -> str:
        """The database that is there from the start."""
        return self._default_database

    def list_databases(self) -> list[str]:
        """The names of all databases."""
        return list(self._databases)

    def get_database(self, database_name: str) -> CatalogDatabase:
        """A database."""
        if database_name not in self._databases:
            raise self._no_database(database_name)
        return self._databases[database_name]

    def database_exists(self, database_name: str) -> bool:
        """Whether there is a database."""
        return database_name in self._databases

    def create_database(self, name: str, database: CatalogDatabase, ignore_if_exists: bool) -> None:
        """A new database."""
        if name not in self._databases:
            self._databases[name] = database
        elif not ignore_if_exists:
            raise x.DatabaseAlreadyExistException(
                f"Database {name} already exists in Catalog {self._name}."
            )

    def drop_database(self, name: str, ignore_if_exists: bool, cascade: bool = False) -> None:
        """Remove a database.

        Args:
            name: of the database.
            ignore_if_exists: whether it is no error if there is none.
            cascade: whether its tables and functions are removed, too. Ours.
        """
        if name not in self._databases:
            if ignore_if_exists:
                return
            raise self._no_database(name)
        holders = (self._tables, self._functions, self._models)
        inside = [path for held in holders for path in held if path.get_database_name() == name]
        if inside and not cascade:
            raise x.DatabaseNotEmptyException(
                f"Database {name} in catalog {self._name} is not empty.",
                fix="drop its tables and functions first, or use CASCADE",
            )
        for path in inside:
            for held in holders:
                held.pop(path, None)
        del self._databases[name]

    def alter_database(
        self, name: str, new_database: CatalogDatabase, ignore_if_not_exists: bool
    ) -> None:
        """Put another database in a database's place; its tables stay."""
        if name in self._databases:
            self._databases[name] = new_database
        elif not ignore_if_not_exists:
            raise self._no_database(name)

    def _no_database(self, name: str) -> x.DatabaseNotExistException:
        return x.DatabaseNotExistException(
            f"Database {name} does not exist in Catalog {self._name}.",
            fix=f"there are: {', '.join(self._databases)}",
        )

    def _need_database(self, path: ObjectPath) -> None:
        self.get_database(path.get_database_name())

    # --- tables and views --------------------------------------------------------------------

    def list_tables(self, database_name: str) -> list[str]:
        """The names of all tables and views of a database."""
        self.get_database(database_name)
        return [path.get_object_name() for path in self._tables if _in(path, database_name)]

    def list_views(self, database_name: str) -> list[str]:
        """The names of all views of a database."""
        self.get_database(database_name)
        return [
            path.get_object_name()
            for path, table in self._tables.items()
            if _in(path, database_name) and table._view is not None
        ]

    def list_materialized_tables(self, database_name: str) -> list[str]:
        """None: headrace has no materialized tables."""
        self.get_database(database_name)
        return []

    def get_table(self, table_path: ObjectPath) -> CatalogBaseTable:
        """A table or view."""
        if table_path not in self._tables:
            raise self._no_table(table_path)
        return self._tables[table_path]

    def table_exists(self, table_path: ObjectPath) -> bool:
        """Whether there is a table or view."""
        return table_path in self._tables

    def drop_table(self, table_path: ObjectPath, ignore_if_not_exists: bool) -> None:
        """Remove a table or view."""
        if table_path in self._tables:
            del self._tables[table_path]
            self._forget_partitions(table_path)
        elif not ignore_if_not_exists:
            raise self._no_table(table_path)

    def rename_table(
        self, table_path: ObjectPath, new_table_name: str, ignore_if_not_exists: bool
    ) -> None:
        """Another name for a table or view, in the same database."""
        if table_path not in self._tables:
            if ignore_if_not_exists:
                return
            raise self._no_table(table_path)
        renamed = ObjectPath(table_path.get_database_name(), new_table_name)
        if renamed in self._tables:
            raise self._table_there(renamed)
        self._tables[renamed] = self._tables.pop(table_path)

    def create_table(
        self, table_path: ObjectPath, table: CatalogBaseTable, ignore_if_exists: bool
    ) -> None:
        """A new table or view."""
        self._need_database(table_path)
        if table_path not in self._tables:
            self._tables[table_path] = table
        elif not ignore_if_exists:
            raise self._table_there(table_path)

    def alter_table(
        self, table_path: ObjectPath, new_table: CatalogBaseTable, ignore_if_not_exists: bool
    ) -> None:
        """Put another table or view in its place."""
        if table_path in self._tables:
            self._tables[table_path] = new_table
        elif not ignore_if_not_exists:
            raise self._no_table(table_path)

    def _no_table(self, path: ObjectPath) -> x.TableNotExistException:
        return x.TableNotExistException(
            f"Table (or view) {path} does not exist in Catalog {self._name}."
        )

    def _table_there(self, path: ObjectPath) -> x.TableAlreadyExistException:
        return x.TableAlreadyExistException(
            f"Table (or view) {path} already exists in Catalog {self._name}."
        )

    # --- functions ---------------------------------------------------------------------------

    def list_functions(self, database_name: str) -> list[str]:
        """The names of all functions of a database."""
        self.get_database(database_name)
        return [path.get_object_name() for path in self._functions if _in(path, database_name)]

    def get_function(self, function_path: ObjectPath) -> CatalogFunction:
        """A function."""
        if function_path not in self._functions:
            raise self._no_function(function_path)
        return self._functions[function_path]

    def function_exists(self, function_path: ObjectPath) -> bool:
        """Whether there is a function."""
        return function_path in self._functions

    def create_function(
        self, function_path: ObjectPath, function: CatalogFunction, ignore_if_exists: bool
    ) -> None:
        """A new function."""
        self._need_database(function_path)
        if function_path not in self._functions:
            self._functions[function_path] = function
        elif not ignore_if_exists:
            raise x.FunctionAlreadyExistException(
                f"Function {function_path} already exists in Catalog {self._name}."
            )

    def alter_function(
        self, function_path: ObjectPath, new_function: CatalogFunction, ignore_if_not_exists: bool
    ) -> None:
        """Put another function in its place."""
        if function_path in self._functions:
            self._functions[function_path] = new_function
        elif not ignore_if_not_exists:
            raise self._no_function(function_path)

    def drop_function(self, function_path: ObjectPath, ignore_if_not_exists: bool) -> None:
        """Remove a function."""
        if function_path in self._functions:
            del self._functions[function_path]
        elif not ignore_if_not_exists:
            raise self._no_function(function_path)

    def _no_function(self, path: ObjectPath) -> x.FunctionNotExistException:
        return x.FunctionNotExistException(
            f"Function {path} does not exist in Catalog {self._name}."
        )

    def list_procedures(self, database_name: str) -> list[str]:
        """Refused: headrace has no procedures."""
        raise _no_procedures()

    def get_procedure(self, procedure_path: ObjectPath) -> Procedure:
        """Refused: headrace has no procedures."""
        raise _no_procedures()

    # --- models ------------------------------------------------------------------------------

    def list_models(self, database_name: str) -> list[str]:
        """The names of all models of a database."""
        self.get_database(database_name)
        return [path.get_object_name() for path in self._models if _in(path, database_name)]

    def get_model(self, model_path: ObjectPath) -> CatalogModel:
        """A model."""
        if model_path not in self._models:
            raise self._no_model(model_path)
        return self._models[model_path]

    def model_exists(self, model_path: ObjectPath) -> bool:
        """Whether there is a model."""
        return model_path in self._models

    def create_model(
        self, model_path: ObjectPath, model: CatalogModel, ignore_if_exists: bool
    ) -> None:
        """A new model; headrace keeps it, and runs none."""
        self._need_database(model_path)
        if model_path not in self._models:
            self._models[model_path] = model
        elif not ignore_if_exists:
            raise self._model_there(model_path)

    def alter_model(
        self, model_path: ObjectPath, new_model: CatalogModel, ignore_if_not_exists: bool
    ) -> None:
        """Put another model in its place."""
        if model_path in self._models:
            self._models[model_path] = new_model
        elif not ignore_if_not_exists:
            raise self._no_model(model_path)

    def rename_model(
        self, model_path: ObjectPath, new_model_name: str, ignore_if_not_exists: bool
    ) -> None:
        """Another name for a model, in the same database."""
        if model_path not in self._models:
            if ignore_if_not_exists:
                return
            raise self._no_model(model_path)
        renamed = ObjectPath(model_path.get_database_name(), new_model_name)
        if renamed in self._models:
            raise self._model_there(renamed)
        self._models[renamed] = self._models.pop(model_path)

    def drop_model(self, model_path: ObjectPath, ignore_if_not_exists: bool) -> None:
        """Remove a model."""
        if model_path in self._models:
            del self._models[model_path]
        elif not ignore_if_not_exists:
            raise self._no_model(model_path)

    def _no_model(self, path: ObjectPath) -> x.ModelNotExistException:
        return x.ModelNotExistException(f"Model {path} does not exist in Catalog {self._name}.")

    def _model_there(self, path: ObjectPath) -> x.ModelAlreadyExistException:
        return x.ModelAlreadyExistException(f"Model {path} already exists in Catalog {self._name}.")


class GenericInMemoryCatalog(Catalog):
    """A catalog that lives as long as the program: ``'type' = 'generic_in_memory'``."""


def _in(path: ObjectPath, database: str) -> bool:
    return path.get_database_name() == database


def _no_procedures() -> UnsupportedStepError:
    return UnsupportedStepError("headrace has no procedures", fix="call a function of Python's")
