"""PyFlink's builders of Elasticsearch sinks.

In: calls of the user's program.  Out: an `ElasticsearchSink` (sink.py).
Next: emitter.py (from records to documents)
"""

from __future__ import annotations

import base64
from dataclasses import replace
from enum import Enum
from typing import TYPE_CHECKING, Any, Self

from headrace.connectors.elasticsearch.client import (
    ElasticServers,
    basic_authorization,
    checked_host,
    transport_module,
)
from headrace.connectors.elasticsearch.emitter import ElasticsearchEmitter
from headrace.connectors.elasticsearch.sink import ElasticsearchSink
from headrace.connectors.elasticsearch.writer import ElasticTarget
from headrace.errors import InvalidArgumentError
from headrace.io.server_calls import Retries
from headrace.spi.source import DeliveryGuarantee

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.connectors.elasticsearch.bulk import RejectedDocument

__all__ = ["Elasticsearch6SinkBuilder", "Elasticsearch7SinkBuilder", "FlushBackoffType"]

_DISABLED = -1
_LONGEST_DELAY_S = 60.0


class FlushBackoffType(Enum):
    """What to do when servers are busy (status 429) or away.

    All pauses are up to a fifth longer or shorter, so that workers do not come back together.

    Attributes:
        CONSTANT: try again, with the same pause each time.
        EXPONENTIAL: try again, with a pause that doubles each time, up to a minute.
        NONE: do not try again; the batch fails, and the job's restart strategy decides.
    """

    CONSTANT = 0
    EXPONENTIAL = 1
    NONE = 2


class ElasticsearchSinkBuilderBase:
    """What the builders of all versions share.

    A request that finds one host away goes to the next at once, before any pause.
    """

    _default_type: str | None = None

    def __init__(self) -> None:
        self._servers = ElasticServers(())
        self._target: dict[str, Any] = {}
        self._emitter: ElasticsearchEmitter | None = None
        self._username: str | None = None
        self._password: str | None = None
        self._api_key: str | None = None

    def set_emitter(self, emitter: ElasticsearchEmitter) -> Self:
        """Says what becomes of a record."""
        if not isinstance(emitter, ElasticsearchEmitter):
            raise self._wrong(
                f"{emitter!r} ({type(emitter).__name__}) is no emitter",
                "set_emitter",
                "use ElasticsearchEmitter.static_index('orders', key_field='id')",
            )
        self._emitter = emitter
        return self

    def set_hosts(self, hosts: str | list[str]) -> Self:
        """The servers: ``localhost:9200`` or ``https://search-1:9200``, one or several."""
        given = list(hosts) if isinstance(hosts, list | tuple) else [hosts]
        if not given:
            raise self._wrong("there are no hosts", "set_hosts", "pass at least one")
        checked = tuple(checked_host(host, self._where("set_hosts")) for host in given)
        self._servers = replace(self._servers, hosts=checked)
        return self

    def set_delivery_guarantee(self, delivery_guarantee: DeliveryGuarantee) -> Self:
        """At least once, which is the default and what NONE gets too.

        Raises:
            InvalidArgumentError: for exactly once. With a `key_field`, documents are the same after
                a batch that is repeated, but readers may see a batch half written.
        """
        if not isinstance(delivery_guarantee, DeliveryGuarantee):
            raise self._wrong(
                f"{delivery_guarantee!r} is no DeliveryGuarantee",
                "set_delivery_guarantee",
                "use DeliveryGuarantee.AT_LEAST_ONCE",
            )
        if delivery_guarantee is DeliveryGuarantee.EXACTLY_ONCE:
            raise self._wrong(
                "Elasticsearch has no transactions, so EXACTLY_ONCE cannot be had",
                "set_delivery_guarantee",
                "use AT_LEAST_ONCE and give documents an id (key_field): a repeated batch then "
                "changes nothing",
            )
        return self

    def set_bulk_flush_max_actions(self, num_max_actions: int) -> Self:
        """How many actions a request has at most; 1000 by default, -1 for any number."""
        self._target["max_actions"] = self._limit(num_max_actions, 1, "set_bulk_flush_max_actions")
        return self

    def set_bulk_flush_max_size_mb(self, max_size_mb: int) -> Self:
        """How large a request is at most; -1, the default, for any size."""
        megabytes = self._limit(max_size_mb, 1, "set_bulk_flush_max_size_mb")
        self._target["max_bytes"] = None if megabytes is None else megabytes << 20
        return self

    def set_bulk_flush_interval(self, interval_millis: int) -> Self:
        """How long an action waits at most before the next records send it; -1 by default.

        All actions of a batch are sent when it ends, whatever the interval. So it matters only
        in batches that take longer than it.
        """
        interval = self._limit(interval_millis, 0, "set_bulk_flush_interval")
        self._target["interval_s"] = None if interval is None else interval / 1000
        return self

    def set_bulk_flush_backoff_strategy(
        self, flush_backoff_type: FlushBackoffType, max_retries: int, delay_millis: int
    ) -> Self:
        """The patience with servers that are busy or away; none by default.

        Args:
            flush_backoff_type: CONSTANT or EXPONENTIAL.
            max_retries: how often a request is sent again; at least 1.
            delay_millis: the first pause.
        """
        method = "set_bulk_flush_backoff_strategy"
        if flush_backoff_type not in (FlushBackoffType.CONSTANT, FlushBackoffType.EXPONENTIAL):
            raise self._wrong(
                f"{flush_backoff_type} takes no retries and no delay",
                method,
                "use CONSTANT or EXPONENTIAL; leave the call out for NONE, which is the default",
            )
        retries = self._at_least(1, max_retries, method)
        delay_s = self._at_least(0, delay_millis, method) / 1000
        grows = flush_backoff_type is FlushBackoffType.EXPONENTIAL
        longest_s = max(delay_s, _LONGEST_DELAY_S) if grows else delay_s
        self._target["retries"] = Retries(retries + 1, delay_s, longest_s)
        return self

    def set_connection_username(self, username: str) -> Self:
        """The user, with a password."""
        self._username = self._text(username, "set_connection_username")
        return self

    def set_connection_password(self, password: str) -> Self:
        """The user's password; it does not appear in errors, plans or logs."""
        self._password = self._text(password, "set_connection_password")
        return self

    def set_connection_path_prefix(self, prefix: str) -> Self:
        """What stands before every path, as behind a proxy: ``/search``."""
        path = self._text(prefix, "set_connection_path_prefix").strip("/")
        self._servers = replace(self._servers, path_prefix=f"/{path}" if path else "")
        return self

    def set_connection_request_timeout(self, timeout: int) -> Self:
        """How many milliseconds a request waits for a free connection.

        Here none ever waits: a worker sends one request after the other. So every limit is kept.
        """
        self._at_least(0, timeout, "set_connection_request_timeout")
        return self

    def set_connection_timeout(self, timeout: int) -> Self:
        """The patience with a server that takes no connection, in ms; 10,000 by default, 0: any."""
        limit = self._at_least(0, timeout, "set_connection_timeout") / 1000
        self._servers = replace(self._servers, connect_timeout_s=limit or None)
        return self

    def set_socket_timeout(self, timeout: int) -> Self:
        """The patience with a server that says nothing, in ms; 60,000 by default, 0: any."""
        limit = self._at_least(0, timeout, "set_socket_timeout") / 1000
        self._servers = replace(self._servers, socket_timeout_s=limit or None)
        return self

    # --- headrace's own --------------------------------------------------------------------------

    def set_connection_api_key(self, api_key: str | tuple[str, str]) -> Self:
        """An API key instead of user and password: as the server encodes it, or (id, key).

        Coming from Flink: this is headrace's own.
        """
        if isinstance(api_key, tuple) and [type(part) for part in api_key] == [str, str]:
            api_key = base64.b64encode(":".join(api_key).encode()).decode()
        if not isinstance(api_key, str) or not api_key:
            raise self._wrong(
                "the API key is neither text nor a pair of texts",
                "set_connection_api_key",
                "pass what the server calls 'encoded', or (id, api_key)",
            )
        self._api_key = api_key
        return self

    def set_tls(
        self,
        *,
        ca_certs: str | None = None,
        verify_certs: bool = True,
        client_cert: str | None = None,
        client_key: str | None = None,
    ) -> Self:
        """How to know the servers of ``https://`` hosts.

        Coming from Flink: this is headrace's own; in Java it is the JVM's trust store.

        Args:
            ca_certs: file of the authorities to trust, on the driver and every worker; those of
                the package certifi by default.
            verify_certs: False trusts whoever answers.
            client_cert: file with the certificate that this side shows.
            client_key: file with its key.
        """
        self._servers = replace(
            self._servers,
            ca_certs=ca_certs,
            verify_certs=verify_certs,
            client_cert=client_cert,
            client_key=client_key,
        )
        return self

    def set_rejected_document_handler(self, handler: Callable[[RejectedDocument], Any]) -> Self:
        """What becomes of documents that the servers refuse; without a handler the batch fails.

        Coming from Flink: this is headrace's own; Java has a FailureHandler for whole requests.

        Args:
            handler: is called in the worker with a `RejectedDocument`. What it raises fails the
                batch. None skips the document; an action, or several, as for
                `ElasticsearchEmitter.actions`, are written in its place: to an index of dead
                letters, say. A batch that is repeated calls it again.
        """
        if not callable(handler):
            raise self._wrong(
                f"{handler!r} ({type(handler).__name__}) is no function",
                "set_rejected_document_handler",
                "pass a function of a RejectedDocument",
            )
        self._target["handler"] = handler
        return self

    def build(self) -> ElasticsearchSink:
        """The sink.

        Raises:
            InvalidArgumentError: hosts or emitter are missing, or settings contradict each other.
            EnvironmentSetupError: the client library is not installed.
        """
        transport_module()
        if not self._servers.hosts:
            raise self._wrong("there are no hosts", "build", "call set_hosts('localhost:9200')")
        if self._emitter is None:
            fix = "call set_emitter(ElasticsearchEmitter.static_index('orders', key_field='id'))"
            raise self._wrong("there is no emitter", "build", fix)
        servers = replace(self._servers, authorization=self._authorization())
        self._check_tls(servers)
        target = ElasticTarget(
            servers, self._emitter, default_type=self._default_type, **self._target
        )
        return ElasticsearchSink(target)

    def _authorization(self) -> str | None:
        user, password = self._username, self._password
        if (user is None) != (password is None):
            missing = "user name" if user is None else "password"
            fix = "call set_connection_username and set_connection_password, or neither"
            raise self._wrong(f"there is no {missing}", "build", fix)
        if self._api_key is not None:
            if user is not None:
                fix = "use set_connection_api_key or a user with a password, not both"
                raise self._wrong("there are an API key and a user", "build", fix)
            return f"ApiKey {self._api_key}"
        return None if user is None or password is None else basic_authorization(user, password)

    def _check_tls(self, servers: ElasticServers) -> None:
        given = [servers.ca_certs, servers.client_cert, servers.client_key]
        wanted = any(given) or not servers.verify_certs
        plain = [host for host in servers.hosts if host.startswith("http://")]
        if wanted and plain:
            raise self._wrong(
                f"set_tls is for https, but {plain[0]!r} is not",
                "build",
                "write https:// in front of all hosts, or leave set_tls out",
            )

    def _limit(self, given: int, least: int, method: str) -> int | None:
        return None if given == _DISABLED else self._at_least(least, given, method)

    def _at_least(self, least: int, given: int, method: str) -> int:
        if isinstance(given, bool) or not isinstance(given, int) or given < least:
            raise self._wrong(
                f"{given!r} ({type(given).__name__}) is no whole number from {least} on",
                method,
                f"use a number from {least} on",
            )
        return given

    def _text(self, given: str, method: str) -> str:
        if not isinstance(given, str):
            raise self._wrong(
                f"a value of type {type(given).__name__} is no text", method, "pass a str"
            )
        return given

    def _wrong(self, what: str, method: str, fix: str) -> InvalidArgumentError:
        return InvalidArgumentError(what, where=self._where(method), fix=fix)

    def _where(self, method: str) -> str:
        return f"{type(self).__name__}.{method}"


class Elasticsearch7SinkBuilder(ElasticsearchSinkBuilderBase):
    """Builds a sink for Elasticsearch 7 and later, and for OpenSearch.

    Example:
        >>> emitter = ElasticsearchEmitter.static_index("orders", key_field="id")
        >>> builder = Elasticsearch7SinkBuilder().set_hosts("localhost:9200").set_emitter(emitter)
        >>> sink = builder.build()

        In a program: ``orders.sink_to(sink).uid("orders")``.
    """


class Elasticsearch6SinkBuilder(ElasticsearchSinkBuilderBase):
    """Builds a sink for Elasticsearch 6, where every document has a type: ``_doc`` by default."""

    _default_type = "_doc"
