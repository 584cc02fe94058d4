"""Which connectors tables can have, by the name in ``'connector' = ...``.

In: the options of a table.  Out: a `TableConnector` (spi/table_connector.py), ours or that of an
installed package.  Next: rel/connected_tables.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.errors import ConfigurationError
from headrace.spi.registry import Registry

if TYPE_CHECKING:
    from headrace.spi.table_connector import TableConnector, TableDefinition

__all__ = ["TABLE_CONNECTORS", "connector_of"]

TABLE_CONNECTORS: Registry[TableConnector] = Registry(
    "table connector",
    "headrace.table_connectors",
    {
        "blackhole": "headrace.connectors.discarding:BlackHoleTables",
        "datagen": "headrace.connectors.generator.table:GeneratedTables",
        "filesystem": "headrace.connectors.files.table:FileTables",
        "jdbc": "headrace.connectors.jdbc.table:JdbcTables",
        "kafka": "headrace.connectors.kafka.table:KafkaTables",
        "print": "headrace.connectors.driver.table:PrintedTables",
        "redis": "headrace.connectors.redis.table:RedisTables",
        "spark": "headrace.connectors.spark_tables.table:SparkTables",
        "upsert-kafka": "headrace.connectors.kafka.table:UpsertKafkaTables",
    },
)


def connector_of(definition: TableDefinition) -> TableConnector:
    """The connector of a table.

    Raises:
        ConfigurationError: the table names none, or one that is not there.
    """
    name = definition.options.get("connector")
    if name is None:
        raise ConfigurationError(
            f"table {definition.name} has no connector, so it can be neither read nor written",
            where=f"table {definition.name}",
            fix=f"add 'connector' = '...' to WITH: {', '.join(TABLE_CONNECTORS.names())}",
        )
    return TABLE_CONNECTORS.new(name)
