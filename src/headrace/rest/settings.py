"""Where REST listens, whom it lets in, and how much it takes.

In: a Configuration.  Out: RestSettings, refused if strangers could get in unnoticed.
Next: rest/access.py (tokens), rest/server.py (TLS)
"""

from __future__ import annotations

import ipaddress
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.common.options import OPTIONS
from headrace.errors import ConfigurationError
from headrace.rest.access import TokenFile
from headrace.rest.flame_graphs import FlameGraphSettings

if TYPE_CHECKING:
    from headrace.common.configuration import Configuration
    from headrace.common.opaque import OptionValue

KEY_PASSWORD_VARIABLE = "HEADRACE_REST_KEY_PASSWORD"
# What a request may carry that is no program: triggers, requirements.
MAX_JSON_BYTES = 1 << 20
_LOOPBACK_NAMES = ("localhost", "localhost.localdomain", "ip6-localhost")


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """PEM files of the server.

    Attributes:
        chain: private key and certificates.
        authorities: who signs clients' certificates; needed for mutual TLS.
        client_certificates: whether clients must have one.
    """

    chain: str
    key_password: str | None = None
    authorities: str | None = None
    client_certificates: bool = False

    def __repr__(self) -> str:
        return f"TlsFiles(chain={self.chain!r}, client_certificates={self.client_certificates})"


@dataclass(frozen=True, slots=True)
class RestSettings:
    """How REST is served.

    Attributes:
        address: to listen on.
        port: 0 for any that is free.
        tls: None for plain HTTP.
        tokens: the file of those who may come in; None for everybody who can connect.
        allow_unauthenticated: listen on the network without knowing who comes.
        host_names: further names under which the server is asked for.
        max_upload_bytes: the largest program.
        web_submit, web_cancel: what the dashboard offers.
        refresh_ms: how often the dashboard asks.
        flame_graphs: whether and how they are made.
    """

    address: str = "127.0.0.1"
    port: int = 8081
    tls: TlsFiles | None = None
    tokens: Path | None = None
    allow_unauthenticated: bool = False
    host_names: tuple[str, ...] = ()
    max_upload_bytes: int = 100 << 20
    web_submit: bool = True
    web_cancel: bool = True
    refresh_ms: int = 3000
    flame_graphs: FlameGraphSettings = field(default_factory=FlameGraphSettings)

    @staticmethod
    def of(configuration: Configuration, *, address: str, port: int) -> RestSettings:
        """The settings of a configuration.

        Args:
            configuration: the dispatcher's.
            address: that it listens on.
            port: that it listens on.

        Raises:
            ConfigurationError: strangers could come in, or TLS lacks a file.
        """
        get = configuration.get
        tokens = get(OPTIONS["headrace.rest.tokens"])
        names = str(get(OPTIONS["headrace.rest.host-names"]) or "")
        settings = RestSettings(
            address=address,
            port=port,
            tls=_tls(configuration),
            tokens=None if not tokens else Path(str(tokens)).expanduser().absolute(),
            allow_unauthenticated=bool(get(OPTIONS["headrace.rest.allow-unauthenticated"])),
            host_names=tuple(each.strip().lower() for each in names.split(",") if each.strip()),
            max_upload_bytes=_number(get(OPTIONS["rest.server.max-content-length"])),
            web_submit=bool(get(OPTIONS["web.submit.enable"])),
            web_cancel=bool(get(OPTIONS["web.cancel.enable"])),
            refresh_ms=_number(get(OPTIONS["web.refresh-interval"])),
            flame_graphs=FlameGraphSettings.of(configuration),
        )
        settings.check()
        return settings

    @property
    def is_authenticated(self) -> bool:
        """Whether the server knows who comes."""
        return self.tokens is not None or (self.tls is not None and self.tls.client_certificates)

    @property
    def on_loopback(self) -> bool:
        """Whether only this machine can connect."""
        return is_loopback(self.address)

    @property
    def takes_programs(self) -> bool:
        """Whether programs can be uploaded: not from strangers."""
        return self.web_submit and (self.is_authenticated or self.on_loopback)

    @property
    def scheme(self) -> str:
        """Of the server's address."""
        return "http" if self.tls is None else "https"

    def check(self) -> None:
        """Refuse to listen to the network without knowing who comes.

        Raises:
            ConfigurationError: it would be open to strangers, or nobody could come in.
        """
        if self.tokens is not None:
            TokenFile(self.tokens).entries()
        if self.on_loopback or self.is_authenticated or self.allow_unauthenticated:
            return
        raise ConfigurationError(
            f"the REST API would listen on {self.address} and let everybody in who can connect",
            where="rest.bind-address, rest.address",
            fix="set headrace.rest.tokens (`headrace cluster token create --role submit`) or "
            "security.ssl.rest.authentication-enabled; listen on 127.0.0.1; or, if the network "
            "itself keeps strangers out, set headrace.rest.allow-unauthenticated",
        )


def is_loopback(address: str) -> bool:
    """Whether an address or name means this machine only."""
    if address.lower() in _LOOPBACK_NAMES:
        return True
    try:
        return ipaddress.ip_address(address.strip("[]")).is_loopback
    except ValueError:
        return False


def _number(value: OptionValue) -> int:
    return int(value)


def _tls(configuration: Configuration) -> TlsFiles | None:
    get = configuration.get
    mutual = bool(get(OPTIONS["security.ssl.rest.authentication-enabled"]))
    if not get(OPTIONS["security.ssl.rest.enabled"]):
        if mutual:
            raise ConfigurationError(
                "security.ssl.rest.authentication-enabled asks for client certificates, but "
                "security.ssl.rest.enabled is false",
                fix="set security.ssl.rest.enabled: true",
            )
        return None
    chain = _file(configuration, "security.ssl.rest.keystore", "the server's key and certificate")
    authorities = None
    if mutual:
        authorities = _file(
            configuration, "security.ssl.rest.truststore", "the authorities of client certificates"
        )
    password = os.environ.get(KEY_PASSWORD_VARIABLE) or get(
        OPTIONS["security.ssl.rest.key-password"]
    )
    return TlsFiles(chain, None if password is None else str(password), authorities, mutual)


def _file(configuration: Configuration, key: str, what: str) -> str:
    named = configuration.get(OPTIONS[key])
    if not named:
        raise ConfigurationError(
            f"security.ssl.rest.enabled is true, but {key} does not say where {what} are",
            fix=f"{key}: /path/to/file.pem",
        )
    path = Path(str(named)).expanduser()
    if not path.is_file():
        raise ConfigurationError(f"there is no file {path}", where=key, fix="name a PEM file")
    return str(path)
