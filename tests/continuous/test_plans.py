"""What continuous mode refuses, before anything runs, and what it says then."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from headrace.common import Configuration, Types
from headrace.datastream import RuntimeExecutionMode, StreamExecutionEnvironment
from headrace.errors import ConfigurationError, UnsupportedStepError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def environment(spark: SparkSession, parallelism: int = 2, **options: str) -> Any:
    configuration = Configuration().set_string("headrace.execution.mode", "continuous")
    for key, value in options.items():
        configuration.set_string(key.replace("__", ".").replace("_", "-"), value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration, spark)
    return env.set_parallelism(parallelism)


def test_too_few_slots_are_told_with_the_number_that_is_needed(spark: SparkSession) -> None:
    env = environment(spark, 6)
    numbers = env.from_sequence(1, 10).key_by(lambda n: n % 3).map(lambda n: n)
    numbers.key_by(lambda n: n % 2).map(lambda n: n).print()
    with pytest.raises(ConfigurationError, match=r"needs 18 slots.*never .* than 16") as refused:
        env.execute("wide")
    assert "local[18]" in str(refused.value.fix)


def test_a_dataframe_as_source_is_refused_with_the_line(spark: SparkSession) -> None:
    env = environment(spark)
    rates = spark.readStream.format("rate").load()
    env.from_dataframe(rates).map(str).print()
    with pytest.raises(UnsupportedStepError, match="continuous mode has no reader") as refused:
        env.execute("rates")
    assert "test_plans.py" in str(refused.value.where)
    assert "micro-batch" in str(refused.value.fix)


def test_batch_mode_is_refused(spark: SparkSession) -> None:
    env = environment(spark)
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    env.from_collection([1]).print()
    with pytest.raises(ConfigurationError, match="BATCH mode reads the whole input"):
        env.execute("batch")


def test_a_stream_as_dataframe_is_refused(spark: SparkSession) -> None:
    env = environment(spark)
    with pytest.raises(UnsupportedStepError, match=r"to_dataframe\(\) gives a stream to Spark"):
        env.from_collection([1], Types.LONG()).to_dataframe()


def test_a_mode_that_does_not_exist_is_refused(spark: SparkSession) -> None:
    env = environment(spark, headrace__execution__mode="fast")
    env.from_collection([1]).print()
    with pytest.raises(ConfigurationError, match="micro-batch, continuous"):
        env.execute("fast")


def test_another_host_without_continuous_mode_is_named(spark: SparkSession) -> None:
    env = environment(spark, headrace__execution__host="acme")
    env.from_collection([1]).print()
    with pytest.raises(ConfigurationError, match="'acme' has no continuous mode"):
        env.execute("acme")
