"""PyFlink's names that headrace does not have: they import, and say what to use when they are used.

In: missing_names.py, which scripts/parity_page.py writes from docs/parity.toml.
Out: modules and classes that stand for what is missing.  A program that names Kafka in a branch it
does not take runs; one that takes it gets an error at its line that says what to use instead.
"""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, NoReturn

__all__ = ["MissingName", "missing_attribute"]


class MissingName(type):
    """The class of classes that stand for missing names: every use of one raises."""

    reason: str

    def __new__(
        cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **_: Any
    ) -> MissingName:
        """A stand-in; raises for a class that the user derives from one."""
        for base in bases:
            if isinstance(base, MissingName):
                base._refuse()
        return super().__new__(cls, name, bases, namespace)

    def __call__(cls, *_: object, **__: object) -> NoReturn:
        """Raises."""
        cls._refuse()

    def __getattr__(cls, name: str) -> NoReturn:
        if name.startswith("_"):  # debuggers, pickle and tests ask for such names
            msg = f"{cls.__name__} has no attribute {name!r}"
            raise AttributeError(msg)
        cls._refuse()

    def _refuse(cls) -> NoReturn:
        from headrace.errors import UnsupportedStepError

        why, found, instead = cls.reason.partition("; ")
        what = f"{cls.__name__} (PyFlink's {cls.__module__.replace('headrace', 'pyflink', 1)})"
        if found:
            raise UnsupportedStepError(f"headrace has no {what}: {why}", fix=instead)
        raise UnsupportedStepError(f"headrace has no {what}", fix=why)


def _stand_in(module: str, name: str, reason: str) -> MissingName:
    content = {"__module__": module, "__doc__": f"Not in headrace: {reason}.", "reason": reason}
    return MissingName(name, (), content)


def missing_attribute(module: str, name: str) -> Any:
    """The last line of a module's ``__getattr__``: a stand-in, if PyFlink's module has the name.

    Of a module that is missing but for a few names, PyFlink's may have any name.
    """
    from headrace.missing_names import NAMES

    reason = NAMES.get(f"{module}:{name}")
    if reason is None and not name.startswith("_"):
        reason = _reason_of(module)
    if reason is None:
        msg = f"module {module!r} has no attribute {name!r}"
        raise AttributeError(msg)
    return _stand_in(module, name, reason)


class _MissingModule(ModuleType):
    """Stands for a module of PyFlink's; any name of it can be imported."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            msg = f"module {self.__name__!r} has no attribute {name!r}"
            raise AttributeError(msg)
        return _stand_in(self.__name__, name, _reason_of(self.__name__) or "")


def _reason_of(module: str) -> str | None:
    from headrace.missing_names import MODULES

    while module:
        if module in MODULES:
            return MODULES[module]
        module = module.rpartition(".")[0]
    return None


class _Finder:
    """Asked last of all, so that a module that exists is never hidden."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """A stand-in for a missing module of PyFlink's."""
        if not name.startswith("headrace.") or _reason_of(name) is None:
            return None
        return ModuleSpec(name, _MissingLoader, is_package=True)  # type: ignore[arg-type]


class _MissingLoader:
    @staticmethod
    def create_module(spec: ModuleSpec) -> ModuleType:
        """An empty module that knows why it is empty."""
        return _MissingModule(spec.name, f"Not in headrace: {_reason_of(spec.name)}.")

    @staticmethod
    def exec_module(module: ModuleType) -> None:
        """Nothing to run."""


def find_missing_modules() -> None:
    """Let imports find the modules that are missing; called once, by the package itself."""
    if _Finder not in sys.meta_path:
        sys.meta_path.append(_Finder)
