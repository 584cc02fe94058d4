"""Checks what a join says about its two streams: one environment, keys that can be equal.

Next: datastream/joined_streams.py and datastream/interval_join.py ask.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.common.call_site import call_site
from headrace.common.type_inference import return_type_of
from headrace.common.typeinfo import (
    BasicType,
    BasicTypeInfo,
    PickledBytesTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
    TypeInformation,
)
from headrace.datastream.arguments import check_instance
from headrace.datastream.stream_builder import as_type
from headrace.errors import InvalidArgumentError

if TYPE_CHECKING:
    from headrace.common.opaque import DeclaredType
    from headrace.datastream.data_stream import DataStream
    from headrace.runtime.key_selectors import Keying

# Python has one kind of int and of float: these keys can be equal though Java's could not.
_KINDS = {
    BasicType.BYTE: "int",
    BasicType.SHORT: "int",
    BasicType.INT: "int",
    BasicType.LONG: "int",
    BasicType.BIG_INT: "int",
    BasicType.FLOAT: "float",
    BasicType.DOUBLE: "float",
    BasicType.STRING: "str",
    BasicType.CHAR: "str",
}


def check_other(what: str, first: DataStream, second: Any) -> None:
    """What a stream is joined, connected or united with is a stream of the same environment."""
    from headrace.datastream.data_stream import DataStream

    check_instance(what, second, DataStream, f"first.{what}(second)")
    if second._env is not first._env:
        raise InvalidArgumentError(
            f"{what} got a stream of another environment",
            where=call_site(),
            fix="make both streams with one StreamExecutionEnvironment",
        )


def check_keys_match(what: str, first: TypeInformation | None, second: Any) -> None:
    """Keys of different types are never equal, so such a join would give nothing."""
    if first is None or second is None or _kind(first) == _kind(second):
        return
    raise InvalidArgumentError(
        f"the keys of this {what} can never be equal: {first} on the first stream, {second} on the "
        "second",
        where=call_site(),
        fix="make both key selectors return keys of the same type",
    )


def key_type_of(
    stream: DataStream, keying: Keying, declared: DeclaredType
) -> TypeInformation | None:
    """The type of the keys as declared, as the stream's type or the selector's hint says."""
    if declared is not None:
        return _known(as_type(declared))
    picked = None if keying.field is None else _field_type(stream, keying.field)
    return _known(picked or return_type_of(keying.selector))


def _field_type(stream: DataStream, field: int | str) -> TypeInformation | None:
    record = stream.get_type()
    guessed = any(origin.step.inferred for origin in stream._origins)
    if guessed or not isinstance(record, TupleTypeInfo | RowTypeInfo):
        return None
    names, types = list(record.get_field_names()), record.get_field_types()
    if isinstance(field, str):
        return types[names.index(field)] if field in names else None
    return types[field] if -len(types) <= field < len(types) else None


def _known(found: TypeInformation | None) -> TypeInformation | None:
    return None if isinstance(found, PickledBytesTypeInfo) else found


def _kind(key: TypeInformation) -> Any:
    if isinstance(key, TupleTypeInfo | RowTypeInfo):
        return [_kind(part) for part in key.get_field_types()]
    if isinstance(key, BasicTypeInfo):
        return _KINDS.get(key.basic_type, key)
    return key
