"""Columns that a program reads and its files do not have: NULL in every row, as in Flink.

    declared: item, pricee            the newest file: item, price
        ──▶ "column 'pricee' is NULL in every row: ... has no such column; did you mean price?"

Old files may lack what was added later, so only the newest one is looked at.  JSON has no columns
to look up (`json.fail-on-missing-field` acts there), and CSV's have no names.
In: declared names, the files of a source.  Out: lines for the log (control/executor.py).
Next: ../../formats/parquet_columns.py has the rules by which names fit
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from headrace.connectors.files.content import opened, reading
from headrace.errors import ConnectorError
from headrace.formats.avro_schema import fastavro
from headrace.formats.parquet_columns import name_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from headrace.connectors.files.listing import FoundFile

__all__ = ["Names", "absent_columns", "names_in_avro", "names_in_parquet", "names_of"]

# names of columns, each with those of the fields in it
Names = dict[str, Any]


def absent_columns(
    declared: Names, files: Iterable[FoundFile], names_in_file: Callable[[str], Names]
) -> list[str]:
    """A line for each declared column that the newest file does not have."""
    try:
        newest = max(files, key=lambda file: (file.modified_ns, file.path), default=None)
        present = declared if newest is None else names_in_file(newest.path)
    except (ConnectorError, ValueError):
        return []  # the job will tell, or has read the file already
    return [
        f"column {'.'.join(path)!r} is NULL in every row: the newest file, {newest.path}, has no "
        f"such column; {_hint(path[-1], list(there))}"
        for path, there in _absent(declared, present)
        if newest is not None
    ]


def _hint(name: str, there: list[str]) -> str:
    close = difflib.get_close_matches(name, there, n=2)
    return f"did you mean {' or '.join(close)}?" if close else f"it has: {', '.join(there[:20])}"


def _absent(declared: Names, present: Names) -> Iterator[tuple[tuple[str, ...], Names]]:
    for name, fields in declared.items():
        stored = name_in(present, name)
        if stored is None:
            yield (name,), present
        elif present[stored]:
            for path, there in _absent(fields, present[stored]):
                yield (name, *path), there


def names_in_parquet(path: str) -> Names:
    """The columns of a Parquet file.

    Raises:
        ConnectorError: it cannot be read.
    """
    with reading(path), opened(path) as file:
        return names_of(pq.read_schema(file))


def names_of(columns: pa.Schema | pa.StructType) -> Names:
    """The columns of a schema."""
    return {field.name: _names_within(field.type) for field in columns}


def _names_within(kind: pa.DataType) -> Names:
    if pa.types.is_struct(kind):
        return names_of(kind)
    lists = pa.types.is_list(kind) or pa.types.is_large_list(kind)
    return _names_within(kind.value_type) if lists else {}


def names_in_avro(path: str) -> Names:
    """The columns of an Avro file.

    Raises:
        ConnectorError: it cannot be read.
    """
    with reading(path), opened(path) as file:
        return _names_of_avro(fastavro().reader(file).writer_schema)


def _names_of_avro(schema: Any) -> Names:
    match schema:
        case {"type": "record", "fields": fields}:
            return {field["name"]: _names_of_avro(field["type"]) for field in fields}
        case {"type": "array", "items": items}:
            return _names_of_avro(items)
        case [*options]:  # a type or null
            return {name: n for each in options for name, n in _names_of_avro(each).items()}
        case _:
            return {}
