"""The types of the Table API: their text, equality, inference and counterparts."""

from __future__ import annotations

import array
import datetime
import decimal
import pickle
from typing import NamedTuple

import pytest

from headrace.common import Row, Types
from headrace.common.data_type_checks import _create_type_verifier
from headrace.common.data_type_inference import _infer_schema_from_data, _infer_type, _merge_type
from headrace.common.data_type_infos import from_type_info
from headrace.common.data_types import (
    DataType,
    DataTypes,
    RawType,
    RowType,
    UserDefinedType,
    ZonedTimestampType,
)
from headrace.errors import ArgumentTypeError, InvalidArgumentError

FIELD, ROW = DataTypes.FIELD, DataTypes.ROW


@pytest.mark.parametrize(
    ("data_type", "text"),
    [
        (DataTypes.DECIMAL(10, 2).not_null(), "DECIMAL(10, 2) NOT NULL"),
        (DataTypes.STRING(), "STRING"),
        (DataTypes.VARCHAR(10), "VARCHAR(10)"),
        (DataTypes.CHAR(3, nullable=False), "CHAR(3) NOT NULL"),
        (DataTypes.BYTES(), "BYTES"),
        (DataTypes.VARBINARY(2), "VARBINARY(2)"),
        (DataTypes.BINARY(2), "BINARY(2)"),
        (DataTypes.TIME(), "TIME(0)"),
        (DataTypes.TIMESTAMP(3), "TIMESTAMP(3)"),
        (DataTypes.TIMESTAMP_LTZ(), "TIMESTAMP_LTZ(6)"),
        (ZonedTimestampType(), "TIMESTAMP(6) WITH TIME ZONE"),
        (DataTypes.INTERVAL(DataTypes.YEAR(4), DataTypes.MONTH()), "INTERVAL YEAR(4) TO MONTH"),
        (DataTypes.INTERVAL(DataTypes.MONTH()), "INTERVAL MONTH"),
        (
            DataTypes.INTERVAL(DataTypes.DAY(), DataTypes.SECOND(3)),
            "INTERVAL DAY(2) TO SECOND(3)",
        ),
        (DataTypes.INTERVAL(DataTypes.HOUR(), DataTypes.MINUTE()), "INTERVAL HOUR TO MINUTE"),
        (DataTypes.NULL(), "NULL"),
        (DataTypes.MULTISET(DataTypes.INT().not_null()), "MULTISET<INT NOT NULL>"),
        (
            DataTypes.MAP(DataTypes.STRING(), DataTypes.ARRAY(DataTypes.TINYINT())),
            "MAP<STRING, ARRAY<TINYINT>>",
        ),
        (
            ROW([FIELD("a`b", DataTypes.INT()), FIELD("c", DataTypes.DATE(), "it's")]).not_null(),
            "ROW<`a``b` INT, `c` DATE 'it''s'> NOT NULL",
        ),
    ],
)
def test_a_type_reads_as_sql(data_type: DataType, text: str) -> None:
    assert str(data_type) == text


def test_types_compare_by_what_they_say_and_may_be_keys() -> None:
    assert {DataTypes.INT(): 1}[DataTypes.INT()] == 1
    assert DataTypes.INT() != DataTypes.INT().not_null()
    assert DataTypes.INT().not_null().nullable() == DataTypes.INT()
    assert DataTypes.DECIMAL(10, 0) != DataTypes.DECIMAL(10, 2)
    one, other = ROW([FIELD("a", DataTypes.INT())]), ROW().add("a", DataTypes.INT())
    assert one == other
    assert hash(one) == hash(other)
    assert pickle.loads(pickle.dumps(one)) == one
    assert one.not_null().add("b", DataTypes.INT()) != one
    assert len(one) == 1


def test_what_cannot_be_is_refused() -> None:
    for make in (
        lambda: DataTypes.DECIMAL(39, 1),
        lambda: DataTypes.DECIMAL(3, 4),
        lambda: DataTypes.TIMESTAMP(10),
        lambda: DataTypes.CHAR(0),
        lambda: DataTypes.INTERVAL(DataTypes.MONTH(), DataTypes.DAY()),
        lambda: DataTypes.INTERVAL(DataTypes.YEAR(5)),
        lambda: ROW().add("a"),
    ):
        with pytest.raises(InvalidArgumentError):
            make()
    with pytest.raises(ArgumentTypeError, match=r"call the factory"):
        DataTypes.ARRAY(DataTypes.INT)  # type: ignore[arg-type]


def test_types_are_read_from_values() -> None:
    class Point(NamedTuple):
        x: float
        y: str | None

    point = Point(1.0, None)
    values = Row(
        a=True, b=1, c="s", d=b"x", e=decimal.Decimal(1), f=datetime.date(2020, 1, 1),
        g=datetime.datetime(2020, 1, 1), h=array.array("h", [1]), i=[None, 1], j={"k": 1.0},
        k=point,
    )  # fmt: skip
    other = Row(k=(2.0, "text"))
    merged = _infer_schema_from_data([values, Row(k=Point(1.0, "text"))])
    assert str(merged) == (
        "ROW<`a` BOOLEAN, `b` BIGINT, `c` STRING, `d` BYTES, `e` DECIMAL(38, 18), `f` DATE, "
        "`g` TIMESTAMP_LTZ(6), `h` ARRAY<SMALLINT NOT NULL>, `i` ARRAY<BIGINT>, "
        "`j` MAP<STRING NOT NULL, DOUBLE>, `k` ROW<`x` DOUBLE, `y` STRING>>"
    )
    assert str(_infer_type(other)) == "ROW<`k` ROW<`_1` DOUBLE, `_2` STRING>>"
    with pytest.raises(ArgumentTypeError, match="field a: some values are of type STRING"):
        _infer_schema_from_data([("x",), (1,)], ["a"])
    with pytest.raises(InvalidArgumentError, match=r"\['a'\] hold nothing but None"):
        _infer_schema_from_data([(None,)], ["a"])
    with pytest.raises(TypeError):
        _merge_type(DataTypes.ARRAY(DataTypes.INT()), DataTypes.ARRAY(DataTypes.DOUBLE()))


class _Point:
    def __init__(self, x: float) -> None:
        self.x = x


class _PointType(UserDefinedType):
    @classmethod
    def sql_type(cls) -> DataType:
        return DataTypes.ARRAY(DataTypes.DOUBLE())

    def serialize(self, obj: _Point) -> list[float]:
        return [obj.x]

    def deserialize(self, datum: list[float]) -> _Point:
        return _Point(datum[0])


_Point.__UDT__ = _PointType()  # type: ignore[attr-defined]

NESTED = ROW([FIELD("a", DataTypes.INT().not_null()), FIELD("b", DataTypes.STRING())])


@pytest.mark.parametrize(
    ("data_type", "good", "bad"),
    [
        (DataTypes.TINYINT(), [-128, 127, None], [128, 1.0, True]),
        (DataTypes.STRING().not_null(), [""], [None, 1]),
        (DataTypes.CHAR(2), ["ab"], ["a", "abc"]),
        (DataTypes.VARCHAR(2), ["", "ab"], ["abc"]),
        (DataTypes.ARRAY(DataTypes.SMALLINT()), [[1, None], (1,)], [{1}, [40000]]),
        (DataTypes.MAP(DataTypes.STRING(), DataTypes.INT()), [{"a": None}], [{"a": "b"}, []]),
        (NESTED, [(1, "x"), Row(1, None), {"a": 1}, Row(b="x", a=1)], [(1,), (None, "x"), 5]),
        (_PointType(), [_Point(1.0)], [[1.0]]),
    ],
)
def test_values_are_checked(data_type: DataType, good: list[object], bad: list[object]) -> None:
    check = _create_type_verifier(data_type)
    for value in good:
        check(value)
    for value in bad:
        with pytest.raises((TypeError, ValueError)):
            check(value)


def test_times_go_to_numbers_and_back_as_in_pyflink() -> None:
    moment = datetime.datetime(2020, 3, 4, 5, 6, 7, 89)
    for kind in (DataTypes.TIMESTAMP(), DataTypes.TIMESTAMP_LTZ()):
        assert kind.from_sql_type(kind.to_sql_type(moment)) == moment
    zoned = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone(datetime.timedelta(hours=1)))
    assert ZonedTimestampType().to_sql_type(zoned) == (0, 3600)
    assert ZonedTimestampType().from_sql_type((0, 3600)) == zoned
    days = DataTypes.ARRAY(DataTypes.DATE())
    assert days.from_sql_type([0]) == [datetime.date(1970, 1, 1)]
    assert DataTypes.TIME().from_sql_type(DataTypes.TIME().to_sql_type(moment.time()))
    row = ROW([FIELD("d", DataTypes.DATE())])
    assert row.to_sql_type(Row(d=datetime.date(1970, 1, 2))) == (0, 1)
    assert row.from_sql_type((1,)) == Row(d=datetime.date(1970, 1, 2))


def test_types_have_counterparts_in_the_datastream_api_and_back() -> None:
    info = Types.ROW_NAMED(
        ["a", "b", "c", "d", "e"],
        [
            Types.LONG(),
            Types.LIST(Types.STRING()),
            Types.MAP(Types.INT(), Types.BIG_DEC()),
            Types.PRIMITIVE_ARRAY(Types.BYTE()),
            Types.INSTANT(),
        ],
    )
    data_type = from_type_info(info)
    assert str(data_type) == (
        "ROW<`a` BIGINT, `b` ARRAY<STRING>, `c` MAP<INT, DECIMAL(38, 18)>, `d` BYTES, "
        "`e` TIMESTAMP_LTZ(9)>"
    )
    assert data_type.to_type_info() == info
    assert from_type_info(Types.PICKLED_BYTE_ARRAY()) == RawType()
    assert from_type_info(Types.TUPLE([Types.SQL_TIMESTAMP()])) == RowType(
        [FIELD("f0", DataTypes.TIMESTAMP(9))]
    )


def test_a_type_without_counterpart_says_so() -> None:
    with pytest.raises(InvalidArgumentError, match="no counterpart"):
        ZonedTimestampType().to_type_info()
