"""Refuses arguments that cannot work at the line that passes them, not hours later in a worker.

In: what a user passed to a method of a stream.  Out: nothing, or an ArgumentTypeError.
A function is whatever can be called, or has the method that the step calls.
"""

from __future__ import annotations

import difflib
import inspect
from typing import TYPE_CHECKING, Any

from headrace.api.functions import Function
from headrace.common.typeinfo import (
    BasicTypeInfo,
    InstantTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
)
from headrace.errors import ArgumentTypeError, InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.common.opaque import UserFunction
    from headrace.datastream.data_stream import DataStream

# Which method of a stream takes a function object that has this method.
_TAKEN_BY = {
    "map": "map",
    "flat_map": "flat_map",
    "filter": "filter",
    "reduce": "reduce",
    "process_element": "process",
    "map1": "connect(...).map",
    "flat_map1": "connect(...).flat_map",
    "process_element1": "connect(...).process",
    "get_result": "window(...).aggregate",
    "invoke": "add_sink",
    "async_invoke": "AsyncDataStream.ordered_wait",
}


def check_function(call: str, function: UserFunction, kind: str, *methods: str) -> None:
    """A step can call what it was given: it has one of `methods`, or is a function itself.

    Args:
        call: the method of the stream, such as ``map``.
        function: what the user passed.
        kind: the class that objects with such a method have, such as ``MapFunction``.
        methods: the methods to look for.
    """
    if isinstance(function, type) and issubclass(function, Function):
        raise ArgumentTypeError(
            f"{call} got the class {function.__name__}, not an object of it",
            fix=f"{call}({function.__name__}())",
        )
    if callable(function) or any(callable(getattr(function, name, None)) for name in methods):
        return
    other = next((by for name, by in _TAKEN_BY.items() if hasattr(function, name)), None)
    raise ArgumentTypeError(
        f"{call} expects a function or {_a(kind)}, not {described(function)}",
        fix=f"pass such an object to {other}"
        if other is not None
        else f"pass a function, or an object of a class derived from {kind}",
    )


def check_methods(call: str, function: UserFunction, kind: str, *methods: str) -> None:
    """An object has all of `methods`: a plain function could not stand for it."""
    missing = [name for name in methods if not callable(getattr(function, name, None))]
    if isinstance(function, type) or missing:
        what = f"the class {function.__name__}" if isinstance(function, type) else None
        raise ArgumentTypeError(
            f"{call} expects {_a(kind)}, not {what or described(function)}",
            fix=f"pass an object of a class derived from {kind}",
        )


def check_instance(call: str, value: Any, kind: type, example: str) -> None:
    """An argument is an object of a class.

    Args:
        call: the method of the stream.
        value: what the user passed.
        kind: the class.
        example: a call that works.
    """
    if not isinstance(value, kind):
        what = f"the class {value.__name__}" if isinstance(value, type) else described(value)
        raise ArgumentTypeError(f"{call} expects {_a(kind.__name__)}, not {what}", fix=example)


def check_text(call: str, value: Any) -> str:
    """A name or uid is text."""
    if not isinstance(value, str):
        raise ArgumentTypeError(
            f"{call} expects text, not {described(value)}", fix=f"{call}('a-name')"
        )
    return value


def check_positive(call: str, value: Any) -> int:
    """A parallelism is a whole number from 1."""
    if not isinstance(value, int) or value < 1:
        raise InvalidArgumentError(
            f"{call} expects a positive number, not {described(value)}", fix=f"{call}(2)"
        )
    return value


def check_field(call: str, field: Any, stream: DataStream) -> int | str:
    """A field is a position or a name that the declared type of the stream has.

    A type that was only guessed from hints binds no one, so it refuses nothing.

    Returns:
        The field as records know it: tuples know the names of their type by position only.
    """
    if not isinstance(field, int | str):
        raise ArgumentTypeError(
            f"{call} expects the position or the name of a field, not {described(field)}",
            fix=f"for instance {call}(0) or {call}('amount')",
        )
    if any(origin.step.inferred or origin.step.kind == "select" for origin in stream._origins):
        return field
    record = stream.get_type()
    if isinstance(record, BasicTypeInfo) and not isinstance(record, InstantTypeInfo):
        if field != 0 or call == "key_by":
            raise _no_field(call, field, record, "map the records to tuples or rows first")
    elif isinstance(record, TupleTypeInfo | RowTypeInfo):
        names: list[str] = list(record.get_field_names())
        if isinstance(field, int):
            known = -len(names) <= field < len(names)
        else:
            known = field in names or hasattr(getattr(record, "record_class", None), field)
        if not known:
            near = difflib.get_close_matches(str(field), names, n=1)
            fix = f"did you mean {near[0]!r}?" if near else f"use one of {', '.join(names)}"
            raise _no_field(call, field, record, fix)
        if isinstance(record, TupleTypeInfo) and isinstance(field, str):
            return names.index(field)
    found: int | str = field
    return found


def check_key_of_first(field: Any, selector: Callable[[Any], Any], stream: DataStream) -> None:
    """A list in the program shows its records, so a field that they lack is found here."""
    source = stream._origins[0].step.source
    if source is None or not isinstance(field, int | str):
        return
    for record in source.first_records():
        try:
            selector(record)
        except Exception as error:
            raise InvalidArgumentError(
                f"key_by asks for field {field!r}, which {described(record)} does not have",
                fix="key_by(lambda record: ...), or map the records to rows with named fields",
            ) from error


def _no_field(call: str, field: Any, record: Any, fix: str) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"{call} asks for field {field!r}, which records of type {record} do not have", fix=fix
    )


def described(value: Any) -> str:
    """A value as a message names it: plain values as they are, objects by their class."""
    if value is None:
        return "None"
    if inspect.isroutine(value):
        return f"the function {value.__name__}"
    if isinstance(value, int | float | str | bytes | list | tuple | dict | set):
        return f"{value!r:.60} ({type(value).__name__})"
    return f"an object of class {type(value).__name__}"


def _a(noun: str) -> str:
    return f"an {noun}" if noun[0] in "AEIO" else f"a {noun}"
