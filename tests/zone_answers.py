"""Functions of time in several zones: what headrace gives, and what Flink gave.

    wrong_cells(zone, "constant", t_env)    ──▶   cells of which Flink's value is another one

Where headrace differs on purpose, what is right is said here, and compared with it.
In: tests/oracle/zones/cases.py, tests/golden/zones.json.  Next: tests/unit/table/test_zones.py
"""

from __future__ import annotations

import datetime as dt
import json
import re
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from flink_answers import close, comparable, decoded, type_text
from headrace.common import Configuration
from headrace.table import EnvironmentSettings, TableEnvironment
from oracle.zones import cases

ANSWERS: list[dict[str, Any]] = json.loads(
    (Path(__file__).resolve().parent / "golden" / "zones.json").read_text(encoding="utf-8")
)
# A day begins at midnight.  Flink takes the distance from UTC that the argument has, so that in a
# zone that changes its clock a year, or the day of the change, begins at 23:00 or 01:00.
CALENDAR = re.compile(r"^(?:FLOOR|CEIL)\(.* TO (DAY|WEEK|MONTH|YEAR)\)$")


def tables(zone: str, mode: str, folder: Path, host: str = "local") -> TableEnvironment:
    """A session of a zone, with the table `moments`.

    Args:
        zone: of the session.
        mode: micro-batch, continuous or batch.
        folder: of the table's file.
        host: where jobs run.
    """
    options = Configuration()
    options.set_string("table.local-time-zone", zone)
    options.set_string("parallelism.default", "1")
    options.set_string("headrace.execution.host", host)
    if mode != "batch":
        options.set_string("headrace.execution.mode", mode)
    builder = EnvironmentSettings.new_instance().with_configuration(options)
    wished = builder.in_batch_mode() if mode == "batch" else builder.in_streaming_mode()
    t_env = TableEnvironment.create(wished.build())
    declared, lines = cases.file_table(zone, str(folder))
    (folder / "moments.csv").write_text(lines, encoding="utf-8")
    t_env.execute_sql(declared)
    return t_env


def answers(zone: str) -> list[dict[str, Any]]:
    """What Flink has an answer to."""
    return [each for each in ANSWERS if each["zone"] == zone and "error" not in each]


def values_of(answer: dict[str, Any]) -> list[Any]:
    """Flink's values: those of a file where its planner fails over constants (a CAST to TIME)."""
    found: list[Any] = answer.get("values") or answer["differ"]["file batch"]
    return found


def wrong_cells(zone: str, form: str, t_env: TableEnvironment) -> list[tuple[Any, ...]]:
    """What one query of all expressions gives and should not: expression, moment, ours, Flink's."""
    asked = answers(zone)
    query = cases.query(form, zone, [each["sql"] for each in asked])
    kinds = t_env.sql_query(query).get_resolved_schema().get_column_data_types()[1:]
    with t_env.execute_sql(query).collect() as results:
        rows = sorted((list(row) for row in results), key=lambda row: row[0])
    assert [row[0] for row in rows] == list(range(len(cases.MOMENTS[zone])))
    if form == "file":  # over constants fewer types may be NULL
        assert [type_text(kind) for kind in kinds] == [each["type"] for each in asked]
    wrong = []
    for place, (answer, kind) in enumerate(zip(asked, kinds, strict=True)):
        sql = answer["sql"]
        for row, moment, told in zip(rows, cases.MOMENTS[zone], values_of(answer), strict=True):
            ours = row[place + 1]
            flinks = decoded(told, kind)
            as_flink = close(comparable(ours, kind), flinks)
            if not is_right(sql, zone, ours, as_flink=as_flink):
                wrong.append((sql, moment, ours, told))
    return wrong


def is_right(sql: str, zone: str, ours: Any, *, as_flink: bool) -> bool:
    """Whether a value is what it should be: Flink's, but for what differs on purpose."""
    unit = CALENDAR.match(sql)
    return as_flink if unit is None else begins(unit[1], ours, zone)


def begins(unit: str, value: dt.datetime, zone: str) -> bool:
    """Whether a unit begins then on the clock of a zone; weeks do on Sundays."""
    shown = value.replace(tzinfo=dt.UTC).astimezone(ZoneInfo(zone))
    first = {
        "DAY": True,
        "WEEK": shown.isoweekday() == 7,
        "MONTH": shown.day == 1,
        "YEAR": (shown.month, shown.day) == (1, 1),
    }
    return shown.time() == dt.time() and first[unit]
