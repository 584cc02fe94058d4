"""DESCRIBE FUNCTION: what a name means in a call, and with EXTENDED how it is called.

In: the name of a function.  Out: lines of names and values, with Flink's names.
Next: table/statements/showing.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.scalars.aggregate_rules import aggregate_form
from headrace.scalars.functions.registry import find
from headrace.table.catalogs import exceptions as x

if TYPE_CHECKING:
    from headrace.api.table.definitions import UserFunctionDefinition
    from headrace.table.table_environment import TableEnvironment

Path = tuple[str, ...]
Facts = list[tuple[str, str]]


def function_facts(env: TableEnvironment, path: Path, *, extended: bool) -> Facts:
    """What is known of a function of the session, of a module, or of a database, in this order."""
    manager, alone = env._manager, len(path) == 1
    of_session = alone and manager.is_system_function(path[0])
    if of_session or (alone and manager.modules.has_function(path[0])):
        shown, facts = path, [("is system function", "true"), ("is temporary", _text(of_session))]
    else:
        shown, facts = tuple(manager.qualify(path).to_list()), _facts_of_database(env, path)
    return [*facts, *_call_facts(env, path, ".".join(shown))] if extended else facts


def _facts_of_database(env: TableEnvironment, path: Path) -> Facts:
    manager = env._manager
    found = manager.find_function(path)
    if found is None:
        raise x.FunctionNotExistException(f"Function {'.'.join(path)} does not exist.")
    temporary = any(found is held for held in manager.temporary_functions.values())
    return [
        ("is system function", "false"),
        ("is temporary", _text(temporary)),
        ("class name", found.get_class_name()),
        ("function language", found.get_function_language()),
    ]


def _call_facts(env: TableEnvironment, path: Path, shown: str) -> Facts:
    definition = env._lookup.find_function(path)
    if definition is not None:
        kind, deterministic = definition.kind.upper(), definition.deterministic
        signature = _signature(definition, shown)
    elif (entry := find(path[-1])) is not None:
        kind, deterministic, signature = "SCALAR", entry.deterministic, "\n".join(entry.forms)
    else:
        kind, deterministic = "AGGREGATE", True
        signature = aggregate_form(path[-1].upper())
    return [
        ("kind", kind),
        ("is deterministic", _text(deterministic)),
        ("signature", signature),
    ]


def _signature(definition: UserFunctionDefinition, name: str) -> str:
    if definition.input_types is None:
        return f"{name}(...)"
    types = (f"arg{place} => {kind}" for place, kind in enumerate(definition.input_types))
    return f"{name}({', '.join(types)})"


def _text(value: bool) -> str:
    return str(value).lower()
