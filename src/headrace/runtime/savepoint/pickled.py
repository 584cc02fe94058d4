"""Reads the pickles of a savepoint without letting it run code of its choice.

A savepoint can come from somebody else, and a pickle may name any function to be called while it is
read.  Only instances of the user's classes are pickled there (portable.py), so only what such
instances need is let through: classes, the user's own functions, and a short list of helpers that
Python and numpy use to rebuild values.

In: bytes of a savepoint.  Out: the value, or a StateError.
"""

from __future__ import annotations

import io
import pickle
import site
import sys
import sysconfig
from functools import cache
from pathlib import Path
from typing import Any

from headrace.errors import StateError

# Of the standard library: values, and how they are rebuilt.  Nothing here opens, runs or imports.
_HELPERS: dict[str, frozenset[str]] = {
    "array": frozenset({"array", "_array_reconstructor"}),
    "builtins": frozenset({
        "Ellipsis", "Exception", "KeyError", "NotImplemented", "TypeError", "ValueError", "bool",
        "bytearray", "bytes", "complex", "dict", "float", "frozenset", "int", "list", "object",
        "range", "set", "slice", "str", "tuple",
    }),
    "collections": frozenset({"ChainMap", "Counter", "OrderedDict", "defaultdict", "deque"}),
    "copyreg": frozenset({"_reconstructor", "__newobj__"}),
    "datetime": frozenset({"date", "datetime", "time", "timedelta", "timezone", "tzinfo"}),
    "decimal": frozenset({"Decimal"}),
    "fractions": frozenset({"Fraction"}),
    "ipaddress": frozenset({
        "IPv4Address", "IPv4Interface", "IPv4Network", "IPv6Address", "IPv6Interface",
        "IPv6Network",
    }),
    "numpy": frozenset({"dtype", "ndarray"}),
    "numpy._core.multiarray": frozenset({"_reconstruct", "scalar"}),
    "numpy._core.numeric": frozenset({"_frombuffer"}),
    "numpy.core.multiarray": frozenset({"_reconstruct", "scalar"}),
    "numpy.core.numeric": frozenset({"_frombuffer"}),
    "pandas._libs.tslibs.timedeltas": frozenset({"_timedelta_unpickle"}),
    "pandas._libs.tslibs.timestamps": frozenset({"_unpickle_timestamp"}),
    "pathlib": frozenset({"Path", "PosixPath", "PurePosixPath", "PureWindowsPath"}),
    "re": frozenset({"_compile"}),
    "types": frozenset({"SimpleNamespace"}),
    "uuid": frozenset({"SafeUUID", "UUID"}),
    "zoneinfo": frozenset({"ZoneInfo", "ZoneInfo._unpickle"}),
}  # fmt: skip


def load_pickle(content: bytes) -> Any:
    """The value in a pickle.

    Raises:
        StateError: it names something that no value needs.
    """
    return _CarefulUnpickler(io.BytesIO(content)).load()


class _CarefulUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        """What a pickle names."""
        if name in _HELPERS.get(module, ()):
            return super().find_class(module, name)
        root = module.partition(".")[0]
        if root in sys.stdlib_module_names and module != "__main__":
            raise _refused(module, name)
        found = super().find_class(module, name)
        # a function of an installed package can do anything; a class of one is what state holds
        if not isinstance(found, type) and _is_installed(root):
            raise _refused(module, name)
        # ... unless it was only imported there: subprocess.Popen by way of a user's module
        if getattr(found, "__module__", module).partition(".")[0] in sys.stdlib_module_names - {
            "__main__"
        }:
            raise _refused(module, name)
        return found


@cache
def _is_installed(package: str) -> bool:
    """Whether a package is Python's or was installed, and so not the user's program."""
    file = getattr(sys.modules.get(package), "__file__", None)
    if file is None:
        return package not in sys.modules
    folders = [*site.getsitepackages(), site.getusersitepackages(), sysconfig.get_path("stdlib")]
    return any(Path(file).is_relative_to(folder) for folder in folders)


def _refused(module: str, name: str) -> StateError:
    return StateError(
        f"the savepoint names {module}.{name}, which reading a value of state must not call",
        where="savepoint",
        fix="do not use a savepoint of unknown origin; if it is yours, keep the value as a "
        "dataclass or in plain types: they are stored by field, without pickle",
    )
