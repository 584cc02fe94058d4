"""The type of the Table API for each type of the DataStream API, as Flink pairs them.

In: a `TypeInformation` (`from_data_stream`).  Out: a `DataType`; back by its `to_type_info`.
Next: runtime/table/conversions.py changes the records
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.common.data_types import (
    DataType,
    DataTypes,
    RawType,
    RowField,
    RowType,
)
from headrace.common.row_data_type import RowDataTypeInfo
from headrace.common.typeinfo import (
    BasicType,
    BasicTypeInfo,
    DateTypeInfo,
    ExternalTypeInfo,
    LocalTimeTypeInfo,
    MapTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
    TupleTypeInfo,
    TypeInformation,
    ZonedTimestampTypeInfo,
    _ElementTypeInfo,
)

if TYPE_CHECKING:
    from collections.abc import Callable

_BASIC: dict[BasicType, DataType] = {
    BasicType.STRING: DataTypes.STRING(),
    BasicType.BOOLEAN: DataTypes.BOOLEAN(),
    BasicType.BYTE: DataTypes.TINYINT(),
    BasicType.SHORT: DataTypes.SMALLINT(),
    BasicType.INT: DataTypes.INT(),
    BasicType.LONG: DataTypes.BIGINT(),
    BasicType.FLOAT: DataTypes.FLOAT(),
    BasicType.DOUBLE: DataTypes.DOUBLE(),
    BasicType.BIG_DEC: DataTypes.DECIMAL(38, 18),
    BasicType.INSTANT: DataTypes.TIMESTAMP_LTZ(9),
}
_LOCAL: dict[LocalTimeTypeInfo.TimeType, DataType] = {
    LocalTimeTypeInfo.TimeType.LOCAL_DATE: DataTypes.DATE(),
    LocalTimeTypeInfo.TimeType.LOCAL_TIME: DataTypes.TIME(9),
    LocalTimeTypeInfo.TimeType.LOCAL_DATE_TIME: DataTypes.TIMESTAMP(9),
}
_BY_CLASS: dict[type[TypeInformation], Callable[[], DataType]] = {
    DateTypeInfo: DataTypes.DATE,
    TimeTypeInfo: DataTypes.TIME,
    TimestampTypeInfo: lambda: DataTypes.TIMESTAMP(9),
    ZonedTimestampTypeInfo: lambda: DataTypes.TIMESTAMP_LTZ(6),
}


def from_type_info(info: TypeInformation) -> DataType:
    """The type of the Table API for values of a type of the DataStream API; RAW if there is none.

    All are nullable, since in headrace every field may be None.
    """
    if isinstance(info, ExternalTypeInfo):
        return from_type_info(info.type_info)
    if isinstance(info, RowDataTypeInfo):
        return info.row_type
    if isinstance(info, BasicTypeInfo):
        return _BASIC.get(info.basic_type, RawType())
    if isinstance(info, LocalTimeTypeInfo):
        return _LOCAL[info.time_type]
    if isinstance(info, TupleTypeInfo | RowTypeInfo):
        pairs = zip(info.get_field_names(), info.get_field_types(), strict=True)
        return RowType([RowField(name, from_type_info(kind)) for name, kind in pairs])
    if isinstance(info, MapTypeInfo):
        key, value = from_type_info(info.key_type), from_type_info(info.value_type)
        return DataTypes.MAP(key, value)
    if isinstance(info, PrimitiveArrayTypeInfo):
        element = from_type_info(info.element_type)
        return DataTypes.BYTES() if element == DataTypes.TINYINT() else DataTypes.ARRAY(element)
    if isinstance(info, _ElementTypeInfo):
        return DataTypes.ARRAY(from_type_info(info.element_type))
    made = _BY_CLASS.get(type(info))
    return RawType() if made is None else made()
