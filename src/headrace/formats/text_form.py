"""How records look as text: in print(), and in files written with the simple string encoder.

In: a record and the type that its stream declares.  Out: the text that Flink would write.

In PyFlink a typed record is a Java object when it reaches a sink, so people know Java's notation:
``true``, ``null``, ``1.0E20``, ``(1,a)``, ``{a=1}``, ``+I[1, a]``. Checked against PyFlink 2.3.
An untyped record is a Python object there too, and gets Python's ``str``.
"""

from __future__ import annotations

import datetime as dt
import math
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from headrace.common.typeinfo import (
    BasicType,
    BasicTypeInfo,
    MapTypeInfo,
    PickledBytesTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
)
from headrace.common.types import Row

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.common.typeinfo import TypeInformation


def printed_text(type_info: TypeInformation | None) -> Callable[[Any], str]:
    """Makes the text that ``print()`` shows for records of a type."""
    if not is_typed(type_info):
        return str
    if isinstance(type_info, RowTypeInfo):
        # PyFlink itself writes the outer row, in Python's notation; only print() does so.
        narrow = floats_of(type_info, _narrow)
        return lambda value: _printed_row(narrow(value))
    return text_of(type_info)


def _printed_row(value: Any) -> str:
    if not isinstance(value, Row):
        return java_text(value)
    return f"{value.get_row_kind()}[{','.join(map(str, value))}]"


def text_of(type_info: TypeInformation | None) -> Callable[[Any], str]:
    """Makes the text that a line of a file has for records of a type."""
    if not is_typed(type_info):
        return str
    shorten = shortest_floats(type_info)
    return java_text if shorten is same else lambda value: java_text(shorten(value))


def is_typed(type_info: TypeInformation | None) -> TypeGuard[TypeInformation]:
    """Whether records have a declared type, rather than being any Python object."""
    return type_info is not None and not isinstance(type_info, PickledBytesTypeInfo)


# --- FLOAT: Python has no such number, so its text is that of the nearest one with few digits -----


def same(value: Any) -> Any:
    """The value, as it is."""
    return value


def shortest_floats(type_info: TypeInformation | None) -> Callable[[Any], Any]:
    """Gives every FLOAT within a record the fewest digits that tell it from its neighbours."""
    return floats_of(type_info, _shortest) if is_typed(type_info) else same


def _narrow(value: float) -> float:
    return float(np.float32(value))


def _shortest(value: float) -> float:
    with np.errstate(over="ignore"):
        return float(str(np.float32(value)))


def floats_of(kind: TypeInformation, convert: Callable[[float], float]) -> Callable[[Any], Any]:
    """Applies a function to every FLOAT within a record of a type; `same` if there is none."""
    if isinstance(kind, BasicTypeInfo):
        return _unless_none(convert) if kind.basic_type is BasicType.FLOAT else same
    if isinstance(kind, TupleTypeInfo | RowTypeInfo):
        return _fields_converted([floats_of(field, convert) for field in kind.get_field_types()])
    if isinstance(kind, MapTypeInfo):
        key, item = floats_of(kind.key_type, convert), floats_of(kind.value_type, convert)
        if key is same and item is same:
            return same
        return _unless_none(lambda found: {key(k): item(v) for k, v in found.items()})
    element = getattr(kind, "element_type", None)
    each = same if element is None else floats_of(element, convert)
    return same if each is same else _unless_none(lambda found: [each(item) for item in found])


def _fields_converted(fields: list[Callable[[Any], Any]]) -> Callable[[Any], Any]:
    if all(field is same for field in fields):
        return same

    def converted(record: Any) -> Any:
        if not isinstance(record, Row | tuple) or len(record) != len(fields):
            return record  # of a class of the user's, or not of the type: the writer says so
        values = tuple(field(value) for field, value in zip(fields, record, strict=True))
        if not isinstance(record, Row):
            return values if type(record) is tuple else record
        row = Row.of_values(values, record._names)
        row.set_row_kind(record.get_row_kind())
        return row

    return _unless_none(converted)


def _unless_none(convert: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: None if value is None else convert(value)


# --- Java's notation ------------------------------------------------------------------------------


def java_text(value: Any) -> str:
    """The text that Java's ``toString`` gives for the Java counterpart of a value."""
    if isinstance(value, str):
        return value
    form = _FORMS.get(type(value))
    if form is not None:
        return form(value)
    for kind, kind_form in _FORMS.items():
        if isinstance(value, kind):
            return kind_form(value)
    return str(value)


def _bool(value: bool) -> str:
    return "true" if value else "false"


def _float(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    # Java writes plain digits from 0.001 up to ten million, and always a fraction.
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        text = repr(value)
        if "e" not in text:
            return text
        return f"{value:f}".rstrip("0")
    digits, exponent = _digits(value)
    sign = "-" if value < 0 else ""
    return f"{sign}{digits[0]}.{digits[1:] or '0'}E{exponent}"


def _digits(value: float) -> tuple[str, int]:
    """The shortest digits that give the value back, and the exponent of the first one."""
    mantissa, _, exponent = repr(abs(value)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    if fraction == "0":
        fraction = ""
    digits = (whole + fraction).lstrip("0")
    leading = len(whole) - 1 if whole != "0" else -1 - (len(fraction) - len(fraction.lstrip("0")))
    return digits.rstrip("0") or "0", leading + int(exponent or 0)


def _timestamp(value: dt.datetime) -> str:
    fraction = f"{value.microsecond:06d}".rstrip("0") or "0"
    return f"{value:%Y-%m-%d %H:%M:%S}.{fraction}"


def _row(value: Row) -> str:
    return f"{value.get_row_kind()}[{', '.join(map(java_text, value))}]"


def _tuple(value: tuple[Any, ...]) -> str:
    return f"({','.join(map(java_text, value))})"


def _list(value: list[Any]) -> str:
    return f"[{', '.join(map(java_text, value))}]"


def _map(value: dict[Any, Any]) -> str:
    return "{" + ", ".join(f"{java_text(k)}={java_text(v)}" for k, v in value.items()) + "}"


_FORMS: dict[type, Callable[[Any], str]] = {
    bool: _bool,
    type(None): lambda _: "null",
    int: str,
    float: _float,
    dt.datetime: _timestamp,
    Row: _row,
    tuple: _tuple,
    list: _list,
    dict: _map,
}
