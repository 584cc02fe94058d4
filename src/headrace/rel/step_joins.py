"""Steps of joins: what steps.py is for the rest.

In: joins.  Out: DataStreams of lines.  Next: runtime/table/joins/
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from headrace.rel import nodes as n
from headrace.rel.properties import keys_of
from headrace.rel.windows import windows_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.common.row_data_type import RowDataTypeInfo
    from headrace.datastream.data_stream import DataStream
    from headrace.rel.steps import StepBuilder
    from headrace.runtime.operators.base import Operator
    from headrace.scalars.nodes import Scalar
    from headrace.scalars.session import ScalarSession


def _unique_key(side: n.Rel, join_keys: tuple[int, ...]) -> tuple[int, ...] | None:
    """A key of a side's lines, so that an update finds what it changes; best one of the join's."""

    def rank(key: frozenset[int]) -> tuple[bool, int, list[int]]:
        return not key <= frozenset(join_keys), len(key), sorted(key)

    keys = sorted(keys_of(side), key=rank)
    return tuple(sorted(keys[0])) if keys else None


def _types(
    build: StepBuilder, node: n.Join
) -> tuple[RowDataTypeInfo, RowDataTypeInfo, RowDataTypeInfo]:
    """Of both sides and the output, with which every join begins."""
    return build.type_of(node.left), build.type_of(node.right), build.type_of(node)


class _JoinOptions(TypedDict):
    """What every join is told."""

    kind: n.JoinKind
    left_keys: tuple[int, ...]
    right_keys: tuple[int, ...]
    condition: Scalar | None
    session: ScalarSession
    null_safe: tuple[bool, ...]


def _options(build: StepBuilder, node: n.Join) -> _JoinOptions:
    return {
        "kind": node.kind,
        "left_keys": node.left_keys,
        "right_keys": node.right_keys,
        "condition": node.condition,
        "session": build.settings.session,
        "null_safe": node.null_safe,
    }


def _join(build: StepBuilder, node: n.Join) -> DataStream:
    from headrace.runtime.table.joins.regular import RegularJoinOperator

    ttl = build.settings.ttl_ms
    operator = RegularJoinOperator(
        *_types(build, node),
        **_options(build, node),
        unique_keys=(
            _unique_key(node.left, node.left_keys),
            _unique_key(node.right, node.right_keys),
        ),
        before=build.before(node),
        ttl_ms=tuple(ttl if each is None else each for each in node.ttl_ms),  # type: ignore[arg-type]
    )
    return build.add(node, operator, [node.left_keys, node.right_keys])


def _window_join(build: StepBuilder, node: n.WindowJoin) -> DataStream:
    from headrace.runtime.table.joins.window_join import WindowJoinOperator

    windows = windows_of(node.left)
    local = windows is not None and windows.window.local
    operator = WindowJoinOperator(
        *_types(build, node),
        window_ends=(node.left_window[1], node.right_window[1]),
        zone=build.settings.zone if local else None,
        **_options(build, node),
    )
    return build.add(node, operator, [node.left_keys, node.right_keys])


def _interval_join(build: StepBuilder, node: n.TimeIntervalJoin) -> DataStream:
    from headrace.runtime.table.joins.interval import IntervalJoinOfLines

    operator = IntervalJoinOfLines(
        *_types(build, node),
        times=(node.left_time, node.right_time) if node.event_time else None,
        lower_ms=node.lower_ms,
        upper_ms=node.upper_ms,
        **_options(build, node),
    )
    return build.add(node, operator, [node.left_keys, node.right_keys])


def _temporal_join(build: StepBuilder, node: n.TemporalJoin) -> DataStream:
    from headrace.runtime.table.joins import temporal

    types = _types(build, node)
    operator: Operator
    if node.right_time is None:
        operator = temporal.ProcessingTimeTemporalJoin(
            *types,
            ttl_ms=build.settings.ttl_ms,
            **_options(build, node),
        )
    else:
        operator = temporal.EventTimeTemporalJoin(
            *types,
            times=(node.left_time, node.right_time),
            ttl_ms=build.settings.ttl_ms,
            **_options(build, node),
        )
    return build.add(node, operator, [node.left_keys, node.right_keys])


def _lookup_join(build: StepBuilder, node: n.LookupJoin) -> DataStream:
    from headrace.rel.steps import line_type
    from headrace.runtime.table.joins.lookup import LookupJoinOperator, LookupRetry

    retries = node.retries
    assert node.table.lookup is not None, node.table.name
    input_type = build.type_of(node.input)
    outside = node.schema[len(node.input.schema) :]
    operator = LookupJoinOperator(
        input_type,
        line_type(outside, changes=False),
        build.type_of(node),
        lookup=node.table.lookup(tuple(name for name, _ in node.keys)),
        keys=[scalar for _, scalar in node.keys],
        kind=node.kind,
        condition=node.condition,
        session=build.settings.session,
        retry=None if retries is None else LookupRetry(retries.delay_ms, retries.max_attempts),
    )
    return build.add(node, operator)


HANDLERS: dict[type[n.Rel], Callable[..., DataStream]] = {
    n.Join: _join,
    n.TimeIntervalJoin: _interval_join,
    n.WindowJoin: _window_join,
    n.TemporalJoin: _temporal_join,
    n.LookupJoin: _lookup_join,
}
