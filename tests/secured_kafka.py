"""A Kafka broker behind TLS and passwords, on loopback: the fixture `secured_kafka`.

In: openssl, for its certificate.  Out: a `KafkaServer` whose clients need `login`: SASL_SSL, with
PLAIN or SCRAM.  Next: tests/kafka_broker.py (the broker), tests/kafka/test_secured.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kafka_broker import KafkaServer, need_kafka
from services import make_certificate

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

USER = "shop"
SECRET = "s3cret of the shop"
SCRAM = ("SCRAM-SHA-256", "SCRAM-SHA-512")


def login(certificate: Path, mechanism: str = "PLAIN", password: str = SECRET) -> dict[str, str]:
    """The properties of a client that may get in."""
    return {
        "security.protocol": "SASL_SSL",
        "ssl.ca.location": str(certificate),
        "sasl.mechanisms": mechanism,
        "sasl.username": USER,
        "sasl.password": password,
    }


def _settings(keystore: Path, certificate: Path) -> dict[str, str]:
    modules = "org.apache.kafka.common.security"
    users = f'username="{USER}" password="{SECRET}" user_{USER}="{SECRET}"'
    return {
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,CLIENTS:SASL_SSL",
        "sasl.enabled.mechanisms": ",".join(["PLAIN", *SCRAM]),
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
        "listener.name.clients.plain.sasl.jaas.config": (
            f"{modules}.plain.PlainLoginModule required {users};"
        ),
        **{
            f"listener.name.clients.{name.lower()}.sasl.jaas.config": (
                f"{modules}.scram.ScramLoginModule required;"
            )
            for name in SCRAM
        },
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(keystore),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(certificate),
    }


@pytest.fixture(scope="session")
def secured_kafka(services_folder: Path) -> Iterator[KafkaServer]:
    """A broker that asks for a password behind TLS; tests take topics of their own."""
    need_kafka()
    folder = services_folder / "secured-kafka"
    folder.mkdir()
    certificate, key = make_certificate(folder)
    keystore = folder / "keystore.pem"
    keystore.write_text(key.read_text() + certificate.read_text())
    server = KafkaServer(
        folder,
        _settings(keystore, certificate),
        login=login(certificate),
        format_options=tuple(
            part
            for name in SCRAM
            for part in ("--add-scram", f"{name}=[name={USER},password={SECRET}]")
        ),
    )
    server.start()
    yield server
    server.stop()
