"""Lines of SQL as Arrow batches and back, over exchanges and in savepoints."""

from __future__ import annotations

import datetime
import decimal
from typing import Any

import pyarrow as pa
import pytest

from headrace.common.data_types import DataType, DataTypes, RawType, RowType
from headrace.common.row_data_type import RowDataTypeInfo
from headrace.common.type_json import from_json, to_json, type_text
from headrace.data.codec import DoesNotFit, codec_for
from headrace.data.records import Records
from headrace.data.row_data import RowDataCodec, arrow_schema, arrow_type_of
from headrace.errors import InternalError
from headrace.runtime.exchange.buffers import data_frame, frames_of, records_in

UTC = datetime.UTC
MOMENT = datetime.datetime(1960, 2, 3, 4, 5, 6, 789)
ROW = DataTypes.ROW(
    [DataTypes.FIELD("x", DataTypes.INT()), DataTypes.FIELD("y", DataTypes.STRING())]
)
EXAMPLES: list[tuple[DataType, pa.DataType, list[Any]]] = [
    (DataTypes.BOOLEAN(), pa.bool_(), [True, False]),
    (DataTypes.TINYINT(), pa.int8(), [-128, 127]),
    (DataTypes.SMALLINT(), pa.int16(), [-32768]),
    (DataTypes.INT(), pa.int32(), [2**31 - 1]),
    (DataTypes.BIGINT(), pa.int64(), [-(2**63)]),
    (DataTypes.FLOAT(), pa.float32(), [0.5]),
    (DataTypes.DOUBLE(), pa.float64(), [0.1]),
    (
        DataTypes.DECIMAL(10, 2),
        pa.decimal128(10, 2),
        [decimal.Decimal("12345678.90"), decimal.Decimal("-0.01")],
    ),
    (DataTypes.CHAR(3), pa.string(), ["abc"]),
    (DataTypes.STRING().not_null(), pa.string(), ["", "ü"]),
    (DataTypes.BYTES(), pa.binary(), [b"", b"\x00"]),
    (DataTypes.BINARY(2), pa.binary(), [b"ab"]),
    (DataTypes.DATE(), pa.date32(), [datetime.date(1, 1, 1)]),
    (DataTypes.TIME(3), pa.time64("us"), [datetime.time(23, 59, 59, 999999)]),
    (DataTypes.TIME(9), pa.time64("ns"), [datetime.time(23, 59, 59, 999999)]),
    (DataTypes.TIMESTAMP(3), pa.timestamp("us"), [MOMENT, datetime.datetime(9999, 12, 31)]),
    (DataTypes.TIMESTAMP(9), pa.timestamp("ns"), [MOMENT]),
    (DataTypes.TIMESTAMP_LTZ(3), pa.timestamp("us", "UTC"), [MOMENT.replace(tzinfo=UTC)]),
    (DataTypes.TIMESTAMP_LTZ(9), pa.timestamp("ns", "UTC"), [MOMENT.replace(tzinfo=UTC)]),
    (DataTypes.INTERVAL(DataTypes.MONTH()), pa.int32(), [-1]),
    (DataTypes.INTERVAL(DataTypes.SECOND(3)), pa.int64(), [86_400_000]),
    (DataTypes.ARRAY(DataTypes.INT()), pa.list_(pa.int32()), [[1, None], []]),
    (
        DataTypes.MAP(DataTypes.STRING(), ROW),
        pa.map_(pa.string(), pa.struct({"x": pa.int32(), "y": pa.string()})),
        [{"a": (1, None), "b": None}],
    ),
    (DataTypes.MULTISET(DataTypes.INT()), pa.map_(pa.int32(), pa.int32()), [{1: 2}]),
    (ROW, pa.struct({"x": pa.int32(), "y": pa.string()}), [(1, "a"), (None, None)]),
    (RawType(), pa.binary(), [{1, 2}, MOMENT]),
    (DataTypes.NULL(), pa.null(), [None]),
]


@pytest.mark.parametrize(("data_type", "arrow", "values"), EXAMPLES, ids=lambda v: str(v)[:30])
def test_values_come_back_from_arrow(
    data_type: DataType, arrow: pa.DataType, values: list[Any]
) -> None:
    assert arrow_type_of(data_type) == arrow
    info = RowDataTypeInfo(DataTypes.ROW([DataTypes.FIELD("a", data_type)]))
    codec = codec_for(info)
    lines = [(value,) for value in (*values, None)]
    batch = codec.encode(lines)
    assert batch.schema == codec.schema
    assert codec.decode(batch) == lines
    assert codec.decode(batch.slice(1)) == lines[1:]
    assert codec.encode([]).num_rows == 0
    assert codec.decode(codec.encode([(None,)])) == [(None,)]


def test_a_stream_with_changes_has_the_kind_last() -> None:
    info = RowDataTypeInfo(ROW, changes=True)
    codec = codec_for(info)
    assert isinstance(codec, RowDataCodec)
    assert codec.schema.names == ["x", "y", "$kind"]
    assert codec.schema.field(2).type == pa.int8()
    assert len(codec.columns) == 2
    lines = [(1, "a", 0), (1, "b", 3)]
    assert codec.decode(codec.encode(lines)) == lines
    assert arrow_schema(info.with_changes(False)).names == ["x", "y"]
    assert info.with_changes(False) == RowDataTypeInfo(ROW)
    assert info != RowDataTypeInfo(ROW)


def test_what_does_not_fit_is_named() -> None:
    codec = codec_for(RowDataTypeInfo(DataTypes.ROW([DataTypes.FIELD("n", ROW)])))
    with pytest.raises(DoesNotFit, match=r"'n.x' is 'one'"):
        codec.encode([((1, "a"),), (("one", "b"),)])
    decimals = codec_for(
        RowDataTypeInfo(DataTypes.ROW([DataTypes.FIELD("n", DataTypes.DECIMAL(3, 1))]))
    )
    with pytest.raises(DoesNotFit, match=r"DECIMAL\(3, 1\)"):
        decimals.encode([(decimal.Decimal("1.25"),)])
    assert decimals.decode(decimals.encode([(7,)])) == [(decimal.Decimal("7.0"),)]
    early = codec_for(
        RowDataTypeInfo(DataTypes.ROW([DataTypes.FIELD("t", DataTypes.TIMESTAMP(9))]))
    )
    with pytest.raises(DoesNotFit, match="1677 to 2262"):
        early.encode([(datetime.datetime(1, 1, 1),)])
    with pytest.raises(InternalError, match="keep one column"):
        codec_for(RowDataTypeInfo(RowType()))


def test_nanoseconds_are_cut_off_downwards() -> None:
    codec = codec_for(
        RowDataTypeInfo(DataTypes.ROW([DataTypes.FIELD("t", DataTypes.TIMESTAMP(9))]))
    )
    batch = pa.RecordBatch.from_arrays([pa.array([-1, 1999], pa.timestamp("ns"))], ["t"])
    assert codec.decode(batch) == [
        (datetime.datetime(1969, 12, 31, 23, 59, 59, 999999),),
        (datetime.datetime(1970, 1, 1, 0, 0, 0, 1),),
    ]


def test_lines_travel_as_columns() -> None:
    info = RowDataTypeInfo(
        DataTypes.ROW([DataTypes.FIELD("a", kind) for kind, _, _ in EXAMPLES]), changes=True
    )
    lines = [(*(values[0] for _, _, values in EXAMPLES), 2)]
    packet = b"".join(data_frame(Records(lines), 0, codec_for(info)))
    received = records_in(next(frames_of(packet)), codec_for(info))
    assert received.columns is not None
    assert received.values == lines


def test_the_type_is_recorded_with_state() -> None:
    row = DataTypes.ROW(
        [DataTypes.FIELD(f"f{i}", kind.not_null(), "it") for i, (kind, _, _) in enumerate(EXAMPLES)]
        + [DataTypes.FIELD("views", DataTypes.LIST_VIEW(DataTypes.INT()))]
        + [
            DataTypes.FIELD("span", DataTypes.INTERVAL(DataTypes.DAY(), DataTypes.SECOND(3))),
            DataTypes.FIELD("years", DataTypes.INTERVAL(DataTypes.YEAR(4), DataTypes.MONTH())),
        ]
    )
    info = RowDataTypeInfo(row, changes=True)
    assert from_json(to_json(info)) == info
    assert type_text(to_json(RowDataTypeInfo(ROW))) == "ROW<`x` INT, `y` STRING>"
