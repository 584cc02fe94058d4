"""What the driver shows of a result has the zone that workers had."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from headrace.common import Configuration
from headrace.table import EnvironmentSettings, TableConfig, TableEnvironment

if TYPE_CHECKING:
    from collections.abc import Iterator

EPOCH = "SELECT TO_TIMESTAMP_LTZ(0, 3) AS t, CAST(TO_TIMESTAMP_LTZ(0, 3) AS STRING) AS s"
TOKYO = "1970-01-01 09:00:00.000"


def tables() -> TableEnvironment:
    options = Configuration().set_string("headrace.execution.host", "local")
    builder = EnvironmentSettings.new_instance().with_configuration(options)
    return TableEnvironment.create(builder.in_batch_mode().build())


def test_a_zone_of_a_variable_is_the_drivers_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HEADRACE_TABLE_LOCAL_TIME_ZONE", "Asia/Tokyo")
    t_env = tables()
    assert t_env.get_config().get_local_timezone() == "Asia/Tokyo"
    t_env.execute_sql(EPOCH).print()
    assert capsys.readouterr().out.count(TOKYO) == 2
    frame = t_env.sql_query(EPOCH).to_pandas()
    assert str(frame["t"][0]) == "1970-01-01 09:00:00+09:00"
    t_env.get_config().set("table.local-time-zone", "UTC")
    assert str(t_env.sql_query(EPOCH).to_pandas()["t"][0]) == "1970-01-01 00:00:00+00:00"


def test_an_option_of_a_variable_is_read_as_one_that_is_set(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HEADRACE_TABLE_DML_SYNC", "true")
    assert TableConfig().get("table.dml-sync", "false") == "true"
    assert TableConfig().set("table.dml-sync", "false").get("table.dml-sync", "") == "false"


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    yield monkeypatch
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("variable", "zone"),
    [
        ("Europe/Berlin", "Europe/Berlin"),
        (":America/St_Johns", "America/St_Johns"),
        ("Etc/UTC", "UTC"),
        ("Europe/London", "Europe/London"),  # whose clock says GMT in winter
        ("ABC-3", "+03:00"),
    ],
)
def test_the_zone_of_the_machine_has_its_name(
    machine: pytest.MonkeyPatch, variable: str, zone: str
) -> None:
    machine.setenv("TZ", variable)
    time.tzset()
    assert TableConfig().get_local_timezone() == zone


def test_a_machine_in_berlin_has_summer_and_winter(machine: pytest.MonkeyPatch) -> None:
    machine.setenv("TZ", "Europe/Berlin")
    time.tzset()
    query = "SELECT FROM_UNIXTIME(1625097599), FROM_UNIXTIME(0)"
    (row,) = tables().execute_sql(query).collect()
    assert list(row) == ["2021-07-01 01:59:59", "1970-01-01 01:00:00"]


def test_frames_keep_both_hours_that_a_clock_shows_twice() -> None:
    t_env = tables()
    t_env.get_config().set_local_timezone("Europe/Berlin")
    query = "SELECT TO_TIMESTAMP_LTZ(n, 0) AS t FROM (VALUES (1635638400), (1635642000)) AS v(n)"
    shown = [str(each) for each in t_env.sql_query(query).to_pandas()["t"]]
    assert shown == ["2021-10-31 02:00:00+02:00", "2021-10-31 02:00:00+01:00"]
