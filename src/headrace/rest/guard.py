"""The door: every request passes here before anything of it is read.

    name asked for ─▶ origin of the page ─▶ leader? ─▶ role ─▶ size ─▶ routes

In: an ASGI request.  Out: the same for the routes behind it, or a refusal.  It is plain ASGI, since
FastAPI reads a body before it looks at dependencies: a stranger could fill the memory.
Next: rest/access.py (roles), rest/app.py
"""

from __future__ import annotations

import ipaddress
import logging
import re
import socket
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from starlette.datastructures import MutableHeaders
from starlette.requests import Request

from headrace.errors import ConfigurationError
from headrace.rest.access import Role, TokenFile, bearer_token
from headrace.rest.answers import Refusal, error_answer
from headrace.rest.settings import MAX_JSON_BYTES, is_loopback

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from headrace.rest.settings import RestSettings

log = logging.getLogger(__name__)

_LOOKING = frozenset({"GET", "HEAD", "OPTIONS"})
_CODE = re.compile(r"^(/v1)?/(jars|cluster)(/|$)")
_UPLOAD = re.compile(r"^(/v1)?/jars/upload/?$")
_JOBS_READ_BY_POST = re.compile(r"^(/v1)?/jars/[^/]+/plan/?$")
# Where each dispatcher speaks for itself, whether it leads or not.
_OWN_PATHS = frozenset({"/health", "/metrics", "/headrace/dispatcher"})
# Where a request carries the role of its token.
_ROLE = "headrace.role"
# For the answers of the API: nothing in them is a page, whatever a browser makes of them.
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


def needed_role(method: str, path: str) -> Role:
    """What somebody must be allowed for a request: looking, steering, or bringing code."""
    if _JOBS_READ_BY_POST.match(path):
        return Role.SUBMIT  # a plan is made by running the program
    if method in _LOOKING:
        return Role.READ
    return Role.SUBMIT if _CODE.match(path) else Role.OPERATE


def role_of(request: Request) -> Role:
    """What somebody whom the guard has let in may do: everything where there are no tokens."""
    role: Role = request.scope.get(_ROLE, Role.SUBMIT)
    return role


class RequestGuard:
    """ASGI middleware that refuses what must not come in.

    Args:
        app: what is behind it.
        settings: whom to let in, and how much.
        open_paths: that need no token: files of the dashboard and the description of the API.
        leader: the address of the leader if that is another dispatcher; ``""`` if it is this one,
            None if there is none now.
    """

    def __init__(
        self,
        app: ASGIApp,
        settings: RestSettings,
        open_paths: Collection[str],
        leader: Callable[[], str | None],
    ) -> None:
        self._app = app
        self._settings = settings
        self._open = frozenset(open_paths)
        self._leader = leader
        self._tokens = None if settings.tokens is None else TokenFile(settings.tokens)
        self._names = _own_names(settings)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope)
        sending = _with_headers(send)
        try:
            self._check(request)
            limit = self._limit(request)
        except Exception as error:
            await error_answer(request, error)(scope, receive, sending)
            return
        await self._app(scope, _limited(receive, limit), sending)

    def _check(self, request: Request) -> None:
        self._check_name(request)
        self._check_origin(request)
        path = request.url.path
        if path in self._open and request.method in _LOOKING:
            return
        self._check_role(request)
        if path not in _OWN_PATHS:
            self._check_leader(request)

    # --- who is asked, and by which page -----------------------------------------------------

    def _check_name(self, request: Request) -> None:
        """Refuse names that are not ours: a foreign name that leads here is DNS rebinding."""
        host = _host_name(request.headers.get("host", ""))
        if host in self._names or _is_address(host):
            return
        raise Refusal(
            421,
            f"this server does not answer for the name {host[:100]!r}",
            fix="ask by its address, or add the name to headrace.rest.host-names",
            kind="UNKNOWN_HOST_NAME",
        )

    def _check_origin(self, request: Request) -> None:
        """Refuse what a page of another origin sends; it could not read the answer, but act."""
        origin = request.headers.get("origin")
        foreign = origin is not None and urlsplit(origin).netloc.lower() != (
            request.headers.get("host", "").lower()
        )
        crossing = request.headers.get("sec-fetch-site") == "cross-site"
        if foreign or (crossing and request.method not in _LOOKING):
            raise Refusal(
                403,
                "a page of another origin may not use this server",
                fix="open the dashboard at the server's own address",
                kind="FOREIGN_ORIGIN",
            )

    # --- who asks ----------------------------------------------------------------------------

    def _check_role(self, request: Request) -> None:
        if self._tokens is None:
            return  # on loopback, or behind client certificates, or allowed on purpose
        token = bearer_token(request.headers.get("authorization", ""))
        role = None if token is None else self._role_of(self._tokens, token)
        if role is None:
            raise Refusal(
                401,
                "a token is needed" if token is None else "the token is not known",
                fix="send the header Authorization: Bearer TOKEN; `headrace cluster token create` "
                "makes tokens",
                kind="UNAUTHENTICATED",
                headers={"WWW-Authenticate": 'Bearer realm="headrace"'},
            )
        needed = needed_role(request.method, request.url.path)
        if role < needed:
            raise Refusal(
                403,
                f"the token's role is {role.name.lower()}; this needs {needed.name.lower()}",
                fix=f"use a token made with --role {needed.name.lower()}",
                kind="FORBIDDEN",
            )
        request.scope[_ROLE] = role

    def _role_of(self, tokens: TokenFile, token: str) -> Role | None:
        try:
            return tokens.role_of(token)
        except ConfigurationError as error:
            log.error("%s", error)
            raise Refusal(
                503, "tokens cannot be checked, so nobody is let in", kind="NO_TOKENS"
            ) from None

    # --- who answers -------------------------------------------------------------------------

    def _check_leader(self, request: Request) -> None:
        leader = self._leader()
        if leader == "":
            return
        if leader is None:
            raise Refusal(
                503,
                "no dispatcher leads at the moment",
                fix="ask again in a few seconds",
                kind="NO_LEADER",
                headers={"Retry-After": "2"},
            )
        query = f"?{request.url.query}" if request.url.query else ""
        raise Refusal(
            307,
            f"another dispatcher leads: {leader}",
            fix=f"ask {leader}",
            kind="NOT_THE_LEADER",
            headers={"Location": f"{leader.rstrip('/')}{request.url.path}{query}"},
        )

    # --- how much ----------------------------------------------------------------------------

    def _limit(self, request: Request) -> int:
        uploading = request.method == "POST" and _UPLOAD.match(request.url.path)
        limit = self._settings.max_upload_bytes if uploading else MAX_JSON_BYTES
        length = request.headers.get("content-length", "0")
        if not length.isdigit():
            raise Refusal(400, f"Content-Length is {length[:50]!r}", kind="BAD_REQUEST")
        if int(length) > limit:
            raise too_large(limit)
        return limit


def too_large(limit: int) -> Refusal:
    """A body that is more than is taken."""
    return Refusal(
        413,
        f"the body has more than {limit:,} bytes",
        fix="programs: rest.server.max-content-length is the limit",
        kind="BODY_TOO_LARGE",
        # the rest of the body is not read
        headers={"Connection": "close"},
    )


def _limited(receive: Receive, limit: int) -> Receive:
    """Counts what comes in: a body sent in chunks does not say how long it is."""
    taken = 0

    async def counted() -> Message:
        nonlocal taken
        message = await receive()
        taken += len(message.get("body", b""))
        if taken > limit:
            raise too_large(limit)
        return message

    return counted


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return sending


def _own_names(settings: RestSettings) -> frozenset[str]:
    names = {"localhost", settings.address.lower().strip("[]"), *settings.host_names}
    if not is_loopback(settings.address):
        names |= {socket.gethostname().lower(), socket.getfqdn().lower()}
    return frozenset(names)


def _host_name(header: str) -> str:
    """Without the port."""
    try:
        return (urlsplit(f"//{header}").hostname or "").lower()
    except ValueError:
        return header


def _is_address(host: str) -> bool:
    """A page that was opened by an address cannot have come from a name of somebody else."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
