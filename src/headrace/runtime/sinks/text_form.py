"""How records look as text: in print(), and in files written with the simple string encoder.

In: a record and whether its stream declares a type.  Out: the text that Flink would write.

In PyFlink a typed record is a Java object when it reaches a sink, so people know Java's notation:
``true``, ``null``, ``1.0E20``, ``(1,a)``, ``{a=1}``, ``+I[1, a]``. Checked against PyFlink 2.3.
An untyped record is a Python object there too, and gets Python's ``str``.
"""

from __future__ import annotations

import datetime as dt
import math
from typing import TYPE_CHECKING, Any

from headrace.common.types import Row

if TYPE_CHECKING:
    from collections.abc import Callable


def print_text(value: Any, *, typed: bool) -> str:
    """The text that ``print()`` shows."""
    if isinstance(value, Row) and typed:
        # PyFlink itself writes the outer row, in Python's notation; only print() does so.
        return f"{value.get_row_kind()}[{','.join(map(str, value))}]"
    return java_text(value) if typed else str(value)


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


def _bool(value: bool) -> str:  # noqa: FBT001 - one value of many kinds
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
