"""What catalogs hold: databases, tables, views, functions, partitions, statistics.

In: programs and DDL.  Out: descriptions.  Next: table/catalogs/catalog.py keeps them
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

from headrace.errors import InvalidArgumentError
from headrace.table.schema import Schema

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from headrace.api.table.definitions import UserFunctionDefinition
    from headrace.common.configuration import Configuration
    from headrace.rel.nodes import Rel
    from headrace.sql.query_ast import SqlQuery
    from headrace.table.table_schema import TableSchema


class _Described:
    """Something with properties and a comment."""

    def __init__(self, properties: Mapping[str, str], comment: str | None = None) -> None:
        self._properties, self._comment = dict(properties), comment

    def get_properties(self) -> dict[str, str]:
        """What is kept of it, by key."""
        return dict(self._properties)

    def get_comment(self) -> str | None:
        """Its comment."""
        return self._comment

    def copy(self) -> Self:
        """The same again."""
        return type(self)(self._properties, self._comment)

    def get_description(self) -> str | None:
        """Its comment."""
        return self._comment

    def get_detailed_description(self) -> str | None:
        """Its comment."""
        return self._comment


class CatalogDatabase(_Described):
    """A database."""

    @staticmethod
    def create_instance(
        properties: Mapping[str, str], comment: str | None = None
    ) -> CatalogDatabase:
        """A database with properties."""
        return CatalogDatabase(properties, comment)


class CatalogPartition(_Described):
    """A partition of a table."""

    @staticmethod
    def create_instance(
        properties: Mapping[str, str], comment: str | None = None
    ) -> CatalogPartition:
        """A partition with properties."""
        return CatalogPartition(properties, comment)


class CatalogPartitionSpec:
    """Which partition: values of the columns by which a table is partitioned."""

    def __init__(self, partition_spec: Mapping[str, str]) -> None:
        self._spec = dict(partition_spec)

    def get_partition_spec(self) -> dict[str, str]:
        """Values by column."""
        return dict(self._spec)

    def __str__(self) -> str:
        values = ", ".join(f"{key}={value}" for key, value in self._spec.items())
        return f"CatalogPartitionSpec{{{{{values}}}}}"

    def __hash__(self) -> int:
        return hash(frozenset(self._spec.items()))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CatalogPartitionSpec) and self._spec == other._spec


@dataclass(frozen=True)
class ViewQuery:
    """What a view shows.

    Attributes:
        text: its query, with full names and without stars; "" for a view of the Table API.
        node: the parsed query.
        catalog, database: the current ones when it was made, in which its names are looked up.
        columns: their names, if they were said.
        rel: of a view of the Table API.
    """

    text: str
    node: SqlQuery | None = field(default=None, compare=False)
    catalog: str = ""
    database: str = ""
    columns: tuple[str, ...] = ()
    rel: Rel | None = field(default=None, compare=False)


class CatalogBaseTable:
    """A table, or a view.

    Args:
        schema: declared columns.
        options: of WITH.
        comment: for people.
        partition_keys: columns.
        view: the query, if it is a view.
    """

    def __init__(
        self,
        schema: Schema,
        options: Mapping[str, str],
        comment: str | None = None,
        partition_keys: Sequence[str] = (),
        view: ViewQuery | None = None,
    ) -> None:
        self._schema = schema
        self._options = dict(options)
        self._comment = comment
        self._partition_keys = tuple(partition_keys)
        self._view = view
        # made by catalogs/lookup.py: the nodes that read it, one for each set of hinted options
        self._scans: dict[tuple[tuple[str, str], ...], Rel] = {}

    @staticmethod
    def create_table(
        schema: TableSchema | Schema,
        partition_keys: Sequence[str] = [],
        properties: Mapping[str, str] = {},
        comment: str | None = None,
    ) -> CatalogBaseTable:
        """A table.

        Args:
            schema: its columns.
            partition_keys: the columns by which it is partitioned.
            properties: the options of WITH.
            comment: for people.
        """
        return CatalogBaseTable(_declared(schema), properties, comment, partition_keys)

    @staticmethod
    def create_view(
        original_query: str,
        expanded_query: str,
        schema: TableSchema | Schema,
        properties: Mapping[str, str],
        comment: str | None = None,
    ) -> CatalogBaseTable:
        """A view.

        Args:
            original_query: as its author wrote it.
            expanded_query: the same with full names; this one is used.
            schema: its columns.
            properties: of the view.
            comment: for people.
        """
        view = ViewQuery(expanded_query or original_query)
        return CatalogBaseTable(_declared(schema), properties, comment, view=view)

    def get_options(self) -> dict[str, str]:
        """The options of WITH."""
        return dict(self._options)

    def get_unresolved_schema(self) -> Schema:
        """The declared columns."""
        return self._schema

    def get_comment(self) -> str | None:
        """Its comment."""
        return self._comment

    def copy(self) -> CatalogBaseTable:
        """The same again."""
        return self._with()

    def _with(self, **changes: Any) -> CatalogBaseTable:
        """The same with some parts exchanged."""
        given: dict[str, Any] = {
            "schema": self._schema,
            "options": self._options,
            "comment": self._comment,
            "partition_keys": self._partition_keys,
            "view": self._view,
        }
        return CatalogBaseTable(**(given | changes))

    def get_description(self) -> str | None:
        """Its comment."""
        return self._comment

    def get_detailed_description(self) -> str | None:
        """What it is, and its comment."""
        kind = "view" if self._view is not None else "table"
        return f"This is a {kind} of a catalog: {self._comment or ''}".rstrip(": ")


def _declared(schema: TableSchema | Schema) -> Schema:
    if isinstance(schema, Schema):
        return schema
    builder = Schema.new_builder()
    return builder.from_fields(schema.get_field_names(), schema.get_field_data_types()).build()


_LANGUAGES = {"python": "PYTHON", "java": "JAVA", "scala": "SCALA"}


@dataclass(frozen=True)
class FunctionParts:
    """What a catalog knows of a function; `definition` of one that is an object of this program."""

    class_name: str
    language: str = "PYTHON"
    options: tuple[tuple[str, str], ...] = ()
    definition: UserFunctionDefinition | None = None


class CatalogFunction:
    """A function by the name of its class or variable, such as ``my_module.add_one``."""

    def __init__(self, parts: FunctionParts) -> None:
        self._parts = parts

    @staticmethod
    def create_instance(class_name: str, function_language: str = "Python") -> CatalogFunction:
        """A function that is imported when it is used.

        Args:
            class_name: module and name.
            function_language: Python; functions of Java and Scala are kept, but not run.
        """
        language = _LANGUAGES.get(function_language.lower())
        if language is None:
            raise InvalidArgumentError(
                "function_language must be one of 'Python', 'Java' or 'Scala'"
            )
        return CatalogFunction(FunctionParts(class_name, language))

    def get_class_name(self) -> str:
        """Module and name."""
        return self._parts.class_name

    def copy(self) -> CatalogFunction:
        """The same again."""
        return CatalogFunction(replace(self._parts))

    def get_description(self) -> str | None:
        """For people."""
        return "This is a user-defined function"

    def get_detailed_description(self) -> str | None:
        """For people."""
        return f"This is a user-defined function of {self._parts.class_name}"

    def get_function_language(self) -> str:
        """PYTHON, JAVA or SCALA."""
        return self._parts.language

    def get_options(self) -> dict[str, str]:
        """Its options."""
        return dict(self._parts.options)


class CatalogModel:
    """A model: what goes in, what comes out. headrace keeps it, and runs none."""

    def __init__(
        self,
        input_schema: Schema,
        output_schema: Schema,
        options: Mapping[str, str],
        comment: str | None = None,
    ) -> None:
        self._input_schema, self._output_schema = input_schema, output_schema
        self._options, self._comment = dict(options), comment

    @staticmethod
    def create_model(
        input_schema: Schema,
        output_schema: Schema,
        options: Mapping[str, str] = {},
        comment: str | None = None,
    ) -> CatalogModel:
        """A model."""
        return CatalogModel(input_schema, output_schema, options, comment)

    def copy(self) -> CatalogModel:
        """The same again."""
        return CatalogModel(self._input_schema, self._output_schema, self._options, self._comment)

    def get_comment(self) -> str | None:
        """Its comment."""
        return self._comment

    def get_options(self) -> dict[str, str]:
        """Its options."""
        return dict(self._options)


class CatalogTableStatistics:
    """How large a table is."""

    def __init__(
        self,
        row_count: int | None = None,
        field_count: int | None = None,
        total_size: int | None = None,
        raw_data_size: int | None = None,
        properties: Mapping[str, str] | None = None,
    ) -> None:
        self._counts = (row_count, field_count, total_size, raw_data_size)
        self._properties = dict(properties or {})

    def get_row_count(self) -> int | None:
        """How many lines it has."""
        return self._counts[0]

    def get_field_count(self) -> int | None:
        """How many files it has."""
        return self._counts[1]

    def get_total_size(self) -> int | None:
        """How many bytes it has."""
        return self._counts[2]

    def get_raw_data_size(self) -> int | None:
        """How many bytes its lines have."""
        return self._counts[3]

    def get_properties(self) -> dict[str, str]:
        """What else is known."""
        return dict(self._properties)

    def copy(self) -> CatalogTableStatistics:
        """The same again."""
        return CatalogTableStatistics(*self._counts, self._properties)


class CatalogColumnStatistics:
    """How the values of columns are distributed; headrace plans without it."""

    def __init__(
        self,
        column_statistics_data: Mapping[str, Any] | None = None,
        properties: Mapping[str, str] | None = None,
    ) -> None:
        self._data, self._properties = dict(column_statistics_data or {}), dict(properties or {})

    def get_column_statistics_data(self) -> dict[str, Any]:
        """Statistics by column."""
        return dict(self._data)

    def get_properties(self) -> dict[str, str]:
        """What else is known."""
        return dict(self._properties)

    def copy(self) -> CatalogColumnStatistics:
        """The same again."""
        return CatalogColumnStatistics(self._data, self._properties)


class CatalogDescriptor:
    """What CREATE CATALOG says, as an object."""

    def __init__(
        self, catalog_name: str, configuration: Configuration, comment: str | None = None
    ) -> None:
        self._catalog_name = catalog_name
        self._configuration = configuration
        self._comment = comment

    @staticmethod
    def of(
        catalog_name: str, configuration: Configuration, comment: str | None = None
    ) -> CatalogDescriptor:
        """A catalog with options."""
        return CatalogDescriptor(catalog_name, configuration, comment)


class Procedure:
    """A procedure; headrace has none."""
