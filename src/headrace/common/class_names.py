"""Classes of the user's by name, as stored state refers to them: ``module:Class.Inner``."""

from __future__ import annotations

import importlib
import sys
from dataclasses import MISSING
from typing import TYPE_CHECKING, Any

from headrace.errors import StateError

if TYPE_CHECKING:
    from collections.abc import Callable


def name_of_class(cls: type) -> str:
    """The name under which a class is found again."""
    return f"{cls.__module__}:{cls.__qualname__}"


def class_of_name(path: str) -> Any:
    """The class of that name now; a class of the main script is looked for in this main script.

    Raises:
        StateError: there is none.
    """
    module, _, name = path.partition(":")
    try:
        found: Any = sys.modules.get(module) or importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise StateError(
            f"stored state names the class {name} of module {module}, which cannot be found",
            fix="make the class importable under this name again",
        ) from error
    return found


def default_of_field(cls: Any, name: str) -> Callable[[], Any] | None:
    """What makes the default of a field; None if it has none.

    Args:
        cls: a dataclass or a named tuple.
        name: one of its fields.
    """
    if hasattr(cls, "_field_defaults"):
        return (lambda: cls._field_defaults[name]) if name in cls._field_defaults else None
    field = cls.__dataclass_fields__[name]
    if field.default is not MISSING:
        return lambda: field.default
    return None if field.default_factory is MISSING else field.default_factory
