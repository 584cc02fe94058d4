"""The name by which this connector is found (pyproject.toml).  Next: sink.py"""

from __future__ import annotations

from headrace.connectors.elasticsearch.sink import ElasticsearchSink
from headrace.spi.connector import Connector

CONNECTOR = Connector(
    "Documents of Elasticsearch or OpenSearch indices", sinks=(ElasticsearchSink,)
)
