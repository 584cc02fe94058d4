"""Tables of PostgreSQL as lines: read as a whole, or asked for some keys.

In: a table, its columns and their types.  Out: a source that ends, and what lookup joins ask.
Next: connectors/postgres/client.py (connections), spi/lookup_cache.py
"""

from __future__ import annotations

import decimal
import json
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

from headrace.common import data_types as d
from headrace.connectors.postgres.client import PostgresClient
from headrace.connectors.postgres.table import quoted_name, quoted_names
from headrace.data.line_values import to_line_value
from headrace.data.row_data import RowDataCodec
from headrace.io.server_calls import Retries
from headrace.spi.lookup_cache import CacheRules, LookupCache
from headrace.spi.python_source import PythonSource
from headrace.spi.source import Boundedness

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pyarrow as pa

    from headrace.common.row_data_type import RowDataTypeInfo
    from headrace.common.typeinfo import TypeInformation

    Line = tuple[Any, ...]
    Convert = Callable[[Any], Any]

_CHUNK = 10_000
_KEYS_AT_ONCE = 1_000


@dataclass(frozen=True)
class DatabaseTable:
    """A table of a database.

    Attributes:
        conninfo: the database.
        table: its name as SQL.
        lines: the columns, named as in the database.
        retries: the patience with a database that is away.
    """

    conninfo: str
    table: str
    lines: RowDataTypeInfo
    retries: Retries = field(default_factory=lambda: Retries(attempts=4))

    def client(self) -> PostgresClient:
        """A client, of this process."""
        return PostgresClient(self.conninfo, f"table {self.table}", self.retries)

    def select(self, where: str = "") -> str:
        """The statement that asks for lines."""
        names = quoted_names(tuple(self.lines.get_field_names()))
        return f"SELECT {names} FROM {self.table}{f' WHERE {where}' if where else ''}"

    def converts(self) -> list[Convert]:
        """What makes values of lines of the database's values."""
        return [from_database(kind) for kind in self.lines.get_data_types()]


@dataclass(frozen=True, slots=True)
class ScanParts:
    """How a scan is cut: ``scan.partition.*``.

    Attributes:
        column: a column of numbers.
        count: how many parts there are.
        lower: the smallest number that is read.
        upper: the largest number that is read.
    """

    column: str
    count: int
    lower: int
    upper: int

    def bounds(self, part: int) -> tuple[int, int]:
        """The smallest and the largest number of a part."""
        total = self.upper - self.lower + 1
        low = self.lower + total * part // self.count
        return low, self.lower + total * (part + 1) // self.count - 1


class DatabaseSource(PythonSource):
    """Reads a table once; every part is one split, read as a whole.

    Args:
        table: what is read.
        parts: how it is cut; None to read it by one reader.
        fetch_size: how many lines come at once; 0 for a default.
    """

    def __init__(self, table: DatabaseTable, parts: ScanParts | None, fetch_size: int) -> None:
        self._table = table
        self._parts = parts
        self._fetch_size = fetch_size or _CHUNK

    def splits(self) -> list[str]:
        """The parts."""
        return [str(part) for part in range(1 if self._parts is None else self._parts.count)]

    def has_splits(self) -> bool:
        """No: parts are no streams of their own."""
        return False

    def latest_offset(self, split: str, start: int) -> int:
        """A part is read or not: nobody knows its length before."""
        return 1

    def read(self, split: str, start: int, end: int) -> Iterator[Line]:
        raise AssertionError("read by columns")

    def read_columns(self, split: str, start: int, end: int) -> Iterator[pa.RecordBatch]:
        yield from self._table.client().run("read it", lambda c: self._batches(c, int(split)))

    def _batches(self, connection: Any, part: int) -> list[pa.RecordBatch]:
        """A part as a whole, so that it can be read again from its beginning."""
        codec, converts = RowDataCodec(self._table.lines), self._table.converts()
        where, bounds = "", ()
        if self._parts is not None:
            where = f"{quoted_name(self._parts.column)} BETWEEN %s AND %s"
            bounds = self._parts.bounds(part)  # type: ignore[assignment]
        with connection.cursor("headrace_scan") as cursor:
            cursor.itersize = self._fetch_size
            cursor.execute(self._table.select(where), bounds or None)
            lines = (_line(cells, converts) for cells in cursor)
            return [codec.encode(some) for some in iter(lambda: list(islice(lines, _CHUNK)), [])]

    def produced_type(self) -> TypeInformation:
        return self._table.lines

    def boundedness(self) -> Boundedness:
        return Boundedness.BOUNDED

    def describe(self) -> str:
        return f"DatabaseSource({self._table.table})"


def _line(cells: tuple[Any, ...], converts: list[Convert]) -> Line:
    return tuple(
        None if cell is None else convert(cell)
        for cell, convert in zip(cells, converts, strict=True)
    )


class DatabaseLookup:
    """Asks a table for the lines of some keys, many keys at once.

    Args:
        table: what is asked.
        keys: the columns that must be equal.
        rules: what is remembered; None for nothing.
    """

    def __init__(
        self, table: DatabaseTable, keys: tuple[str, ...], rules: CacheRules | None
    ) -> None:
        self._table = table
        self._keys = keys
        self._rules = rules
        # rebuilt on open
        self._cache: LookupCache | None = None
        self._client: PostgresClient | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_cache": None, "_client": None}

    def open(self) -> None:
        """Connects with the first question."""
        self._client = self._table.client()
        self._cache = None if self._rules is None else LookupCache(self._rules)

    def close(self) -> None:
        """Ends the connections of this process."""
        if self._client is not None:
            self._client.close_idle()

    def lookup(self, keys: list[Line]) -> list[list[Line]]:
        """For each key its lines; a key with NULL has none."""
        found: dict[Line, list[Line]] = {}
        cache = self._cache
        for key in keys:
            known = cache.get(key) if cache is not None else None
            if known is not None:
                found[key] = known
        wanted = list(dict.fromkeys(key for key in keys if key not in found and None not in key))
        for first in range(0, len(wanted), _KEYS_AT_ONCE):
            asked = wanted[first : first + _KEYS_AT_ONCE]
            answers = self._ask(asked)
            for key in asked:
                lines = answers.get(key, [])
                found[key] = lines
                if cache is not None:
                    cache.put(key, lines)
        return [found.get(key, []) for key in keys]

    def _ask(self, keys: list[Line]) -> dict[Line, list[Line]]:
        assert self._client is not None, "open comes first"
        return self._client.run("look up keys", lambda c: self._answers(c, keys))

    def _answers(self, connection: Any, keys: list[Line]) -> dict[Line, list[Line]]:
        names = self._table.lines.get_field_names()
        places = [names.index(name) for name in self._keys]
        converts = self._table.converts()
        mark = f"({', '.join(['%s'] * len(self._keys))})"
        where = f"({quoted_names(self._keys)}) IN ({', '.join([mark] * len(keys))})"
        cells = [cell for key in keys for cell in key]
        answers: dict[Line, list[Line]] = {}
        for row in connection.execute(self._table.select(where), cells):
            line = _line(row, converts)
            answers.setdefault(tuple(line[place] for place in places), []).append(line)
        return answers


# --- values --------------------------------------------------------------------------------------


def from_database(data_type: d.DataType) -> Convert:
    """What makes a value of a line of a value of the database that is not NULL."""
    convert = _FORMS.get(type(data_type))
    if convert is not None:
        return convert
    return to_line_value(data_type) or _same


def _same(value: Any) -> Any:
    return value


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _number(make: Convert) -> Convert:
    return lambda value: make(value) if isinstance(value, decimal.Decimal | int | float) else value


_FORMS: dict[type[d.DataType], Convert] = {
    d.CharType: _text,
    d.VarCharType: _text,
    d.BinaryType: bytes,
    d.VarBinaryType: bytes,
    d.TinyIntType: _number(int),
    d.SmallIntType: _number(int),
    d.IntType: _number(int),
    d.BigIntType: _number(int),
    d.FloatType: _number(float),
    d.DoubleType: _number(float),
}
