"""Graphs become levels of chained operators, with an exchange between levels."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest

from headrace.common.typeinfo import Types
from headrace.common.watermark_strategy import WatermarkGenerator, WatermarkStrategy
from headrace.datastream import DataStream, StreamExecutionEnvironment
from headrace.datastream.collecting import dataframe_end
from headrace.datastream.expressions import col
from headrace.datastream.functions import (
    BroadcastProcessFunction,
    CoMapFunction,
    KeyedProcessFunction,
    ProcessFunction,
)
from headrace.datastream.output_tag import OutputTag
from headrace.datastream.state import MapStateDescriptor
from headrace.datastream.window import TumblingEventTimeWindows
from headrace.errors import (
    DuplicateUidError,
    EmptyProgramError,
    InvalidArgumentError,
    PlanError,
    UnserializableFunctionError,
)
from headrace.plan.planner import PlanOptions, plan
from headrace.runtime.exchange.partition import Forward, KeyGroups, Rebalance
from headrace.testing.programs import graph_of, program_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.plan.physical import PhysicalPlan

ROW = Types.ROW_NAMED(["user", "n"], [Types.STRING(), Types.INT()])


def _env() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment()


def _plan(env: Any, parallelism: int = 2, **options: Any) -> PhysicalPlan:
    graph = program_of(env)
    return plan(graph, PlanOptions(parallelism, **options))


def _levels(env: Any, physical: PhysicalPlan) -> dict[str, int]:
    return {s.name: physical.levels[s.id] for s in graph_of(env).steps if s.id in physical.levels}


def _edges(env: Any, physical: PhysicalPlan) -> list[tuple[str, str, str, bool]]:
    names = {step.stable_id: step.name for step in graph_of(env).steps}
    return [
        (names[e.origin], names[e.target], e.partitioning.name, e.chained) for e in physical.edges
    ]


def _key(record: Any) -> Any:
    return record[0]


def test_steps_without_an_exchange_are_one_chain_at_level_0() -> None:
    env = _env()
    env.from_collection([1]).map(str).filter(bool).print()
    physical = _plan(env)
    assert _levels(env, physical) == {"Collection Source": 0, "Map": 0, "Filter": 0, "Print": 0}
    assert all(chained for *_, chained in _edges(env, physical))
    assert physical.stages == []
    assert [o.name for o in physical.sources[0].stage.operators] == ["Map", "Filter", "Print"]
    assert physical.bounded


def test_every_key_by_starts_a_level() -> None:
    env = _env()
    first = env.from_collection([1]).map(str).name("a").key_by(_key).reduce(max).name("b")
    first.map(str).name("c").key_by(_key).reduce(max).name("d").print()
    physical = _plan(env)
    assert _levels(env, physical) == {
        "Collection Source": 0, "a": 0, "b": 1, "c": 1, "d": 2, "Print": 2
    }  # fmt: skip
    assert [[o.name for o in stage.operators] for stage in physical.stages] == [
        ["b", "c"], ["d", "Print"]
    ]  # fmt: skip
    assert _edges(env, physical)[1] == ("a", "b", "HASH", False)


def test_a_diamond_joins_at_the_deeper_level() -> None:
    env = _env()
    source = env.from_collection([1])
    left = source.map(str).name("left")
    right = source.key_by(_key).reduce(max).name("right")
    right.union(left).map(str).name("join").print()
    physical = _plan(env)
    assert _levels(env, physical)["left"] == 0
    assert _levels(env, physical)["right"] == 1
    assert _levels(env, physical)["join"] == 1
    edges = _edges(env, physical)
    assert ("right", "join", "FORWARD", True) in edges
    assert ("left", "join", "FORWARD", False) in edges
    assert len(physical.stages) == 1
    crossing = next(e for e in physical.edges if not e.chained and e.partitioning.name == "FORWARD")
    assert crossing.channels == 0  # splits of a source
    assert {e.id for e in physical.edges if e.level == 1} <= set(physical.stages[0].edges)


def test_an_edge_may_skip_a_level() -> None:
    env = _env()
    source = env.from_collection([1])
    deep = source.key_by(_key).reduce(max).key_by(_key).reduce(max)
    deep.union(source.map(str)).map(str).name("join").print()
    physical = _plan(env)
    assert _levels(env, physical)["join"] == 2
    skipping = next(e for e in physical.edges if e.level == 2 and e.channels == 0)
    assert skipping.id in physical.sources[0].stage.edges
    assert skipping.id in physical.stages[1].edges
    assert skipping.id not in physical.stages[0].edges  # passed on as it is


def test_a_union_of_two_sources_runs_in_the_tasks_of_both() -> None:
    env = _env()
    one, two = env.from_collection([1]), env.from_collection([2])
    one.union(two).map(str).print()
    physical = _plan(env)
    assert [[o.name for o in s.stage.operators] for s in physical.sources] == [
        ["Map", "Print"], ["Map", "Print"]
    ]  # fmt: skip
    assert physical.stages == []


def test_a_function_with_two_inputs_stands_behind_an_exchange() -> None:
    class Both(CoMapFunction):
        def map1(self, value: Any) -> Any:
            return value

        map2 = map1

    env = _env()
    one, two = env.from_collection([1]), env.from_collection([2])
    one.connect(two).map(Both()).name("both").print()
    physical = _plan(env)
    assert _levels(env, physical)["both"] == 1
    assert [e.input for e in physical.edges[:2]] == [0, 1]
    assert not any(e.chained for e in physical.edges[:2])


def test_broadcast_reaches_every_subtask_at_level_1() -> None:
    class Apply(BroadcastProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> Any: ...

        process_broadcast_element = process_element

    env = _env()
    rules = MapStateDescriptor("rules", Types.STRING(), Types.INT())
    spread = env.from_collection([1]).broadcast(rules)
    env.from_collection([2]).connect(spread).process(Apply()).name("apply").print()
    physical = _plan(env)
    assert _levels(env, physical)["apply"] == 1
    assert [e.partitioning.name for e in physical.edges[:2]] == ["FORWARD", "BROADCAST"]


def test_a_change_of_parallelism_needs_an_exchange() -> None:
    env = _env()
    stream = env.from_collection([1]).key_by(_key).reduce(max).name("two")
    stream.map(str).name("three").set_parallelism(3).print().set_parallelism(1)
    physical = _plan(env, parallelism=2)
    levels = _levels(env, physical)
    assert (levels["two"], levels["three"], levels["Print"]) == (1, 2, 3)
    assert [type(e.partitioning) for e in physical.edges] == [KeyGroups, Rebalance, Rebalance]
    assert [e.parallelism for e in physical.edges] == [2, 3, 1]
    assert [e.channels for e in physical.edges] == [0, 2, 3]
    assert physical.slots == 3


def test_an_explicit_parallelism_behind_a_source_needs_an_exchange() -> None:
    env = _env()
    env.from_collection([1]).map(str).set_parallelism(1).print().set_parallelism(1)
    physical = _plan(env, parallelism=2)
    assert _levels(env, physical) == {"Collection Source": 0, "Map": 1, "Print": 1}
    assert physical.slots == 1


def test_rebalance_and_friends_start_a_level() -> None:
    for call in ("rebalance", "rescale", "shuffle", "global_", "broadcast"):
        env = _env()
        getattr(env.from_collection([1]), call)().map(str).print()
        assert _levels(env, _plan(env))["Map"] == 1
    env = _env()
    env.from_collection([1]).forward().map(str).print()
    assert _levels(env, _plan(env))["Map"] == 0


def test_windows_over_all_run_in_one_subtask() -> None:
    env = _env()
    stream = env.from_collection([1]).window_all(TumblingEventTimeWindows.of(5)).reduce(max)
    stream.name("window").print()
    physical = _plan(env, parallelism=4)
    levels = _levels(env, physical)
    assert levels["Print"] == levels["window"] + 1
    assert physical.edges[-1].channels == 1


def test_side_outputs_are_edges_of_their_own() -> None:
    class Sides(ProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> Any: ...

    env = _env()
    tag = OutputTag("late", Types.LONG())
    stream = env.from_collection([1]).process(Sides(), output_type=Types.STRING())
    stream.print()
    stream.get_side_output(tag).key_by(lambda v: v).reduce(max).print()
    physical = _plan(env)
    side = [e for e in physical.edges if e.tag == "late"]
    assert len(side) == 1
    assert side[0].type_info == Types.LONG()
    assert side[0].name.startswith("step-2[late]->")
    assert not side[0].chained


def test_a_generator_with_memory_stands_behind_an_exchange() -> None:
    class Generator(WatermarkGenerator):
        def on_event(self, event: Any, event_timestamp: int, output: Any) -> None: ...

        def on_periodic_emit(self, output: Any) -> None: ...

    env = _env()
    stream = env.from_collection([1])
    stream.assign_timestamps_and_watermarks(WatermarkStrategy.for_generator(Generator)).print()
    bounded = WatermarkStrategy.for_monotonous_timestamps()
    stream.assign_timestamps_and_watermarks(bounded).print()
    physical = _plan(env)
    assert sorted(o.level for s in physical.sources for o in s.stage.operators) == [0, 0]
    assert [o.level for o in physical.stages[0].operators] == [1, 1]


def test_time_is_used_only_where_a_later_stage_needs_it() -> None:
    class Timed(KeyedProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> Any: ...

    programs: list[tuple[Callable[[DataStream], DataStream], bool]] = [
        (lambda s: s.key_by(_key).reduce(max), False),
        (lambda s: s.key_by(_key).process(Timed()), True),
        (lambda s: s.map(str), False),
    ]
    for program, uses_time in programs:
        env = _env()
        program(env.from_collection([1])).print()
        assert _plan(env).uses_time is uses_time


def test_only_what_feeds_a_sink_is_planned() -> None:
    env = _env()
    source = env.from_collection([1])
    source.map(str).name("unused")
    env.from_collection([2])
    source.print()
    physical = _plan(env)
    assert len(physical.sources) == 1
    assert len(physical.levels) == 2


# --- native prefix -------------------------------------------------------------------------------


def _lowering(env: Any, physical: PhysicalPlan) -> dict[str, tuple[str, str]]:
    steps = graph_of(env).steps
    return {s.name: physical.lowering[s.id] for s in steps if s.id in physical.lowering}


def test_expressions_right_behind_a_source_are_native() -> None:
    env = _env()
    stream = env.from_collection([], ROW).filter(col("n") > 1).name("f")
    stream.select(col("user"), (col("n") * 2).alias("m")).name("s").map(str).print()
    physical = _plan(env)
    lowering = _lowering(env, physical)
    assert lowering["f"][0] == lowering["s"][0] == "native"
    assert lowering["Map"] == ("python", "a Python function")
    source = physical.sources[0]
    assert [step.name for step in source.native_steps] == ["f", "s"]
    assert [o.name for o in source.stage.operators] == ["Map", "Print"]
    assert source.stage.source_type == source.native_steps[-1].output_type
    assert (physical.edges[0].origin, physical.edges[0].target) == ("step-1", "step-4")


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        (lambda s: s.map(lambda r: r, output_type=ROW).name("py"), "after 'py', which runs in"),
        (lambda s: s.rebalance(), "comes after an exchange"),
    ],
)
def test_expressions_elsewhere_run_in_python_and_say_why(program: Any, reason: str) -> None:
    env = _env()
    program(env.from_collection([], ROW)).filter(col("n") > 1).name("f").print()
    where, why = _lowering(env, _plan(env))["f"]
    assert where == "python"
    assert reason in why


def test_a_source_that_feeds_two_branches_keeps_expressions_in_python() -> None:
    env = _env()
    source = env.from_collection([], ROW)
    source.filter(col("n") > 1).name("f").print()
    source.print()
    assert "would be read twice" in _lowering(env, _plan(env))["f"][1]


# --- errors --------------------------------------------------------------------------------------


def test_a_program_without_a_sink_is_empty() -> None:
    env = _env()
    env.from_collection([1]).map(str)
    with pytest.raises(EmptyProgramError, match="no sink"):
        _plan(env)


def test_one_uid_for_two_steps_is_refused() -> None:
    env = _env()
    env.from_collection([1]).map(str).uid("x").map(str).uid("x").print()
    with pytest.raises(DuplicateUidError) as caught:
        _plan(env)
    assert caught.value.where is not None
    assert caught.value.where.count("test_planner.py") == 2


def test_a_uid_that_is_the_implicit_name_of_another_step_is_refused() -> None:
    env = _env()
    env.from_collection([1]).map(str).map(str).uid("step-2").print()
    with pytest.raises(DuplicateUidError, match="'step-2'"):
        _plan(env)


def test_a_function_that_holds_a_lock_is_found() -> None:
    lock = threading.Lock()
    env = _env()
    env.from_collection([1]).map(str).filter(lambda r: lock is None).name("guard").print()
    with pytest.raises(UnserializableFunctionError, match="'guard' cannot be sent") as caught:
        _plan(env)
    assert "test_planner.py" in str(caught.value.where)


def test_a_key_selector_or_partitioner_that_cannot_travel_is_found() -> None:
    lock = threading.Lock()
    env = _env()
    env.from_collection([1]).key_by(lambda r: lock).reduce(max).name("total").print()
    with pytest.raises(UnserializableFunctionError, match="'total'"):
        _plan(env)


def test_more_subtasks_than_key_groups_are_refused() -> None:
    env = _env()
    stream = env.from_collection([1]).key_by(_key).reduce(max)
    stream.set_parallelism(4).set_max_parallelism(2).print()
    with pytest.raises(InvalidArgumentError, match="parallelism 4, above its max parallelism 2"):
        _plan(env)
    env = _env()
    env.from_collection([1]).key_by(_key).reduce(max).print()
    with pytest.raises(PlanError, match="parallelism 4, above the max parallelism 2"):
        _plan(env, parallelism=4, max_parallelism=2)


def test_the_default_number_of_key_groups_follows_the_steps_own_parallelism() -> None:
    env = _env()
    env.from_collection([1]).key_by(_key).reduce(max).set_parallelism(200).print()
    physical = _plan(env, parallelism=2)
    assert physical.edges[0].max_parallelism == 512
    assert physical.edges[0].parallelism == 200


def test_forward_edges_of_one_width_stay_forward() -> None:
    env = _env()
    env.from_collection([1]).key_by(_key).reduce(max).map(str).print()
    assert [type(e.partitioning) for e in _plan(env).edges] == [KeyGroups, Forward, Forward]


def test_the_dataframe_at_the_end_of_a_native_program_is_no_step_for_catalyst() -> None:
    env = _env()
    rows = env.from_collection([], type_info=Types.ROW_NAMED(["n"], [Types.LONG()]))
    filtered = rows.filter(col("n") > 1)
    end = dataframe_end(filtered)
    physical = plan(graph_of(env).reachable_from([end]), PlanOptions(2))
    assert physical.native_job is not None
    assert [step.kind for step in physical.sources[0].native_steps] == ["filter"]
