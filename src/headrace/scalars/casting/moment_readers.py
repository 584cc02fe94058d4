"""Texts and numbers as times, over whole columns.

Texts of the usual form are read by Arrow; a batch with any other text is read row by row.

In: columns of texts or numbers.  Out: columns of dates and timestamps.
Next: scalars/casting/times.py reads the other forms
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from headrace.common import data_types as t
from headrace.scalars.casting.time_kernels import arrow_zone, instant_column, without_digits
from headrace.scalars.functions.entry import NoKernelError
from headrace.scalars.values import arrow_type

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.common.data_types import DataType
    from headrace.scalars.session import ScalarSession

    Kernel = Callable[[Any], Any]

_DAY = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_CLOCK = r"[0-9]{2}:[0-9]{2}:[0-9]{2}"
DATE_FORM = f"^{_DAY}$"
TIMESTAMP_FORM = rf"^{_DAY}( {_CLOCK}(\.[0-9]{{1,6}})?)?$"
SECONDS_FORM = f"^{_DAY} {_CLOCK}$"
# A text that begins so; the older patterns of Java ignore what follows.
SECONDS_START = f"^{_DAY} {_CLOCK}"
_UNITS = {0: "s", 3: "ms", 6: "us", 9: "ns"}
# The first and the last second that Python's datetime has.
_FIRST, _LAST = -62_135_596_800, 253_402_300_799


def checked(column: Any, form: str) -> Any:
    """The column, if all its texts are of a form and of a year that Python has.

    Raises:
        NoKernelError: one is not.
    """
    fits = pc.match_substring_regex(column, form)
    early = pc.starts_with(column, "0000")
    good = pc.and_not(fits, early)
    if isinstance(good, pa.Scalar) or pc.all(good, min_count=0).as_py() is False:
        raise NoKernelError
    return column


def text_kernel(target: DataType, session: ScalarSession) -> Kernel | None:
    """CAST of texts to DATE, TIMESTAMP, TIMESTAMP_LTZ; None if there is no kernel."""
    if isinstance(target, t.DateType):
        return lambda column: checked(column, DATE_FORM).cast(pa.date32())
    if not isinstance(target, t.TimestampType | t.LocalZonedTimestampType) or target.precision > 6:
        return None
    zone, wanted = arrow_zone(session), arrow_type(target)
    if zone is None:
        return None

    def run(column: Any) -> Any:
        wall = checked(column, TIMESTAMP_FORM).cast(pa.timestamp("us"))
        if isinstance(target, t.LocalZonedTimestampType):
            wall = instant_column(wall, zone)
        return without_digits(wall, target.precision).cast(wanted)

    return run


def epoch_kernel(unit_digits: int, target: t.LocalZonedTimestampType) -> Kernel | None:
    """Whole numbers of units since 1970 as TIMESTAMP_LTZ; None if Arrow has no such unit."""
    unit, wanted = _UNITS.get(unit_digits), arrow_type(target)
    if unit is None or unit_digits > max(target.precision, 3):
        return None
    size = 10**unit_digits
    first, last = pa.scalar(_FIRST * size), pa.scalar(min(_LAST * size, 2**63 - 1), pa.int64())
    if unit_digits == 9:
        return None  # a number of nanoseconds ends before the years do

    def run(column: Any) -> Any:
        wide = column.cast(pa.int64())
        within = pc.and_(pc.greater_equal(wide, first), pc.less_equal(wide, last))
        if isinstance(within, pa.Scalar) or pc.all(within, min_count=0).as_py() is False:
            raise NoKernelError
        return wide.cast(pa.timestamp(unit, "UTC")).cast(wanted)

    return run


def seconds_kernel(session: ScalarSession) -> Kernel | None:
    """Texts of the usual form as seconds since 1970; of two times the later one is meant."""
    zone = arrow_zone(session)
    if zone is None:
        return None

    def run(column: Any) -> Any:
        text = pc.utf8_slice_codeunits(checked(column, SECONDS_START), 0, 19)
        wall = text.cast(pa.timestamp("us"))
        return (
            instant_column(wall, zone, ambiguous="latest")
            .cast(pa.timestamp("s", "UTC"))
            .cast(pa.int64())
        )

    return run
