"""CREATE, ALTER and DROP FUNCTION.  Next: table/catalogs/lookup.py imports functions by name"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.errors import InvalidArgumentError, UnsupportedStepError
from headrace.io.importing import make_importable
from headrace.table.catalogs import exceptions as x
from headrace.table.catalogs.lookup import definition_of
from headrace.table.catalogs.objects import CatalogFunction, FunctionParts
from headrace.table.table_result import TableResult, ok_result

if TYPE_CHECKING:
    from headrace.sql.ddl_ast import AlterFunction, CreateFunction, DropStatement
    from headrace.table.table_environment import TableEnvironment


def _function(statement: CreateFunction | AlterFunction) -> CatalogFunction:
    language = statement.language or "JAVA"
    options = getattr(statement, "options", ())
    if language != "PYTHON":
        raise UnsupportedStepError(
            f"{statement.class_name} is a function of {language.capitalize()}, and headrace has "
            "no JVM of its own",
            fix="write it in Python: CREATE FUNCTION f AS 'module.name' LANGUAGE PYTHON",
        )
    return CatalogFunction(FunctionParts(statement.class_name, language, tuple(options)))


def _checked(env: TableEnvironment, function: CatalogFunction) -> CatalogFunction:
    """The function, once its module was imported and has it; Flink finds out at its first use."""
    make_importable(env.get_config().get("python.files", ""))
    definition_of(function)
    return function


def create_function(env: TableEnvironment, statement: CreateFunction) -> TableResult:
    """CREATE [TEMPORARY [SYSTEM]] FUNCTION."""
    if statement.resources:
        raise UnsupportedStepError(
            "USING JAR is not supported: functions are written in Python",
            fix="add_python_file(path) sends a module to the workers",
        )
    function, manager = _checked(env, _function(statement)), env._manager
    if statement.system:
        name = statement.name.parts[-1]
        manager.create_system_function(name, function, ignore_if_exists=statement.if_not_exists)
        return ok_result()
    manager.create_function(
        statement.name.parts,
        function,
        temporary=statement.temporary,
        ignore_if_exists=statement.if_not_exists,
    )
    return ok_result()


def alter_function(env: TableEnvironment, statement: AlterFunction) -> TableResult:
    """ALTER FUNCTION."""
    if statement.temporary:
        raise InvalidArgumentError("Alter temporary catalog function is not supported")
    identifier = env._manager.qualify(statement.name.parts)
    catalog = env._manager.catalog(identifier.get_catalog_name())
    path = identifier.to_object_path()
    catalog.alter_function(path, _checked(env, _function(statement)), statement.if_exists)
    return ok_result()


def drop_function(env: TableEnvironment, statement: DropStatement) -> TableResult:
    """DROP [TEMPORARY [SYSTEM]] FUNCTION."""
    name = ".".join(statement.name.parts)
    if statement.system:
        found = env.drop_temporary_system_function(statement.name.parts[-1])
        what = "temporary system"
    elif statement.temporary:
        found = env._manager.drop_temporary_function(statement.name.parts)
        what = "temporary catalog"
    else:
        identifier = env._manager.qualify(statement.name.parts)
        catalog = env._manager.catalog(identifier.get_catalog_name())
        catalog.drop_function(identifier.to_object_path(), statement.if_exists)
        return ok_result()
    if not found and not statement.if_exists:
        raise x.FunctionNotExistException(
            f"Could not drop {what} function. A function named '{name}' doesn't exist."
        )
    return ok_result()
