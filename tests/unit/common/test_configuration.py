"""Settings: code over variables over file, checked against the table of options."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import pytest

from headrace.common.config_options import ConfigOptions
from headrace.common.configuration import (
    Configuration,
    effective_configuration,
    read_environment,
    variable_of,
)
from headrace.common.execution_config import ExecutionConfig
from headrace.common.option_families import FAMILIES
from headrace.common.options import OPTIONS, describe_options, find_option
from headrace.common.time import Duration
from headrace.datastream.checkpoint_config import CheckpointConfig
from headrace.datastream.checkpointing_mode import CheckpointingMode
from headrace.datastream.externalized_checkpoint_retention import ExternalizedCheckpointRetention
from headrace.errors import ConfigurationError, InvalidArgumentError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def _in_an_empty_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_typed_settings() -> None:
    config = Configuration()
    config.set_string("s", "x").set_integer("i", 3).set_boolean("b", True).set_float("f", 0.5)
    config.set_bytearray("y", bytearray(b"z"))
    assert config.get_string("s", "") == "x"
    assert config.get_integer("i", 0) == 3
    assert config.get_boolean("b", False)
    assert config.get_float("f", 0) == 0.5
    assert config.get_bytearray("y", bytearray()) == b"z"
    assert config.get_string("none", "d") == "d"
    assert config.get_integer("none", 7) == 7
    assert config.get_string("b", "") == "true"
    assert config.set_string("i", "12").get_integer("i", 0) == 12
    assert config.get_duration("i", 0) == 12
    with pytest.raises(ConfigurationError, match="option s is 'x', expected a whole number"):
        config.get_integer("s", 0)
    with pytest.raises(ConfigurationError):
        config.set_string("s", None)  # type: ignore[arg-type]


def test_configurations_as_collections() -> None:
    config = Configuration.from_dict({"a": "1", "b": "2"})
    copied = Configuration(config)
    assert copied == config == copy.deepcopy(config)
    assert hash(copied) == hash(config)
    copied.set_string("c", "3")
    assert copied != config
    assert config.key_set() == {"a", "b"}
    assert config.contains_key("a")
    assert config.remove_config("a")
    assert not config.remove_config("a")
    assert Configuration().add_all(copied, "p.").to_dict() == {"p.a": "1", "p.b": "2", "p.c": "3"}
    target: dict[str, Any] = {}
    copied.add_all_to_dict(target)
    assert target == {"a": "1", "b": "2", "c": "3"}
    assert str(copied) == "{a=1, b=2, c=3}"
    assert Configuration.parse_list_value("a;b ; c") == ["a", "b", "c"]
    assert Configuration.parse_list_value("['a', b]") == ["a", "b"]


def test_code_wins_over_variables_and_variables_over_the_file(tmp_path: Path) -> None:
    file = write(
        tmp_path / "my.toml",
        '[parallelism]\ndefault = 1\n[pipeline]\nname = "file"\nmax-parallelism = 64\n'
        '[spark.sql]\n"session.timeZone" = "UTC"\n',
    )
    variables = {
        "HEADRACE_CONFIG_FILE": str(file),
        "HEADRACE_PARALLELISM_DEFAULT": "2",
        "HEADRACE_PIPELINE_NAME": "variable",
        "OTHER": "x",
    }
    code = Configuration().set_integer("parallelism.default", 3)
    assert effective_configuration(code, environment=variables).to_dict() == {
        "parallelism.default": "3",
        "pipeline.name": "variable",
        "pipeline.max-parallelism": "64",
        "spark.sql.session.timeZone": "UTC",
    }


def test_the_file_in_the_working_directory_counts(tmp_path: Path) -> None:
    write(tmp_path / "headrace.toml", "parallelism.default = 5\n")
    assert effective_configuration(environment={}).get(OPTIONS["parallelism.default"]) == 5
    assert effective_configuration(environment={}).get_integer("parallelism.default", 1) == 5


def test_defaults_are_left_to_the_options() -> None:
    settings = effective_configuration(environment={})
    assert settings.to_dict() == {}
    assert settings.get_integer("rest.port", 1) == 1
    assert settings.get(OPTIONS["rest.port"]) == 8081
    assert settings.get(OPTIONS["pipeline.auto-watermark-interval"]) == 200
    assert settings.get(OPTIONS["pipeline.name"]) is None


def test_names_of_variables() -> None:
    found = read_environment(
        {
            "HEADRACE_EXECUTION_CHECKPOINTING_SAVEPOINT_DIR": "/tmp/s",
            "HEADRACE_SPARK_SQL_SHUFFLE_PARTITIONS": "8",
            "HEADRACE_spark.sql.session.timeZone": "UTC",
            "HEADRACE_CONFIG_FILE": "x",
            "HEADRACE_TEST_SEED": "1",
            "HEADRACE_ORACLE": "1",
        }
    )
    assert {key: value for key, (value, _) in found.items()} == {
        "execution.checkpointing.savepoint-dir": "/tmp/s",
        "spark.sql.shuffle.partitions": "8",
        "spark.sql.session.timeZone": "UTC",
    }


def test_own_options_need_their_first_word_once_or_not_at_all() -> None:
    for name in ("HEADRACE_EXECUTION_MODE", "HEADRACE_HEADRACE_EXECUTION_MODE"):
        found = read_environment({name: "continuous"})
        assert found == {"headrace.execution.mode": ("continuous", name)}
    assert variable_of("headrace.execution.mode") == "HEADRACE_EXECUTION_MODE"
    assert variable_of("parallelism.default") == "HEADRACE_PARALLELISM_DEFAULT"


def test_every_option_can_be_set_by_its_shortest_variable() -> None:
    for key in OPTIONS:
        assert list(read_environment({variable_of(key): "x"})) == [key]


def test_two_variables_of_one_option_must_agree() -> None:
    both = {"HEADRACE_EXECUTION_MODE": "continuous", "HEADRACE_HEADRACE_EXECUTION_MODE": "x"}
    with pytest.raises(ConfigurationError, match="different things of the option"):
        read_environment(both)
    read_environment(dict.fromkeys(both, "continuous"))
    by_command = {**dict.fromkeys(both, "x"), "HEADRACE_headrace.execution.mode": "continuous"}
    assert read_environment(by_command)["headrace.execution.mode"][0] == "continuous"


def test_unknown_keys_name_the_place_and_the_nearest_key(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as caught:
        effective_configuration(Configuration().set_string("paralelism.default", "2"))
    assert "did you mean 'parallelism.default'?" in str(caught.value)
    assert caught.value.where == "code"
    with pytest.raises(ConfigurationError) as caught:
        effective_configuration(environment={"HEADRACE_PIPELINE_NAM": "x"})
    assert caught.value.where == "environment variable HEADRACE_PIPELINE_NAM"
    file = write(tmp_path / "f.toml", "nonsense = 1\n")
    with pytest.raises(ConfigurationError) as caught:
        effective_configuration(environment={}, file=file)
    assert caught.value.where == str(file)
    with pytest.raises(ConfigurationError, match="does not exist"):
        effective_configuration(environment={"HEADRACE_CONFIG_FILE": "/nowhere.toml"})
    with pytest.raises(ConfigurationError, match="not valid TOML"):
        effective_configuration(environment={}, file=write(tmp_path / "g.toml", "a b"))


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("parallelism.default", "many", "a whole number"),
        ("parallelism.default", "0", "at least 1"),
        ("execution.checkpointing.interval", "often", "an amount of time"),
        ("execution.runtime-mode", "FAST", "one of STREAMING, BATCH, AUTOMATIC"),
        ("pipeline.operator-chaining.enabled", "perhaps", "true or false"),
        ("restart-strategy.exponential-delay.jitter-factor", "x", "a number"),
        ("pipeline.global-job-parameters", "a,b", "entries such as"),
    ],
)
def test_values_that_do_not_fit_their_option(key: str, value: str, expected: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        effective_configuration(Configuration().set_string(key, value))
    assert f"option {key} is {value!r}, expected {expected}" in str(caught.value)


def test_flinks_other_options_are_accepted_and_old_names_understood() -> None:
    code = Configuration.from_dict(
        {
            "python.fn-execution.bundle.size": "1000",
            "taskmanager.numberOfTaskSlots": "4",
            "state.backend.rocksdb.memory.managed": "true",
            "state.backend": "hashmap",
            "spark.anything.at.all": "1",
        }
    )
    settings = effective_configuration(code, environment={})
    assert settings.get(OPTIONS["state.backend.type"]) == "hashmap"
    assert settings.get_string("python.fn-execution.bundle.size", "") == "1000"
    option = find_option("restart-strategy")
    assert option is not None
    assert option.key == "restart-strategy.type"


def test_every_default_fits_its_own_option() -> None:
    for option in OPTIONS.values():
        if option.default is not None:
            option.parse(option.default)
        assert option.doc.endswith("."), option.key


def test_options_are_described() -> None:
    table = describe_options()
    assert "| `parallelism.default` | int | (none) |" in table
    assert "| `rest.port` | int | `8081` |" in table
    assert "| `taskmanager.*` | string | (none) | accepted without effect |" in table
    assert table.count("\n") == len(OPTIONS) + len(FAMILIES) + 2


def test_options_of_the_users_own() -> None:
    option = ConfigOptions.key("user.limit").int_type().default_value(5)
    config = Configuration()
    assert config.get(option) == 5
    assert config.set(option, 6).get(option) == 6
    with pytest.raises(ConfigurationError):
        config.set(option, "x")  # type: ignore[misc]
    assert config.get(ConfigOptions.key("user.name").string_type().no_default_value()) is None


def test_execution_config(monkeypatch: pytest.MonkeyPatch) -> None:
    shared = Configuration()
    config = ExecutionConfig(shared)
    assert config.get_parallelism() == -1
    assert config.get_max_parallelism() == -1
    assert config.get_auto_watermark_interval() == 200
    config.set_parallelism(4).set_max_parallelism(64).set_auto_watermark_interval(50)
    assert (config.get_parallelism(), config.get_max_parallelism()) == (4, 64)
    assert config.get_auto_watermark_interval() == 50
    assert shared.get_integer("parallelism.default", 0) == 4
    config.set_parallelism(-1)
    monkeypatch.setenv("HEADRACE_PARALLELISM_DEFAULT", "9")
    assert config.get_parallelism() == 9
    config.set_global_job_parameters({"a": 1, "b": "x:y,z", "c": True})
    assert config.get_global_job_parameters() == {"a": "1", "b": "x:y,z", "c": "true"}
    assert config.disable_auto_generated_uids().has_auto_generated_uids_enabled() is False
    assert config.disable_generic_types().has_generic_types_disabled()
    assert config.enable_object_reuse().is_object_reuse_enabled()
    assert config.enable_force_kryo().is_force_kryo_enabled()
    assert not config.disable_closure_cleaner().is_closure_cleaner_enabled()
    assert config.set_task_cancellation_timeout(5).get_task_cancellation_timeout() == 5
    effective_configuration(shared)
    with pytest.raises(InvalidArgumentError):
        config.set_max_parallelism(0)


def test_checkpoint_config(monkeypatch: pytest.MonkeyPatch) -> None:
    config = CheckpointConfig(Configuration())
    assert not config.is_checkpointing_enabled()
    assert config.get_checkpoint_interval() == -1
    assert config.get_checkpointing_mode() is CheckpointingMode.EXACTLY_ONCE
    assert config.get_checkpoint_timeout() == 600_000
    assert not config.is_externalized_checkpoints_enabled()
    monkeypatch.setenv("HEADRACE_EXECUTION_CHECKPOINTING_INTERVAL", "2 s")
    assert config.get_checkpoint_interval() == 2000
    config.set_checkpoint_interval(5000).set_checkpointing_mode(CheckpointingMode.AT_LEAST_ONCE)
    config.set_externalized_checkpoint_retention(
        ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION
    )
    assert config.get_checkpoint_interval() == 5000
    assert config.get_checkpointing_mode() is CheckpointingMode.AT_LEAST_ONCE
    assert config.is_externalized_checkpoints_enabled()
    assert config.enable_unaligned_checkpoints().is_unaligned_checkpoints_enabled()
    assert not config.disable_unaligned_checkpoints().is_unaligned_checkpoints_enabled()
    config.set_aligned_checkpoint_timeout("3 s")
    assert config.get_alignment_timeout() == Duration.of_seconds(3)
    assert config.is_fail_on_checkpointing_errors()
    assert not config.set_fail_on_checkpointing_errors(False).is_fail_on_checkpointing_errors()
    with pytest.raises(InvalidArgumentError):
        config.set_checkpoint_interval(0)
