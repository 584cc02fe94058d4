"""One bulk request, asked again until every action has its answer.

In: encoded actions.  Out: what the server refused, action by action.  Next: client.py (asking),
writer.py (when requests are made, and what becomes of refusals)

    send ──▶ 429 for some ──▶ raises CallFailed; only those are pending ──▶ pause ──▶ send
         ├─▶ no answer      ──▶ raises CallFailed; all are pending       ──▶ pause ──▶ send
         └─▶ errors for some ─▶ `refused`, in the order of the actions
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headrace.connectors.elasticsearch.client import CallFailed

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.connectors.elasticsearch.actions import BulkAction

    Ask = Callable[[str, str, list[bytes]], dict[str, Any]]

__all__ = ["BulkRequest", "RejectedDocument"]

# The rest of an answer (shards, sequence numbers) is longer than many a document.
_PATH = "/_bulk?filter_path=errors,items.*.status,items.*.error"
_BUSY, _CONFLICT, _NOT_FOUND = 429, 409, 404


@dataclass(frozen=True, slots=True)
class RejectedDocument:
    """A document that the server did not take, for the handler of rejected documents.

    Attributes:
        op_type: ``index``, ``create``, ``update`` or ``delete``.
        index: where it was to go.
        id: its id; None when the server would have made one.
        status: of HTTP: 400 for a document that does not fit its mapping, 409 for a conflict.
        error_type: the server's name for it, such as ``mapper_parsing_exception``.
        reason: the server's words.
        document: what was to be stored; None for a delete.
    """

    op_type: str
    index: str
    id: str | None
    status: int
    error_type: str
    reason: str
    document: Any


class BulkRequest:
    """Actions that are sent together.

    Args:
        actions: in the order in which they take effect.
    """

    def __init__(self, actions: list[BulkAction]) -> None:
        self._pending = actions
        self.refused: list[RejectedDocument] = []

    def send(self, ask: Ask) -> None:
        """Sends what is pending; called again after a `CallFailed`, if there is patience left."""
        answer = ask("POST", _PATH, [action.lines for action in self._pending])
        if answer.get("errors") is False:
            return
        items = answer.get("items")
        if not isinstance(items, list) or len(items) != len(self._pending):
            raise CallFailed(f"the answer is not one of the bulk API: {str(answer)[:200]}")
        self._pending, busy = self._sort_out([_result(item) for item in items])
        if self._pending:
            raise CallFailed(
                f"{len(self._pending)} of {len(items)} actions were turned away: {busy}",
                status=_BUSY,
            )

    def _sort_out(self, results: list[dict[str, Any]]) -> tuple[list[BulkAction], str]:
        """Notes what is refused; gives what has to be sent again, and why."""
        pending: list[BulkAction] = []
        documents: set[tuple[str, str]] = set()
        busy = ""
        for action, result in zip(self._pending, results, strict=True):
            document = None if action.id is None else (action.index, action.id)
            if result["status"] == _BUSY:
                pending.append(action)
                busy = busy or _said(result)[1]
                if document is not None:
                    documents.add(document)
            elif document in documents:
                # An earlier action of the same document comes again, so this must come behind it.
                pending.append(action)
            elif result["status"] >= 300 and not _is_done(action, result):
                error_type, reason = _said(result)
                place = (action.op_type, action.index, action.id, result["status"])
                self.refused.append(RejectedDocument(*place, error_type, reason, action.document()))
        return pending, busy


def _result(item: Any) -> dict[str, Any]:
    """The answer to one action: it stands under the name of its kind."""
    result = next(iter(item.values()), None) if isinstance(item, dict) else None
    if not isinstance(result, dict) or not isinstance(result.get("status"), int):
        raise CallFailed(f"the answer to an action has no status: {str(item)[:200]}")
    return result


def _is_done(action: BulkAction, result: dict[str, Any]) -> bool:
    """Whether an answer that sounds like a failure says that there is nothing left to do."""
    if action.op_type == "delete" and result["status"] == _NOT_FOUND:
        return "error" not in result  # the document is not there; else it is the index
    return action.conflict_is_done and result["status"] == _CONFLICT


def _said(result: dict[str, Any]) -> tuple[str, str]:
    """The server's name for an error, and its words with the cause's."""
    error = result.get("error")
    if not isinstance(error, dict):
        return "error", str(error)
    reason = str(error.get("reason"))
    cause = error.get("caused_by")
    if isinstance(cause, dict) and cause.get("reason"):
        reason = f"{reason}: {cause['reason']}"
    return str(error.get("type")), reason
