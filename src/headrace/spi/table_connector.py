"""What a connector of ``CREATE TABLE ... WITH ('connector' = ...)`` is.

    TableDefinition ──▶ TableConnector.source() ──▶ TableSource: a Source, and what changes it gives
                                      .sink()   ──▶ TableSink: a Sink, and what changes it takes

In: a table as its catalog knows it.  Out: sources and sinks.  Each connector folder has its own,
such as connectors/files/table.py.  A source whose records are lines (`RowDataTypeInfo`) is used as
it is; those of another are converted by runtime/table/conversions.py.
Next: connectors/tables.py finds connectors by name, rel/connected_tables.py makes plans of them
"""

from __future__ import annotations

import difflib
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol

from headrace.common.changes import Changes
from headrace.common.config_options import ConfigOption
from headrace.common.data_types import RowField, RowType
from headrace.common.row_data_type import RowDataTypeInfo
from headrace.errors import ConfigurationError, InvalidArgumentError, UnsupportedStepError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from headrace.common.data_types import DataType
    from headrace.common.opaque import OptionValue, Record
    from headrace.common.typeinfo import TypeInformation
    from headrace.spi.sink import Sink
    from headrace.spi.source import Source

__all__ = [
    "TableConnector",
    "TableDefinition",
    "TableLookup",
    "TableMetadataColumn",
    "TableOptions",
    "TableSink",
    "TableSource",
    "only_inserts",
    "option",
]

CONNECTOR: ConfigOption[str] = ConfigOption("connector", doc="which connector the table has")
# Flink's, from old versions of itself
_ALWAYS = (CONNECTOR, ConfigOption[str]("property-version", doc="accepted without effect"))


@dataclass(frozen=True, slots=True)
class TableMetadataColumn:
    """A column that is no part of a message: its place, its time.

    Attributes:
        name: of the column.
        key: what the connector calls it.
        type: of the column.
        virtual: whether it is left out when lines are written.
    """

    name: str
    key: str
    type: DataType
    virtual: bool = False


@dataclass(frozen=True)
class TableDefinition:
    """A table as its catalog knows it, without computed columns and watermarks.

    Attributes:
        name: for messages, such as ``default_catalog.default_database.orders``.
        columns: the physical columns, in order.
        options: of WITH.
        metadata: columns that the connector knows beside those of the lines.
        primary_key: names of columns.
        partition_keys: names of columns.
    """

    name: str
    columns: RowType
    options: Mapping[str, str]
    metadata: tuple[TableMetadataColumn, ...] = ()
    primary_key: tuple[str, ...] = ()
    partition_keys: tuple[str, ...] = ()

    def read_type(self) -> RowType:
        """The columns of lines that a source gives: the physical ones, then all metadata."""
        return _with_metadata(self.columns, self.metadata)

    def written_metadata(self) -> tuple[TableMetadataColumn, ...]:
        """Those that are written."""
        return tuple(column for column in self.metadata if not column.virtual)

    def written_type(self) -> RowType:
        """The columns of lines that a sink gets: the physical ones, then metadata to write."""
        return _with_metadata(self.columns, self.written_metadata())

    def lines(self, changes: Changes) -> RowDataTypeInfo:
        """The type of lines that a source gives."""
        return RowDataTypeInfo(self.read_type(), not changes.only_inserts)

    def places(self, names: Iterable[str]) -> tuple[int, ...]:
        """The places of columns, for messages by name."""
        known = self.read_type().field_names()
        missing = [name for name in names if name not in known]
        if missing:
            raise InvalidArgumentError(
                f"table {self.name} has no column {missing[0]!r}", fix=f"it has {', '.join(known)}"
            )
        return tuple(known.index(name) for name in names)


def _with_metadata(columns: RowType, metadata: Iterable[TableMetadataColumn]) -> RowType:
    return RowType([*columns.fields, *(RowField(m.name, m.type) for m in metadata)])


class TableLookup(Protocol):
    """Asks a table outside for the lines of some keys; made on the driver, opened in workers."""

    def open(self) -> None:
        """Connect."""

    def lookup(self, keys: list[tuple[Record, ...]]) -> list[list[tuple[Record, ...]]]:
        """For each key the lines that have it, as Python values of the table's columns."""

    def close(self) -> None:
        """Disconnect."""


@dataclass(frozen=True)
class TableSource:
    """Where the lines of a table come from.

    Attributes:
        source: gives lines (`RowDataTypeInfo` of `TableDefinition.lines`), or records of another
            type, whose fields are the columns in order; None if a table can only be asked.
        changes: the kinds of change it gives.
        lookup: makes what joins ask, from the names of the key columns; None if it cannot.
        parallelism: of the source; None for the job's.
        narrowed: the source of some columns only, or of fields of columns that are rows: each is
            given by its names, such as ``("bid", "price")``; None if all have to be read.
    """

    source: Source | None
    changes: Changes = Changes.INSERT
    lookup: Callable[[tuple[str, ...]], TableLookup] | None = None
    parallelism: int | None = None
    narrowed: Callable[[tuple[tuple[str, ...], ...]], Source] | None = None


def only_inserts(changes: Changes) -> Changes:
    """What a sink accepts that cannot take anything back."""
    return Changes.INSERT


@dataclass(frozen=True)
class TableSink:
    """Where the lines of a table go.

    Attributes:
        sink: takes them.
        accepts: the kinds of change it takes, given those that would come.
        type_info: the type of records it wants; None for lines: tuples, the kind last if they
            have changes.
        parallelism: of the sink; None for the job's.
        newest_only: whether the last change of each primary key within a batch is all it wants.
    """

    sink: Sink
    accepts: Callable[[Changes], Changes] = only_inserts
    type_info: TypeInformation | None = None
    parallelism: int | None = None
    newest_only: bool = False


class TableOptions:
    """The options of a table in their types, each of them known."""

    def __init__(self, table: str, given: Mapping[str, str]) -> None:
        self.table = table
        self._given = given

    def get(self, option: ConfigOption[OptionValue]) -> OptionValue:
        """The value of an option, or its default."""
        text = self._given.get(option.key)
        return option.default if text is None else option.parse(text, f"table {self.table}")

    def need(self, option: ConfigOption[OptionValue]) -> OptionValue:
        """The value of an option that a setting of another one asks for."""
        found = self.get(option)
        if found is None:
            raise ConfigurationError(
                f"table {self.table} needs the option {option.key!r}",
                where=f"table {self.table}",
                fix=f"add '{option.key}' = '...' to WITH: {option.doc}",
            )
        return found

    def has(self, key: str) -> bool:
        """Whether an option is set."""
        return key in self._given

    def below(self, prefix: str) -> dict[str, str]:
        """The options that begin with a prefix, without it."""
        return {
            key.removeprefix(prefix): value
            for key, value in self._given.items()
            if key.startswith(prefix)
        }


class TableConnector(ABC):
    """A connector of tables.

    Subclasses declare their options and override `source`, `sink` or both. A package adds one with
    an entry point of the group ``headrace.table_connectors``, which names the class::

        [project.entry-points."headrace.table_connectors"]
        acme = "acme.headrace:AcmeTables"
    """

    name: ClassVar[str]
    required: ClassVar[tuple[ConfigOption[OptionValue], ...]] = ()
    optional: ClassVar[tuple[ConfigOption[OptionValue], ...]] = ()
    prefixes: ClassVar[tuple[str, ...]] = ()
    """How options begin that the connector hands on, such as ``properties.``."""

    @abstractmethod
    def summary(self) -> str:
        """One line for lists."""

    def readable_metadata(self, definition: TableDefinition) -> Mapping[str, DataType]:
        """What a source can tell of lines beside their columns, by Flink's keys."""
        return {}

    def writable_metadata(self, definition: TableDefinition) -> Mapping[str, DataType]:
        """What a sink can be told."""
        return {}

    def source(self, definition: TableDefinition) -> TableSource:
        """Reads the table."""
        raise UnsupportedStepError(
            f"tables of connector {self.name!r} cannot be read",
            where=f"table {definition.name}",
            fix="use it behind INSERT INTO, or give the table another connector",
        )

    def sink(self, definition: TableDefinition) -> TableSink:
        """Writes the table."""
        raise UnsupportedStepError(
            f"tables of connector {self.name!r} cannot be written",
            where=f"table {definition.name}",
            fix="use it behind FROM, or give the table another connector",
        )

    # --- what all share -------------------------------------------------------------------------

    def checked(
        self, definition: TableDefinition, more_prefixes: Iterable[str] = ()
    ) -> TableOptions:
        """The options of a table.

        Args:
            definition: the table.
            more_prefixes: how the options of its formats begin; those check them.

        Raises:
            ConfigurationError: one is missing, or unknown.
        """
        known = {o.key: o for o in (*_ALWAYS, *self.required, *self.optional)}
        prefixes = (*self.prefixes, *more_prefixes)
        where = f"table {definition.name}"
        for option in self.required:
            if option.key not in definition.options:
                raise ConfigurationError(
                    f"the connector {self.name!r} needs the option {option.key!r}",
                    where=where,
                    fix=f"add '{option.key}' = '...' to WITH: {option.doc}",
                )
        for key, value in definition.options.items():
            if key in known:
                known[key].parse(value, where)
            elif not key.startswith(prefixes):
                raise self._unknown(key, sorted(known), where)
        self._check_metadata(definition)
        return TableOptions(definition.name, definition.options)

    def _unknown(self, key: str, known: list[str], where: str) -> ConfigurationError:
        near = difflib.get_close_matches(key, known, n=2)
        listed = ", ".join([*known, *(f"{prefix}*" for prefix in self.prefixes)])
        return ConfigurationError(
            f"the connector {self.name!r} has no option {key!r}",
            where=where,
            fix=f"did you mean {' or '.join(map(repr, near))}?" if near else f"it has {listed}",
        )

    def _check_metadata(self, definition: TableDefinition) -> None:
        readable = self.readable_metadata(definition)
        for column in definition.metadata:
            known = readable if column.virtual else self._all_metadata(definition)
            if column.key not in known:
                near = difflib.get_close_matches(column.key, known, n=1)
                listed = ", ".join(sorted(known)) or "none"
                raise ConfigurationError(
                    f"the connector {self.name!r} has no metadata {column.key!r}",
                    where=f"column {column.name!r} of table {definition.name}",
                    fix=f"did you mean {near[0]!r}?" if near else f"it has {listed}",
                )

    def _all_metadata(self, definition: TableDefinition) -> dict[str, DataType]:
        return {**self.readable_metadata(definition), **self.writable_metadata(definition)}


def option(
    key: str,
    kind: str = "string",
    default: OptionValue = None,
    doc: str = "",
    choices: tuple[str, ...] = (),
) -> ConfigOption[OptionValue]:
    """An option of a connector or format."""
    return ConfigOption(key, kind, default, doc, choices)  # type: ignore[arg-type]
