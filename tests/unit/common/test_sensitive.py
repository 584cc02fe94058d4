"""Secrets are masked by the names of their keys, and inside texts."""

from __future__ import annotations

import pytest

from headrace.common.sensitive import HIDDEN, is_sensitive, masked, masked_text


@pytest.mark.parametrize(
    "key",
    [
        "security.ssl.rest.key-password",
        "properties.sasl.jaas.config",
        "spark.authenticate.secret",
        "fs.s3a.secret.key",
        "s3.access-key",
        "fs.azure.account.key.store.example",
        "db_password",
        "my.api-key",
        "rest.client.http-headers",
    ],
)
def test_values_of_secret_keys_are_not_shown(key: str) -> None:
    assert masked({key: "hunter2"}) == {key: HIDDEN}


@pytest.mark.parametrize(
    "key",
    ["parallelism.default", "security.ssl.rest.enabled", "properties.sasl.mechanism"],
)
def test_others_are(key: str) -> None:
    assert not is_sensitive(key)
    assert masked({key: "2"}) == {key: "2"}


def test_passwords_inside_of_texts_are_hidden() -> None:
    text = masked_text("redis://me:hunter2@host/0 and jdbc:postgresql://h/db?user=a&password=b c")
    assert "hunter2" not in text
    assert "password=b" not in text
    assert "host/0" in text
