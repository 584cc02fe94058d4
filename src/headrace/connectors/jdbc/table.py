"""``'connector' = 'jdbc'``: tables of PostgreSQL.

In: the options of a table, Flink's.  Out: a bounded source, what lookup joins ask, and a sink that
appends, or keeps one line for each primary key, exactly once.
Next: reading.py; connectors/postgres/sink.py writes
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from headrace.common.changes import Changes
from headrace.connectors.jdbc.reading import (
    DatabaseLookup,
    DatabaseSource,
    DatabaseTable,
    ScanParts,
)
from headrace.connectors.jdbc.sink import JdbcConnectionOptions
from headrace.connectors.postgres.client import check_conninfo
from headrace.connectors.postgres.sink import PostgresSink
from headrace.errors import ConfigurationError
from headrace.io.server_calls import Retries
from headrace.spi.lookup_cache import CacheRules
from headrace.spi.table_connector import (
    TableConnector,
    TableSink,
    TableSource,
    only_inserts,
    option,
)

if TYPE_CHECKING:
    from headrace.common.config_options import ConfigOption
    from headrace.common.opaque import OptionValue
    from headrace.spi.table_connector import TableDefinition, TableOptions

_SHORTEST_MS = 1000
URL = option("url", doc="jdbc:postgresql://host:5432/name")
TABLE = option("table-name", doc="as SQL writes it: orders, sales.orders")
DRIVER = option("driver", doc="accepted: there is no Java")
USER = option("username", doc="who connects")
PASSWORD = option("password", doc="of the user")
TIMEOUT = option(
    "connection.max-retry-timeout",
    "duration",
    60_000,
    "how long a database that does not answer is waited for, with all tries; 1 s at least",
)
PART_COLUMN = option("scan.partition.column", doc="a column of numbers to cut the table by")
PART_COUNT = option("scan.partition.num", "int", doc="how many parts")
PART_LOWER = option("scan.partition.lower-bound", "int", doc="the smallest number")
PART_UPPER = option("scan.partition.upper-bound", "int", doc="the largest number")
FETCH = option("scan.fetch-size", "int", 0, "how many lines come at once")
COMMIT = option("scan.auto-commit", "boolean", default=True, doc="accepted without effect")
CACHE = option("lookup.cache", "enum", "NONE", "what is remembered", ("NONE", "PARTIAL"))
CACHE_ROWS = option("lookup.partial-cache.max-rows", "int", doc="how many lines")
CACHE_WRITE = option("lookup.partial-cache.expire-after-write", "duration", doc="for how long")
CACHE_ACCESS = option("lookup.partial-cache.expire-after-access", "duration", doc="for how long")
CACHE_MISSING = option(
    "lookup.partial-cache.cache-missing-key", "boolean", default=True, doc="keys without lines, too"
)
OLD_ROWS = option("lookup.cache.max-rows", "int", doc="how many lines; the old name")
OLD_TTL = option("lookup.cache.ttl", "duration", doc="for how long; the old name")
OLD_MISSING = option("lookup.cache.caching-missing-key", "boolean", default=True, doc="old name")
LOOKUP_RETRIES = option("lookup.max-retries", "int", 3, "how often a question is asked again")
FLUSH_ROWS = option("sink.buffer-flush.max-rows", "int", 100, "accepted without effect")
FLUSH_TIME = option("sink.buffer-flush.interval", "duration", 1000, "accepted without effect")
SINK_RETRIES = option("sink.max-retries", "int", 3, "how often a batch is tried again")
PARALLELISM = option("sink.parallelism", "int", doc="how many subtasks write")


class JdbcTables(TableConnector):
    """Tables of PostgreSQL."""

    name: ClassVar[str] = "jdbc"
    required = (URL, TABLE)
    optional = (
        DRIVER, USER, PASSWORD, TIMEOUT, PART_COLUMN, PART_COUNT, PART_LOWER, PART_UPPER, FETCH,
        COMMIT, CACHE, CACHE_ROWS, CACHE_WRITE, CACHE_ACCESS, CACHE_MISSING, OLD_ROWS, OLD_TTL,
        OLD_MISSING, LOOKUP_RETRIES, FLUSH_ROWS, FLUSH_TIME, SINK_RETRIES, PARALLELISM,
    )  # fmt: skip

    def summary(self) -> str:
        return "Tables of PostgreSQL"

    def source(self, definition: TableDefinition) -> TableSource:
        options = self.checked(definition)
        lines = definition.lines(Changes.INSERT)
        retries = _retries(options, LOOKUP_RETRIES)
        table = DatabaseTable(_conninfo(options), str(options.get(TABLE)), lines, retries)
        source = DatabaseSource(table, _parts(options, definition), int(options.get(FETCH)))
        rules = _rules(options)
        return TableSource(source, lookup=lambda keys: DatabaseLookup(table, keys, rules))

    def sink(self, definition: TableDefinition) -> TableSink:
        options = self.checked(definition)
        conninfo, table = _conninfo(options), str(options.get(TABLE))
        retries = _retries(options, SINK_RETRIES)
        columns = definition.columns.field_names()
        info = definition.columns.to_type_info()
        parallelism = options.get(PARALLELISM)
        if not definition.primary_key:
            sink = PostgresSink.append(conninfo, table, columns=columns, retries=retries)
            return TableSink(sink, only_inserts, info, parallelism)
        sink = PostgresSink.upsert(
            conninfo, table, definition.primary_key, columns=columns, retries=retries
        )
        return TableSink(sink, _upserts, info, parallelism, newest_only=True)


def _upserts(changes: Changes) -> Changes:
    return changes & Changes.UPSERT


def _retries(options: TableOptions, again: ConfigOption[OptionValue]) -> Retries:
    within_ms = int(options.get(TIMEOUT))
    if within_ms < _SHORTEST_MS:
        raise ConfigurationError(
            f"{TIMEOUT.key} is {within_ms} ms, and databases are not given up that fast",
            where=f"table {options.table}",
            fix="use 1 s or more",
        )
    return Retries(attempts=int(options.get(again)) + 1, within_s=within_ms / 1000)


def _conninfo(options: TableOptions) -> str:
    builder = JdbcConnectionOptions.JdbcConnectionOptionsBuilder().with_url(str(options.get(URL)))
    if options.get(USER) is not None:
        builder = builder.with_user_name(str(options.get(USER)))
    if options.get(PASSWORD) is not None:
        builder = builder.with_password(str(options.get(PASSWORD)))
    found = builder.build()._conninfo()
    check_conninfo(found, f"table {options.table}")
    return found


def _parts(options: TableOptions, definition: TableDefinition) -> ScanParts | None:
    needed = (PART_COLUMN, PART_COUNT, PART_LOWER, PART_UPPER)
    if not any(options.has(part.key) for part in needed):
        return None
    column, count, lower, upper = (options.need(part) for part in needed)
    if column not in definition.columns.field_names() or count < 1 or lower > upper:
        raise ConfigurationError(
            f"the table cannot be cut by {column!r} into {count} parts from {lower} to {upper}",
            where=f"table {options.table}",
            fix="name a column of numbers, a number of parts, and bounds in order",
        )
    return ScanParts(str(column), int(count), int(lower), int(upper))


def _rules(options: TableOptions) -> CacheRules | None:
    rows, ttl = options.get(OLD_ROWS), options.get(OLD_TTL)
    if rows is not None and ttl is not None and options.get(CACHE) == "NONE":
        return CacheRules(rows, ttl, None, bool(options.get(OLD_MISSING)))
    if options.get(CACHE) == "NONE":
        return None
    return CacheRules(
        options.get(CACHE_ROWS),
        options.get(CACHE_WRITE),
        options.get(CACHE_ACCESS),
        bool(options.get(CACHE_MISSING)),
    )
