"""The way to Elasticsearch or OpenSearch, and its errors in our words.

In: where the servers are, and a request.  Out: the answer as a dict, after retries.
Next: bulk.py (what is asked), writer.py, sink.py

It stands on elastic-transport, the lower half of Elasticsearch's own Python client. The upper half
speaks to servers of its own major version only and refuses OpenSearch; the bulk API is the same in
all of them.
"""

from __future__ import annotations

import base64
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from headrace.errors import ConnectorError, InvalidArgumentError
from headrace.io.server_calls import Retries, ServerClient, client_library, without_password

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

__all__ = ["CallFailed", "ElasticClient", "ElasticServers", "transport_module"]

# A worker process runs batch after batch; its connections stay open.
_transports: dict[tuple[int, ElasticServers], Any] = {}

# The server is busy, or what stands in front of it does not reach it.
_PASSING = frozenset({429, 502, 503, 504})


@dataclass(frozen=True, slots=True)
class ElasticServers:
    """Where the servers are and how to talk to them; travels to the workers.

    Attributes:
        hosts: such as ``https://search-1:9200``.
        authorization: the header of that name, or None.
        path_prefix: what stands before every path.
        ca_certs: file of the authorities to trust; None means those of certifi.
        verify_certs: whether the servers must show who they are.
        client_cert: file with the certificate that this side shows.
        client_key: file with its key.
        connect_timeout_s: the patience with a server that does not take a connection.
        socket_timeout_s: the patience with one that says nothing.
    """

    hosts: tuple[str, ...]
    authorization: str | None = field(default=None, repr=False)
    path_prefix: str = ""
    ca_certs: str | None = None
    verify_certs: bool = True
    client_cert: str | None = None
    client_key: str | None = None
    connect_timeout_s: float | None = 10.0
    socket_timeout_s: float | None = 60.0

    def describe(self) -> str:
        """Hosts and prefix, for errors."""
        return ", ".join(self.hosts) + (f" ({self.path_prefix})" if self.path_prefix else "")

    @property
    def longest_try_s(self) -> float | None:
        """How long a request can take that no server answers; None for any time."""
        if self.connect_timeout_s is None or self.socket_timeout_s is None:
            return None
        return len(self.hosts) * (self.connect_timeout_s + self.socket_timeout_s)

    def transport(self) -> Any:
        """A new transport of the client library."""
        library = transport_module()
        nodes = [library.NodeConfig(**self._node(host)) for host in self.hosts]
        # The other hosts are asked at once; pauses are made by `ElasticClient`.
        return library.Transport(
            nodes,
            max_retries=len(nodes) - 1,
            retry_on_status=(502, 503, 504),
            retry_on_timeout=True,
            meta_header=False,
        )

    def _node(self, host: str) -> dict[str, Any]:
        url = urlsplit(host)
        node: dict[str, Any] = {
            "scheme": url.scheme,
            "host": url.hostname,
            "port": url.port or (443 if url.scheme == "https" else 80),
            "path_prefix": self.path_prefix,
        }
        if self.authorization is not None:
            node["headers"] = {"authorization": self.authorization}
        if url.scheme == "https":
            node["verify_certs"] = self.verify_certs
            node["ssl_show_warn"] = False  # whoever switched it off knows
            for name in ("ca_certs", "client_cert", "client_key"):
                node[name] = getattr(self, name)
        return node


def transport_module() -> Any:
    """The client library; imported late, because only users of this sink need it."""
    return client_library("elastic_transport", extra="elasticsearch")


def checked_host(host: Any, where: str) -> str:
    """A host as a URL: ``localhost:9200`` becomes ``http://localhost:9200``."""
    text = host if isinstance(host, str) else ""
    url = text if "://" in text else f"http://{text}"
    try:
        parts = urlsplit(url)
        wrong = parts.scheme not in ("http", "https") or not parts.hostname or parts.port == 0
    except ValueError:  # the port
        wrong = True
    if not wrong and parts.username is not None:
        raise InvalidArgumentError(
            f"the host {without_password(url)!r} has a user in it",
            where=where,
            fix="say them with set_connection_username and set_connection_password",
        )
    if not wrong and (parts.path.strip("/") or parts.query or parts.fragment):
        raise InvalidArgumentError(
            f"the host {url!r} has a path in it",
            where=where,
            fix="say it with set_connection_path_prefix",
        )
    if wrong:
        raise InvalidArgumentError(
            f"{without_password(str(host))!r} ({type(host).__name__}) is no host",
            where=where,
            fix="use 'localhost:9200' or 'https://search.example.org:9200'",
        )
    return url.rstrip("/")


def basic_authorization(user: str, password: str) -> str:
    """The header for a user with a password."""
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


class CallFailed(Exception):
    """A request that did not work: no answer, or one with an error."""

    def __init__(self, text: str, *, status: int | None = None, tls: bool = False) -> None:
        super().__init__(text)
        self.status = status
        self.tls = tls


class ElasticClient(ServerClient[Any]):
    """The servers as a sink sees them; a call gets an `ask` function: method, path, lines.

    Args:
        servers: where they are.
        retries: the patience with servers that are away or busy.
    """

    def __init__(self, servers: ElasticServers, retries: Retries) -> None:
        self._library = transport_module()
        self._servers = servers
        super().__init__(
            f"Elasticsearch at {servers.describe()}",
            retries,
            CallFailed,
            longest_try_s=servers.longest_try_s,
        )

    def close(self) -> None:
        """Ends the connections of this process."""
        transport = _transports.pop((os.getpid(), self._servers), None)
        if transport is not None:
            transport.close()

    def _once(self, call: Callable[[Any], T]) -> T:
        return call(self._ask)

    def _ask(self, method: str, path: str, lines: list[bytes] | None = None) -> dict[str, Any]:
        headers = {"accept": "application/json"}
        if lines is not None:
            headers["content-type"] = "application/x-ndjson"
        try:
            meta, body = self._connected().perform_request(
                method, path, headers=headers, body=lines, request_timeout=self._timeout()
            )
        except self._library.TransportError as error:
            tls = isinstance(error, self._library.TlsError)
            # Without its own prefix, which repeats the class of the error.
            raise CallFailed(str(error.message), tls=tls) from error
        if meta.status >= 300:
            raise CallFailed(f"status {meta.status}: {_reason(body)}", status=meta.status)
        if not isinstance(body, dict):
            raise CallFailed(f"the answer is no JSON object: {str(body)[:200]!r}", status=200)
        return body

    def _connected(self) -> Any:
        key = os.getpid(), self._servers
        if key not in _transports:
            self._check_files()
            _transports[key] = self._servers.transport()
        return _transports[key]

    def _check_files(self) -> None:
        servers = self._servers
        for file in (servers.ca_certs, servers.client_cert, servers.client_key):
            if file is not None and not Path(file).exists():
                raise ConnectorError(
                    f"there is no file {file!r}",
                    where=self.where,
                    fix="the files named in set_tls must be there on the driver and every worker",
                )

    def _timeout(self) -> Any:
        urllib3 = client_library("urllib3", extra="elasticsearch")
        servers = self._servers
        return urllib3.Timeout(connect=servers.connect_timeout_s, read=servers.socket_timeout_s)

    def _passes(self, error: Exception) -> bool:
        if not isinstance(error, CallFailed):
            return False
        return not error.tls if error.status is None else error.status in _PASSING

    def _explained(self, error: Exception, what: str) -> ConnectorError:
        assert isinstance(error, CallFailed)
        fix = _TLS_FIX if error.tls else _FIXES.get(error.status, _OTHER_FIX)
        return ConnectorError(f"cannot {what}: {error}", where=self.where, fix=fix)


def _reason(body: Any) -> str:
    """What the server says about an error, short."""
    error = body.get("error") if isinstance(body, dict) else None
    if isinstance(error, dict):
        return f"{error.get('type')}: {error.get('reason')}"
    return str(error if error is not None else body)[:200].strip()


_TLS_FIX = (
    "check that the server speaks TLS, and that its certificate is signed by an authority that "
    "is known: set_tls(ca_certs='/path/to/ca.pem')"
)
_OTHER_FIX = "see the server's log; the batch is repeated when the job starts again"
_FIXES = {
    None: "check that the servers run and can be reached from driver and workers; the batch is "
    "repeated when the job starts again",
    200: "check host, port and path prefix: this is no server of Elasticsearch or OpenSearch",
    401: "check set_connection_username and set_connection_password, or the API key",
    403: "give the user the rights to write to the indices, and to create them if need be",
    404: "check host, port and set_connection_path_prefix: there is no bulk API at this address",
    413: "send less at once: set_bulk_flush_max_size_mb, or raise http.max_content_length",
    429: "the servers are busy: be more patient with set_bulk_flush_backoff_strategy, write with "
    "fewer subtasks, or add servers; the batch is repeated when the job starts again",
}
_FIXES |= {502: _FIXES[None], 503: _FIXES[None], 504: _FIXES[None]}
