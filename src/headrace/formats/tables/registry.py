"""Which formats tables can have, by the name in ``'format' = ...``.

In: the options of a table.  Out: a `TableFormat` with its own options, checked.
Next: spi/table_format.py says what a format is
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.spi.registry import Registry
from headrace.spi.table_format import FormatOptions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.spi.table_format import TableFormat

__all__ = ["TABLE_FORMATS", "format_of"]

_HERE = "headrace.formats.tables"
TABLE_FORMATS: Registry[TableFormat] = Registry(
    "table format",
    "headrace.table_formats",
    {
        "avro": f"{_HERE}.avro:AvroTables",
        "avro-confluent": f"{_HERE}.avro_confluent:AvroConfluentTables",
        "canal-json": f"{_HERE}.changelog_json:CanalTables",
        "csv": f"{_HERE}.csv:CsvTables",
        "debezium-json": f"{_HERE}.changelog_json:DebeziumTables",
        "json": f"{_HERE}.json:JsonTables",
        "maxwell-json": f"{_HERE}.changelog_json:MaxwellTables",
        "ogg-json": f"{_HERE}.changelog_json:OggTables",
        "parquet": f"{_HERE}.parquet:ParquetTables",
        "raw": f"{_HERE}.raw:RawTables",
    },
)


def format_of(
    table: str, name: str, given: Mapping[str, str], prefix: str = ""
) -> tuple[TableFormat, FormatOptions]:
    """A format of a table, and its options.

    Args:
        table: its name, for messages.
        name: of the format.
        given: the options of the table.
        prefix: in front of the format's options, such as ``value.``.

    Raises:
        ConfigurationError: there is no such format, or it has no such option.
    """
    found = TABLE_FORMATS.new(name)
    begin = f"{prefix}{name}."
    own = {key.removeprefix(begin): v for key, v in given.items() if key.startswith(begin)}
    return found, found.checked(FormatOptions(table, begin, own))
