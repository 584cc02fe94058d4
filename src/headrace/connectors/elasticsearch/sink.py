"""Elasticsearch and OpenSearch as a sink: at least once, and without a trace by document id.

In: records.  Out: documents.  Made by builder.py.  Next: writer.py (all that is written)
"""

from __future__ import annotations

from typing import Any

from headrace.connectors.elasticsearch.client import CallFailed
from headrace.connectors.elasticsearch.writer import ElasticsearchWriter, ElasticTarget
from headrace.spi.sink import Committer, CommitterContext, Sink, WriterContext

__all__ = ["ElasticsearchSink"]


class ElasticsearchSink(Sink):
    """Writes documents to Elasticsearch or OpenSearch; make one with `Elasticsearch7SinkBuilder`.

    Workers write with bulk requests while a batch runs. No record is lost. A batch that fails is
    written again: documents with an id are then what they would have been, documents without one
    may be there twice. So exactly once is not promised.

    Needs ``pip install 'headrace[elasticsearch]'``.
    """

    def __init__(self, target: ElasticTarget) -> None:
        self._target = target

    def create_writer(self, context: WriterContext) -> ElasticsearchWriter:
        """A writer that sends the documents of one subtask and batch."""
        return ElasticsearchWriter(self._target, context)

    def create_committer(self, context: CommitterContext) -> ElasticsearchCommitter:
        """The committer; finds out whether the servers are there before the job runs."""
        return ElasticsearchCommitter(self._target)

    def __repr__(self) -> str:
        return f"ElasticsearchSink({self._target.servers.describe()!r}, {self._target.emitter!r})"


class ElasticsearchCommitter(Committer):
    """Finds that everything is written: a batch ends only when its writers have their answers.

    Args:
        target: where the writers write.
    """

    def __init__(self, target: ElasticTarget) -> None:
        self._client = target.client()
        self._client.run("find Elasticsearch or OpenSearch", _check_server)

    def commit(self, batch_id: int, committables: list[Any]) -> None:
        """Nothing is left to do."""

    def close(self) -> None:
        """Ends the connections of the driver."""
        self._client.close()


def _check_server(ask: Any) -> None:
    """Refuses what is another kind of server."""
    try:
        answer = ask("GET", "/")
    except CallFailed as error:
        if error.status == 403:  # a user who may write, but not ask for the version
            return
        raise
    version = answer.get("version")
    if not isinstance(version, dict) or "number" not in version:
        raise CallFailed(f"the answer has no version: {str(answer)[:200]}", status=200)
