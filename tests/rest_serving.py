"""Serves REST for a test, and a client for it."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import httpx

from headrace.rest.server import RestServer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.rest.settings import RestSettings
    from rest_fakes import FakeDispatcher


@dataclass
class Serving:
    """A server that answers, a client, and what it stands on."""

    server: RestServer
    client: httpx.Client
    dispatcher: FakeDispatcher

    def get(self, path: str, **options: object) -> httpx.Response:
        return self.client.get(path, **options)  # type: ignore[arg-type]

    def post(self, path: str, **options: object) -> httpx.Response:
        return self.client.post(path, **options)  # type: ignore[arg-type]


@contextlib.contextmanager
def serving(
    dispatcher: FakeDispatcher, settings: RestSettings, **client: object
) -> Iterator[Serving]:
    """Serve until the block is left."""
    server = RestServer(dispatcher, settings, views=dispatcher.views)
    server.start()
    try:
        with httpx.Client(base_url=server.address, **client) as found:  # type: ignore[arg-type]
            yield Serving(server, found, dispatcher)
    finally:
        server.close()
