"""Serves the application with uvicorn, over TLS if there are keys.

In: a dispatcher and settings.  Out: a listening server, in a thread of its own;
`RestServer.address` says where.  Next: rest/app.py
"""

from __future__ import annotations

import logging
import socket
import ssl
import threading
import time
from typing import TYPE_CHECKING

import uvicorn

from headrace.errors import ConfigurationError, InternalError
from headrace.rest.app import create_app

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.control.views.reader import JobViews
    from headrace.dispatcher.dispatcher import Dispatcher
    from headrace.rest.settings import RestSettings, TlsFiles

log = logging.getLogger(__name__)

_START_S = 30.0
_BACKLOG = 512


class RestServer:
    """The server of one dispatcher.

    Args:
        dispatcher: acts.
        settings: where to listen, whom to let in.
        views: reads; those of the dispatcher if not given.
        shut_down: ends the process, for ``DELETE /cluster``.
        listening: a socket that listens already; the settings' address and port if not given.

    Raises:
        ConfigurationError: strangers could come in, the port is taken, or a key cannot be read.
    """

    def __init__(
        self,
        dispatcher: Dispatcher,
        settings: RestSettings,
        *,
        views: JobViews | None = None,
        shut_down: Callable[[], None] | None = None,
        listening: socket.socket | None = None,
    ) -> None:
        self.settings = settings
        app = create_app(dispatcher, settings, views=views, shut_down=shut_down)
        config = uvicorn.Config(
            app,
            log_config=None,
            access_log=False,  # a line a request; and queries could hold what others may not see
            server_header=False,
            proxy_headers=False,  # anybody can send them
            timeout_keep_alive=30,
            timeout_graceful_shutdown=3,
            h11_max_incomplete_event_size=64 << 10,
            http="h11",  # has a limit for headers, which httptools has not
            ws="none",
            lifespan="off",
        )
        config.load()
        if settings.tls is not None:
            config.ssl = tls_context(settings.tls)
        self._socket = listening or listen(settings.address, settings.port)
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(
            target=self._server.run, args=([self._socket],), name="headrace-rest", daemon=True
        )

    @property
    def port(self) -> int:
        """That it listens on."""
        port: int = self._socket.getsockname()[1]
        return port

    @property
    def address(self) -> str:
        """The URL of the server, as this machine reaches it."""
        host = self.settings.address
        host = f"[{host}]" if ":" in host else host
        return f"{self.settings.scheme}://{host}:{self.port}"

    def start(self) -> None:
        """Serve, and return when requests are answered."""
        self._thread.start()
        deadline = time.monotonic() + _START_S
        while not self._server.started:
            if not self._thread.is_alive() or time.monotonic() > deadline:
                raise InternalError("the REST server did not start; the log has the reason")
            time.sleep(0.01)
        log.info("REST on %s", self.address)

    def close(self) -> None:
        """Answer what is being asked, and end."""
        self._server.should_exit = True
        if self._thread.is_alive():
            self._thread.join(10)
        self._socket.close()


def listen(address: str, port: int) -> socket.socket:
    """A socket that listens.

    Raises:
        ConfigurationError: the address is not this machine's, or the port is taken.
    """
    try:
        family = socket.getaddrinfo(address, port, type=socket.SOCK_STREAM)[0][0]
        # named as TCP, or asyncio does not send small answers at once (40 ms each)
        listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((address.strip("[]"), port))
        listening.listen(_BACKLOG)
    except OSError as error:
        raise ConfigurationError(
            f"cannot listen on {address}:{port}: {error.strerror or error}",
            where="rest.address, rest.port",
            fix="choose another port: rest.port: 0 takes any that is free",
        ) from None
    return listening


def tls_context(files: TlsFiles) -> ssl.SSLContext:
    """What the server needs for TLS; with client certificates if they are asked for.

    Raises:
        ConfigurationError: a file is no PEM, or the password is wrong.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        # without a password OpenSSL would ask at the terminal
        context.load_cert_chain(files.chain, password=files.key_password or "")
        if files.client_certificates:
            context.load_verify_locations(files.authorities)
            context.verify_mode = ssl.CERT_REQUIRED
    except (OSError, ssl.SSLError) as error:
        raise ConfigurationError(
            f"the keys of the REST API cannot be read: {error}",
            where=f"security.ssl.rest.keystore: {files.chain}",
            fix="a PEM file with the private key and its certificates; the password in "
            "HEADRACE_REST_KEY_PASSWORD if the key has one",
        ) from None
    return context
