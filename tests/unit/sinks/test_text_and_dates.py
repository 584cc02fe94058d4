from __future__ import annotations

import datetime as dt
import decimal
import struct

import pytest

from headrace.common.typeinfo import Types
from headrace.common.types import Row
from headrace.connectors.files.date_pattern import DatePattern
from headrace.errors import InvalidArgumentError
from headrace.formats.text_form import java_text, printed_text, text_of

# 2024-03-05 07:08:09.123 UTC, a Tuesday
MOMENT = 1_709_622_489_123


@pytest.mark.parametrize(
    ("value", "text"),
    [
        # printed by PyFlink 2.3
        (1.0, "1.0"),
        (1e20, "1.0E20"),
        (1e-5, "1.0E-5"),
        (float("nan"), "NaN"),
        (float("inf"), "Infinity"),
        (123456789.123, "1.23456789123E8"),
        (dt.date(2020, 1, 2), "2020-01-02"),
        (dt.time(1, 2, 3), "01:02:03"),
        (dt.datetime(2020, 1, 2, 3, 4, 5, 678000), "2020-01-02 03:04:05.678"),
        (decimal.Decimal("1.50"), "1.50"),
        # by Java's rules
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        (0.001, "0.001"),
        (0.00099, "9.9E-4"),
        (9999999.0, "9999999.0"),
        (1e7, "1.0E7"),
        (-1.5e300, "-1.5E300"),
        (float("-inf"), "-Infinity"),
        (dt.datetime(2020, 1, 2, 3, 4, 5), "2020-01-02 03:04:05.0"),
        (None, "null"),
        (7, "7"),
        ("x", "x"),
    ],
)
def test_java_text(value: object, text: str) -> None:
    assert java_text(value) == text


@pytest.mark.parametrize(
    ("pattern", "zone", "text"),
    [
        ("yyyy-MM-dd--HH", "UTC", "2024-03-05--07"),
        ("yyyy-MM-dd--HH", "America/Los_Angeles", "2024-03-04--23"),
        ("yyyy-MM-dd--HH", "GMT-08:00", "2024-03-04--23"),
        ("yyyy-MM-dd--HH", "PST", "2024-03-04--23"),
        ("'year='yyyy/'month='M/'day='d", "UTC", "year=2024/month=3/day=5"),
        ("yy-D-EEE-MMM h a mm:ss.SSS", "UTC", "24-65-Tue-Mar 7 AM 08:09.123"),
        ("EEEE MMMM ''H''", "+02:00", "Tuesday March '9'"),
    ],
)
def test_date_patterns_are_javas(pattern: str, zone: str, text: str) -> None:
    assert DatePattern(pattern, zone).format(MOMENT) == text


@pytest.mark.parametrize(("pattern", "zone"), [("yyyy-QQ", "UTC"), ("'x", "UTC"), ("", "UTC")])
def test_patterns_that_cannot_work_are_refused(pattern: str, zone: str) -> None:
    with pytest.raises(InvalidArgumentError, match="date pattern"):
        DatePattern(pattern, zone)


def test_a_misspelt_zone_gets_a_hint() -> None:
    with pytest.raises(InvalidArgumentError, match="did you mean Europe/Berlin"):
        DatePattern("yyyy", "Europe/Berln")


@pytest.mark.parametrize(
    ("value", "text"),
    [(1.1, "1.1"), (3e38, "3.0E38"), (1e-5, "1.0E-5"), (16777216.0, "1.6777216E7"), (0.1, "0.1")],
)
def test_a_float_of_four_bytes_has_few_digits(value: float, text: str) -> None:
    """As PyFlink 2.3 prints them: the outer row in Python's notation, all else in Java's."""
    narrow = struct.unpack("f", struct.pack("f", value))[0]
    kind = Types.TUPLE([Types.FLOAT(), Types.STRING()])
    for given in (value, narrow):
        assert printed_text(Types.FLOAT())(given) == text
        assert printed_text(kind)((given, "a")) == f"({text},a)"
        assert printed_text(Types.ROW([Types.FLOAT()]))(Row(given)) == f"+I[{narrow}]"
        assert text_of(Types.ROW([Types.FLOAT()]))(Row(given)) == f"+I[{text}]"
        assert text_of(Types.MAP(Types.STRING(), Types.FLOAT()))({"a": given}) == f"{{a={text}}}"
    assert printed_text(kind)((None, "a")) == "(null,a)"
    assert printed_text(Types.DOUBLE())(1.1) == "1.1"
