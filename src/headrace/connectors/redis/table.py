"""``'connector' = 'redis'``: tables of hashes, one for each primary key. Ours: Flink has none.

    (1, "tea") with PRIMARY KEY (id)   ──▶   HSET orders:1 id 1 name tea

In: lines.  Out: hashes, exactly once, and lookups by the whole primary key.
Next: sink.py writes, client.py asks
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, ClassVar

from headrace.common import data_types as d
from headrace.common.changes import Changes
from headrace.connectors.redis.client import RedisClient
from headrace.connectors.redis.sink import RedisSink
from headrace.errors import ConfigurationError
from headrace.formats.tables.csv import cell_reader, cell_value
from headrace.formats.tables.json_lines import JsonForm, json_reader, json_writer
from headrace.io.server_calls import Retries
from headrace.spi.lookup_cache import CacheRules, LookupCache
from headrace.spi.table_connector import TableConnector, TableSink, TableSource, option

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.spi.table_connector import TableDefinition

    Line = tuple[Any, ...]

URL = option("url", doc="redis://user:password@host:6379/0")
PREFIX = option("key-prefix", doc="in front of the primary key; by default the table's name and :")
CACHE_ROWS = option("lookup.partial-cache.max-rows", "int", doc="how many keys are remembered")
CACHE_WRITE = option("lookup.partial-cache.expire-after-write", "duration", doc="for how long")
PARALLELISM = option("sink.parallelism", "int", doc="how many subtasks write")
_BETWEEN = ":"
_NESTED = (d.ArrayType, d.MapType, d.MultisetType, d.RowType)


class RedisTables(TableConnector):
    """Tables of hashes."""

    name: ClassVar[str] = "redis"
    required = (URL,)
    optional = (PREFIX, CACHE_ROWS, CACHE_WRITE, PARALLELISM)

    def summary(self) -> str:
        return "Hashes of Redis, one for each primary key"

    def source(self, definition: TableDefinition) -> TableSource:
        options, hashes = self.checked(definition), self._hashes(definition)
        url = str(options.get(URL))
        rows, age = options.get(CACHE_ROWS), options.get(CACHE_WRITE)
        rules = None if rows is None and age is None else CacheRules(rows, age)
        return TableSource(None, lookup=lambda keys: RedisLookup(url, hashes, keys, rules))

    def sink(self, definition: TableDefinition) -> TableSink:
        options, hashes = self.checked(definition), self._hashes(definition)
        sink = RedisSink.commands(str(options.get(URL)), hashes.commands)
        return TableSink(sink, _upserts, parallelism=options.get(PARALLELISM))

    def _hashes(self, definition: TableDefinition) -> Hashes:
        if not definition.primary_key:
            raise ConfigurationError(
                "a table of Redis needs a primary key, which names its hashes",
                where=f"table {definition.name}",
                fix="add PRIMARY KEY (...) NOT ENFORCED",
            )
        prefix = definition.options.get(PREFIX.key)
        if prefix is None:
            prefix = definition.name.rpartition(".")[2] + _BETWEEN
        return Hashes(definition.columns, definition.primary_key, prefix)


def _upserts(changes: Changes) -> Changes:
    return changes & Changes.UPSERT


class Hashes:
    """Lines as hashes and back; travels to workers.

    Args:
        columns: of the lines.
        key: names of the columns of the primary key.
        prefix: in front of their values.
    """

    def __init__(self, columns: d.RowType, key: tuple[str, ...], prefix: str) -> None:
        self.columns = columns
        self.key = key
        self.prefix = prefix
        for kind in columns.field_types():
            writer_of(kind)  # refuses now what has no form
            reader_of(kind)

    def name(self, key: Line) -> str:
        """The name of the hash of a key, in the order of the primary key."""
        kinds = [self.columns[name].data_type for name in self.key]
        texts = [writer_of(kind)(part) for kind, part in zip(kinds, key, strict=True)]
        return self.prefix + _BETWEEN.join(_text(text) for text in texts)

    def commands(self, line: Line) -> list[tuple[Any, ...]]:
        """What a line does to its hash; one that takes a line back deletes it."""
        names, width = self.columns.field_names(), len(self.columns)
        hash_name = self.name(tuple(line[names.index(part)] for part in self.key))
        kind = line[width] if len(line) > width else 0
        if kind in (1, 3):
            return [("DEL", hash_name)] if kind == 3 else []
        fields: list[Any] = []
        for field, value in zip(self.columns, line, strict=False):
            if value is not None:
                fields += (field.name, writer_of(field.data_type)(value))
        # what is NULL now must not stay as it was
        return [("DEL", hash_name), ("HSET", hash_name, *fields)]

    def line(self, found: dict[bytes, bytes]) -> Line:
        """The line of a hash."""
        cells = ((found.get(f.name.encode()), f.data_type) for f in self.columns)
        return tuple(None if cell is None else reader_of(kind)(cell) for cell, kind in cells)


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def writer_of(kind: d.DataType) -> Callable[[Any], Any]:
    """What makes the content of a field of a value: text, bytes or a number."""
    if isinstance(kind, d.BinaryType | d.VarBinaryType):
        return bytes
    if isinstance(kind, _NESTED):
        return json_writer(kind, JsonForm())
    if isinstance(kind, d.BooleanType):
        return lambda value: "true" if value else "false"
    return cell_value(kind, scientific=False)


def reader_of(kind: d.DataType) -> Callable[[bytes], Any]:
    """What makes a value of the content of a field."""
    if isinstance(kind, d.BinaryType | d.VarBinaryType):
        return bytes
    if isinstance(kind, _NESTED):
        nested = json_reader(kind, JsonForm())
        return lambda cell: nested(json.loads(cell))
    scalar = cell_reader(kind)
    return lambda cell: scalar(cell.decode())


class RedisLookup:
    """Asks for the hashes of some keys, many keys at once.

    Args:
        url: of the server.
        hashes: what they look like.
        keys: the columns of the question: those of the primary key, in any order.
        rules: what is remembered; None for nothing.
    """

    def __init__(
        self, url: str, hashes: Hashes, keys: tuple[str, ...], rules: CacheRules | None
    ) -> None:
        if set(keys) != set(hashes.key):
            raise ConfigurationError(
                f"a table of Redis can be joined by its primary key ({', '.join(hashes.key)}), "
                f"not by ({', '.join(keys)})",
                fix="write ON with all columns of the primary key, and others into WHERE",
            )
        self._url = url
        self._hashes = hashes
        self._order = [keys.index(name) for name in hashes.key]
        self._rules = rules
        # rebuilt on open
        self._client: RedisClient | None = None
        self._cache: LookupCache | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_client": None, "_cache": None}

    def open(self) -> None:
        """Connects with the first question."""
        self._client = RedisClient(self._url, Retries())
        self._cache = None if self._rules is None else LookupCache(self._rules)

    def close(self) -> None:
        """Connections are shared, and stay."""

    def lookup(self, keys: list[Line]) -> list[list[Line]]:
        """For each key its line, if there is one."""
        found: dict[Line, list[Line]] = {}
        for key in keys:
            known = None if self._cache is None else self._cache.get(key)
            if known is not None:
                found[key] = known
        wanted = list(dict.fromkeys(key for key in keys if key not in found and None not in key))
        for key, answer in zip(wanted, self._ask(wanted), strict=True):
            found[key] = [self._hashes.line(answer)] if answer else []
            if self._cache is not None:
                self._cache.put(key, found[key])
        return [found.get(key, []) for key in keys]

    def _ask(self, keys: list[Line]) -> list[dict[bytes, bytes]]:
        if not keys:
            return []
        assert self._client is not None, "open comes first"
        names = [self._hashes.name(tuple(key[place] for place in self._order)) for key in keys]

        def ask(connection: Any) -> list[dict[bytes, bytes]]:
            pipeline = connection.pipeline(transaction=False)
            for name in names:
                pipeline.hgetall(name)
            answers: list[dict[bytes, bytes]] = pipeline.execute()
            return answers

        return self._client.run("look up keys", ask)
