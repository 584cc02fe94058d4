"""CSV with an escape character: records as Python's own reader sees them.

In: lines, with their ends.  Out: cells, or lines in which only quotes take meaning away.
Next: connectors/files/readers.py, hosts/spark/sources/csv_escapes.py
"""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

from headrace.errors import ConnectorError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from headrace.formats.csv_reader import CsvSchema

__all__ = ["escaped_records", "wrong_header"]


def escaped_records(
    lines: Iterable[str], schema: CsvSchema, path: str
) -> Iterator[tuple[list[str], str]]:
    """(cells, line without escapes) of every record behind the header.

    Args:
        lines: of one file, from its beginning.
        schema: its syntax.
        path: for errors.

    Raises:
        ConnectorError: headers are strict, and this one is another.
    """
    if schema.allow_comments:
        lines = (line for line in lines if not line.startswith("#"))
    records = csv.reader(
        lines,
        delimiter=schema.column_separator,
        quotechar=schema.quote_char,
        escapechar=schema.escape_char,
        quoting=csv.QUOTE_NONE if schema.quote_char is None else csv.QUOTE_MINIMAL,
    )
    if schema.use_header or schema.skip_first_data_row:
        header = next(records, None)
        if schema.use_header and schema.strict_headers and header not in (None, [*schema.names]):
            raise wrong_header(header, schema, path)
    buffer = io.StringIO()
    # Any quote will do between here and Spark's from_csv.
    writer = csv.writer(buffer, delimiter=schema.column_separator, lineterminator="")
    for cells in records:
        if cells:
            writer.writerow(cells)
            yield cells, buffer.getvalue()
            buffer.seek(0)
            buffer.truncate()


def wrong_header(header: object, schema: CsvSchema, path: str) -> ConnectorError:
    """What a user is told whose file has other columns."""
    return ConnectorError(
        f"the header is {header}, but the columns are {list(schema.names)}",
        where=path,
        fix="correct the schema, or call set_strict_headers(False)",
    )
