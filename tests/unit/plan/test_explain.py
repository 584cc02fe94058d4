"""A plan as people and plan visualisers see it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from golden.compare import assert_golden
from headrace.common.configuration import Configuration
from headrace.common.typeinfo import Types
from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.expressions import col
from headrace.datastream.functions import CoMapFunction, ProcessFunction
from headrace.datastream.output_tag import OutputTag
from headrace.datastream.window import TumblingEventTimeWindows

ROW = Types.ROW_NAMED(["user", "n", "at"], [Types.STRING(), Types.INT(), Types.LONG()])
LATE = OutputTag("late", ROW)


class Route(ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        yield value


class Both(CoMapFunction):
    def map1(self, value: Any) -> Any:
        return value

    def map2(self, value: Any) -> Any:
        return value


def _program() -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda r: r.at)
    clicks = env.from_collection([], ROW).name("clicks").filter(col("n") > 1)
    timed = clicks.assign_timestamps_and_watermarks(strategy)
    counts = (
        timed.key_by("user")
        .window(TumblingEventTimeWindows.of(10))
        .side_output_late_data(LATE)
        .reduce(lambda a, b: a)
        .uid("counts")
    )
    names = env.from_collection(["x"], Types.STRING()).name("names")
    counts.connect(names.broadcast()).map(Both()).name("both").rebalance().print()
    counts.get_side_output(LATE).map(str).set_parallelism(1).print("late")
    return env


def test_golden_text_of_a_program_with_everything() -> None:
    assert_golden("plans/explain.txt", _program().explain())


@pytest.mark.parametrize("mode", ["micro-batch", "continuous"])
def test_golden_text_of_hosts_that_carry_it_otherwise(mode: str) -> None:
    texts = []
    for host in ("local", "spark"):
        env = _program()
        env.configure(
            Configuration.from_dict(
                {"headrace.execution.host": host, "headrace.execution.mode": mode}
            )
        )
        texts.append(f"{host}\n{env.explain()}")
    assert_golden(f"plans/explain_{mode}.txt", "\n\n".join(texts))


def test_golden_json_of_a_program_with_everything() -> None:
    assert_golden("plans/plan.json", _program().get_execution_plan())


def test_the_json_plan_is_a_graph_that_a_visualiser_can_read() -> None:
    nodes = json.loads(_program().get_execution_plan())["nodes"]
    ids = [node["id"] for node in nodes]
    assert len(set(ids)) == len(ids)
    for node in nodes:
        for before in node.get("predecessors", ()):
            assert before["id"] in ids
            assert ids.index(before["id"]) < ids.index(node["id"])
            assert {"id", "ship_strategy", "side"} == set(before)
    kinds = {node["pact"] for node in nodes}
    assert kinds == {"Data Source", "Operator", "Data Sink"}


def test_explaining_does_not_use_the_program_up() -> None:
    env = _program()
    assert env.explain() == env.explain()
