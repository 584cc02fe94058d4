"""Options do what they say.  structure/test_option_readers.py asks each for its reader."""

from __future__ import annotations

import logging

import pytest

from headrace.common import Configuration
from headrace.common import configuration as module
from headrace.common.configuration import effective_configuration
from headrace.common.time import Time
from headrace.common.typeinfo import Types
from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors.number_seq import NumberSequenceSource
from headrace.datastream.window import TumblingProcessingTimeWindows
from headrace.errors import ConfigurationError, MissingUidError, UndeclaredTypeError
from headrace.spi.job_spec import JobSpec


@pytest.mark.parametrize("key", ["security.kerberos.login.keytab", "fs.s3a.access.key"])
def test_a_refused_option_is_an_error_with_a_way_out(key: str) -> None:
    with pytest.raises(ConfigurationError, match=f"option {key} cannot be set") as caught:
        effective_configuration(Configuration.from_dict({key: "true"}), environment={})
    assert caught.value.where == "code"
    assert "spark." in str(caught.value.fix)


def test_the_log_says_once_that_an_option_has_no_effect(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_said", set())
    code = Configuration.from_dict({"rest.cache.size": "8", "jobmanager.rpc.address": "x"})
    with caplog.at_level(logging.INFO, logger=module.__name__):
        effective_configuration(code, environment={})
        effective_configuration(code, environment={})
    said = [record.getMessage() for record in caplog.records]
    assert len(said) == 2
    assert said[0].startswith("option rest.cache.size has no effect: the REST API has")


# --- those that act since this test exists -------------------------------------------------------


def _env(**settings: str) -> StreamExecutionEnvironment:
    values = {key.replace("__", ".").replace("_", "-"): value for key, value in settings.items()}
    return StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(values))


def test_jars_go_to_spark_beside_those_of_add_jars() -> None:
    env = _env(pipeline__jars="file:///a.jar;/b.jar", pipeline__classpaths="/b.jar;hdfs://c.jar")
    env.add_jars("file:///first.jar")
    jars = env.job_spec("x").spark_settings["spark.jars"]
    assert jars == "/first.jar,/a.jar,/b.jar,hdfs://c.jar"
    assert "spark.jars" not in _env().job_spec("x").spark_settings


def test_without_generated_uids_every_step_of_the_program_needs_one() -> None:
    env = _env(pipeline__auto_generate_uids="false")
    stream = env.from_collection([1]).uid("numbers").map(str).name("words")
    stream.print().uid("out")
    with pytest.raises(MissingUidError, match="'words' has no uid") as caught:
        env.explain()
    assert "test_option_effects.py" in str(caught.value.where)
    stream.uid("words")
    env.explain()


def test_steps_that_a_program_cannot_name_need_no_uid() -> None:
    env = _env(pipeline__auto_generate_uids="false")
    stamps = WatermarkStrategy.for_monotonous_timestamps()
    source = env.from_collection([1]).uid("a").rebalance().union(env.from_collection([2]).uid("b"))
    stamped = source.assign_timestamps_and_watermarks(stamps).uid("stamped")
    joined = stamped.join(stamped).where(_same).equal_to(_same)
    windows = TumblingProcessingTimeWindows.of(Time.seconds(1))
    joined.window(windows).apply(max).uid("joined").print().uid("out")
    numbers = NumberSequenceSource(1, 3)
    env.from_source(numbers, stamps, "numbers").uid("numbers").print().uid("out 2")
    env.explain()


def _same(record: int) -> int:
    return record


def test_without_generic_types_a_stream_needs_a_type() -> None:
    env = _env(pipeline__generic_types="false")
    numbers = env.from_collection([1], Types.LONG())
    numbers.map(lambda n: n).name("untyped").print()
    with pytest.raises(UndeclaredTypeError, match="step 'untyped' have no declared") as caught:
        env.explain()
    assert "test_option_effects.py" in str(caught.value.where)


def test_without_generic_types_a_program_with_types_runs() -> None:
    env = _env(pipeline__generic_types="false")
    env.from_collection([1], Types.LONG()).map(str, output_type=Types.STRING()).print()
    env.explain()


def test_the_limits_of_a_batch_have_their_default_in_the_table() -> None:
    spec = JobSpec("x", parallelism=1)
    assert spec.option("source.max-records-per-batch") == 400_000
    assert spec.option("source.max-files-per-batch") == 1_000
