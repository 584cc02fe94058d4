"""A schema registry with Confluent's HTTP interface: schemas by number, and numbers for schemas.

In: a URL and settings.  Out: schemas and numbers, each asked for once.  Next: confluent_avro.py
"""

from __future__ import annotations

import base64
import json
import ssl
from typing import TYPE_CHECKING, Any
from urllib import error as url_error
from urllib import request
from urllib.parse import quote, unquote, urlsplit, urlunsplit

from headrace.errors import ConnectorError, InvalidArgumentError
from headrace.formats.avro_schema import AvroSchema
from headrace.io.server_calls import Retries, call_with_retries, without_password

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["SchemaNotFoundError", "SchemaRegistryClient"]

_JSON = "application/vnd.schemaregistry.v1+json"
_TIMEOUT_S = 20.0
# a registry that is restarted is back by then
_RETRIES = Retries(attempts=4, first_delay_s=0.5)
_KNOWN = {
    "basic.auth.credentials.source": "USER_INFO or URL",
    "basic.auth.user.info": "user:password",
    "bearer.auth.token": "a token",
    "ssl.ca.location": "file with the certificates to trust, PEM",
    "ssl.certificate.location": "file with the client's certificate, PEM",
    "ssl.key.location": "file with the client's key, PEM",
    "ssl.key.password": "its password",
    "request.timeout.ms": "how long to wait for an answer",
}


class SchemaNotFoundError(ConnectorError):
    """The registry does not have a schema of that number."""


class SchemaRegistryClient:
    """Asks a registry.

    Args:
        url: of the registry; user and password may be in it.
        configs: settings under the names that Confluent's clients have: ``basic.auth.user.info``,
            ``bearer.auth.token``, ``ssl.ca.location``, ``ssl.certificate.location``, ...
    """

    def __init__(self, url: str, configs: Mapping[str, str] | None = None) -> None:
        self._configs = dict(configs or {})
        _check(self._configs)
        self._url, user_info = _without_user(url)
        self._headers = _headers(self._configs, user_info)
        self._schemas: dict[int, AvroSchema] = {}
        self._ids: dict[tuple[str, AvroSchema], int] = {}
        self._tls: ssl.SSLContext | None = None  # rebuilt on use: it cannot travel

    def schema(self, number: int) -> AvroSchema:
        """The schema of a number.

        Raises:
            SchemaNotFoundError: there is none.
            ConnectorError: the registry cannot be asked.
        """
        if number not in self._schemas:
            found = self._call("GET", f"/schemas/ids/{number}")
            self._schemas[number] = _schema_in(found, number)
        return self._schemas[number]

    def register(self, subject: str, schema: AvroSchema) -> int:
        """The number of a schema under a subject; it is added if it is not there.

        Raises:
            ConnectorError: the registry refuses it, or cannot be asked.
        """
        key = subject, schema
        if key not in self._ids:
            path = f"/subjects/{quote(subject, safe='')}/versions"
            self._ids[key] = int(self._call("POST", path, {"schema": str(schema)})["id"])
        return self._ids[key]

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_tls": None}

    def _call(self, method: str, path: str, body: Any = None) -> Any:
        try:
            return call_with_retries(
                lambda: self._once(method, path, body),
                _RETRIES,
                passes=_passes,
                what=f"the schema registry at {self._shown(path)}",
                longest_try_s=self._timeout_s(),
            )
        except (url_error.URLError, TimeoutError, ConnectionError, ValueError) as error:
            raise self._explained(path, error) from error

    def _timeout_s(self) -> float:
        return int(self._configs.get("request.timeout.ms", _TIMEOUT_S * 1000)) / 1000

    def _once(self, method: str, path: str, body: Any) -> Any:
        data = None if body is None else json.dumps(body).encode()
        # The scheme was checked to be http or https.
        asked = request.Request(self._url + path, data, self._headers, method=method)
        with request.urlopen(asked, timeout=self._timeout_s(), context=self._context()) as answer:
            return json.load(answer)

    def _context(self) -> ssl.SSLContext | None:
        if self._tls is None and self._url.startswith("https"):
            self._tls = ssl.create_default_context(cafile=self._configs.get("ssl.ca.location"))
            certificate = self._configs.get("ssl.certificate.location")
            if certificate is not None:
                key, word = (self._configs.get(f"ssl.key.{n}") for n in ("location", "password"))
                self._tls.load_cert_chain(certificate, key, word)
        return self._tls

    def _explained(self, path: str, error: Exception) -> ConnectorError:
        if _passes(error):
            return ConnectorError(
                f"the schema registry does not answer: {_reason(error)}",
                where=self._shown(path),
                fix="check that it runs, and that this machine and the workers reach it",
            )
        if isinstance(error, url_error.URLError) and isinstance(error.reason, ssl.SSLError):
            return ConnectorError(
                f"the schema registry's certificate is not trusted: {error.reason}",
                where=self._shown(path),
                fix="give the file of its authority as ssl.ca.location",
            )
        assert isinstance(error, url_error.HTTPError)
        said = f"{error.code} {_message(error)}"
        if error.code in (401, 403):
            return ConnectorError(
                f"the schema registry refuses access: {said}",
                where=self._shown(path),
                fix="set basic.auth.user.info or bearer.auth.token in registry_configs",
            )
        if error.code == 404 and path.startswith("/schemas/ids/"):
            return SchemaNotFoundError(
                f"the schema registry has no schema {path.rpartition('/')[2]}: {said}",
                where=self._shown(path),
                fix="check that the messages were written with this registry",
            )
        return ConnectorError(
            f"the schema registry refuses: {said}",
            where=self._shown(path),
            fix="check the URL; a new schema must be compatible with its subject's earlier ones",
        )

    def _shown(self, path: str) -> str:
        return without_password(self._url) + path


def _schema_in(answer: Any, number: int) -> AvroSchema:
    kind = answer.get("schemaType", "AVRO")
    if kind != "AVRO" or answer.get("references"):
        what = f"is of the kind {kind}" if kind != "AVRO" else "refers to other schemas"
        raise ConnectorError(
            f"schema {number} of the registry {what}, which cannot be read here",
            fix="register one Avro schema that holds all it needs",
        )
    return AvroSchema(answer["schema"])


def _check(configs: Mapping[str, str]) -> None:
    for name in configs:
        if name not in _KNOWN:
            known = "; ".join(f"{key}: {what}" for key, what in _KNOWN.items())
            raise InvalidArgumentError(
                f"the setting {name!r} of a schema registry is not known",
                where="registry_configs",
                fix=f"use one of {known}",
            )
    source = configs.get("basic.auth.credentials.source", "USER_INFO")
    if source not in ("USER_INFO", "URL"):
        raise InvalidArgumentError(
            f"basic.auth.credentials.source is {source!r}",
            where="registry_configs",
            fix="use USER_INFO with basic.auth.user.info, or URL",
        )


def _without_user(url: str) -> tuple[str, str | None]:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InvalidArgumentError(
            f"{without_password(url)!r} is not the URL of a schema registry",
            fix="use a URL such as http://registry:8081",
        )
    user, _, host = parts.netloc.rpartition("@")
    bare = urlunsplit((parts.scheme, host, parts.path.rstrip("/"), "", ""))
    return bare, unquote(user) if user else None


def _headers(configs: Mapping[str, str], user_info: str | None) -> dict[str, str]:
    headers = {"Content-Type": _JSON, "Accept": f"{_JSON}, application/json"}
    user_info = configs.get("basic.auth.user.info", user_info)
    if "bearer.auth.token" in configs:
        headers["Authorization"] = f"Bearer {configs['bearer.auth.token']}"
    elif user_info is not None:
        headers["Authorization"] = f"Basic {base64.b64encode(user_info.encode()).decode()}"
    return headers


def _passes(error: Exception) -> bool:
    """Whether another try may end otherwise."""
    if isinstance(error, url_error.HTTPError):
        return error.code >= 500 or error.code == 429
    if isinstance(error, url_error.URLError):
        return not isinstance(error.reason, ssl.SSLError)
    return isinstance(error, (TimeoutError, ConnectionError, ValueError))


def _message(error: url_error.HTTPError) -> str:
    text = error.read().decode(errors="replace")
    try:
        return str(json.loads(text)["message"])
    except (ValueError, KeyError, TypeError):
        return text[:200]


def _reason(error: Exception) -> str:
    return str(error.reason if isinstance(error, url_error.URLError) else error)
