"""The names of types in a statement as types.

In: `TypeName` of the syntax tree.  Out: `DataType`.  Next: ../../common/data_types.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.common import data_types as t
from headrace.errors import InvalidArgumentError
from headrace.rel.resolve.problems import not_there, problem

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.sql.ast import TypeName

_PLAIN: dict[str, Callable[[], t.DataType]] = {
    "BOOLEAN": t.DataTypes.BOOLEAN,
    "TINYINT": t.DataTypes.TINYINT,
    "SMALLINT": t.DataTypes.SMALLINT,
    "INT": t.DataTypes.INT,
    "BIGINT": t.DataTypes.BIGINT,
    "FLOAT": t.DataTypes.FLOAT,
    "DOUBLE": t.DataTypes.DOUBLE,
    "STRING": t.DataTypes.STRING,
    "BYTES": t.DataTypes.BYTES,
    "DATE": t.DataTypes.DATE,
    "NULL": t.DataTypes.NULL,
}
# with one length or precision, and what it is if it is not said
_SIZED: dict[str, tuple[Callable[[int], t.DataType], int]] = {
    "CHAR": (t.DataTypes.CHAR, 1),
    "VARCHAR": (t.DataTypes.VARCHAR, 0x7FFFFFFF),
    "BINARY": (t.DataTypes.BINARY, 1),
    "VARBINARY": (t.DataTypes.VARBINARY, 0x7FFFFFFF),
    "TIME": (t.DataTypes.TIME, 0),
    "TIMESTAMP": (t.DataTypes.TIMESTAMP, 6),
    "TIMESTAMP_LTZ": (t.DataTypes.TIMESTAMP_WITH_LOCAL_TIME_ZONE, 6),
}


def data_type(name: TypeName) -> t.DataType:
    """The type that a statement names.

    Raises:
        SqlError: there is no such type.
    """
    try:
        found = _data_type(name)
    except InvalidArgumentError as error:
        raise problem(str(error), name, error.fix) from error
    return found.nullable() if name.nullable else found.not_null()


def _data_type(name: TypeName) -> t.DataType:
    if name.name in _PLAIN:
        return _PLAIN[name.name]()
    if name.name in _SIZED:
        make, default = _SIZED[name.name]
        size = name.parameters[0] if name.parameters else None
        return make(default if size is None else size)
    match name.name:
        case "DECIMAL":
            digits = [size for size in name.parameters if size is not None]
            precision = digits[0] if digits else 10
            return t.DataTypes.DECIMAL(precision, digits[1] if len(digits) > 1 else 0)
        case "ARRAY":
            return t.DataTypes.ARRAY(data_type(name.arguments[0]))
        case "MULTISET":
            return t.DataTypes.MULTISET(data_type(name.arguments[0]))
        case "MAP":
            key, value = map(data_type, name.arguments)
            return t.DataTypes.MAP(key, value)
        case "ROW" | "STRUCTURED":
            return t.DataTypes.ROW(
                [t.DataTypes.FIELD(part.name, data_type(part.type)) for part in name.fields]
            )
        case "INTERVAL":
            return _interval(name)
        case _:
            raise not_there(f"the type {name.name}", name, "use ROW, ARRAY, MAP, STRING or BYTES")


def _interval(name: TypeName) -> t.DataType:
    """With its units, since CAST(5 AS INTERVAL DAY) counts days."""
    resolution = "_TO_".join(dict.fromkeys((name.units[0], name.units[-1])))
    if name.units[0] in ("YEAR", "MONTH"):
        months = t.YearMonthIntervalType.YearMonthResolution
        return t.YearMonthIntervalType(getattr(months, resolution))
    return t.DayTimeIntervalType(t.DayTimeIntervalType.DayTimeResolution[resolution])
