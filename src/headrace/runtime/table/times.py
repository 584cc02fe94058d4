"""Times of lines as epoch milliseconds, and wall-clock times of the session's zone.

    TIMESTAMP(p)      its digits as if they were UTC       ─▶ milliseconds
    TIMESTAMP_LTZ(p)  the instant                          ─▶ milliseconds
    Zone              instant ─▶ what the clock on the wall shows, and back

Windows over a TIMESTAMP_LTZ are cut on the wall clock: a day begins at midnight of the session's
zone, whatever UTC says.  What the clock skips or shows twice follows Flink.
Next: runtime/table/windows/grid.py
"""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from headrace.errors import RecordError
from headrace.scalars.session import zone_named

if TYPE_CHECKING:
    from numpy.typing import NDArray

HOUR_MS = 3_600_000
_MAX = (1 << 63) - 1
_DAY_MS = 24 * HOUR_MS
# before the year 1 no clock is asked; watermarks begin there
_EARLIEST = -62_135_596_800_000 + _DAY_MS
_PER_MS = {"s": 0, "ms": 1, "us": 1000, "ns": 1_000_000}
_EPOCH = dt.datetime(1970, 1, 1)  # digits of a clock, not an instant
_UTC_NAMES = ("UTC", "Z", "Etc/UTC", "GMT", "UTC+00:00")


def column_millis(column: pa.Array) -> NDArray[np.int64]:
    """The milliseconds of a column of times without NULL; fractions are cut off downwards."""
    ticks: NDArray[np.int64] = column.cast(pa.int64()).to_numpy(zero_copy_only=False)
    if not pa.types.is_timestamp(column.type):
        return ticks
    unit = column.type.unit
    return ticks * 1000 if unit == "s" else ticks // _PER_MS[unit]


def millis_column(millis: NDArray[np.int64], kind: pa.DataType) -> pa.Array:
    """Milliseconds as a column of a type of times."""
    ticks = millis // 1000 if kind.unit == "s" else millis * _PER_MS[kind.unit]
    return pa.array(ticks, pa.int64()).cast(kind)


def rowtimes(column: pa.Array, where: str) -> NDArray[np.int64]:
    """The milliseconds of a time attribute.

    Raises:
        RecordError: one is NULL.
    """
    if column.null_count:
        raise RecordError(
            f"a line has NULL for its time attribute in {where}",
            fix="filter such lines out in front of it: WHERE the column IS NOT NULL",
        )
    return column_millis(column)


class Zone:
    """The wall clock of a zone, in milliseconds; UTC changes nothing.

    Args:
        name: of the zone, as in ``table.local-time-zone``; None for no shift.
    """

    def __init__(self, name: str | None = None) -> None:
        self.name = None if name in _UTC_NAMES else name
        self._open()

    def _open(self) -> None:
        self._zone = None if self.name is None else zone_named(self.name)
        self._offsets: dict[int, int] = {}  # by quarter of an hour: offsets change at these only

    def __getstate__(self) -> str | None:
        return self.name

    def __setstate__(self, name: str | None) -> None:
        self.name = name
        self._open()

    def local(self, instant: int) -> int:
        """What the clock shows at an instant."""
        if self._zone is None or instant == _MAX or instant < _EARLIEST:
            return instant
        return instant + self._offset(instant)

    def locals(self, instants: NDArray[np.int64]) -> NDArray[np.int64]:
        """The same for many."""
        if self._zone is None or not len(instants):
            return instants
        quarters, numbers = np.unique(instants // (HOUR_MS // 4), return_inverse=True)
        offsets = np.array([self._offset(q * (HOUR_MS // 4)) for q in quarters.tolist()])
        shifted: NDArray[np.int64] = instants + offsets[numbers]
        return shifted

    def instant(self, shown: int) -> int:
        """When the clock shows a time: the first moment of two, and behind a gap if it is in it."""
        if self._zone is None or shown == _MAX:
            return shown
        # the offset in front of a change holds for what is shown twice, and for what is skipped
        return shown - self._offset_before(shown)

    def instants(self, shown: NDArray[np.int64]) -> NDArray[np.int64]:
        """The same for many."""
        if self._zone is None:
            return shown
        distinct, numbers = np.unique(shown, return_inverse=True)
        found = np.array([self.instant(time) for time in distinct.tolist()], dtype=np.int64)
        return found[numbers]

    def due(self, shown: int) -> int:
        """When something that waits for a time on the clock is due.

        A time that the clock skips is due when it skips; one that it shows twice, the second time.
        """
        if self._zone is None or shown == _MAX:
            return shown
        first, later = self.instant(shown), self.instant(shown + HOUR_MS)
        if first == later:
            return first - first % HOUR_MS
        return first + HOUR_MS if later - first > HOUR_MS else first

    def passed(self, instant: int) -> int:
        """The latest time on the clock of which all that waits for it is due at an instant."""
        shown = self.local(instant)
        if self._zone is None or instant < _EARLIEST or instant == _MAX:
            return shown
        if self.due(shown) <= instant:
            return shown
        # the clock will show this once more: look for where it was set back to
        low, high = shown - _DAY_MS, shown
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if self.due(middle) <= instant else (low, middle - 1)
        return low

    def _offset(self, instant: int) -> int:
        """How far the clock is ahead of UTC at an instant."""
        quarter = instant // (HOUR_MS // 4)
        found = self._offsets.get(quarter)
        if found is None:
            assert self._zone is not None
            seconds = dt.timedelta(seconds=quarter * (HOUR_MS // 4000))
            at = (_EPOCH + seconds).replace(tzinfo=dt.UTC).astimezone(self._zone)
            offset = at.utcoffset()
            assert offset is not None
            found = self._offsets[quarter] = offset // dt.timedelta(milliseconds=1)
        return found

    def _offset_before(self, shown: int) -> int:
        assert self._zone is not None
        naive = _EPOCH + dt.timedelta(milliseconds=shown)
        offset = naive.replace(tzinfo=self._zone, fold=0).utcoffset()
        assert offset is not None
        return offset // dt.timedelta(milliseconds=1)
