"""USE, SET, RESET, modules and jars: what a session is set to.  Next: table/table_config.py"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from headrace.common.configuration import checked_setting
from headrace.common.data_types import DataTypes
from headrace.errors import InvalidArgumentError, UnsupportedStepError
from headrace.table.catalogs.modules import MODULES
from headrace.table.table_result import TableResult, content_result, ok_result

if TYPE_CHECKING:
    from headrace.sql.statement_ast import (
        JarStatement,
        LoadModule,
        ResetStatement,
        SetStatement,
        UnloadModule,
        UseStatement,
    )
    from headrace.table.table_environment import TableEnvironment


def use(env: TableEnvironment, statement: UseStatement) -> TableResult:
    """USE."""
    if statement.kind == "MODULES":
        env.use_modules(*(name.parts[0] for name in statement.names))
        return ok_result()
    parts = statement.names[0].parts
    if statement.kind == "CATALOG":
        env.use_catalog(parts[0])
        return ok_result()
    if len(parts) == 2:
        env.use_catalog(parts[0])
    env.use_database(parts[-1])
    return ok_result()


def set_option(env: TableEnvironment, statement: SetStatement) -> TableResult:
    """SET 'key' = 'value'; SET alone lists what is set."""
    if statement.key is None:
        options = sorted(env.get_config().to_map().items())
        columns = [("key", DataTypes.STRING()), ("value", DataTypes.STRING())]
        return content_result(columns, options)
    checked_setting(statement.key, statement.value or "", "code")
    env.get_config().set(statement.key, statement.value or "")
    return ok_result()


def reset(env: TableEnvironment, statement: ResetStatement) -> TableResult:
    """RESET 'key'; RESET alone takes back everything."""
    options = env.get_config().get_configuration()
    for key in [statement.key] if statement.key is not None else list(options.key_set()):
        options.remove_config(key)
    return ok_result()


def jar(env: TableEnvironment, statement: JarStatement) -> TableResult:
    """ADD JAR, for Spark."""
    if statement.action == "REMOVE":
        raise UnsupportedStepError("REMOVE JAR is not supported", fix="start a new session")
    path = statement.path.removeprefix("file://")
    if "://" not in path and not Path(path).is_file():
        what = "a folder" if Path(path).is_dir() else "not there"
        raise InvalidArgumentError(
            f"the jar {path!r} cannot be added: it is {what}",
            fix="name a jar file, by its absolute path or by one from the working directory",
        )
    env._env.add_jars(statement.path)
    return ok_result()


def load_module(env: TableEnvironment, statement: LoadModule) -> TableResult:
    """LOAD MODULE: one that an installed package offers."""
    options = dict(statement.options)
    if "type" in options:
        raise InvalidArgumentError(
            f"Option 'type' = '{options['type']}' is not supported since module name is used to "
            "find module",
            fix=f"LOAD MODULE {options['type']}",
        )
    env.load_module(statement.name, MODULES.new(statement.name, options))
    return ok_result()


def unload_module(env: TableEnvironment, statement: UnloadModule) -> TableResult:
    """UNLOAD MODULE."""
    env.unload_module(statement.name)
    return ok_result()
