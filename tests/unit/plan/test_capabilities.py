"""One table says where a step can run, and why not elsewhere."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.common.typeinfo import Types
from headrace.control.executor import plan_options
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors.file_system import FileSink
from headrace.datastream.expressions import col, lit
from headrace.errors import UnsupportedStepError
from headrace.graph.nodes import NativeKind
from headrace.plan.capabilities import CAPABILITIES, capability, needs_memory
from headrace.plan.planner import PlanOptions, plan
from headrace.spi.job_spec import JobSpec
from headrace.testing.programs import graph_of, step_of

PRICE = Types.ROW_NAMED(["item", "price"], [Types.STRING(), Types.BIG_DEC()])


def _priced() -> Any:
    env = StreamExecutionEnvironment.get_execution_environment()
    return env.from_collection([], PRICE)


def _placements(stream: Any, options: PlanOptions | None = None) -> dict[str, tuple[str, str]]:
    graph = graph_of(stream.get_execution_environment())
    physical = plan(graph.reachable_from(graph.sinks()), options or PlanOptions(2))
    return {step.name: physical.lowering[step.id] for step in physical.graph.steps}


def test_every_native_kind_is_in_the_table() -> None:
    assert set(NativeKind) <= set(CAPABILITIES)


def test_a_filter_with_a_function_is_not_one_with_an_expression() -> None:
    stream = _priced()
    by_function = step_of(stream.filter(bool))
    by_column = step_of(stream.filter(col("item") == "hat"))
    assert capability(by_function).native is None
    assert capability(by_column).native is not None


@pytest.mark.parametrize(
    "condition", [col("price") > 5, col("price") + 1 == 3, col("price").is_null() & lit(value=True)]
)
def test_numbers_that_spark_holds_as_text_are_computed_in_python(condition: Any) -> None:
    stream = _priced().filter(condition).name("f")
    stream.print()
    where, why = _placements(stream)["f"]
    assert where == "python"
    assert "its field 'price' is a number without limits, which Spark stores as text" in why


def test_such_a_number_may_pass_through_spark() -> None:
    stream = _priced().filter(col("item") == "hat").select(col("price")).name("s")
    stream.sink_to(FileSink.parquet("out"))
    assert {where for where, _ in _placements(stream).values()} == {"native"}


def test_a_continuous_host_runs_what_python_can_run() -> None:
    options = plan_options(JobSpec("j", 2, options={"headrace.execution.mode": "continuous"}))
    why = "runs in continuous mode, whose tasks read the source in Python"
    stream = _priced().filter(col("item") == "hat").name("f")
    stream.print()
    assert _placements(stream, options)["f"] == (
        "python", f"column expressions evaluated in Python: {why}"
    )  # fmt: skip
    only_spark = _priced().select("sha2(item, 256) AS fingerprint")
    only_spark.print()
    with pytest.raises(UnsupportedStepError, match=f"cannot run natively: it {why}") as told:
        _placements(only_spark, options)
    assert "test_capabilities.py" in str(told.value.where)


def test_what_joins_two_inputs_needs_memory() -> None:
    stream = _priced()
    joined = stream.key_by("item").connect(stream.key_by("item"))
    filtered, both = step_of(stream.filter(bool)).operator, step_of(joined.map(_Both())).operator
    assert filtered is not None
    assert both is not None
    assert not needs_memory(filtered)
    assert needs_memory(both)


class _Both:
    def map1(self, value: Any) -> Any:
        return value

    map2 = map1
