"""Types and values of goldens: text and JSON into what headrace has.

In: types as SQL writes them, values as tests/oracle/ask_scalars.py writes them.
Out: types of common/data_types.py and Python values.
"""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from headrace.common import data_types as t
from oracle.ask_scalars import inner

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.common.data_types import DataType

_MAX = 0x7FFFFFFF
_PLAIN: dict[str, type[DataType]] = {
    "BOOLEAN": t.BooleanType, "TINYINT": t.TinyIntType, "SMALLINT": t.SmallIntType,
    "INT": t.IntType, "BIGINT": t.BigIntType, "FLOAT": t.FloatType, "DOUBLE": t.DoubleType,
    "DATE": t.DateType, "NULL": t.NullType,
}  # fmt: skip
_SIZED: dict[str, Callable[..., DataType]] = {
    "CHAR": t.CharType, "VARCHAR": t.VarCharType, "BINARY": t.BinaryType,
    "VARBINARY": t.VarBinaryType, "TIME": t.TimeType, "TIMESTAMP": t.TimestampType,
    "TIMESTAMP_LTZ": t.LocalZonedTimestampType, "DECIMAL": t.DecimalType,
}  # fmt: skip
_SHORT = {"STRING": f"VARCHAR({_MAX})", "BYTES": f"VARBINARY({_MAX})", "TIME": "TIME(0)"}
_LTZ = " WITH LOCAL TIME ZONE"


def type_of(text: str) -> DataType:
    """The type that SQL writes so."""
    bare = text.strip()
    nullable = not bare.endswith(" NOT NULL")
    bare = bare.removesuffix(" NOT NULL")
    if bare.endswith(_LTZ):
        bare = bare.removesuffix(_LTZ).replace("TIMESTAMP", "TIMESTAMP_LTZ")
    bare = _SHORT.get(bare, bare)
    made = _nested(bare) if "<" in bare else _atomic(bare)
    return made if nullable else made.not_null()


def _atomic(text: str) -> DataType:
    if text in _PLAIN:
        return _PLAIN[text]()
    root, _, sizes = text.rstrip(")").partition("(")
    return _SIZED[root](*(int(size) for size in sizes.split(",")))


def _nested(text: str) -> DataType:
    parts = inner(text)
    match text[: text.index("<")]:
        case "ARRAY":
            return t.ArrayType(type_of(parts[0]))
        case "MULTISET":
            return t.MultisetType(type_of(parts[0]))
        case "MAP":
            return t.MapType(type_of(parts[0]), type_of(parts[1]))
        case _:
            return t.RowType([_field(part) for part in parts])


def _field(text: str) -> t.RowField:
    if text.startswith("`"):
        name, _, rest = text[1:].partition("` ")
    else:
        name, _, rest = text.partition(" ")
    return t.RowField(name, type_of(rest))


def value_of(type_: DataType, value: Any) -> Any:
    """The Python value of a type that a golden writes so."""
    if value is None:
        return None
    match type_:
        case t.DecimalType():
            return Decimal(value)
        case t.BinaryType() | t.VarBinaryType():
            return bytes.fromhex(value)
        case t.FloatType():
            return float(np.float32(value))
        case t.DoubleType():
            return float(value)
        case t.DateType():
            return datetime.date.fromisoformat(value)
        case t.TimeType():
            return datetime.time.fromisoformat(value)
        case t.TimestampType():
            return datetime.datetime.fromisoformat(value)
        case t.LocalZonedTimestampType():
            return datetime.datetime.fromisoformat(value).replace(tzinfo=datetime.UTC)
        case t.ArrayType():
            return [value_of(type_.element_type, each) for each in value]
        case t.MapType():
            pairs = [(value_of(type_.key_type, k), value_of(type_.value_type, v)) for k, v in value]
            return dict(pairs)
        case t.RowType():
            return tuple(value_of(f.data_type, each) for f, each in zip(type_, value, strict=True))
        case _:
            return value
