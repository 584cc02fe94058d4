"""Where a clock shows an hour twice: the second one is not taken for the first.

02:00 in Berlin on 31 October 2021 is 00:00 in UTC, and an hour later it is 02:00 again.
"""

from __future__ import annotations

import datetime as dt

import pytest

from scalar_texts import evaluated, resolved

FIRST = 1_635_638_400
BERLIN = "Europe/Berlin"


def asked(sql: str, second: int) -> object:
    """The way of rows; tests/unit/table/test_zones.py asks the kernels."""
    return evaluated(resolved(sql.format(f"TO_TIMESTAMP_LTZ({second}, 0)")), BERLIN)


def at(hour: int, minute: int = 0) -> dt.datetime:
    return dt.datetime(2021, 10, 31, hour, minute, tzinfo=dt.UTC)


@pytest.mark.parametrize(
    ("second", "floor", "ceil"),
    [
        (FIRST, at(0), at(0)),
        (FIRST + 1800, at(0), at(1)),
        (FIRST + 3600, at(1), at(1)),
        (FIRST + 5400, at(1), at(2)),
    ],
)
def test_an_hour_that_comes_twice_is_two_hours(
    second: int, floor: dt.datetime, ceil: dt.datetime
) -> None:
    assert asked("FLOOR({} TO HOUR)", second) == floor
    assert asked("CEIL({} TO HOUR)", second) == ceil
    moment = dt.datetime.fromtimestamp(second, dt.UTC)
    assert asked("FLOOR({} TO MINUTE)", second) == moment


def test_the_offset_is_that_of_the_moment() -> None:
    def shown(second: int) -> object:
        return evaluated(resolved(f"FROM_UNIXTIME({second}, 'HH:mm Z')"), BERLIN)

    assert shown(FIRST) == "02:00 +0200"
    assert shown(FIRST + 3600) == "02:00 +0100"
