"""Types as JSON, so that stored state can say what it holds without pickling headrace's classes.

In: a TypeInformation.  Out: text for a type without parts, a one-key object for one with parts:

    "long"    {"tuple": ["string", "long"]}    {"map": ["string", {"list": "double"}]}
    {"row": ["string"], "names": ["user"]}
    {"class": "shop.orders:Order", "flavour": "dataclass", "types": ["long"], "names": ["id"]}

The forms are part of the state's format: later versions may add some and must read all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.common.class_names import class_of_name, name_of_class
from headrace.common.data_type_json import data_type_from_json, data_type_to_json
from headrace.common.data_types import RowType
from headrace.common.opaque import JsonObject
from headrace.common.row_data_type import RowDataTypeInfo
from headrace.common.typeinfo import (
    BasicArrayTypeInfo,
    BasicType,
    BasicTypeInfo,
    ClassTypeInfo,
    DateTypeInfo,
    ExternalTypeInfo,
    ListTypeInfo,
    LocalTimeTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PickledBytesTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
    TupleTypeInfo,
    TypeInformation,
    Types,
    ZonedTimestampTypeInfo,
)
from headrace.errors import StateError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["from_json", "to_json", "type_text"]

Json = str | JsonObject

_PLAIN: dict[type[TypeInformation], str] = {
    DateTypeInfo: "sql_date",
    TimeTypeInfo: "sql_time",
    TimestampTypeInfo: "sql_timestamp",
    ZonedTimestampTypeInfo: "timestamp_ltz",
    PickledBytesTypeInfo: "pickled",
}
_OF_ELEMENTS: dict[type[Any], str] = {
    PrimitiveArrayTypeInfo: "primitive_array",
    BasicArrayTypeInfo: "basic_array",
    ObjectArrayTypeInfo: "object_array",
    ListTypeInfo: "list",
}


def to_json(type_info: TypeInformation) -> Json:
    """The JSON form of a type.

    Raises:
        StateError: for a TypeInformation that is none of headrace's.
    """
    kind = type(type_info)
    if isinstance(type_info, BasicTypeInfo):
        return type_info.basic_type.name.lower()
    if kind in _PLAIN:
        return _PLAIN[kind]
    if isinstance(type_info, LocalTimeTypeInfo):
        return type_info.time_type.name.lower()
    if kind in _OF_ELEMENTS:
        return {_OF_ELEMENTS[kind]: to_json(type_info.element_type)}  # type: ignore[attr-defined]
    return _composite(type_info)


def _composite(type_info: TypeInformation) -> Json:
    if isinstance(type_info, MapTypeInfo):
        return {"map": [to_json(type_info.key_type), to_json(type_info.value_type)]}
    if isinstance(type_info, TupleTypeInfo):
        return {"tuple": [to_json(field) for field in type_info.get_field_types()]}
    if isinstance(type_info, ExternalTypeInfo):
        return {"external": to_json(type_info.type_info)}
    if isinstance(type_info, RowTypeInfo):
        return _row(type_info)
    if isinstance(type_info, RowDataTypeInfo):
        return {"row_data": data_type_to_json(type_info.row_type), "changes": type_info.changes}
    raise StateError(
        f"the type {type_info!r} cannot be recorded with state",
        fix="declare the state with one of headrace.common.Types",
    )


def _row(type_info: RowTypeInfo) -> Json:
    fields = [to_json(field) for field in type_info.get_field_types()]
    if isinstance(type_info, ClassTypeInfo):
        return {
            "class": name_of_class(type_info.record_class),
            "flavour": type_info.flavour,
            "types": fields,
            "names": type_info.get_field_names(),
        }
    if type_info.is_named:
        return {"row": fields, "names": type_info.get_field_names()}
    return {"row": fields}


def from_json(form: Json) -> TypeInformation:
    """The type that `to_json` gave the form of.

    Raises:
        StateError: the form is not known, or a class that it names is not there.
    """
    if isinstance(form, str):
        made = _NAMED.get(form)
        if made is None:
            raise _unknown(form)
        return made()
    for name, make in _COMPOSED.items():
        if name in form:
            return make(form)
    raise _unknown(form)


def _unknown(form: Json) -> StateError:
    return StateError(
        f"the recorded type {form!r} is not known to this version",
        fix="read it with the version of headrace that wrote it, or a later one",
    )


def _class_type(form: JsonObject) -> TypeInformation:
    found = class_of_name(form["class"])
    return ClassTypeInfo(found, form["flavour"], _all(form["types"]), form["names"])


def _row_data(form: JsonObject) -> TypeInformation:
    row_type = data_type_from_json(form["row_data"])
    assert isinstance(row_type, RowType)
    return RowDataTypeInfo(row_type, form["changes"])


def _all(forms: list[Json]) -> list[TypeInformation]:
    return [from_json(form) for form in forms]


_NAMED: dict[str, Callable[[], TypeInformation]] = {
    **{
        basic.name.lower(): getattr(
            Types, basic.name
        )  # Types.LONG makes the type of BasicType.LONG
        for basic in BasicType
    },
    **{name: kind for kind, name in _PLAIN.items()},
    **{
        kind.name.lower(): (lambda kind=kind: LocalTimeTypeInfo(kind))  # type: ignore[misc]
        for kind in LocalTimeTypeInfo.TimeType
    },
}
_COMPOSED: dict[str, Callable[[JsonObject], TypeInformation]] = {
    **{
        name: (lambda form, kind=kind, name=name: kind(from_json(form[name])))  # type: ignore[misc]
        for kind, name in _OF_ELEMENTS.items()
    },
    "map": lambda form: MapTypeInfo(*_all(form["map"])),
    "tuple": lambda form: TupleTypeInfo(_all(form["tuple"])),
    "row": lambda form: RowTypeInfo(_all(form["row"]), form.get("names")),
    "class": _class_type,
    "row_data": _row_data,
    "external": lambda form: ExternalTypeInfo(from_json(form["external"])),
}


def type_text(form: Json) -> str:
    """A recorded type as a person would write it, for messages."""
    if isinstance(form, str):
        return form.upper()
    if "class" in form:
        return str(form["class"]).partition(":")[2]
    if "row_data" in form:
        return str(data_type_from_json(form["row_data"]))
    if "names" in form:
        pairs = zip(form["names"], form["row"], strict=True)
        return f"ROW<{', '.join(f'{name}: {type_text(kind)}' for name, kind in pairs)}>"
    ((name, parts),) = form.items()
    inner = [parts] if isinstance(parts, str | dict) else parts
    return f"{name.upper()}<{', '.join(map(type_text, inner))}>"
