"""What the clock shows: CURRENT_TIMESTAMP, NOW, LOCALTIME, PROCTIME and their kin.

In batch mode all but the last two are the time at which the query began; in streaming mode they are
the time at which records are processed, once for the records of a batch.

In: the session.  Out: times.  Next: scalars/session.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.common import data_types as t
from headrace.common.clock import processing_time_ns
from headrace.errors import UnsupportedStepError
from headrace.scalars import moments as m
from headrace.scalars.functions.entry import BoundCall, Clock, FunctionEntry
from headrace.scalars.functions.rules import (
    TIMESTAMP,
    TIMESTAMP_LTZ,
    either,
    first_argument,
    nothing,
    takes,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.common.data_types import DataType
    from headrace.scalars.functions.entry import RowBody


def _wall(call: BoundCall) -> int:
    return m.wall_from_instant(call.session.now_ns(), call.session.zone)


def _entry(
    name: str, doc: str, gives: DataType, show: Callable[[BoundCall], Any], *forms: str
) -> FunctionEntry:
    def body(call: BoundCall) -> RowBody:
        return lambda: show(call)

    return FunctionEntry(
        name=name,
        category="temporal",
        doc=doc,
        forms=forms or (name,),
        rule=nothing(gives),
        row_of=body,
        deterministic=False,
        clock=Clock.QUERY,
    )


def _each(name: str, doc: str) -> FunctionEntry:
    return FunctionEntry(
        name=name,
        category="temporal",
        doc=doc,
        forms=(f"{name}()",),
        rule=nothing(_LTZ),
        row=lambda: m.instant_of(processing_time_ns(), 3),
        deterministic=False,
        clock=Clock.RECORD,
    )


def _no_watermark(call: BoundCall) -> RowBody:
    """Operators that have a watermark put it where the call is (watermarked_calc.py)."""
    raise UnsupportedStepError(
        "CURRENT_WATERMARK can be asked in SELECT and WHERE only",
        fix="select it in a subquery, and use its column here",
    )


_LTZ = t.LocalZonedTimestampType(3)
_NOW = "Now, as a point in time."
ENTRIES = (
    _entry("LOCALTIME", "The time of the day.", t.TimeType(0), lambda c: m.time_of(_wall(c), 0)),
    _entry("CURRENT_TIME", "The time of the day.", t.TimeType(0), lambda c: m.time_of(_wall(c), 0)),
    _entry(
        "LOCALTIMESTAMP",
        "Now, on the clock of the session.",
        t.TimestampType(3),
        lambda c: m.wall_of(_wall(c), 3),
    ),
    _entry("CURRENT_DATE", "The day.", t.DateType(), lambda c: m.day_of(_wall(c))),
    _entry("CURRENT_TIMESTAMP", _NOW, _LTZ, lambda c: m.instant_of(c.session.now_ns(), 3)),
    _entry("NOW", _NOW, _LTZ, lambda c: m.instant_of(c.session.now_ns(), 3), "NOW()"),
    _each("CURRENT_ROW_TIMESTAMP", "The time at which the record is processed."),
    _each("PROCTIME", "The time at which the record is processed: a time attribute."),
    FunctionEntry(
        name="CURRENT_WATERMARK",
        category="temporal",
        doc="The watermark where it is called, NULL before the first: late lines are behind it.",
        forms=("CURRENT_WATERMARK(rowtime)",),
        rule=takes(either(TIMESTAMP, TIMESTAMP_LTZ), gives=first_argument, nullable=True),
        row_of=_no_watermark,
        deterministic=False,
        strict=False,
        clock=Clock.RECORD,
    ),
)
