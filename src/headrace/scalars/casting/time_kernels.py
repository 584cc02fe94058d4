"""Casts between dates and times, and to text, over whole columns.

In: arrays or scalars.  Out: the same.  Next: scalars/casting/times.py does it value by value
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from headrace.common import data_types as t
from headrace.scalars.functions.entry import NoKernelError
from headrace.scalars.offsets import offset_named
from headrace.scalars.values import arrow_type

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.common.data_types import DataType
    from headrace.scalars.session import ScalarSession

    Kernel = Callable[[Any], Any]

# Zones before standard time have odd offsets, and Arrow's dates end before Python's do.
_EARLIEST = pa.scalar(-2_208_988_800_000_000, pa.int64())  # 1900, in microseconds
_LATEST = pa.scalar(4_102_444_800_000_000, pa.int64())  # 2100
_YEAR_1, _YEAR_10000 = -62_135_596_800_000_000, 253_402_300_800_000_000  # in microseconds


def arrow_zone(session: ScalarSession) -> str | None:
    """The session's zone as Arrow names it; None if it has no such name."""
    fixed = offset_named(session.time_zone)
    if fixed is None:
        return session.time_zone
    text = str(fixed.tzname(None)).removeprefix("UTC")
    return "UTC" if not text else text if len(text) == 6 else None


def wall_column(column: Any, zone: str) -> Any:
    """TIMESTAMP_LTZ as what the clock of the session shows."""
    if zone == "UTC":
        return column.cast(pa.timestamp(column.type.unit))
    _check_range(column)
    return pc.local_timestamp(column.cast(pa.timestamp(column.type.unit, zone)))


def instant_column(column: Any, zone: str, ambiguous: str = "earliest") -> Any:
    """What the clock of the session shows as TIMESTAMP_LTZ; raises for times left out."""
    unit = column.type.unit
    if zone == "UTC":
        return column.cast(pa.timestamp(unit, "UTC"))
    _check_range(column)
    found = pc.assume_timezone(column, zone, ambiguous=ambiguous, nonexistent="raise")
    return found.cast(pa.timestamp(unit, "UTC"))


def _check_range(column: Any) -> None:
    numbers = column.cast(pa.timestamp("us", column.type.tz), safe=False).cast(pa.int64())
    within = pc.and_(pc.greater(numbers, _EARLIEST), pc.less(numbers, _LATEST))
    if isinstance(within, pa.Scalar) or pc.all(within, min_count=0).as_py() is False:
        raise NoKernelError


def within_years(column: Any) -> Any:
    """The column, if all its timestamps are of the years 1 to 9999.

    Raises:
        NoKernelError: one is not; the rows then tell which.
    """
    if isinstance(column, pa.Scalar) or column.type.unit == "ns":
        return column
    ends = pc.min_max(column.cast(pa.int64())).as_py()
    if ends["min"] is not None and (ends["min"] < _YEAR_1 or ends["max"] >= _YEAR_10000):
        raise NoKernelError
    return column


def moment_kernel(source: DataType, target: DataType, session: ScalarSession) -> Kernel | None:
    """The cast from one kind of time to another; None if there is no kernel."""
    zone, wanted = arrow_zone(session), arrow_type(target)
    if isinstance(source, t.TimeType) or isinstance(target, t.TimeType) or zone is None:
        return None
    from_local = isinstance(source, t.LocalZonedTimestampType)
    to_local = isinstance(target, t.LocalZonedTimestampType)

    def run(column: Any) -> Any:
        if from_local and not to_local:
            column = wall_column(column, zone)
        if isinstance(source, t.DateType):
            column = column.cast(pa.timestamp("us"))
        if to_local and not from_local:
            column = instant_column(column, zone)
        if isinstance(target, t.DateType):
            return pc.floor_temporal(column, unit="day").cast(pa.date32())
        assert isinstance(target, t.TimestampType | t.LocalZonedTimestampType)
        return without_digits(column, target.precision).cast(wanted)

    return run


def without_digits(column: Any, precision: int) -> Any:
    """Timestamps without the digits behind a precision."""
    digits = {"us": 6, "ns": 9}[column.type.unit]
    if precision >= digits:
        return column
    unit = {0: "second", 3: "millisecond", 6: "microsecond"}.get(precision)
    if unit is None:
        step = 10 ** (digits - precision)
        return pc.floor_temporal(column, step, "microsecond" if digits == 6 else "nanosecond")
    return pc.floor_temporal(column, unit=unit)


def moment_text_kernel(source: DataType, session: ScalarSession) -> Kernel | None:
    """How dates and timestamps read; None if there is no kernel."""
    if isinstance(source, t.DateType):
        return lambda column: column.cast(pa.string())
    zone = arrow_zone(session)
    if not isinstance(source, t.TimestampType | t.LocalZonedTimestampType) or zone is None:
        return None
    precision = source.precision
    end = 19 if precision == 0 else 20 + precision
    local = isinstance(source, t.LocalZonedTimestampType)

    def run(column: Any) -> Any:
        wall = wall_column(column, zone) if local else column
        return pc.utf8_slice_codeunits(wall.cast(pa.string()), 0, end)

    return run
