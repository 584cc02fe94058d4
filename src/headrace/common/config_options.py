"""One option: its key, type, default and meaning.

In: ``ConfigOptions.key("my.key").int_type().default_value(1)``, or common/options.py for headrace's
own.  Out: an option that ``Configuration.get`` reads.  Next: common/options.py
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Generic, Literal, TypeVar

from headrace.common.time import Duration, Time, to_millis
from headrace.errors import ConfigurationError, InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.common.opaque import OptionValue

__all__ = ["ConfigOption", "ConfigOptions", "Effect", "OptionType", "parse_value"]

T = TypeVar("T")

OptionType = Literal["boolean", "int", "float", "string", "duration", "memory", "enum", "map"]

_TRUE, _FALSE = ("true", "1", "yes", "on"), ("false", "0", "no", "off")
_MEMORY = re.compile(r"\s*(\d+)\s*([a-z]*)\s*", re.IGNORECASE)
_MEMORY_UNITS = {
    spelling: 1 << shift
    for shift, spellings in (
        (0, "_ b bytes"),
        (10, "k kb kibibytes"),
        (20, "m mb mebibytes"),
        (30, "g gb gibibytes"),
        (40, "t tb tebibytes"),
    )
    for spelling in spellings.split()
}


class Effect(StrEnum):
    """What becomes of an option that is set."""

    ACTS = "acts"
    ACCEPTED = "accepted without effect"
    REFUSED = "refused"


@dataclass(frozen=True)
class ConfigOption(Generic[T]):
    """One option.

    Attributes:
        key: such as ``parallelism.default``.
        type: how its value is written; durations become milliseconds, memory becomes bytes.
        default: the value if it is not set; None for none.
        doc: what it does, one sentence.
        choices: the values an enum may have.
        minimum: the smallest allowed number.
        effect: whether setting it does anything.
        why: the reason, of an option that does not act.
        instead: what to set in place of a refused one.
        taken: values of a refused option that ask for what is done anyway.
    """

    key: str
    type: OptionType = "string"
    default: T | None = None
    doc: str = ""
    choices: tuple[str, ...] = ()
    minimum: int | None = None
    effect: Effect = Effect.ACTS
    why: str = ""
    instead: str = ""
    taken: tuple[str, ...] = ()

    def parse(self, value: OptionValue, where: object = None) -> OptionValue:
        """The value in the option's type.

        Raises:
            ConfigurationError: if the value cannot be read or is not allowed.
        """
        try:
            parsed = parse_value(value, self.type, self.choices)
        except (ValueError, TypeError) as error:
            raise self._refusal(value, str(error), where) from None
        if self.minimum is not None and parsed < self.minimum:
            raise self._refusal(value, f"at least {self.minimum}", where)
        return parsed

    def refuses(self, value: OptionValue) -> bool:
        """Whether this value cannot be set."""
        if self.effect is not Effect.REFUSED:
            return False
        return as_text(value).strip().lower() not in {each.lower() for each in self.taken}

    def _refusal(self, value: OptionValue, expected: str, where: object) -> ConfigurationError:
        example = self.default if self.default is not None else _EXAMPLES[self.type]
        return ConfigurationError(
            f"option {self.key} is {value!r}, expected {expected}",
            where=where,
            fix=f"for instance {self.key} = {example}",
        )


_EXAMPLES: dict[str, str] = {
    "boolean": "true",
    "int": "4",
    "float": "1.5",
    "string": "text",
    "duration": "'10 s'",
    "memory": "'64 mb'",
    "enum": "one of the choices",
    "map": "'key1:value1,key2:value2'",
}


def parse_value(value: OptionValue, kind: OptionType, choices: tuple[str, ...] = ()) -> OptionValue:
    """A value as the given type; ValueError says in words what was expected."""
    return _PARSERS[kind](value, choices)


def _boolean(value: OptionValue, _: tuple[str, ...]) -> bool:
    if isinstance(value, bool):
        return value
    text = str(value).strip().lower()
    if text not in (*_TRUE, *_FALSE):
        msg = "true or false"
        raise ValueError(msg)
    return text in _TRUE


def _int(value: OptionValue, _: tuple[str, ...]) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if not re.fullmatch(r"\s*[+-]?\d+\s*", str(value)):
        msg = "a whole number"
        raise ValueError(msg)
    return int(str(value))


def _float(value: OptionValue, _: tuple[str, ...]) -> float:
    try:
        if isinstance(value, bool):
            raise ValueError
        return float(value)
    except (ValueError, TypeError):
        msg = "a number"
        raise ValueError(msg) from None


def _string(value: OptionValue, _: tuple[str, ...]) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _duration(value: OptionValue, _: tuple[str, ...]) -> int:
    try:
        return to_millis(value)
    except InvalidArgumentError:
        msg = "an amount of time"
        raise ValueError(msg) from None


def _memory(value: OptionValue, _: tuple[str, ...]) -> int:
    match = _MEMORY.fullmatch(str(value))
    unit = None if match is None else _MEMORY_UNITS.get(match[2].lower() or "_")
    if match is None or unit is None:
        msg = "an amount of memory"
        raise ValueError(msg)
    return int(match[1]) * unit


def _enum(value: OptionValue, choices: tuple[str, ...]) -> str:
    text = str(getattr(value, "name", value)).strip()
    for choice in choices:
        if choice.lower().replace("_", "-") == text.lower().replace("_", "-"):
            return choice
    msg = f"one of {', '.join(choices)}"
    raise ValueError(msg)


def _map(value: OptionValue, _: tuple[str, ...]) -> dict[str, str]:
    if isinstance(value, dict):
        return {str(key): _string(item, ()) for key, item in value.items()}
    entries = [part for part in str(value).split(",") if part.strip()]
    if any(":" not in entry for entry in entries):
        msg = "entries such as key1:value1,key2:value2"
        raise ValueError(msg)
    pairs = (entry.split(":", 1) for entry in entries)
    return {key.strip(): item.strip() for key, item in pairs}


_PARSERS: dict[str, Callable[[OptionValue, tuple[str, ...]], OptionValue]] = {
    "boolean": _boolean,
    "int": _int,
    "float": _float,
    "string": _string,
    "duration": _duration,
    "memory": _memory,
    "enum": _enum,
    "map": _map,
}


def as_text(value: OptionValue) -> str:
    """A value the way configuration files write it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return ",".join(f"{key}:{as_text(item)}" for key, item in value.items())
    if isinstance(value, list | tuple):
        return ";".join(map(as_text, value))
    if isinstance(value, Duration | Time):
        return f"{to_millis(value)} ms"
    return str(value)


class ConfigOptions:
    """Where options of the user's own come from."""

    @staticmethod
    def key(key: str) -> ConfigOptions.OptionBuilder:
        """Start an option with its key."""
        return ConfigOptions.OptionBuilder(key)

    class OptionBuilder:
        """Asks for the type."""

        def __init__(self, key: str) -> None:
            self._key = key

        def boolean_type(self) -> ConfigOptions.TypedConfigOptionBuilder[bool]:
            """True or false."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, "boolean")

        def int_type(self) -> ConfigOptions.TypedConfigOptionBuilder[int]:
            """A whole number."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, "int")

        def long_type(self) -> ConfigOptions.TypedConfigOptionBuilder[int]:
            """A whole number."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, "int")

        def float_type(self) -> ConfigOptions.TypedConfigOptionBuilder[float]:
            """A number."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, "float")

        def double_type(self) -> ConfigOptions.TypedConfigOptionBuilder[float]:
            """A number."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, "float")

        def string_type(self) -> ConfigOptions.TypedConfigOptionBuilder[str]:
            """Text."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, "string")

    class TypedConfigOptionBuilder(Generic[T]):
        """Asks for the default."""

        def __init__(self, key: str, kind: OptionType) -> None:
            self._key = key
            self._kind = kind

        def default_value(self, value: T) -> ConfigOption[T]:
            """The option, with a default."""
            return ConfigOption(self._key, self._kind, value)

        def no_default_value(self) -> ConfigOption[T]:
            """The option, without a default."""
            return ConfigOption(self._key, self._kind)
