"""``TableDescriptor``: a table without CREATE TABLE, with its connector, format and schema.

In: the user's program.  Out: options and a schema.  Next: table/catalogs/objects.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.errors import ArgumentTypeError, InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.common.config_options import ConfigOption
    from headrace.table.schema import Schema

__all__ = ["FormatDescriptor", "TableDescriptor"]


def option_text(value: Any) -> str:
    """An option's value as CREATE TABLE would have it."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value)


def _key(key: str | ConfigOption[Any]) -> str:
    return key if isinstance(key, str) else key.key


class TableDescriptor:
    """What CREATE TABLE says, as an object."""

    def __init__(
        self,
        schema: Schema | None,
        options: Mapping[str, str],
        partition_keys: tuple[str, ...] = (),
        comment: str | None = None,
    ) -> None:
        self._schema = schema
        self._options = dict(options)
        self._partition_keys = partition_keys
        self._comment = comment

    @staticmethod
    def for_connector(connector: str) -> TableDescriptor.Builder:
        """A builder for a table of a connector."""
        return TableDescriptor.Builder(connector)

    def get_schema(self) -> Schema | None:
        """Its columns; None if they are to be derived."""
        return self._schema

    def get_options(self) -> dict[str, str]:
        """The options of its connector and format."""
        return self._options

    def get_partition_keys(self) -> list[str]:
        """The columns by which it is partitioned."""
        return list(self._partition_keys)

    def get_comment(self) -> str | None:
        """Its comment."""
        return self._comment

    def _parts(self) -> tuple[object, ...]:
        options = tuple(sorted(self._options.items()))
        return self._schema, options, self._partition_keys, self._comment

    def __str__(self) -> str:
        lines = [] if self._schema is None else [str(self._schema)]
        lines.append(f"COMMENT '{self._comment or ''}'")
        if self._partition_keys:
            keys = ", ".join(f"`{key}`" for key in self._partition_keys)
            lines.append(f"PARTITIONED BY ({keys})")
        options = [f"  '{key}' = '{value}'" for key, value in self._options.items()]
        return "\n".join([*lines, "WITH (", ",\n".join(options), ")"])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TableDescriptor) and self._parts() == other._parts()

    def __hash__(self) -> int:
        return hash(self._parts())

    class Builder:
        """Collects what a table is."""

        def __init__(self, connector: str) -> None:
            self._options = {"connector": connector}
            self._schema: Schema | None = None
            self._partition_keys: tuple[str, ...] = ()
            self._comment: str | None = None

        def schema(self, schema: Schema) -> TableDescriptor.Builder:
            """Its columns."""
            self._schema = schema
            return self

        def option(self, key: str | ConfigOption[Any], value: Any) -> TableDescriptor.Builder:
            """An option of its connector or format."""
            self._options[_key(key)] = option_text(value)
            return self

        def format(
            self, format: str | FormatDescriptor, format_option: ConfigOption[Any] | None = None
        ) -> TableDescriptor.Builder:
            """The format of its records.

            Args:
                format: its name, or its name with options.
                format_option: where it is said, such as ``key.format``; ``format`` by default.
            """
            key = "format" if format_option is None else _key(format_option)
            if not key.endswith("format"):
                raise InvalidArgumentError(f"{key} is no option for a format: it ends otherwise")
            if isinstance(format, str):
                format = FormatDescriptor(format, {})
            if not isinstance(format, FormatDescriptor):
                raise ArgumentTypeError(f"{format!r} is no format")
            prefix = key.removesuffix("format") + format.get_format()
            for name, value in format.get_options().items():
                self._options[f"{prefix}.{name}"] = value
            self._options[key] = format.get_format()
            return self

        def partitioned_by(self, *partition_keys: str) -> TableDescriptor.Builder:
            """The columns by which it is partitioned."""
            self._partition_keys = partition_keys
            return self

        def comment(self, comment: str) -> TableDescriptor.Builder:
            """Its comment."""
            self._comment = comment
            return self

        def build(self) -> TableDescriptor:
            """The descriptor."""
            return TableDescriptor(self._schema, self._options, self._partition_keys, self._comment)


class FormatDescriptor:
    """A format with its options."""

    def __init__(self, format: str, options: Mapping[str, str]) -> None:
        self._format, self._options = format, dict(options)

    @staticmethod
    def for_format(format: str) -> FormatDescriptor.Builder:
        """A builder for a format."""
        return FormatDescriptor.Builder(format)

    def get_format(self) -> str:
        """Its name."""
        return self._format

    def get_options(self) -> dict[str, str]:
        """Its options."""
        return self._options

    def __str__(self) -> str:
        options = ", ".join(f"{key}={value}" for key, value in self._options.items())
        return f"{self._format}[{{{options}}}]"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FormatDescriptor) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    class Builder:
        """Collects options."""

        def __init__(self, format: str) -> None:
            self._format = format
            self._options: dict[str, str] = {}

        def option(self, key: str | ConfigOption[Any], value: Any) -> FormatDescriptor.Builder:
            """An option of the format."""
            self._options[_key(key)] = option_text(value)
            return self

        def build(self) -> FormatDescriptor:
            """The format."""
            return FormatDescriptor(self._format, self._options)
