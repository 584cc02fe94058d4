"""What programs use of ``pyflink.util``: its errors.  Next: util/exceptions.py"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from headrace.missing import MissingName, missing_attribute

if TYPE_CHECKING:
    from types import ModuleType


def __getattr__(name: str) -> ModuleType | MissingName:
    if name == "exceptions":
        return importlib.import_module("headrace.util.exceptions")
    found: MissingName = missing_attribute(__name__, name)
    return found
