"""CREATE and DROP.

In: a walk over tokens (stream.py).  Out: nodes of ddl_ast.py.  Next: alter.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from headrace.sql.ddl_ast import (
    ColumnDefinition,
    CreateCatalog,
    CreateConnection,
    CreateDatabase,
    CreateFunction,
    CreateMaterializedTable,
    CreateModel,
    CreateTable,
    CreateView,
    DropStatement,
    LikeClause,
    StartMode,
)
from headrace.sql.table_parts import TablePartParser

if TYPE_CHECKING:
    from headrace.sql.ast import Identifier, IntervalLiteral, SqlLiteral
    from headrace.sql.statement_ast import SqlStatement

_LANGUAGES = ("JAVA", "SCALA", "SQL", "PYTHON")
_Language = Literal["JAVA", "SCALA", "SQL", "PYTHON"]
_LIKE_STRATEGIES = ("INCLUDING", "EXCLUDING", "OVERWRITING")
_LIKE_FEATURES = (
    "ALL",
    "CONSTRAINTS",
    "DISTRIBUTION",
    "GENERATED",
    "METADATA",
    "OPTIONS",
    "PARTITIONS",
    "WATERMARKS",
)
_START_MODES = (
    "FROM_BEGINNING",
    "FROM_NOW",
    "FROM_TIMESTAMP",
    "RESUME_OR_FROM_BEGINNING",
    "RESUME_OR_FROM_NOW",
    "RESUME_OR_FROM_TIMESTAMP",
)
_CREATED = ("TABLE", "VIEW", "CATALOG", "DATABASE", "FUNCTION", "MODEL", "CONNECTION")
_DROPPED = Literal[
    "TABLE", "VIEW", "MATERIALIZED TABLE", "CATALOG", "DATABASE", "FUNCTION", "MODEL", "CONNECTION"
]


class CreateParser(TablePartParser):
    """The part of the grammar that reads CREATE and DROP."""

    def create(self) -> SqlStatement:
        """CREATE of anything."""
        first = self.index
        self.index += 1
        replace = self.accept("OR", "REPLACE")
        or_alter = self.accept("OR", "ALTER")
        temporary = self.accept("TEMPORARY")
        system = self.accept("SYSTEM")
        if self.at("MATERIALIZED", "TABLE"):
            if temporary or replace:
                self.refuse(
                    "a materialized table is neither temporary nor replaced",
                    "write CREATE MATERIALIZED TABLE, or CREATE OR ALTER MATERIALIZED TABLE",
                )
            return self._create_materialized_table(first, or_alter=or_alter)
        if or_alter:
            self.fail("MATERIALIZED")
        if self.key == "SCHEMA":
            self.refuse("Flink's SQL has no schemas", "write CREATE DATABASE")
        kind = self.expect_one(_CREATED)
        if system and not (temporary and kind in {"FUNCTION", "CONNECTION"}):
            self.refuse(
                f"{kind} with SYSTEM alone cannot be created",
                "write CREATE TEMPORARY SYSTEM FUNCTION",
                position=self.since(first),
            )
        if replace and kind not in {"TABLE", "VIEW"}:
            self.refuse(
                f"{kind} cannot be replaced",
                f"write DROP {kind} IF EXISTS first",
                position=self.since(first),
            )
        return self._create_one(kind, first, temporary=temporary, system=system, replace=replace)

    def _create_one(
        self, kind: str, first: int, *, temporary: bool, system: bool, replace: bool
    ) -> SqlStatement:
        match kind:
            case "TABLE":
                return self.create_table(
                    first, temporary=temporary, replace=replace, or_create=replace
                )
            case "VIEW":
                return self._create_view(first, temporary=temporary, replace=replace)
            case "CATALOG":
                return self._create_catalog(first)
            case "DATABASE":
                return self._create_database(first)
            case "FUNCTION":
                return self._create_function(first, temporary=temporary, system=system)
            case "MODEL":
                return self._create_model(first, temporary=temporary)
            case _:
                return self._create_connection(first, temporary=temporary, system=system)

    # --- tables and views ----------------------------------------------------------------------

    def replace_table(self) -> CreateTable:
        """REPLACE TABLE t .. AS SELECT .."""
        first = self.index
        self.index += 1
        temporary = self.accept("TEMPORARY")
        self.expect("TABLE")
        return self.create_table(first, temporary=temporary, replace=True, or_create=False)

    def create_table(
        self, first: int, *, temporary: bool, replace: bool, or_create: bool
    ) -> CreateTable:
        """What stands behind CREATE TABLE."""
        if_not_exists = self.if_not_exists()
        name = self.identifier("the name of a table")
        schema = self.table_schema() if self.key == "(" else None
        comment = self.comment()
        if self.key == "USING" and self.key_at(1) != "CONNECTION":
            self.refuse(
                "a table's connector is one of its options",
                "write WITH ('connector' = '..') instead of USING",
            )
        distribution = self.distribution() if self.accept("DISTRIBUTED") else None
        partitioned = self.partitioned_by()
        connection = None
        if self.accept("USING", "CONNECTION"):
            connection = self.identifier("the name of a connection")
        options = self.with_options()
        like = query = None
        if not replace and self.accept("LIKE"):
            like = self._like_clause()
        elif self.accept("AS"):
            query = self.query()
        elif replace:
            self.fail("AS")
        if schema is not None and schema.names and query is None:
            self.refuse(
                "columns without types need AS SELECT",
                "write a type behind each column",
                position=schema.position,
            )
        return CreateTable(
            name, schema, comment, distribution, partitioned, connection, options, like, query,
            temporary, if_not_exists, replace, or_create, position=self.since(first),
        )  # fmt: skip

    def _like_clause(self) -> LikeClause:
        first = self.index
        table = self.identifier("the name of a table")
        options: list[tuple[str, str]] = []
        if self.accept("("):
            while not options or self.key != ")":
                strategy = self.expect_one(_LIKE_STRATEGIES)
                options.append((strategy, self.expect_one(_LIKE_FEATURES)))
            self.expect(")")
        return LikeClause(table, tuple(options), position=self.since(first))

    def _create_view(self, first: int, *, temporary: bool, replace: bool) -> CreateView:
        if_not_exists = self.if_not_exists()
        name = self.identifier("the name of a view")
        columns = self.names_in_parentheses() if self.key == "(" else ()
        comment = self.comment()
        self.expect("AS")
        query = self.query()
        return CreateView(
            name, query, columns, comment, temporary, if_not_exists, replace,
            position=self.since(first),
        )  # fmt: skip

    def _create_materialized_table(self, first: int, *, or_alter: bool) -> CreateMaterializedTable:
        self.index += 2
        name = self.identifier("the name of a table")
        schema = self.table_schema() if self.key == "(" else None
        comment = self.comment()
        distribution = self.distribution() if self.accept("DISTRIBUTED") else None
        partitioned = self.partitioned_by()
        options = self.with_options()
        start = self._start_mode() if self.accept("START_MODE") else None
        freshness = self.interval_behind_equals() if self.accept("FRESHNESS") else None
        mode = self.refresh_mode() if self.accept("REFRESH_MODE") else None
        self.expect("AS")
        query = self.query()
        return CreateMaterializedTable(
            name, query, schema, comment, distribution, partitioned, options, start, freshness,
            mode, or_alter, position=self.since(first),
        )  # fmt: skip

    def interval_behind_equals(self) -> IntervalLiteral:
        """``= INTERVAL '1' HOUR``."""
        self.expect("=")
        if self.key != "INTERVAL":
            self.fail("an INTERVAL")
        return self.interval_literal()

    def refresh_mode(self) -> Literal["FULL", "CONTINUOUS"]:
        """``= FULL``."""
        self.expect("=")
        return "FULL" if self.expect_one(("FULL", "CONTINUOUS")) == "FULL" else "CONTINUOUS"

    def _start_mode(self) -> StartMode:
        first = self.index
        self.expect("=")
        kind = self.expect_one(_START_MODES)
        value: IntervalLiteral | SqlLiteral | None = None
        if self.accept("("):
            timestamp = kind.endswith("TIMESTAMP")
            if self.key != ("TIMESTAMP" if timestamp else "INTERVAL"):
                self.fail("a TIMESTAMP literal" if timestamp else "an INTERVAL")
            value = self.timestamp_literal() if timestamp else self.interval_literal()
            self.expect(")")
        return StartMode(kind, value, position=self.since(first))

    # --- the others ----------------------------------------------------------------------------

    def _create_catalog(self, first: int) -> CreateCatalog:
        if_not_exists = self.if_not_exists()
        name = self.name("the name of a catalog")
        comment = self.comment()
        options = self.with_options()
        return CreateCatalog(name, options, comment, if_not_exists, position=self.since(first))

    def _create_database(self, first: int) -> CreateDatabase:
        if_not_exists = self.if_not_exists()
        name = self.identifier("the name of a database")
        comment = self.comment()
        options = self.with_options()
        return CreateDatabase(name, options, comment, if_not_exists, position=self.since(first))

    def _create_function(self, first: int, *, temporary: bool, system: bool) -> CreateFunction:
        if_not_exists = self.if_not_exists()
        name = self.identifier("the name of a function")
        class_name, language = self.function_body()
        resources: tuple[tuple[str, str], ...] = ()
        if self.accept("USING"):
            resources = self.comma_list(self._resource)
        options = self.with_options()
        return CreateFunction(
            name, class_name, language, resources, options, temporary, system, if_not_exists,
            position=self.since(first),
        )  # fmt: skip

    def function_body(self) -> tuple[str, _Language | None]:
        """``AS 'module.name' LANGUAGE PYTHON``."""
        self.expect("AS")
        class_name = self.string("the function's class or path in single quotes")
        if not self.accept("LANGUAGE"):
            return class_name, None
        found = self.expect_one(_LANGUAGES)
        language: _Language = next(name for name in _languages() if name == found)
        return class_name, language

    def _resource(self) -> tuple[str, str]:
        kind = self.expect_one(("JAR", "ARTIFACT"))
        return kind, self.string("a path in single quotes")

    def _create_model(self, first: int, *, temporary: bool) -> CreateModel:
        if_not_exists = self.if_not_exists()
        name = self.identifier("the name of a model")
        inputs: tuple[ColumnDefinition, ...] = ()
        outputs: tuple[ColumnDefinition, ...] = ()
        if self.accept("INPUT"):
            inputs = self.table_schema().columns
        if self.accept("OUTPUT"):
            outputs = self.table_schema().columns
        comment = self.comment()
        options = self.with_options()
        query = self.query() if self.accept("AS") else None
        return CreateModel(
            name, inputs, outputs, comment, options, query, temporary, if_not_exists,
            position=self.since(first),
        )  # fmt: skip

    def _create_connection(self, first: int, *, temporary: bool, system: bool) -> CreateConnection:
        if_not_exists = self.if_not_exists()
        name = self.identifier("the name of a connection")
        comment = self.comment()
        if self.key != "WITH":
            self.fail("WITH")
        options = self.with_options()
        return CreateConnection(
            name, options, comment, temporary, system, if_not_exists, position=self.since(first)
        )

    # --- DROP ----------------------------------------------------------------------------------

    def drop(self) -> DropStatement:
        """DROP of anything."""
        first = self.index
        self.index += 1
        temporary = self.accept("TEMPORARY")
        system = self.accept("SYSTEM")
        materialized = self.accept("MATERIALIZED")
        found = self.expect_one(("TABLE",) if materialized else _CREATED)
        kind = _dropped("MATERIALIZED TABLE" if materialized else found)
        if_exists = self.if_exists()
        name: Identifier = self.identifier(f"the name of a {found.lower()}")
        cascade = False
        if kind == "DATABASE":
            cascade = self.accept_one(("RESTRICT", "CASCADE")) == "CASCADE"
        return DropStatement(
            kind, name, if_exists, temporary, system, cascade, position=self.since(first)
        )


def _languages() -> tuple[_Language, ...]:
    return ("JAVA", "SCALA", "SQL", "PYTHON")


def _dropped(kind: str) -> _DROPPED:
    every: tuple[_DROPPED, ...] = (
        "TABLE", "VIEW", "MATERIALIZED TABLE", "CATALOG", "DATABASE", "FUNCTION", "MODEL",
        "CONNECTION",
    )  # fmt: skip
    return next(name for name in every if name == kind)
