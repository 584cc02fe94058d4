"""Records as bytes when they have no Arrow type, classes of the user's own script included.

A class of the main script is known to other processes only by value.  `UserCode` takes all of them
along to the workers, so that plain pickle finds them there at full speed; what it still cannot find
(a class inside a function) is pickled by value.
"""

from __future__ import annotations

import contextlib
import io
import pickle
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import cloudpickle

from headrace.errors import UnserializableRecordError

if TYPE_CHECKING:
    from collections.abc import Iterator

# Where classes that checkpoints may hold were before; savepoints hold none of headrace's own.
_MOVED = {"headrace.datastream.window.": "headrace.api.window."}


def loads(content: Any) -> Any:
    """What `dumps` made bytes of, also in earlier versions.

    Raises:
        UnserializableRecordError: what makes the user's object again is not here, or raises.
    """
    try:
        return pickle.loads(content)
    except (ModuleNotFoundError, AttributeError):
        return _loaded_slowly(content)
    except (pickle.UnpicklingError, EOFError):
        raise  # no object of the user's is at fault
    except Exception as error:
        raise _not_made_again(error) from error


def _loaded_slowly(content: Any) -> Any:
    try:
        return _OfEarlierVersion(io.BytesIO(content)).load()
    except Exception as error:
        raise _not_made_again(error) from error


def _not_made_again(error: Exception) -> UnserializableRecordError:
    return UnserializableRecordError(
        "an object cannot be made again from the bytes that another process wrote: "
        f"{type(error).__name__}: {error}",
        fix="classes of the program travel to the workers, functions do not: let __reduce__ name "
        "the class itself, or put the function that it names into a module that workers can "
        "import (python.files, or a file beside the program)",
    )


class _OfEarlierVersion(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        for before, now in _MOVED.items():
            if module.startswith(before):
                module = now + module.removeprefix(before)
        return super().find_class(module, name)


def dumps(content: Any) -> bytes:
    """Pickle with C speed where possible, by value where needed."""
    try:
        return pickle.dumps(content, 5)
    except Exception:  # __reduce__ and __getstate__ are the user's, and may raise anything
        return _by_value(content)


def _by_value(content: Any) -> bytes:
    try:
        return bytes(cloudpickle.dumps(content, 5))
    except Exception as error:
        raise UnserializableRecordError(
            f"records cannot leave this process: {error}",
            fix="map the records to plain values (numbers, text, dicts, rows) first",
        ) from error


@dataclass(frozen=True, slots=True)
class UserCode:
    """What lets a worker find the user's modules and classes; travels with what needs them."""

    path: tuple[str, ...]  # the driver's sys.path
    classes: tuple[bytes, ...]  # of the user's script itself, which workers cannot import

    @staticmethod
    def of_driver() -> UserCode:
        """What this process can import, and what its script or notebook defines."""
        return UserCode(tuple(sys.path), tuple(_main_classes()))

    def adopt(self) -> None:
        """Let this process import what the driver can, and know the classes of its script."""
        sys.path.extend(entry for entry in self.path if entry not in sys.path)
        main = sys.modules["__main__"]
        for content in self.classes:
            cls = pickle.loads(content)
            if not hasattr(main, cls.__name__):
                setattr(main, cls.__name__, cls)


def _main_classes() -> Iterator[bytes]:
    main = sys.modules.get("__main__")
    for thing in list(vars(main).values()) if main is not None else ():
        if isinstance(thing, type) and thing.__module__ == "__main__":
            with contextlib.suppress(Exception):  # what cannot travel may not be needed
                yield bytes(cloudpickle.dumps(thing))
