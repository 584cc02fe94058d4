"""The planner is an ordered tuple of small rules, and none of them changes the user's graph."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest

from headrace.common.typeinfo import PickledBytesTypeInfo, RowTypeInfo, Types
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors.file_system import FileSink
from headrace.datastream.expressions import col, count, window_end
from headrace.datastream.window import TumblingEventTimeWindows
from headrace.plan import rules
from headrace.plan.expression_types import expression_types
from headrace.plan.plan_graph import PlanGraph
from headrace.plan.planner import RULES, PlanOptions, plan
from headrace.plan.rules.resolve_types import resolve_types
from headrace.testing.programs import graph_of, program_of

ROW = Types.ROW_NAMED(["user", "n"], [Types.STRING(), Types.INT()])


def _env() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment()


def _plan(env: Any, types: Any = None) -> Any:
    return plan(program_of(env), PlanOptions(2), types)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_a_rule_has_a_file_of_its_name_that_shows_before_and_after(rule: Any) -> None:
    module = inspect.getmodule(rule)
    assert module is not None
    assert module.__name__ == f"headrace.plan.rules.{rule.__name__}"
    assert {"before:", "after:"} <= set((module.__doc__ or "").split())
    assert rule.__doc__


def test_every_file_of_a_rule_is_in_the_tuple() -> None:
    files = {path.stem for path in Path(rules.__file__).parent.glob("*.py")} - {"__init__"}
    assert files == {rule.__name__ for rule in RULES}


def test_types_are_found_in_a_copy_and_reach_what_is_behind_a_projection() -> None:
    env = _env()
    twice = env.from_collection([], ROW).select((col("n") * 2).alias("twice"), col("user").upper())
    twice.filter(col("twice") > 1).sink_to(FileSink.parquet("out"))
    before = [step.output_type for step in graph_of(env).steps]
    physical = _plan(env, expression_types)
    found = Types.ROW_NAMED(["twice", "upper(user)"], [Types.INT(), Types.STRING()])
    assert [step.output_type for step in physical.graph.steps[1:]] == [found, found, found]
    assert physical.sinks[0].operator.type_info == found
    assert all(edge.record_type == found for s in physical.graph.steps[2:] for edge in s.inputs)
    assert [step.output_type for step in graph_of(env).steps] == before
    unknown = graph_of(env).steps[1].output_type
    assert isinstance(unknown, RowTypeInfo)
    assert set(map(type, unknown.get_field_types())) == {PickledBytesTypeInfo}
    assert graph_of(env).steps[-1].operator.type_info is unknown  # type: ignore[union-attr]


def test_a_second_plan_of_a_graph_that_has_learned_its_types_is_the_same() -> None:
    env = _env()
    twice = env.from_collection([], ROW).select((col("n") * 2).alias("twice"))
    twice.filter(col("twice") > 1).sink_to(FileSink.parquet("out"))
    graph = graph_of(env).reachable_from(graph_of(env).steps[:2])  # as a preview: without the sink
    graph_of(env).reachable_from(graph.steps).learn_types(
        resolve_types(PlanGraph(graph, PlanOptions(2), expression_types)).graph
    )
    assert twice.get_type() == Types.ROW_NAMED(["twice"], [Types.INT()])
    second = _plan(env, lambda step: Types.ROW_NAMED(["twice"], [Types.LONG()]))
    assert second.sinks[0].operator.type_info == Types.ROW_NAMED(["twice"], [Types.LONG()])


def test_without_a_resolver_the_graph_is_the_users() -> None:
    env = _env()
    env.from_collection([], ROW).select(col("n")).print()
    physical = _plan(env)
    assert physical.graph.steps[0] is graph_of(env).steps[0]


def test_windows_have_the_types_of_their_aggregates() -> None:
    env = _env()
    windows = env.from_collection([], ROW).key_by("user").window(TumblingEventTimeWindows.of(5))
    windows.select(col("user"), count(), col("n").avg(), col("n").max(), window_end()).print()
    step = _plan(env, expression_types).graph.steps[1]
    assert step.output_type.get_field_types() == [
        Types.STRING(), Types.LONG(), Types.DOUBLE(), Types.INT(), Types.LONG()
    ]  # fmt: skip


def test_a_type_that_nobody_knows_stays_unknown() -> None:
    env = _env()
    env.from_collection([{"n": 1}]).select(col("n") + 1).print()
    assert _plan(env, expression_types).graph.steps[1].output_type.get_field_types() == [
        Types.PICKLED_BYTE_ARRAY()
    ]
