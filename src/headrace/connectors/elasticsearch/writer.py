"""Writes the records of one subtask and batch, in bulk requests.

In: records.  Out: changed documents; nothing is left for the driver to do.
Next: bulk.py (one request), client.py

Requests are made while records come, so a batch is visible piece by piece, and one that is repeated
is written again: documents with an id are the same afterwards.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from headrace.connectors.elasticsearch.actions import BulkAction, encode_action, preview
from headrace.connectors.elasticsearch.bulk import BulkRequest, RejectedDocument
from headrace.connectors.elasticsearch.client import ElasticClient, ElasticServers
from headrace.connectors.elasticsearch.emitter import ElasticsearchEmitter, listed
from headrace.errors import ConnectorError
from headrace.formats.record_fields import declared_names
from headrace.io.server_calls import Retries
from headrace.spi.sink import SinkWriter

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.spi.sink import WriterContext

    Handler = Callable[[RejectedDocument], Any]

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ElasticTarget:
    """Where and how an Elasticsearch sink writes; travels to the workers.

    Attributes:
        servers: where the servers are.
        emitter: from records to actions.
        max_actions: how many actions a request has at most; None for any number.
        max_bytes: how large a request is at most, unless one action is larger; None for any size.
        interval_s: how long an action waits at most before the next record sends it; None for
            until the batch ends.
        retries: the patience with servers that are away or busy.
        handler: what to do with documents that are refused; None fails the batch.
        default_type: the type of documents that say none, for Elasticsearch 6.
    """

    servers: ElasticServers
    emitter: ElasticsearchEmitter
    max_actions: int | None = 1000
    max_bytes: int | None = None
    interval_s: float | None = None
    retries: Retries = field(default_factory=lambda: Retries(attempts=1))
    handler: Handler | None = None
    default_type: str | None = None

    def client(self) -> ElasticClient:
        """A way to the servers."""
        return ElasticClient(self.servers, self.retries)


class ElasticsearchWriter(SinkWriter):
    """The writer of one subtask and batch.

    Args:
        target: where to.
        context: the writer's place in the job.
    """

    def __init__(self, target: ElasticTarget, context: WriterContext) -> None:
        self._target = target
        self._client = target.client()
        self._emit = target.emitter.opened(declared_names(context.type_info), self._client.where)
        self._waiting: list[BulkAction] = []
        self._waiting_bytes = 0
        self._waiting_since = 0.0

    def write(self, values: list[Any], timestamps: list[int] | None) -> None:
        for value in values:
            for action in self._emit(value):
                self._add(self._encoded(action))
        if self._waits_too_long():
            self._flush()

    def prepare_commit(self) -> list[Any]:
        self._flush()
        return []

    def abort(self) -> None:
        self._waiting, self._waiting_bytes = [], 0

    def _encoded(self, action: Any) -> BulkAction:
        default_type = self._target.default_type
        if default_type is not None and isinstance(action, dict):
            action = {"_type": default_type, **action}
        return encode_action(action, self._client.where)

    def _add(self, action: BulkAction) -> None:
        most = self._target.max_bytes
        if most is not None and self._waiting and self._waiting_bytes + len(action.lines) > most:
            self._flush()
        if not self._waiting:
            self._waiting_since = time.monotonic()
        self._waiting.append(action)
        self._waiting_bytes += len(action.lines)
        if len(self._waiting) == self._target.max_actions:
            self._flush()

    def _waits_too_long(self) -> bool:
        interval_s = self._target.interval_s
        return interval_s is not None and time.monotonic() - self._waiting_since >= interval_s

    def _flush(self) -> None:
        actions, self._waiting, self._waiting_bytes = self._waiting, [], 0
        if not actions:
            return
        refused = self._send(actions)
        if not refused:
            return
        handler = self._target.handler
        if handler is None:
            raise self._failure(refused, len(actions))
        _log.warning(
            "%s refused %d of %d documents; the first: %s",
            *(self._client.where, len(refused), len(actions), _words(refused[0])),
        )
        instead = [a for document in refused for a in listed(handler(document))]
        if instead:
            again = self._send([self._encoded(action) for action in instead])
            if again:
                raise self._failure(again, len(instead))

    def _send(self, actions: list[BulkAction]) -> list[RejectedDocument]:
        request = BulkRequest(actions)
        self._client.run(f"write {len(actions)} documents", request.send)
        return request.refused

    def _failure(self, refused: list[RejectedDocument], sent: int) -> ConnectorError:
        more = f" ({len(refused)} of {sent} documents were refused)" if len(refused) > 1 else ""
        return ConnectorError(
            f"{_words(refused[0])}{more}", where=self._client.where, fix=_fix(refused[0])
        )


def _words(refused: RejectedDocument) -> str:
    name = "a document without an id" if refused.id is None else f"document {refused.id!r}"
    shown = "" if refused.document is None else f"; the document is {preview(refused.document)}"
    return (
        f"index {refused.index!r} refused to {refused.op_type} {name} with status "
        f"{refused.status}: {refused.error_type}: {refused.reason}{shown}"
    )


def _fix(refused: RejectedDocument) -> str:
    if refused.status == 409:
        why = "another writer changes the document too: use retry_on_conflict for updates"
    elif refused.status == 404:
        why = "create the index first, or delete and update only what is there"
    elif refused.status == 403:
        why = "give the user the right to write to the index, or free disk space"
    else:
        why = "make the document fit the index's mapping"
    return (
        f"{why}; or say what becomes of such documents with set_rejected_document_handler. The "
        "batch is written again when the job starts again"
    )
