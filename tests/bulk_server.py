"""A bulk API in memory, with the faults that real servers have on bad days.

In: requests of the Elasticsearch sink.  Out: answers as OpenSearch and Elasticsearch give them
(test_elasticsearch_sink.py runs the same tests on all three).  Faults wait in `faults`: each meets
one bulk request.
"""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True)
class Fault:
    """What happens to one bulk request.

    Attributes:
        status: answered instead of doing anything; 0 ends the connection.
        applied: whether the request is done before the connection ends.
        busy_items: the positions whose actions are turned away with 429; the others are done.
        text: the body of the answer, which then is no JSON.
    """

    status: int = 200
    applied: bool = False
    busy_items: tuple[int, ...] = ()
    text: str | None = None


BUSY = Fault(429)
LOST = Fault(0)
ANSWER_LOST = Fault(0, applied=True)


@dataclass
class Request:
    """One bulk request as it came."""

    path: str
    headers: dict[str, str]
    actions: list[tuple[str, dict[str, Any], Any]]
    size: int


@dataclass
class BulkServer:
    """Documents by index and id; `running` makes it listen."""

    prefix: str = ""
    authorization: str | None = None
    banner: dict[str, Any] = field(default_factory=lambda: {"version": {"number": "7.0.0"}})
    stored: dict[str, dict[str, Any]] = field(default_factory=dict)
    versions: dict[tuple[str, str], int] = field(default_factory=dict)
    requests: list[Request] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    made_ids: int = 0
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def documents(self, index: str) -> dict[str, Any]:
        return dict(self.stored.get(index, {}))

    def __enter__(self) -> BulkServer:
        handler = type("Handler", (_Handler,), {"server_state": self})
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._http.daemon_threads = True
        self.port = self._http.server_address[1]
        threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self._http.shutdown()
        self._http.server_close()

    def apply(self, op_type: str, meta: dict[str, Any], body: Any) -> dict[str, Any]:
        """Does one action; gives the answer to it."""
        index = self.stored.setdefault(meta["_index"], {})
        name = meta.get("_id")
        if name is None:
            self.made_ids += 1
            name = f"made-{self.made_ids}"
        refusal = self._refusal(op_type, meta, name, body)
        if refusal is not None:
            return {"_index": meta["_index"], "_id": name, **refusal}
        there = name in index
        if op_type == "delete":
            index.pop(name, None)
            return {"status": 200 if there else 404, "result": "deleted" if there else "not_found"}
        if op_type == "update":
            body = {**index.get(name, {}), **body["doc"]}
        index[name] = body
        if "version" in meta:
            self.versions[meta["_index"], name] = meta["version"]
        return {"status": 200 if there else 201, "_shards": {"total": 2}, "_seq_no": 1}

    def _refusal(
        self, op_type: str, meta: dict[str, Any], name: str, body: Any
    ) -> dict[str, Any] | None:
        index = self.stored[meta["_index"]]
        stale = self.versions.get((meta["_index"], name), -1) >= meta.get("version", 1 << 60)
        if stale or (op_type == "create" and name in index):
            return _error(409, "version_conflict_engine_exception", "document already exists")
        if op_type == "update" and name not in index and not body.get("doc_as_upsert"):
            return _error(404, "document_missing_exception", f"[{name}]: document missing")
        content = body.get("doc", {}) if op_type == "update" else body or {}
        for key, value in content.items():
            first = next((d[key] for d in index.values() if key in d), None)
            if isinstance(first, int) and isinstance(value, str) and not value.isdigit():
                cause = {"reason": f'For input string: "{value}"'}
                told = f"failed to parse field [{key}] of type [long]"
                return _error(400, "mapper_parsing_exception", told, caused_by=cause)
        return None


def _error(status: int, kind: str, reason: str, **more: Any) -> dict[str, Any]:
    return {"status": status, "error": {"type": kind, "reason": reason, **more}}


def _actions(lines: Iterable[bytes]) -> list[tuple[str, dict[str, Any], Any]]:
    found = []
    left = iter(lines)
    for line in left:
        ((op_type, meta),) = json.loads(line).items()
        found.append((op_type, meta, None if op_type == "delete" else json.loads(next(left))))
    return found


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_state: BulkServer

    def log_message(self, *arguments: Any) -> None:
        """Nothing: pytest shows what matters."""

    def do_GET(self) -> None:
        if self._may_come() and self._path() == "/":
            self._answer(200, self.server_state.banner)

    def do_POST(self) -> None:
        server = self.server_state
        data = self.rfile.read(int(self.headers["content-length"]))
        if not self._may_come():
            return
        if self._path() != "/_bulk" or self.headers["content-type"] != "application/x-ndjson":
            self._answer(406, {"error": "no such path or content type"})
            return
        assert data.endswith(b"\n")
        actions = _actions(data.splitlines())
        headers = {name.lower(): value for name, value in self.headers.items()}
        server.requests.append(Request(self.path, headers, actions, len(data)))
        self._meet(server.faults.pop(0) if server.faults else Fault(), actions)

    def _meet(self, fault: Fault, actions: list[tuple[str, dict[str, Any], Any]]) -> None:
        if fault.text is not None:
            self._answer(fault.status, fault.text)
        elif fault.status == 200 or fault.applied:
            answer = self._bulk_answer(actions, fault)
            if fault.status == 200:
                self._answer(200, answer)
        elif fault.status:
            self._answer(fault.status, _error(fault.status, "busy_exception", "come back later"))
        if not fault.status:
            self.close_connection = True

    def _bulk_answer(
        self, actions: list[tuple[str, dict[str, Any], Any]], fault: Fault
    ) -> dict[str, Any]:
        items = []
        for position, (op_type, meta, body) in enumerate(actions):
            if position in fault.busy_items:
                result = _error(429, "rejected_execution_exception", "the queue is full")
            else:
                result = self.server_state.apply(op_type, meta, body)
            items.append({op_type: result})
        errors = any("error" in result for item in items for result in item.values())
        if "items.*.status" in parse_qs(urlsplit(self.path).query).get("filter_path", [""])[0]:
            kept = ("status", "error")
            items = [
                {op: {k: v for k, v in result.items() if k in kept} for op, result in item.items()}
                for item in items
            ]
        return {"errors": errors, "items": items}

    def _path(self) -> str:
        return urlsplit(self.path).path.removeprefix(self.server_state.prefix)

    def _may_come(self) -> bool:
        server = self.server_state
        if not self.path.startswith(server.prefix or "/"):
            self._answer(404, "<html>no such page</html>")
            return False
        if server.authorization not in (None, self.headers["authorization"]):
            self._answer(401, _error(401, "security_exception", "missing credentials"))
            return False
        return True

    def _answer(self, status: int, body: Any) -> None:
        html = isinstance(body, str)
        data = body.encode() if html else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "text/html" if html else "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
