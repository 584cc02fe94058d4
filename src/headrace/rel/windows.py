"""Which columns of a node are the bounds of its lines' windows, and aggregates over them.

    WindowTvf ──▶ Calc ──▶ GROUP BY window_start, window_end
        ──▶  Calc ──▶ WindowAggregate, which puts lines into windows itself

In: nodes above a window table function.  Out: `WindowColumns`, WindowAggregate.
Next: building.py
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from headrace.common import data_types as t
from headrace.rel import nodes as n
from headrace.scalars.nodes import Ref, columns_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.scalars.aggregates import AggregateCall
    from headrace.scalars.nodes import Scalar


@dataclass(frozen=True, slots=True)
class WindowColumns:
    """Where the bounds of a line's window are; None where they were projected away."""

    window: n.WindowSpec
    start: int | None
    end: int | None
    time: int | None

    def property_at(self, place: int) -> n.WindowProperty | None:
        """Which bound a column is."""
        bounds = {
            self.start: n.WindowProperty.START,
            self.end: n.WindowProperty.END,
            self.time: n.WindowProperty.TIME,
        }
        return bounds.get(place)


def windows_of(node: n.Rel) -> WindowColumns | None:
    """The bounds of the windows that the lines of a node are in, if they are."""
    match node:
        case n.WindowTvf():
            first = len(node.input.schema)
            return WindowColumns(node.window, first, first + 1, first + 2)
        case n.Calc(input=n.OverAggregate() as numbered):
            return _through(_of_top_n(node, numbered), node.projections)
        case n.Calc():
            return _through(windows_of(node.input), node.projections)
        case n.Expand():
            # what all sets have; the copies of keys come last, and count
            shared = [
                column[0] if len(set(column)) == 1 else None
                for column in zip(*node.projections, strict=True)
            ]
            return _through(windows_of(node.input), shared, last=True)
        case n.WindowAggregate():
            return _of_aggregate(node)
        case n.WindowJoin():
            return windows_of(node.left)
        case n.Rank() | n.Deduplicate() if node.window is not None:
            return windows_of(node.input)
        case n.WatermarkAssigner() | n.Correlate():
            return windows_of(node.input)
        case _:
            return None


def _of_top_n(node: n.Calc, numbered: n.OverAggregate) -> WindowColumns | None:
    """The bounds of a Top-N of windows, as it is before rules find it: numbers and a filter."""
    found = windows_of(numbered.input)
    number = len(numbered.input.schema)
    filters = node.condition is not None and number in columns_of(node.condition)
    if found is None or not filters or {found.start, found.end} - set(numbered.partition):
        return None
    return found if [call.function for call in numbered.calls] == ["ROW_NUMBER"] else None


def _through(
    below: WindowColumns | None, projections: Sequence[Scalar | None], *, last: bool = False
) -> WindowColumns | None:
    if below is None:
        return None
    numbered = list(enumerate(projections))
    places = {
        scalar.index: place
        for place, scalar in (numbered if last else reversed(numbered))
        if isinstance(scalar, Ref)
    }

    def moved(place: int | None) -> int | None:
        return None if place is None else places.get(place)

    return WindowColumns(below.window, moved(below.start), moved(below.end), moved(below.time))


def _of_aggregate(node: n.WindowAggregate) -> WindowColumns:
    first = len(node.keys) + len(node.calls)
    places = {each: first + place for place, each in enumerate(node.properties)}
    bounds = n.WindowProperty
    return WindowColumns(
        node.window, places.get(bounds.START), places.get(bounds.END), places.get(bounds.TIME)
    )


def window_aggregate(
    rel: n.Rel, keys: Sequence[int], calls: Sequence[AggregateCall], names: Sequence[str]
) -> n.Rel | None:
    """A GROUP BY as one over windows, if the bounds of a window are among its keys.

    Returns:
        A node with the keys in their order, then the calls; None if it is no such aggregate.
    """
    windows = windows_of(rel)
    if windows is None or windows.start not in keys or windows.end not in keys:
        return None
    properties = list(
        dict.fromkeys(p for key in keys if (p := windows.property_at(key)) is not None)
    )
    plain = [key for key in keys if windows.property_at(key) is None]
    if _sessions_of_others(rel, plain):
        return None
    node = _aggregate(rel, windows, plain, calls, properties)
    first = len(plain) + len(calls)
    places = []
    for key in keys:
        bound = windows.property_at(key)
        places.append(plain.index(key) if bound is None else first + properties.index(bound))
    places += range(len(plain), len(plain) + len(calls))
    from headrace.rel.building import project, ref

    return project(node, [ref(node, place) for place in places], names)


def _sessions_of_others(rel: n.Rel, keys: Sequence[int]) -> bool:
    """Whether lines come from sessions of other keys: Flink has a GROUP BY with updates then."""
    pushed = _below_the_tvf(rel)
    if pushed is None or pushed.window.kind is not n.WindowKind.SESSION:
        return False
    return not _fits(pushed.window, keys, pushed.places)


def _aggregate(
    rel: n.Rel,
    windows: WindowColumns,
    keys: Sequence[int],
    calls: Sequence[AggregateCall],
    properties: Sequence[n.WindowProperty],
) -> n.WindowAggregate:
    pushed = _below_the_tvf(rel)
    if pushed is not None and _fits(pushed.window, keys, pushed.places):
        input_, window, attached = pushed.input, pushed.window, None
        moved_keys = tuple(pushed.places[key] for key in keys)
        moved_calls = tuple(_moved_call(call, pushed.places) for call in calls)
    else:
        assert windows.start is not None
        assert windows.end is not None
        input_, window, attached = rel, windows.window, (windows.start, windows.end)
        moved_keys, moved_calls = tuple(keys), tuple(calls)
    schema = window_schema(rel, keys, calls, properties, windows)
    return n.WindowAggregate(
        input_, window, moved_keys, moved_calls, tuple(properties), attached, schema=schema
    )


def window_schema(
    rel: n.Rel,
    keys: Sequence[int],
    calls: Sequence[AggregateCall],
    properties: Sequence[n.WindowProperty],
    windows: WindowColumns,
) -> n.Schema:
    """The columns of a window aggregate: keys, calls, bounds."""
    stamp = t.TimestampType(3).not_null()
    kinds = {
        n.WindowProperty.START: n.Field("window_start", stamp),
        n.WindowProperty.END: n.Field("window_end", stamp),
    }
    if windows.time is not None:
        kinds[n.WindowProperty.TIME] = rel.schema[windows.time]._replace(name="window_time")
    return (
        *(rel.schema[key]._replace(time=None) for key in keys),
        *(n.Field(f"$a{place}", call.type) for place, call in enumerate(calls)),
        *(kinds[each] for each in properties),
    )


@dataclass(frozen=True, slots=True)
class _Pushed:
    """A projection of windows as one of lines that are in none yet."""

    input: n.Rel
    window: n.WindowSpec
    places: dict[int, int]  # columns of the former projection to those of the new one


def _below_the_tvf(rel: n.Rel) -> _Pushed | None:
    if isinstance(rel, n.WindowTvf):
        return _Pushed(rel.input, rel.window, {i: i for i in range(len(rel.input.schema))})
    if not isinstance(rel, n.Calc) or not isinstance(rel.input, n.WindowTvf):
        return None
    tvf = rel.input
    width = len(tvf.input.schema)
    if rel.condition is not None and any(c >= width for c in columns_of(rel.condition)):
        return None
    kept = [
        (place, scalar)
        for place, scalar in enumerate(rel.projections)
        if all(column < width for column in columns_of(scalar))
    ]
    lost = [s for s in rel.projections if any(column >= width for column in columns_of(s))]
    if any(not isinstance(scalar, Ref) for scalar in lost):
        return None
    scalars = [scalar for _, scalar in kept]
    wanted = [tvf.window.time, *tvf.window.partition]
    from headrace.rel.building import filtered, project, ref

    time_refs = [ref(tvf.input, place) for place in wanted]
    scalars += [each for each in time_refs if each not in scalars]
    names = [f"c{place}" for place in range(len(scalars))]
    below = project(filtered(tvf.input, rel.condition), scalars, names)
    window = replace(
        tvf.window,
        time=scalars.index(time_refs[0]),
        partition=tuple(scalars.index(each) for each in time_refs[1:]),
    )
    return _Pushed(below, window, {place: new for new, (place, _) in enumerate(kept)})


def _fits(window: n.WindowSpec, keys: Sequence[int], places: dict[int, int]) -> bool:
    """A session's keys have to be those of the GROUP BY."""
    if any(key not in places for key in keys):
        return False
    if window.kind is not n.WindowKind.SESSION:
        return True
    return {places[key] for key in keys} == set(window.partition)


def _moved_call(call: AggregateCall, places: dict[int, int]) -> AggregateCall:
    return replace(
        call,
        arguments=tuple(places[each] for each in call.arguments),
        filter=None if call.filter is None else places[call.filter],
    )
