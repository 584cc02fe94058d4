"""Steps of windows and OVER: what steps.py is for the rest.

In: nodes with windows.  Out: DataStreams of lines.  Next: runtime/table/windows/
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.errors import PlanError
from headrace.rel import nodes as n
from headrace.rel.windows import windows_of
from headrace.runtime.table.windows.aggregate import (
    SqlWindowShape,
    window_aggregate_operator,
    window_tvf_operator,
)
from headrace.runtime.table.windows.deduplicate import WindowDeduplicateOperator
from headrace.runtime.table.windows.grid import SESSION
from headrace.runtime.table.windows.local import (
    LocalSlicesOperator,
    MergedSlicesOperator,
    can_be_local,
    local_type,
)
from headrace.runtime.table.windows.rank import WindowRankOperator
from headrace.runtime.table.windows.whole import WindowPlaces
from headrace.scalars.nodes import Ref

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.datastream.data_stream import DataStream
    from headrace.rel.steps import StepBuilder


def _shape(build: StepBuilder, node: n.Rel, window: n.WindowSpec, *, asked: bool) -> SqlWindowShape:
    """The window as the runtime knows it.

    Args:
        build: of the plan.
        node: whose column is the time.
        window: what was asked for.
        asked: whether the time is read from the lines, so that it must be a time attribute.
    """
    if build.settings.bounded and not window.event_time:
        raise PlanError(
            "windows of processing time say when lines come, which they do not in batch mode",
            fix="use a column with the time of the lines, or run in streaming mode",
        )
    if build.settings.bounded and window.asks_clock:
        raise PlanError(
            "PROCTIME of a window says when it is processed, which batch mode does not tell",
            fix="ask for its ROWTIME or its END, or run in streaming mode",
        )
    if asked and not build.settings.bounded and node.schema[window.time].time is None:
        name = _declared_name(node, window.time)
        raise PlanError(
            f"the windows go by {f'column {name}' if name else 'an expression'}, which is no time "
            "attribute, so nobody knows when they are complete",
            fix=f"declare it in the table: WATERMARK FOR {name} AS {name} - INTERVAL '5' SECOND"
            if name
            else "declare a computed column in the table, and a WATERMARK for it",
        )
    return SqlWindowShape(
        str(window.kind),
        window.size_ms,
        window.slide_ms,
        window.offset_ms,
        window.time if window.event_time else None,
        build.settings.zone if window.local else None,
    )


def _declared_name(node: n.Rel, column: int) -> str | None:
    """What a column is called where it comes from; None for what is computed in the query."""
    while True:
        match node:
            case n.Calc() if isinstance(found := node.projections[column], Ref):
                node, column = node.input, found.index
            case n.WindowTvf():
                node = node.input
            case n.Calc():
                return None
            case _:
                return node.schema[column].name


def _count_windows(build: StepBuilder, node: n.WindowAggregate) -> DataStream:
    """Windows of so many lines."""
    from headrace.runtime.table.windows.counts import CountWindowAggregateOperator
    from headrace.runtime.table.windows.grid import WindowGrid

    if node.properties:
        raise PlanError(
            "a window of so many lines has no start and no end",
            fix="leave them out of select; MIN and MAX of a time tell when its lines came",
        )
    if build.settings.bounded:
        raise PlanError(
            "lines have no order in batch mode, so nobody knows which of them are in a window",
            fix="run in streaming mode, or group by windows of time",
        )
    if not build.changes.of(node.input).only_inserts:
        raise PlanError(
            "a window of so many lines cannot take lines back",
            fix="use it on a table that only has inserts",
        )
    window = node.window
    operator = CountWindowAggregateOperator(
        WindowGrid.of(str(window.kind), window.size_ms, window.slide_ms),
        node.calls,
        build.type_of(node.input),
        build.type_of(node),
        build.settings.session,
    )
    return build.add(node, operator, [node.keys], "CountWindowAggregate")


def _window_aggregate(build: StepBuilder, node: n.WindowAggregate) -> DataStream:
    if node.window.by_count:
        return _count_windows(build, node)
    shape = _shape(build, node.input, node.window, asked=node.attached is None)
    if _is_local(build, node, shape):
        return _two_steps(build, node, shape)
    operator = window_aggregate_operator(
        shape,
        node.calls,
        node.properties,
        build.type_of(node.input),
        build.type_of(node),
        attached=node.attached,
        session=build.settings.session,
    )
    return build.add(node, operator, [node.keys])


def _is_local(build: StepBuilder, node: n.WindowAggregate, shape: SqlWindowShape) -> bool:
    """Whether what a subtask has can be aggregated before lines are exchanged."""
    fixed = node.attached is None and shape.kind != SESSION and shape.time is not None
    if not fixed or not build.settings.two_phases:
        return False
    return can_be_local(node.calls, build.type_of(node.input), build.settings.session)


def _two_steps(build: StepBuilder, node: n.WindowAggregate, shape: SqlWindowShape) -> DataStream:
    lines, session = build.type_of(node.input), build.settings.session
    between = local_type(node.keys, node.calls, lines, session)
    assert shape.time is not None
    local = LocalSlicesOperator(
        shape.grid, shape.time, shape.zone, node.keys, node.calls, lines, between, session
    )
    stream = build.stream(node.input)
    partial = build.add_over(node, [stream], local, name="LocalWindowAggregate", output=between)
    merged = MergedSlicesOperator(
        shape.grid,
        shape.time,
        shape.zone,
        node.calls,
        node.properties,
        lines,
        build.type_of(node),
        session,
        local=between,
    )
    return build.add_over(node, [partial], merged, [tuple(range(len(node.keys)))])


def _window_tvf(build: StepBuilder, node: n.WindowTvf) -> DataStream:
    shape = _shape(build, node.input, node.window, asked=True)
    operator = window_tvf_operator(shape, build.type_of(node.input), build.type_of(node))
    session = node.window.kind is n.WindowKind.SESSION
    return build.add(node, operator, [node.window.partition] if session else None)


def _places(build: StepBuilder, node: n.Rank | n.Deduplicate) -> WindowPlaces:
    windows = windows_of(node.input)
    local = windows is not None and windows.window.local
    return WindowPlaces(attached=node.window, zone=build.settings.zone if local else None)


def window_rank(build: StepBuilder, node: n.Rank) -> DataStream:
    """Top-N of windows."""
    from headrace.rel.steps import order_parts
    from headrace.runtime.table.rank import RankSpec

    spec = RankSpec(
        order_parts(node.order),
        node.first,
        node.last,
        node.with_number,
        node.last_column,
        node.function,
    )
    lines, out = build.type_of(node.input), build.type_of(node)
    operator = WindowRankOperator(_places(build, node), spec, lines, out)
    return build.add(node, operator, [node.partition], "WindowRank")


def window_deduplicate(build: StepBuilder, node: n.Deduplicate) -> DataStream:
    """The first or last line of each key and window."""
    operator = WindowDeduplicateOperator(
        _places(build, node), node.time, build.type_of(node.input), keep_last=node.keep_last
    )
    return build.add(node, operator, [node.keys], "WindowDeduplicate")


def _over(build: StepBuilder, node: n.OverAggregate) -> DataStream:
    from headrace.rel.steps import order_parts
    from headrace.runtime.table.over import (
        EVENT_TIME,
        OTHER,
        PROCESSING_TIME,
        OverSpec,
        over_operator,
    )

    time = node.input.schema[node.order[0].column].time if node.order else None
    domains = {n.TimeAttribute.ROWTIME: EVENT_TIME, n.TimeAttribute.PROCTIME: PROCESSING_TIME}
    spec = OverSpec(
        node.calls,
        order_parts(node.order),
        OTHER if time is None else domains[time],
        node.rows,
        node.preceding,
        node.following,
        build.settings.ttl_ms,
        once=not build.changes.tells_each(node),
    )
    operator = over_operator(
        spec,
        build.type_of(node.input),
        build.type_of(node),
        build.settings.session,
        bounded=build.settings.bounded,
    )
    return build.add(node, operator, [node.partition])


HANDLERS: dict[type[n.Rel], Callable[..., DataStream]] = {
    n.WindowAggregate: _window_aggregate,
    n.WindowTvf: _window_tvf,
    n.OverAggregate: _over,
}
