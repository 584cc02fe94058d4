"""Every option does what it says: it has a reader in the code, or a reason why it has none."""

from __future__ import annotations

import ast
import logging
from functools import cache
from pathlib import Path

import pytest

import headrace
from headrace.common import Configuration
from headrace.common import configuration as module
from headrace.common.config_options import ConfigOption, Effect
from headrace.common.configuration import effective_configuration
from headrace.common.option_families import FAMILIES
from headrace.common.options import OPTIONS
from headrace.common.time import Time
from headrace.common.typeinfo import Types
from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors.number_seq import NumberSequenceSource
from headrace.datastream.window import TumblingProcessingTimeWindows
from headrace.errors import ConfigurationError, MissingUidError, UndeclaredTypeError
from headrace.spi.job_spec import JobSpec

SOURCE = Path(headrace.__file__).parent
# They declare options, or remember them under PyFlink's names: neither does anything with them.
NO_READERS = {
    SOURCE / "common" / "options.py",
    SOURCE / "common" / "cluster_options.py",
    SOURCE / "common" / "security_options.py",
    SOURCE / "common" / "option_families.py",
    SOURCE / "common" / "table_options.py",
    SOURCE / "common" / "execution_config.py",
    SOURCE / "datastream" / "checkpoint_config.py",
}
# Calls that only write a setting.
WRITES = {"_set", "_append", "set_string"}


def _text(node: ast.AST, names: dict[str, str]) -> str | None:
    """The text that an expression of literals, constants of the module and `+` stands for."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.Name):
        return names.get(node.id)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        parts = _text(node.left, names), _text(node.right, names)
        return None if None in parts else f"{parts[0]}{parts[1]}"
    return None


def _constants(tree: ast.Module) -> dict[str, str]:
    found: dict[str, str] = {}
    for node in tree.body:
        if not isinstance(node, ast.Assign):
            continue
        for target in node.targets:
            pairs = (
                zip(target.elts, node.value.elts, strict=True)
                if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple)
                else [(target, node.value)]
            )
            for name, value in pairs:
                text = _text(value, found)
                if isinstance(name, ast.Name) and text is not None:
                    found[name.id] = text
    return found


def _read_in(tree: ast.Module) -> set[str]:
    names = _constants(tree)
    written = {
        id(node.args[0])
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and node.args
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in WRITES
    }
    texts = {_text(node, names) for node in ast.walk(tree) if id(node) not in written}
    return {text for text in texts if text in OPTIONS}


@cache
def _read() -> set[str]:
    files = [file for file in SOURCE.rglob("*.py") if file not in NO_READERS]
    return {key for file in files for key in _read_in(ast.parse(file.read_text(encoding="utf-8")))}


@pytest.mark.parametrize("key", [o.key for o in OPTIONS.values() if o.effect is Effect.ACTS])
def test_an_option_that_acts_has_a_reader(key: str) -> None:
    assert key in _read()


def test_a_call_that_writes_a_setting_is_no_reader() -> None:
    assert _read_in(ast.parse('self._set("pipeline.jars", 1)')) == set()
    assert _read_in(ast.parse('P = "pipeline."\nget(P + "jars")')) == {"pipeline.jars"}


@pytest.mark.parametrize("option", [*OPTIONS.values(), *FAMILIES], ids=lambda option: option.key)
def test_what_does_not_act_says_why(option: ConfigOption[object]) -> None:
    assert bool(option.why) == (option.effect is not Effect.ACTS)
    assert bool(option.instead) == (option.effect is Effect.REFUSED)


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
