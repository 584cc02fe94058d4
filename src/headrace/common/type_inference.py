"""Reads record types from Python type hints.

In: a hint, or a function and the name of its method.  Out: a ``TypeInformation``, or None when the
hint says too little; the stream is then pickled.  Next: data/codec.py

A hint is used only where the decoded record equals the original: ``tuple[int, ...]`` would come
back as a list, so it gives None. ``Annotated[datetime, Types.TIMESTAMP_LTZ()]`` overrides the rule.
"""

from __future__ import annotations

import collections.abc
import dataclasses
import datetime
import decimal
import inspect
import types
import typing
from typing import Any

from headrace.common.time import Instant
from headrace.common.typeinfo import ClassTypeInfo, TypeInformation, Types

if typing.TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["infer_type", "return_type_of"]

_SIMPLE: dict[Any, Callable[[], TypeInformation]] = {
    bool: Types.BOOLEAN,
    int: Types.LONG,
    float: Types.DOUBLE,
    str: Types.STRING,
    bytes: lambda: Types.PRIMITIVE_ARRAY(Types.BYTE()),
    decimal.Decimal: Types.BIG_DEC,
    datetime.date: Types.SQL_DATE,
    datetime.time: Types.SQL_TIME,
    datetime.datetime: Types.SQL_TIMESTAMP,
    Instant: Types.INSTANT,
}

_ELEMENT_PROVIDERS = (
    collections.abc.Iterator,
    collections.abc.Iterable,
    collections.abc.Generator,
    collections.abc.Sequence,
    collections.abc.Collection,
    list,
    set,
    frozenset,
)

# The method of a Function object that produces records, in the order in which to look.
_PRODUCERS: tuple[tuple[str, ...], ...] = (
    ("map",),
    ("flat_map",),
    ("process_element", "process_broadcast_element"),
    ("process_element",),
    ("process_element1", "process_element2"),
    ("map1", "map2"),
    ("flat_map1", "flat_map2"),
    ("process",),
    ("apply",),
    ("get_result",),
    ("reduce",),
    ("get_key",),
    ("async_invoke",),
)


def infer_type(hint: Any) -> TypeInformation | None:
    """The type that a hint describes.

    Args:
        hint: ``int``, ``tuple[int, str]``, ``Optional[float]``, a dataclass, a ``Types`` value, ...

    Returns:
        The type, or None when records are better pickled (``Any``, unions, unknown classes).
    """
    return _infer(hint, ())


def return_type_of(
    function: Any, method: str | None = None, *, elements: bool = False
) -> TypeInformation | None:
    """The type of the records that a function's return hint announces.

    Args:
        function: a callable, or a Function object such as a MapFunction.
        method: the method of the Function object to look at; found by itself if None.
        elements: look through ``Iterator[X]``, ``Iterable[X]``, ``Generator[X, ...]`` and
            ``list[X]`` for X, as flat_map and process functions need.

    Returns:
        The type, or None without a (usable) hint. Lambdas have none.
    """
    hints = [_return_hint(candidate) for candidate in _producers(function, method)]
    if elements:
        hints = [_element_hint(hint) for hint in hints]
    found = [infer_type(hint) for hint in hints]
    first = found[0] if found else None
    return first if all(_same(first, other) for other in found) else None


def _same(one: TypeInformation | None, other: TypeInformation | None) -> bool:
    return one == other and repr(one) == repr(other)


def _producers(function: Any, method: str | None) -> list[Any]:
    if method is not None:
        candidate = getattr(function, method, None)
        return [] if candidate is None else [candidate]
    if inspect.isroutine(function):
        return [function]
    for names in _PRODUCERS:
        if all(callable(getattr(function, name, None)) for name in names):
            return [getattr(function, name) for name in names]
    if isinstance(function, type):
        return []
    call = getattr(function, "func", None)  # of a functools.partial
    return [call or type(function).__call__] if callable(function) else []


def _return_hint(function: Any) -> Any:
    function = inspect.unwrap(function) if callable(function) else function
    annotation = getattr(function, "__annotations__", {}).get("return", None)
    if annotation is None:
        return None
    try:
        return typing.get_type_hints(function, include_extras=True).get("return")
    except (NameError, TypeError, AttributeError, SyntaxError):
        # A name that exists only for type checkers, or another argument's broken hint.
        return annotation if not isinstance(annotation, str) else None


def _element_hint(hint: Any) -> Any:
    hint = _strip(hint)
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        # A flat_map may also return None for "no records".
        rest = [arg for arg in args if arg is not types.NoneType]
        return _element_hint(rest[0]) if len(rest) == 1 else None
    if origin in _ELEMENT_PROVIDERS and args:
        return args[0]
    if origin is tuple and len(args) == 2 and args[1] is Ellipsis:
        return args[0]
    return None


def _strip(hint: Any) -> Any:
    """Look through NewType, type aliases and Final/ClassVar-like wrappers."""
    while True:
        if isinstance(hint, typing.NewType):
            hint = hint.__supertype__
        elif type(hint).__name__ == "TypeAliasType":
            hint = hint.__value__
        elif typing.get_origin(hint) in (typing.Required, typing.Final):
            hint = typing.get_args(hint)[0]
        else:
            return hint


def _infer(hint: Any, parents: tuple[Any, ...]) -> TypeInformation | None:
    hint = _strip(hint)
    if hint is None or isinstance(hint, TypeInformation):
        return hint
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        declared = [extra for extra in hint.__metadata__ if isinstance(extra, TypeInformation)]
        return declared[0] if declared else _infer(args[0], parents)
    if origin in (typing.Union, types.UnionType):
        rest = [arg for arg in args if arg is not types.NoneType]
        return _infer(rest[0], parents) if len(rest) == 1 else None
    if origin is typing.Literal:
        kinds = {type(value) for value in args} - {types.NoneType}
        return _infer(kinds.pop(), parents) if len(kinds) == 1 else None
    if origin is tuple:
        if not args or Ellipsis in args:
            return None
        return Types.TUPLE([_field(arg, parents) for arg in args])
    if origin is list:
        return Types.LIST(_field(args[0], parents))
    if origin is dict:
        return _map_type(args, parents)
    if isinstance(hint, type):
        simple = _SIMPLE.get(hint)
        return simple() if simple else _class_type(hint, parents)
    return None


def _field(hint: Any, parents: tuple[Any, ...]) -> TypeInformation:
    """The type of a part; a part that says too little is pickled in its own column."""
    return _infer(hint, parents) or Types.PICKLED_BYTE_ARRAY()


def _map_type(args: tuple[Any, ...], parents: tuple[Any, ...]) -> TypeInformation | None:
    # Arrow maps cannot have null keys, and pickled keys lose their equality: pickle the whole.
    key = None if type(None) in typing.get_args(args[0]) else _infer(args[0], parents)
    return None if key is None else Types.MAP(key, _field(args[1], parents))


def _class_type(cls: type, parents: tuple[Any, ...]) -> TypeInformation | None:
    flavour: ClassTypeInfo.Flavour
    if dataclasses.is_dataclass(cls):
        names, flavour = [field.name for field in dataclasses.fields(cls)], "dataclass"
    elif issubclass(cls, tuple) and hasattr(cls, "_fields") and hasattr(cls, "_make"):
        names, flavour = list(cls._fields), "namedtuple"
    elif typing.is_typeddict(cls):
        names, flavour = list(cls.__annotations__), "typeddict"
    else:
        return None
    if not names or cls in parents:
        return None  # a class that contains itself has no finite schema
    try:
        hints = typing.get_type_hints(cls, include_extras=True)
    except (NameError, TypeError, AttributeError, SyntaxError):
        return None
    if flavour == "typeddict":
        # Under `from __future__ import annotations` __optional_keys__ misses NotRequired.
        names = list(hints)
        if cls.__optional_keys__ or any(_is_not_required(hint) for hint in hints.values()):  # type: ignore[attr-defined]
            return None
    inner = (*parents, cls)
    return ClassTypeInfo(cls, flavour, [_field(hints.get(n), inner) for n in names], names)


def _is_not_required(hint: Any) -> bool:
    return typing.get_origin(hint) is typing.NotRequired
