"""Names of types."""

from __future__ import annotations

import pytest

from headrace.errors import SqlParseError
from headrace.sql.ast import TypeField, TypeName
from headrace.sql.parser import parse_type
from headrace.sql.render import render

INT, STRING = TypeName("INT"), TypeName("STRING")


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("INTEGER", INT),
        ("int not null", TypeName("INT", nullable=False)),
        ("INT NULL", INT),
        ("DOUBLE PRECISION", TypeName("DOUBLE")),
        ("NUMERIC(10, 2)", TypeName("DECIMAL", (10, 2))),
        ("DEC", TypeName("DECIMAL")),
        ("CHAR(3)", TypeName("CHAR", (3,))),
        ("CHARACTER VARYING(3)", TypeName("VARCHAR", (3,))),
        ("BINARY VARYING", TypeName("VARBINARY")),
        ("BYTES", TypeName("BYTES")),
        ("TIME(3)", TypeName("TIME", (3,))),
        ("TIME WITHOUT TIME ZONE", TypeName("TIME")),
        ("TIMESTAMP(3)", TypeName("TIMESTAMP", (3,))),
        ("TIMESTAMP WITHOUT TIME ZONE", TypeName("TIMESTAMP")),
        ("TIMESTAMP(3) WITH TIME ZONE", TypeName("TIMESTAMP_TZ", (3,))),
        ("TIMESTAMP(3) WITH LOCAL TIME ZONE", TypeName("TIMESTAMP_LTZ", (3,))),
        ("TIMESTAMP_LTZ(9)", TypeName("TIMESTAMP_LTZ", (9,))),
        ("INTERVAL MONTH", TypeName("INTERVAL", units=("MONTH",))),
        ("INTERVAL YEAR(4) TO MONTH", TypeName("INTERVAL", (4, None), units=("YEAR", "MONTH"))),
        ("INTERVAL DAY TO SECOND(3)", TypeName("INTERVAL", (None, 3), units=("DAY", "SECOND"))),
        ("INTERVAL SECOND(2, 3)", TypeName("INTERVAL", (2, 3), units=("SECOND",))),
        ("ARRAY<INT>", TypeName("ARRAY", arguments=(INT,))),
        ("INT ARRAY", TypeName("ARRAY", arguments=(INT,))),
        ("INT NOT NULL ARRAY NOT NULL",
         TypeName("ARRAY", arguments=(TypeName("INT", nullable=False),), nullable=False)),
        ("ARRAY<ARRAY<INT>>", TypeName("ARRAY", arguments=(TypeName("ARRAY", arguments=(INT,)),))),
        ("MULTISET<STRING>", TypeName("MULTISET", arguments=(STRING,))),
        ("STRING MULTISET", TypeName("MULTISET", arguments=(STRING,))),
        ("MAP<STRING, INT>", TypeName("MAP", arguments=(STRING, INT))),
        ("ROW<a INT, `b c` STRING NOT NULL 'text'>", TypeName("ROW", fields=(
            TypeField("a", INT), TypeField("b c", TypeName("STRING", nullable=False), "text")))),
        ("ROW(a INT)", TypeName("ROW", fields=(TypeField("a", INT),))),
        ("ROW<>", TypeName("ROW")),
        ("RAW('Cls', 'AAE=')", TypeName("RAW", strings=("Cls", "AAE="))),
        ("STRUCTURED<'Cls', a INT>",
         TypeName("STRUCTURED", fields=(TypeField("a", INT),), strings=("Cls",))),
        ("VARIANT", TypeName("VARIANT")),
        ("db.my_type", TypeName("db.my_type", identifier=("db", "my_type"))),
    ],
)  # fmt: skip
def test_types(sql: str, expected: TypeName) -> None:
    found = parse_type(sql)
    assert found == expected
    assert parse_type(render(found)) == found


@pytest.mark.parametrize(
    ("sql", "fix"),
    [
        ("TEXT", "write STRING instead of TEXT"),
        ("long", "write BIGINT instead of LONG"),
        ("STRUCT<a INT>", "write ROW<name type, ..> instead of STRUCT"),
        ("DATETIME", r"write TIMESTAMP\(3\) instead of DATETIME"),
        ("REAL", "write FLOAT instead of REAL"),
        ("TIME WITH TIME ZONE", "TIMESTAMP_LTZ"),
    ],
)
def test_types_of_other_dialects_name_ours(sql: str, fix: str) -> None:
    with pytest.raises(SqlParseError, match=fix):
        parse_type(sql)
