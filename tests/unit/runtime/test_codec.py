"""Round trips of every type through Arrow, and the words for records that do not fit."""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass, field
from decimal import Decimal
from enum import IntEnum
from typing import Any, NamedTuple, TypedDict

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.common.time import Instant
from headrace.common.type_inference import infer_type
from headrace.common.typeinfo import (
    ExternalTypeInfo,
    LocalTimeTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
    TypeInformation,
    Types,
)
from headrace.common.types import Row, RowKind
from headrace.data.codec import DoesNotFit, codec_for
from headrace.errors import InternalError

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
NAIVE = st.datetimes(dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31))
ZONED = st.datetimes(dt.datetime(2, 1, 1), dt.datetime(9998, 1, 1)).map(
    lambda value: value.replace(tzinfo=dt.timezone(dt.timedelta(hours=5)))
)


def bits(width: int) -> st.SearchStrategy[int]:
    return st.integers(-(1 << (width - 1)), (1 << (width - 1)) - 1)


SCALARS: list[tuple[TypeInformation, st.SearchStrategy[Any]]] = [
    (Types.BOOLEAN(), st.booleans()),
    (Types.BYTE(), bits(8)),
    (Types.SHORT(), bits(16)),
    (Types.INT(), bits(32)),
    (Types.LONG(), bits(64)),
    (Types.FLOAT(), st.floats(width=32, allow_nan=False)),
    (Types.DOUBLE(), st.floats(allow_nan=False)),
    (Types.STRING(), TEXT),
    (Types.CHAR(), st.characters(exclude_categories=["Cs"])),
    (Types.BIG_INT(), st.integers()),
    (Types.BIG_DEC(), st.decimals(allow_nan=False)),
    (Types.INSTANT(), bits(48).map(Instant.of_epoch_milli)),
    (Types.SQL_DATE(), st.dates()),
    (Types.SQL_TIME(), st.times()),
    (Types.SQL_TIMESTAMP(), NAIVE),
    (Types.TIMESTAMP_LTZ(), ZONED),
    (Types.PRIMITIVE_ARRAY(Types.BYTE()), st.binary(max_size=9)),
    (Types.PRIMITIVE_ARRAY(Types.INT()), st.lists(bits(32), max_size=4)),
    (Types.BASIC_ARRAY(Types.STRING()), st.lists(st.none() | TEXT, max_size=4)),
    (LocalTimeTypeInfo(LocalTimeTypeInfo.TimeType.LOCAL_DATE), st.dates()),
    (LocalTimeTypeInfo(LocalTimeTypeInfo.TimeType.LOCAL_DATE_TIME), NAIVE),
    (LocalTimeTypeInfo(LocalTimeTypeInfo.TimeType.LOCAL_TIME), st.times()),
    (ExternalTypeInfo(Types.INT()), bits(32)),
]
KEYS = [pair for pair in SCALARS if repr(pair[0]) in ("Long", "String", "Boolean", "DateTypeInfo")]
ANYTHING = st.sampled_from([("a", 1), {2}, frozenset({3}), 1 + 2j])


def nested(
    inner: st.SearchStrategy[tuple[TypeInformation, st.SearchStrategy[Any]]],
) -> st.SearchStrategy[tuple[TypeInformation, st.SearchStrategy[Any]]]:
    def as_list(pair: tuple[TypeInformation, st.SearchStrategy[Any]]) -> Any:
        return Types.LIST(pair[0]), st.lists(st.none() | pair[1], max_size=3)

    def as_map(pair: Any) -> Any:
        (key, keys), (value, values) = pair
        return Types.MAP(key, value), st.dictionaries(keys, st.none() | values, max_size=3)

    def as_tuple(pairs: Any) -> Any:
        return (
            Types.TUPLE([kind for kind, _ in pairs]),
            st.tuples(*(st.none() | values for _, values in pairs)),
        )

    def as_row(pairs: Any) -> Any:
        names = [f"name{i}" for i in range(len(pairs))]
        rows = st.tuples(*(st.none() | values for _, values in pairs)).map(
            lambda values: Row.of_values(tuple(values), names)
        )
        return Types.ROW_NAMED(names, [kind for kind, _ in pairs]), rows

    pairs = st.lists(inner, min_size=1, max_size=3)
    return st.one_of(
        inner.map(as_list),
        st.tuples(st.sampled_from(KEYS), inner).map(as_map),
        pairs.map(as_tuple),
        pairs.map(as_row),
    )


TYPES = st.recursive(
    st.sampled_from([*SCALARS, (Types.PICKLED_BYTE_ARRAY(), ANYTHING)]), nested, max_leaves=5
)


def same(one: Any, other: Any) -> bool:
    return one == other and repr(one) == repr(other)


@given(TYPES.flatmap(lambda pair: st.tuples(st.just(pair[0]), st.lists(pair[1], max_size=6))))
@settings(max_examples=300, deadline=None)
def test_every_type_survives_the_round_trip(case: tuple[TypeInformation, list[Any]]) -> None:
    kind, values = case
    codec = codec_for(kind)
    if codec.schema is None:
        return
    batch = codec.encode(values)
    assert batch.schema == codec.schema
    decoded = codec.decode(batch)
    assert decoded == values
    # A slice of a larger batch (Spark hands those out) decodes to the same part.
    assert codec.decode(batch.slice(1)) == values[1:]
    # So does a batch that went through the IPC format.
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, codec.schema) as writer:
        writer.write_batch(batch)
    with pa.ipc.open_stream(sink.getvalue()) as reader:
        assert codec.decode(reader.read_next_batch()) == values


@pytest.mark.parametrize(("kind", "values"), SCALARS, ids=[str(kind) for kind, _ in SCALARS])
def test_scalars_keep_python_types_and_none(
    kind: TypeInformation, values: st.SearchStrategy[Any]
) -> None:
    @given(st.lists(st.none() | values, max_size=8))
    @settings(max_examples=25, deadline=None)
    def run(column: list[Any]) -> None:
        codec = codec_for(kind)
        decoded = codec.decode(codec.encode(column))
        assert decoded == column
        assert list(map(type, decoded)) == list(map(type, column))

    run()


class Colour(IntEnum):
    RED = 1


MISFITS: list[tuple[TypeInformation, Any, str, Any]] = [
    (Types.BYTE(), 128, "", 128),
    (Types.SHORT(), -32769, "", -32769),
    (Types.INT(), 2**31, "", 2**31),
    (Types.LONG(), 2**63, "", 2**63),
    (Types.INT(), True, "", True),
    (Types.INT(), 1.0, "", 1.0),
    (Types.INT(), "1", "", "1"),
    (Types.DOUBLE(), "1", "", "1"),
    (Types.DOUBLE(), False, "", False),
    (Types.DOUBLE(), 10**400, "", 10**400),
    (Types.FLOAT(), 1e300, "", 1e300),
    (Types.BOOLEAN(), 1, "", 1),
    (Types.STRING(), b"x", "", b"x"),
    (Types.STRING(), 3, "", 3),
    (Types.STRING(), "\ud800", "", "\ud800"),
    (Types.CHAR(), "ab", "", "ab"),
    (Types.BIG_INT(), True, "", True),
    (Types.BIG_DEC(), 1.5, "", 1.5),
    (Types.INSTANT(), 5, "", 5),
    (Types.SQL_DATE(), dt.datetime(2020, 1, 1), "", dt.datetime(2020, 1, 1)),
    (Types.SQL_TIMESTAMP(), dt.date(2020, 1, 1), "", dt.date(2020, 1, 1)),
    (
        Types.SQL_TIMESTAMP(),
        dt.datetime(2020, 1, 1, tzinfo=dt.UTC),
        "",
        dt.datetime(2020, 1, 1, tzinfo=dt.UTC),
    ),
    (Types.TIMESTAMP_LTZ(), dt.datetime(2020, 1, 1), "", dt.datetime(2020, 1, 1)),
    (Types.PRIMITIVE_ARRAY(Types.BYTE()), "x", "", "x"),
    (Types.PRIMITIVE_ARRAY(Types.INT()), [1, None], "[1]", None),
    (Types.LIST(Types.INT()), [1, "x"], "[1]", "x"),
    (Types.LIST(Types.STRING()), "abc", "", "abc"),
    (Types.LIST(Types.INT()), {1}, "", {1}),
    (Types.MAP(Types.STRING(), Types.INT()), {"a": "b"}, "['a']", "b"),
    (Types.MAP(Types.STRING(), Types.INT()), {None: 1}, " key", None),
    (Types.MAP(Types.STRING(), Types.INT()), [("a", 1)], "", [("a", 1)]),
    (Types.TUPLE([Types.INT(), Types.STRING()]), (1, 2), "f1", 2),
    (Types.TUPLE([Types.INT(), Types.STRING()]), (1,), "", (1,)),
    (Types.TUPLE([Types.INT(), Types.STRING()]), None, "", None),
    (Types.TUPLE([Types.INT()]), 7, "", 7),
    (Types.ROW([Types.INT(), Types.INT()]), Row(1), "", Row(1)),
    (Types.ROW_NAMED(["a"], [Types.INT()]), Row(b=1), "", Row(b=1)),
    (Types.ROW_NAMED(["a"], [Types.INT()]), None, "", None),
    (Types.ROW_NAMED(["a"], [Types.INT()]), 5, "", 5),
    (
        Types.ROW_NAMED(["a"], [Types.ROW_NAMED(["b"], [Types.LIST(Types.INT())])]),
        Row(Row([1, 2, "x"])),
        "a.b[2]",
        "x",
    ),
    (Types.TUPLE([Types.PICKLED_BYTE_ARRAY()]), (lambda: 0,), "f0", None),
]


@pytest.mark.parametrize(("kind", "value", "where", "part"), MISFITS)
def test_first_misfit_is_named(kind: TypeInformation, value: Any, where: str, part: Any) -> None:
    good = {
        TupleTypeInfo: (None,) * 2,
        RowTypeInfo: Row(None),
    }.get(type(kind))
    if isinstance(kind, TupleTypeInfo | RowTypeInfo):
        size = len(kind.get_field_types())
        good = (None,) * size if isinstance(kind, TupleTypeInfo) else Row(*[None] * size)
    with pytest.raises(DoesNotFit) as caught:
        codec_for(kind).encode([good, good, value, value])
    assert caught.value.index == 2
    assert caught.value.field == where
    if part is not None or value is None:
        assert same(caught.value.value, part)
    assert "expected" in str(caught.value)


def test_misfit_text_names_field_value_and_expectation() -> None:
    with pytest.raises(DoesNotFit) as caught:
        codec_for(Types.TUPLE([Types.STRING(), Types.INT()])).encode([("a", 3_000_000_000)])
    assert str(caught.value) == (
        "field 'f1' is 3000000000 of type int, expected int from -2147483648 to 2147483647"
    )


def test_numpy_scalars_and_enums_are_taken_and_come_back_plain() -> None:
    codec = codec_for(Types.TUPLE([Types.INT(), Types.DOUBLE(), Types.STRING()]))
    values = [(np.int64(3), np.float32(0.5), np.str_("x")), (Colour.RED, 7, "y")]
    decoded = codec.decode(codec.encode(values))
    assert decoded == [(3, 0.5, "x"), (1, 7.0, "y")]
    assert [type(part) for part in decoded[0]] == [int, float, str]


def test_whole_numbers_in_a_float_column_become_floats() -> None:
    codec = codec_for(Types.DOUBLE())
    decoded = codec.decode(codec.encode([1, 2**60 + 1, 0.5]))
    assert decoded == [1.0, float(2**60 + 1), 0.5]
    assert all(type(value) is float for value in decoded)


def test_infinity_and_nan_survive_single_precision() -> None:
    codec = codec_for(Types.FLOAT())
    low, nan, high = codec.decode(codec.encode([-math.inf, math.nan, math.inf]))
    assert low == -math.inf
    assert math.isnan(nan)
    assert high == math.inf


def test_named_rows_are_reordered_and_other_shapes_taken() -> None:
    class Plain:
        def __init__(self) -> None:
            self.b, self.a = "o", 5

    codec = codec_for(Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.STRING()]))
    values = [Row(b="x", a=1), Row(a=2, b="y"), Row(3, "z"), (4, "t"), {"b": "d"}, Plain()]
    decoded = codec.decode(codec.encode(values))
    assert [list(row) for row in decoded] == [
        [1, "x"], [2, "y"], [3, "z"], [4, "t"], [None, "d"], [5, "o"],
    ]  # fmt: skip
    assert repr(decoded[0]) == "Row(a=1, b='x')"


def test_unnamed_rows_are_decoded_with_f_names() -> None:
    codec = codec_for(Types.ROW([Types.INT()]))
    assert codec.schema == pa.schema([pa.field("f0", pa.int32())])
    assert repr(codec.decode(codec.encode([Row(x=1), Row(2)]))) == "[Row(f0=1), Row(f0=2)]"


def test_change_kinds_travel_beside_the_batch_or_not_at_all() -> None:
    codec = codec_for(Types.ROW_NAMED(["a"], [Types.INT()]))
    rows = [Row(a=1), Row.of_kind(RowKind.DELETE, a=2), Row.of_kind(RowKind.UPDATE_AFTER, a=3)]
    batch, kinds = codec.encode_changelog(rows)
    assert kinds == bytes([0, 3, 2])
    assert codec.decode(batch, kinds) == rows
    assert codec.encode_changelog([Row(a=1), (2,)])[1] is None
    with pytest.raises(DoesNotFit) as caught:
        codec.encode(rows)
    assert (caught.value.index, caught.value.field) == (1, "row kind")
    inner = codec_for(Types.ROW([Types.ROW_NAMED(["a"], [Types.INT()])]))
    with pytest.raises(DoesNotFit):
        inner.encode_changelog([Row(rows[1])])


def test_pickled_and_empty_types_have_no_schema() -> None:
    for kind in (Types.PICKLED_BYTE_ARRAY(), Types.TUPLE([]), Types.ROW([])):
        codec = codec_for(kind)
        assert codec.schema is None
        with pytest.raises(InternalError):
            codec.encode([1])


def test_decode_ignores_columns_the_engine_added() -> None:
    codec = codec_for(Types.TUPLE([Types.INT()]))
    batch = codec.encode([(1,), (2,)]).append_column("__ts", pa.array([5, 6]))
    assert codec.decode(batch) == [(1,), (2,)]


@dataclass
class Point:
    x: int
    y: float | None
    tags: list[str] = field(default_factory=list)
    calls: int = 0

    def __post_init__(self) -> None:
        self.calls += 1


@dataclass(frozen=True, slots=True)
class Frozen:
    point: Point
    day: dt.date


class Pair(NamedTuple):
    left: int
    right: str | None


class Entry(TypedDict):
    name: str
    size: int


def test_records_of_user_classes_come_back_as_instances() -> None:
    cases: list[tuple[Any, list[Any]]] = [
        (Point, [Point(1, None, ["a"]), Point(2, 0.5)]),
        (Frozen, [Frozen(Point(1, 2.0), dt.date(2020, 1, 1))]),
        (Pair, [Pair(1, "x"), Pair(2, None)]),
        (Entry, [{"name": "n", "size": 3}]),
        (tuple[Pair, Entry], [(Pair(1, "x"), {"name": "n", "size": 3})]),
        (list[Pair], [[Pair(1, "x")], []]),
        (dict[str, Point], [{"a": Point(1, 1.0)}]),
    ]
    for hint, values in cases:
        kind = infer_type(hint)
        assert kind is not None
        codec = codec_for(kind)
        decoded = codec.decode(codec.encode(values))
        assert same(decoded, values)  # __post_init__ did not run again


def test_instances_of_other_classes_do_not_fit() -> None:
    class Longer(Point):
        pass

    kind = infer_type(Point)
    assert kind is not None
    with pytest.raises(DoesNotFit) as caught:
        codec_for(kind).encode([Point(1, 2.0), Longer(1, 2.0)])
    assert caught.value.index == 1
    entry = infer_type(Entry)
    assert entry is not None
    with pytest.raises(DoesNotFit):
        codec_for(entry).encode([{"name": "x", "size": 1, "extra": 2}])


def test_decimals_keep_digits_and_exponent() -> None:
    codec = codec_for(Types.BIG_DEC())
    values = [Decimal("1.10"), Decimal("1E+500"), Decimal("-0")]
    assert list(map(str, codec.decode(codec.encode(values)))) == ["1.10", "1E+500", "-0"]
