"""Accumulators of a job: merged for the job, for a vertex, and by subtask."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from headrace.common import Configuration
from headrace.common.accumulators import IntCounter, ListAccumulator
from headrace.control.accumulators import AccumulatorTotals
from headrace.datastream import MapFunction, StreamExecutionEnvironment
from headrace.errors import ProgramError

if TYPE_CHECKING:
    from headrace.common.accumulators import Accumulator
    from headrace.datastream import RuntimeContext


def listed(*values: object) -> ListAccumulator:
    found = ListAccumulator()
    for value in values:
        found.add(value)
    return found


def test_steps_of_a_vertex_and_subtasks_are_merged() -> None:
    totals = AccumulatorTotals()
    totals.add("parse", 0, {"bad": IntCounter(1)})
    totals.add("parse", 1, {"bad": IntCounter(2)})
    totals.add("check", 1, {"bad": IntCounter(4), "seen": listed("a")})
    totals.add("sink", 0, {"bad": IntCounter(8)})
    totals.add("parse", 1, {"bad": IntCounter(16)})
    assert totals.of_vertex({"parse", "check"}, 2) == {
        "all": {
            "bad": {"type": "IntCounter", "value": "23"},
            "seen": {"type": "ListAccumulator", "value": "['a']"},
        },
        "subtasks": {
            "0": {"bad": {"type": "IntCounter", "value": "1"}},
            "1": {
                "bad": {"type": "IntCounter", "value": "22"},
                "seen": {"type": "ListAccumulator", "value": "['a']"},
            },
        },
    }
    assert totals.values() == {"bad": 31, "seen": ["a"]}
    assert totals.of_job()["bad"] == {"type": "IntCounter", "value": "31"}


def test_tasks_beyond_the_parallelism_belong_to_the_subtask_that_runs_them() -> None:
    totals = AccumulatorTotals()
    for number in range(4):
        totals.add("source", number, {"read": IntCounter(10**number)})
    found = totals.of_vertex({"source"}, 2)
    assert found is not None
    told = {number: each["read"]["value"] for number, each in found["subtasks"].items()}
    assert told == {"0": "101", "1": "1010"}


def test_looking_adds_nothing_and_parts_share_nothing() -> None:
    totals = AccumulatorTotals()
    totals.add("step", 0, {"seen": listed("a")})
    totals.add("step", 1, {"seen": listed("b")})
    first = totals.of_vertex({"step"}, 2)
    assert totals.of_vertex({"step"}, 2) == first
    assert totals.values() == {"seen": ["a", "b"]}
    totals.add("step", 0, {"seen": listed("c")})
    found = totals.of_vertex({"step"}, 2)
    assert found is not None
    assert found["subtasks"]["0"]["seen"]["value"] == "['a', 'c']"
    assert totals.values() == {"seen": ["a", "b", "c"]}


def test_a_vertex_without_accumulators_has_nothing() -> None:
    totals = AccumulatorTotals()
    totals.add("step", 0, {})
    assert totals.of_vertex({"step"}, 2) is None
    assert totals.of_job() == {}


class _Registers(MapFunction):
    def __init__(self, accumulator: Accumulator[Any, Any]) -> None:
        self.accumulator = accumulator

    def open(self, runtime_context: RuntimeContext) -> None:
        runtime_context.add_accumulator("seen", self.accumulator)

    def map(self, value: int) -> int:
        return value


def test_two_kinds_under_one_name_end_the_job() -> None:
    configuration = Configuration()
    configuration.set_string("headrace.execution.host", "local")
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    numbers = env.from_collection([1]).map(_Registers(IntCounter()))
    numbers.map(_Registers(ListAccumulator())).print()
    with pytest.raises(ProgramError, match="'seen' is registered as IntCounter and as ListAcc"):
        env.execute("two kinds")


def test_values_that_were_handed_out_do_not_grow_with_the_next_epoch() -> None:
    totals = AccumulatorTotals()
    totals.add("parse", 0, {"seen": listed("a")})
    before = totals.values()
    totals.add("parse", 0, {"seen": listed("b")})
    assert before == {"seen": ["a"]}
    assert totals.values() == {"seen": ["a", "b"]}
