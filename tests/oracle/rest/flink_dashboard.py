"""Flink's own dashboard out of PyFlink's distribution, whose calls go to a server of ours.

    browser ─▶ GET /index.html, *.js ─▶ web/ of flink-dist.jar
            └▶ everything else ─▶ headrace's REST API, with its answer as it is

In: a port of our server.  Out: an address on loopback.  Next: test_flink_dashboard.py opens it
"""

from __future__ import annotations

import http.client
import mimetypes
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

from oracle.rest.flink_cluster import distribution

if TYPE_CHECKING:
    from types import TracebackType

_PATIENCE_S = 30
# of one connection, or of the origin that only this server is
_NOT_PASSED_ON = frozenset({"host", "origin", "referer", "connection", "transfer-encoding"})


def web_files() -> dict[str, bytes]:
    """The files of Flink's dashboard by their path."""
    (jar,) = (distribution() / "lib").glob("flink-dist-*.jar")
    with zipfile.ZipFile(jar) as archive:
        return {
            name.removeprefix("web"): archive.read(name)
            for name in archive.namelist()
            if name.startswith("web/") and not name.endswith("/")
        }


class FlinkDashboard:
    """A server of Flink's dashboard; ends when it is left."""

    def __init__(self, port: int) -> None:
        files = web_files()
        files["/"] = files["/index.html"]

        class Handler(_Handler):
            static = files
            behind = port

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/"

    def __enter__(self) -> FlinkDashboard:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        self._server.shutdown()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    static: dict[str, bytes]
    behind: int

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        if path not in self.static:
            self._pass_on()
            return
        name = "index.html" if path == "/" else path
        kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
        self._answer(200, [("Content-Type", kind)], self.static[path])

    def do_POST(self) -> None:
        self._pass_on()

    do_PATCH = do_PUT = do_DELETE = do_POST

    def _pass_on(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        headers = {
            name: value
            for name, value in self.headers.items()
            if name.lower() not in _NOT_PASSED_ON and not name.lower().startswith("sec-")
        }
        connection = http.client.HTTPConnection("127.0.0.1", self.behind, timeout=_PATIENCE_S)
        try:
            connection.request(self.command, self.path, body or None, headers)
            answer = connection.getresponse()
            content = answer.read()
            kept = [each for each in answer.getheaders() if each[0].lower() == "content-type"]
            self._answer(answer.status, kept, content)
        finally:
            connection.close()

    def _answer(self, status: int, headers: list[tuple[str, str]], content: bytes) -> None:
        self.send_response(status)
        for name, value in (*headers, ("Content-Length", str(len(content)))):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Say nothing."""
