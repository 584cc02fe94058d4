"""Formats of tables: lines to messages and back, and what cannot be read."""

from __future__ import annotations

import datetime
import decimal
import json
import pickle
from typing import TYPE_CHECKING, Any

import pytest

from headrace.common.data_types import DataTypes, RawType, RowType
from headrace.errors import (
    BadMessageError,
    ConfigurationError,
    TypeMismatchError,
    UnsupportedStepError,
)
from headrace.formats import schema_registry
from headrace.formats.tables.registry import TABLE_FORMATS, format_of
from headrace.spi.table_format import LineReader, LineWriter, TableFormat
from table_runs import row_type

if TYPE_CHECKING:
    from headrace.formats.avro_schema import AvroSchema

UTC = datetime.UTC
D = decimal.Decimal
MOMENT = datetime.datetime(2020, 1, 2, 3, 4, 5, 678000)


def both(name: str, columns: RowType, **options: str) -> tuple[LineReader, LineWriter]:
    given = {f"{name}.{key.replace('__', '.').replace('_', '-')}": v for key, v in options.items()}
    found, settings = format_of("t", name, given)
    reader = pickle.loads(pickle.dumps(found.reader(columns, settings)))
    writer = pickle.loads(pickle.dumps(found.writer(columns, settings)))
    return reader, writer


def test_all_formats_can_be_made() -> None:
    for name in TABLE_FORMATS.names():
        found = TABLE_FORMATS.new(name)
        assert isinstance(found, TableFormat)
        assert found.name == name


NESTED = row_type(
    a=DataTypes.BIGINT(),
    b=DataTypes.ARRAY(row_type(x=DataTypes.DECIMAL(5, 2), y=DataTypes.TIMESTAMP(3))),
    c=DataTypes.MAP(DataTypes.STRING(), DataTypes.ARRAY(DataTypes.DOUBLE())),
    d=DataTypes.TIMESTAMP_LTZ(3),
    e=DataTypes.DATE(),
    f=DataTypes.TIME(),
)
LINES = [
    (
        2**40, [(D("1.50"), MOMENT), None], {"k": [0.5, None]}, MOMENT.replace(tzinfo=UTC),
        datetime.date(1969, 1, 2), datetime.time(1, 2, 3),
    ),
    (None,) * 6,
]  # fmt: skip


def test_nested_lines_go_through_json_and_avro() -> None:
    for reader, writer in (
        both("json", NESTED, timestamp_format__standard="ISO-8601"),
        both("json", NESTED),
    ):
        assert [line for line in LINES for line in reader.read(writer.write(line) or b"")] == LINES
    found, settings = format_of("t", "avro", {"avro.timestamp_mapping.legacy": "false"})
    reader, writer = found.reader(NESTED, settings), found.writer(NESTED, settings)
    assert [line for line in LINES for line in reader.read(writer.write(line) or b"")] == LINES


def test_json_is_read_leniently_as_in_flink() -> None:
    columns = row_type(
        a=DataTypes.INT(), b=DataTypes.STRING(), c=DataTypes.DECIMAL(4, 1), d=DataTypes.BOOLEAN(),
        e=DataTypes.DOUBLE(),
    )  # fmt: skip
    reader, _ = both("json", columns)
    cases: dict[str, Any] = {
        '{"a": "7", "b": 5, "c": 1.25, "d": "true", "e": "1e3"}': (7, "5", D("1.3"), True, 1000.0),
        '{"a": 1.9, "b": {"x": [1]}, "c": "99999", "d": 1, "e": 1}': (
            1,
            '{"x":[1]}',
            None,
            False,
            1,
        ),
        "{}": (None,) * 5,
    }
    for text, line in cases.items():
        assert list(reader.read(text.encode())) == [line], text
    assert list(reader.read(b'[{"a": 1}, {"a": 2}]')) == [(1, *[None] * 4), (2, *[None] * 4)]
    assert list(reader.read(b"null")) == []
    assert list(reader.read(b"")) == []
    for bad in (b"{", b'{"a": "x"}', b'{"a": 99999999999}', b"5", b'{"a": NaN}'):
        with pytest.raises(BadMessageError):
            reader.read(bad)


def test_timestamps_of_the_other_standard_are_told() -> None:
    reader, _ = both("json", row_type(t=DataTypes.TIMESTAMP(3)))
    with pytest.raises(BadMessageError, match=r"like 2020-01-31 12:30:00"):
        reader.read(b'{"t": "2020-01-02T03:04:05"}')
    assert reader.read(b'{"t": "2020-01-02 03:04:05.123456"}') == [
        (datetime.datetime(2020, 1, 2, 3, 4, 5, 123000),)
    ]


@pytest.mark.parametrize(
    ("kind", "value", "message"),
    [
        (DataTypes.STRING(), "ü", "ü".encode()),
        (DataTypes.BYTES(), b"\x00\x01", b"\x00\x01"),
        (DataTypes.BOOLEAN(), True, b"\x01"),
        (DataTypes.TINYINT(), -1, b"\xff"),
        (DataTypes.SMALLINT(), 258, b"\x01\x02"),
        (DataTypes.INT(), 1, b"\x00\x00\x00\x01"),
        (DataTypes.BIGINT(), -2, b"\xff\xff\xff\xff\xff\xff\xff\xfe"),
        (DataTypes.FLOAT(), 0.5, b"\x3f\x00\x00\x00"),
        (DataTypes.DOUBLE(), 0.5, b"\x3f\xe0\x00\x00\x00\x00\x00\x00"),
        (RawType(), {1}, pickle.dumps({1}, 5)),
    ],
)
def test_raw_messages_are_the_bytes_of_a_value(kind: Any, value: Any, message: bytes) -> None:
    reader, writer = both("raw", row_type(a=kind))
    assert writer.write((value,)) == message
    assert list(reader.read(message)) == [(value,)]
    assert writer.write((None,)) is None


def test_raw_numbers_of_another_length_are_told() -> None:
    reader, _ = both("raw", row_type(a=DataTypes.INT()), endianness="little-endian")
    assert list(reader.read(b"\x01\x00\x00\x00")) == [(1,)]
    with pytest.raises(TypeMismatchError, match="3 bytes"):
        reader.read(b"\x01\x00\x00")
    texts, _ = both("raw", row_type(a=DataTypes.STRING()), charset="utf-16", line_delimiter="\n")
    assert list(texts.read("a\nb".encode("utf-16-le"))) != []
    with pytest.raises(ConfigurationError, match="no charset"):
        both("raw", row_type(a=DataTypes.STRING()), charset="utf-99")
    with pytest.raises(UnsupportedStepError):
        both("raw", row_type(a=DataTypes.DATE()))


def test_options_that_exclude_each_other_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="cannot both be true"):
        both(
            "json",
            row_type(a=DataTypes.INT()),
            fail_on_missing_field="true",
            ignore_parse_errors="true",
        )


class _Registry:
    """A registry in memory, in place of the client's calls."""

    def __init__(self) -> None:
        self.schemas: list[tuple[str, AvroSchema]] = []

    def register(self, subject: str, schema: AvroSchema) -> int:
        self.schemas.append((subject, schema))
        return len(self.schemas)

    def schema(self, number: int) -> AvroSchema:
        return self.schemas[number - 1][1]


def test_messages_of_a_registry_are_read_by_the_schema_they_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    registry = _Registry()
    client = schema_registry.SchemaRegistryClient
    monkeypatch.setattr(client, "register", lambda self, *a: registry.register(*a))
    monkeypatch.setattr(client, "schema", lambda self, number: registry.schema(number))
    options = {"avro-confluent.url": "http://127.0.0.1:9", "avro-confluent.subject": "orders-value"}
    found, settings = format_of("t", "avro-confluent", options)
    narrow = row_type(id=DataTypes.INT())
    wide = row_type(id=DataTypes.INT(), name=DataTypes.STRING())
    message = found.writer(narrow, settings).write((7,))
    assert message is not None
    assert message[:5] == b"\x00\x00\x00\x00\x01"
    assert registry.schemas[0][0] == "orders-value"
    assert json.loads(str(registry.schemas[0][1]))["fields"][0]["name"] == "id"
    assert list(found.reader(wide, settings).read(message)) == [(7, None)]
    with pytest.raises(BadMessageError, match="zero byte"):
        found.reader(wide, settings).read(b"\x01")
    with pytest.raises(ConfigurationError, match="subject"):
        found.writer(wide, format_of("t", "avro-confluent", {"avro-confluent.url": "http://x"})[1])
