"""Under PyFlink's path; written in connectors/elasticsearch/builder.py"""

from __future__ import annotations

from headrace.connectors.elasticsearch.builder import (
    Elasticsearch6SinkBuilder,
    Elasticsearch7SinkBuilder,
    FlushBackoffType,
)
from headrace.connectors.elasticsearch.bulk import RejectedDocument
from headrace.connectors.elasticsearch.emitter import ElasticsearchEmitter
from headrace.connectors.elasticsearch.sink import ElasticsearchSink

__all__ = [
    "Elasticsearch6SinkBuilder",
    "Elasticsearch7SinkBuilder",
    "ElasticsearchEmitter",
    "ElasticsearchSink",
    "FlushBackoffType",
    "RejectedDocument",
]
