"""Constants are computed with the options of the session, as what workers compute is."""

from __future__ import annotations

import datetime as dt
import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from headrace.common import Configuration
from headrace.table import DataTypes, EnvironmentSettings, TableEnvironment
from headrace.table.expressions import call_sql, lit

if TYPE_CHECKING:
    from pathlib import Path

NOON_UTC = dt.datetime(1970, 1, 1, 12)
NOON = "CAST(TIMESTAMP '1970-01-01 12:00:00' AS TIMESTAMP_LTZ(3))"


def tables(zone: str = "Europe/Berlin", *, batch: bool = False) -> TableEnvironment:
    options = Configuration().set_string("headrace.execution.host", "local")
    builder = EnvironmentSettings.new_instance().with_configuration(options)
    wished = builder.in_batch_mode() if batch else builder.in_streaming_mode()
    t_env = TableEnvironment.create(wished.build())
    t_env.get_config().set("table.local-time-zone", zone)
    return t_env


def only(t_env: TableEnvironment, query: str) -> object:
    """The one value of a query."""
    (row,) = t_env.execute_sql(query).collect()
    return row[0]


@pytest.mark.parametrize("batch", [False, True])
def test_a_constant_has_the_zone_of_the_session(*, batch: bool) -> None:
    t_env = tables(batch=batch)
    assert only(t_env, "SELECT FROM_UNIXTIME(0)") == "1970-01-01 01:00:00"
    assert only(t_env, f"SELECT {NOON}") == NOON_UTC - dt.timedelta(hours=1)


def test_what_is_inserted_has_it_too(tmp_path: Path) -> None:
    t_env = tables()
    t_env.execute_sql(
        "CREATE TABLE o (i INT, t TIMESTAMP_LTZ(3)) WITH ('connector' = 'filesystem', "
        f"'path' = '{tmp_path / 'out'}', 'format' = 'json')"
    )
    t_env.execute_sql(f"INSERT INTO o VALUES (1, {NOON})").wait()
    (file,) = (file for file in (tmp_path / "out").iterdir() if file.name[0] not in "._")
    assert json.loads(file.read_text(encoding="utf-8"))["t"] == "1970-01-01 11:00:00Z"


def test_the_zone_is_that_of_the_time_when_the_query_is_run() -> None:
    t_env = tables("Asia/Tokyo")
    t_env.execute_sql("CREATE VIEW v AS SELECT FROM_UNIXTIME(0) AS t")
    t_env.create_temporary_view("w", t_env.sql_query("SELECT FROM_UNIXTIME(0) AS t"))
    t_env.execute_sql("SET 'table.local-time-zone' = 'America/St_Johns'")
    for name in ("v", "w"):
        assert only(t_env, f"SELECT t FROM {name}") == "1969-12-31 20:30:00"


def test_the_table_api_has_it_too() -> None:
    t_env = tables()
    table = t_env.from_elements([(1,)], ["a"]).select(
        lit(NOON_UTC).cast(DataTypes.TIMESTAMP_LTZ(3)), call_sql("FROM_UNIXTIME(0)")
    )
    (row,) = table.execute().collect()
    assert list(row) == [NOON_UTC - dt.timedelta(hours=1), "1970-01-01 01:00:00"]
    values = t_env.from_elements([lit(NOON_UTC).cast(DataTypes.TIMESTAMP_LTZ(3))])
    (row,) = values.execute().collect()
    assert row[0] == NOON_UTC - dt.timedelta(hours=1)


def test_a_compiled_plan_has_the_zone_that_it_was_compiled_in(tmp_path: Path) -> None:
    t_env, plan = tables("Asia/Tokyo"), tmp_path / "plan.json"
    t_env.execute_sql(
        "CREATE TABLE o (t STRING) WITH ('connector' = 'filesystem', "
        f"'path' = '{tmp_path / 'out'}', 'format' = 'csv')"
    )
    t_env.execute_sql(f"COMPILE PLAN '{plan}' FOR INSERT INTO o SELECT FROM_UNIXTIME(0)")
    t_env.execute_sql("SET 'table.local-time-zone' = 'UTC'")
    t_env.execute_sql(f"EXECUTE PLAN '{plan}'").wait()
    (file,) = (file for file in (tmp_path / "out").iterdir() if file.name[0] not in "._")
    assert "1970-01-01 09:00:00" in file.read_text(encoding="utf-8")


def test_a_cast_that_fails_is_null_where_the_session_says_so() -> None:
    t_env = tables()
    t_env.get_config().set("table.exec.legacy-cast-behaviour", "ENABLED")
    assert only(t_env, "SELECT CAST('abc' AS INT)") is None


PROGRAM = """
from headrace.table import EnvironmentSettings, TableEnvironment
t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
t_env.get_config().set("headrace.execution.host", "local")
t_env.get_config().set("table.local-time-zone", "Europe/Berlin")
asked = ('''FROM_UNIXTIME({n}, 'EEEE MMMM d HH:mm Z'),
    DATE_FORMAT(TO_TIMESTAMP_LTZ({n}, 0), 'EEE MMM'),
    TO_TIMESTAMP_LTZ({n}, 0), CAST('2021-03-28 02:30:00' AS TIMESTAMP_LTZ(3)), UPPER('i'),
    UNIX_TIMESTAMP('2021-10-31 02:30:00'), CAST(DATE '2021-03-28' AS TIMESTAMP(0))''')
t_env.execute_sql("SELECT " + asked.format(n="1635642000")).print()
t_env.execute_sql("SELECT " + asked.format(n="n") + " FROM (VALUES (1635642000)) AS t(n)").print()
"""


def test_the_zone_and_the_language_of_the_process_do_not_matter() -> None:
    shown = set()
    for zone, language in (("UTC", "C.UTF-8"), ("Pacific/Auckland", "tr_TR.UTF-8")):
        surroundings = os.environ | {"TZ": zone, "LC_ALL": language, "LANG": language}
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env=surroundings, capture_output=True, text=True, check=True,
        )  # fmt: skip
        one, other = done.stdout.split("1 row in set\n")[:2]
        assert one.splitlines()[3] == other.splitlines()[3], "a constant is what a column is"
        shown.add(done.stdout)
    assert len(shown) == 1
    assert "Sunday October 31 02:00 +0100" in shown.pop()
