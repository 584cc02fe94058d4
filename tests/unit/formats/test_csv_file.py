"""CSV text as Spark's parser sees it; every case was read by Spark itself."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.common.typeinfo import Types
from headrace.errors import TypeMismatchError
from headrace.formats.csv_file import CsvFileReader, line_end_of
from headrace.formats.csv_reader import CsvSchema
from headrace.table import DataTypes

Found = list[tuple[Any, ...]]


def read(schema: CsvSchema, data: bytes) -> tuple[Found, dict[int, str]]:
    """Rows, and the texts of bad ones."""
    reader = CsvFileReader(schema, line_end_of(data))
    rows: Found = []
    bad: dict[int, str] = {}
    for found in reader.rows(reader.cut(data, final=True)):
        bad.update((len(rows) + row, text) for row, text in found.bad)
        rows += [tuple(row.values()) for row in found.batch.to_pylist()]
    return rows, bad


TWO = CsvSchema.builder().add_string_column("a").add_string_column("b")


@pytest.mark.parametrize(
    ("data", "expected", "bad"),
    [
        (b'a,b\r\n"x\r\ny",c\r\n', [("a", "b"), ("x\ny", "c")], {}),
        (b'a,b\n"x\r\ny",c\r\nd,e\n', [("a", "b"), ("x\r\ny", "c\r"), ("d", "e")], {}),
        (b"a\n,\n\n \n#x,y\n1,2,3\n",
         [("a", ""), ("", ""), (" ", ""), ("#x", "y"), ("1", "2")],
         {0: "a", 2: " ", 4: "1,2,3"}),
        (b'"a"b,c\n', [('"a"b', "c")], {}),
        (b'"a" ,c\n', [("a", "c")], {}),
        (b'"a" b,c\n', [('"a" b', "c")], {}),
        (b'a"b,"c"\n', [('a"b', "c")], {}),
        (b' "a",b\n', [(' "a"', "b")], {}),
        (b'"abc,d\ne,f\n', [("abc,d\ne,f\n", "")], {0: '"abc,d\ne,f'}),
        (b'"",""\n', [("", "")], {}),
        (b'"a""b","""x"\n', [('a"b', '"x')], {}),
        (b"a,b\rc,d\r", [("a", "b"), ("c", "d")], {}),
        (b'"a"",b\nc,d\n', [('a",b\nc,d\n', "")], {0: '"a"",b\nc,d'}),
        (b'"a\nb"x\nc,d\n', [('"a\nb"x', ""), ("c", "d")], {0: '"a\nb"x'}),
        (b'a,"b" \nc,d\n', [("a", "b"), ("c", "d")], {}),
        (b'x,"', [("x", '"')], {}),
        (b"\xff,b\n", [("\ufffd", "b")], {}),
        (b"\r\n\r\na,b\r\nc,d\ne,f\r\n", [("a", "b"), ("c", "d\ne")], {1: "c,d\ne,f"}),
        (b'"a,b\n"c,d"\n', [('"a,b\n"c', 'd"')], {}),
        (b"\n\n", [], {}),
        (b"", [], {}),
    ],
)  # fmt: skip
def test_cells(data: bytes, expected: Found, bad: dict[int, str]) -> None:
    assert read(TWO.build(), data) == (expected, bad)


@pytest.mark.parametrize(
    ("kind", "cells"),
    [
        (Types.INT(), {"+5": 5, "007": 7, '"7"': 7, "": None, '""': None, "٣": 3}),
        (Types.INT(), dict.fromkeys([" 5", "5 ", "0x10", "5.0", "1e2", "2147483648", "--1"], ...)),
        (Types.BYTE(), {"-128": -128, "128": ...}),
        (Types.DOUBLE(), {" 5": 5.0, "1f": 1.0, "Inf": float("inf"), "nan": ..., ".5": 0.5}),
        (Types.FLOAT(), {"1e40": float("inf"), "1.00000017881393432617187499": 1.0000001192092896}),
        (Types.BOOLEAN(), {"true": True, "FALSE": False, "1": ..., " true": ...}),
        (DataTypes.DECIMAL(4, 2), {"1.555": "1.56", "1e1": "10.00", "123.4": ..., " 1.5": ...}),
        (Types.BIG_DEC(), {"1.5": "1.5", "": None}),
    ],
)
def test_values(kind: Any, cells: dict[str, Any]) -> None:
    """`...` for a cell that is no such value."""
    schema = CsvSchema.builder().add_number_column("x", kind).add_string_column("k").build()
    for lines in ([cell] for cell in cells):
        rows, bad = read(schema, "".join(f"{cell},k\n" for cell in lines).encode())
        assert [... if n in bad else row[0] for n, row in enumerate(rows)] == [cells[lines[0]]]
    rows, bad = read(schema, "".join(f"{cell},k\n" for cell in cells).encode())
    found = [... if n in bad else row[0] for n, row in enumerate(rows)]
    assert found == list(cells.values())


def test_a_text_for_null_makes_empty_texts_in_quotes_texts() -> None:
    lines = b'-\n""\n"-"\nx\n'
    texts = CsvSchema.builder().add_string_column("x").set_null_value("-").build()
    assert read(texts, lines)[0] == [(None,), ("",), (None,), ("x",)]
    numbers = CsvSchema.builder().add_number_column("x").set_null_value("-").build()
    assert read(numbers, b'-\n""\n1\n') == ([(None,), (None,), (1,)], {1: '""'})


def test_one_bad_record_does_not_slow_down_the_others() -> None:
    schema = CsvSchema.builder().add_number_column("n").add_string_column("s").build()
    lines = [f"{n},s" for n in range(5000)]
    lines[4321] = "1,2,3"
    rows, bad = read(schema, "\n".join(lines).encode())
    assert bad == {4321: "1,2,3"}
    assert [row[0] for row in rows] == [*range(4321), 1, *range(4322, 5000)]


def test_elements_of_an_array() -> None:
    columns = CsvSchema.builder().add_array_column("b", ";", Types.INT()).add_array_column("c", "")
    assert read(columns.build(), b"1; 2 ,q;r\n,\n")[0] == [([1, 2], ["q;r"]), (None, [None])]
    with pytest.raises(TypeMismatchError, match="element of column 'b'"):
        read(columns.build(), b"1;x,q\n")
