"""Descriptors, time to live, output tags, functions: the small vocabulary."""

from __future__ import annotations

import importlib
import pickle
import subprocess
import sys
from typing import Any

import pytest

from headrace.common.accumulators import Accumulator, IntCounter, LongCounter
from headrace.common.time import Time
from headrace.common.typeinfo import Types
from headrace.datastream.functions import (
    AggregateFunction,
    KeyedProcessFunction,
    MapFunction,
    ReduceFunction,
    RuntimeContext,
)
from headrace.datastream.output_tag import OutputTag
from headrace.datastream.slot_sharing_group import MemorySize, SlotSharingGroup
from headrace.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from headrace.errors import InvalidArgumentError, UnsupportedStepError


class Sum(ReduceFunction):
    def reduce(self, value1: int, value2: int) -> int:
        return value1 + value2


class Mean(AggregateFunction):
    def create_accumulator(self) -> tuple[int, int]:
        return 0, 0

    def add(self, value: int, accumulator: tuple[int, int]) -> tuple[int, int]:
        return accumulator[0] + 1, accumulator[1] + value

    def get_result(self, accumulator: tuple[int, int]) -> float:
        return accumulator[1] / accumulator[0]

    def merge(self, acc_a: tuple[int, int], acc_b: tuple[int, int]) -> tuple[int, int]:
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


def test_descriptors_take_types_and_hints() -> None:
    assert ValueStateDescriptor("v", Types.LONG()).type_info == Types.LONG()
    assert ValueStateDescriptor("v", int).type_info == Types.LONG()
    assert ValueStateDescriptor("v", object).type_info == Types.PICKLED_BYTE_ARRAY()
    assert ListStateDescriptor("l", str).type_info == Types.LIST(Types.STRING())
    mapped = MapStateDescriptor("m", str, Types.INT())
    assert mapped.type_info == Types.MAP(Types.STRING(), Types.INT())
    assert (mapped.key_type, mapped.value_type) == (Types.STRING(), Types.INT())
    for function in (Sum(), Sum, lambda a, b: a + b):
        assert ReducingStateDescriptor("r", function, Types.LONG()).get_name() == "r"
    assert AggregatingStateDescriptor("a", Mean(), object).get_agg_function()
    assert ValueStateDescriptor("v", int).get_name() == "v"


@pytest.mark.parametrize(
    "make",
    [
        lambda: ValueStateDescriptor("", int),
        lambda: ValueStateDescriptor("v", None),
        lambda: ReducingStateDescriptor("r", 5, int),
        lambda: AggregatingStateDescriptor("a", Sum(), int),
        lambda: OutputTag(""),
        lambda: StateTtlConfig.new_builder(Time.seconds(0)).build(),
    ],
)
def test_mistakes_are_refused(make: Any) -> None:
    with pytest.raises(InvalidArgumentError):
        make()


def test_time_to_live() -> None:
    config = (
        StateTtlConfig.new_builder("1 h")
        .update_ttl_on_read_and_write()
        .return_expired_if_not_cleaned_up()
        .cleanup_full_snapshot()
        .cleanup_incrementally(10, True)
        .cleanup_in_rocksdb_compact_filter(1000)
        .disable_cleanup_in_background()
        .build()
    )
    assert config.ttl_ms == 3_600_000
    assert config.get_ttl() == Time.hours(1)
    assert config.get_update_type() is StateTtlConfig.UpdateType.OnReadAndWrite
    visible = StateTtlConfig.StateVisibility.ReturnExpiredIfNotCleanedUp
    assert config.get_state_visibility() is visible
    strategies = config.get_cleanup_strategies()
    assert strategies.in_full_snapshot()
    assert not strategies.is_cleanup_in_background()
    incremental = strategies.get_incremental_cleanup_strategy()
    assert incremental is not None
    assert incremental.get_cleanup_size() == 10
    compact = strategies.get_rocksdb_compact_filter_cleanup_strategy()
    assert compact is not None
    assert compact.get_query_time_after_num_entries() == 1000
    descriptor = ValueStateDescriptor("v", int)
    descriptor.enable_time_to_live(config)
    assert descriptor.ttl_config is config
    again = pickle.loads(pickle.dumps(descriptor))
    assert again.ttl_config.ttl_ms == 3_600_000
    disabled = StateTtlConfig.new_builder(5).set_update_type(StateTtlConfig.UpdateType.Disabled)
    descriptor.enable_time_to_live(disabled.build())
    assert descriptor.ttl_config is None


def test_output_tags() -> None:
    assert OutputTag("late").type_info == Types.PICKLED_BYTE_ARRAY()
    assert OutputTag("late", Types.INT()).type_info == Types.INT()
    assert OutputTag("late", [Types.INT()]).type_info == Types.ROW([Types.INT()])
    assert OutputTag("late", int).type_info == Types.LONG()
    assert OutputTag("late", int) == OutputTag("late")
    tag = pickle.loads(pickle.dumps(OutputTag("late", Types.INT())))
    assert len({tag, OutputTag("late")}) == 1


def test_functions_must_be_complete() -> None:
    with pytest.raises(TypeError):
        MapFunction()  # type: ignore[abstract]
    with pytest.raises(TypeError):
        KeyedProcessFunction()  # type: ignore[abstract]
    assert issubclass(KeyedProcessFunction.OnTimerContext, KeyedProcessFunction.Context)


def test_counters_are_registered_at_first_use() -> None:
    class Context(RuntimeContext):
        def __init__(self) -> None:
            self.known: dict[str, Accumulator[Any, Any]] = {}

        def add_accumulator(self, name: str, accumulator: Accumulator[Any, Any]) -> None:
            self.known[name] = accumulator

        def get_accumulator(self, name: str) -> Accumulator[Any, Any]:
            return self.known[name]

    Context.__abstractmethods__ = frozenset()
    context = Context()  # type: ignore[abstract]
    context.get_int_counter("n").add(2)
    context.get_int_counter("n").add(3)
    assert context.known["n"].get_local_value() == 5
    assert isinstance(context.get_long_counter("m"), LongCounter)
    assert isinstance(context.known["n"], IntCounter)
    with pytest.raises(TypeError, match="IntCounter"):
        context.get_histogram("n")


def test_memory_and_slot_sharing() -> None:
    size = MemorySize.of_mebi_bytes(1024)
    assert (size.get_bytes(), size.get_gibi_bytes(), str(size)) == (1 << 30, 1, "1 gb")
    assert MemorySize.parse("64 mb") < size
    group = (
        SlotSharingGroup.builder("g")
        .set_cpu_cores(1.5)
        .set_task_heap_memory_mb(100)
        .set_external_resource("gpu", 1)
        .build()
    )
    assert group.get_name() == "g"
    assert group.get_task_heap_memory() == MemorySize.of_mebi_bytes(100)
    assert group.get_external_resources() == {"gpu": 1}
    assert group.get_managed_memory() is None


def test_java_backends_are_refused() -> None:
    module = importlib.import_module("headrace.datastream")
    for name in ("CustomStateBackend", "CustomCheckpointStorage"):
        with pytest.raises(UnsupportedStepError):
            getattr(module, name)()


def test_every_public_name_is_there_and_none_loads_spark() -> None:
    program = (
        "import sys, headrace.common as c, headrace.datastream as d\n"
        "assert 'headrace.datastream.data_stream' not in sys.modules\n"
        "[getattr(m, n) for m in (c, d) for n in m.__all__]\n"
        "assert set(d.__all__) <= set(dir(d))\n"
        "assert 'pyspark' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
    module = importlib.import_module("headrace.datastream")
    with pytest.raises(AttributeError):
        _ = module.NoSuchName
