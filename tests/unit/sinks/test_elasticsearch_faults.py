"""The Elasticsearch sink on bad days: busy servers, lost answers, wrong addresses and settings."""

from __future__ import annotations

import socket
import ssl
import sys
import time
from contextlib import closing
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from bulk_server import ANSWER_LOST, BUSY, LOST, BulkServer, Fault
from headrace.connectors.elasticsearch import writer as writer_module
from headrace.datastream.connectors import DeliveryGuarantee
from headrace.datastream.connectors.elasticsearch import (
    Elasticsearch6SinkBuilder,
    Elasticsearch7SinkBuilder,
    ElasticsearchEmitter,
    FlushBackoffType,
)
from headrace.errors import ConnectorError, EnvironmentSetupError, HeadraceError, ProgramError
from headrace.testing.connectors import SinkDriver
from ports import free_port
from services import make_certificate

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CONSTANT, EXPONENTIAL = FlushBackoffType.CONSTANT, FlushBackoffType.EXPONENTIAL
BY_ID = ElasticsearchEmitter.static_index("orders", key_field="id")


@pytest.fixture
def server() -> Iterator[BulkServer]:
    with BulkServer() as made:
        yield made


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Nobody sleeps; how long they would have."""
    made: list[float] = []
    monkeypatch.setattr("headrace.io.server_calls.time.sleep", made.append)
    return made


def builder(*hosts: str) -> Elasticsearch7SinkBuilder:
    return Elasticsearch7SinkBuilder().set_hosts(list(hosts)).set_emitter(BY_ID)


def orders(*ids: int) -> list[dict[str, int]]:
    return [{"id": n} for n in ids]


def sent(server: BulkServer) -> list[list[Any]]:
    """The ids of each request."""
    return [[meta.get("_id") for _, meta, _ in request.actions] for request in server.requests]


def told(error: HeadraceError, *parts: str) -> None:
    assert error.where
    assert error.fix
    for part in parts:
        assert part in str(error)
    assert "s3cret" not in str(error)


def free_address() -> str:
    return f"http://127.0.0.1:{free_port()}"


# busy and away


def test_a_busy_server_is_asked_again_after_pauses(server: BulkServer, pauses: list[float]) -> None:
    sink = builder(server.url).set_bulk_flush_backoff_strategy(EXPONENTIAL, 4, 100).build()
    server.faults = [BUSY, Fault(503), LOST]
    SinkDriver(sink).run(0, orders(1, 2))
    assert sorted(server.documents("orders")) == ["1", "2"]
    assert sent(server) == [["1", "2"]] * 4
    for pause, expected in zip(pauses, [0.1, 0.2, 0.4], strict=True):
        assert 0.8 * expected <= pause <= 1.2 * expected


def test_constant_pauses_do_not_grow(server: BulkServer, pauses: list[float]) -> None:
    sink = builder(server.url).set_bulk_flush_backoff_strategy(CONSTANT, 3, 100).build()
    server.faults = [BUSY] * 4
    with pytest.raises(ConnectorError, match=r"status 429: busy_exception") as caught:
        SinkDriver(sink).run(0, orders(1))
    told(caught.value, "set_bulk_flush_backoff_strategy", server.url)
    assert len(pauses) == 3
    assert all(0.08 <= pause <= 0.12 for pause in pauses)
    assert len(set(pauses)) == 3  # all workers would come back at the same moment


@pytest.mark.parametrize("fault", [BUSY, LOST, Fault(busy_items=(0,))])
def test_by_default_nothing_is_tried_again(
    server: BulkServer, pauses: list[float], fault: Fault
) -> None:
    job = SinkDriver(builder(server.url).build())
    server.faults = [fault]
    with pytest.raises(ConnectorError):
        job.run(0, orders(1, 2))
    assert len(server.requests) == 1
    assert pauses == []
    job.run(0, orders(1, 2))
    assert sorted(server.documents("orders")) == ["1", "2"]


def test_only_what_was_turned_away_is_sent_again_and_stays_in_order(
    server: BulkServer, pauses: list[float]
) -> None:
    emitter = ElasticsearchEmitter.actions(
        lambda r: {"_index": "orders", "_id": r[0], "_source": {"n": r[1]}}
    )
    sink = builder(server.url).set_emitter(emitter)
    sink.set_bulk_flush_backoff_strategy(CONSTANT, 3, 1)
    server.faults = [Fault(busy_items=(1, 3)), Fault(busy_items=(0,))]
    SinkDriver(sink.build()).run(0, [("a", 1), ("b", 2), ("c", 3), ("d", 4), ("b", 5), ("a", 6)])
    # The later write of b comes again behind the earlier one, and a does not.
    assert sent(server) == [["a", "b", "c", "d", "b", "a"], ["b", "d", "b"], ["b", "b"]]
    found = {name: document["n"] for name, document in server.documents("orders").items()}
    assert found == {"a": 6, "b": 5, "c": 3, "d": 4}


@pytest.mark.parametrize("op_type", ["index", "create", "update", "delete"])
def test_a_request_whose_answer_was_lost_changes_nothing_the_second_time(
    server: BulkServer, pauses: list[float], op_type: str
) -> None:
    body = {
        "update": {"doc": {"n": 1}, "doc_as_upsert": True},
        "delete": {},
    }.get(op_type, {"_source": {"n": 1}})
    emitter = ElasticsearchEmitter.actions(
        lambda r: {"_op_type": op_type, "_index": "orders", "_id": r, **body}
    )
    sink = builder(server.url).set_emitter(emitter)
    sink.set_bulk_flush_backoff_strategy(CONSTANT, 1, 1)
    server.stored["orders"] = {"b": {"n": 1}} if op_type == "delete" else {}
    server.faults = [ANSWER_LOST]
    SinkDriver(sink.build()).run(0, ["a", "b"])
    assert len(server.requests) == 2
    left = {} if op_type == "delete" else {"a": {"n": 1}, "b": {"n": 1}}
    assert server.documents("orders") == left


def test_a_host_that_is_away_is_passed_over(server: BulkServer, pauses: list[float]) -> None:
    for _ in range(4):  # the hosts are in any order
        job = SinkDriver(builder(free_address(), server.url, free_address()).build())
        job.run(0, orders(1))
        job.restart()
    assert len(server.requests) == 4
    assert pauses == []


def test_a_server_that_says_nothing_is_given_up(pauses: list[float]) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        sink = builder(url).set_socket_timeout(100).set_connection_timeout(600_000)
        sink.set_connection_request_timeout(600_000)
        begin = time.monotonic()
        with pytest.raises(ConnectorError, match="timed out") as caught:
            _ = SinkDriver(sink.build()).committer
        assert time.monotonic() - begin < 300  # the limit is the socket's, not another one
    told(caught.value, "can be reached")


@pytest.mark.parametrize(
    "text", ["<html>Hello</html>", '{"errors": true, "items": []}', '{"items": [{}]}', "[1, 2]"]
)
def test_an_answer_that_is_none_of_the_bulk_api_is_told(server: BulkServer, text: str) -> None:
    job = SinkDriver(builder(server.url).build())
    server.faults = [Fault(200, text=text)]
    with pytest.raises(ConnectorError) as caught:
        job.run(0, orders(1))
    told(caught.value)


def test_a_request_that_is_too_large_is_told(server: BulkServer) -> None:
    job = SinkDriver(builder(server.url).build())
    server.faults = [Fault(413)]
    with pytest.raises(ConnectorError, match="status 413") as caught:
        job.run(0, orders(1))
    told(caught.value, "set_bulk_flush_max_size_mb")


# how much is sent at once


def test_requests_have_at_most_so_many_actions(server: BulkServer) -> None:
    SinkDriver(builder(server.url).set_bulk_flush_max_actions(3).build()).run(0, orders(*range(8)))
    assert [len(ids) for ids in sent(server)] == [3, 3, 2]


def test_a_thousand_actions_make_a_request_unless_there_is_no_limit(server: BulkServer) -> None:
    SinkDriver(builder(server.url).build()).run(0, orders(*range(1500)))
    sink = builder(server.url).set_bulk_flush_max_actions(-1).set_bulk_flush_max_size_mb(-1)
    SinkDriver(sink.build()).run(0, orders(*range(1500)))
    assert [len(ids) for ids in sent(server)] == [1000, 500, 1500]


def test_requests_are_at_most_so_large(server: BulkServer) -> None:
    sink = builder(server.url).set_bulk_flush_max_size_mb(1).build()
    sizes = [600_000, 300_000, 300_000, 1_500_000, 10]
    SinkDriver(sink).run(0, [{"id": n, "text": "x" * size} for n, size in enumerate(sizes)])
    assert sent(server) == [["0", "1"], ["2"], ["3"], ["4"]]
    assert [request.size > 1 << 20 for request in server.requests] == [False, False, True, False]


def test_what_waits_longer_than_the_interval_is_sent(
    server: BulkServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    now_s = 100.0
    monkeypatch.setattr(writer_module, "time", SimpleNamespace(monotonic=lambda: now_s))
    writer = SinkDriver(builder(server.url).set_bulk_flush_interval(30).build()).writer(0)
    writer.write(orders(1), None)
    assert sent(server) == []
    now_s += 0.04
    writer.write(orders(2), None)
    assert sent(server) == [["1", "2"]]
    writer.prepare_commit()
    assert len(server.requests) == 1


def test_an_aborted_writer_sends_nothing_more(server: BulkServer) -> None:
    writer = SinkDriver(builder(server.url).build()).writer(0)
    writer.write(orders(1), None)
    writer.abort()
    assert writer.prepare_commit() == []
    assert server.requests == []


def test_documents_of_elasticsearch_6_have_a_type(server: BulkServer) -> None:
    for emitter in (BY_ID, ElasticsearchEmitter.static_index("orders", "id", "order")):
        sink = Elasticsearch6SinkBuilder().set_hosts(server.url).set_emitter(emitter).build()
        SinkDriver(sink).run(0, orders(1))
    SinkDriver(builder(server.url).build()).run(0, orders(1))
    metas = [request.actions[0][1] for request in server.requests]
    assert [meta.get("_type") for meta in metas] == ["_doc", "order", None]


# who may come, and where


def test_users_and_api_keys_are_sent(server: BulkServer) -> None:
    named = builder(server.url).set_connection_username("ann").set_connection_password("s3cret")
    for sink, header in (
        (named, "Basic YW5uOnMzY3JldA=="),
        (builder(server.url).set_connection_api_key("a2V5"), "ApiKey a2V5"),
        (builder(server.url).set_connection_api_key(("id", "key")), "ApiKey aWQ6a2V5"),
    ):
        server.authorization = header
        SinkDriver(sink.build()).run(0, orders(1))
    assert "s3cret" not in repr(named.build())
    with pytest.raises(ConnectorError, match=r"status 401: security_exception") as caught:
        _ = SinkDriver(named.build()).committer
    told(caught.value, "set_connection_username")


def test_a_path_prefix_stands_before_every_path(server: BulkServer) -> None:
    server.prefix = "/search/v1"
    SinkDriver(builder(server.url).set_connection_path_prefix("search/v1/").build()).run(
        0, orders(1)
    )
    assert [request.path.partition("?")[0] for request in server.requests] == ["/search/v1/_bulk"]
    with pytest.raises(ConnectorError, match="status 404") as caught:
        _ = SinkDriver(builder(server.url).build()).committer
    told(caught.value, "set_connection_path_prefix")


def test_a_wrong_address_is_told_before_the_job_runs(server: BulkServer) -> None:
    address = free_address()
    with pytest.raises(ConnectorError, match="refused") as caught:
        _ = SinkDriver(builder(address).build()).committer
    told(caught.value, f"Elasticsearch at {address}", "check that the servers run")
    server.banner = {"hello": "world"}
    with pytest.raises(ConnectorError, match="the answer has no version") as caught:
        _ = SinkDriver(builder(server.url).build()).committer
    told(caught.value, "no server of Elasticsearch or OpenSearch")
    with pytest.raises(ConnectorError) as caught:
        _ = SinkDriver(builder(server.url.replace("http:", "https:")).build()).committer
    told(caught.value, "speaks TLS")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return make_certificate(tmp_path_factory.mktemp("tls"))


def test_servers_with_tls_are_known_by_their_authority(
    server: BulkServer, certificate: tuple[Path, Path]
) -> None:
    made, key = certificate
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(made, key)
    server._http.socket = context.wrap_socket(server._http.socket, server_side=True)
    url = server.url.replace("http:", "https:")
    with pytest.raises(ConnectorError, match="CERTIFICATE_VERIFY_FAILED") as caught:
        _ = SinkDriver(builder(url).build()).committer
    told(caught.value, "set_tls(ca_certs=")
    SinkDriver(builder(url).set_tls(ca_certs=str(made)).build()).run(0, orders(1))
    SinkDriver(builder(url).set_tls(verify_certs=False).build()).run(0, orders(2))
    assert sorted(server.documents("orders")) == ["1", "2"]
    with pytest.raises(ConnectorError, match=r"there is no file '/nowhere\.pem'") as caught:
        _ = SinkDriver(builder(url).set_tls(ca_certs="/nowhere.pem").build()).committer
    told(caught.value)


# settings


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda b: b.set_hosts([]), "there are no hosts"),
        (lambda b: b.set_hosts("ftp://h:1"), "is no host"),
        (lambda b: b.set_hosts("h:port"), "is no host"),
        (lambda b: b.set_hosts(""), "is no host"),
        (lambda b: b.set_hosts([9200]), "is no host"),
        (lambda b: b.set_hosts("http://h:9200/search"), "set_connection_path_prefix"),
        (lambda b: b.set_hosts("http://ann:s3cret@h:9200"), "set_connection_username"),
        (lambda b: b.set_emitter("orders"), "is no emitter"),
        (lambda b: b.set_delivery_guarantee("AT_LEAST_ONCE"), "is no DeliveryGuarantee"),
        (lambda b: b.set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE), "no transactions"),
        (lambda b: b.set_bulk_flush_max_actions(0), "from 1 on"),
        (lambda b: b.set_bulk_flush_max_actions(-2), "from 1 on"),
        (lambda b: b.set_bulk_flush_max_size_mb(0), "from 1 on"),
        (lambda b: b.set_bulk_flush_max_size_mb(0.5), "from 1 on"),
        (lambda b: b.set_bulk_flush_interval(-2), "from 0 on"),
        (lambda b: b.set_bulk_flush_backoff_strategy(FlushBackoffType.NONE, 1, 1), "no retries"),
        (lambda b: b.set_bulk_flush_backoff_strategy(CONSTANT, 0, 1), "from 1 on"),
        (lambda b: b.set_bulk_flush_backoff_strategy(CONSTANT, 1, -1), "from 0 on"),
        (lambda b: b.set_connection_timeout(-1), "from 0 on"),
        (lambda b: b.set_socket_timeout(-1), "from 0 on"),
        (lambda b: b.set_connection_request_timeout(-1), "from 0 on"),
        (lambda b: b.set_connection_username(None), "NoneType is no text"),
        (lambda b: b.set_connection_password(5), "int is no text"),
        (lambda b: b.set_connection_api_key(5), "neither text nor a pair"),
        (lambda b: b.set_rejected_document_handler(None), "is no function"),
        (lambda b: b.set_connection_username("ann").build(), "there is no password"),
        (lambda b: b.set_connection_password("s3cret").build(), "there is no user name"),
        (
            lambda b: (
                b.set_connection_api_key("k")
                .set_connection_username("ann")
                .set_connection_password("s3cret")
                .build()
            ),
            "an API key and a user",
        ),
        (lambda b: b.set_tls(ca_certs="/ca.pem").build(), "set_tls is for https"),
        (lambda b: b.set_tls(verify_certs=False).build(), "set_tls is for https"),
        (lambda b: Elasticsearch7SinkBuilder().set_emitter(BY_ID).build(), "there are no hosts"),
        (lambda b: Elasticsearch7SinkBuilder().set_hosts("h").build(), "there is no emitter"),
        (lambda b: ElasticsearchEmitter.static_index(None), "index is None"),  # type: ignore[arg-type]
        (lambda b: ElasticsearchEmitter.dynamic_index(""), "index_field is ''"),
        (lambda b: ElasticsearchEmitter.actions({}), "is no function"),  # type: ignore[arg-type]
    ],
)
def test_settings_are_checked_when_they_are_made(call: Any, message: str) -> None:
    with pytest.raises(ProgramError) as caught:
        call(builder("localhost:9200"))
    told(caught.value, message)


def test_any_guarantee_but_exactly_once_is_taken() -> None:
    for guarantee in (DeliveryGuarantee.NONE, DeliveryGuarantee.AT_LEAST_ONCE):
        assert builder("localhost:9200").set_delivery_guarantee(guarantee).build() is not None


def test_a_missing_client_is_told_when_the_sink_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "elastic_transport", None)
    with pytest.raises(EnvironmentSetupError, match="elastic_transport") as caught:
        builder("localhost:9200").build()
    told(caught.value, "pip install 'headrace[elasticsearch]'")
