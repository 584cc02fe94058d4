"""Many JSON messages at once: what comes out as columns is what comes out one by one."""

from __future__ import annotations

import dataclasses
import json
import pickle
from typing import Any

import pyarrow as pa
import pyarrow.json as pj
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from headrace.common.typeinfo import Types
from headrace.common.types import Row
from headrace.data.codec import codec_for
from headrace.datastream.formats.json import JsonRowDeserializationSchema
from headrace.errors import BadMessageError
from headrace.formats import json_objects
from headrace.formats.json_objects import ObjectReader

NESTED = Types.ROW_NAMED(["x", "at"], [Types.LONG(), Types.SQL_TIMESTAMP()])
FIELDS: dict[str, Any] = {
    "s": Types.STRING(),
    "b": Types.BOOLEAN(),
    "i8": Types.BYTE(),
    "i16": Types.SHORT(),
    "i": Types.INT(),
    "l": Types.LONG(),
    "f": Types.FLOAT(),
    "d": Types.DOUBLE(),
    "day": Types.SQL_DATE(),
    "time": Types.SQL_TIME(),
    "ts": Types.SQL_TIMESTAMP(),
    "row": NESTED,
    "list": Types.OBJECT_ARRAY(Types.DOUBLE()),
    "rows": Types.LIST(NESTED),
    "prim": Types.PRIMITIVE_ARRAY(Types.INT()),
}
ALL = Types.ROW_NAMED(list(FIELDS), list(FIELDS.values()))
# what msgspec reads; Arrow's reader reads the rest
FLAT_FIELDS = {name: kind for name, kind in FIELDS.items() if type(kind) not in (
    type(NESTED), *(type(FIELDS[name]) for name in ("list", "rows", "prim"))
)}  # fmt: skip
FLAT = Types.ROW_NAMED(list(FLAT_FIELDS), list(FLAT_FIELDS.values()))


def schema(kind: Any = ALL, *, complete: bool = False) -> JsonRowDeserializationSchema:
    builder = JsonRowDeserializationSchema.builder().type_info(kind)
    return (builder.fail_on_missing_field() if complete else builder).build()


def one_by_one(reader: JsonRowDeserializationSchema, messages: list[bytes]) -> list[Any] | None:
    try:
        return [reader.deserialize(message) for message in messages]
    except BadMessageError:
        return None


def at_once(reader: JsonRowDeserializationSchema, messages: list[bytes]) -> list[Any] | None:
    batch = reader.deserialize_columns(pa.array(messages, pa.binary()))
    if batch is None:
        return None
    codec = codec_for(reader.get_produced_type())
    assert batch.schema == codec.schema
    batch.validate(full=True)
    return codec.decode(batch)


def check(reader: JsonRowDeserializationSchema, messages: list[bytes]) -> None:
    columns = at_once(reader, messages)
    if columns is not None:
        # repr: 0.0 and -0.0 are equal, and NaN is not itself
        assert repr(columns) == repr(one_by_one(reader, messages))


numbers = st.one_of(
    st.integers(-(2**65), 2**65).map(str),
    st.floats().map(repr),
    st.floats(-1e6, 1e6).map(repr),
    st.sampled_from(
        [
            "-0",
            "-0.0",
            "0.0",
            "1e2",
            "1E+2",
            "1.0",
            "127",
            "128",
            "1e400",
            "01",
            ".5",
            "1.",
            "+1",
            "NaN",
            "3.4028236e38",
            "16777217",
            "0.1",
            "1e-320",
            "9007199254740993",
            "9007199254740993.0",
        ]
    ),
)
times = st.one_of(
    st.datetimes().map(lambda at: at.isoformat() + "Z"),
    st.dates().map(str),
    st.times().map(lambda at: at.isoformat()[:8] + "Z"),
    st.sampled_from(
        [
            "2020-02-30T00:00:00Z",
            "2020-01-01T24:00:00Z",
            "2020-01-01T00:00:00.1234567Z",
            "0000-01-01",
            "2020-02-30",
            "2020-01-01T00:00:00+00:00",
            "24:00:00Z",
            "12:00:00.0Z",
            "2020-01-01T00:00:00.Z",
            "2020-01-01\n",
            "12:30:00Z\n",
            "2020-01-01T00:00Z",
        ]
    ),
)
texts = st.one_of(st.text(max_size=8), times).map(lambda text: json.dumps(text, ensure_ascii=False))
escaped = st.one_of(st.text(max_size=4), times).map(json.dumps)
odd = st.sampled_from(
    [
        '"\\ud800"',
        '"\\udc00\\ud800"',
        '"a\nb"',
        '"a\tb"',
        '"\x00"',
        '"\\u0000"',
        '"}\n{"',
        '"}{"',
        '"',
        "{",
        "}",
        "",
        "tru",
        '"\\x"',
    ]
)
scalars = st.one_of(st.sampled_from(["null", "true", "false"]), numbers, texts, escaped)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda items: f"[{','.join(items)}]"),
        st.lists(st.tuples(st.sampled_from(["x", "at", "z"]), inner), max_size=3).map(
            lambda items: "{" + ", ".join(f'"{k}" :{v}' for k, v in items) + "}"
        ),
    ),
    max_leaves=4,
)
names = st.sampled_from([*FIELDS, "unknown", "\\u0073"])


def joined(fields: list[tuple[str, str]]) -> str:
    return "{" + ",".join(f'"{name}":{value}' for name, value in fields) + "}"


objects = st.lists(st.tuples(names, values), max_size=4).map(joined)
odd_objects = st.lists(st.tuples(names, st.one_of(values, odd)), max_size=3).map(joined)
messages = st.one_of(
    objects,
    objects,
    odd_objects,
    values,
    st.tuples(objects, st.sampled_from(["", " ", "\n", "{}", ",", "x", "\x00", "}", "\v"])).map(
        "".join
    ),
    st.tuples(st.sampled_from([" ", "\n", "\ufeff", "[", "\v"]), objects).map("".join),
    st.tuples(objects, objects).map("".join),
    st.sampled_from(
        ["", " ", "null", "{}", "}{", '{"s":"', '"}', '{"s":"x}', '{y"}', '{"row":{}', "{}}"]
    ),
).map(lambda text: text.encode(errors="surrogatepass"))


@settings(max_examples=400, deadline=None)
@given(st.lists(messages, max_size=4))
@example([b'{"s":"x}', b'{y"}', b"{}{}"])
@example([b"{}{}", b'{"row":{}', b"{}}"])
@example([b'{"d":-0}'])
@example([b'{"d":-0.0,"s":"\xff"}'])
@example([b'{"unknown":"\xff"}'])
@example([b'{"s":1}', b'{"s":"1"}'])
@example([b'{"prim":[1,null]}'])
@example([b'{"l":1,"l":2}'])
@example([b'{"unknown":1,"unknown":2}'])
def test_columns_are_what_records_are(found: list[bytes]) -> None:
    for kind in (ALL, FLAT):
        check(schema(kind), found)
        check(schema(kind, complete=True), found)


def typed(kind: Any) -> st.SearchStrategy[str]:
    """A value that mostly fits, so that columns are mostly taken."""
    if kind == FIELDS["s"]:
        return texts
    if kind == FIELDS["b"]:
        return st.sampled_from(["true", "false"])
    if kind in (FIELDS["i8"], FIELDS["i16"], FIELDS["i"], FIELDS["l"]):
        return st.integers(-128, 127).map(str)
    if kind in (FIELDS["f"], FIELDS["d"]):
        return st.floats(allow_nan=False, allow_infinity=False).map(repr)
    if kind == FIELDS["list"]:
        return st.lists(st.sampled_from(["1.5", "null", "1e3", "7"]), max_size=3).map(
            lambda items: f"[{','.join(items)}]"
        )
    if kind == FIELDS["prim"]:
        return st.lists(st.integers(-9, 9), max_size=3).map(str)
    if kind == FIELDS["row"]:
        return st.sampled_from(['{"x":1,"at":"2020-01-01T00:00:00.25Z"}', "{}", '{"at":null}'])
    if kind == FIELDS["rows"]:
        return st.sampled_from(['[{"x":1},null,{}]', "[]", '[{"at":"1999-12-31T23:59:59Z"}]'])
    at = st.datetimes()
    if kind == FIELDS["day"]:
        return at.map(lambda t: f'"{t.date()}"')
    if kind == FIELDS["time"]:
        return at.map(lambda t: f'"{t.time().isoformat()[:8]}Z"')
    return at.map(lambda t: f'"{t.isoformat()}Z"')


fitting = st.fixed_dictionaries(
    {}, optional={name: st.one_of(typed(kind), st.just("null")) for name, kind in FIELDS.items()}
).map(lambda found: joined(list(found.items())).encode())


@settings(max_examples=150, deadline=None)
@given(st.lists(fitting, min_size=1, max_size=5))
def test_messages_that_fit_are_taken_as_columns(found: list[bytes]) -> None:
    negative_zero = any(b":-0" in message for message in found)
    for kind in (ALL, FLAT):
        check(schema(kind), found)
        assert negative_zero or at_once(schema(kind), found) is not None


@settings(max_examples=100, deadline=None)
@given(st.lists(fitting, min_size=1, max_size=5))
def test_both_readers_of_flat_objects_find_the_same(found: list[bytes]) -> None:
    reader = ObjectReader.of(["s", "b", "i", "d"], _TYPES)
    assert reader is not None
    arrays = reader.read(pa.array(found, pa.binary()).cast(pa.string()))
    assert arrays is not None
    options = pj.ParseOptions(
        explicit_schema=pa.schema(list(zip(["s", "b", "i", "d"], _TYPES, strict=True))),
        unexpected_field_behavior="ignore",
    )
    table = pj.read_json(pa.BufferReader(b"\n".join(found)), parse_options=options)
    assert repr([a.to_pylist() for a in arrays]) == repr([c.to_pylist() for c in table.columns])


_TYPES = [pa.string(), pa.bool_(), pa.int32(), pa.float64()]


def test_msgspec_is_not_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_objects, "msgspec", None)
    found = [b'{"l":1,"s":"a"}', b'{"l":2}']
    assert at_once(schema(FLAT), found) == one_by_one(schema(FLAT), found)


def test_flat_objects_are_not_read_by_arrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(pj, "read_json")
    found = [b'{"l":1,"z":{"x":[1]},"s":"a"}', b' {"l":2}\n']
    assert at_once(schema(FLAT), found) == one_by_one(schema(FLAT), found)


def test_no_messages_are_no_rows() -> None:
    assert at_once(schema(), []) == []


def test_a_type_without_columns_is_read_one_by_one() -> None:
    for kind in (Types.MAP(Types.STRING(), Types.LONG()), Types.BIG_DEC(), Types.INSTANT()):
        reader = schema(Types.ROW_NAMED(["v"], [kind]))
        assert at_once(reader, [b"{}"]) is None
        assert one_by_one(reader, [b"{}"]) == [Row(v=None)]


@pytest.mark.parametrize("depth", [50, 290, 900, 5_000, 200_000])
def test_deep_nesting_is_an_error_and_no_crash(depth: int) -> None:
    message = b'{"unknown":' + b"[" * depth + b"]" * depth + b"}"
    check(schema(), [message])
    if depth >= 5_000:
        with pytest.raises(BadMessageError, match="nested too deeply"):
            schema().deserialize(message)


def test_an_object_larger_than_a_block_is_read_as_columns() -> None:
    large = json.dumps({"s": "x" * 3_000_000}).encode()
    found = [b'{"s":"a"}', large, b'{"s":"b"}']
    assert at_once(schema(), found) == one_by_one(schema(), found)


def test_blanks_around_objects_do_not_cost_the_columns() -> None:
    assert at_once(schema(), [b'{"l":1}\n', b' {"l":2}\r\n']) == one_by_one(
        schema(), [b'{"l":1}', b'{"l":2}']
    )


def test_many_messages_are_read_part_by_part() -> None:
    found = [b'{"l":%d,"s":"x"}' % number for number in range(9_001)]
    assert at_once(schema(FLAT), found) == one_by_one(schema(FLAT), found)
    # two objects in one text and none in another, in different parts
    assert at_once(schema(FLAT), [b"{}{}", *found, b"{} "]) is None


def test_slices_of_messages_are_read() -> None:
    found = pa.array([b"x", b'{"l":1}', b'{"l":2}', b"y"], pa.binary()).slice(1, 2)
    batch = schema().deserialize_columns(found)
    assert batch is not None
    assert batch.column("l").to_pylist() == [1, 2]


def test_messages_without_a_value_are_left_to_the_caller() -> None:
    assert schema().deserialize_columns(pa.array([None, b"{}"], pa.binary())) is None


@dataclasses.dataclass
class Order:
    id: int
    item: str | None = None


def test_objects_become_instances_of_a_class() -> None:
    reader: Any = JsonRowDeserializationSchema.builder().type_info(Order).build()  # type: ignore[arg-type]
    found = [b'{"id":1,"item":"tea"}', b'{"id":2}']
    assert one_by_one(reader, found) == [Order(1, "tea"), Order(2)] == at_once(reader, found)


def test_a_schema_travels_after_use() -> None:
    reader = schema()
    check(reader, [b'{"l":1}'])
    check(pickle.loads(pickle.dumps(reader)), [b'{"l":1}'])
    flat = schema(FLAT)
    check(flat, [b'{"l":1}'])
    check(pickle.loads(pickle.dumps(flat)), [b'{"l":1}'])
