"""Times as texts and numbers, and back: DATE_FORMAT, TO_TIMESTAMP, UNIX_TIMESTAMP and their kin.

Patterns are Java's (scalars/java_dates.py): DATE_FORMAT of a timestamp and TO_TIMESTAMP take those
of DateTimeFormatter, all others those of SimpleDateFormat, as in Flink.

In: times, texts, patterns.  Out: texts, times, numbers.  Next: scalars/java_dates.py
"""

from __future__ import annotations

from decimal import ROUND_DOWN, Decimal
from typing import TYPE_CHECKING, Any

from headrace.common import data_types as t
from headrace.scalars import moments as m
from headrace.scalars import types as kinds
from headrace.scalars.casting.moment_readers import (
    SECONDS_FORM,
    checked,
    epoch_kernel,
    seconds_kernel,
    text_kernel,
)
from headrace.scalars.casting.times import read_date, read_wall, wall_reader
from headrace.scalars.functions.entry import BoundCall, CallTypes, Clock, FunctionEntry, Operand
from headrace.scalars.functions.format_kernels import format_kernel
from headrace.scalars.functions.rules import (
    ANY_TIMESTAMP,
    BIGINT,
    INT,
    NUMERIC,
    STRING,
    VARCHAR,
    nothing,
    one_of,
    takes,
)
from headrace.scalars.java_dates import (
    date_pattern,
    format_instant,
    format_wall,
    read_legacy,
    read_modern,
)
from headrace.scalars.session import zone_named

if TYPE_CHECKING:
    from datetime import date, datetime

    from headrace.scalars.functions.entry import ArrowBody, RowBody

_DEFAULT = "yyyy-MM-dd HH:mm:ss"
_LOWEST = -(1 << 63)
# the years 0000 and 9999, beyond which Flink has no timestamps
_FIRST_SECOND, _LAST_SECOND = -62_167_219_200, 253_402_300_799
_LTZ = t.LocalZonedTimestampType


# --- DATE_FORMAT -----------------------------------------------------------------------------


def _date_format(call: BoundCall) -> RowBody:
    source = call.arguments[0]
    if kinds.is_character(source):
        return _reformat
    read, zone = wall_reader(source, call.session), call.session.zone
    return lambda value, pattern: format_wall(read(value), pattern, zone=zone)


def _reformat(text: str, pattern: str) -> str | None:
    """A text of the usual form in another one."""
    wall = read_legacy(text, _DEFAULT, zone_named("UTC"))
    return None if wall is None else format_wall(wall, pattern, legacy=True)


# --- TO_DATE, TO_TIMESTAMP -------------------------------------------------------------------


def _to_date(text: str, pattern: str | None = None) -> date | None:
    if pattern is not None:
        found = read_legacy(text, pattern, zone_named("UTC"))
        return None if found is None else m.day_of(found)
    try:
        return read_date(text)
    except ValueError:
        return None


def _to_timestamp(text: str, pattern: str | None = None) -> datetime | None:
    wall = _wall(text, pattern)
    return None if wall is None else m.wall_of(wall, 3)


def _wall(text: str, pattern: str | None) -> int | None:
    """A text as nanoseconds on the wall clock; what does not fit is tried in the usual form."""
    found = None if pattern is None else read_modern(text, pattern)
    if found is not None or (pattern is not None and not _is_pattern(pattern)):
        return found
    try:
        return read_wall(text if pattern is None else text.strip())
    except ValueError:
        return None


def _is_pattern(pattern: str) -> bool:
    try:
        date_pattern(pattern)
    except ValueError:
        return False
    return True


# --- TO_TIMESTAMP_LTZ ------------------------------------------------------------------------


def _ltz_number_rule(operands: tuple[Operand, ...]) -> CallTypes | None:
    """The precision is 3, or more if a constant asks for it."""
    found = takes(NUMERIC, INT, needs=1, gives=_LTZ(3), nullable=True)(operands)
    if found is None or len(operands) == 1:
        return found
    asked = operands[1].literal
    if isinstance(asked, int) and 3 < asked <= 9:
        return CallTypes(found.arguments, _LTZ(asked))
    return found


_LTZ_TEXT = takes(STRING, STRING, STRING, needs=1, gives=_LTZ(3), nullable=True)


def _to_ltz(call: BoundCall) -> RowBody:
    result = call.result
    assert isinstance(result, t.LocalZonedTimestampType)
    digits = result.precision
    if kinds.is_character(call.arguments[0]):
        return lambda *texts: _read_ltz(digits, *texts)
    return lambda number, precision=3: _number_ltz(digits, number, precision)


def _number_ltz(digits: int, number: Any, precision: int) -> datetime | None:
    if not 0 <= precision <= 9:
        message = f"the precision is {precision}, not between 0 and 9"
        raise ValueError(message)
    if isinstance(number, float):
        nanos = int(Decimal(number).scaleb(9 - precision).to_integral_value(ROUND_DOWN))
    else:
        nanos = int(number) * 10 ** (9 - precision)
    if not _FIRST_SECOND <= nanos // m.SECOND <= _LAST_SECOND:
        return None
    return m.instant_of(nanos, digits)


def _read_ltz(
    digits: int, text: str, pattern: str | None = None, zone: str = "UTC"
) -> datetime | None:
    wall = _wall(text, pattern)
    if wall is None:
        return None
    return m.instant_of(m.instant_from_wall(wall, zone_named(zone)), digits)


# --- kernels for the usual forms -------------------------------------------------------------


def _to_date_kernel(call: BoundCall) -> ArrowBody | None:
    return text_kernel(call.result, call.session) if len(call.arguments) == 1 else None


def _to_timestamp_kernel(call: BoundCall) -> ArrowBody | None:
    kernel = text_kernel(call.result, call.session)
    if kernel is None or len(call.arguments) == 1:
        return kernel
    if call.literals[1] != _DEFAULT:
        return None
    inner = kernel
    return lambda column, _: inner(checked(column, SECONDS_FORM))


def _to_ltz_kernel(call: BoundCall) -> ArrowBody | None:
    digits = call.literals[1] if len(call.literals) > 1 else 3
    if not kinds.is_integral(call.arguments[0]) or not isinstance(digits, int):
        return None
    assert isinstance(call.result, t.LocalZonedTimestampType)
    kernel = epoch_kernel(digits, call.result)
    return None if kernel is None else lambda column, *_: kernel(column)


# --- seconds since 1970 ----------------------------------------------------------------------


def _unix_timestamp(call: BoundCall) -> RowBody:
    zone = call.session.zone

    def read(text: str, pattern: str = _DEFAULT) -> int:
        found = read_legacy(text, pattern, zone)
        return _LOWEST if found is None else found // m.SECOND

    return read


def _from_unixtime(call: BoundCall) -> RowBody:
    zone = call.session.zone

    def show(seconds: int, pattern: str = _DEFAULT) -> str:
        return format_instant(seconds * m.SECOND, pattern, zone)

    return show


def _convert_tz(text: str, source: str, target: str) -> str | None:
    instant = read_legacy(text, _DEFAULT, zone_named(source))
    if instant is None:
        return None
    return format_instant(instant, _DEFAULT, zone_named(target))


ENTRIES = (
    FunctionEntry(
        name="DATE_FORMAT",
        category="temporal",
        doc="A timestamp in a pattern of Java.",
        forms=("DATE_FORMAT(timestamp, pattern)", "DATE_FORMAT(string, pattern)"),
        rule=one_of(
            takes(ANY_TIMESTAMP, STRING, gives=VARCHAR, nullable=True),
            takes(STRING, STRING, gives=VARCHAR, nullable=True),
        ),
        row_of=_date_format,
        arrow_of=format_kernel,
    ),
    FunctionEntry(
        name="TO_DATE",
        category="temporal",
        doc="The date that a text means; NULL if it means none.",
        forms=("TO_DATE(string)", "TO_DATE(string, pattern)"),
        rule=takes(STRING, STRING, needs=1, gives=t.DateType(), nullable=True),
        row=_to_date,
        arrow_of=_to_date_kernel,
    ),
    FunctionEntry(
        name="TO_TIMESTAMP",
        category="temporal",
        doc="The timestamp that a text means; NULL if it means none.",
        forms=("TO_TIMESTAMP(string)", "TO_TIMESTAMP(string, pattern)"),
        rule=takes(STRING, STRING, needs=1, gives=t.TimestampType(3), nullable=True),
        row=_to_timestamp,
        arrow_of=_to_timestamp_kernel,
    ),
    FunctionEntry(
        name="TO_TIMESTAMP_LTZ",
        category="temporal",
        doc="The point in time of a number of units since 1970, or of a text.",
        forms=(
            "TO_TIMESTAMP_LTZ(numeric)",
            "TO_TIMESTAMP_LTZ(numeric, precision)",
            "TO_TIMESTAMP_LTZ(string)",
            "TO_TIMESTAMP_LTZ(string, pattern)",
            "TO_TIMESTAMP_LTZ(string, pattern, zone)",
        ),
        rule=one_of(_ltz_number_rule, _LTZ_TEXT),
        row_of=_to_ltz,
        arrow_of=_to_ltz_kernel,
    ),
    FunctionEntry(
        name="UNIX_TIMESTAMP",
        category="temporal",
        doc="Seconds since 1970: now, or of a text; the lowest BIGINT if it means none.",
        forms=("UNIX_TIMESTAMP()", "UNIX_TIMESTAMP(string)", "UNIX_TIMESTAMP(string, pattern)"),
        rule=one_of(nothing(t.BigIntType()), takes(STRING, STRING, needs=1, gives=t.BigIntType())),
        row_of=lambda call: _unix_timestamp(call) if call.arguments else _now_seconds(call),
        arrow_of=lambda call: seconds_kernel(call.session) if len(call.arguments) == 1 else None,
        deterministic=False,
        clock=Clock.QUERY,
    ),
    FunctionEntry(
        name="FROM_UNIXTIME",
        category="temporal",
        doc="Seconds since 1970 as text, on the clock of the session.",
        forms=("FROM_UNIXTIME(integer)", "FROM_UNIXTIME(integer, pattern)"),
        rule=takes(BIGINT, STRING, needs=1, gives=VARCHAR, nullable=True),
        row_of=_from_unixtime,
    ),
    FunctionEntry(
        name="CONVERT_TZ",
        category="temporal",
        doc="A text of a timestamp on the clock of another zone.",
        forms=("CONVERT_TZ(string, zone, zone)",),
        rule=takes(STRING, STRING, STRING, gives=VARCHAR, nullable=True),
        row=_convert_tz,
    ),
)


def _now_seconds(call: BoundCall) -> RowBody:
    session = call.session
    return lambda: session.now_ns() // m.SECOND
