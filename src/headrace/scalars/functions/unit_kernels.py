"""EXTRACT, FLOOR and CEIL of times over whole columns.

In: columns of times.  Out: columns.  Next: scalars/casting/time_kernels.py knows the zones
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from headrace.common import data_types as t
from headrace.scalars import types as kinds
from headrace.scalars.casting.time_kernels import (
    arrow_zone,
    instant_column,
    wall_column,
    within_years,
)

if TYPE_CHECKING:
    from headrace.common.data_types import DataType
    from headrace.scalars.functions.entry import ArrowBody, BoundCall
    from headrace.scalars.session import ScalarSession

_DATE_PARTS: dict[str, ArrowBody] = {
    "YEAR": pc.year,
    "QUARTER": pc.quarter,
    "MONTH": pc.month,
    "WEEK": pc.iso_week,
    "DAY": pc.day,
    "DOW": lambda column: pc.day_of_week(column, count_from_zero=False, week_start=7),
    "DOY": pc.day_of_year,
    "ISODOW": lambda column: pc.day_of_week(column, count_from_zero=False, week_start=1),
    "ISOYEAR": pc.iso_year,
}
_TIME_PARTS: dict[str, ArrowBody] = {"HOUR": pc.hour, "MINUTE": pc.minute, "SECOND": pc.second}
_ROUNDED = {
    "SECOND": "second",
    "MINUTE": "minute",
    "HOUR": "hour",
    "DAY": "day",
    "WEEK": "week",
    "MONTH": "month",
    "QUARTER": "quarter",
    "YEAR": "year",
}
# Units within which no clock is changed: a point in time moves as far as what the clock shows.
OF_AN_HOUR = ("HOUR", "MINUTE", "SECOND", "MILLISECOND")


def extract_kernel(unit: str, source: DataType, session: ScalarSession) -> ArrowBody | None:
    """The kernel of EXTRACT; None if there is none."""
    part = _DATE_PARTS.get(unit)
    if part is None and not isinstance(source, t.DateType):
        part = _TIME_PARTS.get(unit)
    if part is None or not kinds.is_datetime(source) or isinstance(source, t.TimeType):
        return None
    found, zone = part, arrow_zone(session)
    if not isinstance(source, t.LocalZonedTimestampType):
        return lambda column: found(column).cast(pa.int64())
    if zone is None:
        return None
    return lambda column: found(wall_column(column, zone)).cast(pa.int64())


def rounding_kernel(call: BoundCall, *, up: bool) -> ArrowBody | None:
    """The kernel of FLOOR and CEIL of timestamps; None if there is none."""
    unit, source = call.literals[1].upper(), call.arguments[0]
    name, zone = _ROUNDED.get(unit), arrow_zone(call.session)
    by_clock = unit in ("SECOND", "MINUTE", "HOUR", "DAY")
    if name is None or zone is None or not kinds.is_any_timestamp(source) or (up and not by_clock):
        return None
    local = isinstance(source, t.LocalZonedTimestampType)

    def run(column: Any, _: Any) -> Any:
        wall = wall_column(column, zone) if local else column
        if up:
            found = within_years(pc.ceil_temporal(wall, unit=name))
        else:
            found = pc.floor_temporal(wall, unit=name, week_starts_monday=False)
        if not local:
            return found
        if unit in OF_AN_HOUR:
            moved = pc.add(column, pc.subtract(found, wall))
            return within_years(moved) if up else moved
        return instant_column(found, zone)

    return run
