"""Records as lines and lines as records, by columns and by values."""

from __future__ import annotations

import collections
import datetime
import decimal
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from headrace.common import Instant, Row, RowKind, Types
from headrace.common.data_type_infos import from_type_info
from headrace.common.data_types import DataTypes, RowType
from headrace.common.row_data_type import RowDataTypeInfo
from headrace.common.type_inference import infer_type
from headrace.data.codec import codec_for
from headrace.data.records import Records
from headrace.errors import RecordError, TypeMismatchError
from headrace.runtime.table.conversions import LinesToRecords, RecordsToLines
from headrace.testing.harness import Harness

if TYPE_CHECKING:
    from headrace.common.typeinfo import TypeInformation
    from headrace.runtime.operators.base import Operator

UTC = datetime.UTC
D = decimal.Decimal


def row_type(**fields: Any) -> RowType:
    return DataTypes.ROW([DataTypes.FIELD(name, kind) for name, kind in fields.items()])


def run(operator: Operator, records: Records) -> Records:
    harness = Harness(operator)
    found: list[Records] = []
    harness.operator.output.emit = found.append  # type: ignore[method-assign, assignment]
    harness.operator.process(records, 0)
    return found[0]


def both_ways(info: TypeInformation, lines: RowDataTypeInfo, records: list[Any]) -> list[Any]:
    """The lines of records, by values and by columns."""
    codec = codec_for(info)
    by_values = run(RecordsToLines(info, lines), Records(list(records)))
    if codec.schema is not None:
        batch = Records(batch=codec.encode(records), codec=codec)
        assert run(RecordsToLines(info, lines), batch).values == by_values.values
    assert by_values.columns is None or by_values.columns.schema == codec_for(lines).schema
    return by_values.values


def test_rows_of_all_kinds_of_fields_and_back() -> None:
    info = Types.ROW_NAMED(
        ["n", "text", "price", "when", "local", "tags", "named", "raw", "day", "big"],
        [
            Types.INT(),
            Types.STRING(),
            Types.BIG_DEC(),
            Types.INSTANT(),
            Types.SQL_TIMESTAMP(),
            Types.LIST(Types.STRING()),
            Types.ROW_NAMED(["at"], [Types.INSTANT()]),
            Types.PICKLED_BYTE_ARRAY(),
            Types.SQL_DATE(),
            Types.MAP(Types.STRING(), Types.BIG_DEC()),
        ],
    )
    lines = from_type_info(info)
    assert isinstance(lines, RowType)
    records = [
        Row(
            n=1, text="a", price=D("1.5"), when=Instant(7, 123_456_000),
            local=datetime.datetime(1969, 1, 1, 0, 0, 0, 7), tags=["x", None],
            named=Row(at=Instant(0, 0)), raw={1}, day=datetime.date(2020, 1, 1),
            big={"k": D(2)},
        ),
        Row(*[None] * 10),
    ]  # fmt: skip
    line_type = RowDataTypeInfo(lines)
    found = both_ways(info, line_type, records)
    moment = datetime.datetime(1970, 1, 1, 0, 0, 7, 123456, UTC)
    epoch = datetime.datetime(1970, 1, 1, tzinfo=UTC)
    first = (
        1, "a", D("1.500000000000000000"), moment, records[0].local, ["x", None], (epoch,), {1},
        records[0].day, {"k": D(2)},
    )  # fmt: skip
    assert found == [first, (None,) * 10]
    back = run(LinesToRecords(line_type, info), Records(found)).values
    records[1].set_field_names(info.get_field_names())
    assert back == records


def test_columns_that_agree_stay_columns() -> None:
    info = Types.TUPLE([Types.INT(), Types.STRING(), Types.INSTANT()])
    lines = RowDataTypeInfo(
        row_type(a=DataTypes.BIGINT(), b=DataTypes.STRING(), c=DataTypes.TIMESTAMP_LTZ(3))
    )
    codec = codec_for(info)
    records = Records(batch=codec.encode([(1, "x", Instant(-1, 1_999_000))]), codec=codec)
    found = run(RecordsToLines(info, lines), records)
    assert found.columns is not None
    assert records.columns is not None, "values were made"
    cut = datetime.datetime(1969, 12, 31, 23, 59, 59, 1000, UTC)
    assert found.values == [(1, "x", cut)]
    back = run(
        LinesToRecords(lines, Types.TUPLE([Types.LONG(), Types.STRING(), Types.INSTANT()])),
        Records(batch=found.columns or found.batch, codec=codec_for(lines)),
    )
    assert back.columns is not None
    assert back.values == [(1, "x", Instant(-1, 1_000_000))]


def test_kinds_of_rows_are_kinds_of_lines() -> None:
    info = Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.STRING()])
    lines = RowDataTypeInfo(row_type(a=DataTypes.INT(), b=DataTypes.STRING()), changes=True)
    records = [
        Row.of_kind(RowKind.UPDATE_BEFORE, b="x", a=1),
        Row(a=2, b=None),
        Row.of_kind(RowKind.DELETE, 3, "z"),
    ]
    found = run(RecordsToLines(info, lines), Records(records)).values
    assert found == [(1, "x", 1), (2, None, 0), (3, "z", 3)]
    back = run(LinesToRecords(lines, info), Records(found)).values
    assert [(row.get_row_kind(), row.a, row.b) for row in back] == [
        (RowKind.UPDATE_BEFORE, 1, "x"), (RowKind.INSERT, 2, None), (RowKind.DELETE, 3, "z")
    ]  # fmt: skip
    inserts = run(LinesToRecords(lines, info), Records([(1, "x", 0)]))
    assert inserts.columns is not None
    with pytest.raises(RecordError, match=r"from_changelog_stream"):
        run(RecordsToLines(info, lines.with_changes(False)), Records(records))
    tuples = Types.TUPLE([Types.INT(), Types.STRING()])
    with pytest.raises(RecordError, match=r"to_changelog_stream"):
        run(LinesToRecords(lines, tuples), Records(found))


@dataclass
class Order:
    id: int
    total: decimal.Decimal


def test_classes_values_and_undeclared_records() -> None:
    info = infer_type(Order)
    assert info is not None
    lines = RowDataTypeInfo(row_type(id=DataTypes.BIGINT(), total=DataTypes.DECIMAL(4, 1)))
    found = both_ways(info, lines, [Order(1, D("9.25")), Order(2, D("12345"))])
    assert found == [(1, D("9.3")), (2, None)], "half up, and NULL for what is too large"
    assert run(LinesToRecords(lines, info), Records(found[:1])).values == [Order(1, D("9.3"))]
    single = RowDataTypeInfo(row_type(f0=DataTypes.BIGINT()))
    assert both_ways(Types.INT(), single, [1, None]) == [(1,), (None,)]
    assert run(LinesToRecords(single, Types.LONG()), Records([(1,)])).values == [1]
    anything = Types.PICKLED_BYTE_ARRAY()
    make_pair: Any = collections.namedtuple("make_pair", "id total")
    pair = make_pair(1, D(2))
    records = [Row(total=D(2), id=1), (1, D(2)), {"id": 1, "total": D(2)}, pair, Order(1, D(2))]
    assert both_ways(anything, lines, records) == [(1, D("2.0"))] * 5
    assert run(LinesToRecords(lines, anything), Records(found[:1])).values == [
        Row(id=1, total=D("9.3"))
    ]


def test_values_of_python_that_sql_knows_otherwise() -> None:
    spans = RowDataTypeInfo(
        row_type(
            a=DataTypes.INTERVAL(DataTypes.DAY(), DataTypes.SECOND(3)),
            b=DataTypes.TIMESTAMP_LTZ(6),
            c=DataTypes.MULTISET(DataTypes.STRING()),
            d=DataTypes.DATE(),
        )
    )
    moment = datetime.datetime(2020, 1, 1, 5)
    record = (datetime.timedelta(days=1), moment, ["x", "x"], moment)
    assert both_ways(Types.PICKLED_BYTE_ARRAY(), spans, [record]) == [
        (86_400_000, moment.replace(tzinfo=UTC), {"x": 2}, moment.date())
    ]


def test_what_does_not_fit_is_told() -> None:
    lines = RowDataTypeInfo(row_type(a=DataTypes.TINYINT(), b=DataTypes.STRING()))
    info = Types.TUPLE([Types.INT(), Types.STRING()])
    with pytest.raises(TypeMismatchError, match=r"128 of type int in column 'a'"):
        both_ways(info, lines, [(127, "a"), (128, "b")])
    with pytest.raises(TypeMismatchError, match=r"a record with fields \['a', 'b'\]"):
        run(RecordsToLines(Types.PICKLED_BYTE_ARRAY(), lines), Records([(1, "x"), (1,)]))


def test_timestamps_become_a_column_and_a_column_timestamps() -> None:
    lines = RowDataTypeInfo(row_type(a=DataTypes.INT(), t=DataTypes.TIMESTAMP_LTZ(3)))
    info = Types.TUPLE([Types.INT()])
    to_lines = RecordsToLines(info, lines, rowtime=1)
    found = run(to_lines, Records([(1,)], [-1]))
    assert found.values == [(1, datetime.datetime(1969, 12, 31, 23, 59, 59, 999000, UTC))]
    assert found.timestamps is None
    back_type = Types.TUPLE([Types.INT(), Types.INSTANT()])
    back = run(LinesToRecords(lines, back_type, rowtime=1), found)
    assert back.timestamps == [-1]
    with pytest.raises(RecordError, match="without a timestamp has no 't'"):
        run(to_lines, Records([(1,)]))
    with pytest.raises(RecordError, match="'t' is NULL"):
        run(LinesToRecords(lines, back_type, rowtime=1), Records([(1, None)]))


def test_of_several_changes_of_a_key_the_last_one_is_told_where_no_other_is_wanted() -> None:
    columns = row_type(k=DataTypes.STRING(), n=DataTypes.INT(), v=DataTypes.INT())
    lines = RowDataTypeInfo(columns, changes=True)
    info = Types.ROW_NAMED(["k", "n", "v"], [Types.STRING(), Types.INT(), Types.INT()])
    changes = [
        ("a", 1, 10, 0),
        ("b", 1, 20, 0),
        ("a", 1, 11, 2),
        (None, 1, 30, 0),
        ("a", 2, 40, 0),
        ("b", 1, 20, 3),
        (None, 1, 31, 2),
        ("a", 1, 12, 2),
    ]
    codec = codec_for(lines)
    batch = Records(timestamps=list(range(8)), batch=codec.encode(changes), codec=codec)
    found = run(LinesToRecords(lines, info, newest_of=(0, 1)), batch)
    assert [(str(row.get_row_kind()), tuple(row)) for row in found.values] == [
        ("+I", ("a", 2, 40)),
        ("-D", ("b", 1, 20)),
        ("+U", (None, 1, 31)),
        ("+U", ("a", 1, 12)),
    ]
    assert found.timestamps == [4, 5, 6, 7]
    assert len(run(LinesToRecords(lines, info), batch).values) == 8


def test_keys_that_arrow_cannot_group_by_keep_all_their_changes() -> None:
    lines = RowDataTypeInfo(row_type(k=DataTypes.ARRAY(DataTypes.INT()), v=DataTypes.INT()))
    info = Types.ROW_NAMED(["k", "v"], [Types.LIST(Types.INT()), Types.INT()])
    codec = codec_for(lines)
    batch = Records(batch=codec.encode([([1], 1), ([1], 2)]), codec=codec)
    found = run(LinesToRecords(lines, info, newest_of=(0,)), batch)
    assert [row.v for row in found.values] == [1, 2]
