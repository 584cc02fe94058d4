"""Amounts of time in every spelling."""

from __future__ import annotations

import pickle
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.common.time import Duration, Instant, Time, to_millis
from headrace.errors import InvalidArgumentError


@pytest.mark.parametrize(
    ("value", "millis"),
    [
        (Time.seconds(5), 5000),
        (Time.minutes(1), 60_000),
        (Time.hours(1), 3_600_000),
        (Time.days(1), 86_400_000),
        (Duration.of_nanos(1_999_999), 1),
        (Duration.of_days(1), 86_400_000),
        (Duration.of_hours(2), 7_200_000),
        (Duration.of_minutes(2), 120_000),
        (timedelta(seconds=1.5), 1500),
        (timedelta(microseconds=1999), 1),
        (7, 7),
        ("7", 7),
        ("10s", 10_000),
        ("5 minutes", 300_000),
        ("1h 30m", 5_400_000),
        ("1 h, 30 min", 5_400_000),
        ("1d2h", 93_600_000),
        ("0.1 s", 100),
        ("1.5h", 5_400_000),
        ("250 ms", 250),
        ("1500us", 1),
        ("-2 s", -2000),
        ("1 Week", 604_800_000),
    ],
)
def test_to_millis(value: Any, millis: int) -> None:
    assert to_millis(value) == millis


@pytest.mark.parametrize("value", ["", "soon", "5 parsecs", "s", "1h and 3m", None, 1.5, True])
def test_what_is_no_amount_of_time_is_refused(value: Any) -> None:
    with pytest.raises(InvalidArgumentError):
        to_millis(value)


@given(st.integers(-(10**15), 10**15))
def test_instants_keep_milliseconds_also_before_1970(millis: int) -> None:
    instant = Instant.of_epoch_milli(millis)
    assert instant.to_epoch_milli() == millis
    assert 0 <= instant.nanos < 10**9


@given(st.integers(0, 10**15))
def test_durations_read_what_they_print(millis: int) -> None:
    assert Duration.parse(str(Duration.of_millis(millis))) == Duration.of_millis(millis)


def test_times_are_values() -> None:
    for value in (Time.seconds(1), Duration.of_seconds(1), Instant(1, 2)):
        assert pickle.loads(pickle.dumps(value)) == value
        assert len({value, pickle.loads(pickle.dumps(value))}) == 1
    assert str(Time.seconds(1)) == "1000 ms"
    assert repr(Instant(1, 2)) == "Instant<1, 2>"
    assert Time.seconds(1) != Duration.of_seconds(1)
