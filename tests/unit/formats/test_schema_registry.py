"""Avro messages of a schema registry: a real one, and one that fails on demand."""

from __future__ import annotations

import base64
import json
import pickle
import ssl
import threading
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest

from headrace.common.types import Row
from headrace.datastream.formats.avro import (
    AvroSchema,
    ConfluentRegistryAvroDeserializationSchema,
    ConfluentRegistryAvroSerializationSchema,
    SchemaRegistryClient,
)
from headrace.errors import BadMessageError, ConnectorError, InvalidArgumentError
from headrace.formats import schema_registry as registry_module
from headrace.io.server_calls import Retries
from services import make_certificate

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from registry_server import RegistryServer


def schema(*fields: dict[str, Any]) -> AvroSchema:
    return AvroSchema(json.dumps({"type": "record", "name": "Order", "fields": list(fields)}))


ID = {"name": "id", "type": "long"}
NOTE = {"name": "note", "type": "string", "default": "none"}
OLD, NEW = schema(ID), schema(NOTE, ID)


def to_bytes(subject: str, written: AvroSchema, url: str, **configs: str) -> Any:
    return ConfluentRegistryAvroSerializationSchema.for_generic(subject, written, url, configs)


def from_bytes(seen: AvroSchema, url: str, **configs: str) -> Any:
    return ConfluentRegistryAvroDeserializationSchema.for_generic(seen, url, configs)


# --- a real registry


def test_records_go_through_a_registry(schema_registry: RegistryServer) -> None:
    subject = f"orders {uuid.uuid4()}/value"
    writer, reader = (
        to_bytes(subject, OLD, schema_registry.url),
        from_bytes(OLD, schema_registry.url),
    )
    message = writer.serialize(Row(7))
    assert message[:1] == b"\x00"
    assert reader.deserialize(message) == Row(id=7)
    writer, reader = pickle.loads(pickle.dumps((writer, reader)))
    assert reader.deserialize(writer.serialize(Row(8))) == Row(id=8)


def test_older_and_newer_records_are_seen_by_one_schema(schema_registry: RegistryServer) -> None:
    subject = f"orders-{uuid.uuid4()}-value"
    older = to_bytes(subject, OLD, schema_registry.url).serialize(Row(1))
    newer = to_bytes(subject, NEW, schema_registry.url).serialize(Row("hi", 2))
    assert older[1:5] != newer[1:5]
    reader = from_bytes(NEW, schema_registry.url)
    assert [reader.deserialize(m) for m in (older, newer)] == [
        Row(note="none", id=1),
        Row(note="hi", id=2),
    ]
    reader = from_bytes(OLD, schema_registry.url)
    assert [reader.deserialize(m) for m in (older, newer)] == [Row(id=1), Row(id=2)]


def test_the_same_schema_gets_the_same_number(schema_registry: RegistryServer) -> None:
    subject = f"orders-{uuid.uuid4()}-value"
    clients = [SchemaRegistryClient(schema_registry.url) for _ in range(2)]
    first, second = (client.register(subject, OLD) for client in clients)
    assert first == second
    assert clients[0].schema(first) == OLD


def test_a_number_that_the_registry_does_not_know_is_a_bad_message(
    schema_registry: RegistryServer,
) -> None:
    with pytest.raises(BadMessageError, match="no schema 99999"):
        from_bytes(OLD, schema_registry.url).deserialize(b"\x00" + (99999).to_bytes(4) + b"\x02")


# --- one that answers as it is told


class FakeRegistry(ThreadingHTTPServer):
    """Answers with what `answers` holds, one after the other; the last one for ever."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers: list[tuple[int, Any]] = []
        self.asked: list[tuple[str, str, str | None]] = []
        self.url = f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: FakeRegistry

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.asked.append((self.command, self.path, self.headers.get("Authorization")))
        answers = self.server.answers
        status, answer = answers.pop(0) if len(answers) > 1 else answers[0]
        data = json.dumps(answer(body) if callable(answer) else answer).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base's name
        pass


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeRegistry]:
    monkeypatch.setattr(registry_module, "_RETRIES", Retries(attempts=3, first_delay_s=0))
    server = FakeRegistry()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def test_the_registry_is_asked_once_for_a_schema(fake: FakeRegistry) -> None:
    fake.answers = [(200, {"schema": str(OLD)})]
    reader = from_bytes(OLD, fake.url)
    for number in range(3):
        assert reader.deserialize(b"\x00\x00\x00\x00\x05" + bytes([number * 2])) == Row(id=number)
    assert fake.asked == [("GET", "/schemas/ids/5", None)]


def test_user_and_password_are_sent_and_never_shown(fake: FakeRegistry) -> None:
    expected = "Basic " + base64.b64encode(b"me:s3cret").decode()
    fake.answers = [(200, {"id": 3}), (200, {"id": 3}), (401, {"message": "who are you"})]
    in_url = fake.url.replace("http://", "http://me:s3cret@")
    assert to_bytes("t-value", OLD, in_url).serialize(Row(1)) == b"\x00\x00\x00\x00\x03\x02"
    configs = {"basic.auth.credentials.source": "USER_INFO", "basic.auth.user.info": "me:s3cret"}
    to_bytes("t-value", OLD, fake.url, **configs).serialize(Row(1))
    assert {asked[2] for asked in fake.asked} == {expected}
    with pytest.raises(ConnectorError, match="refuses access: 401 who are you") as caught:
        to_bytes("t-value", OLD, in_url).serialize(Row(1))
    assert "s3cret" not in str(caught.value)


def test_a_token_is_sent(fake: FakeRegistry) -> None:
    fake.answers = [(200, {"id": 3})]
    to_bytes("t-value", OLD, fake.url, **{"bearer.auth.token": "abc"}).serialize(Row(1))
    assert fake.asked[0][2] == "Bearer abc"


def test_a_registry_that_stumbles_is_asked_again(fake: FakeRegistry) -> None:
    fake.answers = [(503, {}), (500, {}), (200, {"id": 3})]
    to_bytes("t-value", OLD, fake.url).serialize(Row(1))
    assert len(fake.asked) == 3


def test_a_registry_that_stays_away_is_an_error_and_no_bad_message(fake: FakeRegistry) -> None:
    fake.answers = [(503, {"message": "no"})]
    with pytest.raises(ConnectorError, match="does not answer"):
        from_bytes(OLD, fake.url).deserialize(b"\x00\x00\x00\x00\x05\x02")
    assert len(fake.asked) == 3
    with pytest.raises(ConnectorError, match="does not answer"):
        from_bytes(OLD, "http://127.0.0.1:1").deserialize(b"\x00\x00\x00\x00\x05\x02")


def test_a_schema_that_the_subject_does_not_take_is_told(fake: FakeRegistry) -> None:
    fake.answers = [(409, {"message": "incompatible with an earlier schema"})]
    with pytest.raises(ConnectorError, match="refuses: 409 incompatible"):
        to_bytes("t-value", OLD, fake.url).serialize(Row(1))
    assert len(fake.asked) == 1


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ({"schema": "x", "schemaType": "PROTOBUF"}, "kind PROTOBUF"),
        ({"schema": "{}", "references": [{"name": "a"}]}, "refers to other schemas"),
    ],
)
def test_schemas_that_cannot_be_read_are_told(fake: FakeRegistry, answer: Any, why: str) -> None:
    fake.answers = [(200, answer)]
    with pytest.raises(ConnectorError, match=why):
        from_bytes(OLD, fake.url).deserialize(b"\x00\x00\x00\x00\x05\x02")


@pytest.mark.parametrize("message", [b"", b"\x00\x00", b"\x01\x00\x00\x00\x05\x02", b'{"id":1}'])
def test_a_message_without_the_frame_is_a_bad_one(fake: FakeRegistry, message: bytes) -> None:
    with pytest.raises(BadMessageError, match="zero byte and the number of a schema"):
        from_bytes(OLD, fake.url).deserialize(message)
    assert not fake.asked


def test_a_certificate_is_checked(
    fake: FakeRegistry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate, key = make_certificate(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    fake.socket = context.wrap_socket(fake.socket, server_side=True)
    fake.answers = [(200, {"id": 3})]
    url = fake.url.replace("http:", "https:")
    trusting = to_bytes("t-value", OLD, url, **{"ssl.ca.location": str(certificate)})
    assert trusting.serialize(Row(1)) == b"\x00\x00\x00\x00\x03\x02"
    assert pickle.loads(pickle.dumps(trusting)).serialize(Row(1)) == b"\x00\x00\x00\x00\x03\x02"
    with pytest.raises(ConnectorError, match="certificate is not trusted"):
        to_bytes("t-value", OLD, url).serialize(Row(1))


@pytest.mark.parametrize(
    ("url", "configs", "why"),
    [
        ("registry:8081", {}, "not the URL of a schema registry"),
        ("file:///etc/passwd", {}, "not the URL of a schema registry"),
        ("http://127.0.0.1", {"basic.auth.userinfo": "x"}, "'basic.auth.userinfo'.* not known"),
        ("http://127.0.0.1", {"basic.auth.credentials.source": "SASL_INHERIT"}, "SASL_INHERIT"),
    ],
)
def test_settings_that_cannot_be_are_refused_at_once(
    url: str, configs: dict[str, str], why: str
) -> None:
    with pytest.raises(InvalidArgumentError, match=why):
        from_bytes(OLD, url, **configs)
