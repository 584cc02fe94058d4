"""DATE_FORMAT over whole columns, for patterns of years, months, days, hours, minutes, seconds.

The text of a timestamp has each part at its place, so a pattern is a row of slices of it.

In: a column of timestamps.  Out: a column of texts.  Next: scalars/casting/time_kernels.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from headrace.common import data_types as t
from headrace.scalars import types as kinds
from headrace.scalars.casting.time_kernels import arrow_zone, wall_column
from headrace.scalars.functions.entry import NO_LITERAL, BoundCall
from headrace.scalars.java_dates import date_pattern

if TYPE_CHECKING:
    from headrace.scalars.functions.entry import ArrowBody
    from headrace.scalars.java_dates import JavaDatePattern

_PLACES = {
    ("y", 4): (0, 4),
    ("u", 4): (0, 4),
    ("M", 2): (5, 7),
    ("d", 2): (8, 10),
    ("H", 2): (11, 13),
    ("m", 2): (14, 16),
    ("s", 2): (17, 19),
    ("S", 3): (20, 23),
    ("S", 6): (20, 26),
}


def format_kernel(call: BoundCall) -> ArrowBody | None:
    """The kernel for a constant pattern; None if it has other parts."""
    source, pattern, zone = call.arguments[0], call.literals[1], arrow_zone(call.session)
    if pattern is NO_LITERAL or pattern is None or zone is None:
        return None
    if not kinds.is_any_timestamp(source):
        return None
    pieces = _pieces(pattern)
    if pieces is None:
        return None
    local = isinstance(source, t.LocalZonedTimestampType)

    def run(column: Any, _: Any) -> Any:
        wall = wall_column(column, zone) if local else column
        text = wall.cast(pa.string())
        parts = [
            p if isinstance(p, pa.Scalar) else pc.utf8_slice_codeunits(text, *p) for p in pieces
        ]
        if len(parts) == 1:
            return parts[0]
        return pc.binary_join_element_wise(*parts, pa.scalar(""))

    return run


def _pieces(text: str) -> list[Any] | None:
    """Slices and texts, with neighbours of the usual form as one slice."""
    try:
        pattern: JavaDatePattern = date_pattern(text)
    except ValueError:
        return None
    pieces: list[Any] = []
    for token in pattern.tokens:
        found = pa.scalar(token.text) if token.text else _PLACES.get((token.letter, token.count))
        if found is None:
            return None
        pieces.append(found)
    return _joined(pieces) if any(isinstance(piece, tuple) for piece in pieces) else None


def _joined(pieces: list[Any]) -> list[Any]:
    joined: list[Any] = []
    usual = "0000-00-00 00:00:00.000000"
    for piece in pieces:
        before = joined[-2:] if len(joined) > 1 else []
        if (
            isinstance(piece, tuple)
            and before
            and isinstance(before[0], tuple)
            and isinstance(before[1], pa.Scalar)
            and before[1].as_py() == usual[before[0][1] : piece[0]]
        ):
            joined[-2:] = [(before[0][0], piece[1])]
        else:
            joined.append(piece)
    return joined
