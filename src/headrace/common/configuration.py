"""Settings by key, and which of them take effect.

In: code (``Configuration``), ``HEADRACE_*`` variables, a TOML file.
Out: ``effective_configuration``: code wins over variables, variables over the file; what is
not set has its option's default.  Next: common/options.py (which options there are).

    HEADRACE_PARALLELISM_DEFAULT=4            parallelism.default = 4
    HEADRACE_EXECUTION_MODE=continuous        headrace.execution.mode = continuous
    HEADRACE_SPARK_SQL_SHUFFLE_PARTITIONS=8   spark.sql.shuffle.partitions = 8
    env HEADRACE_spark.sql.session.timeZone=UTC …   keys with capitals are written as they are

    [parallelism]                             headrace.toml, or the file HEADRACE_CONFIG_FILE names
    default = 4
"""

from __future__ import annotations

import logging
import os
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from headrace.common.config_options import ConfigOption, Effect, as_text, parse_value
from headrace.common.option_families import find_family
from headrace.common.options import (
    OPTIONS,
    find_option,
    looks_like_an_option,
    nearest_keys,
)
from headrace.errors import ConfigurationError

if TYPE_CHECKING:
    import builtins
    from collections.abc import Iterator, Mapping

    from headrace.common.config_options import OptionType
    from headrace.common.opaque import OptionValue

__all__ = [
    "Configuration",
    "checked_setting",
    "effective_configuration",
    "read_environment",
    "read_file",
]

T = TypeVar("T")

log = logging.getLogger(__name__)

PREFIX = "HEADRACE_"
FILE_VARIABLE = "HEADRACE_CONFIG_FILE"
DEFAULT_FILE = "headrace.toml"
# Variables with the prefix that are no options: they say where things are, or steer the tests.
_NOT_OPTIONS = ("CONFIG_FILE", "HOME", "LOG_LEVEL", "SPARK_LOG_LEVEL", "GOLDEN", "REST_TOKEN")
_NOT_OPTION_PREFIXES = ("TEST_", "BENCH_", "ORACLE", "JAVA_", "CI_")
# Keys that are left to others: to Spark, and to the program itself.
_FREE_PREFIXES = ("spark.", "user.")
# Options without effect that the log has named: a process reads its settings many times.
_said: set[str] = set()


class Configuration:
    """Settings by key. Any key may be set; mistyped ones are found when the job starts.

    A key that neither looks like an option nor begins like one is the program's own, and kept.
    """

    def __init__(self, other: Configuration | None = None) -> None:
        self._values: dict[str, OptionValue] = {} if other is None else dict(other._values)

    @classmethod
    def from_dict(cls, map: dict[str, OptionValue]) -> Configuration:
        """A configuration with the entries of a dict."""
        configuration = cls()
        configuration._values.update(map)
        return configuration

    def get(self, option: ConfigOption[T]) -> T | None:
        """The value of an option in its type; its default if it is not set. Ours, from Java."""
        if option.key in self._values:
            value: T = option.parse(self._values[option.key])
            return value
        return None if option.default is None else option.parse(option.default)

    def set(self, option: ConfigOption[T], value: T) -> Configuration:
        """Set the value of an option. Ours, from Java."""
        option.parse(value)
        return self._put(option.key, value)

    def get_string(self, key: str, default_value: str) -> str:
        """A setting as text."""
        return as_text(self._values[key]) if key in self._values else default_value

    def set_string(self, key: str, value: str) -> Configuration:
        """Set a text."""
        return self._put(key, value)

    def get_integer(self, key: str, default_value: int) -> int:
        """A setting as a whole number."""
        return int(self._typed(key, "int", default_value))

    def set_integer(self, key: str, value: int) -> Configuration:
        """Set a whole number."""
        return self._put(key, value)

    def get_boolean(self, key: str, default_value: bool) -> bool:
        """A setting as true or false."""
        return bool(self._typed(key, "boolean", default_value))

    def set_boolean(self, key: str, value: bool) -> Configuration:
        """Set true or false."""
        return self._put(key, value)

    def get_float(self, key: str, default_value: float) -> float:
        """A setting as a number."""
        return float(self._typed(key, "float", default_value))

    def set_float(self, key: str, value: float) -> Configuration:
        """Set a number."""
        return self._put(key, value)

    def get_duration(self, key: str, default_ms: int) -> int:
        """A setting such as ``"10 s"`` as milliseconds. Ours."""
        return int(self._typed(key, "duration", default_ms))

    def get_bytearray(self, key: str, default_value: bytearray) -> bytearray:
        """A setting as bytes."""
        value = self._values.get(key, default_value)
        return bytearray(value.encode() if isinstance(value, str) else value)

    def set_bytearray(self, key: str, value: bytearray) -> Configuration:
        """Set bytes."""
        return self._put(key, bytes(value))

    def key_set(self) -> builtins.set[str]:
        """All keys that are set."""
        return set(self._values)

    def add_all_to_dict(self, target_dict: dict[str, OptionValue]) -> None:
        """Put all entries into a dict."""
        target_dict.update(self._values)

    def add_all(self, other: Configuration, prefix: str | None = None) -> Configuration:
        """Take over all entries of another configuration, with a prefix to their keys."""
        for key, value in other._values.items():
            self._put((prefix or "") + key, value)
        return self

    def contains_key(self, key: str) -> bool:
        """Whether the key is set."""
        return key in self._values

    def to_dict(self) -> dict[str, str]:
        """All entries as text."""
        return {key: as_text(value) for key, value in self._values.items()}

    def remove_config(self, key: str) -> bool:
        """Unset a key; False if it was not set."""
        return self._values.pop(key, self) is not self

    @staticmethod
    def parse_list_value(value: str | None) -> list[str]:
        """The parts of a list, written with semicolons or as a YAML list."""
        text = (value or "").strip()
        if text.startswith("[") and text.endswith("]"):
            parts = text[1:-1].split(",")
        elif text.startswith("- "):
            parts = [line.strip().removeprefix("- ") for line in text.splitlines()]
        else:
            parts = text.split(";")
        return [part.strip().strip("'\"") for part in parts if part.strip()]

    def _put(self, key: str, value: OptionValue) -> Configuration:
        if not isinstance(key, str) or not key:
            raise ConfigurationError(f"a key must be a str, not {key!r}")
        if value is None:
            raise ConfigurationError(
                f"option {key} is set to None", fix=f"remove_config({key!r}) unsets it"
            )
        self._values[key] = value
        return self

    def _typed(self, key: str, kind: OptionType, default: OptionValue) -> OptionValue:
        if key not in self._values:
            return default
        try:
            return parse_value(self._values[key], kind)
        except ValueError as expected:
            raise ConfigurationError(
                f"option {key} is {self._values[key]!r}, expected {expected}"
            ) from None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Configuration) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash(frozenset(self.to_dict().items()))

    def __deepcopy__(self, memo: dict[int, object] | None = None) -> Configuration:
        return Configuration(self)

    def __str__(self) -> str:
        return (
            "{" + ", ".join(f"{key}={value}" for key, value in sorted(self.to_dict().items())) + "}"
        )

    def __repr__(self) -> str:
        return f"Configuration({self._values!r})"


def effective_configuration(
    code: Configuration | None = None,
    *,
    environment: Mapping[str, str] | None = None,
    file: str | os.PathLike[str] | None = None,
) -> Configuration:
    """All settings: code wins over variables, variables win over the file.

    Defaults are not filled in: ``get(option)`` knows them, and a caller's own default still counts.

    Args:
        code: settings by code.
        environment: the variables; those of the process if None.
        file: the TOML file; see the module's head if None.

    Raises:
        ConfigurationError: for an unknown key, a refused option, or a value that its option does
            not allow; the error says where it was set.
    """
    variables = os.environ if environment is None else environment
    merged = Configuration()
    for key, value, where in _settings(code, variables, file):
        merged._put(checked_setting(key, value, where), value)
    return merged


def checked_setting(key: str, value: OptionValue, where: str) -> str:
    """The name under which a setting is kept.

    Raises:
        ConfigurationError: for an unknown key, a refused option, or a value that its option does
            not allow.
    """
    option = _checked_option(key, value, where)
    if option is None:
        return key
    option.parse(value, where)
    return option.key


def _settings(
    code: Configuration | None,
    variables: Mapping[str, str],
    file: str | os.PathLike[str] | None,
) -> Iterator[tuple[str, OptionValue, str]]:
    """Every setting with the place it comes from; the later wins."""
    path = _file_to_read(variables, file)
    if path is not None:
        for key, value in read_file(path).items():
            yield key, value, str(path)
    for key, (value, variable) in read_environment(variables).items():
        yield key, value, f"environment variable {variable}"
    if code is not None:
        for key, value in code._values.items():
            yield key, value, "code"


def _checked_option(key: str, value: OptionValue, where: str) -> ConfigOption[OptionValue] | None:
    """The option of a key; None for a key of Spark's, of the program's own, or of no one."""
    option = find_option(key)
    known = option or (None if key.startswith("spark.") else find_family(key))
    if known is not None:
        _heed_effect(known, key, value, where)
    elif not (key.startswith(_FREE_PREFIXES) or _is_the_programs_own(key, where)):
        near = " or ".join(map(repr, nearest_keys(key, 3)))
        raise ConfigurationError(
            f"there is no option {key!r}",
            where=where,
            fix=f"did you mean {near}?" if near else "docs/reference/options.md has all options",
        )
    return option


def _is_the_programs_own(key: str, where: str) -> bool:
    return where == "code" and not looks_like_an_option(key)


def _heed_effect(
    option: ConfigOption[OptionValue], key: str, value: OptionValue, where: str
) -> None:
    """Refuse what must not be set; say once, for each key, what has no effect."""
    if option.refuses(value):
        raise ConfigurationError(
            f"option {key} cannot be set: {option.why}",
            where=where,
            fix=option.instead or f"remove {key}",
        )
    if option.effect is Effect.ACCEPTED and key not in _said:
        _said.add(key)
        log.info("option %s has no effect: %s", key, option.why)


def _file_to_read(variables: Mapping[str, str], file: str | os.PathLike[str] | None) -> Path | None:
    named = file if file is not None else variables.get(FILE_VARIABLE)
    if named:
        path = Path(named)
        if not path.is_file():
            raise ConfigurationError(
                f"the configuration file {path} does not exist",
                where=FILE_VARIABLE if file is None else None,
                fix=f"create it, or unset {FILE_VARIABLE}",
            )
        return path
    path = Path(DEFAULT_FILE)
    return path if path.is_file() else None


def read_file(path: str | os.PathLike[str]) -> dict[str, OptionValue]:
    """The settings of a TOML file, tables flattened to dotted keys."""
    try:
        with Path(path).open("rb") as stream:
            content = tomllib.load(stream)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{path} is not valid TOML: {error}", where=path) from None
    return dict(_flattened(content, ""))


def _flattened(table: Mapping[str, OptionValue], prefix: str) -> Iterator[tuple[str, OptionValue]]:
    for name, value in table.items():
        key = f"{prefix}{name}"
        option = find_option(key)
        # The table of a map option is its value, not more keys.
        if isinstance(value, dict) and not (option is not None and option.type == "map"):
            yield from _flattened(value, f"{key}.")
        else:
            yield key, value


def read_environment(variables: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """The settings by ``HEADRACE_*`` variables: key to (value, name of the variable)."""
    found: dict[str, tuple[str, str]] = {}
    for variable, value in sorted(variables.items()):
        name = variable.removeprefix(PREFIX)
        if name == variable or name in _NOT_OPTIONS or name.startswith(_NOT_OPTION_PREFIXES):
            continue
        key = _key_of_variable(name)
        _check_same(key, found.get(key), (value, variable))
        found[key] = (value, variable)
    return found


def _check_same(key: str, before: tuple[str, str] | None, now: tuple[str, str]) -> None:
    """Two variables of one option that contradict each other; one written as its key wins."""
    if before is None or before[0] == now[0] or now[1] == f"{PREFIX}{key}":
        return
    raise ConfigurationError(
        f"the variables {before[1]} and {now[1]} say different things of the option {key!r}: "
        f"{before[0]!r} and {now[0]!r}",
        where="the environment",
        fix=f"keep one of them, such as {variable_of(key)}",
    )


def _in_capitals(key: str) -> str:
    return key.upper().replace(".", "_").replace("-", "_")


_OWN_KEYS = "headrace."
_BY_WHOLE_NAME = {_in_capitals(key): key for key in OPTIONS}
# headrace's own options without their first word, where that is no other option's name
_BY_SHORT_NAME = {
    _in_capitals(key.removeprefix(_OWN_KEYS)): key for key in OPTIONS if key.startswith(_OWN_KEYS)
}
_KEYS_BY_VARIABLE = {
    **{name: key for name, key in _BY_SHORT_NAME.items() if name not in _NOT_OPTIONS},
    **_BY_WHOLE_NAME,
}


def variable_of(key: str) -> str:
    """The shortest variable that sets an option: ``HEADRACE_EXECUTION_MODE``."""
    short = _in_capitals(key.removeprefix(_OWN_KEYS))
    return PREFIX + (short if _KEYS_BY_VARIABLE.get(short) == key else _in_capitals(key))


def _key_of_variable(name: str) -> str:
    known = _KEYS_BY_VARIABLE.get(name)
    if known is not None:
        return known
    if "." in name or name != name.upper():
        return name  # written as the key itself
    return name.lower().replace("_", ".")
