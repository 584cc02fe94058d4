"""What a format of tables is: messages to lines, and lines to messages.

    {"id": 1, "name": "tea"}   ◀──▶   (1, "tea")            of json
    {"before": …, "after": …}  ───▶   (1, "tea", 1), (1, "coffee", 2)      of debezium-json

In: the type of the lines and the options of the format.  Out: `LineReader`, `LineWriter`.
Next: formats/tables/registry.py finds formats by name; connectors/kafka/table.py uses them
"""

from __future__ import annotations

import difflib
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

from headrace.common.changes import Changes
from headrace.errors import ConfigurationError, UnsupportedStepError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa

    from headrace.common.config_options import ConfigOption
    from headrace.common.data_types import DataType, RowType
    from headrace.common.opaque import OptionValue, Record

__all__ = ["FormatOptions", "LineReader", "LineWriter", "TableFormat"]

Line = tuple["Record", ...]


class LineReader(ABC):
    """Makes lines of messages; travels by pickle, opened once in a worker."""

    def open(self) -> None:  # noqa: B027
        """Called before the first message."""

    @abstractmethod
    def read(self, message: bytes) -> Sequence[Line]:
        """The lines of a message: most often one; the kind of each last, if there are changes.

        Raises:
            BadMessageError: it cannot be read, and such messages are not to be ignored.
        """

    def read_columns(self, messages: pa.BinaryArray) -> pa.RecordBatch | None:
        """One line of each message, as columns; None if they have to be read one by one."""
        return None


class LineWriter(ABC):
    """Makes messages of lines; travels by pickle, opened once in a worker."""

    def open(self) -> None:  # noqa: B027
        """Called before the first line."""

    @abstractmethod
    def write(self, values: Line, kind: int = 0) -> bytes | None:
        """The message of a line; None if it needs none."""

    def write_many(self, lines: Sequence[Line]) -> list[bytes | None]:
        """The messages of lines that are all inserted."""
        return [self.write(line) for line in lines]


class FormatOptions:
    """The options of a format in one table, under the prefix that the table gives them."""

    def __init__(self, table: str, prefix: str, given: Mapping[str, str]) -> None:
        self.table = table
        self.prefix = prefix
        self.given = given

    def get(self, option: ConfigOption[OptionValue]) -> OptionValue:
        """The value of an option, or its default."""
        text = self.given.get(option.key)
        return option.default if text is None else option.parse(text, self.where)

    def need(self, option: ConfigOption[OptionValue]) -> OptionValue:
        """The value of an option that must be there."""
        found = self.get(option)
        if found is None:
            key = f"{self.prefix}{option.key}"
            raise ConfigurationError(
                f"table {self.table} needs the option {key!r}",
                where=self.where,
                fix=f"add '{key}' = '...' to WITH: {option.doc}",
            )
        return found

    @property
    def where(self) -> str:
        """The table, for messages."""
        return f"table {self.table}"


class TableFormat(ABC):
    """A format.

    A package adds one with an entry point of the group ``headrace.table_formats``, which names the
    class.
    """

    name: ClassVar[str]
    options: ClassVar[tuple[ConfigOption[OptionValue], ...]] = ()
    prefixes: ClassVar[tuple[str, ...]] = ()
    """How options begin that the format hands on."""
    reads: ClassVar[Changes] = Changes.INSERT
    """The kinds of change that messages tell."""
    writes: ClassVar[Changes] = Changes.INSERT
    """The kinds of change that messages can tell."""
    file_suffix: ClassVar[str] = ""
    lines_in_files: ClassVar[bool] = True
    """Whether a file is a message a line."""

    def readable_metadata(self) -> Mapping[str, DataType]:
        """What messages tell beside their lines, by Flink's keys."""
        return {}

    def reader(
        self, columns: RowType, options: FormatOptions, metadata: Sequence[str] = ()
    ) -> LineReader:
        """What reads messages.

        Args:
            columns: of the lines.
            options: of the format, checked.
            metadata: keys of `readable_metadata`; their values stand behind those of the columns.

        Raises:
            UnsupportedStepError: the format cannot be read, or has no form for a column.
        """
        raise self._one_way("read", options)

    def writer(self, columns: RowType, options: FormatOptions) -> LineWriter:
        """What writes messages.

        Raises:
            UnsupportedStepError: the format cannot be written, or has no form for a column.
        """
        raise self._one_way("written", options)

    def _one_way(self, what: str, options: FormatOptions) -> UnsupportedStepError:
        return UnsupportedStepError(
            f"messages of format {self.name!r} cannot be {what}",
            where=options.where,
            fix="use another format, such as 'json'",
        )

    def checked(self, options: FormatOptions) -> FormatOptions:
        """The same options, all of them known.

        Raises:
            ConfigurationError: one is not.
        """
        known = {option.key: option for option in self.options}
        for key, value in options.given.items():
            if key in known:
                known[key].parse(value, options.where)
            elif not key.startswith(self.prefixes or "\0"):
                near = difflib.get_close_matches(key, known, n=1)
                listed = ", ".join(f"{options.prefix}{name}" for name in known) or "none"
                raise ConfigurationError(
                    f"the format {self.name!r} has no option {options.prefix + key!r}",
                    where=options.where,
                    fix=f"did you mean {options.prefix + near[0]!r}?"
                    if near
                    else f"it has {listed}",
                )
        return options
