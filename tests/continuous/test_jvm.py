"""What continuous mode takes from Spark's internals: says so when another version has them not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyspark
import pytest

from headrace.errors import EnvironmentSetupError
from headrace.hosts.spark.continuous import jvm

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_another_version_of_spark_is_refused_before_anything_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pyspark, "__version__", "4.4.1")
    with pytest.raises(EnvironmentSetupError, match=r"made for Spark 4\.3, and this is 4\.4\.1"):
        jvm.check_version()


def test_this_version_is_the_one_that_it_was_made_for() -> None:
    jvm.check_version()


def test_settings_of_the_process_are_those_that_tasks_see_and_go_away(spark: SparkSession) -> None:
    conf = spark.sparkContext._jsc.sc().conf()
    before = {key: conf.contains(key) for key in jvm.PROCESS_SETTINGS}
    with jvm.process_settings(spark), jvm.process_settings(spark):
        # SparkEnv has the same object: a copy would leave tasks as they were
        assert all(conf.get(key) == value for key, value in jvm.PROCESS_SETTINGS.items())
    assert {key: conf.contains(key) for key in jvm.PROCESS_SETTINGS} == before


def test_the_source_is_compiled_once_and_read_by_any_session(spark: SparkSession) -> None:
    first = jvm._jar(spark)
    written = first.stat().st_mtime_ns
    assert jvm._jar(spark) == first
    assert first.stat().st_mtime_ns == written
    session = spark.newSession()
    jvm.add_source(session)
    frame = session.readStream.format(jvm.SOURCE).option("tasks", "3").load()
    assert frame.schema.names == ["task"]


def test_slots_are_those_of_the_running_spark(spark: SparkSession) -> None:
    assert jvm.slots(spark) == 16


@pytest.mark.parametrize(
    "name",
    [
        "org.apache.spark.shuffle.streaming.StreamingShuffleWriter",
        "org.apache.spark.sql.execution.datasources.v2.RealTimeStreamScanExec",
        "org.apache.spark.sql.execution.streaming.runtime.ContinuousRecordPartitionOffset",
        "org.codehaus.janino.SimpleCompiler",
    ],
)
def test_the_classes_it_relies_on_are_there(spark: SparkSession, name: str) -> None:
    assert spark.sparkContext._jvm is not None
    spark.sparkContext._jvm.java.lang.Class.forName(name)
