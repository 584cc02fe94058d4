# ruff: noqa: E501  (lists of odd values read better as lists)
"""The cases: schemas and what they are given. Written once, run by Flink and by headrace.

Next: run_pyflink.py writes golden.json; tests/unit/formats/test_against_flink.py compares
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

# Each is the type of the one field `v`, tried with every value below.
JSON_TYPES = [
    "Types.BOOLEAN()",
    "Types.STRING()",
    "Types.BYTE()",
    "Types.SHORT()",
    "Types.INT()",
    "Types.LONG()",
    "Types.FLOAT()",
    "Types.DOUBLE()",
    "Types.BIG_INT()",
    "Types.BIG_DEC()",
    "Types.SQL_DATE()",
    "Types.SQL_TIME()",
    "Types.SQL_TIMESTAMP()",
    "Types.OBJECT_ARRAY(Types.LONG())",
    "Types.BASIC_ARRAY(Types.STRING())",
    "Types.PRIMITIVE_ARRAY(Types.BYTE())",
    "Types.MAP(Types.STRING(), Types.LONG())",
    "Types.ROW_NAMED(['x', 'y'], [Types.LONG(), Types.STRING()])",
    "Types.OBJECT_ARRAY(Types.ROW_NAMED(['x'], [Types.LONG()]))",
]

JSON_VALUES = [
    "null",
    "true",
    "false",
    "0",
    "1",
    "-5",
    "1.0",
    "1.5",
    "1.50",
    "1e2",
    "1.0E5",
    "-0",
    "-0.0",
    "127",
    "128",
    "32768",
    "2147483647",
    "2147483648",
    "9223372036854775807",
    "9223372036854775808",
    "9223372036854775808.0",
    "1e19",
    "1e400",
    "1.7976931348623157e308",
    "3.4028236e38",
    "0.1",
    "100000000.0",
    "1e-7",
    "123456789.123456789123456789",
    "123456789012345678901234567890",
    '""',
    '"1"',
    '"+1"',
    '"-1"',
    '"1.5"',
    '"1.50"',
    '"abc"',
    '"true"',
    '"TRUE"',
    '"null"',
    '"NaN"',
    '"Infinity"',
    '"-Infinity"',
    '"inf"',
    '"nan"',
    '"0x10"',
    '"1f"',
    '"1d"',
    '"1_000"',
    '"\\u0661"',
    '"1e3"',
    '".5"',
    '"5."',
    '"1.e1"',
    '"\\u00e9\\ud83d\\ude00"',
    '"a\\nb"',
    '"\\u0000"',
    '"\\u00a01"',
    '"2020-01-01"',
    '"2020-02-30"',
    '"2020-1-1"',
    '"+2020-01-01"',
    '"12020-01-01"',
    '"20200101"',
    '"2020-\\u005701-1"',
    '"12:30:00"',
    '"12:30:00Z"',
    '"12:30"',
    '"12:30Z"',
    '"12:30:00.5"',
    '"12:30:00.5Z"',
    '"12:30:00.000Z"',
    '"24:00:00Z"',
    '"1:30:00Z"',
    '"12:30:00+01:00"',
    '"25:00:00Z"',
    '"12:30:00z"',
    '"2020-01-01T12:30:00Z"',
    '"2020-01-01T12:30:00"',
    '"2020-01-01T12:30:00.123456Z"',
    '"2020-01-01T12:30:00.1Z"',
    '"2020-01-01T12:30Z"',
    '"2020-01-01T12:30:00+00:00"',
    '"2020-01-01T12:30:00+01:00"',
    '"2020-01-01t12:30:00z"',
    '"1969-12-31T23:59:59.999Z"',
    '"2020-01-01T12:30:00.Z"',
    '"2020-06-30T23:59:60Z"',
    '"2020-01-01T24:00:00Z"',
    '"2020-01-01T24:00:01Z"',
    '"2020-02-30T00:00:00Z"',
    '"20200101T123000Z"',
    "[]",
    "[1,2]",
    "[1,null]",
    '["a","b"]',
    '["1"]',
    "[1.5]",
    "[true]",
    "[[1]]",
    '[{"x":1}]',
    '[{"x":"7"},{}]',
    '[{"x":1},null]',
    '[1e2,"\\u001f\\/\\u007f"]',
    "{}",
    '{"x":1,"y":"b"}',
    '{"x":"7"}',
    '{"a":1}',
    '{"a":"1"}',
    '{"a":null}',
    '{"a":1,"a":2}',
    '{"x":{"y":[1.0]}}',
    '"AQI="',
    '"AQI"',
    '"!!"',
    '"AQ=="',
]
JSON_VALUES += [
    '" "',
    '" 1 "',
    '" true "',
    '"\\t1"',
    '"2020-01-01 12:30:00"',
    '"A Q I ="',
    '" AQI= "',
]

JSON_DOCUMENTS: list[bytes] = [
    *(
        text.encode()
        for text in [
            "", "  ", "null", "1", '"x"', "[]", "[1,2]", "{}", '{"a":1}',
            '{"b":"x","a":1,"c":[1,{"z":2}]}', ' {"a":1}\n', '{"a":1}{"a":2}', '{"a":1} x',
            '{"a":1}\n{"a":2}', '{"a":1,}', '{"a":1,"a":2}', "{a:1}", "{'a':1}", '{"a":01}',
            '{"a":+1}', '{"a":.5}', '{"a":1.}', '{"a":NaN}', '{"b":NaN}', '{"b":Infinity}',
            '{"b":"a\tb"}', '{"b":"a\nb"}', '{"b":"\\x"}', '{"b":"\\/"}', '{"a":1', '{"a":"x',
            '\ufeff{"a":1}', '{"a":/*c*/1}', '{"b":"\\ud83d\\ude00"}', '{"\\u0061":5}',
            '{"b":[1, 2.50,"x",null,{"q" : "\\u00e9\\n/"}]}', '{"a":5,"z":1e999999}',
            '{"b":null}', '{"a":null,"b":null}', '{"A":1}', '{"b":"\u2028\x7f"}', '\x0b{"a":1}',
        ]
    ),
    b'{"b":"\xff"}', b"\x00", b'{"b":"\x00"}', '{"a":1}'.encode("utf-16"),
    '{"a":1}'.encode("utf-16-be"), '{"a":1}'.encode("utf-32-le"), b'{"c":"\xff"}',
]  # fmt: skip

_TWO = "Types.ROW_NAMED(['a', 'b'], [Types.LONG(), Types.STRING()])"
_DECIMALS = (
    "Types.ROW_NAMED(['d', 'b', 'l', 'f'], "
    "[Types.BIG_DEC(), Types.STRING(), Types.LONG(), Types.DOUBLE()])"
)


@dataclass(frozen=True)
class Case:
    """One schema and its inputs."""

    name: str
    schema: str  # "json", "csv": deserialization; "to json", "to csv": serialization
    type: str
    inputs: list[Any]  # messages: bytes, or rows as expressions
    options: dict[str, Any] = field(default_factory=dict)


def _json_cases() -> list[Case]:
    values = [f'{{"v":{value}}}'.encode() for value in JSON_VALUES]
    cases = [
        Case(f"json {kind}{' ignoring' * ignore}", "json", f"Types.ROW_NAMED(['v'], [{kind}])",
             values, {"ignore_parse_errors": ()} if ignore else {})
        for kind in JSON_TYPES
        for ignore in (False, True)
    ]  # fmt: skip
    cases += [
        Case("json documents", "json", _TWO, JSON_DOCUMENTS),
        Case("json documents ignoring", "json", _TWO, JSON_DOCUMENTS, {"ignore_parse_errors": ()}),
        Case(
            "json documents complete", "json", _TWO, JSON_DOCUMENTS, {"fail_on_missing_field": ()}
        ),
    ]
    numbers = ["1.0", "1.50", "1e2", "100", "-0.0", "0.0", "1e-9", "123.4560000000000000001", "1e30",
               '"1.50"', "[1.50,1e2]", "9223372036854775807.5", "1e400", "true"]  # fmt: skip
    inputs = [f'{{"d":1,"b":{n}}}'.encode() for n in numbers] + [
        f'{{"{name}":{n}}}'.encode() for n in numbers for name in "dlf"
    ]
    return [*cases, Case("json beside decimals", "json", _DECIMALS, inputs)]


CSV_VALUES = [
    "", " ", "1", " 1 ", "+1", "-1", "1.5", "abc", "true", "TRUE", " true ", "null", "NaN", "1f",
    "1_000", "1e3", "128", "2147483648", "9223372036854775808", "2020-01-01", "2020-1-1", "2020-1-01",
    "2020-02-30", "2020-13-01", " 2020-01-01", "12:30:00", "1:2:3", "12:30", "25:00:00", "12:30:00Z", "12:30:00.5",
    "2020-01-01 12:30:00", "2020-01-01 12:30:00.5", "2020-01-01T12:30:00", "2020-1-1 1:2:3", "2020-01-01 12:30",
    "2020-01-01 12:30:00.", "2020-01-01 12:30:00.1234567", "2020-01-01 24:00:00", "2020-02-30 00:00:00", " 2020-01-01 12:30:00 ",
    '""', '"1"', '"a""b"', '"a', 'a"b', '"a"b', '"a" ', ' "a"', "1;2", "1;;2", ";", "a;b", "AQI=", "é", "#1", '"1;2"', "1\n", "1\r\n", '"a\nb"', "1\n2", "\\N",
    "n/a", "a\\,b", '"a\\"b"', "0x10", "\u0661", "\x00", "\t1",
]  # fmt: skip
CSV_TYPES = [
    "Types.STRING()", "Types.BOOLEAN()", "Types.BYTE()", "Types.SHORT()", "Types.INT()", "Types.LONG()",
    "Types.FLOAT()", "Types.DOUBLE()", "Types.BIG_INT()", "Types.BIG_DEC()", "Types.SQL_DATE()",
    "Types.SQL_TIME()", "Types.SQL_TIMESTAMP()", "Types.OBJECT_ARRAY(Types.LONG())",
    "Types.BASIC_ARRAY(Types.STRING())", "Types.PRIMITIVE_ARRAY(Types.BYTE())",
    "Types.ROW([Types.LONG(), Types.STRING()])",
]  # fmt: skip
CSV_LINES = [
    "1,a", "1", "1,a,b", "1,", ",a", ",", "", " ", "\n", "1,a\n", "1,a\r\n", "1,a\n2,b", '1,"a,b"', '1,"a""b"',
    "1, a", "1 ,a", '1, "a"', '1,"a" ', "1|a", "#1,a", "# x", '"1","a"', '1,"a', "1,a\\,b", '1,"a\\"b"', "1,'a,b'", "1,\\N", "n/a,n/a", "\n1,a", '1,"a\nb"',
    "1,null", "1,é", "\ufeff1,a", "1,a#", "1,#a", "1,a\r2,b", "1,a,", "1,a,,", "1,a, ", '1,a,""', "1,a\\nb", "1,\\0\\t\\r\\u0041", '1,"n/a"', '"n/a",a', "1, n/a",
    '1,"\\N"', "1,a\\", '1,"a\\', " #1,a", "#1,a\n2,b", "\n\n2,b", " \n2,b", '1,"a"\t\n', '1,"a"x', '"",a', '1,""""', "1,a\x00", "1\t,a", '1,"a"""', '1,"a"",b"', "1,a\n\n",
]  # fmt: skip


def _csv_cases() -> list[Case]:
    pair = "Types.ROW_NAMED(['k', 'v'], [Types.STRING(), {}])"
    cases = [
        Case(f"csv {kind}{' ignoring' * ignore}", "csv", pair.format(kind),
             [f"k,{value}".encode() for value in CSV_VALUES],
             {"set_ignore_parse_errors": (True,)} if ignore else {})
        for kind in CSV_TYPES
        for ignore in (False, True)
    ]  # fmt: skip
    lines = [line.encode() for line in CSV_LINES] + [b"1,\xff", b"\xff"]
    dialects: dict[str, dict[str, object]] = {
        "": {},
        " ignoring": {"set_ignore_parse_errors": (True,)},
        " of bars": {"set_field_delimiter": ("|",)},
        " with comments": {"set_allow_comments": (True,)},
        " with single quotes": {"set_quote_character": ("'",)},
        " with escapes": {"set_escape_character": ("\\",)},
        " with a null literal": {"set_null_literal": ("n/a",)},
        " with another null literal": {"set_null_literal": ("\\N",)},
        " with another null literal ignoring": {
            "set_null_literal": ("\\N",), "set_ignore_parse_errors": (True,)},
    }  # fmt: skip
    return [
        *cases,
        *(Case(f"csv lines{name}", "csv", _TWO, lines, options) for name, options in dialects.items()),
        Case("csv one text", "csv", "Types.ROW_NAMED(['a'], [Types.STRING()])", lines),
        Case("csv bars in arrays", "csv", pair.format("Types.OBJECT_ARRAY(Types.LONG())"),
             [b"k,1|2", b"k,1;2", b"k,"], {"set_array_element_delimiter": ("|",)}),
        Case("csv nulls in arrays", "csv", pair.format("Types.OBJECT_ARRAY(Types.LONG())"),
             [b"k,1;n/a", b"k,n/a", b"k,n/a;n/a", b"n/a,1"], {"set_null_literal": ("n/a",)}),
        Case("csv long array separator", "csv", pair.format("Types.OBJECT_ARRAY(Types.STRING())"),
             [b"k,1::2:3", b"k,::", b"k, ::"], {"set_array_element_delimiter": ("::",)}),
    ]  # fmt: skip


# Rows are made of JSON by Flink's own schema, and then written.
WRITTEN: dict[str, list[str]] = {
    "Types.BOOLEAN()": ["true", "false", "null"],
    "Types.STRING()": [
        '"a"',
        '"é\\u2028\\ud83d\\ude00"',
        '"\\u0000\\u001f\\u007f\\n\\t\\"/\\\\"',
        '""',
        '"a,b"',
        '"a\\"b"',
        '" a"',
        '"a;b"',
        '"#a"',
        '"a\\r\\nb"',
        '"2020"',
        '"a long text of more than 24 characters"',
        "null",
    ],
    "Types.BYTE()": ["1", "-128"],
    "Types.SHORT()": ["1", "-32768"],
    "Types.INT()": ["0", "-2147483648"],
    "Types.LONG()": ["0", "9223372036854775807", "null"],
    "Types.FLOAT()": [
        "0.1",
        "1",
        "1e10",
        "1e-5",
        "16777216",
        '"NaN"',
        '"-Infinity"',
        "123456.7",
        "0.001",
    ],
    "Types.DOUBLE()": [
        "0.1",
        "1",
        "1e10",
        "1e-5",
        "-0.0",
        '"NaN"',
        '"Infinity"',
        "12345678.9",
        "0.001",
        "1e7",
        "1e22",
        "null",
    ],
    "Types.BIG_INT()": ["0", "123456789012345678901234567890"],
    "Types.BIG_DEC()": [
        "0",
        "1.50",
        "100",
        "1e30",
        "1e-9",
        '"1.50"',
        '"100"',
        '"1e3"',
        '"-0.0"',
        '"0.000000001"',
        "123456789012345678901234567890.123456789",
        "null",
    ],
    "Types.SQL_DATE()": ['"2020-01-31"', '"0099-01-01"', "null"],
    "Types.SQL_TIME()": ['"12:30:00Z"', '"00:00:00Z"', "null"],
    "Types.SQL_TIMESTAMP()": [
        '"2020-01-31T12:30:00Z"',
        '"2020-01-31T12:30:00.5Z"',
        '"2020-01-31T12:30:00.123456Z"',
        '"2020-01-31T00:00:00Z"',
        "null",
    ],
    "Types.OBJECT_ARRAY(Types.LONG())": ["[]", "[1]", "[1,null,3]", "null"],
    "Types.BASIC_ARRAY(Types.STRING())": ["[]", '["a"]', '["a",null,"b,c"]', '["a;b"]', '["",""]'],
    "Types.OBJECT_ARRAY(Types.DOUBLE())": ["[1,1e10,null]"],
    "Types.PRIMITIVE_ARRAY(Types.BYTE())": ['"AQI="', '""', "null"],
    "Types.MAP(Types.STRING(), Types.LONG())": ['{"a":1}', "{}", "null", '{"a":null}'],
    "Types.ROW_NAMED(['x', 'y'], [Types.LONG(), Types.SQL_TIMESTAMP()])": [
        '{"x":1,"y":"2020-01-31T12:30:00Z"}',
        "{}",
        "null",
    ],
    "Types.OBJECT_ARRAY(Types.ROW_NAMED(['x'], [Types.LONG()]))": ['[{"x":1},{}]', "[]"],
}


def _written_cases() -> list[Case]:
    found = []
    for kind, values in WRITTEN.items():
        row = f"Types.ROW_NAMED(['v', 'w'], [{kind}, Types.STRING()])"
        inputs = [f'{{"v":{value},"w":"z"}}'.encode() for value in values]
        found.append(Case(f"to json {kind}", "to json", row, inputs))
        found.append(Case(f"to csv {kind}", "to csv", row, inputs))
    row = "Types.ROW_NAMED(['v', 'w'], [Types.STRING(), Types.OBJECT_ARRAY(Types.STRING())])"
    inputs = [f'{{"v":{value},"w":["z",null]}}'.encode() for value in WRITTEN["Types.STRING()"]]
    dialects: list[dict[str, object]] = [
        {"set_field_delimiter": ("|",)}, {"set_line_delimiter": ("\r\n",)}, {"set_line_delimiter": ("",)},
        {"set_null_literal": ("n/a",)}, {"set_quote_character": ("'",)}, {"set_escape_character": ("\\",)},
        {"set_array_element_delimiter": ("|",)},
    ]  # fmt: skip
    return found + [
        Case(f"to csv with {options}", "to csv", row, inputs, options) for options in dialects
    ]


CASES = [*_json_cases(), *_csv_cases(), *_written_cases()]
