"""What kind of join a condition makes: regular, of intervals of time, or of windows.

    a.ts BETWEEN b.ts - INTERVAL '1' HOUR AND b.ts      an interval join
    a.window_start = b.window_start AND a.window_end = b.window_end       a window join
    anything else                                       a regular join

In: a `Join` as building.py makes it.  Out: the same, or an IntervalJoin or WindowJoin.  A regular
join has no time attributes in its result: its lines come in any order.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from headrace.rel import nodes as n
from headrace.rel.conditions import MIRRORED, conjunction, conjuncts
from headrace.rel.windows import windows_of
from headrace.scalars.nodes import Call, Cast, Literal, Ref

if TYPE_CHECKING:
    from headrace.scalars.nodes import Scalar


def recognised(join: n.Join) -> n.Join:
    """The join as what it is."""
    found = _window_join(join) or _interval_join(join)
    if found is not None:
        return found
    return replace(join, schema=without_time(join.schema))


def without_time(schema: n.Schema) -> n.Schema:
    """The same columns, none of them a time attribute."""
    return tuple(field._replace(time=None) for field in schema)


# --- windows -------------------------------------------------------------------------------------


def _window_join(join: n.Join) -> n.WindowJoin | None:
    left, right = windows_of(join.left), windows_of(join.right)
    if left is None or right is None or left.start is None or right.start is None:
        return None
    if left.end is None or right.end is None:
        return None
    pairs = list(zip(join.left_keys, join.right_keys, strict=True))
    bounds = [(left.start, right.start), (left.end, right.end)]
    if not all(pair in pairs for pair in bounds):
        return None
    rest = [place for place, pair in enumerate(pairs) if pair not in bounds]
    return n.WindowJoin(
        join.left,
        join.right,
        join.kind,
        tuple(join.left_keys[place] for place in rest),
        tuple(join.right_keys[place] for place in rest),
        join.condition,
        tuple(join.null_safe[place] for place in rest),
        left_window=(left.start, left.end),
        right_window=(right.start, right.end),
        schema=join.schema,
    )


# --- intervals -----------------------------------------------------------------------------------


class _Moment(NamedTuple):
    """A time attribute, and a constant that is added to it."""

    column: int
    offset_ms: int


class _Bound(NamedTuple):
    """right time >= left time + ms, or <= if `upper`."""

    left: int
    right: int
    ms: int
    upper: bool


def _interval_join(join: n.Join) -> n.TimeIntervalJoin | None:
    if join.kind in (n.JoinKind.SEMI, n.JoinKind.ANTI):
        return None
    width = len(join.left.schema)
    bounds: list[_Bound] = []
    rest: list[Scalar] = []
    for part in conjuncts(join.condition):
        found = _bounds(part, join, width)
        bounds += found
        if not found:
            rest.append(part)
    for one, other in zip(join.left_keys, join.right_keys, strict=True):
        both = (join.left.schema[one].time, join.right.schema[other].time)
        if None not in both:  # a.ts = b.ts is an interval without width
            bounds += [_Bound(one, other, 0, upper=False), _Bound(one, other, 0, upper=True)]
    if not bounds:
        return None
    left, right = bounds[0].left, bounds[0].right
    lower = [bound.ms for bound in bounds if not bound.upper]
    upper = [bound.ms for bound in bounds if bound.upper]
    if not lower or not upper or {(b.left, b.right) for b in bounds} != {(left, right)}:
        return None
    times = {join.left.schema[left].time, join.right.schema[right].time}
    if len(times) != 1:
        return None
    return n.TimeIntervalJoin(
        join.left,
        join.right,
        join.kind,
        join.left_keys,
        join.right_keys,
        conjunction(rest),
        join.null_safe,
        left_time=left,
        right_time=right,
        lower_ms=max(lower),
        upper_ms=min(upper),
        event_time=times == {n.TimeAttribute.ROWTIME},
        schema=join.schema,
    )


def _bounds(part: Scalar, join: n.Join, width: int) -> list[_Bound]:
    """The bounds that a comparison of both times sets; none if it does not."""
    if not isinstance(part, Call) or part.function not in MIRRORED:
        return []
    first, second = (_moment(each, join.left.schema + join.right.schema) for each in part.arguments)
    if first is None or second is None or (first.column < width) == (second.column < width):
        return []
    sign = part.function
    left, right = first, second
    if first.column >= width:
        left, right, sign = second, first, MIRRORED[sign]
    # left + a  sign  right + b   is   right  mirrored  left + (a - b)
    ms, place = left.offset_ms - right.offset_ms, right.column - width
    found = {
        "<": [_Bound(left.column, place, ms + 1, upper=False)],
        "<=": [_Bound(left.column, place, ms, upper=False)],
        ">": [_Bound(left.column, place, ms - 1, upper=True)],
        ">=": [_Bound(left.column, place, ms, upper=True)],
        "=": [
            _Bound(left.column, place, ms, upper=False),
            _Bound(left.column, place, ms, upper=True),
        ],
    }
    return found[sign]


def _moment(scalar: Scalar, schema: n.Schema) -> _Moment | None:
    match scalar:
        case Ref():
            return None if schema[scalar.index].time is None else _Moment(scalar.index, 0)
        case Cast():
            return _moment(scalar.argument, schema)
        case Call(function="+" | "-", arguments=(one, other)):
            base, span, sign = one, other, 1 if scalar.function == "+" else -1
            if isinstance(one, Literal) and scalar.function == "+":
                base, span = other, one
            found = _moment(base, schema)
            amount = span_of(span)
            if found is None or amount is None:
                return None
            return found._replace(offset_ms=found.offset_ms + sign * amount)
        case _:
            return None


def span_of(scalar: Scalar) -> int | None:
    """The milliseconds of a constant interval; also of one with a sign, or several added."""
    from headrace.common.data_types import DayTimeIntervalType

    match scalar:
        case Literal() if isinstance(scalar.type, DayTimeIntervalType):
            return scalar.value if isinstance(scalar.value, int) else None
        case Call(function="-", arguments=(inner,)):
            amount = span_of(inner)
            return None if amount is None else -amount
        case _:
            return None
