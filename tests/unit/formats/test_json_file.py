"""Lines of JSON as Spark's reader sees them; every case was read by Spark itself."""

from __future__ import annotations

import datetime as dt
import math
from typing import Any

import pyarrow as pa
import pytest

from headrace.common.typeinfo import TypeInformation, Types
from headrace.formats.json_file import JsonFileReader

PAIR = Types.ROW_NAMED(["p", "q"], [Types.INT(), Types.STRING()])


def read(kind: TypeInformation, lines: list[bytes]) -> tuple[list[tuple[Any, ...]], set[int]]:
    """Rows of (x, k), and which of them are bad."""
    reader = JsonFileReader(Types.ROW_NAMED(["x", "k"], [kind, Types.INT()]))
    rows: list[tuple[Any, ...]] = []
    bad: set[int] = set()
    for found in reader.read(pa.array(lines, pa.binary())):
        bad.update(len(rows) + row for row, _ in found.bad)
        rows += [tuple(row.values()) for row in found.batch.to_pylist()]
    return rows, bad


@pytest.mark.parametrize(
    ("kind", "good"),
    [
        (Types.STRING(), {"1.50": "1.50", "true": "true", '{"b" : 1}': '{"b" : 1}', "'q'": "q"}),
        (Types.STRING(), {'"\\ud800"': "?", '"\\ud83d\\ude00"': "😀", "NaN": "NaN", "null": None}),
        (Types.INT(), {"-0": 0, "null": None}),
        (Types.BYTE(), {"128": -128, "255": -1}),
        (Types.DOUBLE(), {"1": 1.0, '"+INF"': math.inf, "-INF": -math.inf, "1e400": math.inf}),
        (Types.FLOAT(), {"16777217": 16777216.0, "0.5": 0.5}),
        (Types.SQL_DATE(), {'"2020-1-2"': dt.date(2020, 1, 2), '"2020"': dt.date(2020, 1, 1)}),
        (Types.SQL_TIMESTAMP(), {'"2020-01-02 03:04:05"': dt.datetime(2020, 1, 2, 3, 4, 5)}),
        (Types.TIMESTAMP_LTZ(), {"5": dt.datetime(1970, 1, 1, 0, 0, 5, tzinfo=dt.UTC)}),
        (Types.BIG_INT(), {"12345678901234567890123": "12345678901234567890123"}),
        (Types.PRIMITIVE_ARRAY(Types.BYTE()), {'"aGk="': b"hi", '""': b""}),
        (Types.LIST(Types.INT()), {"[1,null]": [1, None], "[]": []}),
        (Types.MAP(Types.STRING(), Types.INT()), {'{"a":1,"a":2}': [("a", 2)]}),
        (PAIR, {'{"p":1,"q":"z"}': {"p": 1, "q": "z"}, "{}": {"p": None, "q": None}}),
    ],
)
def test_values_that_fit(kind: TypeInformation, good: dict[str, Any]) -> None:
    rows, bad = read(kind, [f'{{"x":{text},"k":1}}'.encode() for text in good])
    assert rows == [(value, 1) for value in good.values()]
    assert not bad


@pytest.mark.parametrize(
    ("kind", "texts"),
    [
        (Types.INT(), ["1.0", "1e2", "2147483648", '"1"', '""', "true", "[1]", "NaN"]),
        (Types.BYTE(), ["256", "-129"]),
        (Types.DOUBLE(), ['"1.5"', '"INF"']),
        (Types.BOOLEAN(), ["1", '"true"']),
        (Types.SQL_TIMESTAMP(), ['"2020-01-02T03:04:05Z"', "5", '""']),
        (Types.LIST(Types.INT()), ['[1,"a"]', "1", "{}"]),
        (Types.MAP(Types.STRING(), Types.INT()), ['{"a":"x"}', "[]"]),
        (PAIR, ["1", "[1]"]),
    ],
)
def test_values_that_do_not_fit_are_null_and_the_rest_stays(
    kind: TypeInformation, texts: list[str]
) -> None:
    rows, bad = read(kind, [f'{{"x":{text},"k":1}}'.encode() for text in texts])
    assert rows == [(None, 1)] * len(texts)
    assert bad == set(range(len(texts)))


def test_rows_inside_keep_what_fits() -> None:
    assert read(PAIR, [b'{"x":{"p":"bad","q":"z"}}']) == ([({"p": None, "q": "z"}, None)], {0})
    kind = Types.LIST(Types.ROW_NAMED(["p"], [Types.INT()]))
    rows, bad = read(kind, [b'{"x":[{"p":1},{"p":"x"},null]}'])
    assert rows == [([{"p": 1}, {"p": None}, None], None)]
    assert bad == {0}


@pytest.mark.parametrize(
    ("line", "expected", "is_bad"),
    [
        ("", [], False),
        ("  ", [], False),
        ("[]", [], False),
        ('[{"x":1,"k":2},{"x":3}]', [(1, 2), (3, None)], False),
        ('[{"x":1},{"x":"b"}]', [(1, None), (None, None)], True),
        ('{"x":1} junk', [(1, None)], False),
        ('{"x":1}{"x":2}', [(1, None)], False),
        ("{'x':1}", [(1, None)], False),
        ('{"x":1,"x":2}', [(2, None)], False),
        ('{"x":3,"x":"a"}', [(3, None)], True),
        ('{"X":1}', [(None, None)], False),
        ('{"x":1,"y":NaN}', [(1, None)], False),
        ('{"\\u0078":5}', [(5, None)], False),
    ],
)
def test_lines_that_are_read(line: str, expected: list[tuple[Any, ...]], is_bad: bool) -> None:
    assert read(Types.INT(), [line.encode()]) == (
        expected,
        set(range(len(expected))) if is_bad else set(),
    )


@pytest.mark.parametrize(
    "line",
    [
        "null", "[1]", '"a"', "5", '{"x":1', '{"x":1,"k":}', "{x:1}", '{"x":1,}', "// c",
        '[{"x":1},5]', '[{"x":1},', '{"x":1,"y":tru}', "[[{}]]", '{"x":1,"z":"\\q"}', '{"x":01}',
        '{"x":1.}', '{"x":"a\tb"}', '{"x" 1}', "{,}", '{"x":[1,]}', '{"x":1 2}', '{"x":--1}', "{",
    ],
)  # fmt: skip
def test_lines_that_are_not(line: str) -> None:
    assert read(Types.INT(), [line.encode()]) == ([(None, None)], {0})


def test_bytes_that_are_no_text_make_a_line_bad() -> None:
    kind = Types.STRING()
    rows, bad = read(kind, [b'{"x":"\xff"}', '{"x":"é"}'.encode(), b'{"x":"a"}\xff'])
    assert rows == [(None, None), ("é", None), ("a", None)]
    assert bad == {0}


def test_one_bad_line_does_not_slow_down_the_others() -> None:
    lines = [f'{{"x":{n}}}'.encode() for n in range(5000)]
    lines[4321] = b'{"x":"no"}'
    rows, bad = read(Types.INT(), lines)
    assert bad == {4321}
    assert [row[0] for row in rows] == [*range(4321), None, *range(4322, 5000)]


def test_deep_texts_are_bad_and_do_not_crash() -> None:
    assert read(Types.INT(), [b"[" * 100_000])[1] == {0}
