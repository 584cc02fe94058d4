"""CSV files with an escape character, which Spark's reader knows inside of quotes only.

In: a stream of whole files.  Out: the same records as lines without escapes, which Spark's
``from_csv`` reads.  Next: hosts/spark/sources/file_reader.py
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pyarrow as pa

from headrace.formats.csv_escaped import escaped_records

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from headrace.formats.csv_reader import CsvSchema

LINES = "line string, file string"
_LINES_ARROW = pa.schema([("line", pa.string()), ("file", pa.string())])
_AT_ONCE = 10_000


def without_escapes(
    schema: CsvSchema,
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The function that mapInArrow runs over columns of (content, path)."""

    def convert(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for content, path in zip(*(column.to_pylist() for column in batch), strict=True):
                lines = list(plain_lines(content, schema, path))
                for start in range(0, len(lines), _AT_ONCE):
                    part = lines[start : start + _AT_ONCE]
                    yield pa.RecordBatch.from_arrays(
                        [pa.array(part, pa.string()), pa.array([path] * len(part), pa.string())],
                        schema=_LINES_ARROW,
                    )

    return convert


def plain_lines(content: str, schema: CsvSchema, path: str) -> Iterator[str]:
    """The records of a file, each as a line in which only quotes take meaning away."""
    lines = io.StringIO(content, newline="")
    return (line for _, line in escaped_records(lines, schema, path))
