"""Many CSV lines at once: what comes out as columns is what comes out one by one."""

from __future__ import annotations

import pickle
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from headrace.common.typeinfo import Types
from headrace.common.types import Row
from headrace.data.codec import codec_for
from headrace.datastream.formats.csv import CsvRowDeserializationSchema
from headrace.errors import BadMessageError, InvalidArgumentError

FIELDS: dict[str, Any] = {
    "s": Types.STRING(),
    "b": Types.BOOLEAN(),
    "i": Types.INT(),
    "l": Types.LONG(),
    "f": Types.FLOAT(),
    "d": Types.DOUBLE(),
    "day": Types.SQL_DATE(),
    "time": Types.SQL_TIME(),
    "ts": Types.SQL_TIMESTAMP(),
}


def schema(names: tuple[str, ...], **options: Any) -> CsvRowDeserializationSchema:
    kind = Types.ROW_NAMED(list(names), [FIELDS[name] for name in names])
    builder = CsvRowDeserializationSchema.Builder(kind)
    for option, value in options.items():
        builder = getattr(builder, option)(value)
    return builder.build()


def one_by_one(reader: CsvRowDeserializationSchema, messages: list[bytes]) -> list[Any] | None:
    try:
        return [reader.deserialize(message) for message in messages]
    except BadMessageError:
        return None


def at_once(reader: CsvRowDeserializationSchema, messages: list[bytes]) -> list[Any] | None:
    batch = reader.deserialize_columns(pa.array(messages, pa.binary()))
    if batch is None:
        return None
    codec = codec_for(reader.get_produced_type())
    assert batch.schema == codec.schema
    batch.validate(full=True)
    return codec.decode(batch)


texts = st.one_of(
    st.text(max_size=5),
    st.text(alphabet="\"'a,;| \t\n\r#\\", max_size=6),
    st.sampled_from(
        ["n/a", '"n/a"', " n/a", '"a"b', 'a"b', '""', '"a""b"', '"a,b"', "#x", "\ufeff1"]
    ),
)
numbers = st.one_of(
    st.integers(-(2**64), 2**64).map(str),
    st.floats().map(repr),
    st.sampled_from(
        [
            "",
            " 1 ",
            "\t1",
            "+1",
            "-0",
            "007",
            "0x10",
            " -0X1f",
            '"0x1"',
            '" 1"',
            "1_000",
            "nan",
            "NaN",
            "inf",
            "-inf",
            "Infinity",
            "1f",
            ".5",
            "5.",
            "1e5",
            "1e400",
            "1e",
            "1e39",
            "\x0b1",
            "n/a",
            " n/a",
            '"n/a"',
            "1\x00",
        ]
    ),
)
times = st.one_of(
    st.datetimes().map(str),
    st.dates().map(str),
    st.times().map(lambda at: at.isoformat()[:8]),
    st.sampled_from(
        [
            "2020-02-30",
            "2020-1-1",
            "25:00:00",
            "24:00:00",
            "2020-01-01 24:00:00",
            "0000-01-01",
            " 2020-01-01 00:00:00",
            "2020-01-01 00:00:00.1234567",
            "2020-01-01 00:00:00.",
            "n/a",
            "",
        ]
    ),
)
cells = st.one_of(texts, numbers, times, st.sampled_from(["true", "FALSE", " True\t", "x"]))
lines = st.one_of(
    st.lists(cells, max_size=4).map(",".join),
    st.lists(cells, max_size=3).map("|".join),
    st.tuples(
        st.lists(cells, min_size=1, max_size=3).map(",".join),
        st.sampled_from(["\n", "\r\n", "\r", "\n\n", "\n1", ","]),
    ).map("".join),
    st.tuples(numbers, texts).map(",".join),
    st.sampled_from(["", " ", "\n", "#", '"', '"a', ","]),
).map(lambda text: text.encode(errors="surrogatepass"))
options = st.sampled_from(
    [
        {},
        {"set_field_delimiter": "|"},
        {"set_quote_character": "'"},
        {"set_null_literal": "n/a"},
        {"set_null_literal": ""},
        {"set_allow_comments": True},
        {"set_ignore_parse_errors": True},
        {"set_escape_character": "\\"},
        {"set_field_delimiter": " "},
    ]
)


@settings(max_examples=700, deadline=None)
@given(
    st.lists(lines, max_size=3),
    st.lists(st.sampled_from(list(FIELDS)), min_size=1, max_size=3, unique=True).map(tuple),
    options,
)
@example([b'"a', b'b"'], ("s",), {})
@example([b"0x10"], ("l",), {})
@example([b"nan"], ("d",), {})
@example([b"1,a"], ("l", "s"), {})
@example([b"\xef\xbb\xbfa", b"\xef\xbb\xbfb"], ("s",), {})
@example([b"1,\xff"], ("l", "s"), {})
@example([b"2020-02-30"], ("day",), {})
@example([b"", b"a\nb"], ("s",), {})
def test_columns_are_what_records_are(
    messages: list[bytes], names: tuple[str, ...], chosen: dict[str, Any]
) -> None:
    reader = schema(names, **chosen)
    columns = at_once(reader, messages)
    if columns is not None:
        assert repr(columns) == repr(one_by_one(reader, messages))


@pytest.mark.parametrize(
    ("names", "messages", "chosen"),
    [
        (("l", "s"), [b"1,a", b'2,"b,""c"""', b" 3 ,"], {}),
        (("l", "s"), [b"1,a\n", b"2,b\r\n", b"3,c"], {}),
        (("d", "f", "b"), [b"1.5|2|true", b"-0|1e39| TRUE "], {"set_field_delimiter": "|"}),
        (("s", "l"), [b"n/a,n/a", b'"n/a",1', b" n/a,2"], {"set_null_literal": "n/a"}),
        (("day", "time", "ts"), [b"2020-01-31,12:30:00,2020-01-31 12:30:00.5"], {}),
        (("s", "l"), [b"0xff,1"], {}),
    ],
)
def test_plain_lines_are_taken_as_columns(
    names: tuple[str, ...], messages: list[bytes], chosen: dict[str, Any]
) -> None:
    reader = schema(names, **chosen)
    found = at_once(reader, messages)
    assert found is not None
    assert repr(found) == repr(one_by_one(reader, messages))


def test_a_bad_line_says_what_and_which() -> None:
    with pytest.raises(BadMessageError, match=r"field 'l': 'x' is not a whole number.*b'x,1'"):
        schema(("l", "s")).deserialize(b"x,1")


def test_a_type_that_a_cell_cannot_hold_is_refused_at_once() -> None:
    kind = Types.ROW_NAMED(["m"], [Types.MAP(Types.STRING(), Types.LONG())])
    with pytest.raises(InvalidArgumentError, match="cannot hold a MapTypeInfo"):
        CsvRowDeserializationSchema.Builder(kind).build()


def test_a_schema_travels_after_use() -> None:
    reader = schema(("l", "s"))
    reader.deserialize(b"1,a")
    reader.deserialize_columns(pa.array([b"1,a"], pa.binary()))
    assert pickle.loads(pickle.dumps(reader)).deserialize(b"2,b") == Row(l=2, s="b")
