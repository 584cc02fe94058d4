"""What a query knows of the session it runs in: the time zone, and when it is.

In: the options of the job (table.local-time-zone, execution.runtime-mode).
Out: bodies of functions ask it.  Next: scalars/functions/entry.py
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from headrace.common.clock import processing_time_ns
from headrace.errors import ConfigurationError
from headrace.scalars.offsets import offset_named

if TYPE_CHECKING:
    from datetime import tzinfo


@dataclass(frozen=True, slots=True)
class AsyncCalls:
    """How asynchronous functions are called; picklable.

    Attributes:
        at_once: how many calls wait at the same time.
        timeout_s: after which time a call fails, with all that was tried; 0 for never.
        retries: how often a call that raised is made again.
        delay_s: how long to wait before that.
    """

    at_once: int = 10
    timeout_s: float = 180.0
    retries: int = 3
    delay_s: float = 0.1


@dataclass(frozen=True, slots=True)
class ScalarSession:
    """The session of a query; picklable.

    Attributes:
        time_zone: of TIMESTAMP_LTZ when it becomes text or a date: a name such as
            ``Europe/Berlin``, or an offset such as ``+02:00`` or ``GMT-05:00``.
        query_time_ns: in batch mode the time at which the query started, in epoch nanoseconds:
            CURRENT_TIMESTAMP and its kin give it for all records.  None in streaming mode, where
            they are the time at which a record is processed.
        legacy_cast: whether a cast that fails gives NULL (`table.exec.legacy-cast-behaviour`).
        async_calls: `table.exec.async-scalar.*`.
    """

    time_zone: str = "UTC"
    query_time_ns: int | None = None
    legacy_cast: bool = False
    async_calls: AsyncCalls = AsyncCalls()

    @property
    def zone(self) -> tzinfo:
        """The time zone as Python's."""
        return zone_named(self.time_zone)

    def now_ns(self) -> int:
        """The current time for functions that look at the clock, in epoch nanoseconds."""
        return processing_time_ns() if self.query_time_ns is None else self.query_time_ns


@lru_cache(maxsize=256)
def zone_named(name: str) -> tzinfo:
    """The zone with a name of the tz database, or an offset as Java writes it.

    Raises:
        ConfigurationError: there is no such zone.
    """
    offset = offset_named(name)
    if offset is not None:
        return offset
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        message = f"there is no time zone {name!r}"
        fix = "name one of the tz database (Europe/Berlin), or an offset (+02:00, GMT-05:00)"
        raise ConfigurationError(message, fix=fix) from None
