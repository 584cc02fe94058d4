"""Many who look at the same page cost as much as one: answers are kept for half a second.

In: requests that the guard has let in.  Out: the same bytes again, or a new answer.  Drivers write
once a second, so nobody sees anything later than before.  What acts, and what waits for the end of
an operation, is never answered from here, nor is what depends on who asks (/config tells a role);
and after an act nothing old is.
"""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

_KEPT_S = 0.5
_MOST_ENTRIES = 512
_MOST_BYTES = 1 << 20
_KEPT_PATHS = re.compile(
    r"^(/v1)?/(overview|taskmanagers.*|metrics|jobs|jobs/overview|jobs/metrics"
    r"|jobs/[0-9a-f]{32}(/(plan|vertices/.*|metrics.*|checkpoints.*|exceptions|diagnosis|config"
    r"|accumulators))?)$"
)
_NOT_KEPT = re.compile(r"/logs?(/|$)|/checkpoints/[0-9A-Fa-f]{32}$")


class AnswerCache:
    """ASGI middleware that answers a GET again with what it answered a moment ago."""

    def __init__(self, app: ASGIApp, clock: Callable[[], float] = time.monotonic) -> None:
        self._app = app
        self._clock = clock
        self._answers: dict[tuple[str, bytes, bool], tuple[float, list[Message]]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
        elif scope["method"] != "GET":
            self._answers.clear()
            try:
                await self._app(scope, receive, send)
            finally:
                self._answers.clear()  # what was answered while it acted is old, too
        elif _KEPT_PATHS.match(scope["path"]) and not _NOT_KEPT.search(scope["path"]):
            await self._get(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _get(self, scope: Scope, receive: Receive, send: Send) -> None:
        accepts = any(name == b"accept" for name, _ in scope["headers"])
        key = (scope["path"], scope["query_string"], accepts)
        found = self._answers.get(key)
        now = self._clock()
        if found is not None and now - found[0] < _KEPT_S:
            for message in found[1]:
                await send(_copy(message))
            return
        told: list[Message] = []

        async def keeping(message: Message) -> None:
            told.append(_copy(message))
            await send(message)

        await self._app(scope, receive, keeping)
        self._keep(key, now, told)

    def _keep(self, key: tuple[str, bytes, bool], when: float, told: list[Message]) -> None:
        # the whole answer in two messages: others are streams
        if len(told) != 2 or told[0].get("status") != 200 or len(told[1]["body"]) > _MOST_BYTES:
            return
        if len(self._answers) >= _MOST_ENTRIES:
            self._answers.clear()
        self._answers[key] = (when, told)


def _copy(message: Message) -> Message:
    """Without what the next one adds to it."""
    headers = message.get("headers")
    return {**message, "headers": list(headers)} if headers is not None else dict(message)
