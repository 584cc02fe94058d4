"""Values of SQL as values of JSON, for JSON_STRING and the constructors.

In: Python values and their types.  Out: values that json_paths/documents.py writes.
Next: scalars/json_paths/documents.py
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from headrace.common import data_types as t
from headrace.errors import InvalidArgumentError
from headrace.scalars import types as kinds

if TYPE_CHECKING:
    from headrace.common.data_types import DataType

Change = Callable[[Any], Any]


def has_json(type_: DataType) -> bool:
    """Whether values of a type can become JSON."""
    match type_:
        case t.ArrayType():
            return has_json(type_.element_type)
        case t.MapType():
            return kinds.is_character(type_.key_type) and has_json(type_.value_type)
        case t.MultisetType():
            return kinds.is_character(type_.element_type)
        case t.RowType():
            return all(has_json(field.data_type) for field in type_)
    families = (kinds.is_character, kinds.is_boolean, kinds.is_numeric, kinds.is_binary)
    return any(belongs(type_) for belongs in (*families, kinds.is_any_timestamp, kinds.is_null))


def to_json(type_: DataType) -> Change:
    """What makes JSON of the values of a type; NULL stays None."""
    change = _change(type_)
    return lambda value: None if value is None else change(value)


def _change(type_: DataType) -> Change:
    match type_:
        case t.FloatType() | t.DoubleType():
            return _exact
        case t.BinaryType() | t.VarBinaryType():
            return lambda value: base64.b64encode(value).decode("ascii")
        case t.TimestampType():
            return _iso
        case t.LocalZonedTimestampType():
            return lambda value: _iso(value) + "Z"
        case t.ArrayType():
            item = to_json(type_.element_type)
            return lambda value: [item(each) for each in value]
        case t.MapType():
            return _entries(to_json(type_.value_type))
        case t.MultisetType():
            return _entries(int)
        case t.RowType():
            fields = [(field.name, to_json(field.data_type)) for field in type_]
            return lambda row: {name: made(v) for (name, made), v in zip(fields, row, strict=True)}
        case _:
            return lambda value: value


def _entries(item: Change) -> Change:
    def change(value: dict[Any, Any]) -> dict[str, Any]:
        if None in value:
            message = "a map with NULL as a key cannot become JSON"
            raise InvalidArgumentError(message, fix="leave that entry out")
        return {key: item(each) for key, each in value.items()}

    return change


def _exact(value: float) -> Any:
    """A number with the digits that Java writes for it, which have no -0."""
    from headrace.scalars.java_numbers import double_text

    text = double_text(abs(value) if value == 0 else value)
    return text if text in ("NaN", "Infinity", "-Infinity") else Decimal(text)


def _iso(value: Any) -> str:
    """Date and time with a T between them, and as many digits of the fraction as it needs."""
    text: str = value.replace(tzinfo=None).isoformat()
    return text.rstrip("0") if "." in text else text
