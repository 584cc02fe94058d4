"""Settings and getters as PyFlink's own tests use them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from headrace.common import Configuration, Row
from headrace.common.serialization import RowFieldExtractorSchema
from headrace.datastream import (
    FileSystemCheckpointStorage,
    SlotSharingGroup,
    StreamExecutionEnvironment,
)
from headrace.datastream.slot_sharing_group import MemorySize
from headrace.datastream.state_backend import EmbeddedRocksDBStateBackend
from headrace.errors import ConfigurationError, InvalidArgumentError


def new_env(**settings: str) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment()
    configuration = Configuration()
    for key, value in settings.items():
        configuration.set_string(key.replace("__", ".").replace("_", "-"), value)
    env.configure(configuration)
    return env


def test_deprecated_keys_and_durations() -> None:
    env = new_env(
        pipeline__operator_chaining="false",
        execution__buffer_timeout="1 min",
        execution__checkpointing__timeout="12000",
    )
    assert not env.is_chaining_enabled()
    assert env.get_buffer_timeout() == 60_000
    assert env.get_checkpoint_config().get_checkpoint_timeout() == 12_000
    env.set_buffer_timeout(5)
    assert env.get_buffer_timeout() == 5


@pytest.mark.parametrize("key", ["my.app.setting", "input-path", "threshold", "company.team.kafka"])
def test_a_key_of_the_programs_own_is_kept(key: str) -> None:
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict({key: "7"}))
    assert env.job_spec("job").configuration().get_integer(key, 0) == 7


@pytest.mark.parametrize(
    "key", ["paralelism.default", "pipeline.max-paralelism", "execution.nonsense", "headrace.jobs"]
)
def test_a_key_that_begins_or_looks_like_an_option_is_a_mistake(key: str) -> None:
    with pytest.raises(ConfigurationError, match="there is no option"):
        StreamExecutionEnvironment(Configuration.from_dict({key: "7"})).get_parallelism()


def test_an_empty_list_value() -> None:
    assert Configuration.parse_list_value(None) == []
    assert Configuration.parse_list_value("") == []
    assert Configuration.parse_list_value("- a.jar\n- b.jar") == ["a.jar", "b.jar"]


def test_execution_configs_are_equal_by_what_is_set() -> None:
    one, other = new_env().get_config(), new_env().get_config()
    assert one == other
    assert hash(one) == hash(other)
    one.set_parallelism(12)
    other.set_parallelism(11)
    assert one != other


def test_the_default_parallelism_is_what_was_set() -> None:
    env = new_env()
    env.set_default_local_parallelism(6)
    assert (env.get_default_local_parallelism(), env.get_parallelism()) == (6, 6)
    env.set_parallelism(3)
    assert (env.get_default_local_parallelism(), env.get_parallelism()) == (6, 3)


def test_paths_are_told_as_flink_tells_them() -> None:
    storage = FileSystemCheckpointStorage("file://var/checkpoints/")
    assert storage.get_checkpoint_path() == "file://var/checkpoints"
    backend = EmbeddedRocksDBStateBackend()
    backend.set_db_storage_paths("file://var/one/", "/two")
    assert backend.get_db_storage_paths() == ["/one", "/two"]
    with pytest.raises(InvalidArgumentError, match="local machine"):
        backend.set_db_storage_paths("s3://bucket/x")


def test_a_group_with_resources_needs_cores_and_heap() -> None:
    builder = SlotSharingGroup.builder
    with pytest.raises(InvalidArgumentError, match="needs task_heap_memory"):
        builder("group").set_cpu_cores(1.0).set_task_off_heap_memory_mb(10).build()
    with pytest.raises(InvalidArgumentError, match="must not be 0 bytes"):
        builder("group").set_cpu_cores(1.0).set_task_heap_memory(MemorySize(0))
    both = [builder("group").set_cpu_cores(1.0).set_task_heap_memory_mb(1).build() for _ in "ab"]
    assert both[0] == both[1]
    assert builder("group").build().get_external_resources() == {}


def test_a_row_without_names_has_no_fields_attribute() -> None:
    assert not hasattr(Row(1, 2), "_fields")
    named = Row(a=1)
    assert named._fields == ["a"]
    named._fields = ["b"]
    assert named.b == 1


def test_a_negative_field_index_is_refused_in_pyflinks_words() -> None:
    with pytest.raises(ValueError, match="Field index must be non-negative"):
        RowFieldExtractorSchema(-1)


def test_a_plan_has_no_nulls() -> None:
    env = new_env()
    env.from_collection([1]).map(lambda x: x).uid("map").key_by(lambda x: x).map(str).print()

    def values(found: Any) -> Any:
        if isinstance(found, dict | list):
            for item in found.values() if isinstance(found, dict) else found:
                yield from values(item)
        else:
            yield found

    plan = json.loads(env.get_execution_plan())
    assert None not in list(values(plan))
    assert [node.get("uid") for node in plan["nodes"]].count("map") == 1
