"""The step of MATCH_RECOGNIZE.

In: a RowMatch node.  Out: a DataStream of lines.  Next: cep/matching/operator.py
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from headrace.cep.matching.operator import MatchOperator, MatchSpec
from headrace.errors import PlanError
from headrace.rel import nodes as n

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.datastream.data_stream import DataStream
    from headrace.rel.steps import StepBuilder


def _match(build: StepBuilder, node: n.RowMatch) -> DataStream:
    from headrace.rel.steps import order_parts

    first, *others = node.order
    time = node.input.schema[first.column]
    if time.time is None and not build.settings.bounded:
        raise PlanError(
            f"MATCH_RECOGNIZE orders lines by {time.name}, which is no time attribute, so nobody "
            "knows when all lines up to a time have come",
            fix=f"declare it in the table: WATERMARK FOR {time.name} AS {time.name} - "
            "INTERVAL '5' SECOND",
        )
    spec = MatchSpec(
        node.partition,
        None if time.time is n.TimeAttribute.PROCTIME else first.column,
        order_parts(tuple(others)),
        node.stages,
        node.measures,
        node.skip,
        node.within_ms,
    )
    operator = MatchOperator(
        spec, build.type_of(node.input), build.type_of(node), build.settings.session
    )
    stream = build.add(node, operator, [node.partition], "Match")
    for origin in stream._origins:
        origin.step.kind = state_kind(node)
    return stream


def state_kind(node: n.RowMatch) -> str:
    """The kind of the step: whoever has stored partial matches finds them by it.

    They hold lines by the places of columns, and states of the automaton: a savepoint of a clause
    with others is refused before the job starts. Conditions over the same columns, measures, the
    time limit and the strategy may change.
    """
    stages = [
        [s.variable, s.minimum, s.maximum, s.greedy, s.condition is not None] for s in node.stages
    ]
    columns = [[field.name, str(field.type)] for field in node.input.schema]
    shape = json.dumps([stages, columns, node.partition, [key.column for key in node.order]])
    digest = hashlib.sha256(shape.encode()).hexdigest()[:8]
    return f"match [{', '.join(stage.variable for stage in node.stages)}] {digest}"


HANDLERS: dict[type[n.Rel], Callable[..., DataStream]] = {n.RowMatch: _match}
