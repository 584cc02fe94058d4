"""headrace's types and Spark's, in both directions.

In: `TypeInformation` or `StructType`.  Out: the other.  Next: data/codec.py owns the Arrow
columns of a type; here they are only spelled in Spark's words, so the three can never disagree.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyspark.sql.types as st
from pyspark.sql.pandas.types import from_arrow_schema

from headrace.common import data_types as d
from headrace.common.typeinfo import RowTypeInfo, TypeInformation, Types
from headrace.data.codec import codec_for
from headrace.errors import UnsupportedStepError
from headrace.hosts.spark.sources.source_batches import (
    SPLIT_COLUMN,
    TIMESTAMP_COLUMN,
    column_schema,
)

if TYPE_CHECKING:
    from headrace.spi.source import Source

__all__ = ["row_type_of", "source_schema", "spark_schema_of", "type_info_of"]


def spark_schema_of(type_info: TypeInformation) -> st.StructType:
    """The columns of a stream of this type; one column ``pickled`` when it has no Arrow form."""
    return from_arrow_schema(column_schema(type_info), prefer_timestamp_ntz=True)


def source_schema(source: Source) -> st.StructType:
    """The columns that ``open_source`` gives for this source, with ``__ts`` and ``__split``."""
    schema = spark_schema_of(source.produced_type())
    if source.has_timestamps():
        # Beside a cell of pickled records stands the list of their timestamps.
        pickled = codec_for(source.produced_type()).schema is None
        schema = schema.add(
            TIMESTAMP_COLUMN, st.ArrayType(st.LongType()) if pickled else st.LongType()
        )
    if source.has_splits():
        schema = schema.add(SPLIT_COLUMN, st.StringType())
    return schema


_BASIC: dict[type[st.DataType], TypeInformation] = {
    st.StringType: Types.STRING(),
    st.VarcharType: Types.STRING(),
    st.CharType: Types.STRING(),
    st.BooleanType: Types.BOOLEAN(),
    st.ByteType: Types.BYTE(),
    st.ShortType: Types.SHORT(),
    st.IntegerType: Types.INT(),
    st.LongType: Types.LONG(),
    st.FloatType: Types.FLOAT(),
    st.DoubleType: Types.DOUBLE(),
    st.DecimalType: Types.BIG_DEC(),
    st.DateType: Types.SQL_DATE(),
    st.TimeType: Types.SQL_TIME(),
    st.TimestampNTZType: Types.SQL_TIMESTAMP(),
    st.TimestampType: Types.TIMESTAMP_LTZ(),
    st.BinaryType: Types.PRIMITIVE_ARRAY(Types.BYTE()),
}


def type_info_of(schema: st.StructType) -> RowTypeInfo:
    """The type of a DataFrame's rows: ``Types.ROW_NAMED`` with its columns.

    Raises:
        UnsupportedStepError: a column's type has no counterpart in headrace.
    """
    fields = [_type_of(field.dataType, field.name) for field in schema.fields]
    return Types.ROW_NAMED(schema.fieldNames(), fields)


def _type_of(data_type: st.DataType, path: str) -> TypeInformation:
    if isinstance(data_type, st.StructType):
        fields = [_type_of(f.dataType, f"{path}.{f.name}") for f in data_type.fields]
        return Types.ROW_NAMED(data_type.fieldNames(), fields)
    if isinstance(data_type, st.ArrayType):
        return Types.LIST(_type_of(data_type.elementType, f"{path}[]"))
    if isinstance(data_type, st.MapType):
        key = _type_of(data_type.keyType, f"{path}.key")
        return Types.MAP(key, _type_of(data_type.valueType, f"{path}.value"))
    basic = _BASIC.get(type(data_type))
    if basic is None:
        raise UnsupportedStepError(
            f"column {path!r} is of type {data_type.simpleString()}, which headrace cannot read",
            fix="cast it first, for example df.withColumn(name, col(name).cast('string'))",
        )
    return basic


_TABLE_TYPES: dict[type[st.DataType], d.DataType] = {
    st.BooleanType: d.DataTypes.BOOLEAN(),
    st.ByteType: d.DataTypes.TINYINT(),
    st.ShortType: d.DataTypes.SMALLINT(),
    st.IntegerType: d.DataTypes.INT(),
    st.LongType: d.DataTypes.BIGINT(),
    st.FloatType: d.DataTypes.FLOAT(),
    st.DoubleType: d.DataTypes.DOUBLE(),
    st.StringType: d.DataTypes.STRING(),
    st.BinaryType: d.DataTypes.BYTES(),
    st.DateType: d.DataTypes.DATE(),
    st.TimeType: d.DataTypes.TIME(6),
    st.TimestampNTZType: d.DataTypes.TIMESTAMP(6),
    st.TimestampType: d.DataTypes.TIMESTAMP_LTZ(6),
}


def row_type_of(schema: st.StructType) -> d.RowType:
    """The columns of a DataFrame as those of a table.

    Raises:
        UnsupportedStepError: a column's type has no counterpart in the Table API.
    """
    fields = [
        d.RowField(field.name, _nullable(_table_type(field.dataType, field.name), field.nullable))
        for field in schema.fields
    ]
    return d.RowType(fields)


def _nullable(kind: d.DataType, nullable: bool) -> d.DataType:  # noqa: FBT001
    return kind if nullable else kind.not_null()


def _table_type(data_type: st.DataType, path: str) -> d.DataType:
    match data_type:
        case st.StructType():
            return row_type_of(data_type)
        case st.ArrayType():
            element = _table_type(data_type.elementType, f"{path}[]")
            return d.DataTypes.ARRAY(_nullable(element, data_type.containsNull))
        case st.MapType():
            key = _table_type(data_type.keyType, f"{path}.key").not_null()
            value = _table_type(data_type.valueType, f"{path}.value")
            return d.DataTypes.MAP(key, _nullable(value, data_type.valueContainsNull))
        case st.DecimalType():
            return d.DataTypes.DECIMAL(data_type.precision, data_type.scale)
        case st.CharType():
            return d.DataTypes.CHAR(data_type.length)
        case st.VarcharType():
            return d.DataTypes.VARCHAR(data_type.length)
    found = _TABLE_TYPES.get(type(data_type))
    if found is None:
        raise UnsupportedStepError(
            f"column {path!r} is of type {data_type.simpleString()}, which tables do not have",
            fix="cast it first, for example df.withColumn(name, col(name).cast('string'))",
        )
    return found
